"""What the curator may look at: entries by exact key, and the few nearest by meaning and by rare words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from memlab.curation.guards import Reading, content_words, reading
from memlab.curation.keys import normal_key
from memlab.curation.vectors import DIGITS, lengths, whole
from memlab.operations import Operation
from memlab.records import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BY_WORDS", "Candidate", "EntryIndex", "NEAREST", "Vectors"]

Vectors = Callable[[Sequence[str]], "NDArray[np.float32]"]
NEAREST = 8  # candidates that a curator is shown
BY_WORDS = 2  # of them, at most so many that share rare words but are not among the nearest
RARE = 4  # a word that stands in more entries than this says nothing about which one is meant
MOST_INDEXED = 16  # wordings of one entry that are compared by meaning: its first ones
MANY_ROWS = 256
STEPS = (0.75, 0.6, 0.45, 0.3, 0.0, -2.0)  # cosines above which candidates are looked for, until there are enough
AHEAD = 1 << 22  # numbers in one block of products computed ahead


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that may be meant: its id, its wordings (nearest first) and their cosines to the proposal.

    `readings` are the wordings as guards and pair model read them; without them they are read again.
    """

    entry: str
    wordings: tuple[str, ...]
    cosines: tuple[float, ...]
    readings: tuple[Reading, ...] = field(default=(), repr=False, compare=False)


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
        scores = self._cosines(column, text)
        chosen = _nearest(column, scores, k)
        also = _by_words(column, text, chosen)
        return _candidates(column, [*chosen[: k - len(also)], *also], scores)

    def _cosines(self, column: _Column, text: str) -> NDArray[np.float64]:
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
        return scores


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


def _candidates(column: _Column, entries: Sequence[str], scores: NDArray[np.float64]) -> list[Candidate]:
    """The entries with their wordings and cosines, both nearest first (ties by id, by text)."""
    rows = [row for entry in entries for row in column.rows[entry]]
    values, start, found = (-scores[rows].round(DIGITS)).tolist(), 0, []
    for entry in entries:
        end = start + len(column.rows[entry])
        texts = [column.texts[row] for row in rows[start:end]]
        found.append((entry, sorted(zip(values[start:end], texts, rows[start:end], strict=True))))
        start = end
    found.sort(key=lambda item: (item[1][0][0], item[0]))
    return [
        Candidate(
            entry,
            tuple([text for _, text, _ in wordings]),
            tuple([-value for value, _, _ in wordings]),
            tuple([column.readings[row] for _, _, row in wordings]),
        )
        for entry, wordings in found
    ]
