"""The graph: a fold of operations, a view for a moment, and a limit that never takes the only answer."""

from __future__ import annotations

import json
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import START

from memlab.errors import CurationError
from memlab.graph import SkillGraph, fold
from memlab.operations import Operation
from memlab.records import Evidence, canonical_json


def vote(conversation: str, day: float = 0, verification: str = "confirmed") -> Evidence:
    return Evidence(conversation, START + timedelta(days=day), verification)


def op(
    kind: str, entry: str, conversation: str, day: float = 0, *, links=(), verification="confirmed", **more
) -> Operation:
    return Operation(
        "reinforce", kind, entry, more.pop("text", entry), vote(conversation, day, verification), tuple(links), **more
    )


def build(cases: list[tuple[str, float, list[str], str, str | None, str]]) -> list[Operation]:
    """(conversation, day, symptoms, cause, solution, verification) as operations."""
    out, known = [], set()

    def write(operation: Operation) -> None:
        fresh = operation.entry not in known
        known.add(operation.entry)
        out.append(
            Operation(
                **{**{f: getattr(operation, f) for f in operation.__slots__}, "op": "add" if fresh else "reinforce"}
            )
        )

    for conversation, day, symptoms, cause, solution, verification in cases:
        for s in symptoms:
            write(op("symptom", s, conversation, day))
        write(op("cause", cause, conversation, day, links=[(s, cause) for s in symptoms]))
        if solution:
            write(op("solution", solution, conversation, day, links=[(cause, solution)], verification=verification))
    return out


case = st.tuples(
    st.lists(st.sampled_from(["s1", "s2", "s3", "s4"]), min_size=1, max_size=2, unique=True),
    st.sampled_from(["c1", "c2", "c3", "c4"]),
    st.none() | st.sampled_from(["x1", "x2", "x3", "x4"]),
    st.sampled_from(["confirmed", "claimed", "failed"]),
)
histories = st.lists(case, min_size=1, max_size=12).map(
    lambda found: build([(f"v{n:02}", n, s, c, x, v) for n, (s, c, x, v) in enumerate(found)])
)


def graph_of(operations) -> SkillGraph:
    return fold(operations, customer="acme", category="vpn")


@given(histories, st.integers(0, 11))
@settings(max_examples=50, deadline=None)
def test_a_view_is_the_fold_of_the_past_and_taking_the_future_out_is_too(operations, day):
    at = START + timedelta(days=day)
    past = graph_of([o for o in operations if o.at <= at])
    whole = graph_of(operations)
    assert canonical_json(whole.view(at).to_json()) == canonical_json(past.view(at).to_json())
    whole.retract([o for o in reversed(operations) if o.at > at])
    assert canonical_json(whole.to_json()) == canonical_json(past.to_json())
    assert whole == past


@given(histories, st.integers(0, 14))
@settings(max_examples=70, deadline=None)
def test_a_limit_never_takes_the_only_answer_to_something(operations, most):
    graph = graph_of(operations).view()
    small = graph.limited(entries=most)
    assert set(small.entries) <= set(graph.entries)
    assert {e: v for e, v in graph.edges.items() if set(e) <= set(small.entries)} == small.edges
    answered = {s for s, c in graph.edges if graph.entries[s].kind == "symptom" and graph.answers(c)}
    for symptom in answered & set(small.entries):
        assert any(small.answers(e.id) for e, _ in small.targets(symptom))
    for e in small.entries.values():
        if e.kind == "cause" and graph.answers(e.id):
            assert small.answers(e.id)
            assert bool(small.sources(e.id)) == bool(graph.sources(e.id))
    for cause in (e.id for e in graph.entries.values() if e.kind == "cause" and e.id not in small.entries):
        if graph.answers(cause):  # what it answered still has another answer
            for s, _ in graph.sources(cause):
                assert s.id not in small.entries or any(small.answers(e.id) for e, _ in small.targets(s.id))
    assert small.limited(entries=most).entries.keys() == small.entries.keys()


@given(histories)
@settings(max_examples=50, deadline=None)
def test_a_limit_that_is_large_enough_takes_nothing(operations):
    graph = graph_of(operations).view()
    assert canonical_json(graph.limited(entries=len(graph.entries)).to_json()) == canonical_json(graph.to_json())


