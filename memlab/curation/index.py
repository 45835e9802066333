"""What the curator may look at: entries by exact key, and the few nearest by meaning and by rare words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, overload

import numpy as np

from memlab.curation.ahead import Ahead, Among
from memlab.curation.columns import ENOUGH, MOST_INDEXED, Column, Vectors
from memlab.curation.keys import normal_key
from memlab.curation.vectors import DIGITS, lengths, whole
from memlab.curation.wordings import Reading, reading
from memlab.operations import Operation
from memlab.records import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BY_WORDS", "ENOUGH", "MOST_INDEXED", "NEAREST", "Candidate", "EntryIndex", "Nominated", "Vectors"]

NEAREST = 8  # candidates that a curator is shown
BY_WORDS = 2  # of them, at most so many that share rare words but are not among the nearest
RARE = 4  # a word that stands in more entries than this says nothing about which one is meant
MANY_ROWS = 256
STEPS = (0.75, 0.6, 0.45, 0.3, 0.0, -2.0)  # cosines above which candidates are looked for, until there are enough
AHEAD = 1 << 22  # numbers in one block of products computed ahead


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


class EntryIndex:
    """The wordings of one category's entries, a column a kind, growing with each operation.

    Parameters
    ----------
    vectors : callable
        Gives the unit vectors of texts, shape (len(texts), dimension).
    """

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._all: dict[Kind, Column] = {"symptom": Column(), "cause": Column(), "solution": Column()}
        self._waiting: list[tuple[Kind, str, str, str, bool]] = []

    def apply(self, operation: Operation) -> None:
        """Take in the wording of an applied operation, also of one that keeps an entry out."""
        op = operation
        if op.changes_graph or op.kept_out:
            self._waiting.append((op.kind, op.text, op.entry, op.conversation, op.stated))

    def _column(self, kind: Kind) -> Column:
        """A column with all wordings in it; a graph that is only read never pays for this."""
        if not self._waiting:
            return self._all[kind]
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
            new = list(dict.fromkeys(t for t in wanted if normal_key(t) not in column.by_key))
            column.look_ahead(kind, new, self._vectors)

    def block(self) -> int:
        """How many wordings of a kind one `look_ahead` should take, so that the products fit into memory."""
        return max(16, AHEAD // max(256, *(len(self._column(kind).texts) for kind in self._all)))

    def nominate(self, kind: Kind, text: str, *, k: int = NEAREST) -> Nominated:
        """At most k entries of the column: the nearest by cosine of their nearest wording, a few by rare words.

        They come nearest first (ties by id), each with its wordings nearest first.
        """
        column = self._column(kind)
        if not column.texts:
            return Nominated(column, [], None)
        found = _Products(column, text, self._vectors)
        chosen = found.nearest(k)
        also = _by_words(column, text, chosen)
        return Nominated(column, [*chosen[: k - len(also)], *also], found)

    def background(self, kind: Kind) -> NDArray[np.float32] | None:
        """What the wordings of a column have in common, as a whole vector; None while there are few of them."""
        found = self._column(kind).common(self._vectors)
        return found.mean if found else None


class _Products:
    """One text's cosines with the rows of a column, looked up or computed where somebody needs them."""

    __slots__ = ("_among", "_dots", "_scores", "_vectors", "column", "place", "text")

    def __init__(self, column: Column, text: str, vectors: Vectors) -> None:
        self.column, self.text, self._vectors = column, text, vectors
        ahead = column.ahead
        known = ahead is not None and not ahead.strangers
        self.place = ahead.places.get(text, -1) if known and ahead else -1
        self._dots: NDArray[np.float32] | None = None
        self._scores: NDArray[np.float64] | None = None
        self._among: Among | None = None

    def nearest(self, k: int) -> list[str]:
        """The k entries with the highest score of a row, rounded, best first (ties by id)."""
        column, ahead = self.column, self.column.ahead
        if self.place < 0 or ahead is None:
            best = _nearest(column, self._all(), k)
        else:
            best = _nearest(column, self._early(ahead), k) if ahead.rows else {}
            for entry, score in _late(column.entries, ahead, self.place, k).items():
                best[entry] = max(score, best.get(entry, -2.0))
        return [e for _, e in sorted([(-s, e) for e, s in best.items()])[:k]]

    def _all(self) -> NDArray[np.float64]:
        """Cosines with all rows."""
        if self._scores is None:
            column = self.column
            column.fill(self._vectors)
            vector = whole(self._vectors([self.text]))[0]
            # Few rows: a BLAS would wake its threads for them, which costs more than the sum.
            few, matrix = column.filled <= ENOUGH, column.matrix[: column.filled]
            self._dots = np.einsum("ij,j->i", matrix, vector) if few else matrix @ vector
            self._scores = self._dots / (column.lengths[: column.filled] * lengths(vector[None])[0])
        return self._scores

    def _early(self, ahead: Ahead) -> NDArray[np.float64]:
        """Cosines with the rows that were there when it was looked ahead."""
        if self._scores is None:
            self._dots = ahead.early[self.place]
            self._scores = self._dots / (self.column.lengths[: ahead.rows] * ahead.lengths[self.place])
        return self._scores

    def cosines(self, rows: Sequence[int]) -> list[float]:
        """Rounded cosines with some rows."""
        ahead = self.column.ahead
        if self.place < 0 or ahead is None:
            found: list[float] = self._all()[rows].round(DIGITS).tolist()
            return found
        known, start, late = ahead.cosines[self.place], ahead.rows, ahead.late
        if not start:
            return [known[late[row]] for row in rows]
        early = [row for row in rows if row < start]
        values = iter(self._early(ahead)[early].round(DIGITS).tolist() if early else ())
        return [next(values) if row < start else known[late[row - start]] for row in rows]

    def among(self, rows: Sequence[int]) -> list[float]:
        """Rounded cosines with some rows after the background is taken out; none while there are few rows."""
        column, ahead = self.column, self.column.ahead
        background = column.common(self._vectors)
        if background is None:
            return []
        if self.place >= 0 and ahead is not None and all(row >= ahead.rows for row in rows):
            known = ahead.among(background.mean).cosines[self.place]
            return [known[ahead.late[row - ahead.rows]] for row in rows]
        column.fill(self._vectors)
        background.extend(column.matrix, column.lengths, column.filled)
        if self.place >= 0 and ahead is not None:
            vector = ahead.vectors[self.place]
            inner, late = ahead.inner[self.place], ahead.late
            dots = [
                float(ahead.early[self.place, row] if row < ahead.rows else inner[late[row - ahead.rows]])
                for row in rows
            ]
        else:
            self._all()
            vector = whole(self._vectors([self.text]))[0]
            dots = [] if self._dots is None else self._dots[rows].tolist()
        return background.cosines(rows, dots, float(vector @ background.mean), float(vector @ vector))

    def likelihoods(self, spans: Sequence[Sequence[int]]) -> list[list[float]] | None:
        """What the pair model says of the text and each of some rows, span by span, if that was computed ahead."""
        column, ahead = self.column, self.column.ahead
        if self.place < 0 or ahead is None or (ahead.rows and any(min(rows) < ahead.rows for rows in spans)):
            return None
        background, late, start = column.common(self._vectors), ahead.late, ahead.rows
        return ahead.likelihoods(
            self.place, [[late[row - start] for row in rows] for rows in spans], background.mean if background else None
        )


