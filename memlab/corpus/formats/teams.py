"""Reader for Microsoft Teams channel messages as Microsoft Graph gives them (`chatMessage`), a conversation a thread.

A file or a folder of files, each a page (``{"value": […]}``), a list, or JSON lines; replies may be messages of their
own (`replyToId`) or stand inside their root (`replies`). Deleted messages and system events are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from memlab.corpus.formats.building import mapping, mappings, text
from memlab.corpus.formats.threads import Message, thread_conversations
from memlab.corpus.jsonfiles import json_items
from memlab.corpus.plain import html_to_text
from memlab.corpus.quoting import cut_quoted
from memlab.corpus.reading import Options, Skipped
from memlab.errors import InputError
from memlab.records import Conversation, parse_time

__all__ = ["read"]


def read(path: Path, options: Options) -> Iterator[Conversation | Skipped]:
    """Threads in the order of their first messages; the id is the root message's."""
    files = sorted(path.glob("*.json*")) if path.is_dir() else [path]
    items = (found for file in files for found in _messages(file, options))
    return thread_conversations(path, items, options, channel="", metadata={})


def _messages(file: Path, options: Options) -> Iterator[Message | Skipped]:
    for item in json_items(file, under=("value",)):
        if isinstance(item, Skipped):
            yield item
            continue
        line, root = item
        for data in [root, *mappings(root.get("replies"))]:
            if text(data.get("messageType") or "message") != "message" or data.get("deletedDateTime"):
                continue
            try:
                yield _message(file, line, data, text(root.get("id")), options)
            except InputError as error:
                yield Skipped(str(file), line, str(error))


def _message(file: Path, line: int, data: Mapping[str, Any], root: str, options: Options) -> Message:
    sender = mapping(data.get("from"))
    user, program = mapping(sender.get("user")), mapping(sender.get("application"))
    who = user or program
    name = text(data.get("id"))
    if not name:
        raise InputError("the message has no id")
    at: datetime = parse_time(data.get("createdDateTime"), zone=options.zone)
    return Message(
        thread=text(data.get("replyToId")) or (root if root and data.get("replyToId") is None else name),
        id=name,
        author=text(who.get("id")) or text(who.get("displayName")),
        text=_body(mapping(data.get("body")), text(data.get("subject"))),
        at=at,
        bot=bool(program) and not user,
        name=text(who.get("displayName")),
        line=line,
        file=str(file),
    )


def _body(body: Mapping[str, Any], subject: str) -> str:
    content = text(body.get("content"))
    plain = html_to_text(content) if text(body.get("contentType")).casefold() == "html" else content
    said = cut_quoted(plain).text
    return f"{subject}\n\n{said}".strip() if subject.strip() else said
