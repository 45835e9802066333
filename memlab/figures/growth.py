"""How memory grows: the size of the graph and the curator's decisions after every conversation."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC
from itertools import groupby
from typing import TYPE_CHECKING, Any, get_args

from memlab.errors import InputError
from memlab.figures.layout import spread
from memlab.figures.style import LIGHT, RC, figure_svg
from memlab.operations import Operation, OperationKind

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["COLUMNS", "growth_frame", "growth_svg", "growth_words"]

COLUMNS = ("conversation", "at", "nodes", "edges", "evidence", "adds", "reinforces", "edits", "rejects")
_SIZE = (("evidence", LIGHT.muted, ":"), ("nodes", LIGHT.symptom, "-"), ("edges", LIGHT.cause, "--"))
_DECISIONS = (
    ("adds", LIGHT.symptom, "-"),
    ("reinforces", LIGHT.solution, "--"),
    ("edits", LIGHT.cause, "-."),
    ("rejects", LIGHT.failed, ":"),
)


def growth_frame(operations: Iterable[Operation]) -> pd.DataFrame:
    """One row a conversation, in the order of learning; every number counts up to and with that conversation.

    Parameters
    ----------
    operations : iterable of Operation
        Of one or more categories, in any order.

    Returns
    -------
    pandas.DataFrame
        Index: number of the conversation from 1. Columns: `conversation`, `at` (UTC), `nodes` and `edges` (distinct
        entries and links), `evidence` (distinct pairs of entry and conversation), `adds`, `reinforces`, `edits`,
        `rejects` (operations).
    """
    import pandas as pd

    nodes: set[str] = set()
    edges: set[tuple[str, str]] = set()
    evidence: set[tuple[str, str]] = set()
    done = dict.fromkeys(get_args(OperationKind), 0)
    rows: list[dict[str, Any]] = []
    ordered = sorted(operations, key=lambda o: (o.at.astimezone(UTC), o.conversation))
    for (at, conversation), group in groupby(ordered, key=lambda o: (o.at.astimezone(UTC), o.conversation)):
        for o in group:
            done[o.op] += 1
            if o.changes_graph:
                nodes.add(o.entry)
                edges.update(o.links)
                evidence.add((o.entry, conversation))
        sizes = {"nodes": len(nodes), "edges": len(edges), "evidence": len(evidence)}
        rows.append({"conversation": conversation, "at": at, **sizes, **{f"{op}s": n for op, n in done.items()}})
    frame = pd.DataFrame(rows, columns=list(COLUMNS), index=pd.RangeIndex(1, len(rows) + 1, name="number"))
    counts = dict.fromkeys(COLUMNS[2:], "int64")
    return frame.astype({"conversation": "str", **counts}).assign(at=pd.to_datetime(frame["at"], utc=True))


def growth_svg(frame: pd.DataFrame) -> str:
    """Two charts of a growth frame as SVG text: the size of memory, and what the curator did, over conversations.

    Equal frames give equal bytes. Lines differ in dash as well as in colour and carry their name and last value.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `growth_frame` makes it.

    Raises
    ------
    InputError
        If a column is missing.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    missing = [c for c in COLUMNS[2:] if c not in frame.columns]
    if missing:
        raise InputError(f"a growth frame needs the columns {', '.join(COLUMNS[2:])}; missing: {', '.join(missing)}")
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC)
        figure = Figure(figsize=(8.4, 3.2))
        FigureCanvasSVG(figure)
        size, decisions = figure.subplots(1, 2)
        _chart(size, frame, _SIZE, title="What memory holds")
        _chart(decisions, frame, _DECISIONS, title="What the curator did")
        figure.subplots_adjust(left=0.06, right=0.86, bottom=0.15, top=0.89, wspace=0.56)
        return figure_svg(figure, title=growth_words(frame))


def growth_words(frame: pd.DataFrame) -> str:
    """The last row of a growth frame in words."""
    if frame.empty:
        return "Growth of memory: no conversations yet"
    last = {c: int(frame[c].iloc[-1]) for c in COLUMNS[2:]}
    return f"Growth of memory over {len(frame)} conversations: " + ", ".join(f"{n} {c}" for c, n in last.items())


def _chart(axes: Axes, frame: pd.DataFrame, lines: Iterable[tuple[str, str, str]], *, title: str) -> None:
    """Cumulative lines from (0, 0), each named at its end, the names moved apart where lines end close together."""
    lines = list(lines)
    axes.set_title(title, pad=10)
    axes.set_xlabel("conversations")
    numbers = [0, *range(1, len(frame) + 1)]
    for column, colour, dash in lines:
        axes.plot(numbers, [0, *frame[column].tolist()], color=colour, linestyle=dash, clip_on=False)
    top = max([1, *(int(frame[c].max()) for c, _, _ in lines if len(frame))])
    axes.set(xlim=(0, max(len(frame), 1)), ylim=(0, top * 1.04))
    axes.grid(axis="x", visible=False)
    axes.locator_params(integer=True, nbins=5)
    axes.tick_params(length=0)
    if frame.empty:
        axes.text(0.5, 0.5, "no conversations yet", transform=axes.transAxes, ha="center", color=LIGHT.muted)
        return
    ends = sorted((int(frame[c].iloc[-1]), c, colour) for c, colour, _ in lines)
    heights = spread([float(n) for n, _, _ in ends], low=0.0, high=top * 1.04, gap=top * 0.085)
    for (n, column, colour), y in zip(ends, heights, strict=True):
        axes.annotate(
            f"{n} {column}",
            (len(frame), y),
            xytext=(6, 0),
            textcoords="offset points",
            color=colour,
            va="center",
            annotation_clip=False,
        )
