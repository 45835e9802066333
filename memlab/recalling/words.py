"""Word evidence: BM25 over stems, as a mass that adds up with every rare word that is shared."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Words", "load_bm25s"]


def load_bm25s() -> Any:
    """The package bm25s; what its progress bars say about missing notebook widgets on import is not ours to show."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import bm25s
    return bm25s


_NOWHERE = (np.zeros(0, np.int32), np.zeros(0, np.float32))


class Words:
    """BM25 (Lucene's variant, k1 1.2, b 0.75) over texts given as stems.

    Parameters
    ----------
    corpus : sequence of sequences of str
        The stems of each text, in order.

    References
    ----------
    Robertson & Zaragoza (2009), The Probabilistic Relevance Framework, doi:10.1561/1500000019.
    Lù (2024), BM25S, arXiv:2407.03618 (implementation).
    """

    def __init__(self, corpus: Sequence[Sequence[str]]) -> None:
        self._count = len(corpus)
        self._tokens: dict[str, int] = {}
        if any(corpus):
            bm25 = load_bm25s().BM25(method="lucene", k1=1.2, b=0.75)
            bm25.index([list(text) for text in corpus], show_progress=False)
            self._texts, self._values, self._starts = (bm25.scores[name] for name in ("indices", "data", "indptr"))
            self._tokens = {stem: n for stem, n in bm25.vocab_dict.items() if n + 1 < len(self._starts)}

    def mass(self, stems: Sequence[str]) -> NDArray[np.float64]:
        """One score a text, ≥ 0: it grows with each shared stem by what that stem says, whatever else was asked."""
        out = np.zeros(self._count, np.float32)
        for stem in stems:
            texts, values = self._holders(stem)
            out[texts] += values  # a text holds a stem once
        return out.astype(np.float64)

    def share(self, stems: Sequence[str]) -> NDArray[np.float64]:
        """One score a text, in [0, 1]: the mass over the most that so many stems could give."""
        return self.mass(stems) / (max(1, len(stems)) * math.log(1 + max(1, self._count)))

    def rarity(self, stems: Sequence[str]) -> NDArray[np.float64]:
        """What each stem tells: log((texts + 1) / (texts that hold it + 1)), ≥ 0; shape (len(stems),)."""
        holders = np.array([len(self._holders(stem)[0]) for stem in stems], np.float64)
        return np.log((self._count + 1) / (holders + 1))

    def known(self, stems: Sequence[str], worth: NDArray[np.float64]) -> NDArray[np.float64]:
        """The share of what these stems are worth that each text holds, in [0, 1]; 0 where all are worth nothing."""
        out = np.zeros(self._count)
        for stem, value in zip(stems, worth.tolist(), strict=True):
            out[self._holders(stem)[0]] += value
        return out / max(float(worth.sum()), 1e-9)

    def _holders(self, stem: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The texts that hold a stem, each once, and what it scores there."""
        token = self._tokens.get(stem)
        if token is None:
            return _NOWHERE
        part = slice(self._starts[token], self._starts[token + 1])
        return self._texts[part], self._values[part]
