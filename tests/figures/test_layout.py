"""Places: the isotonic spread against scikit-learn's, and the laws of the columns."""

from __future__ import annotations

import itertools
from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from memlab.figures.layout import column_layout, spread

numbers = st.floats(min_value=-50, max_value=50, allow_nan=False)


@given(st.lists(numbers, min_size=1, max_size=12), st.integers(0, 20))
def test_spread_is_the_isotonic_regression_of_the_wanted_places(wanted: list[float], slack: int) -> None:
    n = len(wanted)
    high = n - 1.0 + slack
    # With z = y - i, "at least 1 apart" is "z does not fall"; clipping the unbounded solution gives the bounded one.
    z = np.array(wanted) - np.arange(n)
    expected = np.clip(IsotonicRegression().fit_transform(np.arange(n), z), 0, slack) + np.arange(n)
    assert spread(wanted, low=0.0, high=high) == pytest.approx(expected.tolist(), abs=1e-6)


def test_spread_keeps_the_gaps_where_the_range_is_too_short() -> None:
    assert spread([5.0, 5.0, 5.0], low=0.0, high=1.0) == [0.0, 1.0, 2.0]


def graph_of(edges: list[tuple[str, str]], *, lone: list[str] | None = None) -> nx.DiGraph[str]:
    kinds = {"s": "symptom", "c": "cause", "x": "solution"}
    graph: nx.DiGraph[str] = nx.DiGraph()
    for v in [*(v for e in edges for v in e), *(lone or [])]:
        graph.add_node(v, kind=kinds[v[0]])
    graph.add_edges_from(edges, conversations=["one"])
    return graph


letters = st.integers(0, 8)
links = st.lists(
    st.one_of(st.tuples(letters, letters, st.just("sc")), st.tuples(letters, letters, st.just("cx"))), max_size=25
)


@given(links, st.integers(0, 1000))
def test_columns_have_their_kind_and_rows_do_not_touch_in_any_insertion_order(
    rows: list[tuple[int, int, str]], seed: int
) -> None:
    edges = sorted({(f"{k[0]}{a}", f"{k[1]}{b}") for a, b, k in rows})
    shuffled = edges[:]
    Random(seed).shuffle(shuffled)
    graph = graph_of(edges, lone=["s99"])
    places = column_layout(graph)
    assert places == column_layout(graph_of(shuffled, lone=["s99"]))
    assert {v: column for v, (column, _) in places.items()} == {v: "scx".index(v[0]) for v in graph}
    tallest = max(sum(v[0] == k for v in graph) for k in "scx")
    for k in "scx":
        ys = sorted(y for v, (_, y) in places.items() if v[0] == k)
        assert all(b - a > 0.998 for a, b in itertools.pairwise(ys))
        assert all(-0.001 <= y <= tallest - 1 + 0.001 for y in ys)


def test_separate_chains_become_straight_lines() -> None:
    # Six chains s → c → x whose names sort differently in each column: all links can be level, total length 0.
    chains = [(f"s{n}", f"c{(n * 5) % 6}", f"x{(n * 5 + 3) % 6}") for n in range(6)]
    places = column_layout(graph_of([e for s, c, x in chains for e in ((s, c), (c, x))]))
    assert all(places[s][1] == places[c][1] == places[x][1] for s, c, x in chains)


def test_an_entry_without_a_link_stands_last() -> None:
    places = column_layout(graph_of([("s1", "c1"), ("s2", "c1")], lone=["s0"]))
    assert places["s0"][1] == 2.0


def test_weights_play_no_part() -> None:
    graph = graph_of([("s1", "c1"), ("s2", "c2"), ("s2", "c1"), ("c1", "x1")])
    before = column_layout(graph)
    nx.set_node_attributes(graph, {v: n for n, v in enumerate(graph)}, "weight")
    nx.set_edge_attributes(graph, 7.0, "weight")
    assert column_layout(graph) == before
