"""Retrievers over raw transcripts: what memory must beat. Each searches one customer and category, like memory does.

German and French words are put into English on both sides, as memory does it, so that what is compared is memory.
Ties are decided by conversation id and scores are rounded to 6 digits, so every ranking is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from memlab.corpus.languages import in_english
from memlab.curation.keys import words
from memlab.errors import InputError
from memlab.evaluation.matching import TextVectors
from memlab.evaluation.queries import GoldCauses, Query, RankedHit
from memlab.recalling import load_bm25s
from memlab.records import Conversation, content_hash

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memlab.models.embeddings import Encoder

__all__ = [
    "HybridRetriever",
    "Retriever",
    "TranscriptRetriever",
    "bm25",
    "by_cause",
    "hybrid",
    "minilm",
    "minilm_turns",
    "oracle",
    "random_order",
    "rank_all",
    "tfidf",
    "transcript_retrievers",
]

Scorer = Callable[[Query], "NDArray[np.float64]"]
"""From a query to one score a conversation; NaN leaves a conversation out of the ranking."""

Fit = Callable[[Sequence[Conversation]], Scorer]
"""From the conversations of one customer and category (sorted by id) to their scorer."""


class Retriever(Protocol):
    """Anything that ranks past conversations for a query."""

    name: str

    def rank(self, query: Query, k: int | None = None) -> list[tuple[str, float]]:
        """The first k conversations of the query's customer and category (all, without k) with scores, best first."""
        ...


class TranscriptRetriever:
    """Ranks raw transcripts with any scorer, fitted anew for each customer and category at its first query.

    A query without a category searches all of its customer's; a conversation without one is found in each.

    Parameters
    ----------
    name : str
        For tables.
    conversations : iterable of Conversation
        The corpus.
    fit : callable
        Makes the scorer of one customer and category; see `bm25` and the others.
    """

    def __init__(self, name: str, conversations: Iterable[Conversation], fit: Fit) -> None:
        self.name = name
        self._conversations = sorted(map(_english, conversations), key=lambda c: c.id)
        for a, b in pairwise(c.id for c in self._conversations):
            if a == b:
                raise InputError(f"conversation {a!r} stands twice; ids must be unique over all customers here")
        self._fit = fit
        self._banks: dict[tuple[str, str | None], tuple[list[str], Scorer]] = {}

    def rank(self, query: Query, k: int | None = None) -> list[tuple[str, float]]:
        """The first k conversations (all, without k) with their scores, best first, ties by id.

        Raises
        ------
        InputError
            If k < 1.
        """
        if k is not None and k < 1:
            raise InputError(f"k must be at least 1, not {k}")
        ids, scorer = self._bank(query.customer, query.category)
        if not ids:
            return []
        asked = replace(query, query=in_english(query.query))
        scored = [(c, round(float(s), 6)) for c, s in zip(ids, scorer(asked), strict=True) if not np.isnan(s)]
        return sorted(scored, key=lambda item: (-item[1], item[0]))[:k]

    def _bank(self, customer: str, category: str | None) -> tuple[list[str], Scorer]:
        key = (customer, category)
        if key not in self._banks:
            inside = [
                c
                for c in self._conversations
                if c.customer == customer and (category is None or c.category in (category, None))
            ]
            self._banks[key] = ([c.id for c in inside], self._fit(inside) if inside else _nothing)
        return self._banks[key]


def _english(conversation: Conversation) -> Conversation:
    return replace(conversation, turns=tuple(replace(t, text=in_english(t.text)) for t in conversation.turns))


def _nothing(_: Query) -> NDArray[np.float64]:
    return np.zeros(0)


