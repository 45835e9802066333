"""The vocabulary: frozen records that print well, save as JSON and compare by value."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, get_args, overload

from memlab.errors import CustomerError, InputError, TimeError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Attempt",
    "Conversation",
    "Evidence",
    "Kind",
    "Mention",
    "Outcome",
    "Proposal",
    "Proposals",
    "Resolution",
    "Role",
    "Solution",
    "SolutionKind",
    "Turn",
    "Verification",
    "canonical_json",
    "clean_text",
    "content_hash",
    "parse_time",
    "valid_customer",
]

Role = Literal["user", "agent", "tool"]
Outcome = Literal["worked", "failed", "partial", "unknown"]
Resolution = Literal["confirmed", "inferred", "unresolved", "abandoned"]
SolutionKind = Literal["fix", "workaround"]
Kind = Literal["symptom", "cause", "solution"]
Verification = Literal["confirmed", "inferred", "claimed", "failed"]

# Control characters other than tab and newline, and lone surrogates: they break encoders, terminals and SQLite.
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def clean_text(text: str) -> str:
    r"""Make text safe to store and print; nothing is lost, unsafe characters become visible escapes.

    >>> clean_text("Drucker \ud83d defekt\x00")
    'Drucker \\ud83d defekt\\x00'
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSAFE.sub(lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 256 else f"\\u{ord(m[0]):04x}", text)


def valid_customer(name: object) -> str:
    """The customer's name in NFC, or an error; names are never trimmed, folded or guessed.

    Raises
    ------
    CustomerError
        If the name is not text, is empty, has white space at an end, or holds control characters.

    >>> valid_customer("fabrikam")
    'fabrikam'
    """
    if not isinstance(name, str) or not name.strip():
        raise CustomerError(f"customer must be a non-empty name, not {name!r}")
    if name != name.strip() or _UNSAFE.search(name) or any(c in "\t\n\r" for c in name) or len(name) > 200:
        raise CustomerError(
            f"customer {name!r} has white space at an end, control characters or more than 200 characters"
        )
    name = unicodedata.normalize("NFC", name)
    if all(unicodedata.category(c) in ("Cf", "Mn", "Zs") for c in name):
        raise CustomerError(f"customer {name!r} has no visible character")
    return name


def parse_time(value: object, *, zone: Any = None) -> datetime:
    """A moment with its zone, from ISO 8601 text with an offset.

    Parameters
    ----------
    value : str
        For example ``2026-03-02T09:00:00+01:00`` or ``…Z``.
    zone : datetime.tzinfo, optional
        The zone to read naive times in; without it they are refused.

    Raises
    ------
    TimeError
        If the time is missing, unreadable, or has no zone and no `zone` was given.

    >>> parse_time("2026-03-02T09:00:00+01:00").isoformat()
    '2026-03-02T09:00:00+01:00'
    """
    if isinstance(value, datetime):
        time = value
    elif isinstance(value, str) and value.strip():
        try:
            time = datetime.fromisoformat(value.strip())
        except ValueError:
            raise TimeError(f"{value!r} is not an ISO 8601 time such as 2026-03-02T09:00:00+01:00") from None
    else:
        raise TimeError(f"a time is needed (ISO 8601 with an offset), not {value!r}")
    if time.tzinfo is None:
        if zone is None:
            raise TimeError(f"{value!r} has no UTC offset; add one, or tell the reader the zone")
        time = time.replace(tzinfo=zone)
        # A wall time that a clock change skipped does not survive the way to UTC and back.
        if time.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != time.replace(tzinfo=None):
            raise TimeError(f"{value!r} does not exist in {zone} (clock change)")
    try:
        time.astimezone(UTC)
    except OverflowError:
        raise TimeError(f"{value!r} is outside of the years 1 to 9999 in UTC") from None
    return time


