"""The graph page inside a notebook: in a frame of its own, also after export to HTML and in other editors."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from memlab.figures.page import graph_page
from memlab.graph import SkillGraph
from memlab.operations import Operation

__all__ = ["GraphView", "graph_view"]


@dataclass(frozen=True, slots=True)
class GraphView:
    """A graph page that shows itself as the last line of a cell; two of them in one notebook don't meet.

    Attributes
    ----------
    page : str
        The whole page, the same for the same graph.
    words : str
        What it shows, where HTML can't be shown.
    height : int
        Of the frame, in pixels.
    """

    page: str
    words: str
    height: int = 640

    def __str__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{self.height}px;border:1px solid #d9dee5;border-radius:6px"
        return (
            f'<iframe title="{html.escape(self.words)}" loading="lazy" style="{style}" '
            f'srcdoc="{html.escape(self.page)}"></iframe>'
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {"text/html": self._repr_html_(), "text/plain": self.words}


def graph_view(
    graph: SkillGraph | Sequence[SkillGraph],
    *,
    steps: int = 40,
    limit: int = 600,
    operations: Iterable[Operation] = (),
    title: str | None = None,
    height: int = 640,
) -> GraphView:
    """The page of `graph_page` for a notebook cell.

    Parameters
    ----------
    graph, steps, limit, operations, title
        As in `graph_page`; fewer steps and entries make a smaller notebook.
    height : int
        Of the frame, in pixels.
    """
    page = graph_page(graph, steps=steps, limit=limit, operations=operations, title=title)
    graphs = [graph] if isinstance(graph, SkillGraph) else list(graph)
    entries, links = sum(len(g.entries) for g in graphs), sum(len(g.edges) for g in graphs)
    names = ", ".join(sorted(g.category for g in graphs))
    words = f"Memory graph of {graphs[0].customer} / {names}: {entries} entries, {links} links"
    return GraphView(page, words, height)
