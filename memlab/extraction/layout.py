"""A conversation as the reader model sees it: one run of tokens that know their turn and place, without quoted text.

Nothing that stands in a conversation only because somebody quoted it (an older mail, a forwarded ticket) is laid out,
so it can't become evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import regex

from memlab.models.embeddings import load_tokenizer
from memlab.records import Conversation

__all__ = ["Layout", "Token", "Window", "lay_out", "quoted_spans", "windows"]

WINDOW = 384
_CLS, _SEP = 101, 102
_QUOTE_HEAD = regex.compile(
    r"""(?mix) ^[ \t]*(?:
        -{2,}\s*(?:original\s+message|ursprüngliche\s+nachricht|message\s+d['’]origine|forwarded\s+message|weitergeleitete.*?|begin\s+forwarded.*?)\s*-{0,}
      | on\ .{6,80}\ wrote: | am\ .{6,80}\ schrieb.{0,60}: | le\ .{6,80}\ a\ écrit\ ?:
      | (?:from|von|de)\ ?:\ .+\n[ \t]*>?[ \t]*(?:sent|gesendet|envoyé|date|datum|to|an|à)\ ?:
    )"""
)
_QUOTE_LINES = regex.compile(r"(?m)(?:^[ \t]*>.*(?:\n|$))+")


def quoted_spans(text: str) -> list[tuple[int, int]]:
    """Where a text quotes another mail: lines that start with ">", and all from a quoted mail's head on.

    >>> quoted_spans("still broken\\n> did you restart?\\nyes")
    [(13, 32)]
    """
    head = _QUOTE_HEAD.search(text)
    end = head.start() if head else len(text)
    spans = [m.span() for m in _QUOTE_LINES.finditer(text, 0, end)]
    return [*spans, (end, len(text))] if end < len(text) else spans


@dataclass(frozen=True, slots=True)
class Token:
    """A word piece: its id, its turn, and its place in that turn's text (start = end for a speaker mark)."""

    id: int
    turn: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Layout:
    """All tokens of a conversation in order."""

    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of tokens [start, stop) that fits the model; logits count in [keep_from, keep_to)."""

    start: int
    stop: int
    keep_from: int
    keep_to: int


@cache
def _tokenizer() -> Any:
    return load_tokenizer(truncate=False)


@cache
def _mark(role: str) -> tuple[int, ...]:
    return tuple(_tokenizer().encode(f"{role}:", add_special_tokens=False).ids)


def lay_out(conversation: Conversation) -> Layout:
    """Tokens of every turn behind a mark of who speaks."""
    tokens: list[Token] = []
    for number, turn in enumerate(conversation.turns):
        quoted = quoted_spans(turn.text)
        encoding = _tokenizer().encode(turn.text, add_special_tokens=False)
        tokens += [Token(i, number, 0, 0) for i in _mark(turn.role)]
        tokens += [
            Token(i, number, a, b)
            for i, (a, b) in zip(encoding.ids, encoding.offsets, strict=True)
            if not any(s <= a < e for s, e in quoted)
        ]
    return Layout(tuple(tokens))


def windows(layout: Layout, size: int = WINDOW) -> list[Window]:
    """Cover a layout with overlapping windows; each token's reading comes from the window where it stands most inside."""
    room, total = size - 2, len(layout.tokens)
    if total <= room:
        return [Window(0, total, 0, total)]
    step = room // 2
    starts = list(range(0, total - room, step)) + [total - room]
    cuts = [0] + [(a + room + b) // 2 for a, b in zip(starts, starts[1:], strict=False)] + [total]
    return [Window(s, s + room, a, b) for s, a, b in zip(starts, cuts, cuts[1:], strict=False)]


def window_ids(layout: Layout, window: Window) -> list[int]:
    """Token ids of a window between [CLS] and [SEP]."""
    return [_CLS, *(t.id for t in layout.tokens[window.start : window.stop]), _SEP]


def verbatim(conversation: Conversation, tokens: Sequence[Token]) -> str:
    """The words of a turn that a run of tokens covers, exactly as written."""
    return conversation.turns[tokens[0].turn].text[tokens[0].start : tokens[-1].end]
