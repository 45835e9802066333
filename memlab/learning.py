"""The loop: conversations → proposals → operations, into one customer's bank, idempotent and in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from memlab.bank import Bank
from memlab.bank.replay import Replayed, can_replay, replay
from memlab.bank.texts import encode_again, note_encoder, texts_of
from memlab.curation.curator import Curator, OfflineCurator
from memlab.curation.evidence import settle
from memlab.curation.keys import normal_key
from memlab.curation.resolving import wordings_of
from memlab.errors import ExtractionError
from memlab.extraction import Extractor, OfflineExtractor, extract_each
from memlab.models.embeddings import Encoder, OnnxMiniLM, default_encoder
from memlab.models.threads import processors
from memlab.records import Conversation, Proposal, valid_customer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LearnReport", "Read", "forget", "learn", "read_each", "rebuild"]

BATCH = 64  # conversations stored at a time
Version = tuple[str, str | None]


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
        Pieces of input that could not be learned: file, line, reason.
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


@dataclass(frozen=True, slots=True)
class Read:
    """A conversation with what was read out of it, or why it could not be read (the reason, the raw reply)."""

    conversation: Conversation
    proposals: tuple[Proposal, ...]
    trouble: tuple[str, str] | None

    @property
    def texts(self) -> list[str]:
        """The texts that need vectors; none where nothing could be read."""
        return [] if self.trouble else texts_of(self.conversation, self.proposals)


def learn(
    bank: Bank,
    conversations: Iterable[Conversation],
    *,
    extractor: Extractor | None = None,
    curator: Curator | None = None,
    encoder: Encoder | None = None,
    processes: int = 1,
    batch: int = BATCH,
    curate: bool = True,
    progress: Callable[[int], None] = lambda _: None,
) -> LearnReport:
    """Learn conversations into a customer's bank; those of other customers are passed by and counted.

    Reading (slow) runs outside any lock and is stored batch by batch, so a killed run goes on where it was; curation
    replays once, at the end, from the earliest conversation that changed.

    Parameters
    ----------
    bank : Bank
        Whose memory.
    conversations : iterable of Conversation
        In any order. Of several with one id the longest is taken (then the one that goes on last).
    extractor, curator : optional
        By default the offline ones.
    encoder : Encoder, optional
        Sentence vectors; by default all-MiniLM-L6-v2. If the bank's vectors come from another one, all are made again.
    processes : int
        Reader processes; the result is the same for any number.
    batch : int
        Conversations stored at a time; the result is the same for any number.
    curate : bool
        False stores and leaves curation to later: `memlab.bank.replay` does it at the next reading or learning. What
        an updated conversation no longer says stays in the file until then and a `vacuum`.
    progress : callable
        Called with the number of conversations read.

    Returns
    -------
    LearnReport
        Learning the same conversations again reports all of them as unchanged.
    """
    extractor, encoder = extractor or OfflineExtractor(), encoder or default_encoder()
    note_encoder(bank, encoder)
    known, fresh, counts = _fresh(bank, conversations, extractor.name)
    skipped: list[dict[str, Any]] = []
    gone = done = 0
    for read, vectors in _read_all(bank, fresh, extractor, encoder, processes, max(1, batch)):
        with bank.transaction():
            now = bank.versions(r.conversation.id for r in read)
            for r in read:
                c = r.conversation
                stored = now.get(c.id)
                if stored == (c.version, extractor.name):
                    counts["unchanged"] += 1
                elif stored != known.get(c.id):
                    skipped.append({"file": None, "line": None, "reason": _STALE.format(c.id)})
                elif r.trouble and stored and stored[0] == c.version:
                    counts["pending"] += 1  # what was read out of this version before stays; it will be tried again
                else:
                    gone += _loses_text(bank, c)
                    counts["learned" if stored is None else "updated"] += 1
                    counts["pending"] += r.trouble is not None
                    _put(bank, r, extractor.name, vectors, encoder)
        done += len(read)
        progress(done)
    replayed = replay(bank, curator or OfflineCurator()) if curate else Replayed()
    if gone and curate:
        bank.vacuum()
    operations = {op: n for op, n in sorted(replayed.operations.items()) if n}
    return LearnReport(**counts, skipped=tuple(skipped), operations=operations)


_STALE = "conversation {!r} was changed by another process meanwhile; learn it again if this version is the right one"


def _put(bank: Bank, read: Read, extractor: str, vectors: Mapping[str, NDArray[np.float32]], encoder: Encoder) -> None:
    texts = read.texts
    mine = {t: vectors[t] for t in texts if t in vectors}
    lost = [t for t in texts if t not in mine]
    known = bank.known_texts(lost)
    lost = [t for t in lost if t not in known]  # known when they were looked up, but forgotten since
    mine.update(zip(lost, encoder.encode(lost), strict=True) if lost else ())
    name = None if read.trouble else extractor
    bank.put(read.conversation, read.proposals, extractor=name, texts=texts, vectors=mine, pending=read.trouble)


def _loses_text(bank: Bank, conversation: Conversation) -> bool:
    """Whether the stored version says something that the new one does not."""
    old = bank.conversation(conversation.id)
    return old is not None and not {t.text for t in old.turns} <= {t.text for t in conversation.turns}


def forget(bank: Bank, conversation: str | None = None, *, curator: Curator | None = None) -> int:
    """Remove one conversation, or all, as if it had never been seen; returns how many were removed.

    People's decisions about wordings that only it had go with it. The file is rewritten, so that neither a freed page
    nor the journal keeps any of its text.

    Parameters
    ----------
    bank : Bank
        Whose memory.
    conversation : str, optional
        Its id; without it the whole bank is emptied, people's decisions and settings included.
    curator : Curator, optional
        Needed only if the bank was made by another than the offline one; without it the rest is brought up to date by
        the next learning.
    """
    with bank.transaction():
        removed = bank.clear() if conversation is None else _forget_one(bank, conversation)
        bank.cut_operations()
    try:
        if can_replay(bank, curator):
            replay(bank, curator)
    finally:
        bank.vacuum()
    return removed


def _forget_one(bank: Bank, conversation: str) -> int:
    gone = {(p.category, k, normal_key(t)) for p in bank.proposals(conversation) for k, t in _wordings(p)}
    removed = bank.drop(conversation)
    decisions = [d for d in bank.decisions() if {(d.category, d.kind, normal_key(x)) for x in (d.a, d.b)} & gone]
    if removed and decisions:
        left = {(p.category, k, normal_key(t)) for p in bank.proposals() for k, t in _wordings(p)}
        for d in decisions:
            if {(d.category, d.kind, normal_key(x)) for x in (d.a, d.b)} & (gone - left):
                bank.take_back(d.id)
    return int(removed)


def _wordings(proposal: Proposal) -> Iterator[tuple[str, str]]:
    for kind, texts in wordings_of(proposal).items():
        for text in texts:
            yield kind, text


def rebuild(bank: Bank, *, encoder: Encoder | None = None, curator: Curator | None = None) -> Replayed:
    """Delete all that is derived and make it again from truth."""
    encode_again(bank, encoder or default_encoder())
    return replay(bank, curator or OfflineCurator())


def _fresh(
    bank: Bank, conversations: Iterable[Conversation], extractor: str
) -> tuple[dict[str, Version], list[Conversation], dict[str, int]]:
    """What the bank knows of these conversations, those that are new to it in this form, and counts of the others."""
    counts = {"learned": 0, "updated": 0, "unchanged": 0, "other_customers": 0, "pending": 0}
    latest: dict[str, Conversation] = {}
    for raw in conversations:
        if valid_customer(raw.customer) != bank.customer:
            counts["other_customers"] += 1
            continue
        c = Conversation.from_json(raw.to_json())  # clean text and checked times, whoever made the record
        counts["unchanged"] += c.id in latest
        latest[c.id] = max(latest[c.id], c, key=_length) if c.id in latest else c
    known = bank.versions(latest)
    fresh = [c for c in latest.values() if known.get(c.id) != (c.version, extractor)]
    counts["unchanged"] += len(latest) - len(fresh)
    return known, sorted(fresh, key=lambda c: c.order), counts


def _length(conversation: Conversation) -> tuple[int, int, str, str]:
    """Which of two forms of a conversation is the later one, whatever order they come in."""
    last = max((t.at.isoformat() for t in conversation.turns if t.at), default="")
    return len(conversation.turns), sum(len(t.text) for t in conversation.turns), last, conversation.version


def read_each(conversations: Sequence[Conversation], extractor: Extractor, *, threads: int = 1) -> Iterator[Read]:
    """What is read out of each conversation, in the order given, checked against what it says."""
    for c, found in zip(conversations, extract_each(conversations, extractor, threads=threads), strict=True):
        try:
            if isinstance(found, ExtractionError):
                raise found
            yield Read(c, settle(c, found), None)
        except ExtractionError as error:
            yield Read(c, (), (str(error), str(getattr(error, "raw", ""))))


def _read_all(
    bank: Bank, conversations: Sequence[Conversation], extractor: Extractor, encoder: Encoder, processes: int, size: int
) -> Iterator[tuple[list[Read], dict[str, NDArray[np.float32]]]]:
    batches = [conversations[n : n + size] for n in range(0, len(conversations), size)]
    if processes > 1 and len(conversations) >= 2 * processes:
        yield from _read_in_processes(batches, extractor, encoder, processes)
        return
    for part in batches:
        yield _read_batch(part, extractor, encoder, bank, threads=processors())


def _read_batch(
    conversations: Sequence[Conversation],
    extractor: Extractor,
    encoder: Encoder,
    bank: Bank | None = None,
    *,
    threads: int = 1,
) -> tuple[list[Read], dict[str, NDArray[np.float32]]]:
    """Conversations as they were read, and the vectors of their texts (but for those that the bank has)."""
    read = list(read_each(conversations, extractor, threads=threads))
    wanted = sorted({text for r in read for text in r.texts})
    known = bank.known_texts(wanted) if bank else set()
    return read, _encoded([text for text in wanted if text not in known], encoder)


def _encoded(texts: Sequence[str], encoder: Encoder) -> dict[str, NDArray[np.float32]]:
    return dict(zip(texts, encoder.encode(texts), strict=True)) if texts else {}


def _read_in_processes(
    batches: Sequence[Sequence[Conversation]], extractor: Extractor, encoder: Encoder, processes: int
) -> Iterator[tuple[list[Read], dict[str, NDArray[np.float32]]]]:
    # Small pieces keep all processes busy; they come back in order, so that nothing depends on who was faster.
    pieces = [batch[n : n + 8] for batch in batches for n in range(0, len(batch), 8)]
    context = get_context("spawn")
    start = (extractor, encoder, processes)
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_start, initargs=start) as pool:
        yield from pool.map(_read_in_worker, pieces)


_worker: dict[str, Any] = {}


def _start(extractor: Extractor, encoder: Encoder, processes: int) -> None:
    threads = processors(processes)
    if type(encoder) is OnnxMiniLM:
        encoder = OnnxMiniLM(threads)
    _worker.update(extractor=extractor, encoder=encoder, threads=threads)


def _read_in_worker(piece: Sequence[Conversation]) -> tuple[list[Read], dict[str, NDArray[np.float32]]]:
    return _read_batch(piece, _worker["extractor"], _worker["encoder"], threads=_worker["threads"])
