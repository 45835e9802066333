"""Committed results against repeated ones: what differs by more than was allowed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from memlab.runs.schema import Result, Scalar, Table, show

__all__ = ["NOISE", "Difference", "DifferenceKind", "differences", "same"]

NOISE = 1e-9

DifferenceKind = Literal["number", "table", "missing", "unexpected", "failed", "unexecuted", "stale"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One committed result that was not found again.

    Attributes
    ----------
    notebook : str
        Its name.
    kind : {"number", "table", "missing", "unexpected", "failed", "unexecuted", "stale"}
        A number or table differs; the repetition does not record it, or records one that is not committed; the
        notebook did not run to its end; it was committed without having been executed; or (in a quick check, which
        runs nothing) its recorded results are no longer those of its sources and files.
    name : str
        Name of the number or table; empty if the whole notebook is meant.
    old, new : scalar
        The committed value and the new one; for a table, those of the first cell that differs.
    tolerance : float or None
        What the committed result allows; None stands for rounding noise (1e-9 of the value).
    detail : str
        What else differs, or why the notebook failed.
    flipped : tuple of str
        Ids of the cases with another outcome, sorted.
    """

    notebook: str
    kind: DifferenceKind
    name: str = ""
    old: Scalar = None
    new: Scalar = None
    tolerance: float | None = None
    detail: str = ""
    flipped: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One line for a reader."""
        if self.kind in ("failed", "unexecuted", "stale"):
            return f"{self.kind}: {self.detail}"
        if self.kind == "missing":
            return f"{self.name}: committed, but not recorded any more"
        if self.kind == "unexpected":
            return f"{self.name}: recorded now, but not committed"
        text = f"{self.name}: {_exact(self.old, self.new)}"
        text += f" (tolerance {show(self.tolerance)})" if self.tolerance is not None else " (no tolerance stated)"
        text += f"; {self.detail}" if self.detail else ""
        if self.flipped:
            more = f" and {len(self.flipped) - 10} more" if len(self.flipped) > 10 else ""
            text += f"; other outcome in {len(self.flipped)} cases: {', '.join(self.flipped[:10])}{more}"
        return text


def same(old: Any, new: Any, tolerance: float | None = None) -> bool:
    """Whether a repeated value may stand for the committed one.

    Numbers may differ by the tolerance (absolute) and by rounding noise (1e-9 of the larger); all else must be equal.

    >>> same(0.81, 0.8100000000001), same(0.81, 0.80, 0.01), same(0.81, 0.79, 0.01), same(1, True)
    (True, True, False, False)
    """
    if isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)):
        return len(old) == len(new) and all(same(a, b, tolerance) for a, b in zip(old, new, strict=True))
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return old.keys() == new.keys() and all(same(old[k], new[k], tolerance) for k in old)
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if isinstance(old, (int, float)) and isinstance(new, (int, float)):
        return abs(old - new) <= (tolerance or 0.0) + NOISE * max(abs(old), abs(new))
    return bool(old == new)


def differences(
    notebook: str,
    old: tuple[Mapping[str, Result], Mapping[str, Table]],
    new: tuple[Mapping[str, Result], Mapping[str, Table]],
) -> Iterator[Difference]:
    """Every difference between the committed numbers and tables and the repeated ones, in the committed order."""
    for committed, repeated in zip(old, new, strict=True):
        for name in committed:
            if name not in repeated:
                yield Difference(notebook, "missing", name)
        for name in repeated:
            if name not in committed:
                yield Difference(notebook, "unexpected", name)
    for name, result in old[0].items():
        if name in new[0]:
            yield from _numbers(notebook, result, new[0][name])
    for name, table in old[1].items():
        if name in new[1]:
            yield from _tables(notebook, table, new[1][name])


def _numbers(notebook: str, old: Result, new: Result) -> Iterator[Difference]:
    allowed = old.tolerance
    details = []
    if old.n != new.n:
        details.append(f"n {_exact(old.n, new.n)}")
    if not same(old.interval, new.interval, allowed):
        details.append(f"interval {_interval(old)} → {_interval(new)}")
    if old.unit != new.unit:
        details.append(f"unit {old.unit or 'none'} → {new.unit or 'none'}")
    ids = sorted(old.cases.keys() | new.cases.keys())
    flipped = tuple(i for i in ids if not same(old.cases.get(i, ...), new.cases.get(i, ...), allowed))
    moved = not same(old.value, new.value, allowed)
    if moved or details or flipped:
        detail = "; ".join(details) if moved or details else "same value"
        yield Difference(notebook, "number", old.name, old.value, new.value, allowed, detail, flipped)


def _tables(notebook: str, old: Table, new: Table) -> Iterator[Difference]:
    def difference(detail: str, before: Any = None, after: Any = None) -> Difference:
        return Difference(notebook, "table", old.name, _scalar(before), _scalar(after), old.tolerance, detail)

    if old.columns != new.columns:
        yield difference(f"columns {', '.join(old.columns)} → {', '.join(new.columns)}")
    elif len(old.rows) != len(new.rows):
        yield difference(f"{len(old.rows)} → {len(new.rows)} rows", len(old.rows), len(new.rows))
    else:
        wrong = [
            (row, column, before, after)
            for row, pair in enumerate(zip(old.rows, new.rows, strict=True))
            for column, before, after in zip(old.columns, *pair, strict=True)
            if not same(before, after, old.tolerance)
        ]
        if wrong:
            row, column, before, after = wrong[0]
            yield difference(f"{len(wrong)} cells differ, first in row {row}, column {column}", before, after)


def _exact(old: Any, new: Any) -> str:
    """Both values as short as they can be while they still look different."""
    short = (show(old), show(new))
    return " → ".join(short if short[0] != short[1] else (repr(old), repr(new)))


def _interval(result: Result) -> str:
    return f"[{result.interval[0]:.6g}, {result.interval[1]:.6g}]" if result.interval else "none"


def _scalar(value: Any) -> Scalar:
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
