"""Redaction: what gives people and machines away becomes typed placeholders, the same one for the same thing.

Own recognisers do it. On the first 233 messages of `datasets/redaction`, scrubadub 2.0 (offline it knows addresses and
telephone numbers) covered 0 of 48 names, 2 of 27 secrets and 1 of 14 IP addresses. presidio 2.2 asks the network for a
language model and a list of domains; with a model from the package index it covered 35 of 48 names at a precision of
0.51, 2 of 27 secrets and 1 of 20 hosts, and masked builds and correlation ids. Error codes, versions, KB numbers, event
ids, GUIDs and hardware addresses stay, because troubleshooting needs them.

Redaction lowers the risk, it does not end it: the data card holds its measured recall.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memlab.corpus.redaction.accounts import accounts
from memlab.corpus.redaction.contacts import emails, phones
from memlab.corpus.redaction.machines import hosts, ips
from memlab.corpus.redaction.names import names
from memlab.corpus.redaction.secrets import licences, secrets
from memlab.corpus.redaction.spans import TYPES, Span, SpanType, first_wins
from memlab.corpus.redaction.spread import Clue, clues, mentions

__all__ = ["PLACEHOLDER", "Book", "Found", "Redacted", "find_spans", "redact", "replace_spans"]

PLACEHOLDER = re.compile(rf"\[(?P<type>{'|'.join(TYPES)})_(?P<number>\d{{1,6}})\]")
_RECOGNISERS = (secrets, licences, emails, ips, accounts, hosts, phones, names)


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that was replaced: where it stood, its type, and its placeholder. It does not hold the text itself."""

    start: int
    end: int
    type: SpanType
    placeholder: str


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text with placeholders, and what was found in the order of the text."""

    text: str
    found: tuple[Found, ...]


def find_spans(text: str, known: Sequence[Clue] = ()) -> list[Span]:
    """What gives people or machines away in one text, with what is `known` already; placeholders are left alone."""
    taken = [m.span() for m in PLACEHOLDER.finditer(text)]
    spans = [span for recognise in _RECOGNISERS for span in recognise(text)]
    spans += mentions(text, known)
    # The longest name wins ("Katja Wirth", not "Katja"), behind everything that is surer than a name.
    spans.sort(key=lambda s: s.start - s.end if s.type == "NAME" else -len(text) - 1)
    return first_wins(spans, taken=taken)


def redact(text: str) -> Redacted:
    """A text with typed placeholders.

    >>> redact("Hi Jonas, 10.61.8.44 says 0x8004de40. Ask jonas.k@fabrikam.example").text
    'Hi [NAME_1], [IP_1] says 0x8004de40. Ask [EMAIL_1]'
    """
    return replace_spans(text, find_spans(text, clues([text], [find_spans(text)])), Book([text]))


class Book:
    """Which placeholder stands for what: numbered by type in the order of appearance, after those that `texts` hold."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._last: dict[str, int] = {}
        for match in (m for text in texts for m in PLACEHOLDER.finditer(text)):
            self._last[match["type"]] = max(self._last.get(match["type"], 0), int(match["number"]))
        self._known: dict[tuple[str, str], str] = {}

    @property
    def originals(self) -> dict[str, str]:
        """What each placeholder stands for."""
        return {placeholder: text for (_, text), placeholder in self._known.items()}

    def placeholder(self, type: SpanType, text: str) -> str:
        """The placeholder of a text, the same whenever it comes."""
        if (type, text) not in self._known:
            self._last[type] = self._last.get(type, 0) + 1
            self._known[type, text] = f"[{type}_{self._last[type]}]"
        return self._known[type, text]


def replace_spans(text: str, spans: Sequence[Span], book: Book) -> Redacted:
    """Put the book's placeholders where the spans are; `spans` are in order and do not overlap."""
    parts: list[str] = []
    found: list[Found] = []
    last = 0
    for span in spans:
        placeholder = book.placeholder(span.type, text[span.start : span.end])
        parts += [text[last : span.start], placeholder]
        found.append(Found(span.start, span.end, span.type, placeholder))
        last = span.end
    return Redacted("".join([*parts, text[last:]]), tuple(found))
