"""Queries at the door, ranking metrics worked out by hand, and the baselines over raw transcripts."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlab.errors import InputError
from memlab.evaluation.queries import GoldCauses, Query, RankedHit, gold_causes, read_queries
from memlab.evaluation.retrieval import (
    METRICS,
    evaluate_retrieval,
    expected_at_random,
    query_values,
    retrieval_scores,
    score_ranking,
    word_overlap,
)
from memlab.evaluation.statistics import paired_difference
from memlab.records import Conversation, Turn


def query(*causes: str, id: str = "q1", text: str = "no sound", **changes: object) -> Query:
    fields = {"customer": "acme", "category": "teams", **changes}
    return Query(id, text, root_cause_ids=causes, **fields)  # type: ignore[arg-type]


def gold(**causes: str) -> GoldCauses:
    """Conversations and their causes (letters), all of acme's teams."""
    every = frozenset("".join(causes.values()))
    held = {("acme", "teams"): every, ("acme", None): every}
    return GoldCauses({c: frozenset(letters) for c, letters in causes.items()}, held)


def hits(*groups: str) -> list[RankedHit]:
    return [RankedHit(tuple(group.split())) for group in groups]


FIVE = gold(c1="A", c2="B", c3="C", c4="D", c5="E")


def test_ranks_by_hand():
    # The right cause stands third: recall 0, 1, 1; MRR 1/3; DCG 1 / log2(4) over an ideal of 1.
    found = score_ranking(query("C"), hits("c1", "c2", "c3"), FIVE)
    assert found == {"recall@1": 0, "recall@3": 1, "recall@5": 1, "mrr": 1 / 3, "ndcg@5": 0.5, "answered": 1}


def test_two_accepted_causes():
    # Found at 1 and 4: (1 + 1 / log2 5) / (1 + 1 / log2 3) = 1.43068 / 1.63093 = .87721.
    found = score_ranking(query("A", "D"), hits("c1", "c2", "c3", "c4"), FIVE)
    assert found["mrr"] == 1
    assert found["ndcg@5"] == pytest.approx(0.87721, abs=1e-5)


def test_a_repeated_cause_gains_once():
    memory = gold(c1="A", c2="A", c3="B")
    found = score_ranking(query("A"), hits("c1", "c2"), memory)
    assert found["ndcg@5"] == 1.0
    # With B accepted as well, A twice is not both: 1 / (1 + 1 / log2 3) = .6131.
    assert score_ranking(query("A", "B"), hits("c1", "c2"), memory)["ndcg@5"] == pytest.approx(0.6131, abs=1e-4)


def test_a_hit_counts_for_one_cause():
    # ab stands for A and B, and is counted for A; the next one brings B.
    memory = gold(ab="AB", b="B", ba="AB")
    asked = query("A", "B")
    assert score_ranking(asked, hits("ab", "b"), memory)["ndcg@5"] == 1.0
    assert score_ranking(asked, hits("ab", "ba"), memory)["ndcg@5"] == 1.0
    assert score_ranking(asked, hits("ab"), memory)["ndcg@5"] == pytest.approx(0.6131, abs=1e-4)


@pytest.mark.parametrize(
    ("group", "right"),
    [
        ("a1 b1", 1.0),  # one of two is half: right
        ("a1 b1 b2", 0.0),  # one of three is less
        ("a1 a2 b1", 1.0),
        ("a1 none", 1.0),
        ("a1 none b1", 0.0),  # an unknown cause counts in the denominator
        ("a1 a1 b1 b2", 0.0),  # a repeated conversation is one
        ("both", 1.0),  # two issues in one conversation, one of them accepted
        ("", 0.0),
    ],
)
def test_the_majority_of_a_hits_conversations_decides(group, right):
    memory = gold(a1="A", a2="A", b1="B", b2="B", both="AB", none="")
    assert score_ranking(query("A"), hits(group), memory)["recall@1"] == right


def test_nothing_found_for_an_answerable_query():
    found = score_ranking(query("A"), [], FIVE)
    assert found == dict.fromkeys(("recall@1", "recall@3", "recall@5", "mrr", "ndcg@5", "answered"), 0.0)


def test_mrr_and_recall_look_at_five_hits_only():
    memory = gold(**{f"c{n}": "Z" if n == 6 else "Y" for n in range(1, 7)})
    found = score_ranking(query("Z"), hits(*(f"c{n}" for n in range(1, 7))), memory)
    assert (found["recall@5"], found["mrr"], found["ndcg@5"]) == (0, 0, 0)


def test_abstention():
    assert score_ranking(query(), [], FIVE) == {"abstention": 1.0}
    assert score_ranking(query(), hits("c1"), FIVE) == {"abstention": 0.0}


