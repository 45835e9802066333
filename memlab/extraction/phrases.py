"""From a marked span to a short phrase: trimmed, and with the product in front where the words alone do not name it."""

from __future__ import annotations

import re

from memlab.extraction.reader import Span
from memlab.records import Conversation

__all__ = ["phrase"]

MOST_WORDS = 16
_FILLER = re.compile(
    r"^(?:(?:and|but|so|then|well|also|yes|yeah|yep|no|ok|okay|um|uh|hm+|oh|ah|i|we|i've|i'd|we've|have|had|just|already|"
    r"actually|basically|that|which|because|ich habe|j'ai)\b[\s,.:;-]*)+",
    re.I,
)


def phrase(conversation: Conversation, span: Span) -> str:
    """At most 16 words of the quote, without fillers in front and punctuation at the end; never empty."""
    text = re.sub(r"\s+", " ", span.quote).strip(" \t\n,.;:-–—!?\"'()")
    if span.field in ("attempt", "solution"):
        text = _FILLER.sub("", text) or text
    words = text.split(" ")
    text = " ".join(words[:MOST_WORDS]) or span.quote.strip() or span.quote
    if span.field == "symptom" and conversation.category:
        product = conversation.category.replace("-", " ")
        if product.casefold() not in text.casefold():
            text = f"{product}: {text}"
    return text
