"""Two rates and their difference: alone, over categories, without a changed mix, and beside a trend."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from memlab.errors import InputError
from memlab.evaluation.intervals import Interval, wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Cell", "Trend", "mantel_haenszel", "mix_effect", "newcombe", "resampled_cells", "segmented", "standardised"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One category: resolved and all incidents, before and after."""

    before: int
    before_n: int
    after: int
    after_n: int


def newcombe(cell: Cell, *, level: float = 0.95) -> Interval:
    """The rate after less the rate before, with the interval that combines both rates' Wilson intervals.

    References
    ----------
    Newcombe (1998), Interval estimation for the difference between independent proportions, method 10,
    doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I.

    >>> print(newcombe(Cell(48, 80, 56, 70)))  # the paper's first example: 56/70 - 48/80
    0.200 [0.052, 0.334] n=150
    """
    a, b = wilson(cell.after, cell.after_n, level=level), wilson(cell.before, cell.before_n, level=level)
    n = cell.after_n + cell.before_n
    if not cell.after_n or not cell.before_n:
        return Interval(math.nan, math.nan, math.nan, n, level)
    d = a.estimate - b.estimate
    low = d - math.hypot(a.estimate - a.low, b.high - b.estimate)
    return Interval(d, low, d + math.hypot(a.high - a.estimate, b.estimate - b.low), n, level)


def mantel_haenszel(cells: Mapping[str, Cell], *, level: float = 0.95) -> Interval:
    """The difference at equal mix: that of every category, weighted by n before · n after / n (Mantel–Haenszel).

    A category with incidents in one period only has no weight. The variance holds for few large categories as well as
    for many small ones.

    Raises
    ------
    InputError
        If no category has incidents in both periods.

    References
    ----------
    Greenland & Robins (1985), Estimation of a common effect parameter from sparse follow-up data, Biometrics 41(1),
    doi:10.2307/2530643. Sato, Greenland & Robins (1989), On the variance estimator for the Mantel–Haenszel risk
    difference, Biometrics 45(4), 1323–1324.
    """
    table = _array([c for _, c in sorted(cells.items()) if c.before_n and c.after_n])
    if not len(table):
        raise InputError("no category has incidents in both periods; nothing can be compared")
    b, n0, a, n1 = table.T
    n = n0 + n1
    weight = float((n1 * n0 / n).sum())
    d = float(((a * n0 - b * n1) / n).sum()) / weight
    p = float((b * (n1 / n) ** 2 - a * (n0 / n) ** 2 + n1 * n0 * (n0 - n1) / (2 * n**2)).sum())
    q = float(((a * (n0 - b) + b * (n1 - a)) / (2 * n)).sum())
    error = math.sqrt(max(0.0, d * p + q)) / weight
    z = NormalDist().inv_cdf((1 + level) / 2)
    return Interval(d, d - z * error, d + z * error, int(n.sum()), level)


def _array(cells: Sequence[Cell]) -> NDArray[np.float64]:
    return np.array([(c.before, c.before_n, c.after, c.after_n) for c in cells], np.float64).reshape(-1, 4)


def standardised(cells: Mapping[str, Cell]) -> tuple[float, float]:
    """Both rates at one mix, the Mantel–Haenszel weights; their difference is that of `mantel_haenszel`."""
    b, n0, a, n1 = _array([c for _, c in sorted(cells.items()) if c.before_n and c.after_n]).T
    share = n0 * n1 / (n0 + n1)
    share = share / share.sum()
    return float((share * b / n0).sum()), float((share * a / n1).sum())


def resampled_cells(cells: Mapping[str, Cell], *, seed: int, n: int) -> NDArray[np.float64]:
    """The table as it could as well have been: incidents drawn with replacement within each period.

    Returns
    -------
    array, shape (n, categories, 4)
        Columns: resolved before, all before, resolved after, all after; categories in sorted order.
    """
    table = _array([c for _, c in sorted(cells.items())])
    rng = np.random.default_rng(seed)
    out = np.empty((n, len(table), 4))
    for good, size in ((0, 1), (2, 3)):
        parts = np.concatenate([table[:, good], table[:, size] - table[:, good]])
        drawn = rng.multinomial(int(parts.sum()), parts / parts.sum(), size=n).astype(np.float64)
        out[:, :, good] = drawn[:, : len(table)]
        out[:, :, size] = drawn[:, : len(table)] + drawn[:, len(table) :]
    return out


def mix_effect(tables: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much of the crude difference comes from another mix of categories alone, by table.

    The sum over categories of the change of its share times its mean rate in the two periods.

    Parameters
    ----------
    tables : array, shape (n, categories, 4)
        As `resampled_cells` gives them.

    References
    ----------
    Kitagawa (1955), Components of a Difference Between Two Rates, J. Am. Stat. Assoc. 50(272),
    doi:10.1080/01621459.1955.10501299.
    """
    b, n0, a, n1 = np.moveaxis(tables, 2, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        before, after = b / n0, a / n1
    before, after = np.where(n0 > 0, before, after), np.where(n1 > 0, after, before)  # one period only: its own rate
    share = n1 / n1.sum(axis=1, keepdims=True) - n0 / n0.sum(axis=1, keepdims=True)
    return np.asarray(np.nansum(share * (before + after) / 2, axis=1))


@dataclass(frozen=True, slots=True)
class Trend:
    """A line before the rollout and one after.

    Attributes
    ----------
    slope : Interval
        Change of the rate in a week, before.
    step : Interval
        The jump at the rollout, with both lines fitted.
    bend : Interval
        How much steeper the line is after.
    carried : float
        What the line before, gone on, would have added from the mean time before to the mean time after.
    """

    slope: Interval
    step: Interval
    bend: Interval
    carried: float


def segmented(
    weeks: NDArray[np.float64],
    after: NDArray[np.bool_],
    resolved: NDArray[np.bool_],
    category: Sequence[str],
    *,
    level: float = 0.95,
) -> Trend:
    """Segmented regression on single incidents: a level for every category, a slope before, a step, another slope after.

    Parameters
    ----------
    weeks : array, shape (n,)
        Time since the rollout in weeks, negative before.
    after, resolved : arrays of bool, shape (n,)
    category : sequence of str
    level : float
        Of the intervals; their errors allow for unequal variance (HC1), not for incidents that depend on each other.

    References
    ----------
    Wagner et al. (2002), Segmented regression analysis of interrupted time series studies,
    doi:10.1046/j.1365-2710.2002.00430.x. MacKinnon & White (1985), doi:10.1016/0304-4076(85)90158-7 (HC1).
    """
    names = sorted(set(category))
    levels = np.array([[c == name for name in names] for c in category], np.float64)
    x = np.column_stack([levels, weeks, after, weeks * after])
    inverse = np.linalg.pinv(x.T @ x)
    beta = inverse @ x.T @ resolved
    left = (resolved - x @ beta)[:, None] * x
    free = len(x) - np.linalg.matrix_rank(x)
    cover = inverse @ (left.T @ left) @ inverse * len(x) / max(1, free)
    z = NormalDist().inv_cdf((1 + level) / 2)
    slope, step, bend = (
        Interval(float(beta[k]), float(beta[k] - z * e), float(beta[k] + z * e), len(x), level)
        for k, e in ((k, math.sqrt(max(0.0, cover[k, k]))) for k in (-3, -2, -1))
    )
    return Trend(slope, step, bend, float(beta[-3] * (weeks[after].mean() - weeks[~after].mean())))
