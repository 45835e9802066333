"""A plain baseline beside the extractor: a clause is what it resembles most, measured against mean vectors.

For each field the mean sentence vector of the train split's clauses that state it, and of all clauses; a clause is
marked if it is so much nearer to the first than to the second. The cuts are chosen on the dev split, and the phrases
are made by the very functions that the extractor uses. It sees neither the clauses around nor who speaks when.
"""

from __future__ import annotations

import io
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from memlab.errors import InputError
from memlab.evaluation.extraction import evaluate_extraction
from memlab.evaluation.matching import TextVectors
from memlab.extraction.clauses import Clause, clauses_of
from memlab.extraction.offline import MOST_SYMPTOMS
from memlab.extraction.phrases import phrase
from memlab.extraction.reader import OUTCOMES, RESOLUTIONS
from memlab.extraction.titles import title
from memlab.extraction.triage import OTHER
from memlab.models.embeddings import Encoder, default_encoder
from memlab.records import Attempt, Conversation, Mention, Proposal, Proposals, Resolution, Solution

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Prototypes",
    "choose_cuts",
    "learn_prototypes",
    "prototype_proposals",
    "read_prototypes",
    "shipped_prototypes",
]

FIELD_OF = {"symptoms": "symptom", "root_cause": "cause", "solution": "solution", "attempts": "attempt"}
SHARPNESS = 20.0  # how fast a clause counts less in a title as it is less alike; the best clause counts 1
GRID = tuple(round(0.04 * n - 0.2, 2) for n in range(16))
Key = tuple[str, str]
CUT_FOR = {  # which score a cut is chosen for
    "symptom": "symptoms",
    "cause": "root_cause",
    "solution": "solution",
    "attempt": "attempts",
    "resolution": "resolution",
    "kind": "solution_kind",
    "low": "low_value",
}


@dataclass(frozen=True, slots=True)
class Prototypes:
    """Mean vectors, and how much nearer to one a clause must be.

    Attributes
    ----------
    means : dict of (what, name) to unit vector of shape (dimension,)
        For example ("field", "cause"), ("outcome", "failed"), ("resolution", "confirmed"), ("field", "any").
    cuts : dict of name to float
        Least difference of two cosines at which a clause, or a conversation, is marked.
    """

    means: Mapping[Key, NDArray[np.float32]]
    cuts: Mapping[str, float]

    def margin(self, vectors: NDArray[np.float32], of: Key, against: Key) -> NDArray[np.float64]:
        """How much nearer each vector is to one mean than to the other; -1 where one of them is not known."""
        if of not in self.means or against not in self.means:
            return np.full(len(vectors), -1.0)
        return np.asarray(np.round(vectors @ (self.means[of] - self.means[against]), 4), np.float64)

    def nearest(self, vector: NDArray[np.float32], what: str, *, default: str) -> str:
        """The name whose mean is nearest; the default if none is known."""
        known = sorted(name for kind, name in self.means if kind == what)
        return max(known, key=lambda n: (round(float(self.means[what, n] @ vector), 4), n), default=default)

    def to_bytes(self) -> bytes:
        """As a file for `read_prototypes`; equal prototypes give equal arrays."""
        buffer = io.BytesIO()
        arrays = {f"mean {kind} {name}": v.astype(np.float16) for (kind, name), v in sorted(self.means.items())}
        cuts = {f"cut {name}": np.float64(v) for name, v in sorted(self.cuts.items())}
        np.savez_compressed(buffer, allow_pickle=False, **arrays, **cuts)
        return buffer.getvalue()


def read_prototypes(data: bytes) -> Prototypes:
    """What `Prototypes.to_bytes` wrote (vectors with half precision)."""
    means: dict[Key, NDArray[np.float32]] = {}
    cuts: dict[str, float] = {}
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        for key in arrays.files:
            kind, _, name = key.partition(" ")
            if kind == "cut":
                cuts[name] = float(arrays[key])
            else:
                what, _, which = name.partition(" ")
                means[what, which] = arrays[key].astype(np.float32)
    return Prototypes(means, cuts)


@cache
def shipped_prototypes() -> Prototypes:
    """Those of the shipped corpus, made by scripts/train_prototypes.py."""
    return read_prototypes((resources.files("memlab.evaluation") / "prototypes.npz").read_bytes())


