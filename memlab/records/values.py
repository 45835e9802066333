"""Plain values: clean text, names of customers, moments with a zone, and one fixed JSON text for each."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from memlab.errors import CustomerError, InputError, TimeError

__all__ = ["canonical_json", "clean_text", "content_hash", "parse_time", "plain", "valid_customer", "valid_name"]

# Control characters other than tab and newline, and lone surrogates: they break encoders, terminals and SQLite.
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def clean_text(text: str) -> str:
    r"""Make text safe to store and print; nothing is lost, unsafe characters become visible escapes.

    >>> clean_text("Drucker \ud83d defekt\x00")
    'Drucker \\ud83d defekt\\x00'
    """
    if text.isprintable():  # most are, and then nothing can be unsafe
        return text
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
    return json.dumps(plain(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def content_hash(value: object, *, length: int = 16) -> str:
    """A name made from content: the first `length` hex digits of SHA-256 over the canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:length]


def plain(value: object) -> object:
    """A value made of what JSON knows: records as objects, sets as sorted lists, times as ISO text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((plain(v) for v in value), key=lambda v: json.dumps(v, sort_keys=True))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(v) for v in value]
    return value.isoformat() if isinstance(value, datetime) else value


def valid_name(value: object, what: str) -> str:
    """A non-empty text (or whole number) as clean text.

    Raises
    ------
    InputError
        If it is something else; the message says of what field.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{what} must be a non-empty text, not {value!r}")
    return clean_text(value.strip())
