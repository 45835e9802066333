"""How well each root cause fits a query, from its views: the one formula that ranks hits and says when nothing fits.

The evidence of a cause adds up: what it means, what it says, the codes it names. It does not depend on its rivals, so a
query that shares no rare word with anything is decided by meaning, and one that fits nothing has low scores everywhere.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    *("CURVE", "EVIDENCE", "LEVEL", "VIEWS", "among_rivals", "curve_inputs"),
    *("evidence", "least", "probabilities", "scores"),
]

VIEWS = (
    *("symptom", "opening", "opening_mean", "cause", "solution", "turn"),
    *("words", "document", "entries", "identifier", "cases", "known"),
)
"""Views of a cause. Cosines: with its symptoms' wordings, with what users first said in its conversations (best, and
mean of the best three), with its own and its solutions' wordings, with single turns of its conversations (where the
bank holds their vectors; else the best opening). Mass of shared words (BM25): in its best transcript, in all its
transcripts taken as one document, in its wordings. Whether a code or version of the query occurs in its wordings,
log(1 + conversations), and the share of what the query's words tell (the rarer, the more) that its transcripts know."""

EVIDENCE = ("meaning", "best", "words", "document", "entries", "identifier", "cases")
"""What the ranking model weighs: the mean and the best view of meaning, then the views of words as they are."""

CURVE = ("slope", "rivals", "level", "known", "offset")
"""What the probability hangs on: the score, the log of its share among rivals, the best cosine that any of them has and
the share of the query's words that the first of them knows, both times `LEVEL`, and 1. All but the first two are the same
for all causes, so that within a query probabilities follow scores."""

LEVEL = 10.0  # so that the numbers of the curve are of one size

_MEANING = [VIEWS.index(v) for v in ("opening", "opening_mean", "cause", "symptom", "turn")]
_BEST = [VIEWS.index(v) for v in ("opening", "cause", "symptom", "solution", "turn")]
_AS_THEY_ARE = [VIEWS.index(v) for v in EVIDENCE[2:]]


def evidence(views: NDArray[np.float64]) -> NDArray[np.float64]:
    """The views of causes as evidence for each.

    Parameters
    ----------
    views : array of shape (causes, len(VIEWS))

    Returns
    -------
    array of shape (causes, len(EVIDENCE))
    """
    meaning = [views[:, _MEANING].mean(axis=1), views[:, _BEST].max(axis=1)]
    return np.concatenate([np.stack(meaning, axis=1), views[:, _AS_THEY_ARE]], axis=1)


def scores(views: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weighed evidence of each cause, shape (causes,); higher fits better.

    The weights are learned from training queries, so that the right causes of a query win against the others
    (scripts/train_recall.py).
    """
    model = _model()
    # Rounded, for the last bit of a product depends on how many rivals there are.
    return np.asarray(np.round(evidence(views) @ np.array([model[name] for name in EVIDENCE]), 9))


def among_rivals(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log of each score's share among all (softmax), ≤ 0; a clear winner has 0, one of two equals log(1/2)."""
    if not len(scores):
        return scores
    top = scores.max()
    return np.asarray(scores - top - np.log(np.exp(scores - top).sum()))


def curve_inputs(
    scores: NDArray[np.float64], best: NDArray[np.float64], known: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What `CURVE` weighs for each cause of one query, shape (causes, len(CURVE)).

    Parameters
    ----------
    scores, best, known : array of shape (causes,)
        Weighed evidence, best cosine, and the view "known".
    """
    same = np.ones(len(scores))
    first = int(scores.argmax()) if len(scores) else 0
    level, told = (LEVEL * float(v) for v in ((best.max(), known[first]) if len(scores) else (0.0, 0.0)))
    return np.stack([scores, among_rivals(scores), level * same, told * same, same], axis=1)


def probabilities(views: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability of each of the rivals for a query to be a right answer, in [0, 1], 4 digits; shape (causes,).

    A logistic curve over what `CURVE` names, fitted on first hits for training queries with an answer, for the same
    without telling words, for queries put to another category, and for some that nobody can answer. Several may be
    right, so they do not add up to 1.

    References
    ----------
    Platt (1999), Probabilistic Outputs for Support Vector Machines.
    """
    if not len(views):
        return np.zeros(0)
    model, found = _model(), scores(views)
    columns = curve_inputs(found, evidence(views)[:, EVIDENCE.index("best")], views[:, VIEWS.index("known")])
    t = columns @ np.array([model[name] for name in CURVE])
    return np.asarray(np.round(1 / (1 + np.exp(-t)), 4))


def least() -> float:
    """The probability below which a hit is not shown unless asked for."""
    return _model()["least"]


@cache
def _model() -> dict[str, float]:
    data: dict[str, float] = json.loads((resources.files("memlab") / "ranking.json").read_text("utf-8"))
    return data
