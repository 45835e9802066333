"""Redaction of whole conversations, and the key that can undo it."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from memlab.corpus.redaction.redact import PLACEHOLDER, Book, find_spans, replace_spans
from memlab.corpus.redaction.spans import TYPES
from memlab.corpus.redaction.spread import clues
from memlab.errors import InputError
from memlab.records import Conversation, canonical_json, content_hash

__all__ = ["read_key", "redact_conversation", "restore", "write_key"]

_PSEUDONYM = re.compile(r"requester-[0-9a-f]{12}")


def redact_conversation(conversation: Conversation, *, key: MutableMapping[str, Any] | None = None) -> Conversation:
    """A conversation with typed placeholders in its turns and metadata, the same for the same thing throughout.

    What one turn gives away (a name in a greeting, an account behind "login:") is found in all turns. The requester
    becomes a hash, the same for the same person of a customer, so that two reports of one person count as one; who
    knows a name can check a hash against it. How much of each type was replaced is kept in ``metadata["redacted"]``.

    Parameters
    ----------
    conversation : Conversation
        The original.
    key : mutable mapping, optional
        Where to put what each placeholder stood for, ``{customer: {conversation: {placeholder: text}}}``. Who keeps it
        can undo redaction (`restore`, `write_key`); without it nobody can.

    Returns
    -------
    Conversation
        The redacted conversation; the very same one if there was nothing to redact.
    """
    texts = [turn.text for turn in conversation.turns]
    strings = list(_strings(conversation.metadata))
    book = Book([*texts, *strings])
    known = clues(texts, [find_spans(text) for text in texts], requester=conversation.requester)
    counts: Counter[str] = Counter()

    def hide(text: str) -> str:
        redacted = replace_spans(text, find_spans(text, known), book)
        counts.update(item.type for item in redacted.found)
        return redacted.text

    turns = tuple(replace(turn, text=hide(turn.text)) for turn in conversation.turns)
    metadata = {k: v if k == "redacted" else _map(v, hide) for k, v in conversation.metadata.items()}
    requester = _pseudonym(conversation)
    if not counts and requester == conversation.requester:
        return conversation
    if key is not None:
        entry = key.setdefault(conversation.customer, {}).setdefault(conversation.id, {})
        entry.update(book.originals)
        if requester != conversation.requester:
            entry["requester"] = conversation.requester
    before = metadata.get("redacted")
    counts.update(before if isinstance(before, Mapping) else {})
    if counts:
        metadata["redacted"] = {t: counts[t] for t in TYPES if counts[t]}
    return replace(conversation, turns=turns, requester=requester, metadata=metadata)


def restore(conversation: Conversation, key: Mapping[str, Any]) -> Conversation:
    """Undo redaction with the key that was filled when it was done; without an entry there nothing changes."""
    entry = key.get(conversation.customer, {}).get(conversation.id, {})
    requester = entry.get("requester", conversation.requester)

    def show(text: str) -> str:
        return PLACEHOLDER.sub(lambda m: str(entry.get(m[0], m[0])), text)

    metadata = {k: _map(v, show) for k, v in conversation.metadata.items() if k != "redacted" or not entry}
    turns = tuple(replace(turn, text=show(turn.text)) for turn in conversation.turns)
    return replace(conversation, turns=turns, requester=requester, metadata=metadata)


def read_key(path: str | Path) -> dict[str, Any]:
    """The key file of earlier redactions; empty if there is none yet.

    Raises
    ------
    InputError
        If the file is no JSON object of objects.
    """
    path = Path(path)
    if not path.exists():
        return {}
    try:
        key = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a key file: {error}") from None
    if not isinstance(key, dict) or not all(isinstance(v, dict) for v in key.values()):
        raise InputError(f"{path}: not a key file: it must hold {{customer: {{conversation: {{placeholder: text}}}}}}")
    return key


def write_key(key: Mapping[str, Any], path: str | Path) -> None:
    """Keep what the placeholders stood for in a file that only its owner can read."""
    path = Path(path)
    temporary = path.with_name(f"{path.name}.tmp")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(canonical_json(key) + "\n")
    temporary.replace(path)


def _pseudonym(conversation: Conversation) -> str | None:
    requester = conversation.requester
    if requester is None or _PSEUDONYM.fullmatch(requester):
        return requester
    return f"requester-{content_hash([conversation.customer, requester], length=12)}"


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for v in value.values():
            yield from _strings(v)
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from _strings(v)


def _map(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {k: _map(v, change) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_map(v, change) for v in value]
    return value
