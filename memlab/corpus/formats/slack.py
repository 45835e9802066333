"""Reader for Slack channel exports: a folder of days (``2026-03-02.json``) or one file, a conversation a thread.

Who opens a thread asks; whoever else writes helps, bots are tools; ``agents`` in the mapping (names or user ids) says
it more exactly. Joins, topics and other events of the channel are no messages and are left out.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memlab.corpus.formats.building import epoch, mapping, text
from memlab.corpus.formats.threads import Message, thread_conversations
from memlab.corpus.jsonfiles import json_items
from memlab.corpus.reading import Options, Skipped
from memlab.records import Conversation

__all__ = ["read"]

_SAID = frozenset({"", "bot_message", "file_share", "me_message", "thread_broadcast"})
_NO_DAYS = frozenset({"users", "channels", "groups", "dms", "mpims", "integration_logs", "canvases", "lists"})
_MARK = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")


def read(path: Path, options: Options) -> Iterator[Conversation | Skipped]:
    """Threads of a channel in the order of their first messages; ids are the channel's name and the thread's `ts`."""
    names = _names(path)
    channel = path.name if path.is_dir() else path.parent.name if _is_day(path) else path.stem
    items = (found for file in _files(path) for found in _messages(file, names))
    return thread_conversations(path, items, options, channel=channel, metadata={"channel": channel})


def _is_day(path: Path) -> bool:
    return re.fullmatch(r"\d{4}-\d\d-\d\d", path.stem) is not None


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(p for p in path.glob("*.json") if p.stem not in _NO_DAYS)


def _names(path: Path) -> dict[str, str]:
    """User ids and names, from the export's `users.json` in this folder or the one above."""
    folder = path if path.is_dir() else path.parent
    for file in (folder / "users.json", folder.parent / "users.json"):
        if file.is_file():
            users = [item[1] for item in json_items(file) if not isinstance(item, Skipped)]
            return {text(u.get("id")): text(u.get("real_name") or u.get("name")) for u in users}
    return {}


def _messages(file: Path, names: Mapping[str, str]) -> Iterator[Message | Skipped]:
    for item in json_items(file, under=("messages",)):
        if isinstance(item, Skipped):
            yield item
            continue
        line, data = item
        if text(data.get("type") or "message") != "message" or text(data.get("subtype")) not in _SAID:
            continue
        yield _message(file, line, data, names)


def _message(file: Path, line: int, data: Mapping[str, Any], names: Mapping[str, str]) -> Message | Skipped:
    ts = text(data.get("ts"))
    at = epoch(ts)
    if at is None:
        return Skipped(str(file), line, f"ts must be seconds since 1970, not {data.get('ts')!r}")
    user = text(data.get("user") or data.get("bot_id") or data.get("username"))
    profile = mapping(data.get("user_profile"))
    return Message(
        thread=text(data.get("thread_ts")) or ts,
        id=ts,
        author=user,
        text=_plain(text(data.get("text")), names),
        at=at,
        bot=bool(data.get("bot_id")) or data.get("subtype") == "bot_message",
        name=names.get(user) or text(profile.get("real_name")),
        line=line,
        file=str(file),
    )


def _plain(marked: str, names: Mapping[str, str]) -> str:
    """Slack's marks as text: mentions by name, links by label and address.

    >>> _plain("<@U1> see <https://example.org|the page> &amp; try", {"U1": "Jo"})
    '@Jo see the page (https://example.org) & try'
    """

    def show(match: re.Match[str]) -> str:
        kind, target, label = match[1], match[2], match[3]
        if kind == "@":
            return f"@{names.get(target) or label or target}"
        if kind:
            return f"{kind.replace('!', '@')}{label or target}"
        return f"{label} ({target})" if label and label != target else target

    return html.unescape(_MARK.sub(show, marked))
