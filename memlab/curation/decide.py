"""Same entry or not: exact key, then guards, then a small logistic model over a pair's features."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from math import exp, inf
from typing import TYPE_CHECKING, Any, Literal

from memlab.corpus.languages import in_english
from memlab.curation.guards import Reading, conflict, reading, shared_trigrams
from memlab.curation.keys import normal_key
from memlab.curation.vectors import cosines, whole
from memlab.operations import DOUBT
from memlab.records import Kind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memlab.models.embeddings import Encoder

__all__ = [
    "FEATURES",
    "Verdict",
    "compare",
    "judge",
    "likelihood",
    "likelihoods",
    "likely",
    "logits",
    "merges",
    "pair_features",
    "probability",
    "rival_matters",
    "same_entry",
    "shared_counts",
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
FAR = {"symptom": 0.3, "cause": 0.35, "solution": 0.4}  # the cosine below which shared words make nothing the same
CENTRED = 0.15  # how much lower cosines are once the category's mean is taken off
DOUBTFUL = 0.49  # the most that a pair so far apart can reach: no merge, at best a question to a person
Company = Literal["alone", "among"]
"""Whether a pair is looked at by itself, or among the other wordings of its category (with the centred cosine)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether two wordings are one entry: True, False, or None where a person should look."""

    same: bool | None
    reason: str
    features: Mapping[str, float] = field(default_factory=dict, hash=False)


def pair_features(a: str, b: str, cosine: float) -> dict[str, float]:
    """What the model sees of a pair: meaning (cosine), words, spelling and identifiers; each rounded to 4 digits.

    Words and spelling are those of the telling words: that both name the same product makes no two problems the same.
    """
    values = _values(reading(a), reading(b), cosine)
    return {name: round(value, 4) for name, value in zip(FEATURES, values, strict=True)}


def _values(a: Reading, b: Reading, cosine: float) -> tuple[float, ...]:
    shared, grams = len(a.telling & b.telling), shared_trigrams(a, b)
    n, m, less, more = a.tellings, b.tellings, a.length, b.length
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
def _model(kind: Kind) -> dict[str, Any]:
    text = (resources.files("memlab.curation") / "pairs.json").read_text("utf-8")
    data: dict[str, dict[str, Any]] = json.loads(text)
    return data[kind]


@cache
def _weights(kind: Kind, company: Company) -> tuple[float, ...]:
    model = _model(kind)[company]
    return tuple(model[name] for name in ("intercept", *FEATURES))


def probability(features: Mapping[str, float], kind: Kind, company: Company = "alone") -> float:
    """The model's probability that a pair with these features is one entry, in [0, 1]."""
    return _logistic(_weights(kind, company), [features[name] for name in FEATURES])


def _logistic(weights: Sequence[float], values: Sequence[float]) -> float:
    w, a, b, c, d, e, f, g = weights
    x, y, z, t, u, v, r = values
    return 1 / (1 + exp(-(w + a * x + b * y + c * z + d * t + e * u + f * v + g * r)))


def likelihood(a: str | Reading, b: str | Reading, cosine: float, kind: Kind, company: Company = "alone") -> float:
    """The probability that two wordings which no guard keeps apart are one entry: 1 for the same words in any order.

    Parameters
    ----------
    a, b : str or Reading
        The wordings.
    cosine : float
        Of their vectors; centred (see `vectors.centred`) if `company` is "among".
    kind : {"symptom", "cause", "solution"}
        The column.
    company : {"alone", "among"}
        Which of the two models to ask.
    """
    left = a if isinstance(a, Reading) else reading(a)
    right = b if isinstance(b, Reading) else reading(b)
    return likelihoods(left, [right], [cosine], kind, company)[0]


def likelihoods(
    new: Reading, others: Sequence[Reading], cosines: Sequence[float], kind: Kind, company: Company = "alone"
) -> list[float]:
    """What `likelihood` says of one wording and each of several others, given their cosines."""
    # Written out, for this is the hot spot; one fixed order gives the same bits in every version of Python.
    w, a, b, c, d, e, f, g = _weights(kind, company)
    far = FAR[kind] - (CENTRED if company == "among" else 0.0)
    telling, mask, rest, names, grams = new.telling, new.mask, new.rest, new.identifiers, new.grams
    size, length, named = new.tellings, new.length, bool(new.identifiers)
    out = []
    for other, cosine in zip(others, cosines, strict=False):
        n, m = other.length, other.tellings
        if length == n and new.bag == other.bag and new.content:
            out.append(1.0)
            continue
        shared = len(telling & other.telling)
        both = (mask & other.mask).bit_count()
        if rest and other.rest:
            both += len(rest & other.rest)
        z = w + a * cosine
        if shared:
            z += b * (shared / (size + m - shared))
            z += c * (shared / (size if size < m else m))
        if both:
            z += d * (both / (grams + other.grams - both))
        if named or other.identifiers:
            if not names.isdisjoint(other.identifiers):
                z += e
            if named != bool(other.identifiers):
                z += f
        if length or n:
            z += g * (length / n if length < n else n / length)
        p = 1 / (1 + exp(-z))
        # "wipe the rollers" and "delete the old queue" share a verb, "replace the fuser" and "replace the drum" too.
        out.append(p if cosine >= far or p < DOUBTFUL else DOUBTFUL)
    return out


