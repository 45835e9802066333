"""Conversation to proposals, blind to memory: an extractor is anything with a name and this one method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from memlab.errors import ExtractionError
from memlab.extraction.offline import OfflineExtractor
from memlab.models.threads import processors
from memlab.records import Conversation, Proposal, Proposals

__all__ = ["Extractor", "OfflineExtractor", "extract", "extract_each"]


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
    found: list[Proposal] = []
    for proposals in extract_each(list(conversations), extractor or OfflineExtractor(), threads=processors()):
        if isinstance(proposals, ExtractionError):
            raise proposals
        found += proposals
    return Proposals(found)


def extract_each(
    conversations: Sequence[Conversation], extractor: Extractor, *, threads: int = 1
) -> Iterator[Sequence[Proposal] | ExtractionError]:
    """What is read out of each conversation, in the order given, or why it could not be read.

    Parameters
    ----------
    conversations : sequence of Conversation
    extractor : Extractor
    threads : int
        Conversations read at a time by the offline extractor; any other is asked for one after the other.
    """

    def read(conversation: Conversation) -> Sequence[Proposal] | ExtractionError:
        try:
            return extractor.extract(conversation)
        except ExtractionError as error:
            return error

    if threads == 1 or type(extractor) is not OfflineExtractor:
        yield from map(read, conversations)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(read, conversations)
