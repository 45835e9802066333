"""A comparison as text: the table, the worst flips, and what to know."""

from __future__ import annotations

from collections.abc import Iterator

from memlab.evaluation.statistics import Flip
from memlab.runs.paired import Evidence, Line, Paired
from memlab.runs.schema import show

__all__ = ["MOST_FLIPS", "interval_of", "kept_evidence", "text_of", "value_of"]

MOST_FLIPS = 5


def text_of(report: Paired, *, flips: int = MOST_FLIPS) -> str:
    """All of a comparison for a terminal.

    Parameters
    ----------
    report : Paired
        What to show.
    flips : int
        At most so many flipped cases for each line, the worst first.
    """
    return "\n".join(_lines(report, flips))


def _lines(report: Paired, most: int) -> Iterator[str]:
    yield f"A = {report.a}, B = {report.b}: {report.what}"
    yield from (f"note: {note}" for note in report.notes)
    yield ""
    yield from _table(report)
    if report.changed:
        yield ""
        yield from (f"differs: {name}: {how}" for name, how in report.changed.items())
    if report.costs:
        yield ""
        yield from (f"cost of {name}: {what}" for name, what in report.costs.items())
    for line in report.lines:
        yield from _flips(report, line, most)
    yield ""
    yield f"worse in B: {', '.join(report.worse) or 'nothing decisively'}"


def _table(report: Paired) -> Iterator[str]:
    head = ("", "A", "B", "B - A", "95 % interval", "n", "p", "how far to trust it")
    rows = [head, *(_row(line) for line in report.lines)]
    widths = [max(len(row[c]) for row in rows) for c in range(len(head))]
    for row in rows:
        cells = [
            row[c].ljust(widths[c]) if c in (0, len(head) - 1) else row[c].rjust(widths[c]) for c in range(len(head))
        ]
        yield "  ".join(cells).rstrip()


def _row(line: Line) -> tuple[str, ...]:
    c = line.comparison
    name = f"{line.name} (lower is better)" if line.lower_is_better else line.name
    p = "" if line.p_holm is None else f"{line.p_holm:.2g}"
    verdict = f"{line.verdict}; " if line.decided else ""
    difference = "" if line.difference is None else f"{line.difference:+.3f}"
    ends = (value_of(line, line.a), value_of(line, line.b))
    return (name, *ends, difference, interval_of(line), str(c.n) if c else "", p, verdict + line.reliability)


def value_of(line: Line, value: float | None) -> str:
    """A side's number with its unit; a dash where it has none."""
    return "–" if value is None else f"{show(round(value, 4))}{f' {line.unit}' if line.unit else ''}"


def interval_of(line: Line) -> str:
    """The interval of the difference; empty where there is none."""
    c = line.comparison
    if c is None or not c.n or c.interval.low != c.interval.low:
        return ""
    return f"[{c.interval.low:+.3f}, {c.interval.high:+.3f}]"


def _flips(report: Paired, line: Line, most: int) -> Iterator[str]:
    c, found = line.comparison, report.flips(line)
    if c is None:
        return
    for what, cases in (("only in A", c.unmatched_a), ("only in B", c.unmatched_b), ("failed", c.failed)):
        if cases:
            more = f" and {len(cases) - 10} more" if len(cases) > 10 else ""
            yield f"{line.name}: {what}: {', '.join(cases[:10])}{more}"
    if not found:
        return
    yield ""
    rose = sum(f.b > f.a for f in found)
    yield f"{line.name}: {len(found)} cases differ ({rose} higher, {len(found) - rose} lower in B), worst first, by {c.test}"
    for flip in found[:most]:
        yield from _flip(report, line, flip)
    if len(found) > most:
        yield f"  and {len(found) - most} more (--json and -o have them all)"


def _flip(report: Paired, line: Line, flip: Flip) -> Iterator[str]:
    yield f"  {flip.case}: {show(round(flip.a, 4))} → {show(round(flip.b, 4))}"
    for side, items in zip("AB", report.evidence.get((line.name, flip.case), ((), ())), strict=True):
        yield from (f"    {side}: {item}" for item in kept_evidence(items))


def kept_evidence(items: object, most: int = 6) -> list[Evidence]:
    """The first few statements behind a case."""
    return list(items)[:most] if isinstance(items, (list, tuple)) else []