def test_a_cause_that_memory_never_saw_is_in_no_score():
    assert score_ranking(query("Z"), hits("c1"), FIVE) == {}
    # A cause of another category is out of reach as well.
    assert score_ranking(query("A", category="vpn"), hits("c1"), FIVE) == {}


def test_hits_may_be_json_and_must_be_known():
    assert score_ranking(query("A"), [{"conversations": ["c1"], "root_cause": "x"}], FIVE)["recall@1"] == 1
    with pytest.raises(InputError, match="query q1: hit names 'c9'"):
        score_ranking(query("A"), hits("c1 c9"), FIVE)


@pytest.mark.parametrize(("size", "right"), [(1, 1), (3, 2), (5, 1), (6, 2), (6, 6)])
def test_chance_equals_the_mean_over_all_orders(size, right):
    letters = "ABCDEF"[:size]
    memory = gold(**{letter: letter for letter in letters})
    asked = query(*letters[:right])
    scores = [score_ranking(asked, hits(*order), memory) for order in permutations(letters)]
    for metric, value in expected_at_random(size, right).items():
        assert value == pytest.approx(np.mean([s[metric] for s in scores])), metric


def test_chance_needs_something_right():
    with pytest.raises(InputError, match="between 1 and 3"):
        expected_at_random(3, 0)


@settings(max_examples=60)
@given(st.lists(st.sampled_from("ABCDE"), max_size=8), st.sets(st.sampled_from("ABCDE"), min_size=1))
def test_metrics_stay_in_bounds_and_recall_rises_with_k(order, accepted):
    memory = gold(A="A", B="B", C="C", D="D", E="E")
    found = score_ranking(query(*sorted(accepted)), hits(*order), memory)
    assert all(0 <= v <= 1 for v in found.values())
    assert found["recall@1"] <= found["recall@3"] <= found["recall@5"]
    assert found["recall@1"] <= found["mrr"] <= found["recall@5"]


def chat(id: str, text: str = "x", customer: str = "acme", category: str | None = "teams") -> Conversation:
    return Conversation(id, customer, datetime(2026, 1, 1, tzinfo=UTC), (Turn("user", text),), category)


def cause_label(conversation: str, cause: str | None, category: str | None = "teams") -> dict[str, object]:
    return {
        "conversation": conversation,
        "category": category,
        "root_cause": {"id": cause, "text": "t"} if cause else None,
    }


def test_gold_causes_of_a_corpus():
    labels = [
        cause_label("c1", "A"),
        cause_label("c1", "V", "vpn"),
        cause_label("c2", None),
        cause_label("elsewhere", "X"),
    ]
    found = gold_causes(labels, [chat("c1"), chat("c2"), chat("c3")])
    assert found.causes == {"c1": {"A", "V"}, "c2": frozenset(), "c3": frozenset()}
    assert found.banks == {("acme", "teams"): {"A"}, ("acme", "vpn"): {"V"}, ("acme", None): {"A", "V"}}
    assert found.bank(query(category=None)) == {"A", "V"}
    with pytest.raises(InputError, match="'c1' stands twice"):
        gold_causes(labels, [chat("c1"), chat("c1", customer="other")])


def test_word_overlap_by_hand():
    # Content words of the query: headset, silent, teams; two of them occur in the texts (by stem).
    assert word_overlap("the headset is silent in Teams", ["my headsets crackle", "Teams call fails"]) == pytest.approx(
        2 / 3
    )
    assert word_overlap("is it", ["it is"]) == 0.0
    assert word_overlap("printer", []) == 0.0


SYMPTOMS = {"s1": "no sound in Teams", "s2": "printer jams"}


def frame_of_four():
    queries = [
        query("A", id="q1", text="no sound in teams", symptom_ids=("s1",)),
        query("A", id="q2", text="headset crackles", symptom_ids=("s1",), hard_negative=True),
        query("B", id="q3", text="laptop", symptom_ids=("s9",)),
        query(id="q4", text="blur is gone"),
        query("Z", id="q5"),
    ]
    rankings = {"q1": hits("c1"), "q2": hits("c2", "c1"), "q3": hits("c1"), "q4": [], "q5": hits("c1"), "other": []}
    return evaluate_retrieval(queries, rankings, gold(c1="A", c2="B", c3="C", c4="D"), symptoms=SYMPTOMS)


