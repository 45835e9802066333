"""The scaling study as tables: a run of any size under several assumptions, and where each curve bends."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memlab.errors import InputError
from memlab.scaling.costs import Costs, Simulated, bend, curve

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["WORKERS", "bends", "costs_frame", "costs_of", "scenarios"]

WORKERS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
DAY = 86_400


def costs_of(path: str | Path) -> Costs:
    """The costs in the output of `benchmarks/scaling/run.py`.

    Raises
    ------
    InputError
        If the file is something else.
    """
    try:
        return Costs(**{k: v for k, v in json.loads(Path(path).read_text("utf-8"))["costs"].items() if v is not None})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not the output of benchmarks/scaling/run.py: {error}") from error


_MEANING = {
    "read": "reading and encoding a conversation",
    "write": "storing it",
    "send": "sending it to a worker",
    "fold": "curating it in an empty category",
    "growth": "more for each thousand conversations before it",
}


def costs_frame(costs: Mapping[str, Costs]) -> pd.DataFrame:
    """Costs side by side, in milliseconds of processor time."""
    import pandas as pd

    scale = {name: 1e6 if name == "growth" else 1e3 for name in _MEANING}
    columns = {
        title: {_MEANING[name]: round(value * scale[name], 3) for name, value in c.to_dict().items()}
        for title, c in costs.items()
    }
    return pd.DataFrame(columns).rename_axis("milliseconds of")


def scenarios(
    costs: Costs,
    *,
    conversations: int,
    customers: int = 1000,
    categories: int = 12,
    workers: Sequence[int] = WORKERS,
    skews: Sequence[float] = (0.0, 1.0),
    grows_until: Sequence[float] = (20_000, math.inf),
) -> pd.DataFrame:
    """Simulated runs, one row a scenario and number of workers.

    Parameters
    ----------
    costs : Costs
        Measured.
    conversations, customers, categories : int
        The work; see `memlab.scaling.simulate`.
    workers : sequence of int
        For each of these.
    skews : sequence of float
        0 for customers of one size, 1 for a long tail.
    grows_until : sequence of float
        Conversations after which a category brings no new entries; infinity if it never stops.

    Returns
    -------
    DataFrame
        `scenario`, `workers`, `days`, `per_second`, `efficiency`, `bottleneck`, `longest_fold_days`.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for skew in skews:
        for limit in grows_until:
            runs = curve(
                replace(costs, grows_until=limit), conversations=conversations, workers=workers, customers=customers,
                categories=categories, skew=skew,
            )  # fmt: skip
            where = bend(runs)
            rows += [_row(_name(skew, limit), run, bent=where is not None and where == run) for run in runs]
    return pd.DataFrame(rows)


def _row(scenario: str, run: Simulated, *, bent: bool) -> dict[str, Any]:
    return {
        "scenario": scenario,
        "workers": run.workers,
        "days": run.seconds / DAY,
        "per_second": run.per_second,
        "efficiency": min(1.0, run.efficiency),
        "bottleneck": run.bottleneck,
        "longest_fold_days": run.longest_fold / DAY,
        "bends": bent,
    }


def _name(skew: float, limit: float) -> str:
    sizes = "equal" if skew == 0 else f"skew {skew:g}"
    return f"{sizes}, {'growing' if math.isinf(limit) else f'full at {limit:,.0f}'}"


def bends(frame: pd.DataFrame) -> pd.DataFrame:
    """The first number of workers in each scenario at which a fifth of the time is waiting, and for what."""
    chosen: pd.DataFrame = frame[frame["bends"]][["scenario", "workers", "efficiency", "bottleneck", "days"]]
    return chosen.reset_index(drop=True)
