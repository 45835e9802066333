"""A comparison as a page: the table, and every flip with its quotes marked; it loads nothing from anywhere."""

from __future__ import annotations

import html
from typing import Any

from memlab.runs.paired import Evidence, Line, Paired
from memlab.runs.paired_text import interval_of, kept_evidence, value_of
from memlab.runs.report import page
from memlab.runs.schema import show

__all__ = ["compare_page", "fragment", "marked"]

MOST_FLIPS = 200


def compare_page(report: Paired) -> str:
    """The whole page."""
    return page("compare.html.j2", **_values(report, MOST_FLIPS))


def fragment(report: Paired, *, flips: int = 3) -> str:
    """The table and the worst flips of each line, for a notebook."""
    from jinja2 import Environment, FileSystemLoader

    from memlab.runs.report import templates

    environment = Environment(loader=FileSystemLoader(templates()), autoescape=True)
    text: str = environment.get_template("compare_body.html.j2").render(**_values(report, flips))
    return text


def marked(evidence: Evidence) -> str:
    """The words around a quote, escaped, the quote in <mark>; the quote alone where they are not known.

    >>> marked(Evidence("matched", quote="no <sound>", around="I have no <sound> here"))
    'I have <mark>no &lt;sound&gt;</mark> here'
    """
    at = evidence.around.find(evidence.quote) if evidence.quote else -1
    if at < 0:
        return f"<mark>{html.escape(evidence.quote)}</mark>" if evidence.quote else ""
    before, after = evidence.around[:at], evidence.around[at + len(evidence.quote) :]
    return f"{html.escape(before)}<mark>{html.escape(evidence.quote)}</mark>{html.escape(after)}"


def _values(report: Paired, most: int) -> dict[str, Any]:
    return {
        "report": report,
        "rows": [_row(line) for line in report.lines],
        "sections": [s for s in (_section(report, line, most) for line in report.lines) if s],
    }


def _row(line: Line) -> dict[str, Any]:
    c = line.comparison
    return {
        "name": line.name,
        "lower": line.lower_is_better,
        "a": value_of(line, line.a),
        "b": value_of(line, line.b),
        "difference": "" if line.difference is None else f"{line.difference:+.3f}",
        "interval": interval_of(line),
        "n": c.n if c else "",
        "p": "" if line.p_holm is None else f"{line.p_holm:.2g}",
        "test": c.test if c else "",
        "verdict": line.verdict if line.decided else "",
        "reliability": line.reliability,
        "bar": _bar(line),
    }


def _bar(line: Line) -> dict[str, float] | None:
    """Where interval, estimate and 0 lie on a strip from -1 to 1, in percent; None if it does not fit there."""
    c = line.comparison
    if c is None or not c.n or not -1 <= c.interval.low <= c.interval.high <= 1:
        return None
    left, right, dot = (50 + 50 * v for v in (c.interval.low, c.interval.high, c.difference))
    return {"left": round(left, 2), "width": round(right - left, 2), "dot": round(dot, 2)}


def _section(report: Paired, line: Line, most: int) -> dict[str, Any] | None:
    from markupsafe import Markup

    c, flips = line.comparison, report.flips(line)
    if c is None or not (flips or c.unmatched_a or c.unmatched_b or c.failed):
        return None
    rows = []
    for flip in flips[:most]:
        sides = report.evidence.get((line.name, flip.case), ((), ()))
        said = [
            [{"e": e, "quote": Markup(marked(e))} for e in kept_evidence(items)]  # noqa: S704 - escaped by marked
            for items in sides
        ]
        worse = (flip.b < flip.a) != line.lower_is_better
        ends = {"a": show(round(flip.a, 4)), "b": show(round(flip.b, 4))}
        rows.append({"case": flip.case, **ends, "worse": worse, "said_a": said[0], "said_b": said[1]})
    apart = {"only in A": c.unmatched_a, "only in B": c.unmatched_b, "failed": c.failed}
    return {
        "name": line.name,
        "count": len(flips),
        "hidden": len(flips) - len(rows),
        "flips": rows,
        "apart": {k: ", ".join(v) for k, v in apart.items() if v},
    }
