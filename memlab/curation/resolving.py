"""From one proposal to operations on the entries of one customer and category."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from memlab.curation.commands import fetches_and_runs
from memlab.curation.curator import Choice, Curator, OfflineCurator
from memlab.curation.decisions import NO_DECISIONS, Decisions
from memlab.curation.index import EntryIndex, Vectors
from memlab.curation.keys import normal_key
from memlab.graph import SkillGraph
from memlab.operations import NEEDS_REVIEW, Operation
from memlab.records import Evidence, Kind, Proposal, Verification

__all__ = ["SAME_WORDS", "CategoryState", "Origin", "Source", "curate", "wordings_of"]

SAME_WORDS = "same words"  # the reason of what found its very words in memory
_BY_CURATOR = "rejected by the curator"
FREE_REJECTS, REJECT_SHARE = 3, 0.1  # a curator may keep out so many wordings, and this share of all it has seen
_VERIFIED: dict[str, Verification] = {"confirmed": "confirmed", "inferred": "inferred"}


class Source(Protocol):
    """What curation needs to know of a conversation (a `Conversation` will do)."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def started_at(self) -> datetime:
        """When it started, with a zone."""
        ...

    @property
    def requester(self) -> str | None:
        """Who wrote, if known."""
        ...


@dataclass(frozen=True, slots=True)
class Origin:
    """A conversation without its turns."""

    id: str
    started_at: datetime
    requester: str | None = None


class CategoryState:
    """Graph and index of one category while operations are folded into it.

    Parameters
    ----------
    customer, category : str
        Whose, and about what.
    vectors : callable
        Gives the unit vectors of texts.
    """

    def __init__(self, customer: str, category: str, vectors: Vectors) -> None:
        self.graph = SkillGraph(customer, category)
        self.index = EntryIndex(vectors)
        self.kept_out: dict[str, set[str]] = {}  # rejected entries, and the conversations that proposed them
        self.seen = self.rejects = 0

    def apply(self, operation: Operation) -> None:
        """Fold one operation in."""
        self.graph.apply(operation)
        self.index.apply(operation)
        if operation.kept_out:
            self.kept_out.setdefault(operation.entry, set()).add(operation.conversation)
        self._count(operation, 1)

    def retract(self, operations: Sequence[Operation]) -> None:
        """Take out all operations of the last conversations that were folded in."""
        self.graph.retract(operations)
        self.index.retract(operations)
        for op in operations:
            self._count(op, -1)
            out = self.kept_out.get(op.entry, set()) if op.kept_out else set()
            out.discard(op.conversation)
            if op.kept_out and not out:
                self.kept_out.pop(op.entry, None)

    def _count(self, op: Operation, step: int) -> None:
        self.seen += step
        self.rejects += step if op.op == "reject" and op.reason.startswith(_BY_CURATOR) else 0

    @property
    def may_reject(self) -> bool:
        """Whether the curator may keep one more wording out."""
        return self.rejects < FREE_REJECTS + REJECT_SHARE * self.seen


def entry_id(category: str, kind: Kind, key: str, *, placeholder_of: str = "") -> str:
    """The name of a new entry: a hash of where it stands and of its first wording, or of what it stands in for."""
    parts = [category, kind, placeholder_of, "unknown"] if placeholder_of else [category, kind, key]
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:16]


