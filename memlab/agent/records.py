"""What a support agent remembers of one customer: incidents, steps that were tried, and profile facts, with their evidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from memlab.errors import CustomerError, InputError
from memlab.records import Outcome, Verification, clean_text, content_hash, parse_time, valid_customer

__all__ = ["By", "Memory", "MemoryKind", "Telling", "in_order", "memory_id", "merged", "remembered", "without"]

MemoryKind = Literal["incident", "attempt", "profile"]
By = Literal["user", "agent", "tool", "staff"]
MOST_QUOTED = 60  # words of what was first said about an incident that a search sees


@dataclass(frozen=True, slots=True)
class Telling:
    """One time that a memory was told.

    Attributes
    ----------
    at : datetime
        When, with its zone.
    conversation : str
        In which conversation.
    by : {"user", "agent", "tool", "staff"}
        Who said so. What the agent says is a claim; the user's words, a tool's result or a colleague's `resolve` are
        evidence.
    outcome : {"worked", "failed", "partial", "unknown"}
        Of an attempt: whether it helped. Of an incident: ``worked`` resolved it, ``failed`` closed it without a fix.
    quote : str
        The verbatim words.
    """

    at: datetime
    conversation: str
    by: By
    outcome: Outcome = "unknown"
    quote: str = ""

    @property
    def order(self) -> tuple[datetime, str, str, str, str]:
        """Its place among the tellings of a memory: by instant, then by content."""
        return (self.at.astimezone(UTC), self.conversation, self.by, self.outcome, self.quote)


@dataclass(frozen=True, slots=True)
class Memory:
    """A fact in a customer's own history. Its outcome is never stored: it follows from who told what, and when.

    Attributes
    ----------
    id : str
        A hash of whose it is and what it is about, so that the same thing told twice is one memory (`memory_id`).
    customer : str
        Whose memory.
    kind : {"incident", "attempt", "profile"}
        A problem, a step against one, or something lasting about the customer.
    text : str
        The problem, the action or the fact, as a short phrase.
    tellings : tuple of Telling
        At least one, in order.
    symptoms : tuple of str
        What an attempt was against, or what an incident looks like.
    inherited : bool
        Whether the symptoms are the incident's, because none was told with the attempt.
    incident : str or None
        Id of the incident that an attempt belongs to.
    category : str or None
        The IT category, if known.
    """

    id: str
    customer: str
    kind: MemoryKind
    text: str
    tellings: tuple[Telling, ...]
    symptoms: tuple[str, ...] = ()
    inherited: bool = False
    incident: str | None = None
    category: str | None = None

    @property
    def at(self) -> datetime:
        """When it was first told."""
        return self.tellings[0].at

    @property
    def last(self) -> datetime:
        """When it was last told."""
        return self.tellings[-1].at

    @property
    def conversations(self) -> tuple[str, ...]:
        """Where it was told, sorted."""
        return tuple(sorted({t.conversation for t in self.tellings}))

    @property
    def proposed(self) -> bool:
        """Whether this attempt is only what the agent proposed: nobody has said that it was carried out."""
        return self.kind == "attempt" and all(t.by == "agent" for t in self.tellings)

    @property
    def verdict(self) -> Telling | None:
        """The telling that the outcome rests on: the newest that knows one, and is not the agent's own claim."""
        known = [t for t in self.tellings if t.outcome != "unknown" and t.by != "agent"]
        return known[-1] if known else None

    @property
    def outcome(self) -> Outcome:
        """The best-informed outcome; ``unknown`` if nobody but the agent has said one."""
        verdict = self.verdict
        return verdict.outcome if verdict else "unknown"

    @property
    def verification(self) -> Verification:
        """How well the outcome is verified: ``confirmed`` by a person, ``inferred`` from a tool, else ``claimed``."""
        verdict = self.verdict
        if verdict is None:
            return "claimed"
        return "inferred" if verdict.by == "tool" else "confirmed"

    @property
    def open(self) -> bool:
        """Whether this is an incident that nothing has ended."""
        return self.kind == "incident" and self.outcome in ("unknown", "partial")

    @property
    def search_text(self) -> str:
        """The words that a store looks for memories by: the text, and symptoms and first words where they say more."""
        told = [" ".join(self.tellings[0].quote.split()[:MOST_QUOTED])] if self.kind == "incident" else []
        out = [self.text]
        for more in (*self.symptoms, *told):
            if more and not any(more.casefold() in t.casefold() for t in out):
                out.append(more)
        return "; ".join(out)

    def to_json(self) -> dict[str, Any]:
        """As plain values; `Memory.from_json` gives it back."""
        tellings = [
            {"at": t.at.isoformat(), "conversation": t.conversation, "by": t.by, "outcome": t.outcome, "quote": t.quote}
            for t in self.tellings
        ]
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {**plain, "tellings": tellings, "symptoms": list(self.symptoms)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Memory:
        """Read what `to_json` gave.

        Raises
        ------
        InputError
            If a field is missing or is not what it must be (TimeError: a time without a zone).
        """
        try:
            tellings = tuple(
                Telling(
                    at=parse_time(t["at"]),
                    conversation=_text(t["conversation"]),
                    by=_one_of(t["by"], By),
                    outcome=_one_of(t["outcome"], Outcome),
                    quote=clean_text(t["quote"]),
                )
                for t in data["tellings"]
            )
            if not tellings:
                raise InputError(f"memory {data['id']!r} was never told: it needs a telling with a time")
            return cls(
                id=_text(data["id"]),
                customer=valid_customer(data["customer"]),
                kind=_one_of(data["kind"], MemoryKind),
                text=_text(data["text"]),
                tellings=tuple(sorted(set(tellings), key=lambda t: t.order)),
                symptoms=tuple(map(_text, data["symptoms"])),
                inherited=bool(data["inherited"]),
                incident=data["incident"],
                category=data["category"],
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"not a memory: {type(error).__name__} {error}") from None


def _one_of(value: Any, allowed: Any) -> Any:
    if value not in get_args(allowed):
        raise InputError(f"{value!r} is none of {', '.join(get_args(allowed))}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"a memory's texts and names must not be empty, not {value!r}")
    return clean_text(value)


def remembered(
    customer: str,
    kind: MemoryKind,
    text: str,
    *tellings: Telling,
    symptoms: Iterable[str] = (),
    inherited: bool = False,
    incident: str | None = None,
    category: str | None = None,
) -> Memory:
    """A new memory of a customer, named by its content.

    Raises
    ------
    InputError
        If the text is blank, or it was told by nobody.
    TimeError
        If a telling has no zone.

    >>> from datetime import UTC, datetime
    >>> told = Telling(datetime(2026, 3, 2, tzinfo=UTC), "c1", "user", "worked")
    >>> remembered("acme", "attempt", "update the client", told).outcome
    'worked'
    """
    name = valid_customer(customer)
    if not tellings:
        raise InputError("a memory needs a telling: who said so, when, and where")
    for telling in tellings:
        parse_time(telling.at)
    text = _text(" ".join(text.split()))
    symptoms = tuple(dict.fromkeys(symptoms))
    first = min(tellings, key=lambda t: t.order)
    place: tuple[str, ...] = ()
    if kind == "incident":
        place = (first.at.astimezone(UTC).isoformat(), first.conversation)
    elif kind == "attempt" and incident is None:
        place = (first.conversation, *symptoms)
    return Memory(
        id=memory_id(name, kind, text, incident=incident, place=place),
        customer=name,
        kind=kind,
        text=text,
        tellings=tuple(sorted(set(tellings), key=lambda t: t.order)),
        symptoms=symptoms,
        inherited=inherited,
        incident=incident,
        category=category,
    )


def memory_id(
    customer: str, kind: MemoryKind, text: str, *, incident: str | None = None, place: tuple[str, ...] = ()
) -> str:
    """The name of a memory, made of its content.

    An attempt is one within its incident (without one: within its conversation, against the same symptoms), a profile
    fact one within the customer; an incident that is opened again, at another time, is another one.

    >>> memory_id("acme", "profile", "Uses a Mac") == memory_id("acme", "profile", "uses  a mac")
    True
    """
    return content_hash([customer, kind, " ".join(text.casefold().split()), incident, list(place)], length=24)


def merged(old: Memory, new: Memory) -> Memory:
    """One memory that was told at all the times that either knows; symptoms told with it win over inherited ones.

    Raises
    ------
    CustomerError
        If they belong to two customers.
    """
    if old.customer != new.customer:
        raise CustomerError(f"memory {new.id!r} belongs to another customer")
    if old.inherited and not new.inherited and new.symptoms:
        symptoms, inherited = new.symptoms, False
    elif new.inherited and not old.inherited and old.symptoms:
        symptoms, inherited = old.symptoms, False
    else:
        symptoms, inherited = tuple(dict.fromkeys([*old.symptoms, *new.symptoms])), old.inherited and new.inherited
    return dataclasses.replace(
        old,
        tellings=tuple(sorted({*old.tellings, *new.tellings}, key=lambda t: t.order)),
        symptoms=symptoms,
        inherited=inherited,
        category=old.category or new.category,
    )


def in_order(memories: Iterable[Memory]) -> list[Memory]:
    """The memories by when they were first told, then by id."""
    return sorted(memories, key=lambda m: (m.at.astimezone(UTC), m.id))


def without(memories: Iterable[Memory], conversation: str) -> list[Memory]:
    """The memories as they would be had this conversation never told anything."""
    left = [
        dataclasses.replace(m, tellings=_elsewhere(m, conversation)) for m in memories if _elsewhere(m, conversation)
    ]
    known = {m.id for m in left}
    return [_orphan(m) if m.incident is not None and m.incident not in known else m for m in left]


def _elsewhere(memory: Memory, conversation: str) -> tuple[Telling, ...]:
    return tuple(t for t in memory.tellings if t.conversation != conversation)


def _orphan(memory: Memory) -> Memory:
    """An attempt whose incident is gone keeps nothing of it."""
    return dataclasses.replace(
        memory, incident=None, symptoms=() if memory.inherited else memory.symptoms, inherited=False
    )
