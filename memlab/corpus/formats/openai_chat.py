"""Reader for chats in OpenAI's form: lines of ``{"messages": [{"role", "content"}, …]}`` as used for training.

System messages are instructions, not conversation: left out and counted in `metadata["left_out"]`. These files seldom
have a time; `at=` gives one to all that have none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memlab.corpus.formats.building import build, convert, epoch, find, mapping, mappings, role_of, text
from memlab.corpus.jsonfiles import json_items
from memlab.corpus.reading import Options, Skipped
from memlab.errors import InputError
from memlab.records import Conversation, content_hash

__all__ = ["call_text", "content_text", "read"]

_INSTRUCTIONS = ("system", "developer")


def read(path: Path, options: Options) -> Iterator[Conversation | Skipped]:
    """Each object with `messages` is a conversation; its id is the object's own, else a hash of the messages."""
    return convert(path, json_items(path, under=("data", "conversations")), lambda _, d: _conversation(d, options))


def _conversation(data: Mapping[str, Any], options: Options) -> Conversation:
    messages = data.get("messages")
    if not isinstance(messages, list) or not all(isinstance(m, Mapping) for m in messages):
        raise InputError("messages must be a list of objects")
    calls = {text(c.get("id")): call_text(c) for m in messages for c in mappings(m.get("tool_calls"))}
    turns, left_out = [], 0
    for message in messages:
        if message.get("role") in _INSTRUCTIONS:
            left_out += 1
            continue
        said = content_text(message.get("content"))
        call = calls.get(text(message.get("tool_call_id")))
        turns.append(
            {
                "role": role_of(message.get("role"), options),
                "text": f"{call}: {said}" if call and said else said,
                "at": _moment(message.get("created_at") or message.get("timestamp")),
            }
        )
    columns = options.columns
    start = find(data, columns.get("started_at", "started_at")) or data.get("created_at") or data.get("created")
    return build(
        options,
        id=find(data, columns.get("id", "id")) or data.get("custom_id") or content_hash(messages),
        turns=turns,
        started_at=_moment(start),
        customer=find(data, columns.get("customer", "customer")),
        category=find(data, columns.get("category", "category")),
        requester=find(data, columns.get("requester", "user")),
        metadata={**mapping(data.get("metadata")), "left_out": left_out},
    )


def content_text(content: object) -> str:
    """The text of a message's content: a string, or the text parts of a list (images leave no trace)."""
    if isinstance(content, list):
        return "\n".join(text(p.get("text")) for p in mappings(content) if text(p.get("text")).strip())
    return text(content)


def call_text(call: Mapping[str, Any]) -> str:
    """A tool call as ``name(arguments)``."""
    function = mapping(call.get("function")) or call
    arguments = function.get("arguments")
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, sort_keys=True)
    return f"{text(function.get('name'))}({'' if written in ('null', '{}') else written})"


def _moment(value: object) -> object:
    """ISO text as it is, seconds since 1970 as a moment, nothing if missing."""
    return epoch(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
