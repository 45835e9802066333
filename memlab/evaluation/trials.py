"""From trials of the simulated help desk to results: paired differences between arms, and pass^k.

A scenario's repeats resemble each other, so scenarios are resampled whole, and arms are compared repeat by repeat.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from memlab.errors import InputError
from memlab.evaluation.intervals import Interval, check_options, reliability
from memlab.evaluation.statistics import holm, sign_flip
from memlab.simulation.records import Trial, to_frame

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

__all__ = [
    "METRICS",
    "PairedSums",
    "arm_means",
    "compare_trials",
    "drawn_sums",
    "interval_of",
    "paired_sums",
    "pass_k",
    "trial_frame",
    "wide_trials",
]

Better = Literal["higher", "lower"]

METRICS: Mapping[str, Better] = {
    "resolved": "higher",
    "steps": "lower",
    "tool_calls": "lower",
    "tool_relevance": "higher",
    "first_action_right": "higher",
    "repeated_failed_steps": "lower",
    "user_effort": "lower",
    "harm": "lower",
    "false_claim": "lower",
    "tokens": "lower",
}
"""What is measured of a trial, and which way is better. A false claim: the user said "it works" and it does not."""

_NEEDED = ("scenario", "arm", "repeat")
_COLUMNS = (
    *("metric", "arm", "baseline", "value", "baseline_value", "difference", "low", "high"),
    *("relative", "relative_low", "relative_high", "n", "scenarios", "p", "p_holm"),
    *("verdict", "unmatched", "missing", "reliability"),
)


@dataclass(frozen=True, slots=True)
class PairedSums:
    """Two arms on the trials that both have, summed by scenario: all that a clustered bootstrap needs.

    Attributes
    ----------
    scenarios : tuple of str
        Sorted.
    a, b, n : array, shape (scenarios,)
        Sums of the values of both arms, and the matched pairs behind them.
    unmatched : int
        Trials that only one of the arms has.
    missing : int
        Pairs without a value in either arm (no tool call, no relevance); they count in no mean.
    """

    scenarios: tuple[str, ...]
    a: NDArray[np.float64]
    b: NDArray[np.float64]
    n: NDArray[np.float64]
    unmatched: int = 0
    missing: int = 0


def trial_frame(trials: Iterable[Trial] | pd.DataFrame) -> pd.DataFrame:
    """One row a trial with every metric as a number; further columns of a frame (a noise level, say) stay.

    Raises
    ------
    InputError
        If a column is missing, or there is no trial.
    """
    import pandas as pd

    frame = trials.copy() if isinstance(trials, pd.DataFrame) else to_frame(trials)
    missing = [c for c in _NEEDED if c not in frame.columns]
    if missing:
        raise InputError(f"trials need the columns {', '.join(_NEEDED)}; missing: {', '.join(missing)}")
    if frame.empty:
        raise InputError("there is no trial to evaluate; play some with `memlab simulate`")
    if "false_claim" not in frame and {"claimed_resolved", "resolved"} <= set(frame.columns):
        frame["false_claim"] = frame["claimed_resolved"].astype(bool) & ~frame["resolved"].astype(bool)
    for metric in (m for m in METRICS if m in frame.columns):
        frame[metric] = frame[metric].astype("float64")
    return frame


def paired_sums(frame: pd.DataFrame, metric: str, *, arm: str, baseline: str) -> PairedSums:
    """Match the trials of two arms by scenario and repeat, and sum them by scenario.

    Raises
    ------
    InputError
        If an arm or the metric is unknown, or a trial is there twice.
    """
    wide = wide_trials(frame, metric, (baseline, arm))
    both = wide.notna().all(axis=1)
    played = wide_trials(frame.assign(**{metric: 1.0}), metric, (baseline, arm)).notna()
    sums = wide[both].groupby(level="scenario").agg(["sum", "count"])
    return PairedSums(
        scenarios=tuple(str(s) for s in sums.index),
        a=sums[(baseline, "sum")].to_numpy(np.float64),
        b=sums[(arm, "sum")].to_numpy(np.float64),
        n=sums[(arm, "count")].to_numpy(np.float64),
        unmatched=int((played.sum(axis=1) == 1).sum()),
        missing=int((played.all(axis=1) & ~both).sum()),
    )


def wide_trials(frame: pd.DataFrame, metric: str, arms: Sequence[str]) -> pd.DataFrame:
    """One row a scenario and repeat, one column an arm; NaN where it was not played or has no value.

    Raises
    ------
    InputError
        If an arm or the metric is unknown, or a trial is there twice.
    """
    known = sorted(frame["arm"].unique())
    for arm in arms:
        if arm not in known:
            raise InputError(f"no trial has the arm {arm!r}; played: {', '.join(known)}")
    if metric not in frame.columns:
        raise InputError(f"trials have no metric {metric!r}; known: {', '.join(m for m in METRICS if m in frame)}")
    chosen = frame[frame["arm"].isin(list(arms))]
    twice = chosen[chosen.duplicated(["arm", "scenario", "repeat"])]
    if len(twice):
        arm, scenario, repeat = twice.iloc[0][["arm", "scenario", "repeat"]]
        raise InputError(f"arm {arm!r}, scenario {scenario!r}, repeat {repeat} is there twice; give each trial once")
    return chosen.pivot(index=["scenario", "repeat"], columns="arm", values=metric)


def compare_trials(
    trials: Iterable[Trial] | pd.DataFrame,
    *,
    baseline: str = "none",
    metrics: Iterable[str] | None = None,
    seed: int,
    n: int = 2000,
    level: float = 0.95,
) -> pd.DataFrame:
    """Every arm against one baseline in every metric: the paired difference, how sure it is, and when not to trust it.

    Parameters
    ----------
    trials : iterable of Trial, or frame
        All arms of one run.
    baseline : str
        The arm that the others are compared with.
    metrics : iterable of str, optional
        By default all of `METRICS` that the trials have.
    seed, n, level
        Of the bootstrap over scenarios (and of the sign flips); resamples; confidence level.

    Returns
    -------
    pandas.DataFrame
        One row a metric and arm. `difference` is the arm's mean less the baseline's over matched trials, `relative` the
        same as a share of the baseline (NaN where that is 0), each with its interval; `p` of a sign-flip test over
        scenarios, `p_holm` corrected over the arms of one metric; `verdict` better, worse or undecided.

    Raises
    ------
    InputError
        If the baseline was not played, or an option is out of range.

    References
    ----------
    Miller (2024), Adding Error Bars to Evals, arXiv:2411.00640 (paired and clustered comparisons).
    """
    import pandas as pd

    check_options(n, level)
    frame = trial_frame(trials)
    arms = [a for a in dict.fromkeys(frame["arm"]) if a != baseline]
    rows: list[dict[str, Any]] = []
    for metric in metrics or [m for m in METRICS if m in frame.columns]:
        sums = {arm: paired_sums(frame, metric, arm=arm, baseline=baseline) for arm in arms}
        p = {arm: sign_flip((s.b - s.a).tolist(), seed=seed) for arm, s in sums.items()}
        adjusted = holm(p)
        for arm, s in sums.items():
            row = {"metric": metric, "arm": arm, "baseline": baseline, "p": p[arm], "p_holm": adjusted[arm]}
            rows.append({**row, **_compared(s, METRICS.get(metric, "higher"), adjusted[arm], seed, n, level)})
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _compared(s: PairedSums, better: Better, p: float, seed: int, n: int, level: float) -> dict[str, Any]:
    a, b, count = (drawn_sums(x, seed, n) for x in (s.a, s.b, s.n))
    total = max(1.0, float(s.n.sum()))
    value, base = float(s.b.sum()) / total, float(s.a.sum()) / total
    difference = interval_of(value - base, (b - a) / count, len(s.scenarios), level)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(a != 0, b / a - 1, math.nan)
    relative = interval_of(value / base - 1 if base else math.nan, ratio, len(s.scenarios), level)
    text = reliability(difference, p=p)
    notes = [f"{s.unmatched} trials unmatched"] * bool(s.unmatched) + [f"{s.missing} without a value"] * bool(s.missing)
    return {
        "value": value if len(s.scenarios) else math.nan,
        "baseline_value": base if len(s.scenarios) else math.nan,
        "difference": difference.estimate,
        "low": difference.low,
        "high": difference.high,
        "relative": relative.estimate,
        "relative_low": relative.low,
        "relative_high": relative.high,
        "n": int(s.n.sum()),
        "scenarios": len(s.scenarios),
        "verdict": _verdict(difference, better, p),
        "unmatched": s.unmatched,
        "missing": s.missing,
        "reliability": "; ".join([text, *notes]),
    }


def _verdict(difference: Interval, better: Better, p: float) -> str:
    if not (difference.low > 0 or difference.high < 0) or p > 1 - difference.level + 1e-12:
        return "undecided"
    return "better" if (difference.estimate > 0) == (better == "higher") else "worse"


def drawn_sums(values: NDArray[np.float64], seed: int, n: int) -> NDArray[np.float64]:
    """Sums of `n` resamples of the scenarios, drawn as `bootstrap` draws its clusters."""
    if not len(values):
        return np.zeros(0)
    rng, step = np.random.default_rng(seed), max(1, 1_000_000 // len(values))
    sizes = [min(step, n - start) for start in range(0, n, step)]
    return np.concatenate([values[rng.integers(0, len(values), (size, len(values)))].sum(axis=1) for size in sizes])


def interval_of(estimate: float, draws: NDArray[np.float64], clusters: int, level: float) -> Interval:
    """The percentile interval of resampled values; none where one cluster, or none, gives no idea of the spread."""
    draws = draws[~np.isnan(draws)]
    if clusters < 2 or not len(draws):
        return Interval(estimate if clusters else math.nan, math.nan, math.nan, clusters, level)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(estimate, float(low), float(high), clusters, level)


def arm_means(
    trials: Iterable[Trial] | pd.DataFrame, *, metrics: Iterable[str] | None = None, seed: int, n: int = 2000
) -> pd.DataFrame:
    """The mean of every metric in every arm with its interval over scenarios: arm, metric, value, low, high, n."""
    import pandas as pd

    frame, rows = trial_frame(trials), []
    for metric in metrics or [m for m in METRICS if m in frame.columns]:
        for arm in dict.fromkeys(frame["arm"]):
            part = (
                frame[(frame["arm"] == arm) & frame[metric].notna()].groupby("scenario")[metric].agg(["sum", "count"])
            )
            top, count = part["sum"].to_numpy(np.float64), part["count"].to_numpy(np.float64)
            mean = float(top.sum() / count.sum()) if len(part) else math.nan
            found = interval_of(mean, drawn_sums(top, seed, n) / drawn_sums(count, seed, n), len(part), 0.95)
            rows.append((arm, metric, found.estimate, found.low, found.high, int(count.sum())))
    return pd.DataFrame(rows, columns=["arm", "metric", "value", "low", "high", "n"])


def pass_k(
    trials: Iterable[Trial] | pd.DataFrame, *, ks: Sequence[int] = (1, 2, 3, 4, 5, 6), seed: int, n: int = 2000
) -> pd.DataFrame:
    """How likely an arm resolves a scenario k times out of k, by arm and k, with an interval over scenarios.

    Of a scenario that was resolved in c of m repeats the unbiased estimate is C(c, k) / C(m, k); scenarios are averaged.

    Returns
    -------
    pandas.DataFrame
        arm, k, value, low, high, scenarios, reliability; no value where a scenario has fewer than k repeats.

    References
    ----------
    Yao et al. (2024), τ-bench, arXiv:2406.12045, section 3 (pass^k).
    """
    import pandas as pd

    if not ks or min(ks) < 1:
        raise InputError(f"k must be ≥ 1, not {min(ks, default=None)}")
    frame, rows = trial_frame(trials), []
    for arm in dict.fromkeys(frame["arm"]):
        counts = frame[frame["arm"] == arm].groupby("scenario")["resolved"].agg(["sum", "count"])
        fewest = int(counts["count"].min())
        for k in ks:
            pairs = [(int(c), int(m)) for c, m in counts.itertuples(index=False)]
            each = [math.comb(c, k) / math.comb(m, k) for c, m in pairs if k <= fewest]
            values = np.array(each)
            mean = float(values.mean()) if each else math.nan
            found = interval_of(mean, drawn_sums(values, seed, n) / max(1, len(each)), len(each), 0.95)
            text = reliability(found, null=None) if each else f"needs {k} repeats a scenario; one has {fewest}"
            rows.append((arm, k, found.estimate, found.low, found.high, len(each), text))
    return pd.DataFrame(rows, columns=["arm", "k", "value", "low", "high", "scenarios", "reliability"])
