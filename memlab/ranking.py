"""How well each root cause fits a query, from its views: the one formula that ranks hits and says when nothing fits."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EVIDENCE", "VIEWS", "evidence", "least", "probabilities"]

VIEWS = ("symptom", "opening", "opening_mean", "cause", "solution", "words", "turn_words", "identifier", "weight")
"""Views of a cause: cosines with its symptoms' wordings, with what users first said in its conversations (best, and mean
of the best three), with its own and its solutions' wordings; BM25 of transcripts and of single turns; whether a code or
version of the query occurs; its weight in the graph."""

EVIDENCE = ("meaning", "wording", "identifier", "weight", "mean meaning", "best meaning", "mean wording")
"""What the ranking model weighs: the first four compare a cause with its rivals, the last three look at it alone."""

_MEANING = [VIEWS.index(v) for v in ("opening", "opening_mean", "cause", "symptom")]
_WORDING = [VIEWS.index(v) for v in ("words", "turn_words")]
_SPREAD = 0.02  # added to a view's spread, so that noise between equal rivals is not blown up


def evidence(views: NDArray[np.float64]) -> NDArray[np.float64]:
    """Views of all causes that compete for a query as evidence for each.

    Parameters
    ----------
    views : array of shape (causes, len(VIEWS))

    Returns
    -------
    array of shape (causes, len(EVIDENCE))
        Standardised among the rivals and added up by kind (all views of meaning count alike, since which one fits best
        differs between customers), then the absolute level.
    """
    among = (views - views.mean(axis=0)) / (views.std(axis=0) + _SPREAD)
    columns = [
        among[:, _MEANING].sum(axis=1),
        among[:, _WORDING].sum(axis=1),
        among[:, VIEWS.index("identifier")],
        among[:, VIEWS.index("weight")],
        views[:, _MEANING].mean(axis=1),
        views[:, _MEANING].max(axis=1),
        views[:, _WORDING].mean(axis=1),
    ]
    return np.stack(columns, axis=1)


def probabilities(views: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability of each cause to be the right one, in [0, 1], rounded to 4 digits; shape (causes,).

    A logistic regression learned from training queries (scripts/train_recall.py).
    """
    model = _model()
    scores = evidence(views) @ np.array([model[name] for name in EVIDENCE]) + model["intercept"]
    return np.asarray(np.round(1 / (1 + np.exp(-scores)), 4))


def least() -> float:
    """The probability below which a hit is not shown unless asked for."""
    return _model()["least"]


@cache
def _model() -> dict[str, float]:
    data: dict[str, float] = json.loads((resources.files("memlab") / "ranking.json").read_text("utf-8"))
    return data
