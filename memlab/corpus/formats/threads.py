"""Messages of a channel, gathered into threads: who opens one asks, whoever else writes helps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memlab.corpus.formats.building import build, is_listed
from memlab.corpus.reading import Options, Skipped
from memlab.errors import InputError
from memlab.records import Conversation

__all__ = ["Message", "thread_conversations"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its thread, its own id, who wrote it, when, and whether a program did."""

    thread: str
    id: str
    author: str
    text: str
    at: datetime
    bot: bool = False
    name: str = ""
    line: int = 0
    file: str = ""


def thread_conversations(
    path: Path, items: Iterable[Message | Skipped], options: Options, *, channel: str, metadata: dict[str, Any]
) -> Iterator[Conversation | Skipped]:
    """Threads as conversations in the order of their first messages; a message that stands twice counts once.

    Parameters
    ----------
    path : path
        The file or folder that was read.
    items : iterable
        The messages in any order, and what was skipped.
    options : Options
        ``agents`` in `columns` lists who helps (names or ids, joined by ``|``); without it, everyone but the opener.
    channel : str
        Goes in front of every id.
    metadata : dict
        Kept with every conversation.
    """
    threads: dict[str, dict[str, Message]] = {}
    for item in items:
        if isinstance(item, Skipped):
            yield item
        else:
            threads.setdefault(item.thread, {}).setdefault(item.id, item)
    ordered = [sorted(found.values(), key=lambda m: (m.at, m.id)) for found in threads.values()]
    for messages in sorted(ordered, key=lambda m: (m[0].at, m[0].thread)):
        try:
            yield _conversation(messages, options, channel, metadata)
        except InputError as error:
            yield Skipped(messages[0].file or str(path), messages[0].line, str(error))


def _conversation(messages: list[Message], options: Options, channel: str, metadata: dict[str, Any]) -> Conversation:
    agents = options.columns.get("agents", "")
    opener = next((m for m in messages if not m.bot and not _listed(m, agents)), messages[0])
    turns = [{"role": _role(m, opener, agents), "text": m.text, "at": m.at.isoformat()} for m in messages]
    return build(
        options,
        id=f"{channel}-{messages[0].thread}" if channel else messages[0].thread,
        turns=turns,
        started_at=messages[0].at.isoformat(),
        requester=opener.name or opener.author,
        metadata=metadata,
    )


def _listed(message: Message, agents: str) -> bool:
    return is_listed(message.author, agents) or is_listed(message.name, agents)


def _role(message: Message, opener: Message, agents: str) -> str:
    if message.bot:
        return "tool"
    if agents:
        return "agent" if _listed(message, agents) else "user"
    return "user" if message.author == opener.author else "agent"
