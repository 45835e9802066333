"""What of an extractor's proposals may count: clean, numbered, and resting on the conversation's own words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memlab.corpus.quoting import quoted_spans
from memlab.errors import ExtractionError
from memlab.records import Attempt, Conversation, Mention, Proposal, Solution, canonical_json

__all__ = ["settle"]


def settle(conversation: Conversation, proposals: Sequence[Proposal]) -> tuple[Proposal, ...]:
    """Proposals with clean text, a category and numbers, in one order whatever order they came in.

    What rests only on words that the conversation quotes from elsewhere is left out: it is no evidence of its own.

    Raises
    ------
    ExtractionError
        If one is about another conversation.
    """
    out = []
    for p in (Proposal.from_json(p.to_json()) for p in proposals):
        if p.conversation != conversation.id:
            raise ExtractionError(f"conversation {conversation.id!r}: a proposal is about {p.conversation!r}")
        copied = bool(conversation.metadata.get("derived_from"))
        category = p.category or conversation.category or "other"
        out.append(replace(_own(conversation, p), category=category, low_value=p.low_value or copied))
    out.sort(key=lambda p: (p.case, canonical_json(p)))
    return tuple(replace(p, case=n) for n, p in enumerate(out))


def _own(conversation: Conversation, p: Proposal) -> Proposal:
    def own(item: Mention | Solution | Attempt) -> bool:
        return not _quoted(conversation, item.turn, item.quote)

    return replace(
        p,
        symptoms=tuple(filter(own, p.symptoms)),
        root_cause=p.root_cause if p.root_cause and own(p.root_cause) else None,
        attempts=tuple(filter(own, p.attempts)),
        solution=p.solution if p.solution and own(p.solution) else None,
        facts=tuple(filter(own, p.facts)),
    )


def _quoted(conversation: Conversation, turn: int, quote: str) -> bool:
    """Whether a quote stands in its turn, but only inside of what the turn quotes from another message."""
    if not quote or not 0 <= turn < len(conversation.turns):
        return False
    text = conversation.turns[turn].text
    spans = quoted_spans(text)
    places = [n for n in range(len(text)) if text.startswith(quote, n)] if spans else []
    return bool(places) and all(any(a <= n and n + len(quote) <= b for a, b in spans) for n in places)
