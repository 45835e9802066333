"""GraphML and pyvis: the same graph, with plain attributes, and text that stays text."""

from __future__ import annotations

import io
from typing import Any

import networkx as nx

from memlab.figures import graph_ml, graph_network


def test_graphml_reads_back_with_weights_counts_and_places(synthetic: Any) -> None:
    graph = synthetic(5, conversations=14).graph()
    back = nx.read_graphml(io.StringIO(graph_ml(graph)))
    assert set(back.nodes) == set(graph.entries)
    assert set(back.edges) == set(graph.edges)
    for i, d in back.nodes(data=True):
        assert d["weight"] == graph.weight(i)
        assert d["confirmed"] + d["inferred"] + d["claimed"] + d["failed"] == len(graph.entries[i].evidence)
    for a, b, d in back.edges(data=True):
        assert d["conversations"].split() == sorted(graph.edges[a, b])
    assert {d["x"] for _, d in back.nodes(data=True)} == {0.0, 400.0, 800.0}


def test_graphml_survives_odd_text(history: Any, hostile: list[str]) -> None:
    for n, text in enumerate([*hostile, "broken \ud83d\x00 \uffff"]):
        history.case(n, [text], f"cause {n}", text)
    back = nx.read_graphml(io.StringIO(graph_ml(history.graph())))
    titles = {d["title"] for _, d in back.nodes(data=True) if d["kind"] == "symptom"}
    assert titles == {*hostile, "broken \\ud83d\\x00 \\uffff"}


def test_the_pyvis_network_has_fixed_places_no_physics_and_harmless_titles(history: Any, hostile: list[str]) -> None:
    history.case(0, ["01", *hostile], "c", "x")
    graph = history.graph()
    network = graph_network(graph)
    assert set(network.get_nodes()) == set(graph.entries)
    assert all(n["fixed"] and not n["physics"] for n in network.nodes)
    assert {n["x"] for n in network.nodes} == {0.0, 400.0, 800.0}
    assert len(network.edges) == len(graph.edges)
    assert hostile[0] not in network.generate_html(notebook=True)
    assert len(graph_network(graph).nodes) == len(graph.entries)  # a second one does not draw into the first
