"""What the customer's bank adds where the own history knows no fix: the category's skill first, then past cases."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from memlab.agent.replies import Source
from memlab.bank import Bank, bank_path
from memlab.models.embeddings import Encoder
from memlab.records import valid_customer

__all__ = ["banks_in", "sources_of"]

LEAST_EPISODE = 0.45  # below, a past case is not like this one


def banks_in(home: str | Path) -> Callable[[str], Bank | None]:
    """Gives the bank of a customer in a folder, or None where there is none; each is opened once."""
    opened: dict[str, Bank] = {}
    lock = threading.Lock()

    def bank(customer: str) -> Bank | None:
        name = valid_customer(customer)
        with lock:
            if name not in opened and bank_path(home, name).exists():
                opened[name] = Bank.open(home, name, create=False)
            return opened.get(name)

    return bank


def sources_of(
    bank: Bank,
    query: str,
    *,
    category: str | None,
    at: datetime,
    most: int = 3,
    encoder: Encoder | None = None,
) -> tuple[Source, ...]:
    """Fixes that past conversations of this customer's people taught, skill before episodes, each best first.

    Parameters
    ----------
    bank : Bank
        What was learned from past conversations.
    query : str
        The problem.
    category : str, optional
        Look in this category; one that the bank does not know, or None, means all.
    at : datetime
        The moment; nothing that was learned later is seen.
    most : int
        The most sources of each kind.

    Raises
    ------
    RecallError
        If the bank could not be searched.
    """
    from memlab.recalling import recall, search_episodes

    within = category if category in bank.categories() else None
    hits = recall(bank, query, category=within, k=most, at=at, encoder=encoder)
    skill = [
        Source("skill", s.text, round(h.score, 4), s.conversations, f"{h.reason}; worked {s.worked}, failed {s.failed}")
        for h in hits
        for s in h.solutions[:1]
    ]
    found = search_episodes(bank, query, category=within, k=most, at=at, encoder=encoder)
    episodes = [
        Source(
            "episode",
            e.solution.text,
            hit.score,
            (e.conversation,),
            f"like case {e.conversation} of {e.day}, {e.resolution}",
        )
        for hit in found
        if (e := hit.episode).solution and e.resolution in ("confirmed", "inferred") and hit.score >= LEAST_EPISODE
    ]
    return tuple(_distinct([*skill, *episodes])[: 2 * most])


def _distinct(sources: Sequence[Source]) -> list[Source]:
    return list({s.text.casefold(): s for s in reversed(sources)}.values())[::-1]
