"""A conversation as a run of clauses: small pieces of turns, verbatim, without quoted mails and orders to a reader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from memlab.corpus.quoting import quoted_spans
from memlab.extraction.quotes import gives_orders
from memlab.records import Conversation, Role

__all__ = ["Clause", "clauses_of"]

MOST_CLAUSES = 400  # of one conversation; of a longer one the first and last halves are read
MOST_WORDS = 28

# Where a sentence ends: punctuation before white space (not after one letter or digit, as in "e.g." or "1."), a line
# break, a list bullet, an emoji.
_SENTENCE = regex.compile(
    r"(?<=\w\w[)\"'”]?[.!?…;]+)\s+|\n+|(?<=\s)[-–—•*]+\s+|\s+(?=\p{Extended_Pictographic})|(?<=[)\"”][.!?])\s+"
)
# Where a clause may end inside a sentence: after a comma or colon, and before a conjunction (en, de, fr). Before "and"
# and its like only where a verb or a subject follows, for they join nouns as well.
_JOINT = regex.compile(
    r"""(?xi)
    (?<=[,:])\s+
  | \s+(?=(?:but|so|then|because|cuz|since|although|though|while|until|after|before|once|when|which|whereas|nor|
             aber|dann|weil|denn|sondern|danach|nachdem|mais|puis|ensuite|donc|parce\ que|car)\s)
  | \s+(?=(?:and|plus|or|und|et|ou)\s+
        (?:(?!and\s|or\s|und\s|et\s)\S+\s+){0,2}
        (?:\w{3,}ed|did|was|were|is|are|has|had|have|got|went|took|put|set|ran|made|gave|turned|will|would|can|could|
           i|i['’]\w+|we|we['’]\w+|it|it['’]\w+|you|they|he|she|now|then|that|this|neither|nothing|still|no|not|
           ich|wir|es|er|sie|ge\w+t|hat|ist|je|j['’]\w+|on|nous|ça|c['’]\w+|il|elle|restart\w*|reboot\w*|try|click|
           open|sign|log|check|reinstall\w*|install|remove|delete|clear|reset|run|turn|let|tell)\b)
    """
)
_WORD = regex.compile(r"\w+(?:['’-]\w+)*")


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of a turn: where it stands, its exact words, its speaker, and the sentence around it."""

    turn: int
    start: int
    end: int
    text: str
    role: Role
    sentence: tuple[int, int]
    first: bool
    last: bool


def clauses_of(conversation: Conversation) -> list[Clause]:
    """Every clause in order; pieces of fewer than two words are joined to the one before."""
    found = [c for number in range(len(conversation.turns)) for c in _of_turn(conversation, number)]
    if len(found) > MOST_CLAUSES:
        half = MOST_CLAUSES // 2
        found = found[:half] + found[-half:]
    return found


def _of_turn(conversation: Conversation, number: int) -> Iterator[Clause]:
    turn = conversation.turns[number]
    pieces: list[tuple[int, int, tuple[int, int]]] = []
    for start, end in _own_stretches(turn.text):
        for a, b in _cut(turn.text, start, end, _SENTENCE):
            if gives_orders(turn.text[a:b]):
                continue  # it speaks to whoever reads it for a machine, not about a problem
            pieces += [(c, d, (a, b)) for c, d in _clauses(turn.text, a, b)]
    for n, (a, b, sentence) in enumerate(pieces):
        yield Clause(number, a, b, turn.text[a:b], turn.role, sentence, n == 0, n == len(pieces) - 1)


def _own_stretches(text: str) -> Iterator[tuple[int, int]]:
    last = 0
    for start, end in [*quoted_spans(text), (len(text), len(text))]:
        if text[last:start].strip():
            yield last, start
        last = end


def _cut(text: str, start: int, end: int, at: regex.Pattern[str]) -> Iterator[tuple[int, int]]:
    """The stretches between the matches of a pattern, without white space at their ends."""
    last = start
    for match in at.finditer(text, start, end):
        yield from _trimmed(text, last, match.start())
        last = match.end()
    yield from _trimmed(text, last, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end


def _clauses(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Cut a sentence at its joints, then join what is too small to say anything and cut what is too long."""
    joined: list[tuple[int, int]] = []
    for a, b in _cut(text, start, end, _JOINT):
        small = len(_WORD.findall(text, a, b)) < 2
        before = joined and len(_WORD.findall(text, *joined[-1])) < 2
        if joined and (small or before):
            joined[-1] = (joined[-1][0], b)
        else:
            joined.append((a, b))
    return [piece for a, b in joined for piece in _short(text, a, b)]


def _short(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    words = list(_WORD.finditer(text, start, end))
    if len(words) <= MOST_WORDS:
        yield start, end
        return
    for n in range(0, len(words), MOST_WORDS):
        stop = words[n + MOST_WORDS].start() if n + MOST_WORDS < len(words) else end
        yield from _trimmed(text, start if n == 0 else words[n].start(), stop)
