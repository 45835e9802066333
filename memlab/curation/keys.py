"""Exact match: one key for every way to type the same words, in any script, and never an empty one."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import regex

__all__ = ["folded", "normal_key", "words"]

_INVISIBLE = regex.compile(r"[\p{Cf}\p{Variation_Selector}]")
_DASHES = regex.compile(r"[\p{Pd}\u2212]")
_QUOTES = str.maketrans("\u2018\u2019\u201b\u2032", "''''")
# Letters, marks and digits of any script, joined by signs that have some on both sides: 0x8007-0005, wi-fi, 16.0.1.
_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:[.:/\\_'+#-][\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*[+#%]*")

_ASCII_WORD = re.compile(_WORD.pattern.replace(r"\p{L}\p{M}\p{N}", "a-z0-9").replace(r"\p{L}\p{N}", "a-z0-9"))  # faster


@lru_cache(maxsize=65536)
def folded(text: str) -> str:
    """A text in lower case, with one form for every width, dash, composition and apostrophe, nothing invisible."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", text.translate(_QUOTES))
    text = _DASHES.sub("-", _INVISIBLE.sub("", text))
    return unicodedata.normalize("NFKC", text.casefold())  # casefolding can undo composition


@lru_cache(maxsize=65536)
def words(text: str) -> tuple[str, ...]:
    """The words of a text, whatever its case, width, dashes, composition and invisible characters.

    >>> words("Error 0x8007-0005: Wi\u2011Fi (CORP)")
    ('error', '0x8007-0005', 'wi-fi', 'corp')
    """
    plain = folded(text)
    return tuple((_ASCII_WORD if plain.isascii() else _WORD).findall(plain))


@lru_cache(maxsize=65536)
def normal_key(text: str) -> str:
    """The key under which equal wordings meet; for text without any word (``"???"``) the folded text itself.

    >>> normal_key("DNS  cache stale.") == normal_key("dns cache STALE")
    True
    """
    return " ".join(words(text)) or folded(text).strip() or repr(text)