def bm25(conversations: Iterable[Conversation], *, k1: float = 1.2, b: float = 0.75) -> TranscriptRetriever:
    """BM25 (Lucene's variant) over the words of whole transcripts; what shares no word is not returned.

    References
    ----------
    Robertson & Zaragoza (2009), The Probabilistic Relevance Framework, doi:10.1561/1500000019.
    Lù (2024), BM25S, arXiv:2407.03618 (implementation).
    """

    def fit(inside: Sequence[Conversation]) -> Scorer:
        bm25s = load_bm25s()

        texts = [list(words(c.text())) for c in inside]
        index = bm25s.BM25(method="lucene", k1=k1, b=b)
        if any(texts):
            index.index(texts, show_progress=False)

        def score(query: Query) -> NDArray[np.float64]:
            known = [w for w in words(query.query) if any(texts) and w in index.vocab_dict]
            scores = np.asarray(index.get_scores(known), np.float64) if known else np.zeros(len(texts))
            return np.where(scores > 0, scores, np.nan)

        return score

    return TranscriptRetriever("bm25", conversations, fit)


def tfidf(conversations: Iterable[Conversation]) -> TranscriptRetriever:
    """Cosine of TF-IDF vectors (1 + log tf) of whole transcripts; what shares no word is not returned."""

    def fit(inside: Sequence[Conversation]) -> Scorer:
        from sklearn.feature_extraction.text import TfidfVectorizer

        texts = [c.text() for c in inside]
        if not any(map(words, texts)):
            return lambda _: np.full(len(texts), np.nan)
        vectorizer = TfidfVectorizer(analyzer=words, sublinear_tf=True)
        matrix = vectorizer.fit_transform(texts)

        def score(query: Query) -> NDArray[np.float64]:
            scores = (matrix @ vectorizer.transform([query.query]).T).toarray()[:, 0]
            return np.where(scores > 0, scores, np.nan)

        return score

    return TranscriptRetriever("tfidf", conversations, fit)


def minilm(
    conversations: Iterable[Conversation], *, encoder: Encoder | None = None, vectors: TextVectors | None = None
) -> TranscriptRetriever:
    """Cosine of sentence vectors of whole transcripts; the default encoder reads their first 256 tokens only.

    Parameters
    ----------
    conversations : iterable of Conversation
        The corpus.
    encoder, vectors : optional
        Where vectors come from; by default all-MiniLM-L6-v2.

    References
    ----------
    Reimers & Gurevych (2019), Sentence-BERT, arXiv:1908.10084.
    """
    return _dense("minilm", conversations, lambda c: [c.text()], vectors or TextVectors(encoder))


def minilm_turns(
    conversations: Iterable[Conversation], *, encoder: Encoder | None = None, vectors: TextVectors | None = None
) -> TranscriptRetriever:
    """As `minilm`, but every turn has a vector of its own, and a conversation counts by its nearest turn."""
    return _dense("minilm turns", conversations, lambda c: [t.text for t in c.turns], vectors or TextVectors(encoder))


def _dense(
    name: str,
    conversations: Iterable[Conversation],
    views: Callable[[Conversation], list[str]],
    vectors: TextVectors,
) -> TranscriptRetriever:
    def fit(inside: Sequence[Conversation]) -> Scorer:
        pairs = [(row, text) for row, c in enumerate(inside) for text in views(c) if text.strip()]
        rows = np.array([row for row, _ in pairs], np.int64)
        matrix = vectors([text for _, text in pairs])

        def score(query: Query) -> NDArray[np.float64]:
            best = np.full(len(inside), np.nan)
            if pairs:
                np.fmax.at(best, rows, (matrix @ vectors([query.query])[0]).astype(np.float64))
            return best

        return score

    return TranscriptRetriever(name, conversations, fit)


class HybridRetriever:
    """Reciprocal rank fusion of other rankings: each adds 1 / (60 + rank) for a conversation that it returns.

    References
    ----------
    Cormack, Clarke & Büttcher (2009), Reciprocal Rank Fusion, doi:10.1145/1571941.1572114.
    """

    def __init__(self, name: str, parts: Sequence[Retriever]) -> None:
        self.name, self._parts = name, tuple(parts)

    def rank(self, query: Query, k: int | None = None) -> list[tuple[str, float]]:
        """The first k conversations (all, without k) with their fused scores, best first, ties by id.

        Raises
        ------
        InputError
            If k < 1.
        """
        if k is not None and k < 1:
            raise InputError(f"k must be at least 1, not {k}")
        fused: dict[str, float] = {}
        for part in self._parts:
            for place, (conversation, _) in enumerate(part.rank(query), 1):
                fused[conversation] = fused.get(conversation, 0.0) + 1 / (60 + place)
        return sorted(((c, round(s, 6)) for c, s in fused.items()), key=lambda item: (-item[1], item[0]))[:k]


