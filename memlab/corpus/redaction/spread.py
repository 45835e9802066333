"""What was found in one place, found in every place: a name once in a greeting is a name in the next sentence, too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memlab.corpus.redaction.names import is_name_word
from memlab.corpus.redaction.spans import TYPES, Span, SpanType

__all__ = ["Clue", "clues", "mentions"]

Clue = tuple[re.Pattern[str], SpanType]
_HANDLE = re.compile(r"(?P<first>[^\W\d_]+)[._](?P<last>[^\W\d_]{2,})")


def clues(texts: Sequence[str], spans: Sequence[Sequence[Span]], *, requester: str | None = None) -> list[Clue]:
    """Patterns for what the spans of the texts give away: first exact repeats, then people by their names and handles.

    Parameters
    ----------
    texts, spans : sequence
        The texts, and what was found in each.
    requester : str, optional
        Who wrote, as ``first.last`` or the like.
    """
    words: set[str] = set()
    handles: set[str] = {requester} if requester else set()
    exact: dict[str, SpanType] = {}
    for text, found in zip(texts, spans, strict=True):
        for span in found:
            value = text[span.start : span.end]
            if span.type == "NAME":
                words.update(w.strip(".'’") for w in value.split())
            elif len(value) >= 5 and not value.isdigit():
                exact[value] = span.type
            if span.type == "EMAIL":
                handles.add(value.split("@")[0])
    words.update(word.capitalize() for handle in handles for word in _name_words(handle))
    names = sorted(w for w in words if len(w) > 2 and w[0].isupper() and is_name_word(w))
    repeats = [(_whole([v for v, t in exact.items() if t == kind]), kind) for kind in TYPES if kind in exact.values()]
    return [*repeats, *_people(names), *_small(handles)]


def _name_words(handle: str) -> Iterator[str]:
    """First and last name out of ``first.last``; of ``f.last`` only the last."""
    if match := _HANDLE.fullmatch(handle):
        yield from (word for word in match.groups() if len(word) > 2 and is_name_word(word.capitalize()))


def _whole(values: Sequence[str]) -> re.Pattern[str]:
    longest_first = sorted(values, key=lambda v: (-len(v), v))
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])")


def _people(names: Sequence[str]) -> Iterator[Clue]:
    if not names:
        return
    word = "|".join(map(re.escape, names))
    before = r"(?:(?:[A-ZÀ-Þ]\.|[A-ZÀ-ÖØ-Þ][\w'’-]+)[ ])?"
    yield re.compile(rf"(?<![\w@.-]){before}(?:{word})(?:[ ](?:{word}))*(?![\w@-]|\.\w)"), "NAME"
    # Accounts are made of names: an initial or two in front, all small.
    small = "|".join(re.escape(n.lower()) for n in names if len(n) > 3)
    if small:
        yield re.compile(rf"(?<![\w@.-])[a-z]{{1,2}}[._-]?(?:{small})(?![\w@-]|\.\w)"), "ACCOUNT"


def _small(handles: set[str]) -> Iterator[Clue]:
    """Both parts of a handle side by side, in any case ("camille renard, camille.renard@…")."""
    pairs = sorted(m.groups() for h in handles if (m := _HANDLE.fullmatch(h)) and len(m["first"]) > 1)
    if pairs:
        both = "|".join(rf"{re.escape(first)}[ ]+{re.escape(last)}" for first, last in pairs)
        yield re.compile(rf"(?i)(?<![\w@.-])(?:{both})(?![\w@-])"), "NAME"


def mentions(text: str, found: Sequence[Clue]) -> Iterator[Span]:
    """Where the clues show in a text; the word in front of a family name belongs to it only if it can be a name."""
    for pattern, kind in found:
        for match in pattern.finditer(text):
            start = match.start()
            if kind == "NAME":
                first, _, rest = match[0].partition(" ")
                if rest and (not is_name_word(first) or re.search(r"['’]s?$", first)):
                    start += len(first) + 1
            yield Span(start, match.end(), kind)
