"""Episodes: one structured record a case, with the steps, devices and versions that the skill leaves out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memlab.bank import Bank
from memlab.curation.guards import identifiers
from memlab.errors import InputError
from memlab.records import Attempt, Conversation, Mention, Proposal, Resolution, Solution, canonical_json

__all__ = ["Episode", "episode_of", "episodes", "episodes_of"]


_VERIFICATION: Mapping[Resolution, str] = {
    "confirmed": "the user confirmed it",
    "inferred": "it shows from what happened",
    "unresolved": "not resolved",
    "abandoned": "left before the end",
}


@dataclass(frozen=True, slots=True)
class Episode:
    """What happened in one case, in order; a pure function of the conversation and what was read out of it.

    Attributes
    ----------
    symptoms, environment : tuple of Mention
        What was wrong, and facts about device, versions and place, each with its quote.
    steps : tuple of Attempt
        What was tried, in the order of the conversation, with outcomes.
    root_cause, solution : Mention, Solution or None
        What was behind it, and what ended it.
    resolution : str
        How well that is verified: the user says so (confirmed), it shows (inferred), or neither.
    identifiers : tuple of str
        Error codes, versions and numbers that occur in these texts and quotes, sorted.
    """

    conversation: str
    case: int
    category: str
    day: str
    requester: str | None
    symptoms: tuple[Mention, ...]
    environment: tuple[Mention, ...]
    steps: tuple[Attempt, ...]
    root_cause: Mention | None
    solution: Solution | None
    resolution: Resolution
    identifiers: tuple[str, ...]

    @property
    def quotes(self) -> tuple[tuple[int, str], ...]:
        """Every passage that the record rests on with its turn, in the order of the conversation, each once."""
        items = [*self.symptoms, *self.environment, *self.steps, self.root_cause, self.solution]
        return tuple(sorted({(item.turn, item.quote) for item in items if item and item.quote}))

    @property
    def verification(self) -> str:
        """How well the end of the case is verified, in words."""
        return _VERIFICATION[self.resolution]

    def to_json(self) -> dict[str, Any]:
        """As `memlab episodes --json` prints it."""
        data: dict[str, Any] = json.loads(canonical_json(self))
        return {**data, "verification": self.verification, "quotes": [list(q) for q in self.quotes]}

    def text(self) -> str:
        """The record as a few plain lines for an agent."""
        lines = [f"case {self.conversation} ({self.day}, {self.verification})"]
        lines += [f"symptom: {m.text}" for m in self.symptoms]
        lines += [f"environment: {m.text}" for m in self.environment]
        lines += [f"tried by {s.by}: {s.action} -> {s.outcome}" for s in self.steps]
        lines += [f"root cause: {self.root_cause.text}"] if self.root_cause else []
        lines += [f"{self.solution.kind}: {self.solution.text}"] if self.solution else []
        return "\n".join(" ".join(line.split()) for line in lines)


def episode_of(conversation: Conversation, proposal: Proposal) -> Episode:
    """The record of one case."""
    mentions = [*proposal.symptoms, *proposal.facts]
    mentions += [m for m in (proposal.root_cause,) if m]
    texts = [t for m in mentions for t in (m.text, m.quote)] + [a.quote for a in proposal.attempts]
    texts += [proposal.solution.text, proposal.solution.quote] if proposal.solution else []
    return Episode(
        conversation=conversation.id,
        case=proposal.case,
        category=proposal.category or "other",
        day=conversation.started_at.date().isoformat(),
        requester=conversation.requester,
        symptoms=proposal.symptoms,
        environment=proposal.facts,
        steps=tuple(sorted(proposal.attempts, key=lambda a: (a.turn, a.action))),
        root_cause=proposal.root_cause,
        solution=proposal.solution,
        resolution=proposal.resolution,
        identifiers=tuple(sorted(frozenset[str]().union(*map(identifiers, texts)))),
    )


def episodes_of(conversation: Conversation, proposals: Sequence[Proposal]) -> list[Episode]:
    """The records of a conversation, one a case that holds anything worth keeping."""
    return [episode_of(conversation, p) for p in proposals if not p.low_value]


def episodes(bank: Bank, conversation: str) -> list[Episode]:
    """Fetch the records of one conversation from a bank.

    Raises
    ------
    InputError
        If the bank has no such conversation.
    """
    found = bank.conversation(conversation)
    if found is None:
        raise InputError(f"no conversation {conversation!r} in the memory of {bank.customer}")
    return episodes_of(found, bank.proposals(conversation))
