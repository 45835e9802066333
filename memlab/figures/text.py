"""Labels: how wide a text will be, where to cut it, and what XML can't hold."""

from __future__ import annotations

import re
import unicodedata

from memlab.records import clean_text

__all__ = ["one_line", "shorten", "text_width", "wrap", "xml_text"]

# Advance widths of Helvetica in em, by group; other capitals count as 0.69, everything else as 0.556.
_WIDTHS = {
    **dict.fromkeys("ijl'|", 0.222),
    **dict.fromkeys(" .,:;!/\\ftI[]", 0.278),
    **dict.fromkeys("()-r`{}", 0.334),
    **dict.fromkeys('"*Jckszvxy', 0.5),
    "w": 0.722,
    "m": 0.833,
    "M": 0.833,
    "W": 0.944,
    "%": 0.889,
    "@": 1.015,
    "…": 1.0,
}
_NOT_XML = re.compile("[\ufffe\uffff]")
_JOINERS = "\u200d\ufe0e\ufe0f"


def xml_text(text: str) -> str:
    r"""Text with every character that XML 1.0 forbids turned into a visible escape.

    >>> xml_text("a\x00b")
    'a\\x00b'
    """
    return _NOT_XML.sub(lambda m: f"\\u{ord(m[0]):04x}", clean_text(text))


def one_line(text: str) -> str:
    """Text with every run of white space as one space, for a label."""
    return " ".join(text.split())


def text_width(text: str, size: float) -> float:
    """Roughly how wide a text will be, in the unit of `size` (the font's height), a little on the safe side.

    >>> round(text_width("Teams", 10.0), 1)
    32.9
    """
    return 1.05 * size * sum(_char(c) for c in text)


def _char(c: str) -> float:
    if c in _WIDTHS:
        return _WIDTHS[c]
    if unicodedata.combining(c) or c in _JOINERS:
        return 0.0
    if unicodedata.east_asian_width(c) in "WF":
        return 1.0
    return 0.69 if c.isupper() else 0.556


def shorten(text: str, width: float, size: float) -> str:
    """The text, or as much of its start as fits into `width` with an ellipsis.

    >>> shorten("others cannot hear me in Teams calls", 100.0, 10.0)
    'others cannot hear…'
    """
    if text_width(text, size) <= width:
        return text
    used, end = text_width("…", size), 0
    while end < len(text) and used + text_width(text[end], size) <= width:
        used += text_width(text[end], size)
        end += 1
    # Never cut between a letter and what modifies it.
    while 0 < end < len(text) and (
        unicodedata.combining(text[end]) or text[end] in _JOINERS or text[end - 1] == "\u200d"
    ):
        end -= 1
    return text[:end].rstrip() + "…"


def wrap(text: str, width: float, size: float) -> list[str]:
    """The text on one line, or on two of about equal length; what does not fit ends in an ellipsis.

    >>> wrap("others cannot hear me in Teams calls", 110.0, 10.0)
    ['others cannot hear', 'me in Teams calls']
    """
    line = one_line(text)
    words = line.split(" ")
    halves = [(" ".join(words[:n]), " ".join(words[n:])) for n in range(1, len(words))]
    halves = [h for h in halves if text_width(h[0], size) <= width]
    if text_width(line, size) <= width or not halves:
        return [shorten(line, width, size)]
    whole = [h for h in halves if text_width(h[1], size) <= width]
    first, rest = min(whole, key=lambda h: max(text_width(t, size) for t in h)) if whole else halves[-1]
    return [first, shorten(rest, width, size)]
