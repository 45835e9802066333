"""The wordings of one kind in one category: rows that come in order, their vectors, and what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from memlab.curation.ahead import Ahead
from memlab.curation.vectors import DIGITS, lengths, middle, whole
from memlab.curation.wordings import Reading, reading
from memlab.records import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ENOUGH", "MOST_INDEXED", "Background", "Column", "Vectors"]

Vectors = Callable[[Sequence[str]], "NDArray[np.float32]"]
MOST_INDEXED = 8  # wordings of one entry that are compared by meaning: its first ones
ENOUGH = 32  # rows from which on their mean says what all wordings of the category have in common


@dataclass(slots=True)
class Background:
    """The mean of a column's first rows, and for each row its product with it and its squared distance from it."""

    rows: int
    mean: NDArray[np.float32]
    square: float = 0.0
    along: list[float] = field(default_factory=list)
    spread: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.square = float(self.mean @ self.mean)

    def extend(self, matrix: NDArray[np.float32], norms: NDArray[np.float64], filled: int) -> None:
        """Take in rows that were filled since."""
        start = len(self.along)
        if start == filled:
            return
        # Whole numbers below 2**24, so that each product is exact however it is summed.
        new = np.einsum("ij,j->i", matrix[start:filled], self.mean).tolist()
        squares = np.rint(norms[start:filled] ** 2).tolist()
        self.along += new
        self.spread += [s - 2 * a + self.square for s, a in zip(squares, new, strict=True)]

    def cosines(self, rows: Sequence[int], dots: Sequence[float], own: float, square: float) -> list[float]:
        """Cosines of rows with a vector after the mean is taken from both.

        Given are the vector's products with the rows, with the mean (`own`) and with itself (`square`).
        """
        mine = square - 2 * own + self.square
        along, spread, shift = self.along, self.spread, self.square - own
        return [
            round((dot - along[row] + shift) / sqrt(max(spread[row] * mine, 1.0)), DIGITS)
            for row, dot in zip(rows, dots, strict=True)
        ]


@dataclass(slots=True)
class Column:
    """The wordings of one kind: rows in the order in which they came, and ways to find them."""

    by_key: dict[str, tuple[str, str]] = field(default_factory=dict)  # key -> (entry, conversation that brought it)
    texts: list[str] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)  # the conversations that brought the rows
    rows: dict[str, list[int]] = field(default_factory=dict)
    words: dict[str, dict[str, int]] = field(default_factory=dict)  # stem -> in how many rows of which entries
    matrix: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    lengths: NDArray[np.float64] = field(default_factory=lambda: np.ones(0))
    filled: int = 0  # rows of the matrix that hold a vector
    ahead: Ahead | None = None
    step: int = 0
    background: Background | None = None

    def append(self, text: str, entry: str, conversation: str) -> None:
        """Add a wording of an entry as a row, unless the entry has many."""
        mine = self.rows.get(entry)
        if mine is None:
            mine = self.rows[entry] = []
        elif len(mine) >= MOST_INDEXED:
            return
        row, read = len(self.texts), reading(text)
        mine.append(row)
        self.texts.append(text)
        self.entries.append(entry)
        self.readings.append(read)
        self.owners.append(conversation)
        for word in read.content:
            entries = self.words.get(word)
            if entries is None:
                self.words[word] = {entry: 1}
            else:
                entries[entry] = entries.get(entry, 0) + 1
        if self.ahead is not None:
            self.ahead.note(row, text)

    def pop(self) -> None:
        """Take the last row away."""
        entry, row = self.entries.pop(), len(self.texts) - 1
        self.texts.pop()
        self.owners.pop()
        for word in self.readings.pop().content:
            self.words[word][entry] -= 1
            if not self.words[word][entry]:
                del self.words[word][entry]
            if not self.words[word]:
                del self.words[word]
        self.rows[entry].pop()
        if not self.rows[entry]:
            del self.rows[entry]
        if self.ahead is not None and row < self.ahead.rows:
            self.ahead = None
        elif self.ahead is not None:
            self.ahead.take_back()
        self.filled = min(self.filled, row)
        if self.background is not None and self.filled < self.background.rows:
            self.background = None  # one of the rows that it is the mean of
        elif self.background is not None:
            del self.background.along[self.filled :], self.background.spread[self.filled :]

    def common(self, vectors: Vectors) -> Background | None:
        """What the first 32, 64, 128 … rows (as many as there are) have in common; it depends on the rows alone."""
        count = len(self.texts)
        rows = 1 << (count.bit_length() - 1) if count >= ENOUGH else 0
        if not rows:
            return None
        if self.background is None or self.background.rows != rows:
            self.fill(vectors)
            self.background = Background(rows, middle(self.matrix[:rows]))
        return self.background

    def look_ahead(self, kind: Kind, texts: Sequence[str], vectors: Vectors) -> None:
        """Multiply the vectors of texts that will be asked for, all at once."""
        self.fill(vectors)
        self.ahead = Ahead.of(kind, texts, whole(vectors(texts)), self.matrix[: self.filled]) if texts else None

    def fill(self, vectors: Vectors) -> None:
        """Give rows that have no vector yet theirs: those known from looking ahead, or all others in one go."""
        start, end, ahead = self.filled, len(self.texts), self.ahead
        if start == end:
            return
        if ahead is not None and start >= ahead.rows and not ahead.strangers:
            places = ahead.late[start - ahead.rows : end - ahead.rows]
            new, norms = ahead.vectors[places], ahead.lengths[places]
        else:
            new = whole(vectors(self.texts[start:]))
            norms = lengths(new)
        if end > len(self.matrix):
            self._grow(max(64, 2 * end), new.shape[1])
        self.matrix[start:end], self.lengths[start:end], self.filled = new, norms, end

    def _grow(self, size: int, dimension: int) -> None:
        matrix, norms = np.zeros((size, dimension), np.float32), np.ones(size)
        if self.filled:
            matrix[: self.filled], norms[: self.filled] = self.matrix[: self.filled], self.lengths[: self.filled]
        self.matrix, self.lengths = matrix, norms
