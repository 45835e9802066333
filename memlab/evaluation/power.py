"""What a number of scenarios can show, and how far a judge agrees with the final state of the device."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from memlab.errors import InputError
from memlab.evaluation.intervals import Interval, bootstrap, reliability
from memlab.evaluation.trials import trial_frame, wide_trials

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from numpy.typing import NDArray

    from memlab.simulation.records import Trial

__all__ = ["Kappa", "Spread", "cohen_kappa", "power_table", "spread_of"]


@dataclass(frozen=True, slots=True)
class Spread:
    """Where the paired difference between two arms varies: from scenario to scenario, and from repeat to repeat.

    Attributes
    ----------
    between, within : float
        Variance of a scenario's true difference, and of one repeat's difference around it; ≥ 0.
    baseline : float
        Mean of the baseline arm, so that a difference can be said as a share of it.
    difference : float
        The mean difference that was measured.
    scenarios : int
        How many it was measured on.
    """

    between: float
    within: float
    baseline: float
    difference: float
    scenarios: int

    def error(self, scenarios: int, repeats: int) -> float:
        """Standard error of the mean difference with so many scenarios, each repeated so often."""
        return math.sqrt((self.between + self.within / repeats) / scenarios)


def spread_of(trials: Iterable[Trial] | pd.DataFrame, *, arm: str, baseline: str = "none", metric: str) -> Spread:
    """Variance components of the paired difference, by analysis of variance over scenarios.

    Raises
    ------
    InputError
        If fewer than two scenarios, or no scenario with two repeats, were played with both arms.

    References
    ----------
    Searle, Casella & McCulloch (1992), Variance Components, ch. 3, doi:10.1002/9780470316856.
    """
    frame = trial_frame(trials)
    pairs = wide_trials(frame, metric, (baseline, arm)).dropna()
    d = (pairs[arm] - pairs[baseline]).groupby(level="scenario")
    sizes, means = d.size().to_numpy(np.float64), d.mean().to_numpy(np.float64)
    total, groups = float(sizes.sum()), len(sizes)
    if groups < 2 or total <= groups:
        raise InputError("a spread needs two scenarios or more, and two repeats of some, in both arms")
    grand = float((sizes * means).sum() / total)
    within = float(d.apply(lambda v: ((v - v.mean()) ** 2).sum()).sum()) / (total - groups)
    among = float((sizes * (means - grand) ** 2).sum()) / (groups - 1)
    repeats = (total - float((sizes**2).sum()) / total) / (groups - 1)
    return Spread(max(0.0, (among - within) / repeats), within, float(pairs[baseline].mean()), grand, groups)


def power_table(
    spread: Spread,
    *,
    scenarios: Sequence[int] = (24, 60, 120),
    repeats: Sequence[int] = (6,),
    power: float = 0.8,
    level: float = 0.95,
    comparisons: int = 1,
) -> pd.DataFrame:
    """The smallest true difference that so many scenarios would show, and how likely they show the measured one.

    By normal approximation: (z of the level + z of the power) times the standard error of the mean difference, its
    variance being (between + within / repeats) / scenarios. More repeats only buy down the second part.

    Parameters
    ----------
    spread : Spread
        As measured by `spread_of`.
    scenarios, repeats : sequence of int
        The designs to look at.
    power, level : float
        Chance to find the difference; confidence level of the interval that must be clear of 0.
    comparisons : int
        Arms compared with one baseline; the level is divided among them (Bonferroni, a little stricter than Holm).

    Returns
    -------
    pandas.DataFrame
        scenarios, repeats, error, detectable, detectable_relative (share of the baseline), power_for_measured.

    References
    ----------
    Miller (2024), Adding Error Bars to Evals, arXiv:2411.00640, section 5 (power analysis with variance components).

    >>> power_table(Spread(0.04, 0.30, 0.5, 0.05, 60), scenarios=[100]).round(3).to_dict("records")[0]["detectable"]
    0.084
    """
    import pandas as pd

    if not (0 < power < 1 and 0 < level < 1 and comparisons >= 1):
        raise InputError(f"power and level must be in (0, 1), comparisons ≥ 1, not {power}, {level}, {comparisons}")
    if min((*scenarios, *repeats), default=0) < 1:
        raise InputError("scenarios and repeats must be ≥ 1")
    normal = NormalDist()
    cut = normal.inv_cdf(1 - (1 - level) / comparisons / 2)
    rows = []
    for count in scenarios:
        for times in repeats:
            error = spread.error(count, times)
            least = (cut + normal.inv_cdf(power)) * error
            shift = spread.difference / error if error else math.copysign(math.inf, spread.difference)
            found = 1 - normal.cdf(cut - abs(shift)) + normal.cdf(-cut - abs(shift))
            rows.append(
                (count, times, error, least, least / abs(spread.baseline) if spread.baseline else math.nan, found)
            )
    names = ["scenarios", "repeats", "error", "detectable", "detectable_relative", "power_for_measured"]
    return pd.DataFrame(rows, columns=names)


@dataclass(frozen=True, slots=True)
class Kappa:
    """How far two judgements of the same trials agree beyond chance.

    Attributes
    ----------
    interval : Interval
        Kappa and its interval over clusters; NaN where both always say the same one thing.
    agreement : float
        Share of equal judgements.
    n : int
        Trials that both judged.
    both, only_a, only_b, neither : int
        The four cells of the table.
    reliability : str
        When not to trust it; "" if nothing speaks against it.
    """

    interval: Interval
    agreement: float
    n: int
    both: int
    only_a: int
    only_b: int
    neither: int
    reliability: str = ""

    def __str__(self) -> str:
        said = f": {self.reliability}" if self.reliability else ""
        return (
            f"kappa {self.interval.estimate:.3f} [{self.interval.low:.3f}, {self.interval.high:.3f}], "
            f"{self.agreement:.1%} of {self.n} equal (yes/yes {self.both}, yes/no {self.only_a}, "
            f"no/yes {self.only_b}, no/no {self.neither}){said}"
        )


def cohen_kappa(
    a: Mapping[str, bool],
    b: Mapping[str, bool],
    *,
    clusters: Mapping[str, str] | None = None,
    seed: int,
    n: int = 2000,
) -> Kappa:
    """Agreement of a judge (`a`) with the deterministic outcome (`b`), by trial id, corrected for chance.

    Parameters
    ----------
    a, b : mapping of trial id to bool
        Only trials that both have count.
    clusters : mapping of trial id to cluster id, optional
        The scenario of each trial; by default each trial is its own.
    seed, n
        Of the bootstrap over clusters; resamples.

    Raises
    ------
    InputError
        If they share no trial, or `clusters` leaves one out.

    References
    ----------
    Cohen (1960), A Coefficient of Agreement for Nominal Scales, doi:10.1177/001316446002000104.
    Byrt, Bishop & Carlin (1993), Bias, prevalence and kappa, doi:10.1016/0895-4356(93)90018-V.

    >>> judge, outcome = {"1": True, "2": True, "3": False}, {"1": True, "2": False, "3": False}
    >>> round(cohen_kappa(judge, outcome, seed=0).interval.estimate, 2)  # (2/3 - 4/9) / (1 - 4/9)
    0.4
    """
    shared = sorted(a.keys() & b.keys())
    if not shared:
        raise InputError("the two judgements share no trial; name the trials alike in both")
    rows: dict[str, list[tuple[float, float]]] = {}
    for trial in shared:
        if clusters is not None and trial not in clusters:
            raise InputError(f"trial {trial!r} has no cluster; name one for every trial, or give no clusters")
        rows.setdefault(clusters[trial] if clusters else trial, []).append((float(a[trial]), float(b[trial])))
    table = np.array([pair for pairs in rows.values() for pair in pairs])
    yes_a, yes_b = table[:, 0] == 1, table[:, 1] == 1
    cells = [int(c.sum()) for c in (yes_a & yes_b, yes_a & ~yes_b, ~yes_a & yes_b, ~yes_a & ~yes_b)]
    found = bootstrap(rows, _kappa, seed=seed, n=n)
    both, only_a, only_b, neither = cells
    agreed = (both + neither) / len(shared)
    return Kappa(found, agreed, len(shared), both, only_a, only_b, neither, _trust(found, cells))


def _kappa(table: NDArray[np.float64]) -> float:
    a, b = table[:, 0].mean(), table[:, 1].mean()
    chance = a * b + (1 - a) * (1 - b)
    return math.nan if chance > 1 - 1e-12 else float(((table[:, 0] == table[:, 1]).mean() - chance) / (1 - chance))


def _trust(found: Interval, cells: Sequence[int]) -> str:
    if math.isnan(found.estimate):
        return "both say the same of every trial: kappa is undefined"
    yes = (2 * cells[0] + cells[1] + cells[2]) / (2 * sum(cells))
    notes = [reliability(found, null=None if found.low > 0 else 0.0)]
    notes += [f"{yes:.0%} are yes: with so rare a kind kappa is low even for good judges"] * (not 0.1 <= yes <= 0.9)
    return "; ".join(note for note in notes if note)
