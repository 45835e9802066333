"""Runs of words that two texts share: the trace of copying and of templates."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from memlab.corpus.quoting import quoted_spans
from memlab.records import Conversation

__all__ = ["Passage", "Repeat", "own_passages", "repeats"]

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of own words: the document it is in (a conversation, a query), the turn, and the text."""

    document: str
    turn: int
    text: str


@dataclass(frozen=True, slots=True, order=True)
class Repeat:
    """A run of words that stands in two documents, as long as it goes."""

    first: str
    first_turn: int
    second: str
    second_turn: int
    words: str

    def to_json(self) -> dict[str, Any]:
        """Where it stands twice, and the words."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __str__(self) -> str:
        return f"{self.first} turn {self.first_turn} = {self.second} turn {self.second_turn}: {self.words}"


def own_passages(conversation: Conversation) -> Iterator[Passage]:
    """What people wrote themselves: no tool turns, no quoted mails."""
    for number, turn in enumerate(conversation.turns):
        if turn.role == "tool":
            continue
        last = 0
        for start, end in quoted_spans(turn.text):
            yield Passage(conversation.id, number, turn.text[last:start])
            last = end
        yield Passage(conversation.id, number, turn.text[last:])


def repeats(passages: Iterable[Passage], *, length: int = 8) -> list[Repeat]:
    """All runs of at least `length` words that two documents share, whatever case and punctuation, in a fixed order."""
    texts = [(p, _WORD.findall(p.text.lower())) for p in passages]
    places: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for number, (_, words) in enumerate(texts):
        for at in range(len(words) - length + 1):
            places[tuple(words[at : at + length])].append((number, at))
    shared: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for found in places.values():
        for i, (a, at) in enumerate(found):
            # One partner is enough to show that a run is not its document's own.
            partner = next(((b, bt) for b, bt in found[i + 1 :] if texts[b][0].document != texts[a][0].document), None)
            if partner:
                shared[a, partner[0], partner[1] - at].append(at)
    return sorted(
        _whole(texts[a], texts[b], sorted(starts), length) for (a, b, _), s in shared.items() for starts in _runs(s)
    )


def _runs(starts: list[int]) -> Iterator[list[int]]:
    """Starts that follow one another without a gap."""
    run: list[int] = []
    for start in sorted(starts):
        if run and start != run[-1] + 1:
            yield run
            run = []
        run.append(start)
    if run:
        yield run


def _whole(a: tuple[Passage, list[str]], b: tuple[Passage, list[str]], starts: list[int], length: int) -> Repeat:
    words = " ".join(a[1][starts[0] : starts[-1] + length])
    return Repeat(a[0].document, a[0].turn, b[0].document, b[0].turn, words)