def test_one_row_a_query():
    frame = frame_of_four().set_index("query")
    assert list(frame["kind"]) == ["answerable"] * 3 + ["no answer", "unreachable"]
    assert list(frame["overlap"]) == ["0.5–1", "0", "unknown", "unknown", "unknown"]
    assert list(frame["recall@1"])[:3] == [1, 0, 0]
    assert list(frame["mrr"])[:3] == [1, 0.5, 0]
    assert frame.loc["q4", "abstention"] == 1
    assert math.isnan(frame.loc["q4", "recall@1"])
    assert frame.loc["q1", "random recall@1"] == 0.25  # four causes
    assert frame.loc["q5", list(METRICS)].isna().all()


def test_scores_count_causes_as_clusters():
    scores = retrieval_scores(frame_of_four(), seed=0, n=200).set_index("metric")
    recall = scores.loc["recall@1"]
    assert recall.value == pytest.approx(1 / 3)
    assert (recall.n, recall.clusters) == (3, 2)
    assert (recall.random, recall.saturated) == (0.25, 0)
    # Resamples of the two causes A (1 of 2) and B (0 of 1): AA .5, AB 1/3, BB 0.
    assert (recall.low, recall.high) == (0.0, 0.5)
    # Four causes fit into five places: any full list is right.
    assert (scores.loc["recall@5"].random, scores.loc["recall@5"].saturated) == (1.0, 3)
    assert (scores.loc["abstention"].value, scores.loc["abstention"].n) == (1.0, 1)
    assert recall.note == "n < 100: wide"


def test_a_memory_of_five_causes_saturates_five_places():
    frame = evaluate_retrieval([query("A")], {"q1": hits("c1")}, FIVE)
    saturated = retrieval_scores(frame, seed=0, n=50).set_index("metric")["saturated"]
    assert saturated[["recall@1", "recall@3", "recall@5", "ndcg@5"]].tolist() == [0, 0, 1, 1]


def test_scores_by_group():
    frame = frame_of_four()
    by = retrieval_scores(frame, seed=0, by="hard_negative", n=50)
    part = by[by["metric"] == "recall@1"].set_index("hard_negative")
    assert part["value"].to_dict() == {False: 0.5, True: 0.0}
    names = retrieval_scores(frame, seed=0, by="overlap", n=50)["overlap"]
    assert list(dict.fromkeys(names)) == ["0", "0.5–1", "unknown"]
    assert set(retrieval_scores(frame, seed=0, by="customer", n=50)["customer"]) == {"acme"}
    with pytest.raises(InputError, match="scores go by category, customer, hard_negative, overlap"):
        retrieval_scores(frame, seed=0, by="author")  # type: ignore[arg-type]


def test_two_arms_paired_over_queries():
    frame = frame_of_four()
    values, clusters = query_values(frame, "recall@1")
    assert values == {"q1": 1, "q2": 0, "q3": 0}
    assert clusters == {"q1": "A", "q2": "A", "q3": "B"}
    found = paired_difference(values, dict.fromkeys(values, 1.0), seed=0, clusters=clusters)
    assert found.difference == pytest.approx(2 / 3)
    with pytest.raises(InputError, match="unknown metric"):
        query_values(frame, "accuracy")


def test_a_missing_ranking_never_reads_as_nothing_found():
    with pytest.raises(InputError, match=r"no ranking for 1 queries \(q1"):
        evaluate_retrieval([query("A")], {}, FIVE)


def test_no_queries():
    frame = evaluate_retrieval([], {}, FIVE)
    assert retrieval_scores(frame, seed=0)["n"].tolist() == [0] * len(METRICS)


LINE = {
    "id": "q-1",
    "query": "no sound",
    "customer": "acme",
    "category": "teams",
    "symptom_ids": ["s1"],
    "root_cause_ids": ["A"],
    "solution_ids": [],
    "hard_negative": False,
}


def write(path, *objects):
    path.write_text("".join(json.dumps(o) + "\n" for o in objects), encoding="utf-8")
    return path


def test_read_queries(tmp_path):
    (found,) = read_queries(write(tmp_path / "p.jsonl", LINE))
    assert found == Query("q-1", "no sound", "acme", "teams", ("s1",), ("A",), ())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"query": " "}, "query must be a non-empty text"),
        ({"customer": " acme"}, "customer ' acme' has white space"),
        ({"root_cause_ids": None}, "root_cause_ids must be a list"),
        ({"symptom_ids": [3]}, r"symptom_ids\[0\] must be"),
        ({"hard_negative": "no"}, "hard_negative must be true or false"),
        ({"category": ""}, "category must be"),
        ({"id": "q-1"}, "query 'q-1' stands on line 1 already"),
    ],
)
def test_bad_queries_name_file_and_line(tmp_path, change, reason):
    path = write(tmp_path / "p.jsonl", LINE, {**LINE, "id": "q-2", **change})
    with pytest.raises(InputError, match=rf"p\.jsonl:2: {reason}"):
        read_queries(path)
