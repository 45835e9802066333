"""Retrievers over raw transcripts: scores by hand, one customer and category, total orders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from memlab.errors import InputError
from memlab.evaluation.baselines import (
    HybridRetriever,
    bm25,
    by_cause,
    minilm,
    minilm_turns,
    oracle,
    random_order,
    rank_all,
    tfidf,
    transcript_retrievers,
)
from memlab.evaluation.matching import TextVectors
from memlab.evaluation.queries import GoldCauses, Query, RankedHit
from memlab.evaluation.retrieval import evaluate_retrieval, retrieval_scores
from memlab.records import Conversation, Turn


def chat(id: str, *turns: str, customer: str = "acme", category: str | None = "teams") -> Conversation:
    return Conversation(id, customer, datetime(2026, 1, 1, tzinfo=UTC), tuple(Turn("user", t) for t in turns), category)


def ask(text: str, *causes: str, id: str = "q1", customer: str = "acme", category: str | None = "teams") -> Query:
    return Query(id, text, customer, category, root_cause_ids=causes)


CHATS = [chat("c2", "red fox", "red"), chat("c1", "blue fox"), chat("c3", "green")]
GOLD = GoldCauses(
    {"c1": frozenset("A"), "c2": frozenset("B"), "c3": frozenset()},
    {("acme", "teams"): frozenset("AB"), ("acme", None): frozenset("AB")},
)


class Counts:
    """An encoder of word counts over a small vocabulary, of length 1."""

    name = "counts"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.array([[t.split().count(w) for w in ("red", "blue", "fox", "green")] for t in texts], np.float32)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def test_bm25_by_hand():
    # "red": in 1 of 3 chats, idf = ln(1 + (3 - 1 + .5) / (1 + .5)) = ln(8/3); tf 2, length 3, mean length 2:
    # 2 / (2 + 1.2 * (.25 + .75 * 3 / 2)) = 2 / 3.65 (Lucene leaves the constant k1 + 1 out).
    assert bm25(CHATS).rank(ask("red")) == [("c2", pytest.approx(math.log(8 / 3) * 2 / 3.65, abs=1e-5))]
    # "fox": idf = ln(1 + 1.5 / 2.5) = ln 1.6; c1 has length 2 (1 / (1 + 1.2)), c2 length 3 (1 / (1 + 1.65)).
    found = bm25(CHATS).rank(ask("fox"))
    assert [c for c, _ in found] == ["c1", "c2"]
    assert [s for _, s in found] == pytest.approx([math.log(1.6) / 2.2, math.log(1.6) / 2.65], abs=1e-5)


def test_tfidf_by_hand():
    # idf: red, blue, green ln(4/2) + 1 = 1.693147, fox ln(4/3) + 1 = 1.287682; c1 is (blue, fox), its length
    # sqrt(1.693147² + 1.287682²) = 2.127175; the query "fox" is a unit vector: 1.287682 / 2.127175 = .605349.
    # c2: red (1 + ln 2) * 1.693147 = 2.866747, fox 1.287682, length 3.142649: .409744.
    found = tfidf(CHATS).rank(ask("fox"))
    assert [c for c, _ in found] == ["c1", "c2"]
    assert [s for _, s in found] == pytest.approx([0.605349, 0.409744], abs=1e-5)


def test_words_without_a_match_find_nothing():
    for retriever in (bm25(CHATS), tfidf(CHATS)):
        assert retriever.rank(ask("violet")) == []
        assert retriever.rank(ask("?!")) == []


def test_transcript_and_turn_vectors_by_hand():
    vectors = TextVectors(Counts())
    # Whole: c2 = (2, 0, 1, 0) / √5 against "red": 2 / √5. By turn: the turn "red" alone gives 1.
    whole = dict(minilm(CHATS, vectors=vectors).rank(ask("red")))
    turns = dict(minilm_turns(CHATS, vectors=vectors).rank(ask("red")))
    # Joining by a newline still splits into words here.
    assert whole == {"c2": pytest.approx(2 / math.sqrt(5), abs=1e-6), "c1": 0.0, "c3": 0.0}
    assert turns == {"c2": 1.0, "c1": 0.0, "c3": 0.0}


def test_ties_are_decided_by_id_and_k_cuts():
    retriever = minilm(CHATS, encoder=Counts())
    assert [c for c, _ in retriever.rank(ask("green"))] == ["c3", "c1", "c2"]
    assert [c for c, _ in retriever.rank(ask("green"), 2)] == ["c3", "c1"]
    with pytest.raises(InputError, match="at least 1"):
        retriever.rank(ask("green"), 0)


def everything(corpus):
    shared = TextVectors(Counts())
    return transcript_retrievers(corpus, gold=GOLD, seed=1, vectors=shared).values()


def test_one_customer_and_category_only():
    corpus = [
        *CHATS,
        chat("x1", "red fox", customer="other"),
        chat("x2", "red fox", category="vpn"),
        chat("x3", "red fox", category=None),
    ]
    for retriever in everything(corpus):
        found = {c for c, _ in retriever.rank(ask("red fox", "B"))}
        assert found <= {"c1", "c2", "c3", "x3"}, retriever.name
        wide = {c for c, _ in retriever.rank(ask("red fox", "B", category=None))}
        assert wide <= {"c1", "c2", "c3", "x2", "x3"}, retriever.name
        assert retriever.rank(ask("red fox", customer="nobody")) == []
    # Another customer's words don't even change the scores.
    assert bm25(corpus).rank(ask("red", customer="other")) == bm25(corpus[3:4]).rank(ask("red", customer="other"))


def test_rankings_do_not_depend_on_the_order_of_the_corpus():
    for one, other in zip(everything(CHATS), everything(CHATS[::-1]), strict=True):
        assert one.rank(ask("red fox", "B")) == other.rank(ask("red fox", "B"))


def test_empty_transcripts_are_no_trouble():
    corpus = [chat("e1", "…"), chat("e2", " ")]
    for retriever in (bm25(corpus), tfidf(corpus)):
        assert retriever.rank(ask("red")) == []
    # A blank turn has no vector.
    assert [c for c, _ in minilm_turns(corpus, encoder=Counts()).rank(ask("red"))] == ["e1"]


def test_an_id_twice_is_refused():
    with pytest.raises(InputError, match="'c1' stands twice"):
        bm25([*CHATS, chat("c1", customer="other")])


def test_random_order_depends_on_seed_and_query_only():
    corpus = [chat(f"c{n}", "x") for n in range(8)]

    def order(seed: int, id: str) -> list[str]:
        return [c for c, _ in random_order(corpus, seed=seed).rank(ask("x", id=id))]

    assert order(1, "q1") == order(1, "q1")
    assert sorted(order(1, "q1")) == [f"c{n}" for n in range(8)]
    assert len({tuple(order(s, q)) for s in (1, 2) for q in ("q1", "q2")}) == 4


def test_oracle_returns_the_right_ones_and_nothing_else():
    retriever = oracle(CHATS, gold=GOLD)
    assert retriever.rank(ask("anything", "A")) == [("c1", 1.0)]
    assert retriever.rank(ask("anything")) == []
    # A conversation about one issue goes before one about two.
    gold = GoldCauses({"c1": frozenset("AB"), "c2": frozenset("B"), "c3": frozenset()}, {})
    assert oracle(CHATS, gold=gold).rank(ask("anything", "A", "B")) == [("c2", 1.0), ("c1", 0.5)]


def test_fusion_adds_reciprocal_ranks():
    class Fixed:
        def __init__(self, *order):
            self.name, self.order = "fixed", order

        def rank(self, query, k=None):
            return [(c, 1.0) for c in self.order]

    # a: 1/61 + 1/62, b: 1/62 + 1/61 (the same), c: 1/63 in one ranking only.
    found = HybridRetriever("h", [Fixed("a", "b", "c"), Fixed("b", "a")]).rank(ask("x"))
    assert found == [("a", pytest.approx(1 / 61 + 1 / 62, abs=1e-6)), ("b", found[0][1]), ("c", round(1 / 63, 6))]
    with pytest.raises(InputError, match="at least 1"):
        HybridRetriever("h", []).rank(ask("x"), 0)


def test_by_cause_collapses_repetitions():
    gold = GoldCauses(
        {"a1": frozenset("A"), "a2": frozenset("A"), "n1": frozenset(), "n2": frozenset(), "ab": frozenset("AB")}, {}
    )
    ranking = [("a1", 0.9), ("a2", 0.8), ("n1", 0.7), ("n2", 0.6), ("ab", 0.5)]
    # a2 repeats A; both conversations without a cause stay; ab brings B.
    assert [h.conversations for h in by_cause(ranking, 9, gold)] == [("a1",), ("n1",), ("n2",), ("ab",)]
    assert by_cause(ranking, 2, gold) == [RankedHit(("a1",), 0.9), RankedHit(("n1",), 0.7)]
    with pytest.raises(InputError, match="not in the corpus"):
        by_cause([("zz", 1.0)], 1, gold)
    with pytest.raises(InputError, match="at least 1"):
        by_cause(ranking, 0, gold)


def test_the_oracle_scores_one_and_abstains():
    queries = [ask("x", "A"), ask("x", "A", "B", id="q2"), ask("x", id="q3")]
    retrievers = transcript_retrievers(CHATS, gold=GOLD, seed=0, vectors=TextVectors(Counts()))
    assert list(retrievers) == ["bm25", "tfidf", "minilm", "minilm turns", "hybrid", "random", "oracle"]
    frame = evaluate_retrieval(queries, rank_all(retrievers["oracle"], queries, GOLD), GOLD)
    assert retrieval_scores(frame, seed=0, n=50)["value"].tolist() == [1.0] * 7
