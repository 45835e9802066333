"""A support case as it was: its turns, and who, whose and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from memlab.errors import InputError
from memlab.records.values import canonical_json, clean_text, content_hash, parse_time, valid_customer, valid_name

__all__ = ["Conversation", "Role", "Turn"]

Role = Literal["user", "agent", "tool"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation, by the user, the agent or a tool."""

    role: Role
    text: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """One support case and its messages. `started_at` carries its zone; `requester` is who wrote, if known."""

    id: str
    customer: str
    started_at: datetime
    turns: tuple[Turn, ...]
    category: str | None = None
    requester: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def order(self) -> tuple[datetime, str]:
        """The place of this conversation in history: its start as an instant, then its id."""
        return (self.started_at.astimezone(UTC), self.id)

    @property
    def version(self) -> str:
        """A hash of all that counts as content; lists in metadata are read as sets (tags in any order)."""
        metadata = {
            k: sorted(map(canonical_json, v)) if isinstance(v, (list, tuple)) else v for k, v in self.metadata.items()
        }
        return content_hash({**self.to_json(), "metadata": metadata}, length=32)

    def text(self, *roles: Role) -> str:
        """The turns' texts (of these roles only, if given), joined by newlines."""
        return "\n".join(t.text for t in self.turns if not roles or t.role in roles)

    def to_json(self) -> dict[str, Any]:
        """As a line of `conversations.jsonl`."""
        turns = [{"role": t.role, "text": t.text, **({"at": t.at.isoformat()} if t.at else {})} for t in self.turns]
        return {
            "id": self.id,
            "customer": self.customer,
            "category": self.category,
            "started_at": self.started_at.isoformat(),
            **({"requester": self.requester} if self.requester else {}),
            "turns": turns,
            "metadata": dict(self.metadata),
        }

    @classmethod
    def from_json(cls, data: object, *, zone: Any = None) -> Conversation:
        """Read one object of `conversations.jsonl`; unknown keys go to `metadata`.

        Raises
        ------
        InputError
            If a field is missing or is not what it must be; the message names the field.
        """
        if not isinstance(data, Mapping):
            raise InputError(f"a conversation is a JSON object, not {type(data).__name__}")
        if _too_deep(data):
            raise InputError(f"the object is nested more than {MOST_LEVELS} levels deep")
        known = {"id", "customer", "category", "started_at", "turns", "metadata", "requester"}
        metadata = _object(data.get("metadata") or {}, "metadata")
        extra = {k: v for k, v in data.items() if k not in known}
        requester = data.get("requester", metadata.get("requester"))
        category = data.get("category")
        if category is not None and not (isinstance(category, str) and category.strip()):
            raise InputError(f"category must be a name or null, not {category!r}")
        return cls(
            id=valid_name(data.get("id"), "id"),
            customer=valid_customer(data.get("customer")),
            category=clean_text(category.strip()) if category else None,
            started_at=parse_time(data.get("started_at"), zone=zone),
            requester=None if requester is None else valid_name(requester, "requester"),
            turns=tuple(_turn(t, n, zone) for n, t in enumerate(_list(data.get("turns"), "turns"))),
            metadata=_clean({**extra, **{k: v for k, v in metadata.items() if k != "requester"}}),
        )


MOST_LEVELS = 40


def _too_deep(value: object, level: int = 0) -> bool:
    if isinstance(value, Mapping):
        value = list(value.values())
    if not isinstance(value, (list, tuple)):
        return False
    return level >= MOST_LEVELS or any(_too_deep(v, level + 1) for v in value)


def _object(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{what} must be an object, not {type(value).__name__}")
    return value


def _list(value: object, what: str) -> Sequence[object]:
    if not isinstance(value, (list, tuple)):
        raise InputError(f"{what} must be a list, not {'missing' if value is None else type(value).__name__}")
    return value


def _turn(value: object, number: int, zone: Any) -> Turn:
    turn = _object(value, f"turn {number}")
    role: Any = turn.get("role")
    text = turn.get("text")
    if role not in get_args(Role):
        raise InputError(f"turn {number}: role must be one of {', '.join(get_args(Role))}, not {role!r}")
    if not isinstance(text, str):
        raise InputError(f"turn {number}: text must be text, not {type(text).__name__}")
    at = turn.get("at")
    return Turn(role, clean_text(text), None if at is None else parse_time(at, zone=zone))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {clean_text(str(k)): _clean(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(v) for v in value]
    return value
