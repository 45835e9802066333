"""Which encoding a text file is in: found from its bytes, or refused with the byte that fits none."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from memlab.errors import InputError

__all__ = ["Encoding", "detect_encoding", "is_broken", "open_text"]

_CHUNK = 1 << 20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f]")
_BROKEN = re.compile("[\udc80-\udcff]")
# Bytes that Windows-1252 leaves undefined, and control characters that no text export holds.
_NO_CP1252 = frozenset([0x81, 0x8D, 0x8F, 0x90, 0x9D, *range(9), *range(14, 27), *range(28, 32)])


@dataclass(frozen=True, slots=True)
class Encoding:
    """The name of an encoding; `mixed` if most of the file is UTF-8 but some lines are not."""

    name: str
    mixed: bool = False


def detect_encoding(path: Path) -> Encoding:
    """The encoding of a text file: UTF-8, UTF-16 or UTF-32 (by mark or by its zero bytes), else Windows-1252.

    A file that has valid UTF-8 beyond ASCII in some lines and broken bytes in others is UTF-8 with damage (`mixed`),
    not Windows-1252: reading it as such would spoil the good lines.

    Raises
    ------
    InputError
        If the file can't be opened, or is no text in any of these.
    """
    try:
        with path.open("rb") as file:
            start = file.read(4096)
            for mark, name in _MARKS:
                if start.startswith(mark):
                    return Encoding(name)
            if b"\0" in start:
                return Encoding(_without_mark(path, start))
            file.seek(0)
            return _eight_bit(path, iter(lambda: file.readline(_CHUNK), b""))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _without_mark(path: Path, start: bytes) -> str:
    even, odd = start[::2].count(0), start[1::2].count(0)
    name = "utf-16-le" if odd > even else "utf-16-be"
    sample = start[: len(start) // 2 * 2].decode(name, "replace")
    if max(even, odd) <= len(start) // 5 or min(even, odd) >= max(even, odd) // 4 or _CONTROL.search(sample):
        raise InputError(f"{path}: the file holds zero bytes and is no UTF-16: not a text file")
    return name


def _eight_bit(path: Path, lines: Iterator[bytes]) -> Encoding:
    utf8 = bad = False
    first_odd = ""
    for number, line in enumerate(lines, 1):
        if line.isascii():
            continue
        try:
            line.decode("utf-8")
            utf8 = True
        except UnicodeDecodeError as error:
            bad = True
            if not first_odd and (odd := _NO_CP1252.intersection(line)):
                first_odd = f"{path}:{number}: byte {error.start} is no UTF-8, and 0x{min(odd):02x} no Windows-1252"
    if not bad:
        return Encoding("utf-8")
    if utf8:
        return Encoding("utf-8", mixed=True)
    if first_odd:
        raise InputError(f"{first_odd}; save the file as UTF-8")
    return Encoding("cp1252")


def open_text(path: Path, encoding: Encoding) -> TextIO:
    """Open a file in its encoding, line ends untouched; bytes that do not fit become lone surrogates."""
    errors = "surrogateescape" if encoding.name.startswith("utf-8") else "replace"
    return path.open("r", encoding=encoding.name, errors=errors, newline="")


def is_broken(text: str) -> bool:
    r"""Whether a text holds bytes that could not be decoded.

    >>> is_broken(b"Dr\xfccker".decode("utf-8", "surrogateescape"))
    True
    """
    return _BROKEN.search(text) is not None
