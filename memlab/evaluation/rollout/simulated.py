"""A rollout that never was, with a known effect and known faults, to see whether the study finds them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from memlab.errors import InputError
from memlab.evaluation.rollout.classifier import Classifier

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["RATES", "ROLLOUT", "simulate_rollout"]

ROLLOUT = datetime(2026, 4, 6, tzinfo=UTC)
"""Moment of the simulated rollout."""

RATES: Mapping[str, tuple[float, float]] = {
    "network": (0.20, 0.42),
    "onedrive": (0.12, 0.62),
    "outlook": (0.22, 0.66),
    "printing": (0.12, 0.82),
    "teams": (0.20, 0.60),
    "vpn": (0.14, 0.55),
}
"""By category: its share of the incidents, and the share of them that is resolved before the rollout."""

_NEW = "copilot"
_ALL = {**RATES, _NEW: (0.0, 0.8)}
_BY = ("confirmation", "classifier")


def simulate_rollout(
    *,
    seed: int,
    incidents: int = 1338,
    effect: float = 0.06,
    weeks: int = 13,
    trend: float = 0.0,
    mix_shift: float = 0.0,
    classifier: Classifier | tuple[Classifier | None, Classifier | None] | None = None,
    missing: tuple[float, float] = (0.0, 0.0),
    new_category: float = 0.0,
) -> pd.DataFrame:
    """An incident table with the columns that `read_incidents` reads.

    Parameters
    ----------
    seed : int
        Equal arguments give an equal table.
    incidents : int
        Half of them before the rollout, at times drawn evenly over as many `weeks` on either side.
    effect : float
        What the rollout adds to the rate of every category: the truth to find again.
    trend : float
        What a week adds to every rate, rollout or not.
    mix_shift : float
        Share of incidents that the hardest category loses to the easiest one after the rollout.
    classifier : Classifier, or pair (before, after), optional
        Reads the outcomes with these errors; where there is none they are confirmed and right.
    missing : (float, float)
        Share of outcomes unknown before and after.
    new_category : float
        Share of incidents after the rollout in a category that did not exist before (easy ones).

    Raises
    ------
    InputError
        If a rate would leave [0, 1], or a share is impossible.
    """
    import pandas as pd

    if incidents < 2 or weeks < 1:
        raise InputError(f"a rollout needs two incidents and a week, not {incidents} and {weeks}")
    rng, rows = np.random.default_rng(seed), []
    pair = classifier if isinstance(classifier, tuple) else (classifier, classifier)
    for after in (False, True):
        size = incidents - incidents // 2 if after else incidents // 2
        at = np.sort(rng.uniform(0, weeks, size)) - (0 if after else weeks)
        category = _drawn(rng, size, mix_shift if after else 0.0, new_category if after else 0.0)
        rate = np.array([_ALL[c][1] for c in category]) + trend * at + effect * after
        if not (rate.min() >= 0 and rate.max() <= 1):
            raise InputError(f"effect {effect} and trend {trend} take a rate out of [0, 1]; make them smaller")
        said = rng.random(size) < rate
        reader = pair[after]
        if reader is not None:
            said = np.where(said, rng.random(size) < reader.sensitivity, rng.random(size) >= reader.specificity)
        known = rng.random(size) >= missing[after]
        rows += [
            (
                ROLLOUT + timedelta(seconds=int(t * 604800)),
                c,
                ("yes" if s else "no") if k else "",
                _BY[reader is not None],
            )
            for t, c, s, k in zip(at, category, said, known, strict=True)
        ]
    frame = pd.DataFrame(rows, columns=["opened_at", "category", "resolved", "resolved_by"])
    frame.insert(0, "id", [f"INC{n:05d}" for n in range(1, len(frame) + 1)])
    frame["opened_at"] = [t.isoformat() for t in frame["opened_at"]]
    return frame


def _drawn(rng: np.random.Generator, size: int, shift: float, new: float) -> NDArray[np.str_]:
    names = sorted(RATES)
    hard, easy = (pick(names, key=lambda name: RATES[name][1]) for pick in (min, max))
    if not 0 <= shift <= RATES[hard][0]:
        raise InputError(f"mix_shift must be in [0, {RATES[hard][0]}], the share of {hard}, not {shift}")
    if not 0 <= new < 1:
        raise InputError(f"new_category must be in [0, 1), not {new}")
    moved = {hard: -shift, easy: shift}
    shares = [(RATES[name][0] + moved.get(name, 0.0)) * (1 - new) for name in names]
    return rng.choice([*names, _NEW], size, p=[*shares, new])
