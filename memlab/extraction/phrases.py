"""From a clause to a short phrase: trimmed of what says nothing, with the product in front where none is named."""

from __future__ import annotations

import re

from memlab.corpus.languages import in_english
from memlab.extraction.clauses import Clause
from memlab.records import Conversation

__all__ = ["headline", "phrase", "tidy", "with_product"]

MOST_WORDS = 20
_FILLER = re.compile(
    r"^(?:(?:and|but|so|then|well|also|yes|yeah|yep|no|nope|ok|okay|um|uh|hm+|oh|ah|hi|hello|hey|morning|i|we|i've|i'd|"
    r"we've|have|had|just|already|actually|basically|that|which|because|cause|now|right|please|could you|can you|try|"
    r"you can|you could|und|aber|dann|ich|habe|bitte|et|mais|puis|j'ai|je)\b[\s,.:;!-]*)+",
    re.I,
)
# What a headline leaves out: fillers, articles, persons; and names of devices, addresses and times.
_SOFT = re.compile(
    r"just|now|then|so|very|really|actually|basically|also|even|already|quite|please|pls|thanks|hello|hi|good|morning|"
    r"yes|no|ok|okay|well|um|uh|again|and|but|because|which|think|guess|probably|maybe|dear|i|we|you|he|she|it|my|our|"
    r"your|his|her|the|a|an|have|had|has",
    re.I,
)
_NAMES = re.compile(
    r"\b(?:[A-Z]{2,3}-[\w-]*\d[\w-]*|\d{1,3}(?:\.\d{1,3}){3}|[\w.+-]+@[\w.-]+|\d{1,2}:\d{2}(?::\d\d)?|https?://\S+)(?!\w)"
)


def phrase(conversation: Conversation, clause: Clause, field: str, category: str | None) -> str:
    """At most 20 words of the clause in English, without what a headline leaves out; never empty.

    All but attempts and facts take the whole sentence if that is short, for half of it is often "because of that", and
    start with the product: measured on train and dev, both bring a phrase nearer to what people write.
    """
    text = tidy(clause.text)
    if field in ("symptom", "cause", "solution"):
        whole = tidy(conversation.turns[clause.turn].text[clause.sentence[0] : clause.sentence[1]])
        text = whole if len(whole.split()) <= MOST_WORDS else text
    if field in ("symptom", "cause"):
        text = headline(text)
    elif field in ("attempt", "solution"):
        text = _FILLER.sub("", text) or text
    text = in_english(" ".join(text.split()[:MOST_WORDS]) or clause.text, conversation.turns[clause.turn].text)
    return with_product(text, category) if field in ("symptom", "cause", "solution") else text


def with_product(text: str, category: str | None) -> str:
    """The text with its category in front, unless it names it."""
    product = (category or "").replace("-", " ")
    if category in (None, "other") or product.casefold() in text.casefold():
        return text
    return f"{product}: {text}"


def headline(text: str) -> str:
    """Without fillers, articles, persons, and names of devices, addresses and times; never empty."""
    words = _NAMES.sub(" ", text).split()
    return " ".join(w for w in words if not _SOFT.fullmatch(w.strip(".,;:!?()\"'"))) or text


def tidy(text: str) -> str:
    """On one line, without punctuation at its ends."""
    return re.sub(r"\s+", " ", text).strip(" \t\n,.;:-–—!?\"'()*>")
