"""Recall: given a user's words, the root causes of this customer that fit best, each with why, and what fixed them.

Each cause is seen through several views: wordings of its symptoms, what users first said in its conversations, its own
and its solutions' wordings, and the words of its transcripts. A small model, learned from training queries, weighs
meaning, words and evidence; below a threshold memory says nothing.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from memlab import ranking
from memlab.bank import Bank
from memlab.bank.store import text_hash
from memlab.curation.guards import identifiers, stems
from memlab.episodes import Episode, episodes_of
from memlab.errors import InputError, MemlabError, RecallError
from memlab.extraction.triage import opening, own_words
from memlab.graph import SkillGraph
from memlab.models.embeddings import Encoder, default_encoder
from memlab.ranking import VIEWS, probabilities
from memlab.records import Conversation, parse_time
from memlab.rendering import CauseCard, SolutionCard, cause_cards

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Hit", "RecallIndex", "index_of", "recall", "search_episodes"]


@dataclass(frozen=True, slots=True)
class Hit:
    """A root cause that fits a query.

    Attributes
    ----------
    root_cause : str
        Its title.
    score : float
        Probability that it is the right one, in [0, 1], as the ranking model sees it.
    weight : float
        Its weight in the graph at the moment asked for.
    conversations : tuple of str
        Those that support it, sorted.
    last_seen : str
        Day of the newest of them.
    reason : str
        What matched, in words.
    solutions : tuple of SolutionCard
        What helped, heaviest first.
    failed : tuple of (str, int)
        What did not, and how often.
    """

    root_cause: str
    score: float
    weight: float
    conversations: tuple[str, ...]
    last_seen: str
    reason: str
    solutions: tuple[SolutionCard, ...]
    failed: tuple[tuple[str, int], ...]
    category: str

    def to_json(self) -> dict[str, Any]:
        """As `memlab recall --json` prints it."""
        return {
            "root_cause": self.root_cause,
            "score": self.score,
            "weight": round(self.weight, 4),
            "category": self.category,
            "conversations": list(self.conversations),
            "last_seen": self.last_seen,
            "reason": self.reason,
            "solutions": [
                {
                    "text": s.text,
                    "kind": s.kind,
                    "weight": round(s.weight, 4),
                    "worked": s.worked,
                    "failed": s.failed,
                    "conversations": list(s.conversations),
                }
                for s in self.solutions
            ],
            "did_not_help": [{"text": t, "times": n} for t, n in self.failed],
        }


def recall(
    bank: Bank,
    query: str,
    *,
    category: str | None = None,
    k: int = 3,
    at: datetime | str | None = None,
    encoder: Encoder | None = None,
    least: float | None = None,
) -> list[Hit]:
    """The k root causes of this customer that fit a user's words best; empty if none fits.

    Parameters
    ----------
    bank : Bank
        Whose memory.
    query : str
        What a user says.
    category : str, optional
        Search this category only; by default all.
    k : int
        The most causes to return, ≥ 1.
    at : datetime or ISO text with offset, optional
        The moment to look at memory from; by default the bank's newest conversation.
    encoder : Encoder, optional
        By default all-MiniLM-L6-v2.
    least : float, optional
        Hits of a lower score are left out; by default the threshold chosen on training queries.

    Raises
    ------
    InputError
        If the query is blank or k < 1.
    RecallError
        If memory could not be searched; an empty list always means that nothing fits.
    """
    if not query.strip():
        raise InputError("the query is blank")
    if k < 1:
        raise InputError(f"k must be at least 1, not {k}")
    try:
        vector = (encoder or default_encoder()).encode([query])[0]
        names = [category] if category is not None else bank.categories()
        found = [c for name in names for c in _candidates(bank, name, query, vector, at)]
    except RecallError:
        raise
    except (MemlabError, OSError, ValueError, RuntimeError) as error:
        raise RecallError(f"memory could not be searched: {error}") from error
    if not found:
        return []
    scores = probabilities(np.array([[views[v] for v in VIEWS] for _, views, _, _ in found]))
    threshold = ranking.least() if least is None else least
    hits = [_hit(*c, score=float(s)) for c, s in zip(found, scores, strict=True) if s >= threshold]
    return sorted(hits, key=lambda h: (-h.score, -h.weight, h.root_cause, h.conversations))[:k]


def search_episodes(
    bank: Bank,
    query: str,
    *,
    category: str | None = None,
    k: int = 3,
    at: datetime | str | None = None,
    fields: Mapping[str, str] | None = None,
    encoder: Encoder | None = None,
) -> list[tuple[Episode, float]]:
    """The k past cases that are most like a user's words, with scores in [0, 1], best first.

    Parameters
    ----------
    bank, query, category, at, encoder
        As for `recall`.
    k : int
        The most episodes to return.
    fields : mapping, optional
        Keep only episodes that match, for example ``{"identifier": "809", "environment": "thinkpad"}``; known fields:
        identifier, environment, requester, resolution.

    Raises
    ------
    InputError
        If the query is blank or a field is unknown.
    """
    if not query.strip():
        raise InputError("the query is blank")
    vector = (encoder or default_encoder()).encode([query])[0]
    moment = parse_time(at) if at is not None else bank.newest()
    found: list[tuple[Episode, float]] = []
    for name in [category] if category is not None else bank.categories():
        index = index_of(bank, name)
        scores = 0.5 * (index.openings @ vector) + 0.5 * index.transcripts.scores(query) if index.conversations else []
        for c, score in zip(index.conversations, scores, strict=True):
            if moment is None or c.started_at <= moment:
                rows = [
                    e for e in episodes_of(c, bank.proposals(c.id)) if e.category == name and _matches(e, fields or {})
                ]
                found += [(e, round(float(score), 4)) for e in rows]
    found.sort(key=lambda pair: (-pair[1], pair[0].conversation, pair[0].case))
    return found[:k]


def _matches(episode: Episode, fields: Mapping[str, str]) -> bool:
    tests: dict[str, Callable[[str], bool]] = {
        "identifier": lambda v: v.casefold() in episode.identifiers,
        "environment": lambda v: any(v.casefold() in m.text.casefold() for m in episode.environment),
        "requester": lambda v: episode.requester == v,
        "resolution": lambda v: episode.resolution == v,
    }
    unknown = sorted(set(fields) - set(tests))
    if unknown:
        raise InputError(f"unknown field {unknown[0]!r}; known: {', '.join(tests)}")
    return all(tests[name](value) for name, value in fields.items())


def _candidates(
    bank: Bank, category: str, query: str, vector: NDArray[np.float32], at: datetime | str | None
) -> list[tuple[CauseCard, dict[str, float], str, str]]:
    """Every cause of a category with its views, its nearest wording, and the category."""
    graph, index = bank.graph(category, at=at), index_of(bank, category)
    features = index.features(graph, query, vector)
    return [(card, features[card.id], index.nearest(graph, card.id, vector), category) for card in cause_cards(graph)]


def _hit(card: CauseCard, views: Mapping[str, float], nearest: str, category: str, score: float) -> Hit:
    return Hit(
        root_cause=card.text,
        score=score,
        weight=card.weight,
        conversations=card.conversations,
        last_seen=card.last,
        reason=_reason(views, nearest, card.last),
        solutions=card.solutions,
        failed=card.failed,
        category=category,
    )


def _reason(values: Mapping[str, float], nearest: str, last: str) -> str:
    names = {"symptom": "symptom", "opening": "what users said", "cause": "cause", "solution": "fix", "words": "words"}
    parts = [f"{label} {values[f]:.2f}" for f, label in names.items() if values[f] > 0]
    if values["identifier"] > 0:
        parts.insert(0, "same code or version")
    return f"like “{nearest}” ({', '.join(parts)}), last seen {last}"


class RecallIndex:
    """The views of one category: vectors of wordings and openings, words of transcripts and turns."""

    def __init__(self, bank: Bank, category: str) -> None:
        sql = """SELECT DISTINCT c.id, c.body FROM conversations c JOIN proposals p ON p.conversation = c.id
                 WHERE p.category = ? ORDER BY c.moment, c.id"""
        self.conversations = [Conversation.from_json(json.loads(b)) for _, b in bank.rows(sql, category)]
        self.row = {c.id: n for n, c in enumerate(self.conversations)}
        self.vectors: dict[str, NDArray[np.float32]] = {}
        stored = bank.rows(
            """SELECT DISTINCT t.text, v.vector FROM texts t JOIN vectors v USING (text)
               JOIN proposals p ON p.conversation = t.conversation WHERE p.category = ?""",
            category,
        )
        for name, blob in stored:
            self.vectors[name] = np.frombuffer(blob, np.float16).astype(np.float32)
        # An empty transcript (only low value) has no vector; zero is similar to nothing.
        blank = np.zeros(len(next(iter(self.vectors.values()), ())), np.float32)
        openings = [text_hash(opening(c) or c.turns[0].text) for c in self.conversations]
        self.openings = np.array([self.vectors.get(o, blank) for o in openings]).reshape(len(openings), len(blank))
        said = [[stems(own_words(t.text)) for t in c.turns if t.role != "tool"] for c in self.conversations]
        self.transcripts = Words([[s for turn in turns for s in turn] for turns in said])
        self.turn_rows = np.array([n for n, turns in enumerate(said) for _ in turns], np.int64)
        self.turns = Words([turn for turns in said for turn in turns])

    def features(self, graph: SkillGraph, query: str, vector: NDArray[np.float32]) -> dict[str, dict[str, float]]:
        """For every cause of a view, how well each of its views fits the query; rounded to 4 digits."""
        opened = self.openings @ vector if len(self.openings) else np.zeros(0)
        said = self.transcripts.scores(query)
        by_turn = np.zeros(len(self.conversations))
        np.maximum.at(by_turn, self.turn_rows, self.turns.scores(query))
        codes, out = identifiers(query), {}
        wordings = {e.id: [w for w, _, q in e.wordings.values() if q] for e in graph.entries.values()}
        meaning = {
            e: [float(self.vectors[text_hash(w)] @ vector) for w in sorted(set(ws))] for e, ws in wordings.items()
        }
        symptoms, solutions = _neighbours(graph)
        for cause in graph.entries.values():
            if cause.kind != "cause":
                continue
            rows = [self.row[c] for c in sorted(cause.evidence) if c in self.row]
            near = sorted((float(opened[r]) for r in rows), reverse=True)
            texts = [w for e in (cause.id, *symptoms[cause.id], *solutions[cause.id]) for w in wordings[e]]
            values = {
                "symptom": max((m for e in symptoms[cause.id] for m in meaning[e]), default=0.0),
                "opening": near[0] if near else 0.0,
                "opening_mean": sum(near[:3]) / max(1, len(near[:3])),
                "cause": max(meaning[cause.id], default=0.0),
                "solution": max((m for e in solutions[cause.id] for m in meaning[e]), default=0.0),
                "words": max((float(said[r]) for r in rows), default=0.0),
                "turn_words": max((float(by_turn[r]) for r in rows), default=0.0),
                "identifier": float(any(codes & identifiers(t) for t in texts)) if codes else 0.0,
                "weight": graph.weight(cause.id),
            }
            out[cause.id] = {name: round(value, 4) for name, value in values.items()}
        return out

    def nearest(self, graph: SkillGraph, cause: str, vector: NDArray[np.float32]) -> str:
        """The wording of a cause's symptoms (or its own) that is closest to the query."""
        entries = [graph.entries[a] for a, b in graph.edges if b == cause] or [graph.entries[cause]]
        found = [(w, e.title) for e in entries for w, _, q in e.wordings.values() if q]
        if not found:
            return graph.entries[cause].title
        return min(found, key=lambda w: (-round(float(self.vectors[text_hash(w[0])] @ vector), 4), w))[0]


