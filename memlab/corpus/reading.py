"""The door: every reader turns a file into conversations and says what it skipped, with line and reason."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, SupportsIndex, cast, overload
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memlab.errors import InputError, TimeError
from memlab.records import Conversation, parse_time

__all__ = ["Options", "ReadReport", "Reader", "Skipped", "read_conversations", "read_jsonl_objects", "readers"]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A piece of a file that could not be read: which file, which line (1-based), and why."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


class ReadReport(Sequence[Conversation]):
    """The conversations of a file, and what was skipped and why."""

    def __init__(self, conversations: Iterable[Conversation] = (), skipped: Iterable[Skipped] = ()) -> None:
        self._items = tuple(conversations)
        self.skipped = tuple(skipped)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Conversation: ...
    @overload
    def __getitem__(self, index: slice) -> ReadReport: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Conversation | ReadReport:
        return ReadReport(self._items[index], self.skipped) if isinstance(index, slice) else self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"ReadReport({len(self)} conversations, {len(self.skipped)} skipped)"


@dataclass(frozen=True, slots=True)
class Options:
    """What a reader may be told.

    Attributes
    ----------
    zone : tzinfo, optional
        The zone of naive times; without it they are refused.
    customer : str, optional
        The customer of files that name none.
    columns : mapping
        Our name → theirs (a column, or a dotted place in JSON), and what else a format asks for: ``role.user``,
        ``role.agent`` and ``role.tool`` hold the words that stand for a role, ``agents`` who helps, joined by ``|``.
    at : datetime, optional
        The start of conversations whose file has no time at all.
    """

    zone: tzinfo | None = None
    customer: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    at: datetime | None = None


Reader = Callable[[Path, Options], Iterator[Conversation | Skipped]]


def readers() -> dict[str, Reader]:
    """The formats that can be read: memlab's own, and those that installed packages add (group `memlab.readers`).

    A package's reader is loaded when it is used, and can't replace one of memlab's own.
    """
    from memlab.corpus.formats import FORMATS

    found: dict[str, Reader] = {"jsonl": read_jsonl, **FORMATS}
    for point in sorted(entry_points(group="memlab.readers"), key=lambda p: p.name):
        found.setdefault(point.name, _plugin(point))
    return found


def _plugin(point: EntryPoint) -> Reader:
    def read(path: Path, options: Options) -> Iterator[Conversation | Skipped]:
        try:
            reader = point.load()
        except (ImportError, AttributeError) as error:
            raise InputError(f"the reader {point.name!r} ({point.value}) can't be loaded: {error}") from error
        return cast(Reader, reader)(path, options)

    return read


def read_conversations(
    path: str | Path,
    *,
    format: str = "jsonl",
    zone: str | tzinfo | None = None,
    customer: str | None = None,
    columns: Mapping[str, str] | None = None,
    at: str | datetime | None = None,
    strict: bool = False,
) -> ReadReport:
    """Read a file of conversations; a bad line is reported and the rest goes on.

    Parameters
    ----------
    path : path
        The file, or the folder of an export (`slack`, `teams`, `mail`).
    format : str
        One of `readers()`; by default memlab's own JSON lines.
    zone : str or tzinfo, optional
        The zone of times without an offset, for example ``"Europe/Berlin"``; without it they are refused.
    customer : str, optional
        Whose conversations these are, for formats that do not say.
    columns : mapping, optional
        Their names for our fields; see `Options`.
    at : str or datetime, optional
        The start of conversations whose file has no time at all, such as chats exported for training.
    strict : bool
        Raise at the first bad line.

    Raises
    ------
    InputError
        If the file can't be read at all, the format is unknown, or (strict) a line is bad.
    """
    path = Path(path)
    reader = _reader(path, format)
    tz = _zone(zone)
    options = Options(tz, customer, dict(columns or {}), None if at is None else parse_time(at, zone=tz))
    conversations: list[Conversation] = []
    skipped: list[Skipped] = []
    seen: dict[tuple[str, str], str] = {}
    for number, item in enumerate(reader(path, options), 1):
        if isinstance(item, Conversation):
            key = (item.customer, item.id)
            if key not in seen:
                seen[key] = item.version
                conversations.append(item)
                continue
            if seen[key] == item.version:
                continue
            item = Skipped(str(path), number, f"conversation {item.id!r} stands twice with different content")
        if strict:
            raise InputError(str(item))
        skipped.append(item)
    return ReadReport(conversations, skipped)


def _reader(path: Path, format: str) -> Reader:
    from memlab.corpus.formats import FOLDERS, FORMATS

    known = readers()
    if format not in known:
        raise InputError(f"unknown format {format!r}; known: {', '.join(sorted(known))}")
    folder_allowed = format in FOLDERS or (format != "jsonl" and format not in FORMATS)
    if path.is_dir() and not folder_allowed:
        raise InputError(f"{path}: a folder, where {format} needs a file")
    if not path.is_dir() and not path.is_file():
        raise InputError(f"{path}: no such file")
    return known[format]


def _zone(zone: str | tzinfo | None) -> tzinfo | None:
    if not isinstance(zone, str):
        return zone
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise TimeError(f"unknown time zone {zone!r}; use a name such as Europe/Berlin") from None


def read_jsonl_objects(path: Path) -> Iterator[tuple[int, Mapping[str, Any]] | Skipped]:
    """The objects of a JSON lines file with their line numbers; what is no UTF-8, JSON or object is skipped."""
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                raw = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
                if number == 1 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                    raise InputError(f"{path}:1: the file is UTF-16; save it as UTF-8")
                if not raw.strip():
                    continue
                try:
                    value = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
                except UnicodeDecodeError as error:
                    yield Skipped(str(path), number, f"not UTF-8 (byte {error.start}); save the file as UTF-8")
                except (ValueError, RecursionError) as error:
                    yield Skipped(str(path), number, f"not JSON: {error}")
                else:
                    if isinstance(value, Mapping):
                        yield number, value
                    else:
                        yield Skipped(str(path), number, f"not a JSON object but a {type(value).__name__}")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


def read_jsonl(path: Path, options: Options) -> Iterator[Conversation | Skipped]:
    """Conversations of memlab's own format, one a line."""
    for item in read_jsonl_objects(path):
        if isinstance(item, Skipped):
            yield item
            continue
        number, data = item
        if options.customer is not None and "customer" not in data:
            data = {**data, "customer": options.customer}
        try:
            conversation = Conversation.from_json(data, zone=options.zone)
            if not any(t.text.strip() for t in conversation.turns):
                raise InputError("the conversation is empty (no turn with text)")
        except InputError as error:
            yield Skipped(str(path), number, str(error))
        else:
            yield conversation
