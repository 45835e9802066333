"""What people said, as data on one line: escaped, cut at words, and read back."""

from __future__ import annotations

import re

__all__ = ["escape", "plain_name", "shorten", "unescape"]

_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "|": "\\|", "`": "\\`", "<": "\\<"}
# Other line ends, and marks that turn the direction of what follows: a reader must see one line, as it is.
_HIDDEN = re.compile("[\r\x0b\x0c\x1c-\x1f\x85\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def escape(text: str) -> str:
    """Text on one line that can't close a fence, open a tag or end a field; `unescape` gives it back."""
    text = "".join(_ESCAPES.get(c, c) for c in text)
    return _HIDDEN.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


def unescape(text: str) -> str:
    r"""What `escape` was given.

    >>> unescape(escape("a|b\n```")) == "a|b\n```"
    True
    """
    plain = {"n": "\n", "t": "\t"}
    return re.sub(r"\\(?:u([0-9a-f]{4})|(.))", lambda m: chr(int(m[1], 16)) if m[1] else plain.get(m[2], m[2]), text)


def shorten(text: str, most: int) -> str:
    """Text of at most so many characters, cut behind a word, with an ellipsis where something is missing.

    >>> shorten("the spooler stops after the update", 22)
    'the spooler stops …'
    """
    if len(text) <= most:
        return text
    head = text[: max(1, most - 1)]
    cut = max(head.rfind(" "), head.rfind("\n"))
    return f"{head[:cut].rstrip(' ,.;:-') if cut > most // 3 else head.rstrip()} …"


def plain_name(text: str) -> str:
    """A name that front matter and headings can hold: letters, digits, spaces, dots and single dashes."""
    return re.sub(r"[^\w .-]+|-{2,}", " ", text).strip()[:80] or "unnamed"
