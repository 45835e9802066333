"""The before/after study: rates by category, the difference at equal mix, and what speaks against reading it so."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from memlab.errors import InputError
from memlab.evaluation.intervals import Interval, check_options, reliability, wilson
from memlab.evaluation.rollout.checks import (
    Check,
    cells_of,
    check_classifier,
    check_method,
    check_missing,
    check_mix,
    check_overlap,
    check_trend,
)
from memlab.evaluation.rollout.classifier import Classifier
from memlab.evaluation.rollout.incidents import Incident, IncidentTable
from memlab.evaluation.rollout.rates import Cell, mantel_haenszel, newcombe, resampled_cells, standardised

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CategoryRates", "RolloutStudy", "study_rollout"]


@dataclass(frozen=True, slots=True)
class CategoryRates:
    """The share of incidents resolved in one category, before and after, and the difference."""

    category: str
    before: Interval
    after: Interval
    difference: Interval

    @property
    def reliability(self) -> str:
        """When not to trust the difference."""
        return reliability(self.difference)


@dataclass(frozen=True, slots=True)
class RolloutStudy:
    """What an incident table says about a rollout.

    Attributes
    ----------
    categories : tuple of CategoryRates
        Sorted by name.
    before, after : Interval
        All incidents with a known outcome.
    crude : Interval
        Rate after less rate before, as they are.
    difference : Interval
        The same at equal mix of categories (Mantel–Haenszel): the study's answer.
    relative : Interval
        The change at equal mix as a share of the rate before.
    checks : tuple of Check
        What could explain the difference otherwise.
    incidents, unknown, skipped : int
        Incidents read; of them without a known outcome; rows that were left out.
    """

    categories: tuple[CategoryRates, ...]
    before: Interval
    after: Interval
    crude: Interval
    difference: Interval
    relative: Interval
    checks: tuple[Check, ...]
    incidents: int
    unknown: int
    skipped: int

    @property
    def fired(self) -> tuple[str, ...]:
        """Names of the checks that fired."""
        return tuple(c.name for c in self.checks if c.fired)

    @property
    def reliability(self) -> str:
        """When not to trust the difference, or "decisive"."""
        text = reliability(self.difference)
        doubts = f"look at {', '.join(self.fired)} first" if self.fired else ""
        return "; ".join(part for part in ("" if text == "decisive" and doubts else text, doubts) if part)

    @property
    def detectable(self) -> float:
        """The smallest true difference that as many incidents would show clear of 0 in four of five studies."""
        z = NormalDist().inv_cdf((1 + self.difference.level) / 2)
        error = (self.difference.high - self.difference.low) / 2 / z
        return (z + NormalDist().inv_cdf(0.8)) * error

    def text(self) -> str:
        """The study in a few lines for a reader."""
        d, r = self.difference, self.relative
        lines = [
            f"{self.incidents} incidents, {self.unknown} without a known outcome, {self.skipped} rows left out",
            f"resolved before {self.before}, after {self.after}",
            f"crude difference {_signed(self.crude)}",
            f"at equal mix    {_signed(d)}, relative {r.estimate:+.1%} [{r.low:+.1%}, {r.high:+.1%}]: {self.reliability}",
        ]
        lines += [f"{'!' if c.fired else ' '} {c.name}: {c.text}" for c in self.checks]
        return "\n".join(textwrap.fill(line, 104, subsequent_indent=" " * 4, drop_whitespace=True) for line in lines)

    def check(self, name: str) -> Check:
        """One check by name.

        Raises
        ------
        InputError
            If there is none of this name.
        """
        for check in self.checks:
            if check.name == name:
                return check
        raise InputError(f"no check {name!r}; there are {', '.join(c.name for c in self.checks)}")

    def __str__(self) -> str:
        return self.text()

    def to_frame(self) -> pd.DataFrame:
        """One row a quantity: overall first, then every category; value, low, high, n, reliability."""
        import pandas as pd

        named = {
            "rate before": (self.before, ""),
            "rate after": (self.after, ""),
            "crude difference": (self.crude, reliability(self.crude)),
            "difference at equal mix": (self.difference, self.reliability),
            "relative change at equal mix": (self.relative, self.reliability),
        }
        rows = [("(all)", name, i.estimate, i.low, i.high, i.n, text) for name, (i, text) in named.items()]
        for c in self.categories:
            for name, i, text in (
                ("rate before", c.before, ""),
                ("rate after", c.after, ""),
                ("difference", c.difference, c.reliability),
            ):
                rows.append((c.category, name, i.estimate, i.low, i.high, i.n, text))
        return pd.DataFrame(rows, columns=["category", "quantity", "value", "low", "high", "n", "reliability"])

    def checks_frame(self) -> pd.DataFrame:
        """One row a check: name, fired, text, and the number that it looked at."""
        import pandas as pd

        blank = Interval(math.nan, math.nan, math.nan, 0)
        rows = [(c.name, c.fired, (i := c.estimate or blank).estimate, i.low, i.high, c.text) for c in self.checks]
        return pd.DataFrame(rows, columns=["check", "fired", "value", "low", "high", "text"])


def study_rollout(
    table: IncidentTable,
    *,
    classifier: Classifier | tuple[Classifier, Classifier] | None = None,
    seed: int,
    n: int = 2000,
    level: float = 0.95,
) -> RolloutStudy:
    """Compare the incidents before and after a rollout.

    It is an observation, not an experiment: the checks look for five other explanations, and there may be a sixth.
    Incidents count as independent of each other.

    Parameters
    ----------
    table : IncidentTable
        As `read_incidents` gives it.
    classifier : Classifier, or pair of them, optional
        The errors of the classifier that read outcomes: measured once, or (before, after) measured in each period.
    seed, n, level
        Of the resampling; how many resamples; confidence level.

    Raises
    ------
    InputError
        If no category has known outcomes in both periods, or an option is out of range.
    """
    check_options(n, level)
    cells = cells_of(table.incidents)
    if not any(c.before_n and c.after_n for c in cells.values()):
        raise InputError("no category has known outcomes both before and after the rollout; nothing can be compared")
    every = Cell(*(sum(getattr(c, f) for c in cells.values()) for f in ("before", "before_n", "after", "after_n")))
    crude, equal = newcombe(every, level=level), mantel_haenszel(cells, level=level)
    return RolloutStudy(
        categories=tuple(_category(name, c, level) for name, c in sorted(cells.items())),
        before=wilson(every.before, every.before_n, level=level),
        after=wilson(every.after, every.after_n, level=level),
        crude=crude,
        difference=equal,
        relative=_relative(cells, equal, seed=seed, n=n, level=level),
        checks=_checks(table, cells, crude, equal, classifier, seed=seed, n=n, level=level),
        incidents=len(table.incidents),
        unknown=sum(i.resolved is None for i in table.incidents),
        skipped=len(table.skipped),
    )


def _checks(
    table: IncidentTable,
    cells: Mapping[str, Cell],
    crude: Interval,
    equal: Interval,
    classifier: Classifier | tuple[Classifier, Classifier] | None,
    *,
    seed: int,
    n: int,
    level: float,
) -> tuple[Check, ...]:
    incidents: Sequence[Incident] = table.incidents
    return (
        check_mix(cells, crude, equal, seed=seed, n=n, level=level),
        check_trend(table, equal, level=level),
        check_classifier(incidents, equal, classifier, seed=seed, n=n, level=level),
        check_method(incidents, level=level),
        check_missing(incidents, cells),
        check_overlap(cells),
    )


def _category(name: str, c: Cell, level: float) -> CategoryRates:
    before, after = wilson(c.before, c.before_n, level=level), wilson(c.after, c.after_n, level=level)
    return CategoryRates(name, before, after, newcombe(c, level=level))


def _relative(cells: Mapping[str, Cell], equal: Interval, *, seed: int, n: int, level: float) -> Interval:
    """Rates at one mix (Mantel–Haenszel weights) as a ratio less 1; incidents resampled within each period."""
    before, after = standardised(cells)
    b, n0, a, n1 = np.moveaxis(resampled_cells(cells, seed=seed, n=n), 2, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = n0 * n1 / (n0 + n1)
        ratios = np.nansum(share * a / n1, axis=1) / np.nansum(share * b / n0, axis=1) - 1
    ratios = ratios[np.isfinite(ratios)]
    if not before or not len(ratios):
        return Interval(math.nan, math.nan, math.nan, equal.n, level)
    low, high = np.quantile(ratios, [(1 - level) / 2, (1 + level) / 2])
    return Interval(after / before - 1, float(low), float(high), equal.n, level)


def _signed(i: Interval) -> str:
    return f"{i.estimate:+.3f} [{i.low:+.3f}, {i.high:+.3f}] n={i.n}"
