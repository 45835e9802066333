"""How many words a query shares with the symptoms that it paraphrases."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["BANDS", "band", "content_words", "overlap"]

BANDS = ("none", "some", "half or more", "all")
_WORD = re.compile(r"[^\W_]+")
# fmt: off
_STOP = frozenset((
    "aber", "after", "again", "all", "always", "and", "any", "are", "auf", "avec", "be", "before", "bei", "beim",
    "but", "can", "cannot", "dans", "das", "dem", "den", "der", "des", "did", "die", "does", "don", "ein", "eine",
    "einen", "est", "for", "from", "für", "get", "got", "had", "has", "hat", "have", "here", "how", "ich", "into",
    "ist", "its", "just", "kein", "keine", "les", "mais", "me", "mehr", "mein", "meine", "mes", "mit", "mon", "my",
    "never", "nicht", "noch", "not", "nur", "off", "only", "our", "out", "pas", "plus", "pour", "que", "qui", "say",
    "says", "sich", "since", "sont", "still", "sur", "than", "that", "the", "them", "then", "there", "they", "this",
    "und", "une", "von", "was", "wenn", "were", "what", "when", "who", "why", "will", "wird", "with", "you", "your",
))
# fmt: on


def content_words(text: str) -> frozenset[str]:
    """The words of a text that carry its meaning: lower case, endings cut, at least three letters, or with a digit.

    >>> sorted(content_words("Others cannot hear me in Teams calls"))
    ['call', 'hear', 'other', 'team']
    """
    words = _WORD.findall(text.lower())
    return frozenset(_stem(w) for w in words if w not in _STOP and (len(w) > 2 or any(c.isdigit() for c in w)))


def _stem(word: str) -> str:
    for ending in ("ings", "ing", "edly", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) > 3 - len(ending) // 3:
            stem = word[: -len(ending)]
            doubled = len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "aeiouls"
            return stem[:-1] if doubled else stem
    return word


def overlap(query: str, texts: Iterable[str]) -> float:
    """The share of a query's content words that occur in any of the texts; 0 for a query without content words.

    >>> overlap("nobody hears me in a call", ["others cannot hear me in Teams calls"])
    0.6666666666666666
    """
    words = content_words(query)
    known = frozenset().union(*map(content_words, texts))
    return len(words & known) / len(words) if words else 0.0


def band(share: float) -> str:
    """A name for how much is shared."""
    return BANDS[0] if share == 0 else BANDS[3] if share == 1 else BANDS[2] if share >= 0.5 else BANDS[1]
