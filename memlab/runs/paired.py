"""Two sides compared case by case: differences with intervals and exact tests, who flipped, and what it cost.

What is compared (runs, proposals, rankings) is turned into `Values` elsewhere; everything here is the same for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memlab.evaluation.intervals import Interval, reliability
from memlab.evaluation.statistics import Comparison, Flip, holm, paired_difference

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Evidence", "Line", "Paired", "Values", "compare_values"]

UNPAIRED = "not paired: no outcome of single cases was recorded, so no test is possible"
SAME = "no case differs"


@dataclass(frozen=True, slots=True)
class Values:
    """One measured thing on one side.

    Attributes
    ----------
    value : float or None
        The number as a whole; None if it could not be measured.
    cases : mapping of case id to float or None
        Outcome of each case; None: it failed there. Empty if only the number is known.
    clusters : mapping of case id to cluster id
        Cases that belong together; empty if each stands alone.
    unit : str
        Of the value; empty for a share or score.
    """

    value: float | None
    cases: Mapping[str, float | None] = field(default_factory=dict, hash=False)
    clusters: Mapping[str, str] = field(default_factory=dict, hash=False)
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One measured thing on both sides.

    Attributes
    ----------
    name : str
        What was measured.
    a, b : float or None
        The number of each side over all its cases; None if that side has none.
    unit : str
        Of the numbers.
    lower_is_better : bool
        Whether a fall is good (times, tokens, costs).
    comparison : Comparison or None
        B minus A over the cases of both; None if single cases are not known.
    p_holm : float or None
        The p of its test, adjusted for all tests of the report.
    """

    name: str
    a: float | None
    b: float | None
    unit: str = ""
    lower_is_better: bool = False
    comparison: Comparison | None = None
    p_holm: float | None = None

    @property
    def difference(self) -> float | None:
        """B minus A: over the matched cases, or of the numbers where cases are not known."""
        if self.comparison is not None and self.comparison.n:
            return self.comparison.difference
        return None if self.a is None or self.b is None else self.b - self.a

    @property
    def interval(self) -> tuple[float, float] | None:
        """Of the difference; None where there is none (fewer than two cases)."""
        low, high = _end(self.comparison, "low"), _end(self.comparison, "high")
        return None if low is None or high is None else (low, high)

    @property
    def reliability(self) -> str:
        """How far to trust the row."""
        if self.comparison is None:
            return UNPAIRED
        if not self.comparison.n:
            return "no case is on both sides"
        if not self.comparison.flips:
            return SAME
        return reliability(self.comparison.interval, p=self.p_holm)

    @property
    def decided(self) -> bool:
        """Whether the interval of the difference leaves out 0 and the adjusted p is below 0.05."""
        c = self.comparison
        if c is None or not c.flips or self.p_holm is None:
            return False
        return self.p_holm < 0.05 and (c.interval.low > 0 or c.interval.high < 0)

    @property
    def verdict(self) -> str:
        """What B is beside A: better, worse, or neither for certain."""
        if not self.decided or self.comparison is None:
            return "no decisive difference"
        return "better" if (self.comparison.difference > 0) != self.lower_is_better else "worse"

    def to_json(self) -> dict[str, Any]:
        """As one object, without single cases."""
        c = self.comparison
        row: dict[str, Any] = {"name": self.name, "a": self.a, "b": self.b, "unit": self.unit}
        row |= {"lower_is_better": self.lower_is_better, "difference": _number(self.difference)}
        row |= {"low": _end(c, "low"), "high": _end(c, "high"), "n": c.n if c else None}
        row |= {"clusters": c.interval.n if c else None, "p": c.p if c else None, "p_holm": self.p_holm}
        row |= {"test": c.test if c else None}
        row |= {"rose": sum(f.b > f.a for f in c.flips) if c else None}
        row |= {"fell": sum(f.b < f.a for f in c.flips) if c else None}
        row |= {"only_a": list(c.unmatched_a) if c else [], "only_b": list(c.unmatched_b) if c else []}
        row |= {"failed": list(c.failed) if c else []}
        return row | {"verdict": self.verdict, "reliability": self.reliability}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What stands behind the outcome of a case on one side: a statement, whether it is right, and its quote.

    Attributes
    ----------
    status : str
        For example matched, missed, invented, or a rank.
    text : str
        What was said.
    gold : str
        What the label says.
    quote : str
        The words that it rests on; they are marked in `around`.
    around : str
        The turn, or the part of it, that holds the quote; may be empty.
    """

    status: str
    text: str = ""
    gold: str = ""
    quote: str = ""
    around: str = ""

    def __str__(self) -> str:
        parts = [self.status, self.text and f"“{self.text}”", self.gold and f"gold “{self.gold}”"]
        parts += [self.quote and f"quote “{self.quote}”"]
        return ", ".join(p for p in parts if p)


@dataclass(frozen=True, slots=True)
class Paired:
    """The comparison of two sides; `str` is the table, `to_json` all of it, `html` (in `paired_page`) the page.

    Attributes
    ----------
    a, b : str
        Names of the sides; A is the one that B is measured against.
    what : str
        What was compared.
    lines : tuple of Line
        In the order in which side A has them.
    evidence : mapping of (line, case) to (evidence of A, evidence of B)
        What stands behind the flips, where it is known.
    changed : mapping
        What else differs between the sides (parameters, data, prompts, versions), in words.
    costs : mapping
        What each side took, in words, by its name.
    notes : tuple of str
        What to know before reading.
    """

    a: str
    b: str
    what: str
    lines: tuple[Line, ...]
    evidence: Mapping[tuple[str, str], tuple[Sequence[Evidence], Sequence[Evidence]]] = field(
        default_factory=dict, hash=False, repr=False
    )
    changed: Mapping[str, str] = field(default_factory=dict, hash=False)
    costs: Mapping[str, str] = field(default_factory=dict, hash=False)
    notes: tuple[str, ...] = ()

    @property
    def worse(self) -> tuple[str, ...]:
        """Names of what is decisively worse in B."""
        return tuple(line.name for line in self.lines if line.verdict == "worse")

    def flips(self, line: Line) -> tuple[Flip, ...]:
        """The cases of a line that differ, the worst change for B first."""
        found = line.comparison.flips if line.comparison else ()
        return tuple(sorted(found, key=lambda f: ((f.a - f.b if line.lower_is_better else f.b - f.a), f.case)))

    def to_frame(self) -> pd.DataFrame:
        """One row a measured thing."""
        import pandas as pd

        columns = ["name", "a", "b", "difference", "low", "high", "n", "p", "p_holm", "test", "rose", "fell", "verdict"]
        rows = [line.to_json() for line in self.lines]
        return pd.DataFrame(rows, columns=[*columns, "reliability"])

    def to_json(self) -> dict[str, Any]:
        """Everything, with every flip."""
        return {
            "a": self.a,
            "b": self.b,
            "what": self.what,
            "lines": [
                {**line.to_json(), "flips": [self._flip(line, f) for f in self.flips(line)]} for line in self.lines
            ],
            "worse": list(self.worse),
            "changed": dict(self.changed),
            "costs": dict(self.costs),
            "notes": list(self.notes),
        }

    def _flip(self, line: Line, flip: Flip) -> dict[str, Any]:
        sides = self.evidence.get((line.name, flip.case), ((), ()))
        shown = [[str(e) for e in side] for side in sides]
        return {"case": flip.case, "a": flip.a, "b": flip.b, "said_a": shown[0], "said_b": shown[1]}

    def __str__(self) -> str:
        """A table, the worst flips, and what to know."""
        from memlab.runs.paired_text import text_of

        return text_of(self)

    def _repr_html_(self) -> str:
        from memlab.runs.paired_page import fragment

        return fragment(self)

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {"text/html": self._repr_html_(), "text/plain": str(self)}


def compare_values(
    a: Mapping[str, Values], b: Mapping[str, Values], *, lower: Sequence[str] = (), seed: int = 0, resamples: int = 2000
) -> tuple[Line, ...]:
    """A line for each thing that either side measures, A's order first; tests are adjusted over all of them (Holm).

    Parameters
    ----------
    a, b : mapping of name to Values
        The two sides.
    lower : sequence of str
        Names for which a fall is good.
    seed, resamples : int
        Of the bootstrap and of the sampled permutations.

    >>> a, b = Values(0.0, {"x": 0.0}), Values(1.0, {"x": 1.0})
    >>> compare_values({"m": a}, {"m": b})[0].reliability
    'n = 1: no interval; n < 100: wide'
    """
    names = [*a, *(n for n in b if n not in a)]
    found = {n: _compared(a.get(n), b.get(n), seed, resamples) for n in names}
    adjusted = holm({n: c.p for n, c in found.items() if c is not None and c.n})
    none = Values(None)
    return tuple(
        Line(
            name=n,
            a=a.get(n, none).value,
            b=b.get(n, none).value,
            unit=a.get(n, b.get(n, none)).unit,
            lower_is_better=n in lower,
            comparison=found[n],
            p_holm=adjusted.get(n),
        )
        for n in names
    )


def _compared(a: Values | None, b: Values | None, seed: int, resamples: int) -> Comparison | None:
    if a is None or b is None or not a.cases or not b.cases:
        return None
    clusters = {**a.clusters, **b.clusters}
    return paired_difference(a.cases, b.cases, seed=seed, n=resamples, clusters=clusters or None)


def _number(value: float | None) -> float | None:
    return None if value is None or value != value else value


def _end(comparison: Comparison | None, name: str) -> float | None:
    interval: Interval | None = comparison.interval if comparison else None
    return None if interval is None else _number(getattr(interval, name))
