"""What was expected before the trials were played, and whether it held."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memlab.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Hypothesis", "held"]


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """What was expected before the trials were played: at least this relative change of a metric, in this direction.

    Attributes
    ----------
    name : str
        In words, for the table.
    metric, arm, baseline : str
        Which change.
    relative : float
        The least change, as a share of the baseline: +0.10 for ten per cent more, -0.10 for ten per cent fewer.
    """

    name: str
    metric: str
    arm: str
    relative: float
    baseline: str = "none"


def held(results: pd.DataFrame, hypotheses: Iterable[Hypothesis]) -> pd.DataFrame:
    """Each hypothesis with what was found: held, or not and why.

    It held if the relative change reaches what was expected and the interval of the difference is clear of 0.

    Parameters
    ----------
    results : frame
        As `compare_trials` returns it.

    Raises
    ------
    InputError
        If a hypothesis is about an arm or metric that was not compared.
    """
    import pandas as pd

    rows = []
    for h in hypotheses:
        found = results[
            (results["metric"] == h.metric) & (results["arm"] == h.arm) & (results["baseline"] == h.baseline)
        ]
        if len(found) != 1:
            raise InputError(f"hypothesis {h.name!r}: {h.metric} of {h.arm} against {h.baseline} was not compared")
        row = found.iloc[0]
        sign = math.copysign(1.0, h.relative)
        reached = sign * row["relative"] >= abs(h.relative)
        clear = row["verdict"] != "undecided" and sign * row["difference"] > 0
        why = ["the change is smaller than expected"] * (not reached) + ["it is not clear of 0"] * (not clear)
        rows.append(
            {
                "hypothesis": h.name,
                "expected": h.relative,
                "relative": row["relative"],
                "low": row["relative_low"],
                "high": row["relative_high"],
                "held": bool(reached and clear),
                "why": "; ".join(why) or row["reliability"],
            }
        )
    return pd.DataFrame(rows)
