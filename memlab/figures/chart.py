"""A chart as a notebook shows it: deterministic SVG with a description in words, and the table of what it draws."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memlab.errors import InputError
from memlab.figures.layout import spread
from memlab.figures.style import LIGHT, RC, figure_svg

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["SERIES", "Chart", "Look", "draw", "draw_series", "names_of", "need", "number", "quiet_axes", "write_names"]


@dataclass(frozen=True, slots=True)
class Look:
    """How one series is drawn; two series differ in colour, and in dash or marker as well."""

    colour: str
    dash: str
    marker: str


SERIES = (
    Look(LIGHT.symptom, "-", "o"),
    Look(LIGHT.cause, "--", "D"),
    Look(LIGHT.solution, "-.", "s"),
    Look(LIGHT.failed, ":", "^"),
    Look(LIGHT.ink, "-", "v"),
    Look(LIGHT.muted, "--", "P"),
    Look(LIGHT.accent, ":", "X"),
    Look(LIGHT.symptom, "-.", "*"),
    Look(LIGHT.cause, "-", "h"),
    Look(LIGHT.solution, ":", "p"),
)


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture, what it says in words, and its numbers; as the last line of a cell it shows all three.

    Attributes
    ----------
    title : str
        What is drawn.
    alt : str
        The picture in words, made from the numbers, for people who can't see it.
    svg : str
        The picture; equal data give equal bytes.
    table : DataFrame
        What is drawn, one row a mark.
    """

    title: str
    alt: str
    svg: str
    table: pd.DataFrame = field(hash=False, repr=False)

    def __str__(self) -> str:
        """Title, description and table as text."""
        return f"{self.title}\n{self.alt}\n{self._shown().to_string(index=False, na_rep='')}"

    def _shown(self) -> pd.DataFrame:
        decimals = {c: 3 for c in self.table.columns if str(self.table[c].dtype).startswith("float")}
        return self.table.round(decimals)

    def _repr_html_(self) -> str:
        table = self._shown().to_html(index=False, border=0, max_rows=80, na_rep="")
        named = f'<svg role="img" aria-label="{html.escape(self.alt)}" '
        picture = self.svg if ' role="img"' in self.svg[:400] else self.svg.replace("<svg ", named, 1)
        caption = f"<figcaption>{html.escape(self.alt)}</figcaption>"
        folded = f"<details><summary>the numbers of this picture</summary>{table}</details>"
        return f"<figure>{picture}{caption}{folded}</figure>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {"text/html": self._repr_html_(), "text/plain": str(self)}


def draw(
    paint: Callable[[Sequence[Axes]], None],
    *,
    title: str,
    alt: str,
    table: pd.DataFrame,
    size: tuple[float, float] = (7.2, 3.6),
    panels: int = 1,
    margins: tuple[float, float, float, float] = (0.09, 0.76, 0.15, 0.88),
) -> Chart:
    """A chart, painted with memlab's settings whatever the caller's are, which stay as they were.

    Parameters
    ----------
    paint : callable
        Gets the axes of the panels, left to right, and draws on them.
    title, alt, table
        As in `Chart`.
    size : (width, height)
        In inches.
    panels : int
        Panels side by side, ≥ 1.
    margins : (left, right, bottom, top)
        Where the axes end, as shares of the picture.
    """
    with _settings():
        figure = _figure(size)
        axes = list(figure.subplots(1, panels, squeeze=False)[0])
        paint(axes)
        left, right, bottom, top = margins
        figure.subplots_adjust(left=left, right=right, bottom=bottom, top=top, wspace=0.56)
        return Chart(title, alt, figure_svg(figure, title=f"{title}. {alt}"), table.reset_index(drop=True))


def need(frame: pd.DataFrame, columns: Sequence[str], what: str) -> None:
    """Refuse a frame that lacks a column.

    Raises
    ------
    InputError
        With the columns that are missing, and those that it has.
    """
    missing = [c for c in columns if c not in frame.columns]
    if missing:
        have = ", ".join(map(str, frame.columns)) or "none"
        raise InputError(
            f"{what} needs the columns {', '.join(columns)}; missing: {', '.join(missing)} (there: {have})"
        )


def number(value: float) -> str:
    """A number in a sentence: two decimals, whole numbers without any.

    >>> number(0.6123), number(400.0)
    ('0.61', '400')
    """
    return f"{value:.0f}" if float(value).is_integer() and abs(value) > 1 else f"{value:.2f}"


def quiet_axes(axes: Axes, *, title: str, x: str, y: str) -> None:
    """Title and axis labels, without ticks that draw the eye."""
    axes.set_title(title, pad=10)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.tick_params(length=0)


def write_names(axes: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Names of lines beside their ends, moved apart where lines end close together.

    Parameters
    ----------
    ends : sequence of (x, y, name, colour)
        Where each line ends.
    """
    if not ends:
        return
    low, high = axes.get_ylim()
    right = max(x for x, *_ in ends)
    ordered = sorted(ends, key=lambda e: (e[1], e[2]))
    heights = spread([y for _, y, *_ in ordered], low=low, high=high, gap=(high - low) * 0.075)
    for (_, _, name, colour), y in zip(ordered, heights, strict=True):
        axes.annotate(
            name,
            (right, y),
            xytext=(9, 0),
            textcoords="offset points",
            color=colour,
            va="center",
            annotation_clip=False,
        )


@contextmanager
def _settings() -> Iterator[None]:
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC)
        yield


def _figure(size: tuple[float, float]) -> Figure:
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=size)
    FigureCanvasSVG(figure)
    return figure


def names_of(frame: pd.DataFrame, group: str) -> list[str]:
    """The groups of a frame in the order of first appearance.

    Raises
    ------
    InputError
        If there are more than can be told apart.
    """
    names = [str(v) for v in dict.fromkeys(frame[group])]
    if len(names) > len(SERIES):
        raise InputError(f"{len(names)} values of {group} can't be told apart; at most {len(SERIES)}, split the chart")
    return names


def draw_series(axes: Axes, part: pd.DataFrame, x: str, y: str, n: int) -> tuple[float, float] | None:
    """Draw one series; where it ends, or None if it has no point."""
    look = SERIES[n]
    if {"low", "high"} <= set(part.columns):
        low, high = part["low"].astype(float), part["high"].astype(float)
        axes.fill_between(part[x].astype(float), low, high, color=look.colour, alpha=0.13, linewidth=0)
    axes.plot(part[x], part[y], color=look.colour, linestyle=look.dash, marker=look.marker, markersize=4.5)
    return (float(part[x].iloc[-1]), float(part[y].iloc[-1])) if len(part) else None
