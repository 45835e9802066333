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
        self._empty = not any(corpus)
        self._bm25 = None if self._empty else load_bm25s().BM25(method="lucene", k1=1.2, b=0.75)
        if self._bm25 is not None:
            self._bm25.index([list(text) for text in corpus], show_progress=False)

    def mass(self, stems: Sequence[str]) -> NDArray[np.float64]:
        """One score a text, ≥ 0: it grows with each shared stem by what that stem says, whatever else was asked."""
        known = [] if self._bm25 is None else [s for s in stems if s in self._bm25.vocab_dict]
        if self._bm25 is None or not known:
            return np.zeros(self._count)
        return np.asarray(self._bm25.get_scores(known), np.float64)

    def share(self, stems: Sequence[str]) -> NDArray[np.float64]:
        """One score a text, in [0, 1]: the mass over the most that so many stems could give."""
        return self.mass(stems) / (max(1, len(stems)) * math.log(1 + max(1, self._count)))
