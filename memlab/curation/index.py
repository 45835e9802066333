"""What the curator may look at: entries by exact key, and the few nearest by meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from memlab.curation.decide import cosines
from memlab.curation.keys import normal_key
from memlab.operations import Operation
from memlab.records import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Candidate", "EntryIndex"]

Vectors = Callable[[str], "NDArray[np.float32]"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that may be meant: its id, its wordings (nearest first) and their cosines to the proposal."""

    entry: str
    wordings: tuple[str, ...]
    cosines: tuple[float, ...]


@dataclass(slots=True)
class _Column:
    by_key: dict[str, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)
    matrix: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))


class EntryIndex:
    """The wordings of one category's entries, a column a kind, growing with each operation.

    Parameters
    ----------
    vectors : callable
        Gives the unit vector of a text.
    """

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._columns: dict[Kind, _Column] = {"symptom": _Column(), "cause": _Column(), "solution": _Column()}

    def apply(self, operation: Operation) -> None:
        """Take in the wording of an applied operation."""
        if operation.op == "reject":
            return
        column, key = self._columns[operation.kind], normal_key(operation.text)
        if key in column.by_key:
            return
        column.by_key[key] = operation.entry
        if not operation.quote:  # a placeholder has no words of its own
            return
        vector, size = self._vectors(operation.text), len(column.texts)
        if size == len(column.matrix):
            grown = np.zeros((max(64, 2 * size), len(vector)), np.float32)
            if size:
                grown[:size] = column.matrix
            column.matrix = grown
        column.matrix[size] = vector
        column.texts.append(operation.text)
        column.entries.append(operation.entry)

    def exact(self, kind: Kind, text: str) -> str | None:
        """The entry that has this wording (by normalised key), if any."""
        return self._columns[kind].by_key.get(normal_key(text))

    def nominate(self, kind: Kind, text: str, *, k: int = 8) -> list[Candidate]:
        """At most k entries of the column, nearest first by cosine of their nearest wording (ties by id)."""
        column = self._columns[kind]
        if not column.texts:
            return []
        values = cosines(column.matrix[: len(column.texts)], self._vectors(text))
        order = sorted(range(len(values)), key=lambda n: (-values[n], column.entries[n], column.texts[n]))
        found: dict[str, list[int]] = {}
        for n in order:
            if column.entries[n] in found or len(found) < k:
                found.setdefault(column.entries[n], []).append(n)
        return [
            Candidate(e, tuple(column.texts[n] for n in rows), tuple(values[n] for n in rows))
            for e, rows in found.items()
        ]