def _neighbours(graph: SkillGraph) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    symptoms: dict[str, list[str]] = {e.id: [] for e in graph.entries.values()}
    solutions: dict[str, list[str]] = {e.id: [] for e in graph.entries.values()}
    for (a, b), votes in sorted(graph.edges.items()):
        if graph.entries[a].kind == "symptom":
            symptoms[b].append(a)
        elif any(v.verification != "failed" for v in votes.values()):
            solutions[a].append(b)
    return symptoms, solutions


def load_bm25s() -> Any:
    """The package bm25s; what its progress bars say about missing notebook widgets on import is not ours to show."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import bm25s
    return bm25s


class Words:
    """BM25 over stems (Lucene's variant, k1 1.2, b 0.75), each score divided by the query's best possible one."""

    def __init__(self, corpus: Sequence[Sequence[str]]) -> None:
        bm25s = load_bm25s()
        self._count = len(corpus)
        self._bm25 = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        self._empty = not any(corpus)
        if not self._empty:
            self._bm25.index([list(text) for text in corpus], show_progress=False)

    def scores(self, query: str) -> NDArray[np.float64]:
        """One score a text, in [0, 1]: 1 for the best text if it holds all that the query's known words can give."""
        known = [] if self._empty else [s for s in stems(query) if s in self._bm25.vocab_dict]
        if not known:
            return np.zeros(self._count)
        scores = np.asarray(self._bm25.get_scores(known), np.float64)
        return scores / (len(stems(query)) * math.log(1 + self._count))


_indexes: WeakKeyDictionary[Bank, dict[str, tuple[int, RecallIndex]]] = WeakKeyDictionary()


def index_of(bank: Bank, category: str) -> RecallIndex:
    """The views of a category, made once for each revision of the bank."""
    cached, revision = _indexes.setdefault(bank, {}), bank.revision
    if category not in cached or cached[category][0] != revision:
        cached[category] = (revision, RecallIndex(bank, category))
    return cached[category][1]
