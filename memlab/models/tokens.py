"""Counting tokens without a network: the encoder's own WordPiece tokenizer."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

from memlab.models.minilm import load_tokenizer

__all__ = ["count_tokens", "tokenizer"]


@cache
def tokenizer() -> Any:
    """The encoder's tokenizer (a `tokenizers.Tokenizer`) that cuts nothing off, loaded once."""
    return load_tokenizer(truncate=False)


@lru_cache(maxsize=65536)
def _count_line(line: str) -> int:
    return len(tokenizer().encode(line, add_special_tokens=False).ids)


def count_tokens(text: str) -> int:
    """WordPiece tokens of the text (white space counts nothing), the unit of every budget in memlab.

    >>> count_tokens("restart the printer")
    3
    """
    return sum(_count_line(line) for line in text.splitlines())
