"""Recall: given a user's words, the root causes of this customer that fit best, each with why, and what fixed them.

Each cause is seen through several views: wordings of its symptoms, what users first said in its conversations, its own
and its solutions' wordings, and the words of its transcripts. A small model, learned from training queries, weighs
meaning, words and evidence; below a threshold memory says nothing, and another error code is never an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab import ranking
from memlab.bank import Bank
from memlab.corpus.languages import in_english
from memlab.errors import InputError, MemlabError, RecallError
from memlab.models.embeddings import Encoder, default_encoder
from memlab.ranking import VIEWS, probabilities
from memlab.recalling.index import CauseIndex, cause_index, index_of
from memlab.recalling.searching import EpisodeHit, search_episodes
from memlab.recalling.words import load_bm25s
from memlab.rendering import CauseCard, SolutionCard

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EpisodeHit", "Hit", "cause_index", "index_of", "load_bm25s", "recall", "search_episodes"]


@dataclass(frozen=True, slots=True)
class Hit:
    """A root cause that fits a query.

    Attributes
    ----------
    root_cause : str
        Its title.
    score : float
        Probability that it is a right answer, in [0, 1], as the ranking model sees it.
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
    category : str
        Where it was found.
    id : str
        The entry's.
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
    id: str = ""

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
    exact: bool = True,
    must: Sequence[str] = (),
) -> list[Hit]:
    """The k root causes of this customer that fit a user's words best; empty if none fits.

    Parameters
    ----------
    bank : Bank
        Whose memory.
    query : str
        What a user says, in English, German or French.
    category : str, optional
        Search this category only; by default all.
    k : int
        The most causes to return, ≥ 1.
    at : datetime or ISO text with offset, optional
        The moment to look at memory from; by default the bank's newest conversation.
    encoder : Encoder, optional
        By default all-MiniLM-L6-v2.
    least : float, optional
        Hits of a lower score are left out; by default the threshold chosen on development queries.
    exact : bool
        Leave out causes that name another error code than the query, and none of its products; see
        `memlab.recalling.exact`.
    must : sequence of str
        Words that must occur, letter for letter, in the conversations behind a cause, for example an error code.

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
        english = in_english(query)
        vector = (encoder or default_encoder()).encode([english])[0]
        names = [category] if category is not None else bank.categories()
        indexes = [cause_index(bank, name, at) for name in names]
        found = _rated(
            indexes, query, english, vector, k, ranking.least() if least is None else least, exact=exact, must=must
        )
    except RecallError:
        raise
    except (MemlabError, OSError, ValueError, RuntimeError) as error:
        raise RecallError(f"memory could not be searched: {error}") from error
    return [r.hit(english, vector) for r in found]


@dataclass(frozen=True, slots=True)
class _Rated:
    """A candidate: which cause of which index, its views and its score."""

    index: CauseIndex
    place: int
    views: NDArray[np.float64]
    score: float

    def order(self) -> tuple[float, float, str, str]:
        index, n = self.index, self.place
        return -self.score, -index.weights[n], index.titles[n], index.causes[n].id

    def hit(self, query: str, vector: NDArray[np.float32]) -> Hit:
        card = self.index.card(self.place)
        return Hit(
            root_cause=card.text,
            score=self.score,
            weight=card.weight,
            conversations=card.conversations,
            last_seen=card.last,
            reason=self._reason(card, query, vector),
            solutions=card.solutions,
            failed=card.failed,
            category=self.index.graph.category,
            id=card.id,
        )

    def _reason(self, card: CauseCard, query: str, vector: NDArray[np.float32]) -> str:
        values = dict(zip(VIEWS, self.views.tolist(), strict=True))
        names = {"symptom": "symptom", "opening": "what users said", "cause": "cause", "solution": "fix"}
        parts = [f"{label} {values[view]:.2f}" for view, label in names.items() if values[view] > 0]
        if values["identifier"] > 0:
            parts.insert(0, "same code or version")
        if shared := self.index.shared(self.place, query):
            parts.append(f"words: {' '.join(shared[:8])}")
        return f"like “{self.index.nearest(self.place, vector)}” ({', '.join(parts)}), last seen {card.last}"


def _rated(
    indexes: Sequence[CauseIndex],
    query: str,
    english: str,
    vector: NDArray[np.float32],
    k: int,
    least: float,
    *,
    exact: bool,
    must: Sequence[str],
) -> list[_Rated]:
    """The k best of all causes that may answer and score enough, each with its score among all that may."""
    places = [np.flatnonzero(index.allowed(query, exact=exact, must=must)) for index in indexes]
    if not sum(map(len, places)):
        return []
    views = np.concatenate([i.views(english, vector)[p] for i, p in zip(indexes, places, strict=True)])
    owners, place = np.repeat(np.arange(len(indexes)), [len(p) for p in places]), np.concatenate(places)
    scores = probabilities(views)
    kept = np.flatnonzero(scores >= least)
    if len(kept) > k:
        kept = kept[scores[kept] >= np.partition(scores[kept], -k)[-k]]
    found = [_Rated(indexes[owners[n]], int(place[n]), views[n], float(scores[n])) for n in kept]
    return sorted(found, key=_Rated.order)[:k]
