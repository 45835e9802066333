"""Text that stands in a message only because another mail is quoted there: found, and cut with a count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Cut", "cut_quoted", "quoted_spans"]

# "On … wrote:" is followed by quoted lines that start with ">", between which people answer.
_WROTE = re.compile(
    r"(?mi)^[ \t]*(?:on\b.{6,200}\bwrote|am\b.{6,200}\bschrieb\b.{0,60}|le\b.{6,200}\ba écrit"
    r"|op\b.{6,200}\bschreef\b.{0,60})\s?:[ \t]*$"
)
# A ruled head or a block of header lines is followed by the whole older mail.
_FROM = r"[>* \t]{0,9}(?:from|von|de|van)\*?[ \t]?:"
_HEAD = re.compile(
    r"(?mi)^(?:[ \t]*-{2,}[ \t]*(?:original[ -]message|ursprüngliche nachricht|message d['’]origine"
    r"|oorspronkelijk bericht)[ \t]*-*[ \t]*$"
    rf"|[ \t]*_{{20,}}[ \t]*$(?=\s{{1,9}}{_FROM})"
    rf"|{_FROM}[ \t]*\S.*\n[>* \t]{{0,9}}(?:sent|gesendet|envoyé|date|datum|verzonden|to|an|à|aan)\*?[ \t]?:)"
)
_FORWARD = re.compile(
    r"(?mi)^[ \t]*-{2,}[ \t]*(?:forwarded message|weitergeleitete nachricht|message transféré"
    r"|doorgestuurd bericht)[ \t]*-*[ \t]*$|^[ \t]*begin forwarded message:"
)
_LINES = re.compile(r"(?m)(?:^[ \t]*>.*(?:\n|$))+")


@dataclass(frozen=True, slots=True)
class Cut:
    """A text without what it quoted, and how many quoted lines were cut."""

    text: str
    lines: int


def quoted_spans(text: str) -> list[tuple[int, int]]:
    r"""Where a text quotes another mail: lines that start with ">", and all from an older mail's head on.

    >>> quoted_spans("still broken\n> did you restart?\nyes")
    [(13, 32)]
    """
    heads = [m.start() for pattern in (_HEAD, _FORWARD) if (m := pattern.search(text))]
    end = min(heads, default=len(text))
    spans = [m.span() for m in _LINES.finditer(text, 0, end)]
    spans += [m.span() for m in _WROTE.finditer(text, 0, end)]
    return list(_joined(sorted([*spans, (end, len(text))] if end < len(text) else spans), text))


def _joined(spans: list[tuple[int, int]], text: str) -> Iterator[tuple[int, int]]:
    """Merge spans that have only white space between them."""
    last: tuple[int, int] | None = None
    for span in spans:
        if last is None:
            last = span
        elif not text[last[1] : span[0]].strip():
            last = (last[0], max(last[1], span[1]))
        else:
            yield last
            last = span
    if last is not None:
        yield last


def cut_quoted(text: str, *, keep_forwarded: bool = False) -> Cut:
    r"""Cut the mails that a message quotes; answers between quoted lines stay.

    Parameters
    ----------
    text : str
        The message.
    keep_forwarded : bool
        Keep a forwarded mail: in the first message of a thread it is the report itself.

    >>> cut_quoted("works, thanks\n\nOn Mon, 2 Mar 2026 at 09:12 Desk wrote:\n> restart it\n> please")
    Cut(text='works, thanks', lines=3)
    """
    if keep_forwarded and (forward := _FORWARD.search(text)):
        own = cut_quoted(text[: forward.start()])
        return Cut(f"{own.text}\n{text[forward.start() :].strip()}".strip(), own.lines)
    kept, lines, last = [], 0, 0
    for start, end in quoted_spans(text):
        kept.append(text[last:start])
        lines += sum(1 for line in text[start:end].splitlines() if line.strip())
        last = end
    return Cut(re.sub(r"\n{3,}", "\n\n", "".join([*kept, text[last:]])).strip(), lines)
