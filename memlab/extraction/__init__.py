"""Conversation to proposals, blind to memory: an extractor is anything with a name and this one method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from memlab.extraction.offline import OfflineExtractor
from memlab.records import Conversation, Proposal, Proposals

__all__ = ["Extractor", "OfflineExtractor", "extract"]


class Extractor(Protocol):
    """Reads one conversation and nothing else."""

    @property
    def name(self) -> str:
        """Changes with whatever changes proposals; proposals of another name are made again."""
        ...

    def extract(self, conversation: Conversation) -> Sequence[Proposal]:
        """Proposals, one an issue; every text with the turn and the verbatim quote that it rests on.

        Raises
        ------
        ExtractionError
            If the conversation could not be read; it then stays pending.
        """
        ...


def extract(conversations: Iterable[Conversation], extractor: Extractor | None = None) -> Proposals:
    """The proposals of many conversations, in the order given.

    Parameters
    ----------
    conversations : iterable of Conversation
        What to read.
    extractor : Extractor, optional
        By default the offline one.
    """
    extractor = extractor or OfflineExtractor()
    return Proposals(p for c in conversations for p in extractor.extract(c))
