"""Same entry or not: exact key, then guards, then a small logistic model over a pair's features."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from memlab.curation.guards import conflict, content_words, identifiers
from memlab.curation.keys import normal_key, words
from memlab.records import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memlab.models.embeddings import Encoder

__all__ = ["FEATURES", "Verdict", "compare", "pair_features", "same_entry"]

FEATURES = ("cosine", "shared_words", "contained_words", "trigrams", "same_identifier", "one_sided_identifier", "length_ratio")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether two wordings are one entry: True, False, or None where a person should look."""

    same: bool | None
    reason: str
    features: Mapping[str, float] = field(default_factory=dict, hash=False)


def pair_features(a: str, b: str, cosine: float) -> dict[str, float]:
    """What the model sees of a pair: meaning (cosine), words, spelling and identifiers; each rounded to 4 digits."""
    left, right = content_words(a), content_words(b)
    shared, ids_a, ids_b = left & right, identifiers(a), identifiers(b)
    grams_a, grams_b = _trigrams(a), _trigrams(b)
    sizes = sorted((len(words(a)), len(words(b))))
    values = {
        "cosine": cosine,
        "shared_words": len(shared) / max(1, len(left | right)),
        "contained_words": len(shared) / max(1, min(len(left), len(right))),
        "trigrams": len(grams_a & grams_b) / max(1, len(grams_a | grams_b)),
        "same_identifier": float(bool(ids_a & ids_b)),
        "one_sided_identifier": float(bool(ids_a) != bool(ids_b)),
        "length_ratio": sizes[0] / max(1, sizes[1]),
    }
    return {name: round(value, 4) for name, value in values.items()}


def _trigrams(text: str) -> set[str]:
    padded = f"  {normal_key(text)} "
    return {padded[n : n + 3] for n in range(len(padded) - 2)}


@cache
def _model(kind: Kind) -> dict[str, float]:
    data: dict[str, dict[str, float]] = json.loads((resources.files("memlab.curation") / "pairs.json").read_text("utf-8"))
    return data[kind]


def probability(features: Mapping[str, float], kind: Kind) -> float:
    """The model's probability that a pair with these features is one entry, in [0, 1]."""
    model = _model(kind)
    return 1 / (1 + math.exp(-(model["intercept"] + sum(model[f] * features[f] for f in FEATURES))))


def merges(kind: Kind, probabilities: Sequence[float]) -> bool:
    """Whether the best of several candidates is the one meant: sure by itself, or likely and clearly ahead of the next.

    Parameters
    ----------
    kind : {"symptom", "cause", "solution"}
        The column.
    probabilities : sequence of float
        Of the candidates, best first.
    """
    model, best = _model(kind), probabilities[0]
    rival = probabilities[1] if len(probabilities) > 1 else 0.0
    return best >= model["sure_above"] or (best >= model["same_above"] and best - rival >= model["margin"])


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
    if content_words(a) and sorted(words(a)) == sorted(words(b)):
        return Verdict(True, "same words in another order", features)
    model, p = _model(kind), probability(features, kind)
    features["probability"] = round(p, 4)
    if p >= model["same_above"]:
        return Verdict(True, f"same meaning (p = {p:.2f})", features)
    if p >= model["review_above"]:
        return Verdict(None, f"perhaps the same (p = {p:.2f}): a person should look", features)
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
    vectors = (encoder or default_encoder()).encode([a, b])
    return compare(a, b, cosines(vectors[:1], vectors[1])[0], kind)


def cosines(matrix: NDArray[np.float32], vector: NDArray[np.float32]) -> Sequence[float]:
    """Cosines of unit rows with a unit vector, rounded to 4 digits so that machines agree."""
    values: list[float] = np.round((matrix @ vector).astype(np.float64), 4).tolist()
    return values