def learn_prototypes(
    conversations: Iterable[Conversation], labels: Iterable[Mapping[str, Any]], *, encoder: Encoder
) -> Prototypes:
    """Mean vectors of the clauses in which labels have their quotes; without cuts (all 0).

    Parameters
    ----------
    conversations, labels
        Of the train split, single messages among them. Conversations without a label are passed by.
    encoder : Encoder
        Who makes sentence vectors.

    Raises
    ------
    InputError
        If nothing is labelled.
    """
    by_id: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for label in labels:
        by_id[label["conversation"]].append(label)
    gathered: dict[Key, list[NDArray[np.float32]]] = defaultdict(list)
    for conversation in conversations:
        clauses = clauses_of(conversation)
        if clauses and by_id[conversation.id]:
            vectors = encoder.encode([c.text for c in clauses])
            for key, vector in _examples(conversation, clauses, vectors, by_id[conversation.id]):
                gathered[key].append(vector)
    if not gathered:
        raise InputError("prototypes need labelled conversations; none of these has a label")
    means = {key: _unit(np.mean(found, axis=0)) for key, found in sorted(gathered.items())}
    return Prototypes(means, dict.fromkeys(CUT_FOR, 0.0))


def _examples(
    conversation: Conversation,
    clauses: Sequence[Clause],
    vectors: NDArray[np.float32],
    labels: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[Key, NDArray[np.float32]]]:
    """Each vector with what it is an example of."""
    yield from ((("field", "any"), vector) for vector in vectors)
    whole, ending = _unit(vectors.mean(axis=0)), _ending(clauses, vectors)
    for label in labels:
        yield ("low", "low value" if label["low_value"] else "worth"), whole
        for name, field in FIELD_OF.items():
            for item in _items(label[name]):
                here = [v for c, v in zip(clauses, vectors, strict=True) if _holds(conversation, c, item)]
                kinds: list[Key] = [("field", field)]
                kinds += [("outcome", item["outcome"])] if field == "attempt" else []
                kinds += [("kind", str(label["solution_kind"]))] if field == "solution" else []
                yield from itertools.product(kinds, here)
        if len(conversation.turns) > 1 and not label["low_value"]:  # one message alone has no ending
            yield ("resolution", label["resolution"]), ending
            yield ("category", label["category"] or OTHER), whole


def _items(value: Any) -> list[Mapping[str, Any]]:
    return value if isinstance(value, list) else [value] if value else []


def _holds(conversation: Conversation, clause: Clause, item: Mapping[str, Any]) -> bool:
    """Whether half of the clause, or of the item's quote, stands in the other."""
    quote = item.get("quote", "")
    if not quote or clause.turn != item.get("turn"):
        return False
    at = conversation.turns[clause.turn].text.find(quote)
    shared = min(clause.end, at + len(quote)) - max(clause.start, at) if at >= 0 else 0
    return shared > 0 and shared >= 0.5 * min(len(quote), clause.end - clause.start)


def _ending(clauses: Sequence[Clause], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean of the user's last turn (of the last turn, where no user speaks)."""
    last = max((c.turn for c in clauses if c.role == "user"), default=clauses[-1].turn)
    return _unit(vectors[[c.turn == last for c in clauses]].mean(axis=0))


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9), np.float32)


def prototype_proposals(
    conversations: Iterable[Conversation], *, prototypes: Prototypes | None = None, encoder: Encoder | None = None
) -> Proposals:
    """What the baseline reads, one proposal a conversation.

    Parameters
    ----------
    conversations : iterable of Conversation
    prototypes : Prototypes, optional
        By default those of the shipped train split.
    encoder : Encoder, optional
        The one that the prototypes were learned with; by default all-MiniLM-L6-v2.
    """
    known, encoder = prototypes or shipped_prototypes(), encoder or default_encoder()
    return Proposals(_read(c, known, encoder) for c in conversations)


def _read(conversation: Conversation, known: Prototypes, encoder: Encoder) -> Proposal:
    clauses = clauses_of(conversation)
    if not clauses:
        return Proposal(conversation.id, category=conversation.category, low_value=True, resolution="abandoned")
    vectors = encoder.encode([c.text for c in clauses])
    whole = _unit(vectors.mean(axis=0))
    category = conversation.category or known.nearest(whole, "category", default=OTHER)
    if known.margin(whole[None], ("low", "low value"), ("low", "worth"))[0] >= known.cuts["low"]:
        return Proposal(conversation.id, category=category, low_value=True, resolution="abandoned")
    case = _Case(conversation, clauses, vectors, known, category)
    return Proposal(
        conversation=conversation.id,
        category=category,
        symptoms=case.symptoms(),
        root_cause=case.titled("cause"),
        attempts=case.attempts(),
        solution=case.solution(),
        resolution=case.resolution(),
    )


