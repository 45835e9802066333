"""Reliability: how often things came true, by how likely they were said to be, as numbers and as a diagram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memlab.errors import InputError
from memlab.figures.chart import SERIES, Chart, draw, draw_series, names_of, quiet_axes, write_names
from memlab.figures.style import LIGHT

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["reliability_chart", "reliability_frame"]


def reliability_frame(
    arms: Mapping[str, tuple[Sequence[float], Sequence[bool | float]]], *, bins: int = 10, level: float = 0.95
) -> pd.DataFrame:
    """How often things came true, by how likely they were said to be: one row an arm and non-empty bin.

    Parameters
    ----------
    arms : mapping of name to (said, true)
        What was said in [0, 1] and what came (0 or 1), of equal length.
    bins : int
        Equal steps of what was said, ≥ 1.
    level : float
        Of the Wilson interval, in (0, 1).

    Returns
    -------
    DataFrame
        Columns `arm`, `low_edge`, `high_edge`, `said` (mean in the bin), `value` (share that came true), `low`, `high`,
        `n`, and `ece`, the arm's expected calibration error: the mean of ``|said - value|`` weighted by `n`.

    Raises
    ------
    InputError
        If lengths differ or something said is outside of [0, 1].

    References
    ----------
    Guo et al. (2017), On Calibration of Modern Neural Networks, arXiv:1706.04599.

    >>> reliability_frame({"a": ([0.9, 0.8, 0.1], [1, 0, 0])}, bins=2)["value"].tolist()
    [0.0, 0.5]
    """
    import pandas as pd

    from memlab.evaluation.intervals import wilson

    if bins < 1:
        raise InputError(f"bins must be at least 1, not {bins}")
    rows: list[dict[str, Any]] = []
    for name, (said, true) in arms.items():
        if len(said) != len(true):
            raise InputError(f"arm {name!r} has {len(said)} things said and {len(true)} that came; they go in pairs")
        if any(not 0.0 <= float(p) <= 1.0 for p in said):
            raise InputError(f"arm {name!r}: what is said must be in [0, 1]")
        mine = [_bin(said, true, k, bins) for k in range(bins)]
        found = [{"arm": name, **row} for row in mine if row["n"]]
        ece = sum(r["n"] * abs(r["said"] - r["value"]) for r in found) / len(said) if len(said) else 0.0
        for row in found:
            interval = wilson(row["value"] * row["n"], row["n"], level=level)
            rows.append({**row, "low": interval.low, "high": interval.high, "ece": ece})
    return pd.DataFrame(rows, columns=["arm", "low_edge", "high_edge", "said", "value", "low", "high", "n", "ece"])


def reliability_chart(
    arms: Mapping[str, tuple[Sequence[float], Sequence[bool | float]]],
    *,
    bins: int = 10,
    title: str = "how often it came true, by how likely it was said to be",
) -> Chart:
    """A reliability diagram: on the diagonal what is said to be 70 % likely happens in 70 % of cases.

    Parameters
    ----------
    arms, bins
        As in `reliability_frame`.
    """
    frame = reliability_frame(arms, bins=bins)
    names = names_of(frame, "arm")

    def paint(panels: Sequence[Axes]) -> None:
        axes = panels[0]
        quiet_axes(axes, title=title, x="said", y="came true")
        axes.plot([0, 1], [0, 1], color=LIGHT.muted, linewidth=1.0, linestyle=(0, (1, 2)))
        ends = [draw_series(axes, frame[frame["arm"] == name], "said", "value", n) for n, name in enumerate(names)]
        axes.set(xlim=(0, 1), ylim=(0, 1))
        write_names(axes, [(1.0, e[1], a, s.colour) for e, a, s in zip(ends, names, SERIES, strict=False) if e])

    words = " ".join(
        f"{name}: expected calibration error {part['ece'].iloc[0]:.3f} over {int(part['n'].sum())} cases."
        for name, part in ((name, frame[frame["arm"] == name]) for name in names)
    )
    margins = (0.1, 0.72, 0.13, 0.9)
    return draw(paint, title=title, alt=f"{title}. {words}".strip(), table=frame, size=(5.6, 4.2), margins=margins)


def _bin(said: Sequence[float], true: Sequence[bool | float], k: int, bins: int) -> dict[str, Any]:
    inside = [(float(p), float(t)) for p, t in zip(said, true, strict=True) if min(int(p * bins), bins - 1) == k]
    n = len(inside)
    mean = (sum(p for p, _ in inside) / n, sum(t for _, t in inside) / n) if n else (0.0, 0.0)
    return {"low_edge": k / bins, "high_edge": (k + 1) / bins, "said": mean[0], "value": mean[1], "n": n}
