"""What the readers share: checked access to foreign data, roles, times, and the way from items to conversations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memlab.corpus.jsonfiles import Item
from memlab.corpus.reading import Options, Skipped
from memlab.errors import InputError, TimeError
from memlab.records import Conversation

__all__ = ["build", "convert", "epoch", "find", "mapping", "mappings", "role_of", "text"]

_ROLES = {
    "user": "user customer requester caller client end-user end_user enduser reporter asker human anwender kunde",
    "agent": "agent assistant support staff helper technician analyst assignee operator admin mitarbeiter ai",
    "tool": "tool function system bot automation api observation",
}
_ROLE_OF = {word: role for role, words in _ROLES.items() for word in words.split()}


def convert(
    path: Path, items: Iterable[Item], make: Callable[[int, Mapping[str, Any]], Conversation]
) -> Iterator[Conversation | Skipped]:
    """Each item as a conversation; what `make` refuses is skipped with its line and reason, and the rest goes on."""
    for item in items:
        if isinstance(item, Skipped):
            yield item
            continue
        line, data = item
        try:
            yield make(line, data)
        except InputError as error:
            yield Skipped(str(path), line, str(error))


def build(
    options: Options,
    *,
    id: object,
    turns: Sequence[Mapping[str, Any]],
    started_at: object = None,
    customer: object = None,
    category: object = None,
    requester: object = None,
    metadata: Mapping[str, Any] | None = None,
    default_zone: Any = None,
) -> Conversation:
    """A conversation out of what a reader found; the start is the first turn's time if the file gives none.

    Raises
    ------
    InputError
        If something is missing or not what it must be; the message says what to give the reader.
    """
    turns = [turn for turn in turns if text(turn.get("text")).strip()]
    if not turns:
        raise InputError(f"conversation {id!r} has no message with text")
    if customer is None and options.customer is None:
        raise InputError("the file names no customer; say whose conversations these are (customer=)")
    start = started_at if started_at is not None else next((t["at"] for t in turns if t.get("at") is not None), None)
    if start is None and options.at is None:
        raise TimeError("the file has no time for this conversation; give one for all that have none (at=)")
    return Conversation.from_json(
        {
            "id": id,
            "customer": options.customer if customer is None else customer,
            "category": category if text(category).strip() else None,
            "started_at": start if start is not None else options.at,
            "turns": turns,
            "requester": requester if text(requester).strip() else None,
            "metadata": {k: v for k, v in (metadata or {}).items() if v not in (None, "", [], {}, 0)},
        },
        zone=options.zone or default_zone,
    )


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list; anything else is an empty list."""
    return [v for v in value if isinstance(v, Mapping)] if isinstance(value, list) else []


def text(value: object) -> str:
    """A text as it is, a number as text, anything else as nothing."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else ""


def find(data: Mapping[str, Any], place: str | None) -> Any:
    """What stands at a dotted place such as ``organization.name``, or nothing.

    >>> find({"organization": {"name": "fabrikam"}}, "organization.name")
    'fabrikam'
    """
    if not place:
        return None
    if place in data:
        return data[place]
    value: Any = data
    for key in place.split("."):
        value = mapping(value).get(key)
    return value


def role_of(value: object, options: Options) -> str:
    """The role that a word for a speaker means: what the mapping says, else common words in a few languages.

    Raises
    ------
    InputError
        If the word is not known; the message says how to map it.

    >>> role_of("End-User", Options())
    'user'
    """
    word = text(value).strip()
    for role in ("user", "agent", "tool"):
        if word and word in options.columns.get(f"role.{role}", "").split("|"):
            return role
    role = _ROLE_OF.get(word.casefold(), "")
    if not role:
        raise InputError(f"unknown role {word!r}; map it, for example role.agent={word or 'Name'}")
    return role


def is_listed(value: object, names: str) -> bool:
    """Whether a name, address or address domain (``@desk.example``) is in a list joined by ``|``."""
    word = text(value).strip().casefold()
    listed = [n.strip().casefold() for n in names.split("|") if n.strip()]
    return bool(word) and any(word == n or (n.startswith("@") and word.endswith(n)) for n in listed)


def epoch(value: object) -> datetime | None:
    """A moment from seconds since 1970 (UTC), as number or text; nothing if it is none.

    >>> epoch("1772442000.000200").isoformat(timespec="seconds")
    '2026-03-02T09:00:00+00:00'
    """
    try:
        return datetime.fromtimestamp(float(text(value)), UTC)
    except (ValueError, OverflowError, OSError):
        return None
