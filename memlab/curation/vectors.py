"""Cosines that come out the same on every machine, in every order and batch.

Sentence vectors are rounded to whole numbers before they are multiplied. Sums of whole numbers below 2**24 are exact in
float32, whichever way a BLAS adds them up, so no decision can hang on the number of rows, threads or processors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["DIGITS", "SCALE", "centred", "cosines", "lengths", "middle", "rounded", "whole"]

SCALE = 4000  # a vector of length 1 becomes one of about this length; products of two sum to less than 2**24
DIGITS = 4


def whole(vectors: ArrayLike) -> NDArray[np.float32]:
    """Unit vectors as whole numbers (held as float32), read through float16, as a bank stores them.

    >>> whole([[0.0, 1.0], [0.5, -0.5]]).tolist()
    [[0.0, 4000.0], [2000.0, -2000.0]]
    """
    stored = np.asarray(vectors, np.float16).astype(np.float32)
    rounded: NDArray[np.float32] = np.rint(stored * np.float32(SCALE))
    return rounded


def lengths(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Length of each row of whole vectors, at least 1."""
    squares: NDArray[Any] = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    roots: NDArray[np.float64] = np.sqrt(np.maximum(squares, 1.0))
    return roots


def cosines(matrix: NDArray[np.float32], vector: NDArray[np.float32]) -> list[float]:
    """Cosines of whole rows with a whole vector, rounded to 4 digits.

    >>> cosines(whole([[1.0, 0.0], [0.5, 0.5]]), whole([0.5, -0.5]))
    [0.7071, 0.0]
    """
    dots = (matrix @ vector).astype(np.float64)
    values: list[float] = np.round(dots / (lengths(matrix) * lengths(vector[None])[0]), DIGITS).tolist()
    return values


def middle(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean of whole rows, as a whole vector: what all wordings about one topic have in common."""
    total: NDArray[np.float64] = matrix.sum(axis=0, dtype=np.float64)
    rounded: NDArray[np.float32] = np.rint(total / max(1, len(matrix))).astype(np.float32)
    return rounded


def centred(matrix: NDArray[np.float32], vector: NDArray[np.float32], mean: NDArray[np.float32]) -> NDArray[np.float64]:
    """Cosines of whole rows with a whole vector after the mean is taken from both, rounded to 4 digits.

    In one category all wordings are alike to a degree, because all speak of one product. Taking out what they share
    leaves what tells them apart. Each product is exact, so neither order nor number of rows shows.

    References
    ----------
    Mu & Viswanath (2018), All-but-the-top: simple and effective postprocessing for word representations,
    arXiv:1702.01417.

    >>> centred(whole([[1.0, 0.0], [0.0, 1.0]]), whole([1.0, 0.0]), whole([0.5, 0.5])).tolist()
    [1.0, -1.0]
    """
    rows = matrix.astype(np.float64) - mean
    one = vector.astype(np.float64) - mean
    norms = np.sqrt(np.maximum(np.einsum("ij,ij->i", rows, rows), 1.0) * max(float(one @ one), 1.0))
    found: NDArray[np.float64] = np.round(np.einsum("ij,j->i", rows, one) / norms, DIGITS)
    return found


def rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each value rounded as Python's `round` does it, which looks at the exact number where NumPy multiplies first."""
    found: NDArray[np.float64] = np.round(values, DIGITS)
    scaled = values * 10.0**DIGITS
    for place in np.argwhere(np.abs(scaled - np.floor(scaled) - 0.5) < 1e-6).tolist():
        found[tuple(place)] = round(float(values[tuple(place)]), DIGITS)
    return found
