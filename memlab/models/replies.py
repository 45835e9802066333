"""JSON in what a model says: chatty, fenced, with trailing commas; never the whole part of what was cut off."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from memlab.errors import ModelError

__all__ = ["json_objects"]

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
_MARKS = re.compile(r'["{}\[\]\\]')


def json_objects(text: str) -> list[Any]:
    """Every JSON value in braces or brackets that stands in a chatty reply; other text in braces is passed by.

    Raises
    ------
    ModelError
        If the reply ends inside a brace or a bracket: it was cut off, and not even its whole parts are read. `.raw`
        holds it.

    >>> json_objects('Sure {as asked}: {"issues": [],} ok?')
    [{'issues': []}]
    """
    found = []
    for group in _groups(_THOUGHT.sub("", text)):
        try:
            found.append(_loads(group))
        except (ValueError, RecursionError):
            continue
    return found


def _groups(text: str) -> Iterator[str]:
    """The outermost balanced groups; strings are minded inside of groups only."""
    start, depth, quoted, skip = 0, 0, False, -1
    for match in _MARKS.finditer(text):
        at, mark = match.start(), match[0]
        if at == skip or (depth == 0 and mark not in "{["):
            continue
        if mark == "\\":
            skip = at + 1 if quoted else -1
        elif mark == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif mark in "{[":
            start = at if depth == 0 else start
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                yield text[start : at + 1]
    if depth:
        raise ModelError("the reply ends in the middle of its JSON", raw=text)


def _loads(group: str) -> Any:
    try:
        return _strict(group)
    except ValueError:
        return _strict(_TRAILING_COMMA.sub(lambda m: m[1] or "", group))


def _strict(text: str) -> Any:
    return json.loads(text, strict=False, parse_constant=_no_number, object_pairs_hook=_pairs)


def _no_number(_: str) -> None:
    """NaN and Infinity are no JSON numbers: read as null, so that only the item they stand in is lost."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out and out[key] != value:
            raise ValueError(f"{key!r} stands twice with different values")
        out[key] = value
    return out
