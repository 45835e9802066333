"""Before and after as one picture: the rate by category with intervals, and the rate over time with the rollout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memlab.evaluation.intervals import wilson
from memlab.evaluation.rollout.incidents import IncidentTable
from memlab.evaluation.rollout.study import RolloutStudy
from memlab.figures.style import LIGHT, RC, figure_svg

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["rollout_svg", "weekly_rates"]


def weekly_rates(table: IncidentTable) -> pd.DataFrame:
    """The share of known outcomes resolved, week by week counted from the rollout (week 0 begins there).

    Returns
    -------
    pandas.DataFrame
        week, period, resolved, n, rate, low, high (Wilson).
    """
    import pandas as pd

    counts: dict[tuple[int, str], list[int]] = {}
    for i in table.incidents:
        if i.resolved is not None:
            row = counts.setdefault(((i.opened_at - table.rollout).days // 7, i.period), [0, 0])
            row[0] += i.resolved
            row[1] += 1
    rows = []
    for (week, period), (good, n) in sorted(counts.items()):
        found = wilson(good, n)
        rows.append((week, period, good, n, found.estimate, found.low, found.high))
    return pd.DataFrame(rows, columns=["week", "period", "resolved", "n", "rate", "low", "high"])


def rollout_svg(study: RolloutStudy, table: IncidentTable) -> str:
    """The study as SVG text; the same study and table give the same bytes.

    Left: bars of the rate before and after in every category, all of them, and at equal mix the difference in the
    title. Right: weekly rates, the two periods' means, and the rollout as a line.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC)
        figure = Figure(figsize=(8.4, 3.6))
        FigureCanvasSVG(figure)
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        _bars(left, study)
        _weeks(right, study, table)
        figure.subplots_adjust(left=0.07, right=0.985, bottom=0.17, top=0.83, wspace=0.2)
        return figure_svg(figure, title=_summary(study))


def _summary(study: RolloutStudy) -> str:
    d = study.difference
    rates = f"{study.before.estimate:.1%} of incidents resolved before the rollout, {study.after.estimate:.1%} after"
    return f"{rates}; at equal mix {d.estimate:+.3f}, interval {d.low:+.3f} to {d.high:+.3f}"


def _bars(axes: Axes, study: RolloutStudy) -> None:
    names = ["all", *(c.category for c in study.categories)]
    befores = [study.before, *(c.before for c in study.categories)]
    afters = [study.after, *(c.after for c in study.categories)]
    places, width = np.arange(len(names)), 0.38
    for side, (name, colour, hatch) in enumerate((("before", LIGHT.cause, "///"), ("after", LIGHT.symptom, ""))):
        intervals = afters if side else befores
        at = places + (side - 0.5) * width
        heights = [i.estimate for i in intervals]
        axes.bar(at, heights, width, color=LIGHT.paper if hatch else colour, edgecolor=colour, hatch=hatch, label=name)
        spread = [[i.estimate - i.low for i in intervals], [i.high - i.estimate for i in intervals]]
        axes.errorbar(at, heights, yerr=np.nan_to_num(spread), fmt="none", ecolor=LIGHT.ink, elinewidth=1, capsize=2)
    axes.set_xticks(places, names, fontsize=8, rotation=30 if len(names) > 7 else 0)
    axes.set(ylim=(0, 1), ylabel="share resolved")
    axes.grid(axis="x", visible=False)
    axes.tick_params(length=0)
    axes.set_title("Resolved, by category (95 % intervals)", pad=24)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, frameon=False, borderaxespad=0.2)


def _weeks(axes: Axes, study: RolloutStudy, table: IncidentTable) -> None:
    frame = weekly_rates(table)
    for period, colour, marker, mean in (
        ("before", LIGHT.cause, "s", study.before),
        ("after", LIGHT.symptom, "o", study.after),
    ):
        part = frame[frame["period"] == period]
        middle = part["week"].to_numpy(np.float64) + 0.5
        axes.plot(middle, part["rate"], color=colour, marker=marker, markersize=3.5, linewidth=0.8)
        if len(part):
            axes.hlines(mean.estimate, middle.min() - 0.5, middle.max() + 0.5, color=colour, linestyle="--")
    axes.axvline(0, color=LIGHT.muted, linewidth=1)
    axes.annotate("rollout", (0, 0.03), xytext=(4, 0), textcoords="offset points", color=LIGHT.muted)
    axes.set(ylim=(0, 1), xlabel="weeks since the rollout")
    axes.grid(axis="x", visible=False)
    axes.tick_params(length=0)
    axes.set_title("Resolved, week by week", pad=24)
