"""What the linear half of the reader sees: a clause's sentence vector, its surroundings, and the verdicts around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from memlab.extraction.clauses import Clause
from memlab.extraction.features import CUES, ending_features

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PROTOTYPES", "ending_linear_features", "linear_features", "verdict_features"]

PROTOTYPES = {
    "worked": (
        *("that fixed it", "it works now", "back to normal since", "did the trick", "problem solved", "cured it"),
    ),
    "failed": (
        *("did not help", "no change", "still the same problem", "no luck", "made no difference", "to no avail"),
    ),
    "partial": (
        *("better but not completely", "helped for a while, then it came back", "works only half"),
        "worked until today, now it is back",
    ),
    "unknown": (
        *("still running, not finished yet", "I do not know yet whether it helped", "will report tomorrow"),
        *("waiting to see", "have not tested it yet"),
    ),
}
_SIZE = len(CUES) + len(PROTOTYPES)
_SCALE = 4  # vectors have length 1: this gives their parts about the size of the cues


def _signs(
    features: NDArray[np.float32], vectors: NDArray[np.float32], prototypes: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Kinds of words, and likeness to the verdicts; shape (len(clauses), 21)."""
    return np.concatenate([features[:, : len(CUES)], 3 * vectors @ prototypes.T], axis=1).astype(np.float32)


def verdict_features(
    clauses: Sequence[Clause],
    features: NDArray[np.float32],
    vectors: NDArray[np.float32],
    prototypes: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Signs of each clause and of what may judge it: the clauses beside it, its turn before and after, the user's next.

    Parameters
    ----------
    clauses : sequence of Clause
    features : array of shape (len(clauses), WIDTH)
        Their `clause_features`.
    vectors : array of shape (len(clauses), 384)
        Their sentence vectors.
    prototypes : array of shape (4, 384)
        Mean vectors of `PROTOTYPES`.

    Returns
    -------
    array of shape (len(clauses), 153), float32
    """
    signs = _signs(features, vectors, prototypes)
    turns = np.array([c.turn for c in clauses])
    places = np.arange(len(clauses))
    user = sorted({c.turn for c in clauses if c.role == "user"})
    nothing = np.zeros(_SIZE, np.float32)

    def strongest(mask: NDArray[np.bool_]) -> NDArray[np.float32]:
        return np.asarray(signs[mask].max(axis=0), np.float32) if mask.any() else nothing

    rows = []
    for n, c in enumerate(clauses):
        same = turns == c.turn
        beside = [signs[m] if 0 <= m < len(clauses) and same[m] else nothing for m in (n + 1, n + 2, n - 1)]
        later = next((t for t in user if t > c.turn), -1)
        around = [strongest(same & (places > n)), strongest(same & (places < n)), strongest(turns == later)]
        flags = [c.role == "user", c.role == "agent", later < 0, c.first, c.last, bool(beside[0].any())]
        rows.append(np.concatenate([signs[n], *beside, *around, np.array(flags, np.float32)]))
    return np.stack(rows)


def linear_features(
    clauses: Sequence[Clause],
    features: NDArray[np.float32],
    vectors: NDArray[np.float32],
    verdicts: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Vectors of the clause, its turn, the turn before and the user's next turn, with words, places and verdicts.

    Returns
    -------
    array of shape (len(clauses), 4 * 384 + WIDTH + 153), float32
    """
    own = _SCALE * vectors
    turns = np.array([c.turn for c in clauses])
    mean = {t: own[turns == t].mean(axis=0) for t in sorted(set(turns.tolist()))}
    user = sorted({c.turn for c in clauses if c.role == "user"})
    nothing = np.zeros(own.shape[1], np.float32)
    around = []
    for c in clauses:
        later = next((t for t in user if t > c.turn), -1)
        around.append(np.concatenate([mean[c.turn], mean.get(c.turn - 1, nothing), mean.get(later, nothing)]))
    return np.concatenate([own, np.stack(around), features, verdicts], axis=1).astype(np.float32)


def ending_linear_features(
    clauses: Sequence[Clause],
    features: NDArray[np.float32],
    vectors: NDArray[np.float32],
    prototypes: NDArray[np.float32],
) -> NDArray[np.float32]:
    """How a conversation ended: vectors and signs of its last turns, and who speaks last; shape (1243,)."""
    own, signs = _SCALE * vectors, _signs(features, vectors, prototypes)
    turns = np.array([c.turn for c in clauses])
    user = sorted({c.turn for c in clauses if c.role == "user"})
    other = sorted({c.turn for c in clauses if c.role != "user"})
    last, before = (user[-1] if user else -1), (user[-2] if len(user) > 1 else -1)
    agent, end = (other[-1] if other else -1), int(turns[-1])

    def mean(turn: int) -> NDArray[np.float32]:
        here = own[turns == turn]
        return np.asarray(here.mean(axis=0) if len(here) else np.zeros(own.shape[1]), np.float32)

    def strongest(turn: int) -> NDArray[np.float32]:
        here = signs[turns == turn]
        return np.asarray(here.max(axis=0) if len(here) else np.zeros(_SIZE), np.float32)

    vectors_of = [mean(t) for t in (last, agent, end)]
    signs_of = [strongest(t) for t in (last, before, agent, end)]
    return np.concatenate([*vectors_of, *signs_of, ending_features(clauses)]).astype(np.float32)