@dataclass(frozen=True, slots=True)
class _Case:
    """A conversation's clauses with their vectors, to be compared with the prototypes."""

    conversation: Conversation
    clauses: Sequence[Clause]
    vectors: NDArray[np.float32]
    known: Prototypes
    category: str

    def scores(self, field: str) -> NDArray[np.float64]:
        return self.known.margin(self.vectors, ("field", field), ("field", "any"))

    def symptoms(self) -> tuple[Mention, ...]:
        scores = self.scores("symptom")
        order = sorted(range(len(scores)), key=lambda n: (-scores[n], n))
        marked = [n for n in order if scores[n] >= self.known.cuts["symptom"] and self.clauses[n].role == "user"]
        found: dict[str, Mention] = {}
        for n in sorted(marked[:MOST_SYMPTOMS]):
            text = phrase(self.conversation, self.clauses[n], "symptom", self.category)
            found.setdefault(text.casefold(), Mention(text, self.clauses[n].turn, self.clauses[n].text))
        return tuple(found.values())

    def titled(self, field: str) -> Mention | None:
        scores = self.scores(field)
        best = max(range(len(scores)), key=lambda n: (scores[n], n))
        if scores[best] < self.known.cuts[field]:
            return None
        text = title(self.conversation, self.clauses, (SHARPNESS * scores).tolist(), self.category)
        return Mention(text, self.clauses[best].turn, self.clauses[best].text)

    def solution(self) -> Solution | None:
        found = self.titled("solution")
        if found is None:
            return None
        n = next(i for i, c in enumerate(self.clauses) if (c.turn, c.text) == (found.turn, found.quote))
        margin = self.known.margin(self.vectors[n][None], ("kind", "workaround"), ("kind", "fix"))[0]
        kind: Literal["fix", "workaround"] = "workaround" if margin >= self.known.cuts["kind"] else "fix"
        return Solution(found.text, found.turn, found.quote, kind)

    def attempts(self) -> tuple[Attempt, ...]:
        found = []
        for clause, vector, score in zip(self.clauses, self.vectors, self.scores("attempt"), strict=True):
            if score >= self.known.cuts["attempt"] and clause.role != "tool":
                outcome = next(o for o in OUTCOMES if o == self.known.nearest(vector, "outcome", default="unknown"))
                text = phrase(self.conversation, clause, "attempt", self.category)
                found.append(Attempt(text, outcome, clause.role, clause.turn, clause.text))
        return tuple(found)

    def resolution(self) -> Resolution:
        """The usual one, unless another one's mean is so much nearer to how the user ends."""
        usual: Resolution = "confirmed"
        ending = _ending(self.clauses, self.vectors)[None]
        others = [r for r in RESOLUTIONS if r != usual]
        margins = {r: float(self.known.margin(ending, ("resolution", r), ("resolution", usual))[0]) for r in others}
        best = max(others, key=lambda r: (margins[r], r))
        return best if margins[best] >= self.known.cuts["resolution"] else usual


def choose_cuts(
    prototypes: Prototypes,
    conversations: Sequence[Conversation],
    labels: Sequence[Mapping[str, Any]],
    *,
    encoder: Encoder,
    vectors: TextVectors | None = None,
    grid: Sequence[float] = GRID,
) -> Prototypes:
    """The same prototypes with the cut of each field that gives the best F1 on these conversations (the dev split).

    Ties go to the smallest cut. Fields are chosen one after another; a cut of one changes no other field's score, but
    that of low value, which comes first.
    """
    lookup, best = vectors or TextVectors(encoder), prototypes
    for name in ("low", *(n for n in CUT_FOR if n != "low")):
        scores: dict[float, float] = {}
        for cut in sorted(grid):
            tried = replace(best, cuts={**best.cuts, name: cut})
            found = prototype_proposals(conversations, prototypes=tried, encoder=encoder)
            counts = evaluate_extraction(found, labels, vectors=lookup).counts
            part = counts[counts["field"] == CUT_FOR[name]]
            total = int(part["predicted"].sum() + part["gold"].sum())
            scores[cut] = 2 * int(part["matched"].sum()) / total if total else 0.0
        chosen = max(sorted(scores), key=lambda c: scores[c])
        best = replace(best, cuts={**best.cuts, name: chosen})
    return best
