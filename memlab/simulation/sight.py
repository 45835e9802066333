"""How alike two texts are, for a reader without a model: sentence vectors and shared stems, each text encoded once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from memlab.curation.guards import stems
from memlab.models.embeddings import Encoder, default_encoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Sight"]

SHARED = 0.3  # what shared stems add to the cosine at most


class Sight:
    """Likeness of texts, in about [0, 1.3]; vectors are kept, so that every text is encoded once a process."""

    def __init__(
        self, encoder: Encoder | None = None, *, vectors: Mapping[str, NDArray[np.float32]] | None = None
    ) -> None:
        self._encoder = encoder
        self._vectors: dict[str, NDArray[np.float32]] = dict(vectors or {})
        self._stems: dict[str, frozenset[str]] = {}
        self._pairs: dict[tuple[str, int], NDArray[np.float32]] = {}
        self._targets: dict[tuple[str, ...], int] = {}

    @property
    def vectors(self) -> Mapping[str, NDArray[np.float32]]:
        """Every text that was encoded, for another `Sight` to start with."""
        return self._vectors

    def learn(self, texts: Iterable[str]) -> None:
        """Encode texts that are not known yet, in one batch."""
        fresh = sorted({t for t in texts if t not in self._vectors})
        if fresh:
            vectors = (self._encoder or default_encoder()).encode(fresh)
            self._vectors |= dict(zip(fresh, np.round(vectors, 4).astype(np.float32), strict=True))

    def alike(self, text: str, targets: tuple[str, ...]) -> NDArray[np.float32]:
        """One likeness a target: the cosine, and up to 0.3 for stems in common."""
        number = self._targets.setdefault(targets, len(self._targets))
        key = (text, number)
        if key not in self._pairs:
            self.learn((text, *targets))
            matrix = self._matrix(targets)
            shared = np.array([self._shared(text, t) for t in targets], np.float32)
            self._pairs[key] = np.round(matrix @ self._vectors[text] + SHARED * shared, 3).astype(np.float32)
        return self._pairs[key]

    def _matrix(self, targets: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._vectors[t] for t in targets])

    def _shared(self, a: str, b: str) -> float:
        one, two = self._stem(a), self._stem(b)
        return len(one & two) / math.sqrt(len(one) * len(two)) if one and two else 0.0

    def _stem(self, text: str) -> frozenset[str]:
        if text not in self._stems:
            self._stems[text] = frozenset(stems(text))
        return self._stems[text]
