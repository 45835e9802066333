"""Growth: numbers by hand, against the fold, and the chart as bytes."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import matplotlib as mpl
import pytest

from memlab.errors import InputError
from memlab.figures import growth_frame, growth_svg
from memlab.graph import fold


def test_counts_by_hand(history: Any) -> None:
    # Case 0: symptom, cause, solution are new (3 nodes, 2 links, 3 votes). Case 1: the same symptom, a new cause and a failed
    # attempt (5 nodes, links s-c2 and c2-f make 4, 6 votes; 2 adds and 1 reinforcement more).
    history.case(0, ["s"], "c1", "x")
    history.case(1, ["s"], "c2", failed="f")
    frame = growth_frame(reversed(history.operations))
    numbers = frame[["nodes", "edges", "evidence", "adds", "reinforces", "edits", "rejects"]]
    assert numbers.values.tolist() == [[3, 2, 3, 3, 0, 0, 0], [5, 4, 6, 5, 1, 0, 0]]
    assert frame["conversation"].tolist() == ["case-0000", "case-0001"]
    assert frame.index.tolist() == [1, 2]


def test_every_row_is_the_size_of_the_graph_so_far(synthetic: Any) -> None:
    operations = synthetic(5, conversations=14).operations
    frame = growth_frame(operations)
    for row in frame.itertuples():
        graph = fold((o for o in operations if o.at <= row.at), customer="f", category="t")
        votes = sum(len(e.evidence) for e in graph.entries.values())
        assert (row.nodes, row.edges, row.evidence) == (len(graph.entries), len(graph.edges), votes)


def test_a_rejection_counts_but_adds_nothing(history: Any) -> None:
    history.case(0, ["s"], "c")
    first = history.operations[0]
    rejected = type(first)("reject", "cause", "nobody", "the moon", first.evidence)
    last = growth_frame([*history.operations, rejected]).iloc[-1]
    assert (last.nodes, last.edges, last.evidence, last.rejects) == (2, 1, 2, 1)


def test_the_chart_is_the_same_bytes_carries_its_numbers_and_leaves_settings_alone(synthetic: Any) -> None:
    frame = growth_frame(synthetic(5, conversations=14).operations)
    before = dict(mpl.rcParams)
    first = growth_svg(frame)
    with mpl.rc_context({"font.size": 30.0, "axes.facecolor": "red"}):
        assert growth_svg(frame) == first
    assert dict(mpl.rcParams) == before
    assert f"{frame['nodes'].iloc[-1]} nodes" in first
    root = ET.fromstring(first)
    title = root.findtext("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.startswith("Growth of memory over 14 conversations: ")
    assert "date" not in first


def test_no_conversations_and_missing_columns() -> None:
    empty = growth_frame([])
    assert "no conversations yet" in growth_svg(empty)
    assert str(empty["at"].dt.tz) == "UTC"
    with pytest.raises(InputError, match="missing: rejects"):
        growth_svg(empty.drop(columns="rejects"))
