"""Intervals: how far an estimate could as well have been elsewhere, with whole clusters resampled.

Cases of one conversation (or queries for one cause) resemble each other, so conversations are drawn, not cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from memlab.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["FEW", "Interval", "bootstrap", "bootstrap_rate", "reliability", "wilson"]

FEW = 100
"""Below this many clusters every interval is called wide."""

_BLOCK = 1_000_000  # numbers held at a time while resampling


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and the range that it could as well have had.

    Attributes
    ----------
    estimate : float
        The statistic on all data; NaN where it is undefined (0 / 0).
    low, high : float
        Ends of the confidence interval; NaN where one cluster, or none, gives no idea of the spread.
    n : int
        Clusters (conversations) that it rests on.
    level : float
        Confidence level, in (0, 1).
    """

    estimate: float
    low: float
    high: float
    n: int
    level: float = 0.95

    def __str__(self) -> str:
        return f"{self.estimate:.3f} [{self.low:.3f}, {self.high:.3f}] n={self.n}"


def bootstrap(
    values_by_cluster: Mapping[str, ArrayLike],
    statistic: Callable[[NDArray[np.float64]], float],
    *,
    seed: int,
    n: int = 2000,
    level: float = 0.95,
) -> Interval:
    """Percentile interval of any statistic: whole clusters are drawn with replacement, their values pooled.

    Parameters
    ----------
    values_by_cluster : mapping of cluster id to values
        Values of one cluster, shape (m,) or (m, columns); the order of clusters does not matter.
    statistic : callable
        From the pooled values to a number; NaN where undefined (such resamples are left out).
    seed, n, level
        Of the random generator; number of resamples; confidence level.

    Raises
    ------
    InputError
        If `n` or `level` is out of range.

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, ch. 13, doi:10.1201/9780429246593.
    Miller (2024), Adding Error Bars to Evals, arXiv:2411.00640 (clusters).

    >>> bootstrap({"a": [1, 1], "b": [0]}, lambda v: float(v.mean()), seed=0, n=100).estimate
    0.6666666666666666
    """
    check_options(n, level)
    clusters = [np.asarray(values_by_cluster[c], np.float64) for c in sorted(values_by_cluster)]
    if not clusters:
        return Interval(math.nan, math.nan, math.nan, 0, level)
    estimate = float(statistic(np.concatenate(clusters)))
    draws = [
        float(statistic(np.concatenate([clusters[i] for i in row])))
        for block in _resamples(len(clusters), n, seed)
        for row in block
    ]
    return _interval(estimate, np.array(draws), len(clusters), level)


def bootstrap_rate(
    totals_by_cluster: Mapping[str, tuple[float, float]], *, seed: int, n: int = 2000, level: float = 0.95
) -> Interval:
    """Interval of a share, Σ numerator / Σ denominator, over clusters: a precision, a recall, an F1, a mean of 0…1.

    The resamples are those of `bootstrap` with the same seed, so both give the same interval. Where all clusters have
    0 (or all 1) nothing varies and the percentile interval would have no width; Wilson's, for one trial a cluster, is
    given instead. Clusters with denominator 0 are left out, and not counted in `n`.

    Parameters
    ----------
    totals_by_cluster : mapping of cluster id to (numerator, denominator)
        With 0 ≤ numerator ≤ denominator.
    seed, n, level
        As in `bootstrap`.

    Raises
    ------
    InputError
        If a numerator is below 0 or above its denominator.

    >>> print(bootstrap_rate({"a": (2, 2), "b": (1, 1)}, seed=0))
    1.000 [0.342, 1.000] n=2
    """
    check_options(n, level)
    for cluster, (top, bottom) in sorted(totals_by_cluster.items()):
        if not 0 <= top <= bottom + 1e-9:
            raise InputError(f"cluster {cluster!r}: numerator {top} must be in [0, denominator {bottom}]")
    used = [pair for _, pair in sorted(totals_by_cluster.items()) if pair[1] > 0]
    pairs = np.array(used, np.float64).reshape(-1, 2)
    size = len(pairs)
    if not size:
        return Interval(math.nan, math.nan, math.nan, 0, level)
    top, bottom = pairs.sum(axis=0)
    estimate = float(top / bottom)
    if top == 0 or top == bottom:
        edge = wilson(round(estimate) * size, size, level=level)
        return Interval(estimate, edge.low, edge.high, size, level)
    sums = np.concatenate([pairs[block].sum(axis=1) for block in _resamples(size, n, seed)])
    return _interval(estimate, sums[:, 0] / sums[:, 1], size, level)


def wilson(k: float, n: int, *, level: float = 0.95) -> Interval:
    """Wilson's score interval for k successes in n independent trials; it has a width even at 0 and n.

    Raises
    ------
    InputError
        If not 0 ≤ k ≤ n.

    References
    ----------
    Wilson (1927), Probable Inference, J. Am. Stat. Assoc. 22(158), doi:10.1080/01621459.1927.10502953.

    >>> print(wilson(8, 10))
    0.800 [0.490, 0.943] n=10
    """
    check_options(1, level)
    if not 0 <= k <= n:
        raise InputError(f"successes must be between 0 and n={n}, not {k}")
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, 0, level)
    z, p = NormalDist().inv_cdf((1 + level) / 2), k / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return Interval(p, 0.0 if k == 0 else centre - half, 1.0 if k == n else centre + half, n, level)


def reliability(interval: Interval, *, p: float | None = None, null: float | None = 0.0) -> str:
    """When not to trust an interval, or "decisive".

    Parameters
    ----------
    interval : Interval
        Of a difference, or of any number with `null=None`.
    p : float, optional
        Of a test of the same difference.
    null : float, optional
        The value that would mean "no difference"; None if there is none (then "" stands for nothing to say).

    >>> reliability(Interval(0.2, 0.1, 0.3, 250), p=0.001)
    'decisive'
    """
    if not interval.n:
        return "no data"
    notes = []
    if math.isnan(interval.low):
        notes.append(f"n = {interval.n}: no interval")
    elif null is not None and interval.low <= null <= interval.high:
        notes.append(f"interval includes {null:g}: not decisive")
    elif p is not None and p > 1 - interval.level + 1e-12:
        notes.append(f"p = {p:.2g}: interval and test disagree, not decisive")
    if interval.n < FEW:
        notes.append(f"n < {FEW}: wide")
    return "; ".join(notes) or ("decisive" if null is not None else "")


def check_options(n: int, level: float) -> None:
    """Refuse a number of resamples below 1 and a level outside (0, 1)."""
    if n < 1:
        raise InputError(f"the number of resamples must be ≥ 1, not {n}")
    if not 0 < level < 1:
        raise InputError(f"the confidence level must be between 0 and 1, not {level}")


def _resamples(size: int, n: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Blocks of rows of `size` cluster numbers, `n` rows in all; the same for the same arguments."""
    rng, step = np.random.default_rng(seed), max(1, _BLOCK // size)
    for start in range(0, n, step):
        yield rng.integers(0, size, (min(step, n - start), size))


def _interval(estimate: float, draws: NDArray[np.float64], clusters: int, level: float) -> Interval:
    draws = draws[~np.isnan(draws)]
    if clusters < 2 or not len(draws):
        return Interval(estimate, math.nan, math.nan, clusters, level)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(estimate, float(low), float(high), clusters, level)
