"""Searching memories by meaning: cosines of sentence vectors, ranked the same on every machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from memlab.agent.records import Memory
from memlab.curation.guards import conflict
from memlab.errors import InputError, MemlabError, RecallError
from memlab.models.embeddings import Encoder, default_encoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Vectors", "check_search", "likeness", "nearest"]


def check_search(query: str, k: int) -> None:
    """Refuse a search that can't mean anything.

    Raises
    ------
    InputError
        If the query is blank or k < 1.
    """
    if not query.strip():
        raise InputError("the query is blank")
    if k < 1:
        raise InputError(f"k must be at least 1, not {k}")


def nearest(
    memories: Sequence[Memory], vectors: Mapping[str, NDArray[np.float32]], query: NDArray[np.float32], k: int
) -> list[tuple[Memory, float]]:
    """The k memories whose vectors (by id) are closest to the query's, best first, ties by id.

    Similarities are cosines in [0, 1], rounded to 4 digits before ranking.
    """
    scored = [(m, round(min(1.0, max(0.0, float(vectors[m.id] @ query))), 4)) for m in memories]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0].id))[:k]


class Vectors:
    """Sentence vectors of texts, kept for a customer as long as the customer's memories hold these texts.

    Parameters
    ----------
    encoder : Encoder, optional
        By default all-MiniLM-L6-v2, loaded at the first search.
    """

    def __init__(self, encoder: Encoder | None = None) -> None:
        self._encoder = encoder
        self._kept: dict[str, dict[str, NDArray[np.float32]]] = {}
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """A unit vector a text.

        Raises
        ------
        RecallError
            If the encoder fails.
        """
        try:
            return list((self._encoder or default_encoder()).encode(list(texts)))
        except (MemlabError, OSError, RuntimeError, ValueError) as error:
            raise RecallError(f"memory could not be searched: {error}") from error

    def of(self, customer: str, memories: Sequence[Memory]) -> dict[str, NDArray[np.float32]]:
        """The vectors of a customer's memories by id; what none of them says any more is dropped."""
        with self._lock:
            kept = self._kept.get(customer, {})
        texts = sorted({m.search_text for m in memories})
        new = [t for t in texts if t not in kept]
        kept = {**kept, **dict(zip(new, self.encode(new), strict=True))} if new else kept
        with self._lock:
            self._kept[customer] = {t: kept[t] for t in texts}
        return {m.id: kept[m.search_text] for m in memories}

    def drop(self, customer: str) -> None:
        """Keep nothing of a customer."""
        with self._lock:
            self._kept.pop(customer, None)


def likeness(encoder: Encoder) -> Callable[[str, str], float]:
    """A measure of how alike two wordings are: their cosine, 1 for the same words, -1 where a guard keeps them apart."""

    def like(a: str, b: str) -> float:
        if a.casefold().split() == b.casefold().split():
            return 1.0
        if conflict(a, b):
            return -1.0
        left, right = encoder.encode([a, b])
        return round(float(left @ right), 4)

    return like
