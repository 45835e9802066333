"""Charts for notebooks, all in one style: lines with intervals, dots with intervals, and growth.

Each takes a tidy frame (or plain numbers), and gives a `Chart`: SVG, words and table. Nothing is smoothed or left out.

>>> import pandas as pd
>>> frame = pd.DataFrame({"arm": "memory", "tokens": [200, 400], "value": [0.5, 0.7], "low": [0.4, 0.6], "high": 0.8})
>>> budget_chart(frame).alt
'right answers by token budget. memory: from 0.50 at 200 to 0.70 at 400.'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memlab.errors import InputError
from memlab.figures.chart import SERIES, Chart, draw, draw_series, names_of, need, number, quiet_axes, write_names
from memlab.figures.growth import COLUMNS as GROWTH
from memlab.figures.growth import growth_svg, growth_words
from memlab.figures.style import LIGHT

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = [
    "budget_chart",
    "dot_chart",
    "extraction_chart",
    "growth_chart",
    "line_chart",
    "overlap_chart",
]


def line_chart(
    frame: pd.DataFrame,
    *,
    x: str,
    group: str,
    title: str,
    y: str = "value",
    x_label: str | None = None,
    y_label: str | None = None,
    log_x: bool = False,
    y_limits: tuple[float, float] | None = None,
) -> Chart:
    """One line a group over a number, with its interval as a band where the frame has `low` and `high`.

    Parameters
    ----------
    frame : DataFrame
        One row a group and x.
    x, y, group : str
        Columns: numbers (or names, such as bins, which are set side by side in the order of first appearance), numbers,
        and names. At most ten groups; they are drawn in the order of first appearance.
    title, x_label, y_label : str
        What is drawn; by default the columns' names.
    log_x : bool
        Whether equal steps along x are equal factors; x must then be above 0.
    y_limits : (low, high), optional
        By default from the data.

    Raises
    ------
    InputError
        If a column is missing, or there are too many groups.
    """
    need(frame, [x, y, group], "a line chart")
    names = names_of(frame, group)
    steps = _steps(frame, x)
    if log_x and (steps or (len(frame) and float(frame[x].min()) <= 0)):
        raise InputError(f"column {x} must hold numbers above 0 for equal factors along x")
    columns = [c for c in (group, x, y, "low", "high", "n") if c in frame.columns]
    table, drawn = frame[columns], frame
    if steps:
        drawn = frame.assign(**{x: [steps.index(str(v)) for v in frame[x]]})

    def paint(panels: Sequence[Axes]) -> None:
        axes = panels[0]
        quiet_axes(axes, title=title, x=x_label or x, y=y_label or y)
        if log_x:
            _log_ticks(axes, sorted({float(v) for v in frame[x]}))
        ends = [draw_series(axes, _of(drawn, group, name, x, y), x, y, n) for n, name in enumerate(names)]
        if steps:
            axes.set_xticks(range(len(steps)), steps)
        if y_limits:
            axes.set_ylim(*y_limits)
        named = zip(ends, names, SERIES, strict=False)
        write_names(axes, [(*end, name, look.colour) for end, name, look in named if end is not None])

    words = " ".join(_course(name, _of(drawn, group, name, x, y), x, y, steps) for name in names)
    return draw(paint, title=title, alt=f"{title}. {words}".strip(), table=table)


def budget_chart(
    frame: pd.DataFrame,
    *,
    group: str = "arm",
    x: str = "tokens",
    title: str = "right answers by token budget",
    y_label: str = "share",
) -> Chart:
    """What each arm reaches with how many tokens, on a scale where equal steps double the budget.

    Parameters
    ----------
    frame : DataFrame
        Columns `arm`, `tokens`, `value`, and `low` and `high` for a band.
    """
    label = f"{x} (equal steps are equal factors)"
    return line_chart(
        frame, x=x, group=group, title=title, x_label=label, y_label=y_label, log_x=True, y_limits=(0.0, 1.0)
    )


def overlap_chart(
    frame: pd.DataFrame,
    *,
    group: str = "arm",
    x: str = "overlap",
    title: str = "recall by words shared with what was learned",
    y_label: str = "recall",
) -> Chart:
    """Recall against the share of words that a query has in common with its answer.

    Parameters
    ----------
    frame : DataFrame
        Columns `arm`, `overlap` (in [0, 1], the middle of a bin), `value`, and `low`, `high`, `n`.
    """
    label = "share of the query's words that its answer also uses"
    return line_chart(frame, x=x, group=group, title=title, x_label=label, y_label=y_label, y_limits=(0.0, 1.0))


def dot_chart(
    frame: pd.DataFrame,
    *,
    rows: str,
    title: str,
    group: str | None = None,
    value: str = "value",
    x_label: str | None = None,
    x_limits: tuple[float, float] | None = (0.0, 1.0),
    zero: bool = False,
) -> Chart:
    """A dot with its interval for each row, side by side by group: the picture of a table of scores.

    Parameters
    ----------
    frame : DataFrame
        One row a dot, with `low` and `high` for its whisker where they are known.
    rows, group, value : str
        Columns: what stands on the left, what a colour means (optional), the number.
    title, x_label : str
        What is drawn.
    x_limits : (low, high) or None
        None: from the data.
    zero : bool
        The values are differences, which may be negative: a line is drawn at 0, and the limits are the data's.

    Raises
    ------
    InputError
        If a column is missing, or there are too many groups.
    """
    need(frame, [rows, value, *([group] if group else [])], "a dot chart")
    names = names_of(frame, group) if group else [""]
    labels = [str(v) for v in dict.fromkeys(frame[rows])]

    def paint(panels: Sequence[Axes]) -> None:
        axes = panels[0]
        quiet_axes(axes, title=title, x=x_label or value, y="")
        axes.grid(axis="y", visible=False)
        for n, name in enumerate(names):
            part = frame[frame[group].astype(str) == name] if group else frame
            shift = 0.0 if len(names) == 1 else 0.6 * n / (len(names) - 1) - 0.3
            _dots(axes, part, [labels.index(str(r)) + shift for r in part[rows]], value, n, name)
        axes.set_yticks(range(len(labels)), labels)
        axes.set_ylim(len(labels) - 0.5, -0.5)
        if zero:
            axes.axvline(0.0, color=LIGHT.muted, linewidth=1.0)
        elif x_limits:
            axes.set_xlim(*x_limits)
        if group:
            axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), frameon=False, borderaxespad=0.0)

    height = max(1.9, 0.9 + len(labels) * max(0.26, 0.13 * len(names)))
    margins = (0.24, 0.8 if group else 0.96, min(0.4, 0.55 / height), 1 - 0.4 / height)
    columns = [c for c in (rows, group, value, "low", "high", "n") if c is not None and c in frame.columns]
    alt = f"{title}. {_levels(frame, rows, group, value)}"
    return draw(paint, title=title, alt=alt, table=frame[columns], size=(7.2, height), margins=margins)


def extraction_chart(
    scores: pd.DataFrame,
    *,
    rows: str = "field",
    group: str | None = "extractor",
    metric: str = "f1",
    title: str | None = None,
) -> Chart:
    """F1 (or another metric) of an extraction by field, category or phenomenon, one colour an extractor.

    Parameters
    ----------
    scores : DataFrame
        As `compare_extractors` or `ExtractionResult.scores` give it; rows where the metric is undefined are left out.
    rows : str
        "field", "category" or "phenomenon".
    group : str or None
        "extractor", or "field" for scores by category or phenomenon; None for one colour.
    metric : {"f1", "precision", "recall"}
        Which rows of `scores` to draw.

    Raises
    ------
    InputError
        If a column is missing or no row has the metric.
    """
    need(scores, [rows, "metric", "value", *([group] if group else [])], "an extraction chart")
    chosen = scores[(scores["metric"] == metric) & scores["value"].notna()]
    if chosen.empty:
        known = ", ".join(sorted(map(str, set(scores["metric"])))) or "none"
        raise InputError(f"no score has the metric {metric!r}; there: {known}")
    return dot_chart(chosen, rows=rows, group=group, title=title or f"{metric} by {rows}", x_label=metric)


def growth_chart(frame: pd.DataFrame) -> Chart:
    """How memory grew and what the curator did, conversation by conversation.

    Parameters
    ----------
    frame : DataFrame
        As `growth_frame` makes it; the table keeps about 20 rows of it, with the last.
    """
    import pandas as pd

    need(frame, GROWTH[2:], "a growth chart")
    step = max(1, -(-len(frame) // 20))
    shown = pd.concat([frame.iloc[: max(0, len(frame) - 1) : step], frame.iloc[-1:]])
    return Chart("Growth of memory", growth_words(frame), growth_svg(frame), shown.reset_index(drop=False))


def _of(frame: pd.DataFrame, group: str, name: str, x: str, y: str) -> pd.DataFrame:
    return frame[(frame[group].astype(str) == name) & frame[y].notna()].sort_values(x, kind="stable")


def _dots(axes: Axes, part: pd.DataFrame, at: Sequence[float], value: str, n: int, name: str) -> None:
    look = SERIES[n]
    if {"low", "high"} <= set(part.columns):
        for y, low, high in zip(at, part["low"], part["high"], strict=True):
            axes.plot([low, high], [y, y], color=look.colour, linewidth=1.6, alpha=0.55)
    axes.plot(
        part[value],
        at,
        color=look.colour,
        linestyle="none",
        marker=look.marker,
        markersize=5.5,
        label=name,
        clip_on=False,
    )


def _log_ticks(axes: Axes, values: Sequence[float]) -> None:
    from matplotlib.ticker import NullLocator

    axes.set_xscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(values, [number(v) for v in values])


def _steps(frame: pd.DataFrame, x: str) -> list[str]:
    """The names along x in order; none if they are numbers."""
    numeric = all(isinstance(v, (int, float)) for v in frame[x].tolist())
    return [] if numeric else list(dict.fromkeys(map(str, frame[x])))


def _course(name: str, part: pd.DataFrame, x: str, y: str, steps: Sequence[str]) -> str:
    if part.empty:
        return f"{name}: no value."
    ends = [(number(row[y]), steps[int(row[x])] if steps else number(row[x])) for row in (part.iloc[0], part.iloc[-1])]
    (first, start), (last, end) = ends
    if len(part) == 1:
        return f"{name}: {first} at {start}."
    return f"{name}: from {first} at {start} to {last} at {end}."


def _levels(frame: pd.DataFrame, rows: str, group: str | None, value: str) -> str:
    """Highest and lowest row of each group."""
    said = []
    for name in names_of(frame, group) if group else [""]:
        part = frame[frame[group].astype(str) == name] if group else frame
        part = part[part[value].notna()]
        if part.empty:
            continue
        ordered = part.sort_values(value, kind="stable")
        top, bottom = ordered.iloc[-1], ordered.iloc[0]
        start = f"{name}: " if name else ""
        text = f"{start}highest {top[rows]} ({number(top[value])})"
        said.append(text + (f", lowest {bottom[rows]} ({number(bottom[value])})." if len(part) > 1 else "."))
    return " ".join(said)
