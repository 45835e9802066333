"""How well a ranking answers a user's words: recall, MRR, nDCG and abstention, beside what chance would give.

A hit stands for a root cause and names the conversations behind it. It is right if at least half of them have, by
their gold labels, one of the root causes that the query accepts. Queries for one cause resemble each other, so
intervals are over causes, not queries.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from memlab.curation.guards import content_words
from memlab.errors import InputError
from memlab.evaluation.intervals import bootstrap_rate, reliability
from memlab.evaluation.queries import GoldCauses, HitLike, Hits, Query, RankedHit, gold_causes, read_queries

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "GoldCauses",
    "Query",
    "RankedHit",
    "evaluate_retrieval",
    "expected_at_random",
    "gold_causes",
    "query_values",
    "read_queries",
    "retrieval_scores",
    "score_ranking",
    "word_overlap",
]

DEPTH = 5
CUTS = (1, 3, 5)
METRICS = ("recall@1", "recall@3", "recall@5", "mrr", "ndcg@5", "answered", "abstention")
"""`answered`: an answerable query got hits; `abstention`: one without an answer got none."""

_BINS = ((0.0, "0"), (0.25, "0–0.25"), (0.5, "0.25–0.5"), (1.0, "0.5–1"))
_SCORE_COLUMNS = ("metric", "value", "low", "high", "n", "clusters", "random", "saturated", "note")


def score_ranking(query: Query, hits: Hits, gold: GoldCauses) -> dict[str, float]:
    """The metrics of one query's ranking; those that do not apply to it are left out.

    recall@k is 1 if a right cause is among the first k hits. MRR is 1 over the rank of the first right hit among the
    first 5, so that longer lists have no advantage. In nDCG@5 each accepted cause that memory holds gains once, at its
    first right hit.

    Raises
    ------
    InputError
        If a hit names a conversation that is not in the corpus.

    References
    ----------
    Voorhees (1999), The TREC-8 Question Answering Track Report (MRR).
    Järvelin & Kekäläinen (2002), Cumulated Gain-Based Evaluation, doi:10.1145/582415.582418 (nDCG).
    """
    covered = [_covers(query, _conversations(hit), gold) for hit in hits]
    if not query.root_cause_ids:
        return {"abstention": float(not covered)}
    reachable = gold.bank(query) & set(query.root_cause_ids)
    if not reachable:
        return {}
    first = next((n for n, causes in enumerate(covered[:DEPTH], 1) if causes), None)
    return {
        **{f"recall@{k}": float(any(covered[:k])) for k in CUTS},
        "mrr": 1 / first if first else 0.0,
        "ndcg@5": _dcg(_gains(covered)) / _dcg([True] * len(reachable)),
        "answered": float(bool(covered)),
    }


def _conversations(hit: HitLike | Mapping[str, Any]) -> Sequence[str]:
    found: Sequence[str] = hit["conversations"] if isinstance(hit, Mapping) else hit.conversations
    return found


def _covers(query: Query, conversations: Sequence[str], gold: GoldCauses) -> list[str]:
    """The accepted causes that a right hit stands for, those of most conversations first; none if it is wrong."""
    unknown = sorted(set(conversations) - gold.causes.keys())
    if unknown:
        raise InputError(
            f"query {query.id}: hit names {unknown[0]!r}, which is not in the corpus that gold was made of"
        )
    accepted = [gold.causes[c] & set(query.root_cause_ids) for c in sorted(set(conversations))]
    if 2 * sum(map(bool, accepted)) < len(accepted):
        return []
    counts = Counter(cause for causes in accepted for cause in causes)
    return sorted(counts, key=lambda cause: (-counts[cause], cause))


def _gains(covered: Sequence[Sequence[str]]) -> list[bool]:
    """Whether each hit brings an accepted cause that no hit before it was counted for; a hit counts for one cause."""
    counted: list[str] = []
    gains = []
    for causes in covered:
        fresh = [cause for cause in causes if cause not in counted][:1]
        counted += fresh
        gains.append(bool(fresh))
    return gains


def _dcg(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(n + 2) for n, gain in enumerate(gains[:DEPTH]))


def expected_at_random(size: int, right: int) -> dict[str, float]:
    """What a random order of `size` distinct causes, `right` of them accepted, scores on average; exact, no seed.

    >>> expected_at_random(4, 1)["recall@3"], expected_at_random(4, 1)["mrr"]  # (1 + 1/2 + 1/3 + 1/4) / 4
    (0.75, 0.5208333333333334)
    """
    if not 0 < right <= size:
        raise InputError(f"right causes must be between 1 and {size}, not {right}")
    ways = math.comb(size, right)
    return {
        **{f"recall@{k}": 1 - math.comb(max(0, size - k), right) / ways for k in CUTS},
        "mrr": math.fsum(math.comb(size - n, right - 1) / ways / n for n in range(1, min(DEPTH, size) + 1)),
        "ndcg@5": right / size * _dcg([1.0] * size) / _dcg([1.0] * right),
        "answered": 1.0,
    }


def word_overlap(query: str, texts: Iterable[str]) -> float:
    """The share of a query's content words that occur in any of the texts, in [0, 1]; 0 for a query without any.

    >>> word_overlap("no sound in Teams", ["Teams call is silent"])
    0.5
    """
    asked = content_words(query)
    known = frozenset[str]().union(*(content_words(t) for t in texts))
    return len(asked & known) / len(asked) if asked else 0.0


def evaluate_retrieval(
    queries: Iterable[Query],
    rankings: Mapping[str, Hits],
    gold: GoldCauses,
    *,
    symptoms: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """One row a query: what was asked, every metric that applies, and what chance would give.

    Parameters
    ----------
    queries : iterable of Query
        What was asked.
    rankings : mapping of query id to hits, best first
        An empty list says that memory has nothing; a missing one is an error. A hit is an object or mapping with
        `conversations`.
    gold : GoldCauses
        Of all conversations that the memory has learned from.
    symptoms : mapping of symptom id to gold text, optional
        For the measured word overlap, see `labels.symptom_texts`.

    Returns
    -------
    DataFrame
        query, text, customer, category, hard_negative, overlap (a bin), kind ("answerable", "no answer", or
        "unreachable" where no learned conversation has an accepted cause: in no score), cluster, causes (size of that
        memory), hits, the columns of `METRICS`, and `random <metric>`; NaN where a metric does not apply.

    Raises
    ------
    InputError
        If a query has no ranking, or a hit names an unknown conversation.
    """
    import pandas as pd

    queries = list(queries)
    missing = [q.id for q in queries if q.id not in rankings]
    if missing:
        raise InputError(f"no ranking for {len(missing)} queries ({missing[0]}, …); give an empty list for no hits")
    rows = [_query_row(q, rankings[q.id], gold, symptoms or {}) for q in queries]
    columns = ["query", "text", "customer", "category", "hard_negative", "overlap", "kind", "cluster", "causes", "hits"]
    frame = pd.DataFrame(rows, columns=[*columns, *METRICS, *(f"random {m}" for m in METRICS)])
    return frame.astype(dict.fromkeys([c for c in frame.columns if c not in columns], "float64"))


def _query_row(query: Query, hits: Hits, gold: GoldCauses, symptoms: Mapping[str, str]) -> dict[str, Any]:
    metrics, bank = score_ranking(query, hits, gold), gold.bank(query)
    reachable = bank & set(query.root_cause_ids)
    chance = expected_at_random(len(bank), len(reachable)) if reachable else {}
    kind = "answerable" if reachable else "unreachable" if query.root_cause_ids else "no answer"
    return {
        "query": query.id,
        "text": query.query,
        "customer": query.customer,
        "category": query.category,
        "hard_negative": query.hard_negative,
        "overlap": _overlap_bin(query, symptoms),
        "kind": kind,
        "cluster": min(query.root_cause_ids, default=query.id),
        "causes": len(bank),
        "hits": len(hits),
        **metrics,
        **{f"random {name}": value for name, value in chance.items()},
        **({"random abstention": 0.0} if kind == "no answer" else {}),
    }


def _overlap_bin(query: Query, symptoms: Mapping[str, str]) -> str:
    texts = [symptoms[s] for s in query.symptom_ids if s in symptoms]
    if not texts:
        return "unknown"
    value = word_overlap(query.query, texts)
    return next(name for top, name in _BINS if value <= top)


def retrieval_scores(
    frame: pd.DataFrame,
    *,
    seed: int,
    by: Literal["category", "customer", "hard_negative", "overlap"] | None = None,
    n: int = 2000,
    level: float = 0.95,
) -> pd.DataFrame:
    """One row a (group and) metric of a frame of `evaluate_retrieval`, with its interval and what chance would give.

    Columns: `by` if given, metric, value, low, high, n (queries), clusters (causes), random (a random order of that
    memory's causes), saturated (queries whose memory holds no more causes than the metric's k, where any full list
    is right), note.

    Raises
    ------
    InputError
        If `by` is unknown.
    """
    import pandas as pd

    groups = ("category", "customer", "hard_negative", "overlap")
    if by is None:
        return pd.DataFrame(_metric_rows(frame, seed=seed, n=n, level=level), columns=list(_SCORE_COLUMNS))
    if by not in groups:
        raise InputError(f"scores go by {', '.join(groups)}, not by {by!r}")
    order = {name: place for place, (_, name) in enumerate(_BINS)}
    names = sorted(frame[by].dropna().unique(), key=lambda name: (order.get(name, 9), str(name)))
    rows = [
        {by: name, **row}
        for name in names
        for row in _metric_rows(frame[frame[by] == name], seed=seed, n=n, level=level)
    ]
    return pd.DataFrame(rows, columns=[by, *_SCORE_COLUMNS])


def _metric_rows(frame: pd.DataFrame, *, seed: int, n: int, level: float) -> list[dict[str, Any]]:
    rows = []
    for metric in METRICS:
        part = frame[frame[metric].notna()]
        totals: dict[str, tuple[float, float]] = {}
        for cluster, value in zip(part["cluster"], part[metric], strict=True):
            top, bottom = totals.get(cluster, (0.0, 0.0))
            totals[cluster] = (top + value, bottom + 1)
        found = bootstrap_rate(totals, seed=seed, n=n, level=level)
        cut = int(metric.rpartition("@")[2]) if "@" in metric else DEPTH if metric == "mrr" else 0
        rows.append(
            {
                "metric": metric,
                "value": found.estimate,
                "low": found.low,
                "high": found.high,
                "n": len(part),
                "clusters": found.n,
                "random": float(part[f"random {metric}"].mean()) if len(part) else math.nan,
                "saturated": int((part["causes"] <= cut).sum()) if cut else 0,
                "note": reliability(found, null=None),
            }
        )
    return rows


def query_values(frame: pd.DataFrame, metric: str) -> tuple[dict[str, float], dict[str, str]]:
    """A metric's value by query id, and each query's cluster: what `paired_difference` asks for.

    Raises
    ------
    InputError
        If the metric is unknown.
    """
    if metric not in METRICS:
        raise InputError(f"unknown metric {metric!r}; known: {', '.join(METRICS)}")
    part = frame[frame[metric].notna()]
    values = {str(q): float(v) for q, v in zip(part["query"], part[metric], strict=True)}
    return values, {str(q): str(c) for q, c in zip(part["query"], part["cluster"], strict=True)}
