"""From what was heard to memories: which incident a message belongs to, what is new, and what a verdict changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from datetime import datetime

from memlab.agent.hearing import Heard
from memlab.agent.records import By, Memory, Telling, remembered
from memlab.errors import InputError
from memlab.records import Outcome

__all__ = [
    "SAME_STEP",
    "Likeness",
    "attempt_of",
    "current_incident",
    "incident_named",
    "learned_from",
    "open_steps",
    "steps_of",
    "told",
]

Likeness = Callable[[str, str], float]  # cosine of two wordings, or below 0 where a guard keeps them apart

ALIKE = 0.45  # from here on, a complaint in another conversation is taken for the open incident
SAME_STEP = 0.8


def current_incident(memories: Sequence[Memory], conversation: str | None = None) -> Memory | None:
    """The open incident that was told of last, one of this conversation before all others."""
    still = [m for m in memories if m.open]
    return max(still, key=lambda m: (conversation in m.conversations, m.last, m.id), default=None)


def incident_named(memories: Sequence[Memory], id_: str | None, *, customer: str, conversation: str) -> Memory:
    """The incident of this id, or without one the open incident that was told of last.

    Raises
    ------
    InputError
        If there is none.
    """
    if id_ is None:
        found = current_incident(memories, conversation)
    else:
        found = next((m for m in memories if m.kind == "incident" and m.id == id_), None)
    if found is None:
        what = "no open incident" if id_ is None else f"no incident {id_!r}"
        raise InputError(f"{customer!r} has {what}; `timeline` lists what there is")
    return found


def steps_of(memories: Sequence[Memory], incident: Memory | None) -> list[Memory]:
    """The attempts that belong to an incident, in order."""
    return [] if incident is None else [m for m in memories if m.kind == "attempt" and m.incident == incident.id]


def open_steps(memories: Sequence[Memory], incident: Memory | None, conversation: str) -> list[Memory]:
    """Steps whose outcome nobody knows yet: the incident's, or without one those of this conversation."""
    steps = steps_of(memories, incident) if incident else _loose(memories, conversation)
    return sorted((m for m in steps if m.outcome == "unknown"), key=lambda m: (m.last, m.id))


def _loose(memories: Sequence[Memory], conversation: str) -> list[Memory]:
    return [m for m in memories if m.kind == "attempt" and m.incident is None and conversation in m.conversations]


def told(memory: Memory, telling: Telling, **changes: object) -> Memory:
    """The memory as told once more, and only then: added to a store, it is merged with what is there."""
    return dataclasses.replace(memory, tellings=(telling,), **changes)  # type: ignore[arg-type]


def learned_from(
    heard: Heard,
    memories: Sequence[Memory],
    *,
    customer: str,
    conversation: str,
    at: datetime,
    like: Likeness,
    answered: bool = False,
) -> tuple[list[Memory], Memory | None]:
    """What a message adds to memory, and the incident that it belongs to.

    Parameters
    ----------
    heard : Heard
        What it tells.
    memories : sequence of Memory
        All of this customer's, before.
    customer, conversation, at
        Whose, where and when.
    like : callable
        How alike two wordings are.
    answered : bool
        It asks for what memory knows already, so its problem is not stored again.

    Returns
    -------
    (memories, incident)
        Memories as told in this message (a store merges them with what it has).
    """
    new: dict[str, Memory] = {}

    def keep(memory: Memory) -> Memory:
        new[memory.id] = memory if memory.id not in new else dataclasses.replace(
            new[memory.id], tellings=tuple(sorted({*new[memory.id].tellings, *memory.tellings}, key=lambda t: t.order))
        )  # fmt: skip
        return memory

    def said(by: By, outcome: Outcome, quote: str) -> Telling:
        return Telling(at, conversation, by, outcome, quote)

    incident = current_incident(memories, conversation)
    if heard.symptoms and not answered:
        incident = _incident_for(heard, memories, conversation, like) or remembered(
            customer, "incident", heard.symptoms[0], said("user", "unknown", heard.text), category=heard.category
        )
        keep(told(incident, said("user", "unknown", heard.text), symptoms=heard.symptoms))
    worked = False
    if heard.steps:
        incident = incident or _last_of(memories, conversation)
    for step in heard.steps:
        telling = said("user", step.outcome, step.quote)
        keep(attempt_of(customer, step.action, telling, memories=memories, incident=incident, like=like))
        worked |= step.outcome == "worked"
    for memory, outcome in _verdicts(heard, memories, incident, conversation):
        keep(told(memory, said("user", outcome, heard.text)))
        worked |= outcome == "worked"
    if incident is not None and (worked or (incident.open and heard.solved)):
        keep(told(incident, said("user", "worked", heard.text)))
    for fact in heard.facts:
        keep(remembered(customer, "profile", fact, said("user", "unknown", heard.text)))
    return list(new.values()), incident


