"""The curator: one proposal at a time becomes operations on the entries of one customer and category."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from memlab.curation.decide import Verdict, compare, merges
from memlab.curation.decisions import NO_DECISIONS, Decisions
from memlab.curation.index import Candidate, EntryIndex, Vectors
from memlab.curation.keys import normal_key
from memlab.decay import DEFAULT, WeightRule
from memlab.graph import SkillGraph
from memlab.operations import Operation
from memlab.records import Conversation, Evidence, Kind, Proposal, Verification, content_hash

MOST_WORDINGS = 8  # of a candidate that a proposal is compared with, nearest first

__all__ = ["CategoryState", "Choice", "Curator", "OfflineCurator", "curate"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What a curator wants to do with one proposed wording; `target` names the entry, except for `add`."""

    op: Literal["add", "edit", "reinforce", "reject"]
    target: str | None = None
    reason: str = ""
    features: Mapping[str, float] = field(default_factory=dict, hash=False)


class Curator(Protocol):
    """Decides about a wording that has no exact match; it sees at most k candidates of one customer and category."""

    name: str

    def choose(self, kind: Kind, text: str, candidates: Sequence[Candidate]) -> Choice:
        """Add the wording as a new entry, or reinforce, edit or reject one of the candidates."""
        ...


class OfflineCurator:
    """Guards and a small model over pair features; a candidate is ruled out if any of its wordings conflicts.

    A candidate scores the mean probability over its wordings (average linkage), so that one odd wording does not pull
    in others. It must be sure by itself, or clearly ahead of every other candidate.
    """

    name = "offline-1"

    def choose(self, kind: Kind, text: str, candidates: Sequence[Candidate]) -> Choice:
        """Reinforce the one candidate that is the same, else add."""
        scored: list[tuple[float, Candidate, Verdict]] = []
        apart: Verdict | None = None
        for candidate in candidates:
            pairs = zip(candidate.wordings[:MOST_WORDINGS], candidate.cosines, strict=False)
            verdicts = [compare(text, wording, cosine, kind) for wording, cosine in pairs]
            ruled_out = next((v for v in verdicts if "probability" not in v.features and v.same is False), None)
            if ruled_out:
                apart = apart or ruled_out
            else:
                mean = sum(v.features.get("probability", 1.0) for v in verdicts) / len(verdicts)
                scored.append((round(mean, 4), candidate, verdicts[0]))
        scored.sort(key=lambda s: (-s[0], s[1].entry))
        if scored and merges(kind, [s[0] for s in scored]):
            return Choice("reinforce", scored[0][1].entry, scored[0][2].reason, scored[0][2].features)
        nearest = scored[0][2] if scored else apart
        if nearest is None:
            return Choice("add", None, "nothing like it yet")
        return Choice("add", None, f"kept apart: {nearest.reason}", nearest.features)


class CategoryState:
    """Graph and index of one category while operations are folded into it."""

    def __init__(self, customer: str, category: str, vectors: Vectors, rule: WeightRule = DEFAULT) -> None:
        self.graph = SkillGraph(customer, category, rule=rule)
        self.index = EntryIndex(vectors)

    def apply(self, operation: Operation) -> None:
        """Fold one operation into graph and index."""
        self.graph.apply(operation)
        self.index.apply(operation)


