"""The reader model: one pass over a conversation says what each clause is for. Weights ship with the package.

A MiniLM whose layers were tuned on the train split reads the conversation as a whole (`windows`); two small heads over
its clause vectors, kinds of words and places (`features`) say what each clause is for and how the conversation ended.
Who tells of something seldom names it: "did that, no luck" is the evidence, "clear the Teams cache" two turns before the
name. So every clause that tells of a step points to the one that names it best (`Reading.names`).
Trained by scripts/train_reader.py.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab.extraction.clauses import Clause, clauses_of
from memlab.extraction.features import (
    clause_features,
    ending_features,
    ending_shares,
    relative_places,
    turn_shares,
)
from memlab.extraction.windows import contextual_vectors, model_bytes
from memlab.models.threads import one_thread
from memlab.records import Conversation, Outcome, Resolution, SolutionKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FIELDS", "KINDS", "NAMED", "OUTCOMES", "RESOLUTIONS", "Reading", "read", "weights_version"]

FIELDS = ("symptom", "cause", "solution", "attempt", "fact", "second")
NAMED = ("symptom", "cause", "solution", "attempt")
OUTCOMES: tuple[Outcome, ...] = ("worked", "failed", "partial", "unknown")
RESOLUTIONS: tuple[Resolution, ...] = ("confirmed", "inferred", "unresolved", "abandoned")
KINDS: tuple[SolutionKind, ...] = ("fix", "workaround")


@dataclass(frozen=True, slots=True)
class Reading:
    """What the model says of a conversation.

    Attributes
    ----------
    clauses : tuple of Clause
    fields : dict of field to array of shape (clauses,)
        Probability that the clause states this (`second`: that it belongs to the conversation's second issue).
    named : dict of field to array of shape (clauses,)
        Probability that the phrase made of the clause means the same as what people would write for the field.
    names : array of shape (clauses, clauses)
        Should the first clause tell of a step: the probability that the phrase made of the second names it; rows sum to 1.
    outcomes : array of shape (clauses, 4)
        Probability of each outcome, should the clause be an attempt.
    solved : float
        Probability that something solved the problem.
    resolution, kind : dict of name to probability
    """

    clauses: tuple[Clause, ...]
    fields: dict[str, NDArray[np.float64]]
    named: dict[str, NDArray[np.float64]]
    names: NDArray[np.float64]
    outcomes: NDArray[np.float64]
    solved: float
    resolution: dict[Resolution, float]
    kind: dict[SolutionKind, float]


def _file() -> bytes:
    return (resources.files("memlab.extraction") / "reader.npz").read_bytes()


@cache
def weights_version() -> str:
    """Eight hex digits of the weights' hash: another model makes other proposals."""
    return hashlib.sha256(_file() + model_bytes()).hexdigest()[:8]


@cache
def _weights() -> dict[str, NDArray[np.float32]]:
    with np.load(io.BytesIO(_file())) as arrays:
        return {name: arrays[name].astype(np.float32) for name in arrays.files}


def read(conversation: Conversation) -> Reading:
    """Run the model over a conversation.

    Raises
    ------
    ModelError
        If the model can't be loaded or run.
    """
    clauses = clauses_of(conversation)
    if not clauses:
        nothing: NDArray[np.float64] = np.zeros(0)
        none, even = dict.fromkeys(FIELDS, nothing), dict.fromkeys(RESOLUTIONS, 0.25)
        unnamed = dict.fromkeys(NAMED, nothing)
        return Reading((), none, unnamed, np.zeros((0, 0)), np.zeros((0, 4)), 0.0, even, {"fix": 1.0})
    vectors = contextual_vectors(clauses)
    with one_thread():
        logits, whole, link = _heads(clauses, vectors)
    p, named = _sigmoid(logits[:, : len(FIELDS)]), _sigmoid(logits[:, len(FIELDS) :])
    kind, _, solved = _sigmoid(whole[4:7]).tolist()
    return Reading(
        clauses=tuple(clauses),
        fields={f: p[:, k] for k, f in enumerate(FIELDS)},
        named={f: named[:, k] for k, f in enumerate(NAMED)},
        names=_softmax(link),
        outcomes=_softmax(logits[:, len(FIELDS) + len(NAMED) :]),
        solved=solved,
        resolution=dict(zip(RESOLUTIONS, _softmax(whole[:4]).tolist(), strict=True)),
        kind={"fix": 1 - kind, "workaround": kind},
    )


def _heads(
    clauses: list[Clause], vectors: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Logits of the heads over the tuned encoder: of each clause, of the conversation, and of each pair of clauses."""
    x = np.concatenate([vectors, turn_shares(clauses) @ vectors, clause_features(clauses)], axis=1)
    logits = _head("clause", x)
    regard = _softmax(_linear("regard", vectors).T)
    ending = [*(ending_shares(clauses) @ vectors), *(regard @ vectors), ending_features(clauses)]
    told, name = _linear("attempt told", x), _linear("attempt name", x)
    named, place = logits[:, len(FIELDS) + NAMED.index("attempt")], _weights()["attempt place"]
    link = told @ name.T / np.sqrt(told.shape[1]) + place[relative_places(clauses)] + named
    return logits, _head("whole", np.concatenate(ending)[None])[0], np.round(link, 4)


def _linear(name: str, x: Any) -> Any:
    w = _weights()
    return x @ w[f"{name} in"] + w[f"{name} in bias"]


def _head(name: str, x: Any) -> NDArray[np.float64]:
    """Logits of a head with one hidden layer, rounded to 4 digits so that machines agree."""
    from scipy.special import erf

    w = _weights()
    hidden = _linear(name, x)
    hidden = 0.5 * hidden * (1 + erf(hidden / np.sqrt(2)))
    out = hidden @ w[f"{name} out"] + w[f"{name} out bias"]
    return np.asarray(np.round(out, 4), np.float64)


def _sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-x)), np.float64)


def _softmax(x: NDArray[np.float64]) -> NDArray[np.float64]:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True), np.float64)
