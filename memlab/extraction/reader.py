"""The reader model: one pass over a conversation says what each clause is for. Weights ship with the package.

Two halves that err differently, and are averaged. A MiniLM whose last layers were tuned on the train split reads the
conversation as a whole (`windows`); two small heads over its clause vectors, kinds of words and places (`features`) say
what each clause is for and how the conversation ended. Beside it, linear models read plain sentence vectors and the
verdicts around a clause (`verdicts`). Trained by scripts/train_reader.py.
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
from memlab.extraction.features import clause_features, ending_features, ending_shares, turn_shares
from memlab.extraction.verdicts import ending_linear_features, linear_features, verdict_features
from memlab.extraction.windows import contextual_vectors, model_bytes
from memlab.models.embeddings import Encoder
from memlab.records import Conversation, Outcome, Resolution, SolutionKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FIELDS", "KINDS", "LINEAR", "NAMED", "OUTCOMES", "RESOLUTIONS", "Reading", "read", "weights_version"]

FIELDS = ("symptom", "cause", "solution", "attempt", "fact", "second")
NAMED = ("symptom", "cause", "solution", "attempt")
LINEAR = ("symptom", "cause", "attempt")  # a linear model for solutions makes them worse on the dev split
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
    outcomes : array of shape (clauses, 4)
        Probability of each outcome, should the clause be an attempt.
    solved : float
        Probability that something solved the problem.
    resolution, kind : dict of name to probability
    vectors : array of shape (clauses, 384)
        The clauses' plain sentence vectors.
    """

    clauses: tuple[Clause, ...]
    fields: dict[str, NDArray[np.float64]]
    named: dict[str, NDArray[np.float64]]
    outcomes: NDArray[np.float64]
    solved: float
    resolution: dict[Resolution, float]
    kind: dict[SolutionKind, float]
    vectors: NDArray[np.float32]


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


def read(conversation: Conversation, encoder: Encoder) -> Reading:
    """Run the model over a conversation.

    Raises
    ------
    ModelError
        If the model can't be loaded or run.
    """
    clauses = clauses_of(conversation)
    if not clauses:
        nothing: NDArray[np.float64] = np.zeros(0)
        none = dict.fromkeys(FIELDS, nothing)
        even = dict.fromkeys(RESOLUTIONS, 0.25)
        vectors = np.zeros((0, 384), np.float32)
        return Reading((), none, dict.fromkeys(NAMED, nothing), np.zeros((0, 4)), 0.0, even, {"fix": 1.0}, vectors)
    tuned, plain = contextual_vectors(clauses), encoder.encode([c.text for c in clauses])
    features = clause_features(clauses)
    logits, whole = _tuned(clauses, features, tuned)
    prototypes = _weights()["prototypes"]
    verdicts = verdict_features(clauses, features, plain, prototypes)
    fields = logits[:, : len(FIELDS)].copy()
    averaged = [FIELDS.index(f) for f in LINEAR]
    linear = _linear("fields", linear_features(clauses, features, plain, verdicts))
    fields[:, averaged] = (fields[:, averaged] + linear) / 2
    outcomes = _softmax(logits[:, len(FIELDS) + len(NAMED) :]) + _softmax(_linear("outcome", verdicts))
    ending = _linear("resolution", ending_linear_features(clauses, features, plain, prototypes))
    ends = _softmax(whole[:4]) + _softmax(ending)
    p, named = _sigmoid(fields), _sigmoid(logits[:, len(FIELDS) :])
    kind, _, solved = _sigmoid(whole[4:7]).tolist()
    return Reading(
        clauses=tuple(clauses),
        fields={f: p[:, k] for k, f in enumerate(FIELDS)},
        named={f: named[:, k] for k, f in enumerate(NAMED)},
        outcomes=outcomes / 2,
        solved=solved,
        resolution=dict(zip(RESOLUTIONS, (ends / 2).tolist(), strict=True)),
        kind={"fix": 1 - kind, "workaround": kind},
        vectors=plain,
    )


def _tuned(
    clauses: list[Clause], features: NDArray[np.float32], vectors: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Logits of the heads over the tuned encoder: of each clause, and of the conversation."""
    x = np.concatenate([vectors, turn_shares(clauses) @ vectors, features], axis=1)
    ending = np.concatenate([(ending_shares(clauses) @ vectors).ravel(), ending_features(clauses)])
    return _head("clause", x), _head("whole", ending[None])[0]


def _linear(name: str, x: Any) -> NDArray[np.float64]:
    """Logits of linear models, rounded to 4 digits so that machines agree."""
    w = _weights()
    return np.asarray(np.round(x @ w[name] + w[f"{name} bias"], 4), np.float64)


def _head(name: str, x: Any) -> NDArray[np.float64]:
    """Logits of a head with one hidden layer, rounded to 4 digits so that machines agree."""
    from scipy.special import erf

    w = _weights()
    hidden = x @ w[f"{name} in"] + w[f"{name} in bias"]
    hidden = 0.5 * hidden * (1 + erf(hidden / np.sqrt(2)))
    return np.asarray(np.round(hidden @ w[f"{name} out"] + w[f"{name} out bias"], 4), np.float64)


def _sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-x)), np.float64)


def _softmax(x: NDArray[np.float64]) -> NDArray[np.float64]:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True), np.float64)