@dataclass(slots=True)
class _Case:
    """One proposal on its way into the graph."""

    state: CategoryState
    proposal: Proposal
    conversation: Conversation
    curator: Curator
    decisions: Decisions
    record: Callable[[Operation], None]

    def evidence(self, verification: Verification, *, workaround: bool = False) -> Evidence:
        c = self.conversation
        return Evidence(c.id, c.started_at, verification, c.requester, workaround)

    def write(
        self,
        kind: Kind,
        text: str,
        evidence: Evidence,
        *,
        turn: int = 0,
        quote: str = "",
        links: Callable[[str], Sequence[tuple[str, str]]] = lambda entry: (),
        key: str | None = None,
    ) -> str | None:
        """Resolve a wording to an entry, apply the operation, and return the entry's id (None if rejected)."""
        category = self.state.graph.category
        fresh = content_hash([category, kind, key or normal_key(text)])
        choice = self._choose(kind, text, fresh, exact=key is not None)
        entry = fresh if choice.op == "add" else str(choice.target)
        operation = Operation(
            op=choice.op,
            kind=kind,
            entry=entry,
            text=text,
            evidence=evidence,
            links=() if choice.op == "reject" else tuple(sorted(links(entry))),
            case=self.proposal.case,
            turn=turn,
            quote=quote,
            reason=choice.reason,
            features=dict(choice.features),
        )
        self.state.apply(operation)
        self.record(operation)
        return None if choice.op == "reject" else entry

    def _choose(self, kind: Kind, text: str, fresh: str, *, exact: bool) -> Choice:
        if exact:
            known = fresh in self.state.graph.entries
            return Choice("reinforce", fresh, "same entry") if known else Choice("add", None, "no cause was established")
        if self.decisions.rejected(kind, text):
            return Choice("reject", fresh, "a person rejected this entry")
        found = self.state.index.exact(kind, text)
        if found:
            return Choice("reinforce", found, "same words")
        for other in self.decisions.same(kind, text):
            found = self.state.index.exact(kind, other)
            if found:
                return Choice("reinforce", found, "a person said that they are the same")
        candidates = self.state.index.nominate(kind, text)
        offered = [c for c in candidates if not any(self.decisions.apart(kind, text, w) for w in c.wordings)]
        return self._checked(kind, text, self.curator.choose(kind, text, offered), offered, fresh)

    def _checked(self, kind: Kind, text: str, choice: Choice, offered: Sequence[Candidate], fresh: str) -> Choice:
        """Refuse a target that was not offered: it is logged, and the proposal is added so that nothing is lost."""
        if choice.op == "add":
            return choice
        if choice.op == "reject":
            return Choice("reject", choice.target or fresh, choice.reason or "rejected by the curator", choice.features)
        if choice.op in ("reinforce", "edit") and any(c.entry == choice.target for c in offered):
            return choice
        refused = Operation(
            op="reject",
            kind=kind,
            entry=str(choice.target),
            text=text,
            evidence=self.evidence("claimed"),
            case=self.proposal.case,
            reason=f"unknown_target: {choice.op} {choice.target!r} was not offered",
        )
        self.record(refused)
        return Choice("add", None, "added because the curator named an entry that was not offered")


def curate(
    state: CategoryState,
    proposal: Proposal,
    conversation: Conversation,
    *,
    curator: Curator | None = None,
    decisions: Decisions = NO_DECISIONS,
) -> list[Operation]:
    """Fold one proposal into a category's state and return the operations that did it.

    Symptoms come first, then the root cause with a link from each symptom, then the solution and what failed, each
    linked from the cause. Where no cause was established, a placeholder stands for "the unknown cause of" the symptom.

    Parameters
    ----------
    state : CategoryState
        Changed in place. Proposals must arrive in the order of (started_at, id, case).
    proposal, conversation
        The proposal and the conversation that it was made of.
    curator : Curator, optional
        By default the offline one.
    decisions : Decisions
        What people decided about wordings; it binds the curator.
    """
    operations: list[Operation] = []
    case = _Case(state, proposal, conversation, curator or OfflineCurator(), decisions, operations.append)
    solved: Verification = {"confirmed": "confirmed", "inferred": "inferred"}.get(proposal.resolution, "claimed")  # type: ignore[assignment]
    detour = proposal.solution is not None and proposal.solution.kind == "workaround"

    symptoms: list[str] = []
    for m in sorted(proposal.symptoms, key=lambda m: (normal_key(m.text), m.text)):
        entry = case.write("symptom", m.text, case.evidence(solved, workaround=detour), turn=m.turn, quote=m.quote)
        if entry and entry not in symptoms:
            symptoms.append(entry)
    cause = _write_cause(case, symptoms, solved, detour)
    if cause is None:
        return operations
    s = proposal.solution
    if s is not None:
        case.write(
            "solution", s.text, case.evidence(solved, workaround=detour), turn=s.turn, quote=s.quote,
            links=lambda entry: [(cause, entry)],
        )  # fmt: skip
    for a in sorted(proposal.attempts, key=lambda a: (normal_key(a.action), a.turn)):
        if a.outcome == "failed":
            case.write(
                "solution", a.action, case.evidence("failed"), turn=a.turn, quote=a.quote,
                links=lambda entry: [(cause, entry)],
            )  # fmt: skip
    return operations


def _write_cause(case: _Case, symptoms: Sequence[str], solved: Verification, detour: bool) -> str | None:
    cause, evidence = case.proposal.root_cause, case.evidence(solved, workaround=detour)

    def links(entry: str) -> list[tuple[str, str]]:
        return [(symptom, entry) for symptom in symptoms]

    if cause is not None:
        return case.write("cause", cause.text, evidence, turn=cause.turn, quote=cause.quote, links=links)
    needed = case.proposal.solution is not None or any(a.outcome == "failed" for a in case.proposal.attempts)
    if not needed or not symptoms:
        return None
    known = case.state.graph.entries[symptoms[0]].title
    return case.write("cause", f"unknown cause of: {known}", evidence, links=links, key=f"unknown {symptoms[0]}")
