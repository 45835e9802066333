"""What the public benchmarks share: two word baselines, rank metrics, and a memory that is told what each case says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from memlab import ranking
from memlab.bank import Bank
from memlab.evaluation.intervals import bootstrap_rate
from memlab.evaluation.statistics import paired_difference
from memlab.learning import learn
from memlab.models.embeddings import Encoder
from memlab.recalling import load_bm25s, recall, search_episodes
from memlab.records import Conversation, Proposal

SEED = 20260930
DEPTH = 20  # hits of memlab that are looked at


def report(result: Mapping[str, object], output: Path | None) -> None:
    """Print a benchmark's result as JSON, and write it to a file if one is named."""
    text = json.dumps(result, indent=1, ensure_ascii=False)
    print(text)
    if output:
        output.write_text(text + "\n", "utf-8")


def rows_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def tokens(text: str) -> list[str]:
    return re.findall(r"[a-z0-9_]+", text.lower())


def bm25_scores(texts: Sequence[str], queries: Sequence[str]) -> np.ndarray:
    """Lucene's BM25, k1 1.2, b 0.75, no stemming; shape (queries, texts)."""
    index = load_bm25s().BM25(method="lucene", k1=1.2, b=0.75)
    index.index([tokens(t) for t in texts], show_progress=False)
    out = np.zeros((len(queries), len(texts)))
    for n, query in enumerate(queries):
        known = [w for w in tokens(query) if w in index.vocab_dict]
        if known:
            out[n] = index.get_scores(known)
    return out


def tfidf_scores(texts: Sequence[str], queries: Sequence[str]) -> np.ndarray:
    """Cosine of TF-IDF vectors (1 + log tf), no stemming; shape (queries, texts)."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer=tokens, sublinear_tf=True)
    matrix = vectorizer.fit_transform(texts)
    return (vectorizer.transform(queries) @ matrix.T).toarray()


def ranks(scores: np.ndarray, right: Sequence[int]) -> np.ndarray:
    """The place (from 1) of the right text of each query; ties go to the text that stands first."""
    order = np.argsort(-np.round(scores, 6), axis=1, kind="stable")
    return np.array([int(np.flatnonzero(row == r)[0]) + 1 for row, r in zip(order, right, strict=True)])


def metrics(places: np.ndarray) -> dict[str, float]:
    """hit@1 with its interval, hit@5 and MRR; a place of 0 says that the right one was not found."""
    found = places > 0
    reciprocal = np.where(found, 1 / np.maximum(places, 1), 0.0)
    interval = bootstrap_rate({str(n): (float(p == 1), 1.0) for n, p in enumerate(places)}, seed=SEED)
    return {
        "hit@1": round(interval.estimate, 3),
        "low": round(interval.low, 3),
        "high": round(interval.high, 3),
        "hit@5": round(float((found & (places <= 5)).mean()), 3),
        "mrr": round(float(reciprocal.mean()), 3),
        "n": len(places),
    }


def difference(baseline: np.ndarray, ours: np.ndarray, clusters: Sequence[str]) -> str:
    """hit@1 of ours minus that of the baseline, paired by query."""
    a, b = ({str(n): float(p == 1) for n, p in enumerate(places)} for places in (baseline, ours))
    return str(paired_difference(a, b, seed=SEED, clusters={str(n): c for n, c in enumerate(clusters)}))


class Told:
    """An extractor for cases whose structure is known: it repeats the proposal that it was given for each."""

    name = "told-1"

    def __init__(self, proposals: Mapping[str, Proposal]) -> None:
        self._proposals = proposals

    def extract(self, conversation: Conversation) -> list[Proposal]:
        return [replace(self._proposals[conversation.id], conversation=conversation.id)]


def memory_of(home: Path, customer: str, cases: Iterable[tuple[Conversation, Proposal]], encoder: Encoder) -> Bank:
    """A bank that has learned these cases."""
    pairs = list(cases)
    bank = Bank.open(home, customer)
    learn(bank, [c for c, _ in pairs], extractor=Told({c.id: p for c, p in pairs}), encoder=encoder)
    return bank


def recall_places(
    bank: Bank,
    queries: Sequence[str],
    right: Sequence[Callable[[str], bool]],
    encoder: Encoder,
    *,
    category: str,
    share: float = 0.5,
) -> tuple[np.ndarray, int]:
    """The place of the first right hit, and how often memory is silent.

    Right is a hit if at least this share of its conversations is, and one. What stands behind the first `DEPTH` hits
    counts as not found; silence is that of the shipped threshold.
    """
    places, silent = [], 0
    for query, is_right in zip(queries, right, strict=True):
        hits = recall(bank, query, category=category, k=DEPTH, least=0.0, encoder=encoder)
        good = [sum(map(is_right, h.conversations)) >= max(1, share * len(h.conversations)) for h in hits]
        places.append(good.index(True) + 1 if any(good) else 0)
        silent += not hits or hits[0].score < ranking.least()
    return np.array(places), silent


def episode_places(
    bank: Bank, queries: Sequence[str], right: Sequence[Callable[[str], bool]], encoder: Encoder, *, category: str
) -> np.ndarray:
    """The place of the first right conversation among the past cases that are most like each query."""
    places = []
    for query, is_right in zip(queries, right, strict=True):
        hits = search_episodes(bank, query, category=category, k=DEPTH, encoder=encoder)
        good = [is_right(h.episode.conversation) for h in hits]
        places.append(good.index(True) + 1 if any(good) else 0)
    return np.array(places)
