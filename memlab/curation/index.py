"""What the curator may look at: entries by exact key, and the few nearest by meaning and by rare words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from memlab.curation.guards import Reading, content_words, reading
from memlab.curation.keys import normal_key
from memlab.curation.vectors import DIGITS, lengths, middle, whole
from memlab.operations import Operation
from memlab.records import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BY_WORDS", "Candidate", "EntryIndex", "NEAREST", "Vectors"]

Vectors = Callable[[Sequence[str]], "NDArray[np.float32]"]
NEAREST = 8  # candidates that a curator is shown
BY_WORDS = 2  # of them, at most so many that share rare words but are not among the nearest
RARE = 4  # a word that stands in more entries than this says nothing about which one is meant
MOST_INDEXED = 8  # wordings of one entry that are compared by meaning: its first ones
MANY_ROWS = 256
STEPS = (0.75, 0.6, 0.45, 0.3, 0.0, -2.0)  # cosines above which candidates are looked for, until there are enough
AHEAD = 1 << 22  # numbers in one block of products computed ahead
ENOUGH = 32  # rows from which on their mean says what all wordings of the category have in common


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that may be meant: its id, its wordings (nearest first) and their cosines to the proposal.

    Attributes
    ----------
    centred : tuple of float
        The cosines after what the whole category has in common is taken out; empty while it has few wordings.
    readings : tuple of Reading
        The wordings as guards and pair model read them; without them they are read again.
    """

    entry: str
    wordings: tuple[str, ...]
    cosines: tuple[float, ...]
    centred: tuple[float, ...] = ()
    readings: tuple[Reading, ...] = field(default=(), repr=False, compare=False)


@dataclass(slots=True)
class _Background:
    """The mean of a column's first rows, and for each row its product with it and its squared distance from it."""

    rows: int
    mean: NDArray[np.float32]
    along: list[float] = field(default_factory=list)
    spread: list[float] = field(default_factory=list)
    square: float = 0.0

    def extend(self, matrix: NDArray[np.float32], norms: NDArray[np.float64], filled: int) -> None:
        start = len(self.along)
        if start == filled:
            return
        if not start:
            self.square = float(self.mean @ self.mean)
        # Whole numbers below 2**24, so that each product is exact however it is summed.
        new = np.einsum("ij,j->i", matrix[start:filled], self.mean).tolist()
        self.along += new
        squares = np.rint(norms[start:filled] ** 2).tolist()
        self.spread += [s - 2 * a + self.square for s, a in zip(squares, new, strict=True)]

    def cosines(self, rows: Sequence[int], dots: Sequence[float], vector: NDArray[np.float32]) -> list[float]:
        """Cosines of rows with a vector, given their products, after the mean is taken from both."""
        own = float(vector @ self.mean)
        mine = float(vector @ vector) - 2 * own + self.square
        along, spread, shift = self.along, self.spread, self.square - own
        return [
            round((dot - along[row] + shift) / sqrt(max(spread[row] * mine, 1.0)), DIGITS)
            for row, dot in zip(rows, dots, strict=True)
        ]