def test_the_weakest_goes_first_by_the_one_weight():
    cases = [(f"a{n}", n, ["s1"], "c1", f"x{n}", "confirmed") for n in range(1, 5)]
    graph = graph_of(build([*cases, ("b", 5, ["s1"], "c1", "x4", "confirmed")])).view()
    kept = [set(graph.limited(entries=n).entries) - {"s1", "c1"} for n in (6, 5, 4, 3, 2, 0)]
    assert kept == [{"x1", "x2", "x3", "x4"}, {"x2", "x3", "x4"}, {"x3", "x4"}, {"x4"}, {"x4"}, {"x4"}]
    weights = [graph.weight(x) for x in ("x1", "x2", "x3", "x4")]
    assert all(a < b for a, b in pairwise(weights))


def test_a_rare_answer_outlives_many_better_known_ones():
    cases = [(f"a{n}", 300 + n, ["s1"], "c1", f"x{n % 3}", "confirmed") for n in range(1, 31)]
    graph = graph_of(build([("rare", 0, ["s2"], "c2", "x9", "claimed"), *cases])).view()
    small = graph.limited(entries=6)
    assert {"s2", "c2", "x9"} <= set(small.entries)
    assert len(small.entries) == 6


@pytest.mark.parametrize(
    "wrong",
    [
        Operation("add", "cause", "c1", "c1", vote("v2")),
        Operation("reinforce", "cause", "c9", "c9", vote("v2")),
        Operation("reinforce", "symptom", "c1", "c1", vote("v2")),
        Operation("reinforce", "solution", "x1", "x1", vote("v2"), (("s1", "x1"),)),
        Operation("reinforce", "cause", "c1", "c1", vote("v2"), (("c1", "s1"),)),
        Operation("reinforce", "cause", "c1", "c1", vote("v2"), (("c1", "c1"),)),
        Operation("reinforce", "solution", "x1", "x1", vote("v2"), (("c1", "nobody"),)),
        Operation("reinforce", "solution", "x1", "x1", vote("v2"), (("s1", "c1"),)),
    ],
)
def test_an_operation_that_does_not_fit_changes_nothing(wrong):
    graph = graph_of(build([("v1", 0, ["s1"], "c1", "x1", "confirmed")]))
    before = canonical_json(graph.to_json())
    with pytest.raises(CurationError):
        graph.apply(wrong)
    assert canonical_json(graph.to_json()) == before


def test_titles_follow_conversations_then_edits_then_people():
    graph = graph_of([])
    texts = [("v1", "long wording here"), ("v2", "short"), ("v3", "tiny")]
    graph.apply(Operation("add", "cause", "c1", "long wording here", vote("v1", 0)))
    for n, (conversation, text) in enumerate(texts[1:], 1):
        graph.apply(op("cause", "c1", conversation, n, text=text))
    assert graph.entries["c1"].title == "tiny"  # one conversation each: the shortest
    graph.apply(op("cause", "c1", "v4", 3, text="long wording here"))
    assert graph.entries["c1"].title == "long wording here"  # two conversations
    graph.apply(op("cause", "c1", "v4", 3, text="long wording here", turn=7))
    graph.apply(op("cause", "c1", "v5", 4, text="short", name="short"))
    assert graph.entries["c1"].title == "short"
    assert graph.view(names={"c1": "by a person"}).entries["c1"].title == "by a person"
    assert graph.view(START + timedelta(days=3.5)).entries["c1"].title == "long wording here"
    assert graph.entries["c1"].aliases == ["long wording here", "tiny"]


def test_neighbours_weights_and_networkx_say_the_same():
    graph = graph_of(
        build([("v1", 0, ["s1", "s2"], "c1", "x1", "confirmed"), ("v2", 9, ["s2"], "c1", "x2", "failed")])
    ).view()
    assert [e.id for e, _ in graph.sources("c1")] == ["s2", "s1"]
    assert graph.answers("c1") == ["x1"]
    drawn = graph.to_networkx()
    assert {(a, b, d["weight"]) for a, b, d in drawn.edges(data=True)} == {
        (a, b, graph.weight(a, b)) for a, b in graph.edges
    }
    assert drawn.nodes["c1"]["weight"] == graph.weight("c1") > 0 == graph.weight("c1", "x2") == graph.weight("x2", "c1")
    told = json.loads(canonical_json(graph.to_json()))
    assert [e["id"] for e in told["entries"]] == ["c1", "s1", "s2", "x1", "x2"]


def test_operations_are_written_canonically_and_read_back():
    operation = Operation(
        "reject", "solution", "x1", "set MTU ü", vote("v1", 1, "failed"), (("c1", "x1"),), 1, 2, "q", "no", {"b": 0.5, "a": 1.0},
        "near", "name", False, True,
    )  # fmt: skip
    text = operation.dumps()
    assert text == canonical_json(json.loads(text)) == canonical_json(operation)
    assert Operation.from_json(json.loads(text)) == operation
