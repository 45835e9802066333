"""Objects out of JSON files of any shape: lines, a list, a list under a key, several pages; damage costs little."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from memlab.corpus.encoding import detect_encoding, is_broken, open_text
from memlab.corpus.reading import Skipped

__all__ = ["Item", "json_items"]

Item: TypeAlias = "tuple[int, Mapping[str, Any]] | Skipped"
_SPACE = " \t\r\n,"


def json_items(path: Path, *, under: Sequence[str] = ()) -> Iterator[Item]:
    """The objects of a JSON or JSON lines file with the line where each begins.

    Lines are read one at a time; a document (a list, or an object with the list under one of `under`) is read whole,
    and what stands before the place where it is cut off or damaged is still given.

    Parameters
    ----------
    path : path
        A file in UTF-8, UTF-16 or Windows-1252.
    under : sequence of str
        Keys that hold the list in an object, such as ``("tickets",)``.

    Raises
    ------
    InputError
        If the file can't be opened or is no text.
    """
    encoding = detect_encoding(path)
    with open_text(path, encoding) as file:
        head = list(_head(file))
        file.seek(0)
        if _is_document(head):
            yield from _document(path, file.read(), under)
        else:
            for number, line in enumerate(file, 1):
                yield from _line(path, number, line, under)


def _head(file: TextIO) -> Iterator[str]:
    """The first lines that hold something, at most six."""
    lines = (line.strip("\ufeff" + _SPACE) for line in file)
    return islice((line for line in lines if line), 6)


def _is_document(head: Sequence[str]) -> bool:
    """Whether a file is one document rather than an object a line; `head` are its first lines."""
    if not head or not head[0].startswith(("{", "[")) or _is_object(head[0]):
        return False
    return head[0].startswith("[") or head[0].endswith(("{", "[")) or not any(map(_is_object, head[1:]))


def _is_object(text: str) -> bool:
    try:
        return isinstance(_loads(text), Mapping)
    except ValueError:
        return False


def _loads(text: str) -> object:
    try:
        return json.loads(text.removeprefix("\ufeff"), parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


def _line(path: Path, number: int, line: str, under: Sequence[str]) -> Iterator[Item]:
    if not line.strip("\ufeff \t\r\n"):
        return
    if is_broken(line):
        yield Skipped(str(path), number, "not UTF-8; save the file as UTF-8")
        return
    try:
        value = _loads(line)
    except ValueError as error:
        yield Skipped(str(path), number, f"not JSON: {error}")
        return
    yield from _objects(path, number, value, under)


def _objects(path: Path, number: int, value: object, under: Sequence[str]) -> Iterator[Item]:
    """An object, or the objects of the list that it is or holds."""
    if isinstance(value, Mapping):
        inner = next((value[k] for k in under if isinstance(value.get(k), list)), None)
        if inner is None:
            yield number, value
            return
        value = inner
    if not isinstance(value, list):
        yield Skipped(str(path), number, f"not a JSON object but a {type(value).__name__}")
        return
    for item in value:
        if isinstance(item, Mapping):
            yield number, item
        else:
            yield Skipped(str(path), number, f"not a JSON object but a {type(item).__name__}")


def _document(path: Path, text: str, under: Sequence[str]) -> Iterator[Item]:
    text = text.removeprefix("\ufeff")
    body = text.lstrip()
    if body.startswith("["):
        yield from _elements(path, text, len(text) - len(body) + 1)
        return
    try:
        value = _loads(text)
    except ValueError as error:
        start = _list_start(text, under)
        if start is None:
            yield Skipped(str(path), getattr(error, "lineno", 1), f"not JSON: {error}")
            return
        yield from _elements(path, text, start)
        return
    yield from _objects(path, 1, value, under)


def _list_start(text: str, under: Sequence[str]) -> int | None:
    """Where the list of a damaged object begins: after the first `"key": [`."""
    for key in under:
        at = text.find(f'"{key}"')
        rest = text[at + len(key) + 2 : at + len(key) + 40].lstrip(" \t\r\n:") if at >= 0 else ""
        if rest.startswith("["):
            return text.index("[", at) + 1
    return None


def _elements(path: Path, text: str, at: int) -> Iterator[Item]:
    """The elements of a list one by one, up to its end or to the first damage."""
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    line, counted = 1, 0
    while True:
        while at < len(text) and text[at] in _SPACE:
            at += 1
        line, counted = line + text.count("\n", counted, at), at
        if at >= len(text):
            yield Skipped(str(path), line, "the file is cut off here (its list has no end)")
            return
        if text[at] == "]":
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            yield Skipped(str(path), line, f"cut off or damaged from here on: {error}")
            return
        if is_broken(text[at:end]):
            yield Skipped(str(path), line, "not UTF-8; save the file as UTF-8")
        elif isinstance(value, Mapping):
            yield line, value
        else:
            yield Skipped(str(path), line, f"not a JSON object but a {type(value).__name__}")
        at = end