@dataclass(slots=True)
class _Column:
    """The wordings of one kind: rows in the order in which they came, and ways to find them."""

    by_key: dict[str, tuple[str, str]] = field(default_factory=dict)  # key -> (entry, conversation that brought it)
    texts: list[str] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)  # the conversations that brought the rows
    rows: dict[str, list[int]] = field(default_factory=dict)
    words: dict[str, Counter[str]] = field(default_factory=dict)  # stem -> in how many rows of which entries
    matrix: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    lengths: NDArray[np.float64] = field(default_factory=lambda: np.ones(0))
    filled: int = 0  # rows of the matrix that hold a vector
    ahead: dict[str, tuple[NDArray[np.float32], float, NDArray[np.float32]]] = field(default_factory=dict)
    ahead_rows: int = 0
    step: int = 0
    background: _Background | None = None

    def append(self, text: str, entry: str, conversation: str) -> None:
        if len(self.rows.setdefault(entry, [])) >= MOST_INDEXED:
            return
        row = len(self.texts)
        self.rows[entry].append(row)
        self.texts.append(text)
        self.entries.append(entry)
        self.readings.append(reading(text))
        self.owners.append(conversation)
        for word in self.readings[-1].content:
            self.words.setdefault(word, Counter())[entry] += 1

    def pop(self) -> None:
        """Take the last row away."""
        entry = self.entries.pop()
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
        self.filled = min(self.filled, len(self.texts))
        if self.ahead_rows > self.filled:
            self.ahead, self.ahead_rows = {}, 0
        if self.background is not None and self.filled < self.background.rows:
            self.background = None  # one of the rows that it is the mean of
        elif self.background is not None:
            del self.background.along[self.filled :], self.background.spread[self.filled :]

    def common(self) -> _Background | None:
        """What the first 32, 64, 128 … rows (as many as there are) have in common; it depends on the rows alone."""
        rows = 1 << (self.filled.bit_length() - 1) if self.filled >= ENOUGH else 0
        if not rows:
            return None
        if self.background is None or self.background.rows != rows:
            self.background = _Background(rows, middle(self.matrix[:rows]))
        self.background.extend(self.matrix, self.lengths, self.filled)
        return self.background

    def fill(self, vectors: Vectors) -> None:
        """Give rows that have no vector yet theirs: those known from looking ahead, or all others in one go."""
        texts = self.texts[self.filled :]
        if not texts:
            return
        known = [self.ahead[t] for t in texts if t in self.ahead]
        seen = len(known) == len(texts)
        new = np.array([k[0] for k in known]) if seen else whole(vectors(texts))
        if len(self.texts) > len(self.matrix):
            size = max(64, 2 * len(self.texts))
            matrix, norms = np.zeros((size, new.shape[1]), np.float32), np.ones(size)
            if self.filled:
                matrix[: self.filled], norms[: self.filled] = self.matrix[: self.filled], self.lengths[: self.filled]
            self.matrix, self.lengths = matrix, norms
        self.matrix[self.filled : len(self.texts)] = new
        self.lengths[self.filled : len(self.texts)] = [k[1] for k in known] if seen else lengths(new)
        self.filled = len(self.texts)


class EntryIndex:
    """The wordings of one category's entries, a column a kind, growing with each operation.

    Parameters
    ----------
    vectors : callable
        Gives the unit vectors of texts, shape (len(texts), dimension).
    """

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._all: dict[Kind, _Column] = {"symptom": _Column(), "cause": _Column(), "solution": _Column()}
        self._waiting: list[tuple[Kind, str, str, str, bool]] = []

    def apply(self, operation: Operation) -> None:
        """Take in the wording of an applied operation, also of one that keeps an entry out."""
        op = operation
        if op.changes_graph or op.kept_out:
            self._waiting.append((op.kind, op.text, op.entry, op.conversation, op.stated))

    def _column(self, kind: Kind) -> _Column:
        """A column with all wordings in it; a graph that is only read never pays for this."""
        for of, text, entry, conversation, stated in self._waiting:
            column, key = self._all[of], normal_key(text)
            if key not in column.by_key:
                column.by_key[key] = (entry, conversation)
                if stated:  # a placeholder has no words of its own
                    column.append(text, entry, conversation)
        self._waiting.clear()
        return self._all[kind]

    def retract(self, operations: Iterable[Operation]) -> None:
        """Take the wordings out again that the last conversations brought, given all of their operations."""
        found = list(operations)
        gone = {op.conversation for op in found}
        for op in found:
            column, key = self._column(op.kind), normal_key(op.text)
            if key in column.by_key and column.by_key[key][1] in gone:
                del column.by_key[key]
        for column in self._all.values():
            while column.owners and column.owners[-1] in gone:
                column.pop()

    def exact(self, kind: Kind, text: str) -> str | None:
        """The entry that has this wording (by normalised key), if any."""
        found = self._column(kind).by_key.get(normal_key(text))
        return found[0] if found else None

    def look_ahead(self, texts: Mapping[Kind, Sequence[str]]) -> None:
        """Multiply the vectors of wordings that will be asked for with the rows so far, all at once.

        It changes nothing but the time that `nominate` takes.
        """
        for kind, wanted in texts.items():
            column = self._column(kind)
            column.ahead, column.ahead_rows = {}, 0
            new = list(dict.fromkeys(t for t in wanted if normal_key(t) not in column.by_key))
            if new:
                column.fill(self._vectors)
                column.ahead_rows, vectors = column.filled, whole(self._vectors(new))
                dots = vectors @ column.matrix[: column.filled].T if column.filled else np.zeros((len(new), 0))
                rows = zip(new, vectors, lengths(vectors).tolist(), dots, strict=True)
                column.ahead = {text: (vector, length, products) for text, vector, length, products in rows}

    def block(self) -> int:
        """How many wordings of a kind one `look_ahead` should take, so that the products fit into memory."""
        return max(16, AHEAD // max(256, *(len(self._column(kind).texts) for kind in self._all)))

    def nominate(self, kind: Kind, text: str, *, k: int = NEAREST) -> list[Candidate]:
        """At most k entries of the column: the nearest by cosine of their nearest wording, a few by rare words.

        They come nearest first (ties by id), each with its wordings nearest first.
        """
        column = self._column(kind)
        if not column.texts:
            return []
        vector, dots, scores = self._cosines(column, text)
        chosen = _nearest(column, scores, k)
        also = _by_words(column, text, chosen)
        return _candidates(column, [*chosen[: k - len(also)], *also], scores, dots, vector)

    def background(self, kind: Kind) -> NDArray[np.float32] | None:
        """What the wordings of a column have in common, as a whole vector; None while there are few of them."""
        column = self._column(kind)
        column.fill(self._vectors)
        found = column.common()
        return found.mean if found else None

    def _cosines(
        self, column: _Column, text: str
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float64]]:
        column.fill(self._vectors)
        known = column.ahead.get(text)
        if known is None:
            vector = whole(self._vectors([text]))[0]
            length, dots = lengths(vector[None])[0], column.matrix[: column.filled] @ vector
        else:
            vector, length, early = known
            # Few rows: a BLAS would wake its threads for them, which costs more than the sum.
            late = np.einsum("ij,j->i", column.matrix[column.ahead_rows : column.filled], vector)
            dots = np.concatenate([early, late])
        scores: NDArray[np.float64] = dots / (column.lengths[: column.filled] * length)
        return vector, dots, scores


