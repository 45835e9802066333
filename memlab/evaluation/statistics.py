"""Comparing arms: paired differences with an interval and an exact test, and several arms at once.

The intervals themselves are in `intervals.py` and can be imported from here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab.errors import InputError
from memlab.evaluation.intervals import Interval, bootstrap, bootstrap_rate, check_options, reliability, wilson

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Comparison",
    "Flip",
    "Interval",
    "bootstrap",
    "bootstrap_rate",
    "compare_arms",
    "holm",
    "mcnemar",
    "paired_difference",
    "reliability",
    "sign_flip",
    "wilson",
]

_COLUMNS = (
    *("arm", "baseline", "difference", "low", "high", "n", "clusters", "p", "p_holm", "test"),
    *("better", "worse", "unmatched", "failed", "reliability"),
)
_PERMUTATIONS = 9999
_EXACT_UP_TO = 12  # 2 ** 12 sign patterns are enumerated, more are sampled
_BLOCK = 1_000_000  # numbers held at a time while resampling


@dataclass(frozen=True, slots=True)
class Flip:
    """A case whose value differs between two arms."""

    case: str
    a: float
    b: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changes from arm `a` to arm `b`, measured on the cases that both have.

    Attributes
    ----------
    difference : float
        Mean of b minus mean of a over the matched cases: positive where b is higher. NaN without a matched case.
    interval : Interval
        Of the difference, resampled over clusters; its `n` counts clusters.
    n : int
        Matched cases.
    p : float
        Two-sided p of the test, in (0, 1].
    test : str
        Which test gave `p`.
    unmatched_a, unmatched_b : tuple of str
        Cases that only one arm has, sorted.
    failed : tuple of str
        Cases that failed (no value) in either arm, sorted; they count in no mean.
    flips : tuple of Flip
        Cases that differ, the worst change first.
    reliability : str
        When not to trust it, or "decisive".
    """

    difference: float
    interval: Interval
    n: int
    p: float
    test: str
    unmatched_a: tuple[str, ...] = ()
    unmatched_b: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    flips: tuple[Flip, ...] = field(default=(), repr=False)
    reliability: str = ""

    def __str__(self) -> str:
        """One line for a reader, without the flips."""
        apart = {"unmatched": len(self.unmatched_a) + len(self.unmatched_b), "failed": len(self.failed)}
        said = "".join(f", {count} {name}" for name, count in apart.items() if count)
        return (
            f"{self.difference:+.3f} [{self.interval.low:+.3f}, {self.interval.high:+.3f}], n={self.n}{said}, "
            f"p={self.p:.2g} ({self.test}): {self.reliability}"
        )

    def to_row(self) -> dict[str, Any]:
        """As one row of a table."""
        return {
            "difference": self.difference,
            "low": self.interval.low,
            "high": self.interval.high,
            "n": self.n,
            "clusters": self.interval.n,
            "p": self.p,
            "test": self.test,
            "better": sum(f.b > f.a for f in self.flips),
            "worse": sum(f.b < f.a for f in self.flips),
            "unmatched": len(self.unmatched_a) + len(self.unmatched_b),
            "failed": len(self.failed),
            "reliability": self.reliability,
        }


def paired_difference(
    a: Mapping[str, float | None],
    b: Mapping[str, float | None],
    *,
    seed: int,
    n: int = 2000,
    level: float = 0.95,
    clusters: Mapping[str, str] | None = None,
) -> Comparison:
    """What changes from `a` to `b` (b minus a), case by case, with an interval, a test and a word on its worth.

    For 0/1 values of independent cases the test is McNemar's, exact. For other values, or when cases share a cluster,
    the signs of the clusters' differences are flipped (all patterns for up to 12 clusters that differ, else 9,999
    random ones).

    Parameters
    ----------
    a, b : mapping of case id to value
        None or NaN: the case failed there; it is named apart and counts in no mean.
    seed, n, level
        As in `bootstrap`; the seed also draws the random sign patterns.
    clusters : mapping of case id to cluster id, optional
        Which conversation (or scenario) a case belongs to; by default each case is its own.

    Raises
    ------
    InputError
        If `clusters` leaves out a matched case.

    References
    ----------
    Miller (2024), Adding Error Bars to Evals, arXiv:2411.00640 (paired and clustered comparisons).

    >>> paired_difference({"q1": 0, "q2": 1}, {"q1": 1, "q2": 1}, seed=0).reliability
    'interval includes 0: not decisive; n < 100: wide'
    """
    check_options(n, level)
    left, right = _valid(a), _valid(b)
    pairs = {c: (left[c], right[c]) for c in sorted(left.keys() & right.keys())}
    grouped = _grouped(pairs, clusters)
    interval = bootstrap(grouped, lambda v: float(v.mean()), seed=seed, n=n, level=level)
    test, p = _test(pairs, grouped, seed)
    return Comparison(
        difference=interval.estimate,
        interval=interval,
        n=len(pairs),
        p=p,
        test=test,
        unmatched_a=tuple(sorted(a.keys() - b.keys())),
        unmatched_b=tuple(sorted(b.keys() - a.keys())),
        failed=tuple(sorted((a.keys() - left.keys()) | (b.keys() - right.keys()))),
        flips=_flips(pairs),
        reliability=reliability(interval, p=p),
    )


def _valid(arm: Mapping[str, float | None]) -> dict[str, float]:
    return {case: float(value) for case, value in arm.items() if value is not None and not math.isnan(value)}


