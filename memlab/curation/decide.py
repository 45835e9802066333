"""Same entry or not: exact key, then guards, then a small logistic model over a pair's features."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from memlab.curation.guards import Reading, conflict, reading, shared_trigrams
from memlab.curation.keys import normal_key
from memlab.curation.vectors import cosines, whole
from memlab.operations import DOUBT
from memlab.records import Kind

if TYPE_CHECKING:
    from memlab.models.embeddings import Encoder

__all__ = [
    "FEATURES",
    "Verdict",
    "compare",
    "judge",
    "likelihood",
    "merges",
    "pair_features",
    "probability",
    "same_entry",
    "sure",
    "worth_checking",
]

FEATURES = (
    "cosine",
    "shared_words",
    "contained_words",
    "trigrams",
    "same_identifier",
    "one_sided_identifier",
    "length_ratio",
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether two wordings are one entry: True, False, or None where a person should look."""

    same: bool | None
    reason: str
    features: Mapping[str, float] = field(default_factory=dict, hash=False)


def pair_features(a: str, b: str, cosine: float) -> dict[str, float]:
    """What the model sees of a pair: meaning (cosine), words, spelling and identifiers; each rounded to 4 digits."""
    values = _values(reading(a), reading(b), cosine)
    return {name: round(value, 4) for name, value in zip(FEATURES, values, strict=True)}


def _values(a: Reading, b: Reading, cosine: float) -> tuple[float, ...]:
    shared, grams = len(a.content & b.content), shared_trigrams(a, b)
    n, m, less, more = a.meanings, b.meanings, a.length, b.length
    if less > more:
        less, more = more, less
    return (
        cosine,
        shared / (n + m - shared) if shared else 0.0,
        shared / (n if n < m else m) if shared else 0.0,
        grams / (a.grams + b.grams - grams) if grams else 0.0,
        0.0 if a.identifiers.isdisjoint(b.identifiers) else 1.0,
        1.0 if bool(a.identifiers) != bool(b.identifiers) else 0.0,
        less / more if more else 0.0,
    )


@cache
def _model(kind: Kind) -> dict[str, float]:
    text = (resources.files("memlab.curation") / "pairs.json").read_text("utf-8")
    data: dict[str, dict[str, float]] = json.loads(text)
    return data[kind]


@cache
def _weights(kind: Kind) -> tuple[float, ...]:
    model = _model(kind)
    return tuple(model[name] for name in ("intercept", *FEATURES))


def probability(features: Mapping[str, float], kind: Kind) -> float:
    """The model's probability that a pair with these features is one entry, in [0, 1]."""
    return _logistic(_weights(kind), [features[name] for name in FEATURES])


def _logistic(weights: Sequence[float], values: Sequence[float]) -> float:
    # Written out, for this is the hot spot; one fixed order gives the same bits in every version of Python.
    w, a, b, c, d, e, f, g = weights
    x, y, z, t, u, v, r = values
    return 1 / (1 + math.exp(-(w + a * x + b * y + c * z + d * t + e * u + f * v + g * r)))


def likelihood(a: str | Reading, b: str | Reading, cosine: float, kind: Kind) -> float:
    """The probability that two wordings which no guard keeps apart are one entry: 1 for the same words in any order."""
    left = a if isinstance(a, Reading) else reading(a)
    right = b if isinstance(b, Reading) else reading(b)
    if left.length == right.length and left.bag == right.bag and left.content:
        return 1.0
    return _logistic(_weights(kind), _values(left, right, cosine))


def worth_checking(kind: Kind) -> float:
    """The probability below which a candidate changes no decision: neither the best, nor a rival, nor in doubt."""
    model = _model(kind)
    return min(model["review_above"], model["merge_above"] - model["margin"])


def sure(kind: Kind, p: float) -> bool:
    """Whether a probability is so high that nothing else needs to be looked at."""
    return p >= _model(kind)["sure_above"]


def merges(kind: Kind, probabilities: Sequence[float]) -> bool:
    """Whether the best of several candidates is the one meant: sure by itself, or likely and clearly ahead of the next.

    Merging asks for more than `compare` does of one pair: a memory holds many entries of which at most one is meant,
    and what was read out of a conversation is a rougher wording than two phrases put side by side. The cuts are those
    at which the shipped corpus, read by the offline extractor, keeps nine of ten pieces of evidence with their own.

    Parameters
    ----------
    kind : {"symptom", "cause", "solution"}
        The column.
    probabilities : sequence of float
        Of the candidates, best first.
    """
    model, best = _model(kind), probabilities[0]
    rival = probabilities[1] if len(probabilities) > 1 else 0.0
    return best >= model["sure_above"] or (best >= model["merge_above"] and best - rival >= model["margin"])


def compare(a: str, b: str, cosine: float, kind: Kind) -> Verdict:
    """Decide about two wordings whose vectors have this cosine.

    Parameters
    ----------
    a, b : str
        Wordings of one column.
    cosine : float
        Cosine of their sentence vectors, in [-1, 1].
    kind : {"symptom", "cause", "solution"}
        The column.
    """
    if normal_key(a) == normal_key(b):
        return Verdict(True, "same words", {"cosine": 1.0})
    features = pair_features(a, b, cosine)
    reason = conflict(a, b)
    if reason:
        return Verdict(False, reason, features)
    return judge(features, likelihood(a, b, cosine, kind), kind)


def judge(features: Mapping[str, float], p: float, kind: Kind) -> Verdict:
    """What a probability means for a pair that no guard keeps apart."""
    model, features = _model(kind), {**features, "probability": round(p, 4)}
    if p == 1.0:
        return Verdict(True, "same words in another order", features)
    if p >= model["same_above"]:
        return Verdict(True, f"same meaning (p = {p:.2f})", features)
    if p >= model["review_above"]:
        return Verdict(None, f"{DOUBT} (p = {p:.2f}): a person should look", features)
    return Verdict(False, f"different meaning (p = {p:.2f})", features)


def same_entry(a: str, b: str, *, kind: Kind = "symptom", encoder: Encoder | None = None) -> Verdict:
    """Whether two wordings name the same symptom, root cause or solution.

    Parameters
    ----------
    a, b : str
        The wordings.
    kind : {"symptom", "cause", "solution"}
        What they name.
    encoder : Encoder, optional
        By default all-MiniLM-L6-v2.

    Returns
    -------
    Verdict
        `same` is None where the offline model is not sure enough either way.

    >>> same_entry("error 809 on VPN", "error 691 on VPN", kind="symptom").same
    False
    """
    from memlab.models.embeddings import default_encoder

    if normal_key(a) == normal_key(b):
        return compare(a, b, 1.0, kind)
    vectors = whole((encoder or default_encoder()).encode([a, b]))
    return compare(a, b, cosines(vectors[:1], vectors[1])[0], kind)
