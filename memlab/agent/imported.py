"""A past conversation as memories: closed history with its own dates."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memlab.agent.records import By, Memory, Telling, merged, remembered
from memlab.agent.verdicts import action_of
from memlab.records import Conversation, Outcome, Proposal

__all__ = ["memories_of"]

_WHO: dict[str, By] = {"confirmed": "user", "inferred": "tool"}


def memories_of(customer: str, conversation: Conversation, proposals: Sequence[Proposal]) -> list[Memory]:
    """What a past conversation tells of a customer: an incident an issue, its steps, and profile facts.

    An outcome counts as told by whoever verified the issue: the user, a tool, or else only the agent, which is a claim.
    """
    found: dict[str, Memory] = {}
    for p in proposals:
        if not p.low_value:
            for memory in _of_issue(customer, conversation, p):
                found[memory.id] = merged(found[memory.id], memory) if memory.id in found else memory
    return list(found.values())


def _of_issue(customer: str, conversation: Conversation, p: Proposal) -> list[Memory]:
    def telling(turn: int, by: By, outcome: Outcome, quote: str) -> Telling:
        return Telling(_moment(conversation, turn), conversation.id, by, outcome, quote)

    symptoms = tuple(dict.fromkeys(m.text for m in p.symptoms))
    who = _WHO.get(p.resolution)
    out = [remembered(customer, "profile", m.text, telling(m.turn, "user", "unknown", m.quote)) for m in p.facts]
    incident: Memory | None = None
    if p.symptoms:
        first, last = p.symptoms[0], len(conversation.turns) - 1
        ended = telling(last, who, "worked", "") if who else telling(last, "staff", "failed", "")
        incident = remembered(
            customer,
            "incident",
            first.text,
            telling(first.turn, "user", "unknown", first.quote),
            ended,
            symptoms=symptoms,
            category=conversation.category or p.category,
        )
        out.append(incident)
    tried = [(a.action, a.turn, _by(a.by, a.outcome, who), a.outcome, a.quote) for a in p.attempts]
    if p.solution is not None and who is not None:
        tried.append((p.solution.text, p.solution.turn, who, "worked", p.solution.quote))
    for action, turn, by, outcome, quote in tried:
        out.append(
            remembered(
                customer,
                "attempt",
                action_of(action),
                telling(turn, by, outcome, quote),
                symptoms=symptoms,
                inherited=bool(symptoms),
                incident=incident.id if incident else None,
                category=conversation.category or p.category,
            )
        )
    return out


def _by(by: str, outcome: Outcome, who: By | None) -> By:
    """Who vouches for a step: the user for what the user did; for the agent's, whoever verified the ending."""
    if by == "user":
        return "user"
    return who if who is not None and outcome != "unknown" else "agent"


def _moment(conversation: Conversation, turn: int) -> datetime:
    """When a turn was said; a turn without a time has its conversation's."""
    at = conversation.turns[turn].at if 0 <= turn < len(conversation.turns) else None
    return at or conversation.started_at
