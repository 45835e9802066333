"""From a clause to a short phrase: trimmed of what says nothing, with the product in front where none is named."""

from __future__ import annotations

import re

from memlab.extraction.clauses import Clause
from memlab.records import Conversation

__all__ = ["phrase"]

MOST_WORDS = 16
_FILLER = re.compile(
    r"^(?:(?:and|but|so|then|well|also|yes|yeah|yep|no|nope|ok|okay|um|uh|hm+|oh|ah|hi|hello|hey|morning|i|we|i've|i'd|"
    r"we've|have|had|just|already|actually|basically|that|which|because|cause|now|right|please|could you|can you|try|"
    r"you can|you could|und|aber|dann|ich|habe|bitte|et|mais|puis|j'ai|je)\b[\s,.:;!-]*)+",
    re.I,
)


def phrase(conversation: Conversation, clause: Clause, field: str, category: str | None) -> str:
    """At most 16 words of the clause, without fillers in front; never empty."""
    text = _trim(clause.text)
    if field in ("attempt", "solution"):
        text = _FILLER.sub("", text) or text
    elif field in ("symptom", "cause") and len(text.split()) < 4:
        turn = conversation.turns[clause.turn].text
        text = _trim(turn[clause.sentence[0] : clause.sentence[1]])
    text = " ".join(text.split()[:MOST_WORDS]) or clause.text
    product = (category or "").replace("-", " ")
    if field in ("symptom", "cause") and category not in (None, "other") and product.casefold() not in text.casefold():
        text = f"{product}: {text}"
    return text


def _trim(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip(" \t\n,.;:-–—!?\"'()*>")