@dataclass(slots=True)
class _Case:
    """One proposal on its way into the graph."""

    state: CategoryState
    proposal: Proposal
    source: Source
    curator: Curator
    decisions: Decisions
    operations: list[Operation] = field(default_factory=list)

    def evidence(self, verification: Verification, *, workaround: bool = False) -> Evidence:
        c = self.source
        return Evidence(c.id, c.started_at, verification, c.requester, workaround)

    def write(
        self,
        kind: Kind,
        text: str,
        evidence: Evidence,
        *,
        turn: int = 0,
        quote: str = "",
        links: Callable[[str], Iterable[tuple[str, str]]] = lambda _: (),
        placeholder_of: str = "",
    ) -> str | None:
        """Resolve a wording to an entry, apply the operation, and return the entry's id (None if it was kept out)."""
        if not text.strip():
            return None
        fresh = entry_id(self.state.graph.category, kind, normal_key(text), placeholder_of=placeholder_of)
        choice, kept_out = self._choose(kind, text, fresh, stated=not placeholder_of)
        entry = fresh if choice.op == "add" else str(choice.target or fresh)
        against = evidence.verification == "failed" and choice.op in ("reinforce", "edit")
        self._apply(
            Operation(
                op="reject" if against else choice.op,
                kind=kind,
                entry=entry,
                text=text,
                evidence=evidence,
                links=() if choice.op == "reject" else tuple(sorted(links(entry))),
                case=self.proposal.case,
                turn=turn,
                quote=quote,
                reason=f"did not help here; {choice.reason}" if against else choice.reason,
                features=dict(choice.features),
                near=choice.near,
                name=text if choice.op == "edit" and not against else "",
                stated=not placeholder_of,
                kept_out=kept_out,
            )
        )
        return None if choice.op == "reject" else entry

    def leave_out(self, text: str) -> None:
        """Log a solution that has no cause and no symptom to hang on."""
        if text.strip():
            fresh = entry_id(self.state.graph.category, "solution", normal_key(text))
            reason = "left out: no symptom and no cause of this case is in memory"
            evidence, case = self.evidence("claimed"), self.proposal.case
            self._apply(Operation("reject", "solution", fresh, text, evidence, case=case, reason=reason))

    def _apply(self, operation: Operation) -> None:
        self.state.apply(operation)
        self.operations.append(operation)

    def _choose(self, kind: Kind, text: str, fresh: str, *, stated: bool) -> tuple[Choice, bool]:
        """What to do with a wording, and whether a person keeps it out."""
        if self.decisions.rejected(kind, text):
            return Choice("reject", fresh, "a person rejected it"), True
        if fetches_and_runs(text) and not self.decisions.accepted(kind, text):
            reason = f"{NEEDS_REVIEW}: it fetches code and runs it; a person must accept it"
            return Choice("reject", fresh, reason), False
        choice = self._known(kind, text)
        if choice is None and not stated:
            choice = Choice("add", None, "no cause was established")
        if choice is None:
            choice = self._ask(kind, text, fresh)
        if choice.target in self.state.kept_out:
            return Choice("reject", choice.target, f"a person rejected it ({choice.reason})", {}, choice.near), True
        return choice, False

    def _known(self, kind: Kind, text: str) -> Choice | None:
        """An exact match, by words or because a person said so."""
        index, found = self.state.index, self.state.index.exact(kind, text)
        if found:
            return Choice("reinforce", found, SAME_WORDS)
        blocked = {index.exact(kind, other) for other in self.decisions.apart(kind, text)}
        for other in self.decisions.same(kind, text):
            found = index.exact(kind, other)
            if found and found not in blocked:
                return Choice("reinforce", found, "a person said that they are the same", {}, other)
        return None

    def _ask(self, kind: Kind, text: str, fresh: str) -> Choice:
        index = self.state.index
        blocked = {index.exact(kind, other) for other in self.decisions.apart(kind, text)}
        offered = index.nominate(kind, text).without(blocked)
        choice = self.curator.choose(kind, text, offered)
        if choice.op == "add":
            return choice
        if choice.op == "reject":
            if not self.state.may_reject:
                return Choice("add", None, f"added, since the curator has kept out its share; it said: {choice.reason}")
            reason = f"{_BY_CURATOR}: {choice.reason or 'no reason given'}"
            return Choice("reject", fresh, reason, choice.features, choice.near)
        return self._checked(kind, text, choice, offered.entries)

    def _checked(self, kind: Kind, text: str, choice: Choice, offered: Collection[str]) -> Choice:
        """Refuse a target that was not offered: it is logged, and the proposal is added so that nothing is lost."""
        if choice.op in ("reinforce", "edit") and choice.target in offered:
            return choice
        refused = "unknown_operation: it does not exist"
        if choice.op in ("reinforce", "edit"):
            refused = f"unknown_target: {choice.target!r} was not offered"
        self._apply(
            Operation(
                op="reject",
                kind=kind,
                entry=str(choice.target),
                text=text,
                evidence=self.evidence("claimed"),
                case=self.proposal.case,
                reason=f"{refused} ({choice.op})",
            )
        )
        answer = f"{choice.op} {choice.target!r}"
        return Choice("add", None, f"added, since the curator's answer could not be used ({answer})")


def curate(
    state: CategoryState,
    proposal: Proposal,
    source: Source,
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
    proposal : Proposal
        What an extractor made of one issue.
    source : Source
        The conversation that it was made of.
    curator : Curator, optional
        By default the offline one.
    decisions : Decisions
        What people decided about wordings; it binds the curator.
    """
    case = _Case(state, proposal, source, curator or OfflineCurator(), decisions)
    solved = _VERIFIED.get(proposal.resolution, "claimed")
    detour = proposal.solution is not None and proposal.solution.kind == "workaround"
    evidence = case.evidence(solved, workaround=detour)
    symptoms: list[str] = []
    for m in sorted(proposal.symptoms, key=lambda m: (normal_key(m.text), m.text, m.turn, m.quote)):
        entry = case.write("symptom", m.text, evidence, turn=m.turn, quote=m.quote)
        if entry and entry not in symptoms:
            symptoms.append(entry)
    cause = _write_cause(case, symptoms, evidence)
    s, failed = proposal.solution, [a for a in proposal.attempts if a.outcome == "failed"]
    failed.sort(key=lambda a: (normal_key(a.action), a.action, a.turn, a.quote))
    if cause is None:
        for text in [*([s.text] if s else []), *(a.action for a in failed)]:
            case.leave_out(text)
        return case.operations
    if s is not None:
        case.write("solution", s.text, evidence, turn=s.turn, quote=s.quote, links=lambda entry: [(cause, entry)])
    for a in failed:
        against = case.evidence("failed")
        case.write("solution", a.action, against, turn=a.turn, quote=a.quote, links=lambda entry: [(cause, entry)])
    return case.operations


def _write_cause(case: _Case, symptoms: Sequence[str], evidence: Evidence) -> str | None:
    def links(entry: str) -> list[tuple[str, str]]:
        return [(symptom, entry) for symptom in symptoms]

    cause = case.proposal.root_cause
    if cause is not None:
        found = case.write("cause", cause.text, evidence, turn=cause.turn, quote=cause.quote, links=links)
        if found:
            return found
    if not symptoms:
        return None
    entries, category = case.state.graph.entries, case.state.graph.category
    known = entries.get(entry_id(category, "cause", "", placeholder_of=symptoms[0]))
    text = next(iter(known.wordings.values()))[0] if known else f"unknown cause of: {entries[symptoms[0]].title}"
    return case.write("cause", text, evidence, links=links, placeholder_of=symptoms[0])


def wordings_of(proposal: Proposal) -> dict[Kind, list[str]]:
    """The wordings of a proposal that curation resolves, by column."""
    found: dict[Kind, list[str]] = {
        "symptom": [m.text for m in proposal.symptoms],
        "cause": [proposal.root_cause.text] if proposal.root_cause else [],
        "solution": [proposal.solution.text] if proposal.solution else [],
    }
    found["solution"] += [a.action for a in proposal.attempts if a.outcome == "failed"]
    return {kind: [t for t in texts if t.strip()] for kind, texts in found.items()}