def _incident_for(heard: Heard, memories: Sequence[Memory], conversation: str, like: Likeness) -> Memory | None:
    """The open incident that a complaint is about, or None if it is a new problem."""
    still = [m for m in memories if m.open]
    scored = [(max(like(s, t) for s in heard.symptoms for t in (m.text, *m.symptoms)), m) for m in still]
    best = max(scored, key=lambda pair: (pair[0], pair[1].last, pair[1].id), default=None)
    if best is not None and best[0] >= ALIKE:
        return best[1]
    here = current_incident([m for m in still if conversation in m.conversations], conversation)
    return here if here is not None and _elaborates(heard, here) else None


def _elaborates(heard: Heard, incident: Memory) -> bool:
    """Whether a complaint in the same conversation only adds to the open one: it begins with "it", or is about a step."""
    first = heard.symptoms[0].casefold().split()[:1]
    if heard.category and incident.category and heard.category != incident.category and not heard.steps:
        return False
    return bool(heard.steps) or first in (["it"], ["it's"], ["still"], ["also"], ["the"], ["and"], ["error"], ["same"])


def _last_of(memories: Sequence[Memory], conversation: str) -> Memory | None:
    """The newest incident of this conversation, open or not."""
    here = [m for m in memories if m.kind == "incident" and conversation in m.conversations]
    return max(here, key=lambda m: (m.last, m.id), default=None)


def attempt_of(
    customer: str,
    action: str,
    telling: Telling,
    *,
    memories: Sequence[Memory],
    incident: Memory | None,
    like: Likeness,
    symptoms: tuple[str, ...] = (),
) -> Memory:
    """The attempt that a step is, as told now: one that its incident knows already, or a new one.

    Parameters
    ----------
    customer, action, telling
        Whose, what, and who says so.
    memories : sequence of Memory
        All of this customer's.
    incident : Memory or None
        Where it belongs; without symptoms of its own it inherits the incident's.
    like : callable
        How alike two wordings are.
    symptoms : tuple of str
        What it was against, if that was told.
    """
    scored = [(like(action, m.text), m) for m in steps_of(memories, incident)]
    best = max(scored, key=lambda pair: (pair[0], pair[1].id), default=None)
    if best is not None and best[0] >= SAME_STEP:
        return told(best[1], telling, **({"symptoms": symptoms, "inherited": False} if symptoms else {}))
    against = symptoms or ((incident.symptoms or (incident.text,)) if incident else ())
    return remembered(
        customer,
        "attempt",
        action,
        telling,
        symptoms=against,
        inherited=not symptoms and bool(against),
        incident=incident.id if incident else None,
        category=incident.category if incident else None,
    )


def _verdicts(
    heard: Heard, memories: Sequence[Memory], incident: Memory | None, conversation: str
) -> list[tuple[Memory, Outcome]]:
    """Which steps the message judges, and how."""
    by_id = {m.id: m for m in memories}
    found: list[tuple[Memory, Outcome]] = [(by_id[i], outcome) for i, outcome in heard.judged if i in by_id]
    if heard.verdict is None:
        return found
    still = open_steps(memories, incident, conversation)
    if heard.verdict.outcome == "worked" and still:
        return [(still[-1], "worked")]
    newest = max((m.last for m in still), default=None)
    chosen = still if heard.verdict.every else [m for m in still if m.last == newest]
    return [(m, heard.verdict.outcome) for m in chosen]
