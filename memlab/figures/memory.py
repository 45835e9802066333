"""The strongest part of memory as a chart: the picture, its words, and every link that it draws."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memlab.figures.chart import Chart
from memlab.figures.still import graph_svg, graph_words, strongest
from memlab.figures.text import xml_text
from memlab.graph import SkillGraph
from memlab.records import parse_time

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COLUMNS", "link_frame", "memory_chart"]

COLUMNS = ("from", "to", "link", "weight", "conversations", "confirmed", "failed", "last")


def link_frame(graph: SkillGraph) -> pd.DataFrame:
    """One row a link: symptoms to their causes, then causes to their solutions, the heaviest first.

    Returns
    -------
    pandas.DataFrame
        `from` and `to` (titles), `link` ("symptom" or "solution"), `weight` at the graph's moment, how many
        `conversations` speak of it, in how many of them it was `confirmed` and in how many it `failed`, and the day of
        the `last` one (UTC).
    """
    import pandas as pd

    order = {"symptom": 0, "cause": 1}
    ranked = sorted(graph.edges, key=lambda e: (order[graph.entries[e[0]].kind], -graph.weight(*e), e))
    return pd.DataFrame([_row(graph, edge) for edge in ranked], columns=list(COLUMNS))


def _row(graph: SkillGraph, edge: tuple[str, str]) -> dict[str, Any]:
    source, target = (graph.entries[i] for i in edge)
    votes = graph.edges[edge].values()
    return {
        "from": source.title,
        "to": target.title,
        "link": "symptom" if source.kind == "symptom" else "solution",
        "weight": graph.weight(*edge),
        "conversations": len(votes),
        "confirmed": sum(v.verification == "confirmed" for v in votes),
        "failed": sum(v.verification == "failed" for v in votes),
        "last": max(v.at for v in votes).astimezone(UTC).date().isoformat(),
    }


def memory_chart(
    graph: SkillGraph, at: datetime | str | None = None, *, causes: int = 3, failed: int = 1, theme: str = "light"
) -> Chart:
    """What a customer's memory holds most firmly, with what was tried in vain, and the table of the links drawn.

    Parameters
    ----------
    graph, at, causes, failed, theme
        As for `graph_svg`.

    Raises
    ------
    InputError
        As `graph_svg`.
    """
    svg = graph_svg(graph, at, causes=causes, failed=failed, theme=theme)
    part = strongest(graph.view(None if at is None else parse_time(at)), causes=causes, failed=failed)
    title = f"Memory graph of {xml_text(graph.customer)} / {xml_text(graph.category)}"
    return Chart(title, graph_words(part), svg, link_frame(part))
