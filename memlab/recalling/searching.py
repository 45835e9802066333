"""Episodes on demand: the past cases that are most like a user's words, with the passage that says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from memlab.bank import Bank
from memlab.corpus.languages import in_english
from memlab.curation.guards import stem, stems
from memlab.curation.keys import words
from memlab.curation.vectors import rounded
from memlab.episodes import Episode, episodes_of
from memlab.errors import InputError
from memlab.extraction.triage import own_words
from memlab.models.embeddings import Encoder, default_encoder
from memlab.recalling.index import CategoryIndex, index_of
from memlab.records import Conversation, parse_time

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FIELDS", "EpisodeHit", "search_episodes"]

AROUND = 160  # characters of a snippet


@dataclass(frozen=True, slots=True)
class EpisodeHit:
    """A past case that is like a query.

    Attributes
    ----------
    episode : Episode
        The record.
    score : float
        How alike, in [0, 1]: half meaning of what the user first said, half words.
    snippet : str
        The passage of the conversation that shares most with the query, on one line.
    turn : int
        Where it stands, counted from 0.
    """

    episode: Episode
    score: float
    snippet: str
    turn: int


def search_episodes(
    bank: Bank,
    query: str,
    *,
    category: str | None = None,
    k: int = 3,
    at: datetime | str | None = None,
    fields: Mapping[str, str] | None = None,
    encoder: Encoder | None = None,
) -> list[EpisodeHit]:
    """The k past cases that are most like a user's words, best first.

    Parameters
    ----------
    bank, query, category, at, encoder
        As for `recall`.
    k : int
        The most episodes to return.
    fields : mapping, optional
        Keep only episodes that match all of them, for example ``{"code": "809", "device": "thinkpad"}``; see `FIELDS`.

    Raises
    ------
    InputError
        If the query is blank or a field is unknown.
    """
    if not query.strip():
        raise InputError("the query is blank")
    wanted = dict(fields or {})
    unknown = sorted(set(wanted) - set(FIELDS))
    if unknown:
        raise InputError(f"unknown field {unknown[0]!r}; known: {', '.join(FIELDS)}")
    english = in_english(query)
    vector = (encoder or default_encoder()).encode([english])[0]
    moment, asked = parse_time(at) if at is not None else bank.newest(), stems(english)
    found: list[tuple[float, Episode, Conversation]] = []
    for name in [category] if category is not None else bank.categories():
        index = index_of(bank, name)
        scores, kept = _scores(index, vector, asked), 0
        for n in np.argsort(-scores, kind="stable"):
            c, score = index.conversations[n], float(scores[n])
            if kept >= k:
                break
            if moment is None or c.started_at <= moment:
                rows = [e for e in episodes_of(c, bank.proposals(c.id)) if e.category == name and _matches(e, wanted)]
                found += [(score, e, c) for e in rows]
                kept += len(rows)
    found.sort(key=lambda item: (-item[0], item[1].conversation, item[1].case))
    return [EpisodeHit(e, score, *_snippet(c, frozenset(asked))) for score, e, c in found[:k]]


def _scores(index: CategoryIndex, vector: NDArray[np.float32], asked: Sequence[str]) -> NDArray[np.float64]:
    """How alike each conversation is to a query, half by its opening and half by its words; 4 digits."""
    near = np.zeros(len(index.conversations))
    opened = [(n, place) for n, place in enumerate(index.openings) if place is not None]
    if opened:
        rows, places = np.array(opened, np.int64).T
        near[rows] = index.near(vector).at(places)
    return rounded(0.5 * near + 0.5 * index.transcripts.share(asked))


def _names(value: str, *texts: str) -> bool:
    """Whether the words of a value stand, in this order, in one of the texts."""
    wanted = words(value)
    found = [words(text) for text in texts]
    return bool(wanted) and any(w[n : n + len(wanted)] == wanted for w in found for n in range(len(w)))


def _code(episode: Episode, value: str) -> bool:
    return bool(words(value)) and set(words(value)) <= set(episode.identifiers)


def _environment(episode: Episode, value: str) -> bool:
    return _names(value, *(t for m in episode.environment for t in (m.text, m.quote)))


def _device(episode: Episode, value: str) -> bool:
    return _environment(episode, value) or _names(value, *(t for m in episode.symptoms for t in (m.text, m.quote)))


FIELDS: Mapping[str, Callable[[Episode, str], bool]] = {
    "code": _code,
    "version": _code,
    "identifier": _code,
    "device": _device,
    "environment": _environment,
    "requester": lambda e, v: e.requester == v,
    "resolution": lambda e, v: e.resolution == v,
    "day": lambda e, v: e.day.startswith(v),
}
"""What an episode can be filtered by. Codes and versions must match exactly, a device by whole words in the order given,
a day by its beginning ("2026-03")."""


def _matches(episode: Episode, fields: Mapping[str, str]) -> bool:
    return all(FIELDS[name](episode, value) for name, value in fields.items())


def _snippet(conversation: Conversation, asked: frozenset[str]) -> tuple[str, int]:
    """The turn that shares most stems with a query (the first of equals), cut around the first shared word."""
    texts = [" ".join(own_words(t.text).split()) for t in conversation.turns]
    best = max(range(len(texts)), key=lambda n: (len(asked & set(stems(in_english(texts[n])))), -n), default=0)
    text = texts[best] if texts else ""
    if len(text) <= AROUND:
        return text, best
    first = next((text.find(w) for w in text.split() if stem(w.casefold().strip(".,;:!?()\"'")) in asked), 0)
    start = max(0, min(first - AROUND // 3, len(text) - AROUND))
    start = text.rfind(" ", 0, start) + 1 if start else 0
    end = text.rfind(" ", start, start + AROUND) if start + AROUND < len(text) else len(text)
    return f"{'… ' if start else ''}{text[start:end]}{' …' if end < len(text) else ''}", best
