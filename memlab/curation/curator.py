"""Who decides about a wording that has no exact match: the protocol, and the offline curator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Literal, Protocol

from memlab.curation.decide import Company, judge, likelihoods, merges, pair_features, rival_matters, worth_checking
from memlab.curation.guards import Reading, conflict, reading
from memlab.curation.index import Candidate, Nominated
from memlab.operations import DOUBT
from memlab.records import Kind

MOST_WORDINGS = 8  # of a candidate that a proposal is compared with, nearest first
UNLIKE = 0.2  # a candidate whose nearest wording is less likely the same than this is not looked at further

__all__ = ["MOST_WORDINGS", "Choice", "Curator", "OfflineCurator"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What a curator wants to do with one proposed wording.

    Attributes
    ----------
    op : {"add", "edit", "reinforce", "reject"}
        Add it as a new entry; reinforce the target, with `edit` also taking the wording for its title; keep it out.
    target : str or None
        An entry that was offered, except for `add` and `reject`.
    reason : str
        Why, in words. One that says "perhaps the same" asks a person to look.
    features : mapping
        The numbers that the choice rests on.
    near : str
        The wording that the proposed one was compared with.
    """

    op: Literal["add", "edit", "reinforce", "reject"]
    target: str | None = None
    reason: str = ""
    features: Mapping[str, float] = field(default_factory=dict, hash=False)
    near: str = ""


class Curator(Protocol):
    """Decides about a wording that has no exact match; it sees at most k candidates of one customer and category."""

    @property
    def name(self) -> str:
        """Which curator, in which version: operations of another are made again."""
        ...

    def choose(self, kind: Kind, text: str, candidates: Sequence[Candidate]) -> Choice:
        """Add the wording as a new entry, or reinforce, edit or reject one of the candidates."""
        ...


class OfflineCurator:
    """Guards and a small model over pair features; a candidate is ruled out if any of its wordings conflicts.

    A candidate scores the mean probability over its wordings (average linkage), so that one odd wording does not pull
    in others. It must be sure by itself, or clearly ahead of every other candidate.
    """

    name = "offline-5"

    def choose(self, kind: Kind, text: str, candidates: Sequence[Candidate]) -> Choice:
        """Reinforce the one candidate that is the same, else add."""
        new, relevant, first = reading(text), worth_checking(kind), None
        known = candidates.likelihoods() if isinstance(candidates, Nominated) else None
        entries = candidates.entries if isinstance(candidates, Nominated) else [c.entry for c in candidates]
        linked = [
            (-_linkage(p), entry, n)
            for n, (p, entry) in enumerate(zip(known or _likelihoods(kind, new, candidates), entries, strict=True))
        ]
        scored: list[tuple[float, Candidate]] = []
        # Likeliest first: a guard is only asked about a candidate that the decision may still hang on.
        for minus, _, n in sorted(linked):
            if scored and not rival_matters(kind, scored[0][0]):
                break
            candidate = candidates[n]
            ruled_out = _ruled_out(new, _readings(candidate)) if -minus >= relevant else None  # nothing hangs on others
            if ruled_out is None:
                scored.append((-minus, candidate))
                if len(scored) == 2:
                    break
            elif n == 0:
                first = ruled_out
        if scored:
            return _decide(kind, text, scored)
        if first:
            return Choice("add", None, f"kept apart: {first[1]}", {}, candidates[0].wordings[first[0]])
        return Choice("add", None, "nothing like it yet")


def _readings(candidate: Candidate) -> tuple[Reading, ...]:
    return (candidate.readings or tuple(map(reading, candidate.wordings)))[:MOST_WORDINGS]


def _likelihoods(kind: Kind, new: Reading, candidates: Sequence[Candidate]) -> list[list[float]]:
    """What the pair model says of each candidate's wordings; the nearest one is enough if it is quite unlike."""
    out = []
    for candidate in candidates:
        company: Company = "among" if candidate.centred else "alone"
        values, wordings = candidate.centred or candidate.cosines, _readings(candidate)
        found = likelihoods(new, wordings[:1], values, kind, company)
        if found[0] >= UNLIKE and len(wordings) > 1:
            found += likelihoods(new, wordings[1:], values[1:], kind, company)
        out.append(found)
    return out


def _linkage(found: Sequence[float]) -> float:
    """Mean probability over a candidate's wordings; that of the nearest one alone if it is quite unlike."""
    if found[0] < UNLIKE or len(found) == 1:
        return round(found[0], 4)
    return round(fsum(found[:MOST_WORDINGS]) / min(len(found), MOST_WORDINGS), 4)


def _ruled_out(new: Reading, wordings: Sequence[Reading]) -> tuple[int, str] | None:
    """The number of the first wording that a guard keeps apart from a new one, and why."""
    for number, wording in enumerate(wordings):
        reason = conflict(new, wording)
        if reason:
            return number, reason
    return None


def _decide(kind: Kind, text: str, scored: Sequence[tuple[float, Candidate]]) -> Choice:
    p, best = scored[0]
    near = best.wordings[0]
    among = {"centred_cosine": best.centred[0]} if best.centred else {}
    verdict = judge({**pair_features(text, near, best.cosines[0]), **among}, p, kind)
    if merges(kind, [s[0] for s in scored]):
        return Choice("reinforce", best.entry, verdict.reason, verdict.features, near)
    reason = verdict.reason if verdict.same is None else f"kept apart: {verdict.reason}"
    if verdict.same:  # likely, but not enough among many entries, or another one is as likely
        others = f", {scored[1][0]:.2f} for another" if len(scored) > 1 else ""
        reason = f"{DOUBT} (p = {p:.2f}{others}): a person should look"
    return Choice("add", None, reason, verdict.features, near)
