"""Does the study find what was put in: simulated rollouts with one fault each, over and over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memlab.errors import InputError
from memlab.evaluation.rollout.classifier import Classifier
from memlab.evaluation.rollout.incidents import IncidentTable, read_incidents
from memlab.evaluation.rollout.simulated import ROLLOUT, simulate_rollout
from memlab.evaluation.rollout.study import RolloutStudy, study_rollout

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FAULTS", "play_fault", "recovery"]

_BEFORE, _AFTER = Classifier(0.9, 0.9, 400, 400), Classifier(0.98, 0.65, 400, 400)

FAULTS: Mapping[str, Mapping[str, Any]] = {
    "gain, no fault": {},
    "no gain, no fault": {"effect": 0.0},
    "mix": {"effect": 0.0, "mix_shift": 0.17},
    "trend": {"effect": 0.0, "trend": 0.012},
    "classifier": {"effect": 0.0, "classifier": (_BEFORE, _AFTER)},
    "method": {"effect": 0.0, "classifier": (None, _AFTER)},
    "missing": {"effect": 0.06, "missing": (0.02, 0.25)},
    "overlap": {"effect": 0.0, "new_category": 0.3},
}
"""What is wrong in a simulated rollout, named after the check that must see it: arguments of `simulate_rollout`."""


def play_fault(
    fault: str, *, seed: int, incidents: int = 1338, effect: float = 0.06, n: int = 500
) -> tuple[RolloutStudy, IncidentTable]:
    """The study of one simulated rollout with a fault of `FAULTS`, and its incidents.

    Its classifier check is given the true errors, as measured on 400 incidents of each kind in each period.

    Raises
    ------
    InputError
        If the fault is unknown.
    """
    if fault not in FAULTS:
        raise InputError(f"no fault {fault!r}; known: {', '.join(FAULTS)}")
    options = {"effect": effect, **FAULTS[fault]}
    table = read_incidents(simulate_rollout(seed=seed, incidents=incidents, **options), rollout=ROLLOUT)
    before, after = options.get("classifier", (None, None))
    pair = (before or after, after) if after else None
    return study_rollout(table, classifier=pair, seed=seed, n=n), table


def recovery(*, rollouts: int, seed: int, incidents: int = 1338, effect: float = 0.06, n: int = 200) -> pd.DataFrame:
    """Each fault played many times: what was true, what was found, and how often each check fired.

    Returns
    -------
    pandas.DataFrame
        One row a fault: `truth`, mean difference `found` at equal mix, `held` (share of intervals that hold the truth),
        `clear` (share clear of 0), and the share in which each check fired.
    """
    import pandas as pd

    rows = []
    for fault, options in FAULTS.items():
        truth = float(options.get("effect", effect))
        studies = [
            play_fault(fault, seed=seed + k, incidents=incidents, effect=effect, n=n)[0] for k in range(rollouts)
        ]
        found = [s.difference for s in studies]
        row: dict[str, Any] = {
            "fault": fault,
            "truth": truth,
            "found": sum(d.estimate for d in found) / rollouts,
            "held": sum(d.low <= truth <= d.high for d in found) / rollouts,
            "clear": sum(d.low > 0 or d.high < 0 for d in found) / rollouts,
        }
        names = [c.name for c in studies[0].checks]
        rows.append({**row, **{name: sum(name in s.fired for s in studies) / rollouts for name in names}})
    return pd.DataFrame(rows)
