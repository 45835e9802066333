"""The loop: conversations → proposals → operations, into one customer's bank, idempotent and in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab.bank import Bank
from memlab.bank.replay import replay
from memlab.curation.curator import Curator, OfflineCurator
from memlab.errors import ExtractionError
from memlab.extraction import Extractor, OfflineExtractor
from memlab.extraction.triage import opening
from memlab.models.embeddings import Encoder, default_encoder
from memlab.records import Conversation, Proposal

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LearnReport", "forget", "learn"]

BATCH = 64
Read = tuple[Conversation, tuple[Proposal, ...], "tuple[str, str] | None", list[str], "NDArray[np.float32]"]


@dataclass(frozen=True, slots=True)
class LearnReport:
    """What learning did.

    Attributes
    ----------
    learned, updated, unchanged : int
        Conversations seen for the first time, seen in another form, or seen before exactly so.
    other_customers : int
        Conversations passed by because they belong to another customer.
    skipped : tuple of dict
        Pieces of input that could not be read: file, line, reason.
    pending : int
        Conversations that could not be read into proposals; they are kept and tried again.
    operations : dict
        How many operations of each kind the bank gained (a late arrival replays; the net change is counted).
    """

    learned: int = 0
    updated: int = 0
    unchanged: int = 0
    other_customers: int = 0
    skipped: tuple[dict[str, Any], ...] = ()
    pending: int = 0
    operations: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As `memlab learn --json` prints it."""
        return {
            "learned": self.learned,
            "unchanged": self.unchanged,
            "updated": self.updated,
            "skipped": list(self.skipped),
            "pending": self.pending,
            "operations": {op: self.operations.get(op, 0) for op in ("add", "edit", "reinforce", "reject")},
        }


def learn(
    bank: Bank,
    conversations: Iterable[Conversation],
    *,
    extractor: Extractor | None = None,
    curator: Curator | None = None,
    encoder: Encoder | None = None,
    processes: int = 1,
    progress: Callable[[int], None] = lambda done: None,
) -> LearnReport:
    """Learn conversations into a customer's bank; those of other customers are passed by and counted.

    Reading (slow) runs outside any lock and is stored batch by batch, so a killed run goes on where it was; curation
    replays once, at the end, from the earliest conversation that changed.

    Parameters
    ----------
    bank : Bank
        Whose memory.
    conversations : iterable of Conversation
        In any order.
    extractor, curator : optional
        By default the offline ones.
    encoder : Encoder, optional
        Sentence vectors; by default all-MiniLM-L6-v2.
    processes : int
        Reader processes; the result is the same for any number.
    progress : callable
        Called with the number of conversations read.

    Returns
    -------
    LearnReport
        Learning the same conversations again reports all of them as unchanged.
    """
    extractor = extractor or OfflineExtractor()
    curator = curator or OfflineCurator()
    before = _operation_counts(bank)
    fresh, counts = _fresh(bank, conversations, extractor.name)
    failed: list[str] = []
    done = 0
    for batch in _batched(_read_all(fresh, extractor, encoder, processes), BATCH):
        with bank.transaction():
            for conversation, proposals, trouble, texts, vectors in batch:
                name = None if trouble else extractor.name
                bank.put(conversation, proposals, extractor=name, texts=texts, vectors=vectors, pending=trouble)
                failed += [conversation.id] if trouble else []
        done += len(batch)
        progress(done)
    replay(bank, curator)
    gained = _operation_counts(bank)
    gained.subtract(before)
    return LearnReport(**counts, pending=len(failed), operations={k: v for k, v in sorted(gained.items()) if v})


def forget(bank: Bank, conversation: str | None = None, *, curator: Curator | None = None) -> int:
    """Remove one conversation, or all, as if it had never been seen; returns how many were removed.

    The file is rewritten, so that neither a freed page nor the journal keeps any of its text.

    Parameters
    ----------
    bank : Bank
        Whose memory.
    conversation : str, optional
        Its id; without it the whole bank is emptied, people's decisions included.
    curator : Curator, optional
        Needed only if the bank was made by another than the offline one.
    """
    ids = list(bank.versions()) if conversation is None else [conversation]
    with bank.transaction():
        removed = sum(bank.drop(i) for i in ids)
        if conversation is None:
            for decision in bank.decisions():
                bank.take_back(decision.id)
    replay(bank, curator)
    bank.vacuum()
    return removed


def _fresh(
    bank: Bank, conversations: Iterable[Conversation], extractor: str
) -> tuple[list[Conversation], dict[str, int]]:
    known = bank.versions()
    counts = {"learned": 0, "updated": 0, "unchanged": 0, "other_customers": 0}
    latest: dict[str, Conversation] = {}
    for c in conversations:
        if c.customer != bank.customer:
            counts["other_customers"] += 1
        elif known.get(c.id) == (c.version, extractor):
            counts["unchanged"] += 1
        else:
            latest[c.id] = c
    for id_ in latest:
        counts["updated" if id_ in known else "learned"] += 1
    return sorted(latest.values(), key=lambda c: c.order), counts


def _operation_counts(bank: Bank) -> Counter[str]:
    sql = "SELECT json_extract(body, '$.op'), count(*) FROM operations GROUP BY 1"
    return Counter({op: n for op, n in bank.rows(sql)})


def texts_of(conversation: Conversation, proposals: Sequence[Proposal]) -> list[str]:
    """The texts of a conversation that curation and recall need vectors of, sorted, each once."""
    out = {opening(conversation) or conversation.turns[0].text}
    for p in proposals:
        out |= {m.text for m in p.symptoms}
        out |= {a.action for a in p.attempts if a.outcome == "failed"}
        out |= {x.text for x in (p.root_cause, p.solution) if x is not None}
    return sorted(out)


def _read(conversation: Conversation, extractor: Extractor, encoder: Encoder) -> Read:
    trouble: tuple[str, str] | None = None
    proposals: tuple[Proposal, ...] = ()
    try:
        proposals = tuple(extractor.extract(conversation))
    except ExtractionError as error:
        trouble = (str(error), str(getattr(error, "raw", "")))
    low = all(p.low_value for p in proposals)
    texts = [] if trouble or low else texts_of(conversation, proposals)
    return conversation, proposals, trouble, texts, encoder.encode(texts)


def _read_all(
    conversations: Sequence[Conversation], extractor: Extractor, encoder: Encoder | None, processes: int
) -> Iterator[Read]:
    if processes <= 1 or len(conversations) < 2 * processes:
        return (_read(c, extractor, encoder or default_encoder()) for c in conversations)
    return _read_in_processes(conversations, extractor, encoder, processes)


def _read_in_processes(
    conversations: Sequence[Conversation], extractor: Extractor, encoder: Encoder | None, processes: int
) -> Iterator[Read]:
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_start, initargs=(extractor, encoder)) as pool:
        yield from pool.map(_read_in_worker, conversations, chunksize=8)


_worker: dict[str, Any] = {}


def _start(extractor: Extractor, encoder: Encoder | None) -> None:
    _worker.update(extractor=extractor, encoder=encoder or default_encoder())


def _read_in_worker(conversation: Conversation) -> Read:
    return _read(conversation, _worker["extractor"], _worker["encoder"])


def _batched(items: Iterable[Read], size: int) -> Iterator[list[Read]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
