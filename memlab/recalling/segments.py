"""What is said of owners of many values: the greatest, and the mean of the greatest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab.recalling.near import Near

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Segments", "mean_of"]


class Segments:
    """Values that belong to several owners, and what is said of each owner: its best value, the mean of its best three.

    Parameters
    ----------
    groups : sequence of sequences of int
        For each owner, the places of its values; one that is named twice counts once.
    """

    def __init__(self, groups: Sequence[Iterable[int]]) -> None:
        places = [sorted(set(g)) for g in groups]
        sizes = np.array([len(g) for g in places], np.int64)
        self._owners = np.flatnonzero(sizes)
        self._flat = np.array([place for g in places for place in g], np.int64)
        self._sizes = sizes[self._owners]
        self._starts = _starts(self._sizes)
        self._count = len(groups)

    def best(self, values: NDArray[np.float64] | Near) -> NDArray[np.float64]:
        """The greatest value of each owner, 0 for one without any; shape (owners,)."""
        top = self.tops(values, 1)[0]
        return np.where(np.isfinite(top), top, 0.0)

    def mean_of_best(self, values: NDArray[np.float64] | Near, most: int = 3) -> NDArray[np.float64]:
        """The mean of each owner's greatest different values (up to `most`), 0 for one without any."""
        return mean_of(self.tops(values, most))

    def tops(self, values: NDArray[np.float64] | Near, most: int) -> NDArray[np.float64]:
        """Each owner's greatest different values, -inf where it has no more; shape (most, owners)."""
        out = np.full((most, self._count), -np.inf)
        if len(self._owners):
            out[:, self._owners] = _tops(*self._upper(values, most), most)
        return out

    def _upper(
        self, values: NDArray[np.float64] | Near, most: int
    ) -> tuple[NDArray[np.floating[Any]], NDArray[np.int64], NDArray[np.int64]]:
        """Exact values in which each owner's greatest are, where each owner's start, and how many it has."""
        if not isinstance(values, Near):
            return values[self._flat].astype(np.float64), self._starts, self._sizes
        if not values.margin:
            return values.at(self._flat), self._starts, self._sizes
        rough = values.values[self._flat]
        tops = _tops(rough, self._starts, self._sizes, most)
        # The least of the greatest is no more than a margin below its sketch, and what beats it no more above its own.
        least = np.where(np.isfinite(tops), tops, tops[0]).min(axis=0) - 2 * values.margin
        kept = rough >= np.repeat(least, self._sizes)
        sizes = np.add.reduceat(kept, self._starts, dtype=np.int64)
        return values.at(self._flat[kept]), _starts(sizes), sizes


def mean_of(tops: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of each column, without what is infinite; 0 where nothing is left."""
    there = np.isfinite(tops)
    return np.asarray(np.where(there, tops, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1), np.float64)


def _starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)


def _tops(
    values: NDArray[np.floating[Any]], starts: NDArray[np.int64], sizes: NDArray[np.int64], most: int
) -> NDArray[np.floating[Any]]:
    left, out = values.copy(), []
    for n in range(most):
        out.append(np.maximum.reduceat(left, starts))
        if n + 1 < most:
            left[left == np.repeat(out[-1], sizes)] = -np.inf
    return np.stack(out)