def _grouped(pairs: Mapping[str, tuple[float, float]], clusters: Mapping[str, str] | None) -> dict[str, list[float]]:
    grouped: dict[str, list[float]] = {}
    for case, (left, right) in pairs.items():
        if clusters is not None and case not in clusters:
            raise InputError(f"case {case!r} has no cluster; name one for every case, or give no clusters")
        grouped.setdefault(clusters[case] if clusters is not None else case, []).append(right - left)
    return grouped


def _test(pairs: Mapping[str, tuple[float, float]], grouped: Mapping[str, list[float]], seed: int) -> tuple[str, float]:
    binary = all(v in (0.0, 1.0) for pair in pairs.values() for v in pair)
    if binary and len(grouped) == len(pairs):
        up = sum(right > left for left, right in pairs.values())
        down = sum(right < left for left, right in pairs.values())
        return "exact McNemar", mcnemar(up, down)
    return "sign-flip permutation", sign_flip([math.fsum(grouped[c]) for c in sorted(grouped)], seed=seed)


def _flips(pairs: Mapping[str, tuple[float, float]]) -> tuple[Flip, ...]:
    changed = [Flip(case, left, right) for case, (left, right) in pairs.items() if left != right]
    return tuple(sorted(changed, key=lambda f: (f.b - f.a, f.case)))


def mcnemar(up: int, down: int) -> float:
    """Two-sided exact p that `up` cases went from 0 to 1 and `down` from 1 to 0 by chance alone; 1 if none did.

    References
    ----------
    McNemar (1947), Psychometrika 12(2), doi:10.1007/BF02295996.

    >>> mcnemar(5, 1)  # 2 (1 + 6) / 2 ** 6
    0.21875
    """
    if up < 0 or down < 0:
        raise InputError(f"counts must be ≥ 0, not {up} and {down}")
    total = up + down
    tail = sum(math.comb(total, i) for i in range(min(up, down) + 1))
    return min(1.0, float(2 * tail / 2**total))


def sign_flip(differences: Sequence[float], *, seed: int) -> float:
    """Two-sided p that the differences sum up as far from 0 as they do if each sign were a coin's throw.

    Parameters
    ----------
    differences : sequence of float
        One a cluster; zeros say nothing either way.
    seed : int
        Of the random patterns, where there are too many to try all.

    References
    ----------
    Ernst (2004), Permutation Methods, Stat. Sci. 19(4), doi:10.1214/088342304000000396.
    Phipson & Smyth (2010), Permutation p-values should never be zero, doi:10.2202/1544-6115.1585.

    >>> sign_flip([1.0, 2.0, 3.0], seed=0)  # 2 of 8 patterns reach 6
    0.25
    """
    values = np.array([d for d in differences if d], np.float64)
    if not len(values):
        return 1.0
    reach = abs(values.sum()) - 1e-12 * np.abs(values).sum()
    if len(values) <= _EXACT_UP_TO:
        bits = np.arange(2 ** len(values))[:, None] >> np.arange(len(values)) & 1
        return float(np.mean(np.abs((1 - 2 * bits) @ values) >= reach))
    rng, hits, step = np.random.default_rng(seed), 0, max(1, _BLOCK // len(values))
    for start in range(0, _PERMUTATIONS, step):
        bits = rng.integers(0, 2, (min(step, _PERMUTATIONS - start), len(values)), np.int8)
        hits += int(np.sum(np.abs((1 - 2 * bits) @ values) >= reach))
    return (1 + hits) / (1 + _PERMUTATIONS)


def holm(p: Mapping[str, float]) -> dict[str, float]:
    """Adjusted p of several tests, in the order given: each below 0.05 holds with all others at 5 % overall.

    Raises
    ------
    InputError
        If a p is not in [0, 1].

    References
    ----------
    Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure, Scand. J. Stat. 6(2), doi:10.2307/4615733.

    >>> holm({"x": 0.01, "y": 0.04, "z": 0.03})
    {'x': 0.03, 'y': 0.06, 'z': 0.06}
    """
    for name, value in p.items():
        if not 0 <= value <= 1:
            raise InputError(f"p of {name!r} must be in [0, 1], not {value}")
    adjusted: dict[str, float] = {}
    highest = 0.0
    for rank, name in enumerate(sorted(p, key=lambda name: (p[name], name))):
        highest = max(highest, min(1.0, (len(p) - rank) * p[name]))
        adjusted[name] = highest
    return {name: adjusted[name] for name in p}


def compare_arms(
    arms: Mapping[str, Mapping[str, float | None]],
    *,
    baseline: str,
    seed: int,
    n: int = 2000,
    level: float = 0.95,
    clusters: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Each arm against one baseline, one row an arm in the order given, with Holm's p over all of them.

    Raises
    ------
    InputError
        If `baseline` is none of the arms.
    """
    import pandas as pd

    if baseline not in arms:
        raise InputError(f"baseline {baseline!r} is none of the arms: {', '.join(sorted(arms))}")
    found = {
        name: paired_difference(arms[baseline], values, seed=seed, n=n, level=level, clusters=clusters)
        for name, values in arms.items()
        if name != baseline
    }
    adjusted = holm({name: c.p for name, c in found.items()})
    rows = []
    for name, c in found.items():
        row = {"arm": name, "baseline": baseline, **c.to_row(), "p_holm": adjusted[name]}
        rows.append({**row, "reliability": reliability(c.interval, p=adjusted[name])})
    return pd.DataFrame(rows, columns=list(_COLUMNS))
