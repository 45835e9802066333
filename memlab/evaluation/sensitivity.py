"""What the gain depends on: the user's patience, noise in the corpus, the amount of history."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab.errors import InputError
from memlab.evaluation.intervals import reliability
from memlab.evaluation.trials import PairedSums, drawn_sums, interval_of, paired_sums, trial_frame
from memlab.simulation.records import Trial

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["sensitivity"]


def sensitivity(
    trials: Iterable[Trial] | pd.DataFrame,
    factors: Sequence[str],
    *,
    arm: str,
    baseline: str = "none",
    metric: str = "resolved",
    seed: int,
    n: int = 2000,
    level: float = 0.95,
) -> pd.DataFrame:
    """Does the gain depend on it: the paired difference at each level of each factor, and against the first level.

    Parameters
    ----------
    trials : frame
        With one further column a factor: a property of the scenario (the user's patience) or of the run (noise in the
        corpus, amount of history; the frames of several runs one below the other).
    factors : sequence of str
        Columns.
    arm, baseline, metric, seed, n, level
        As in `compare_trials`.

    Returns
    -------
    pandas.DataFrame
        factor, level, the difference with its interval, `change` (difference less that at the first level, scenarios
        resampled jointly) with its interval, scenarios, reliability.

    Raises
    ------
    InputError
        If a factor is no column.
    """
    import pandas as pd

    frame = trial_frame(trials)
    rows: list[dict[str, Any]] = []
    for factor in factors:
        if factor not in frame.columns:
            raise InputError(f"trials have no column {factor!r}; add one with its level for every trial")
        by = {
            value: paired_sums(frame[frame[factor] == value], metric, arm=arm, baseline=baseline)
            for value in sorted(frame[factor].dropna().unique())
        }
        rows += _levels(factor, by, seed, n, level)
    return pd.DataFrame(rows)


def _levels(factor: str, by: Mapping[Any, PairedSums], seed: int, n: int, level: float) -> list[dict[str, Any]]:
    every = sorted({s for sums in by.values() for s in sums.scenarios})
    draws: list[NDArray[np.float64]] = []
    rows: list[dict[str, Any]] = []
    for value, s in by.items():
        at = [every.index(x) for x in s.scenarios]
        gain, count = np.zeros(len(every)), np.zeros(len(every))
        gain[at], count[at] = s.b - s.a, s.n
        with np.errstate(divide="ignore", invalid="ignore"):
            draws.append(drawn_sums(gain, seed, n) / drawn_sums(count, seed, n))
        found = interval_of(float(gain.sum() / max(1.0, count.sum())), draws[-1], len(at), level)
        first = rows[0]["difference"] if rows else found.estimate
        change = interval_of(found.estimate - first, draws[-1] - draws[0], len(at), level)
        rows.append(
            {
                "factor": factor,
                "level": value,
                "difference": found.estimate,
                "low": found.low,
                "high": found.high,
                "change": change.estimate if rows else math.nan,
                "change_low": change.low if rows else math.nan,
                "change_high": change.high if rows else math.nan,
                "scenarios": len(at),
                "reliability": reliability(found),
            }
        )
    return rows