class Nominated(Sequence[Candidate]):
    """The entries that may be meant, nearest first (ties by id); a candidate is put together when it is looked at."""

    def __init__(self, column: Column, entries: Sequence[str], found: _Products | None) -> None:
        self._column, self._found = column, found
        ranked = []
        for entry in entries:
            rows = column.rows[entry]
            cosines = found.cosines(rows) if found else []
            if len(rows) > 1:
                order = sorted([(-c, column.texts[row], row) for c, row in zip(cosines, rows, strict=True)])
                cosines, rows = [-c for c, _, _ in order], [row for _, _, row in order]
            ranked.append((-cosines[0], entry, rows, cosines))
        ranked.sort(key=itemgetter(0, 1))
        self._ranked = ranked

    def __len__(self) -> int:
        return len(self._ranked)

    @overload
    def __getitem__(self, index: int) -> Candidate: ...
    @overload
    def __getitem__(self, index: slice) -> list[Candidate]: ...
    def __getitem__(self, index: int | slice) -> Candidate | list[Candidate]:
        if isinstance(index, slice):
            return [self[n] for n in range(*index.indices(len(self)))]
        _, entry, rows, cosines = self._ranked[index]
        column = self._column
        return Candidate(
            entry,
            tuple([column.texts[row] for row in rows]),
            tuple(cosines),
            tuple(self._found.among(rows)) if self._found else (),
            tuple([column.readings[row] for row in rows]),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def likelihoods(self) -> list[list[float]] | None:
        """What the pair model says of each candidate's wordings, nearest first, if that was computed ahead."""
        return self._found.likelihoods([r[2] for r in self._ranked]) if self._found else None

    @property
    def entries(self) -> list[str]:
        """Their ids."""
        return [r[1] for r in self._ranked]

    def without(self, entries: Collection[str | None]) -> Nominated:
        """These but for some entries."""
        if not entries:
            return self
        left = copy(self)
        left._ranked = [r for r in self._ranked if r[1] not in entries]
        return left


def _late(entries: Sequence[str], ahead: Ahead, place: int, k: int) -> dict[str, float]:
    """The k best entries (and their equals) of the rows that came since it was looked ahead, with their best scores."""
    scores, row_of = ahead.cosines[place], ahead.row_of
    return _leading(((entries[row], scores[n]) for n in ahead.order[place] if (row := row_of[n]) >= 0), k)


def _nearest(column: Column, scores: NDArray[np.float64], k: int) -> dict[str, float]:
    """The k best entries (and their equals) by their rows' rounded scores, with their best scores."""
    if len(scores) <= MANY_ROWS:
        return _best(column.entries, None, scores, k)
    best: dict[str, float] = {}
    for step in range(column.step, len(STEPS)):
        least = STEPS[step]
        # Scores that round to the same digits are equal: none of them may be cut off.
        rows = (scores >= least - 10.0**-DIGITS).nonzero()[0]
        if len(rows) < k and least > STEPS[-1]:
            continue
        best = _best(column.entries, rows, scores[rows], k)
        if sum(s >= least for s in best.values()) >= k or least == STEPS[-1]:
            column.step = max(0, step - (len(rows) > MANY_ROWS))  # where to begin with the next text: only a guess
            break
    return best


def _best(
    entries: Sequence[str], rows: NDArray[np.intp] | None, scores: NDArray[np.float64], k: int
) -> dict[str, float]:
    """The k best entries of some rows, and those that are as good as the last of them, with the best score of each."""
    order = scores.argsort()[::-1]
    found = order if rows is None else rows[order]
    return _leading(zip(map(entries.__getitem__, found.tolist()), scores[order].round(DIGITS).tolist(), strict=True), k)


def _leading(ranked: Iterable[tuple[str, float]], k: int) -> dict[str, float]:
    """The first k entries of rows that come best first, and those that are as good as the last, with their best scores."""
    best: dict[str, float] = {}
    last = 0.0
    for entry, score in ranked:
        if len(best) >= k and score < last:
            break
        if entry not in best:
            best[entry] = last = score
    return best


def _by_words(column: Column, text: str, known: Sequence[str]) -> list[str]:
    """Other entries that share most rare words with a text, at least two or one with a digit (ties by id)."""
    shared: dict[str, int] = {}
    for word in reading(text).stems:
        entries = column.words.get(word)
        if entries and len(entries) <= RARE:
            worth = 1 if word.isalpha() or not any(c.isdigit() for c in word) else 3
            for entry in entries:
                shared[entry] = shared.get(entry, 0) + worth
    found = sorted([(-n, e) for e, n in shared.items() if n >= 2 and e not in known])
    return [e for _, e in found[:BY_WORDS]]
