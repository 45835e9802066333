"""Wordings that will be asked for, compared with each other all at once: what `nominate` and the pair model look up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from memlab.curation.decide import Company, likely, logits, shared_counts
from memlab.curation.vectors import DIGITS, lengths, rounded
from memlab.curation.wordings import reading
from memlab.records import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Ahead", "Among"]


@dataclass(frozen=True, slots=True)
class Among:
    """Centred cosines and the pair model's logits of wordings with each other, against one background."""

    mean: NDArray[np.float32] | None
    cosines: list[list[float]]
    logits: list[list[float]]


@dataclass(slots=True)
class Ahead:
    """Wordings of one kind that will be asked for, and may become rows.

    Attributes
    ----------
    kind : Kind
    texts : sequence of str
    places : dict of str to int
        Where each text stands here.
    rows : int
        How many rows the column had.
    vectors, lengths : arrays, shapes (n, dimension) and (n,)
        Whole vectors and their lengths.
    early : array, shape (n, rows)
        Products with the rows that were there.
    inner : array, shape (n, n)
        Products with each other.
    cosines, order : lists, n by n
        Rounded cosines with each other, and for each text the places of all, nearest first.
    row_of : list of int
        Which row a text became, −1 for none.
    late : list of int
        Which text each row since then is, −1 for none of these.
    """

    kind: Kind
    texts: Sequence[str]
    places: dict[str, int]
    rows: int
    vectors: NDArray[np.float32]
    lengths: NDArray[np.float64]
    early: NDArray[np.float32]
    inner: NDArray[np.float32]
    cosines: list[list[float]]
    order: list[list[int]]
    row_of: list[int]
    late: list[int] = field(default_factory=list)
    strangers: int = 0
    _shared: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    _among: Among | None = None

    @classmethod
    def of(cls, kind: Kind, texts: Sequence[str], vectors: NDArray[np.float32], matrix: NDArray[np.float32]) -> Ahead:
        """Multiply whole vectors of texts with the whole rows of a matrix and with each other."""
        norms, inner = lengths(vectors), vectors @ vectors.T
        scores = np.round(inner / (norms * norms[:, None]), DIGITS)
        return cls(
            kind=kind,
            texts=texts,
            places={text: n for n, text in enumerate(texts)},
            rows=len(matrix),
            vectors=vectors,
            lengths=norms,
            early=vectors @ matrix.T if len(matrix) else np.zeros((len(texts), 0), np.float32),
            inner=inner,
            cosines=scores.tolist(),
            order=(-scores).argsort(axis=1).tolist(),
            row_of=[-1] * len(texts),
        )

    def note(self, row: int, text: str) -> None:
        """Take down which text a new row is."""
        place = self.places.get(text, -1)
        self.late.append(place)
        if place < 0:
            self.strangers += 1
        else:
            self.row_of[place] = row

    def take_back(self) -> None:
        """The last row goes again."""
        place = self.late.pop()
        if place < 0:
            self.strangers -= 1
        else:
            self.row_of[place] = -1

    def among(self, mean: NDArray[np.float32] | None) -> Among:
        """Centred cosines (plain ones without a mean) and logits of the texts with each other."""
        if self._among is None or self._among.mean is not mean:
            company: Company = "alone" if mean is None else "among"
            values = np.array(self.cosines) if mean is None else self._centred(mean)
            readings = [reading(text) for text in self.texts]
            if self._shared is None:
                self._shared = shared_counts(readings)
            found = logits(readings, self._shared, values, self.kind, company)
            self._among = Among(mean, self.cosines if mean is None else values.tolist(), found.tolist())
        return self._among

    def likelihoods(
        self, place: int, spans: Sequence[Sequence[int]], mean: NDArray[np.float32] | None
    ) -> list[list[float]]:
        """What `decide.likelihoods` says of a text and others, span by span."""
        among = self.among(mean)
        company: Company = "alone" if mean is None else "among"
        logits, cosines = among.logits[place], among.cosines[place]
        return likely(logits, cosines, spans, self.kind, company)

    def _centred(self, mean: NDArray[np.float32]) -> NDArray[np.float64]:
        # Whole numbers below 2**24, so that each product is exact however it is summed.
        along = np.einsum("ij,j->i", self.vectors, mean).astype(np.float64)
        squares = np.einsum("ij,ij->i", self.vectors, self.vectors, dtype=np.float64)
        square = float(mean @ mean)
        mine, spread = squares - 2 * along + square, np.maximum(squares, 1.0) - 2 * along + square
        above = self.inner - along + (square - along)[:, None]
        return rounded(above / np.sqrt(np.maximum(spread * mine[:, None], 1.0)))