def logits(
    readings: Sequence[Reading],
    shared: tuple[NDArray[np.float64], NDArray[np.float64]],
    cosines: NDArray[np.float64],
    kind: Kind,
    company: Company,
) -> NDArray[np.float64]:
    """What goes into `likely` for each pair of wordings, shape (n, n): infinite for the same words in any order.

    Parameters
    ----------
    readings : sequence of Reading
        n wordings of one column.
    shared : two arrays, shape (n, n)
        How many telling words and trigrams each two have in common, see `shared_counts`.
    cosines : array, shape (n, n)
        Of their vectors; centred if `company` is "among".
    kind, company
        As in `likelihood`.
    """
    import numpy as np

    w, a, b, c, d, e, f, g = _weights(kind, company)
    telling, length, grams = (
        np.array([getattr(r, name) for r in readings], np.float64) for name in ("tellings", "length", "grams")
    )
    words, both = shared
    named = np.array([bool(r.identifiers) for r in readings])
    size, other = telling[:, None], np.maximum(length, 1.0)
    # The same sums in the same order as in `likelihoods`; what is added there under a condition is 0 here without it.
    z = w + a * cosines
    z += b * (words / np.maximum(size + telling - words, 1.0))
    z += c * (words / np.maximum(np.minimum(size, telling), 1.0))
    z += d * (both / np.maximum(grams[:, None] + grams - both, 1.0))
    carriers = named.nonzero()[0].tolist()
    for i in carriers:
        mine = readings[i].identifiers
        z[i, [n for n in carriers if not mine.isdisjoint(readings[n].identifiers)]] += e
    z += f * (named[:, None] != named)
    z += g * (np.minimum(length[:, None], length) / np.maximum(other[:, None], other))
    bags: dict[tuple[str, ...], list[int]] = {}
    for n, r in enumerate(readings):
        if r.content:
            bags.setdefault(r.bag, []).append(n)
    for places in bags.values():
        for n in places:
            z[n, places] = np.inf
    return z


def shared_counts(readings: Sequence[Reading]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How many telling words, and trigrams of them, each two wordings have in common."""
    import numpy as np

    number: dict[str, int] = {}
    words = [[number.setdefault(w, len(number)) for w in r.telling] for r in readings]
    incidence = np.zeros((len(readings), len(number) + 1), np.float32)
    for row, mine in zip(incidence, words, strict=True):
        row[mine] = 1.0
    size = max([r.mask.bit_length() for r in readings]) // 8 + 1
    packed = np.frombuffer(b"".join([r.mask.to_bytes(size, "little") for r in readings]), np.uint8)
    bits = np.unpackbits(packed.reshape(len(readings), -1), axis=1)
    grams = bits[:, bits.any(axis=0)].astype(np.float32)
    shared, both = (np.asarray(m @ m.T, np.float64) for m in (incidence, grams))  # of zeros and ones: exact
    if any(r.rest for r in readings):
        both += [[len(one.rest & other.rest) for other in readings] for one in readings]
    return shared, both


def likely(
    logits: Sequence[float], cosines: Sequence[float], spans: Sequence[Sequence[int]], kind: Kind, company: Company
) -> list[list[float]]:
    """The probabilities that go with logits and cosines at some places, span by span."""
    far = FAR[kind] - (CENTRED if company == "among" else 0.0)
    out = []
    for places in spans:
        found = [1 / (1 + exp(-logits[n])) for n in places]
        if max(found) > DOUBTFUL:
            # "wipe the rollers", "delete the old queue" share a verb, "replace the fuser", "replace the drum" too.
            found = [
                DOUBTFUL if p > DOUBTFUL and cosines[n] < far and logits[n] != inf else p
                for n, p in zip(places, found, strict=True)
            ]
        out.append(found)
    return out


def worth_checking(kind: Kind) -> float:
    """The probability below which a candidate changes no decision: neither the best, nor a rival, nor in doubt."""
    model = _model(kind)
    return min(float(model["review_above"]), float(model["merge_above"]) - float(model["margin"]))


def sure(kind: Kind, p: float) -> bool:
    """Whether a probability is so high that nothing else needs to be looked at."""
    return p >= float(_model(kind)["sure_above"])


def rival_matters(kind: Kind, best: float) -> bool:
    """Whether the next likely candidate has a say, or is spoken of, if the best one has this probability."""
    model = _model(kind)
    return min(float(model["same_above"]), float(model["merge_above"])) <= best < float(model["sure_above"])


def merges(kind: Kind, probabilities: Sequence[float]) -> bool:
    """Whether the best of several candidates is the one meant: sure by itself, or likely and clearly ahead of the next.

    Merging asks for more than `compare` does of one pair: a memory holds many entries of which at most one is meant,
    and what was read out of a conversation is a rougher wording than two phrases put side by side. The cuts are chosen
    by `scripts/train_pairs.py` on the causes that the model learned from.

    Parameters
    ----------
    kind : {"symptom", "cause", "solution"}
        The column.
    probabilities : sequence of float
        Of the candidates, best first.
    """
    model, best = _model(kind), probabilities[0]
    rival = probabilities[1] if len(probabilities) > 1 else 0.0
    if best >= float(model["sure_above"]):
        return True
    return best >= float(model["merge_above"]) and best - rival >= float(model["margin"])


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
        The wordings, in English, German or French.
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

    a, b = in_english(a), in_english(b)
    if normal_key(a) == normal_key(b):
        return compare(a, b, 1.0, kind)
    vectors = whole((encoder or default_encoder()).encode([a, b]))
    return compare(a, b, cosines(vectors[:1], vectors[1])[0], kind)
