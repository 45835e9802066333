"""Judging contexts: statements against gold by meaning, the same for every arm, within the budget."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scripted import HashEncoder, conv, prop

from memlab.errors import InputError
from memlab.evaluation.baselines import tfidf
from memlab.evaluation.contexts import (
    BuiltContext,
    GoldTexts,
    by_threshold,
    context_scores,
    context_values,
    gold_texts,
    judge_contexts,
    memory_arms,
    shuffled_order,
    transcript_arm,
    wins,
)
from memlab.evaluation.matching import TextVectors
from memlab.evaluation.queries import Query


class Counts:
    """Word counts over a small vocabulary, of length 1."""

    name = "counts"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.array([[t.split().count(w) for w in ("worn", "cable", "swap", "it", "x")] for t in texts], np.float32)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


GOLD = GoldTexts({"A": ("worn cable",)}, {"S": ("swap it",)})
ASK = Query("q1", "it broke", "acme", "vpn", root_cause_ids=("A",), solution_ids=("S",))


def said(*statements: str):
    """An arm that says the same to everybody; statement n is read after n + 1 tokens."""
    context = BuiltContext("x", tuple((s, n + 1) for n, s in enumerate(statements)))
    return lambda query, budget: context


def test_a_right_fix_is_found_at_its_place():
    arms = {"both": said("x", "worn cable", "swap it"), "fix": said("swap it"), "near": said("swap x"), "none": said()}
    frame = judge_contexts(arms, [ASK], GOLD, budgets=[5], vectors=TextVectors(Counts()), threshold=0.6)
    rows = frame.set_index("arm")
    assert rows[["cause", "fix", "both"]].to_numpy().tolist() == [[1, 1, 1], [0, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert rows.loc["both", "read"] == 3 and rows.loc["fix", "read"] == 1 and np.isnan(rows.loc["none", "read"])
    # "swap x" shares one of two words with "swap it": cosine 1 / 2.
    assert rows.loc["near", "nearest fix"] == pytest.approx(0.5)
    assert by_threshold(frame, (0.5, 0.6), budget=5).loc["near"].tolist() == [1.0, 0.0]
    values, clusters = context_values(frame, "fix", budget=5)
    assert values["fix"] == {"q1": 1.0} and clusters == {"q1": "A"}
    assert wins(frame, "fix", "none", budget=5)["query"].tolist() == ["q1"]
    assert wins(frame, "none", "fix", budget=5).empty
    table = context_scores(frame, seed=0, n=50)
    assert table[(table["arm"] == "both") & (table["measure"] == "both")]["value"].tolist() == [1.0]


def test_queries_that_nothing_could_answer_are_left_out_and_bad_calls_refused():
    others = [Query("q2", "x", "acme", "vpn", root_cause_ids=("A",)), Query("q3", "x", "acme", "vpn")]
    frame = judge_contexts({"a": said("x")}, [ASK, *others], GOLD, budgets=[5], vectors=TextVectors(Counts()))
    assert frame["query"].tolist() == ["q1"]
    for options, match in (({"threshold": 0.0}, "threshold"), ({"budgets": [0]}, "took 1 tokens of 0")):
        with pytest.raises(InputError, match=match):
            judge_contexts(
                {"a": said("x")}, [ASK], GOLD, **{"budgets": [5], "vectors": TextVectors(Counts()), **options}
            )
    with pytest.raises(InputError, match="unknown measure"):
        context_values(frame, "luck", budget=5)
    with pytest.raises(InputError, match="no arm 'b'"):
        wins(frame, "a", "b", budget=5)


def test_gold_texts_are_gathered_by_id():
    label = {"root_cause": {"id": "A", "text": "worn cable"}, "solution": None}
    assert gold_texts([label, {**label, "root_cause": {"id": "A", "text": "old cable"}}]).cause == {
        "A": ("old cable", "worn cable")
    }


def test_transcripts_are_cut_at_turns_within_the_budget():
    chats = [conv("c1", 0, [("user", "red fox. It runs"), ("agent", "blue " * 30)]), conv("c2", 1, [("user", "red")])]
    arm = transcript_arm(tfidf(chats), chats)
    query = Query("q", "red fox", "acme", "vpn")
    for budget in (3, 10, 12, 100):
        assert arm(query, budget).tokens <= budget
    wide = arm(query, 100)
    # The short chat is nothing but a word of the query, so it is nearer.
    assert [s for s, _ in wide.statements][:3] == ["red", "red fox.", "It runs"]
    assert wide.text.splitlines()[0] == "user: red"
    assert arm(query, 12).text == "user: red\nuser: red fox. It runs"
    assert arm(query, 5).text == "user: red"


def test_memory_arms_share_entries_and_differ_in_order(bank, teach, monkeypatch):
    teach(
        bank,
        [
            (
                conv(f"c{n}", n, [("user", f"my {w} broke"), ("agent", "ok")]),
                prop(f"{w} broke", cause, f"swap {w}"),
            )
            for n, (w, cause) in enumerate(
                (("cable", "bent plug"), ("mouse", "dirty sensor"), ("screen", "loose hinge"))
            )
        ],
    )
    monkeypatch.setattr("memlab.recalling.default_encoder", HashEncoder)
    monkeypatch.setattr("memlab.recalling.searching.default_encoder", HashEncoder)
    arms = memory_arms({"acme": bank}, seed=1, least=0.0)
    query = Query("q", "cable broke", "acme", "vpn", root_cause_ids=("A",))
    made = {name: arm(query, 400) for name, arm in arms.items()}
    assert all(context.tokens <= 400 for context in made.values())
    told = {name: [s for s, _ in context.statements] for name, context in made.items()}
    assert set(told["skill"]) == set(told["skill for the query"]) == set(told["skill, shuffled"])
    assert told["skill for the query"][:2] == ["bent plug", "swap cable"]
    assert told["skill"][0] == "loose hinge"  # the newest weighs most
    assert len(told["skill and episodes"]) > len(told["skill"])
    assert shuffled_order(bank, query, seed=1) == shuffled_order(bank, query, seed=1)
