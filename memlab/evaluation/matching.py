"""Which predicted texts mean which gold texts: one-to-one, by meaning (cosine) or by the same words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from memlab.curation.keys import normal_key
from memlab.errors import InputError, ModelError
from memlab.models.embeddings import default_encoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memlab.models.embeddings import Encoder

__all__ = ["MatchBy", "Matching", "Pair", "TextVectors", "assign", "match_texts", "match_vectors"]

MatchBy = Literal["meaning", "words"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A predicted text that was taken for a gold text (both by their place), and how alike they are, in [0, 1]."""

    predicted: int
    gold: int
    score: float


@dataclass(frozen=True, slots=True)
class Matching:
    """A one-to-one assignment: what was found, what was missed (gold only), what was invented (predicted only)."""

    pairs: tuple[Pair, ...] = ()
    missed: tuple[int, ...] = ()
    invented: tuple[int, ...] = ()


class TextVectors:
    """Unit vectors of texts, each encoded once; hand the same one to several evaluations.

    Parameters
    ----------
    encoder : Encoder, optional
        By default all-MiniLM-L6-v2.
    """

    def __init__(self, encoder: Encoder | None = None) -> None:
        self._encoder = encoder
        self._known: dict[str, NDArray[np.float32]] = {}

    def add(self, texts: Iterable[str]) -> None:
        """Encode, in one call, the texts that are not known yet.

        Raises
        ------
        ModelError
            If the encoder fails or does not return one vector a text.
        """
        fresh = sorted(set(texts) - self._known.keys())
        if not fresh:
            return
        rows = (self._encoder or default_encoder()).encode(fresh)
        if len(rows) != len(fresh):
            raise ModelError(f"the encoder returned {len(rows)} vectors for {len(fresh)} texts")
        self._known.update(zip(fresh, rows, strict=True))

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape (len(texts), dimension)."""
        self.add(texts)
        return np.stack([self._known[t] for t in texts]) if texts else np.zeros((0, 0), np.float32)


def match_texts(
    predicted: Sequence[str],
    gold: Sequence[str],
    *,
    by: MatchBy = "meaning",
    threshold: float = 0.5,
    vectors: TextVectors | None = None,
    encoder: Encoder | None = None,
    allowed: NDArray[np.bool_] | None = None,
) -> Matching:
    """Which predicted text stands for which gold text; every text is used at most once.

    Parameters
    ----------
    predicted, gold : sequence of str
        The texts. Their order does not change which texts meet.
    by : {"meaning", "words"}
        By the cosine of sentence vectors (the same words count as 1), or strictly by the same normalised words.
    threshold : float
        Least cosine of a match, in (0, 1].
    vectors, encoder : optional
        Where vectors come from; by default all-MiniLM-L6-v2.
    allowed : bool array of shape (len(predicted), len(gold)), optional
        Pairs that may be matched at all, for example those with the same outcome.

    >>> match_texts(["Restart Outlook.", "call IT"], ["restart outlook"], by="words")
    Matching(pairs=(Pair(predicted=0, gold=0, score=1.0),), missed=(), invented=(1,))
    """
    scores = _same_words(predicted, gold)
    if by == "meaning" and scores.size:
        lookup = vectors or TextVectors(encoder)
        lookup.add([*predicted, *gold])
        scores = np.maximum(scores, _cosines(lookup(predicted), lookup(gold)))
    elif by not in ("meaning", "words"):
        raise InputError(f"texts are matched by meaning or words, not by {by!r}")
    if allowed is not None:
        scores = np.where(allowed, scores, -1.0)
    # Equal sums are decided by place, so places are made independent of the order of the arguments.
    rows = sorted(range(len(predicted)), key=lambda n: (predicted[n], n))
    columns = sorted(range(len(gold)), key=lambda n: (gold[n], n))
    found = assign(scores[np.ix_(rows, columns)], threshold=threshold)
    return _matching([Pair(rows[p.predicted], columns[p.gold], p.score) for p in found.pairs], len(rows), len(columns))


def match_vectors(predicted: NDArray[np.float32], gold: NDArray[np.float32], *, threshold: float = 0.5) -> Matching:
    """As `match_texts` by meaning, for unit vectors of shapes (m, dimension) and (n, dimension)."""
    if not len(predicted) or not len(gold):
        return _matching([], len(predicted), len(gold))
    return assign(_cosines(predicted, gold), threshold=threshold)


def assign(scores: NDArray[np.float64], *, threshold: float = 0.5) -> Matching:
    """The one-to-one pairs of rows and columns with the greatest sum of scores, none below the threshold.

    Parameters
    ----------
    scores : array of shape (predicted, gold)
        Likeness of every pair.
    threshold : float
        In (0, 1]; a pair below it is worth nothing, so it never displaces one above it.

    Raises
    ------
    InputError
        If the threshold is out of range.

    References
    ----------
    Kuhn (1955), The Hungarian Method, Nav. Res. Logist. Q. 2, doi:10.1002/nav.3800020109.
    Crouse (2016), On Implementing 2D Rectangular Assignment Algorithms, doi:10.1109/TAES.2016.140952.

    >>> assign(np.array([[0.9, 0.8], [0.7, 0.1]])).pairs  # 0.8 + 0.7 beats 0.9 + nothing
    (Pair(predicted=1, gold=0, score=0.7), Pair(predicted=0, gold=1, score=0.8))
    """
    from scipy.optimize import linear_sum_assignment

    if not 0 < threshold <= 1:
        raise InputError(f"the threshold must be in (0, 1], not {threshold}")
    rows, columns = linear_sum_assignment(np.where(scores >= threshold, scores, 0.0), maximize=True)
    found = [
        Pair(int(r), int(c), float(scores[r, c]))
        for r, c in zip(rows, columns, strict=True)
        if scores[r, c] >= threshold
    ]
    return _matching(found, *scores.shape)


def _matching(pairs: Sequence[Pair], predicted: int, gold: int) -> Matching:
    used, found = {p.predicted for p in pairs}, {p.gold for p in pairs}
    return Matching(
        tuple(sorted(pairs, key=lambda p: (p.gold, p.predicted))),
        tuple(n for n in range(gold) if n not in found),
        tuple(n for n in range(predicted) if n not in used),
    )


def _same_words(predicted: Sequence[str], gold: Sequence[str]) -> NDArray[np.float64]:
    left, right = [normal_key(t) for t in predicted], [normal_key(t) for t in gold]
    return np.array([[float(a == b) for b in right] for a in left], np.float64).reshape(len(left), len(right))


def _cosines(predicted: NDArray[np.float32], gold: NDArray[np.float32]) -> NDArray[np.float64]:
    # Rounded so that machines agree; a unit vector's cosine with itself may come out above 1.
    return np.asarray(np.clip(np.round((predicted @ gold.T).astype(np.float64), 4), -1.0, 1.0))