def hybrid(
    conversations: Sequence[Conversation], *, encoder: Encoder | None = None, vectors: TextVectors | None = None
) -> HybridRetriever:
    """BM25 and the nearest turn, fused by rank with equal weight."""
    return HybridRetriever(
        "hybrid", [bm25(conversations), minilm_turns(conversations, encoder=encoder, vectors=vectors)]
    )


def random_order(conversations: Iterable[Conversation], *, seed: int) -> TranscriptRetriever:
    """Every conversation, in an order drawn for each query from the seed and the query's id."""

    def fit(inside: Sequence[Conversation]) -> Scorer:
        return lambda query: np.random.default_rng([seed, int(content_hash(query.id), 16)]).random(len(inside))

    return TranscriptRetriever("random", conversations, fit)


def oracle(conversations: Iterable[Conversation], *, gold: GoldCauses) -> TranscriptRetriever:
    """Exactly the conversations whose gold root cause the query accepts, those about one issue only first."""

    def fit(inside: Sequence[Conversation]) -> Scorer:
        def score(query: Query) -> NDArray[np.float64]:
            accepted, found = set(query.root_cause_ids), [gold.causes.get(c.id, frozenset()) for c in inside]
            return np.array([1 / len(causes) if causes & accepted else np.nan for causes in found])

        return score

    return TranscriptRetriever("oracle", conversations, fit)


def transcript_retrievers(
    conversations: Sequence[Conversation], *, gold: GoldCauses, seed: int, vectors: TextVectors | None = None
) -> dict[str, Retriever]:
    """All baselines by name, in the order of a table."""
    shared = vectors or TextVectors()
    found: tuple[Retriever, ...] = (
        words := bm25(conversations),
        tfidf(conversations),
        minilm(conversations, vectors=shared),
        turns := minilm_turns(conversations, vectors=shared),
        HybridRetriever("hybrid", [words, turns]),
        random_order(conversations, seed=seed),
        oracle(conversations, gold=gold),
    )
    return {retriever.name: retriever for retriever in found}


def by_cause(ranking: Iterable[tuple[str, float]], k: int, gold: GoldCauses) -> list[RankedHit]:
    """The first k hits of a conversation ranking, each one conversation, with repetitions of a cause collapsed.

    Memory answers with k distinct causes; raw transcripts repeat a frequent cause many times. So that they are not
    punished for it, they get the benefit of gold: a conversation whose gold root causes have all been ranked before is
    skipped. This favours the baselines, which could not do it by themselves. A conversation without a gold root cause
    is a hit of its own (and never a right one).

    Parameters
    ----------
    ranking : iterable of (conversation id, score)
        Best first, and deep enough: skipped conversations are replaced by later ones.
    k : int
        The most hits, ≥ 1.
    gold : GoldCauses
        Of the corpus.

    Raises
    ------
    InputError
        If k < 1, or a conversation is not in the corpus.
    """
    if k < 1:
        raise InputError(f"k must be at least 1, not {k}")
    hits: list[RankedHit] = []
    seen: set[str] = set()
    for conversation, score in ranking:
        if len(hits) == k:
            break
        if conversation not in gold.causes:
            raise InputError(f"conversation {conversation!r} is not in the corpus that gold was made of")
        causes = gold.causes[conversation]
        if not causes or causes - seen:
            hits.append(RankedHit((conversation,), score))
            seen |= causes
    return hits


def rank_all(
    retriever: Retriever, queries: Iterable[Query], gold: GoldCauses, *, k: int = 5
) -> Mapping[str, list[RankedHit]]:
    """For every query id, k hits with distinct causes (see `by_cause`): what `evaluate_retrieval` takes."""
    return {q.id: by_cause(retriever.rank(q), k, gold) for q in queries}