def canonical_json(value: object) -> str:
    """One fixed JSON text for a value: sorted keys, no spaces, sets and times as sorted lists and ISO text.

    >>> canonical_json({"b": {2, 1}, "a": None})
    '{"a":null,"b":[1,2]}'
    """
    return json.dumps(_plain(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def content_hash(value: object, *, length: int = 16) -> str:
    """A name made from content: the first `length` hex digits of SHA-256 over the canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:length]


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(v) for v in value), key=lambda v: json.dumps(v, sort_keys=True))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(v) for v in value]
    return value.isoformat() if isinstance(value, datetime) else value


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
            id=_name(data.get("id"), "id"),
            customer=valid_customer(data.get("customer")),
            category=clean_text(category.strip()) if category else None,
            started_at=parse_time(data.get("started_at"), zone=zone),
            requester=None if requester is None else _name(requester, "requester"),
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


def _name(value: object, what: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{what} must be a non-empty text, not {value!r}")
    return clean_text(value.strip())


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


@dataclass(frozen=True, slots=True)
class Mention:
    """Something that a conversation says: a short phrase, the turn, and the verbatim quote it rests on."""

    text: str
    turn: int
    quote: str


@dataclass(frozen=True, slots=True)
class Solution:
    """What ended the problem; a `workaround` makes it go away without mending the cause."""

    text: str
    turn: int
    quote: str
    kind: SolutionKind = "fix"


@dataclass(frozen=True, slots=True)
class Attempt:
    """An action that somebody carried out, and whether it helped."""

    action: str
    outcome: Outcome
    by: Literal["user", "agent"]
    turn: int
    quote: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an extractor makes of one issue in a conversation, without having seen memory."""

    conversation: str
    case: int = 0
    category: str | None = None
    low_value: bool = False
    symptoms: tuple[Mention, ...] = ()
    root_cause: Mention | None = None
    attempts: tuple[Attempt, ...] = ()
    solution: Solution | None = None
    resolution: Resolution = "unresolved"
    facts: tuple[Mention, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As a line of `proposals.jsonl`."""
        return {f.name: _plain(getattr(self, f.name)) for f in dataclasses.fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Proposal:
        """Read one object of `proposals.jsonl`.

        Raises
        ------
        InputError
            If a field is missing or is not what it must be.
        """

        def mention(value: Mapping[str, Any]) -> Mention:
            return Mention(clean_text(value["text"]), int(value["turn"]), clean_text(value["quote"]))

        def one_of(value: Any, allowed: Any) -> Any:
            if value not in get_args(allowed):
                raise InputError(f"{value!r} is none of {', '.join(get_args(allowed))}")
            return value

        try:
            cause, solution = data.get("root_cause"), data.get("solution")
            return cls(
                conversation=_name(data["conversation"], "conversation"),
                case=int(data.get("case", 0)),
                category=data.get("category"),
                low_value=bool(data.get("low_value", False)),
                symptoms=tuple(map(mention, data.get("symptoms", ()))),
                root_cause=mention(cause) if cause else None,
                attempts=tuple(
                    Attempt(
                        clean_text(a["action"]),
                        one_of(a["outcome"], Outcome),
                        "agent" if a.get("by") == "agent" else "user",
                        int(a["turn"]),
                        clean_text(a["quote"]),
                    )
                    for a in data.get("attempts", ())
                ),
                solution=Solution(
                    clean_text(solution["text"]),
                    int(solution["turn"]),
                    clean_text(solution["quote"]),
                    one_of(solution.get("kind", "fix"), SolutionKind),
                )
                if solution
                else None,
                resolution=one_of(data.get("resolution", "unresolved"), Resolution),
                facts=tuple(map(mention, data.get("facts", ()))),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"not a proposal: {type(error).__name__} {error}") from None


class Proposals(Sequence[Proposal]):
    """A list of proposals that also becomes a data frame, one row an item."""

    def __init__(self, items: Iterable[Proposal] = ()) -> None:
        self._items = tuple(items)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Proposal: ...
    @overload
    def __getitem__(self, index: slice) -> Proposals: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Proposal | Proposals:
        return Proposals(self._items[index]) if isinstance(index, slice) else self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"Proposals({len(self)} of {len({p.conversation for p in self})} conversations)"

    def to_frame(self) -> pd.DataFrame:
        """One row a symptom, root cause, solution, attempt or fact, with its conversation, turn and quote."""
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for p in self._items:
            base = {"conversation": p.conversation, "case": p.case, "category": p.category}
            for name, items in (("symptom", p.symptoms), ("fact", p.facts)):
                rows += [{**base, "field": name, "text": m.text, "turn": m.turn, "quote": m.quote} for m in items]
            if p.root_cause:
                m = p.root_cause
                rows.append({**base, "field": "root_cause", "text": m.text, "turn": m.turn, "quote": m.quote})
            if p.solution:
                s = p.solution
                rows.append(
                    {**base, "field": "solution", "text": s.text, "turn": s.turn, "quote": s.quote, "detail": s.kind}
                )
            rows += [
                {**base, "field": "attempt", "text": a.action, "turn": a.turn, "quote": a.quote, "detail": a.outcome}
                for a in p.attempts
            ]
        columns = ["conversation", "case", "category", "field", "text", "detail", "turn", "quote"]
        return pd.DataFrame(rows, columns=columns)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One conversation's vote for a link: when, how well verified, and who asked."""

    conversation: str
    at: datetime
    verification: Verification
    requester: str | None = None
    workaround: bool = False
