"""The graph for other programs: GraphML for Gephi or yEd, and a pyvis network for a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from memlab.figures.layout import column_layout
from memlab.figures.style import LIGHT, VERIFICATIONS
from memlab.figures.text import one_line, shorten, xml_text
from memlab.graph import SkillGraph
from memlab.records import Evidence

if TYPE_CHECKING:
    import networkx as nx
    from pyvis.network import Network

__all__ = ["graph_ml", "graph_network"]

_SHAPES = {"symptom": "dot", "cause": "diamond", "solution": "square"}


def _flat(graph: SkillGraph) -> nx.DiGraph[str]:
    """The graph with places and text in plain attributes (text, whole and decimal numbers only)."""
    flat = graph.to_networkx()
    places = column_layout(flat)
    for i, data in flat.nodes(data=True):
        entry, (column, row) = graph.entries[i], places[i]
        data.update(
            title=xml_text(entry.title),
            aliases=xml_text("\n".join(entry.aliases)),
            x=400.0 * column,
            y=40.0 * row,
            **_tally(entry.evidence.values()),
        )
    for a, b, data in flat.edges(data=True):
        data["conversations"] = xml_text(" ".join(data["conversations"]))
        data.update(_tally(graph.edges[a, b].values()))
    return flat


def _tally(evidence: Iterable[Evidence]) -> dict[str, Any]:
    votes = list(evidence)
    times = sorted(v.at for v in votes)
    count: dict[str, Any] = {name: sum(v.verification == name for v in votes) for name in VERIFICATIONS}
    return {**count, "first_seen": times[0].isoformat(), "last_seen": times[-1].isoformat()} if times else count


def graph_ml(graph: SkillGraph) -> str:
    """The graph as GraphML text: titles, weights at `graph.at`, counts by verification, dates and places.

    Equal graphs give equal text. Conversations of a link stand in one attribute, separated by spaces.
    """
    import networkx as nx

    flat = _flat(graph)
    flat.graph = {k: xml_text(str(v)) for k, v in flat.graph.items()}
    flat = nx.relabel_nodes(flat, {i: xml_text(i) for i in flat})
    return "\n".join(nx.generate_graphml(flat, encoding="utf-8", named_key_ids=True)) + "\n"


def graph_network(graph: SkillGraph) -> Network:
    """The graph as a pyvis network with fixed places, no physics and titles that are text.

    For people who want a pyvis object in a notebook: ``graph_network(graph).show("graph.html")``. Pages that pyvis
    writes load scripts from the network; `graph_page` makes one that does not.
    """
    from pyvis.network import Network

    flat = _flat(graph)
    network = Network(height="700px", width="100%", directed=True, notebook=True, cdn_resources="in_line")
    network.set_options('{"physics": {"enabled": false}, "edges": {"smooth": false}, "interaction": {"hover": true}}')
    top = max((d["weight"] for _, d in flat.nodes(data=True)), default=0.0) or 1.0
    for i, d in flat.nodes(data=True):
        network.add_node(
            i,
            label=shorten(one_line(d["title"]), 220.0, 14.0),
            title=f"{d['kind']}: {d['title']} (weight {d['weight']:.2f})",
            shape=_SHAPES[d["kind"]],
            color=LIGHT.of(d["kind"]),
            size=8.0 + 12.0 * d["weight"] / top,
            x=d["x"],
            y=d["y"],
            fixed=True,
            physics=False,
        )
    for a, b, d in flat.edges(data=True):
        network.add_edge(
            a, b, width=1.0 + 4.0 * d["weight"] / top, title=f"weight {d['weight']:.2f}: {d['conversations']}"
        )
    return network
