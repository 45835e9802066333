"""Recogniser for people's names.

A name shows in where it stands (`name_patterns`), or is a common given name (`given_names.txt`); `not_names.txt` lists
words that stand where names stand without being any. Family names alone in a sentence are missed, unless a greeting, a
title, a signature or an address gives them away elsewhere in the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources

from memlab.corpus.redaction.name_patterns import GIVEN, PARTICLE, PLACES, SMALL
from memlab.corpus.redaction.spans import Span

__all__ = ["is_given_name", "is_name_word", "names"]

_INNER_CAPITAL = re.compile(r"(?<!\bMc)(?<!\bMac)(?<!\bDe)(?<!\bLe)(?<=[a-zß-ÿ])[A-Z]")
# fmt: off
_SMALL_WORDS = frozenset((
    "anders", "angel", "august", "carmen", "chris", "ernst", "felix", "floor", "georgia", "heide", "jordan",
    "konstantin", "lasse",
))
# fmt: on


def _words(file: str) -> Iterator[str]:
    lines = resources.files("memlab.corpus.redaction").joinpath(file).read_text("utf-8").splitlines()
    return (word for line in lines if not line.startswith("#") for word in line.split())


@cache
def _not_names() -> frozenset[str]:
    return frozenset(_words("not_names.txt"))


@cache
def _given_names() -> frozenset[str]:
    return frozenset(_words("given_names.txt"))


@cache
def _small_names() -> frozenset[str]:
    """Given names that are told from words even in small letters, as a machine writes them down from a call."""
    return frozenset(n.lower() for n in _given_names() if len(n) >= 5) - _not_names() - _SMALL_WORDS


@cache
def _any_case() -> frozenset[str]:
    return frozenset(n.lower() for n in _given_names())


def is_given_name(word: str) -> bool:
    """Whether a word is a common given name, in any case.

    >>> is_given_name("ilse"), is_given_name("sources")
    (True, False)
    """
    return word.lower() in _any_case()


def is_name_word(word: str) -> bool:
    """Whether a word can be part of a name: no known other word, no code, not all capitals.

    >>> is_name_word("Katja"), is_name_word("Outlook"), is_name_word("VPN")
    (True, False, False)
    """
    bare = word.strip(".'’-")
    if not bare or any(c.isdigit() or c == "_" for c in bare) or bare.lower() in _not_names():
        return False
    if len(bare) == 1:
        return True
    return not any(len(part) > 1 and part.isupper() for part in bare.split("-")) and not _INNER_CAPITAL.search(bare)


def names(text: str) -> Iterator[Span]:
    """People's names without their titles."""
    for pattern in PLACES:
        for match in pattern.finditer(text):
            for group in ("value", "second") if "second" in pattern.groupindex else ("value",):
                if match[group]:
                    yield from _trimmed(text, match.start(group), match.end(group))
    for match in GIVEN.finditer(text):
        if match["first"] in _given_names():
            yield from _trimmed(text, match.start("value"), match.end("value"))
    for match in SMALL.finditer(text):
        if match[0] in _small_names():
            yield Span(match.start(), match.end(), "NAME")


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    """The leading words that can be a name, without the s of possession; an initial or particle alone is none."""
    stop, solid = start, False
    for word in re.finditer(r"\S+", text[start:end]):
        if solid and re.fullmatch(PARTICLE, word[0]):
            continue
        bare = re.sub(r"['’]s?$", "", word[0])
        if not is_name_word(bare):
            break
        stop = start + word.start() + len(bare)
        solid = solid or len(bare.strip(".")) > 1
        if bare != word[0]:
            break
    if solid:
        yield Span(start, stop, "NAME")