def _nearest(column: _Column, scores: NDArray[np.float64], k: int) -> list[str]:
    """The k entries with the highest score of a row, rounded, best first (ties by id)."""
    for step in range(column.step, len(STEPS)):
        least = STEPS[step]
        # Scores that round to the same digits are equal: none of them may be cut off.
        rows = (scores >= least - 10.0**-DIGITS).nonzero()[0]
        if len(rows) < k and least > STEPS[-1]:
            continue
        found = scores[rows]
        order = (-found).argsort()
        best: dict[str, float] = {}
        for row, score in zip(rows[order].tolist(), found[order].round(DIGITS).tolist(), strict=True):
            if len(best) >= k and score < min(best.values()):
                break
            best.setdefault(column.entries[row], score)
        if sum(s >= least for s in best.values()) >= k or least == STEPS[-1]:
            column.step = max(0, step - (len(rows) > MANY_ROWS))  # where to begin with the next text: only a guess
            break
    return [e for _, e in sorted((-s, e) for e, s in best.items())[:k]]


def _by_words(column: _Column, text: str, known: Sequence[str]) -> list[str]:
    """Other entries that share most rare words with a text, at least two or one with a digit (ties by id)."""
    shared: dict[str, int] = {}
    for word in content_words(text):
        entries = column.words.get(word)
        if entries and len(entries) <= RARE:
            worth = 3 if any(c.isdigit() for c in word) else 1
            for entry in entries:
                shared[entry] = shared.get(entry, 0) + worth
    found = sorted((-n, e) for e, n in shared.items() if n >= 2 and e not in known)
    return [e for _, e in found[:BY_WORDS]]


def _candidates(
    column: _Column,
    entries: Sequence[str],
    scores: NDArray[np.float64],
    dots: NDArray[np.float32],
    vector: NDArray[np.float32],
) -> list[Candidate]:
    """The entries with their wordings and cosines, both nearest first (ties by id, by text)."""
    rows = [row for entry in entries for row in column.rows[entry]]
    values, products, start = (-scores[rows].round(DIGITS)).tolist(), dots[rows].tolist(), 0
    background, texts, readings = column.common(), column.texts, column.readings
    among = background.cosines(rows, products, vector) if background else [0.0] * len(rows)
    found: list[tuple[float, str, list[tuple[float, str, int, float]]]] = []
    for entry in entries:
        end = start + len(column.rows[entry])
        part = rows[start:end]
        mine = list(zip(values[start:end], [texts[row] for row in part], part, among[start:end], strict=True))
        if len(mine) > 1:
            mine.sort()
        found.append((mine[0][0], entry, mine))
        start = end
    found.sort(key=lambda item: item[:2])
    return [
        Candidate(
            entry,
            tuple([w[1] for w in wordings]),
            tuple([-w[0] for w in wordings]),
            tuple([w[3] for w in wordings]) if background else (),
            tuple([readings[w[2]] for w in wordings]),
        )
        for _, entry, wordings in found
    ]
