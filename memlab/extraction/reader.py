"""The reader model: one pass over the clauses of a conversation says what each is for. Weights ship with the package.

Linear models over frozen sentence vectors, cues and places of a clause and of the turns around it
(scripts/train_reader.py): small enough to look into, and the same on every machine.
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
from memlab.extraction.features import clause_features, conversation_features
from memlab.models.embeddings import Encoder
from memlab.records import Conversation, Outcome, Resolution, SolutionKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FIELDS", "KINDS", "OUTCOMES", "RESOLUTIONS", "Reading", "read", "weights_version"]

FIELDS = ("symptom", "cause", "solution", "attempt", "fact", "second")
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
    outcomes : array of shape (clauses, 4)
        Probability of each outcome, should the clause be an attempt.
    solved : float
        Probability that something solved the problem.
    resolution, kind : dict of name to probability
    vectors : array of shape (clauses, 384)
        The clauses' sentence vectors.
    """

    clauses: tuple[Clause, ...]
    fields: dict[str, NDArray[np.float64]]
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
    return hashlib.sha256(_file()).hexdigest()[:8]


@cache
def _weights() -> dict[str, NDArray[np.float32]]:
    with np.load(io.BytesIO(_file())) as arrays:
        return {name: arrays[name].astype(np.float32) for name in arrays.files}


def read(conversation: Conversation, encoder: Encoder) -> Reading:
    """Run the model over a conversation.

    Raises
    ------
    ModelError
        If the encoder can't be loaded or run.
    """
    clauses = clauses_of(conversation)
    vectors = encoder.encode([c.text for c in clauses])
    x = clause_features(clauses, vectors)
    ending = conversation_features(clauses, vectors) if clauses else None
    whole = {name: _linear(name, ending) for name in ("resolution", "kind", "has_solution")} if clauses else None
    return Reading(
        clauses=tuple(clauses),
        fields={f: _sigmoid(_linear(f, x)) for f in FIELDS},
        outcomes=_softmax(_linear("outcome", x)),
        solved=float(_sigmoid(whole["has_solution"])) if whole else 0.0,
        resolution=_named(RESOLUTIONS, whole["resolution"]) if whole else dict.fromkeys(RESOLUTIONS, 0.25),
        kind=_named(KINDS, whole["kind"]) if whole else dict.fromkeys(KINDS, 0.5),
        vectors=vectors,
    )


def _linear(name: str, x: Any) -> Any:
    """Logits, rounded to 4 digits so that machines agree: a vector for two classes, a column a class for more."""
    w = _weights()
    return np.round(np.asarray(x @ w[name] + w[f"{name} intercept"], np.float64), 4)


def _named(names: tuple[Any, ...], logits: Any) -> dict[Any, float]:
    if len(names) == 2:
        p = float(_sigmoid(logits))
        return {names[0]: 1 - p, names[1]: p}
    return dict(zip(names, _softmax(logits).tolist(), strict=True))


def _sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-x)))


def _softmax(x: NDArray[np.float64]) -> NDArray[np.float64]:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))
