"""Which texts of a conversation need vectors, and making the vectors of a whole bank again."""

from __future__ import annotations

from collections.abc import Sequence

from memlab.bank.store import Store
from memlab.corpus.languages import in_english
from memlab.curation.resolving import wordings_of
from memlab.extraction.triage import opening, own_words
from memlab.models.embeddings import Encoder
from memlab.records import Conversation, Proposal

__all__ = ["encode_again", "first_words", "note_encoder", "texts_of"]

BATCH = 256


def first_words(conversation: Conversation) -> str:
    """What the user said first, or else whoever spoke first, in English."""
    return in_english(opening(conversation) or next((t.text for t in conversation.turns), ""))


def texts_of(conversation: Conversation, proposals: Sequence[Proposal]) -> list[str]:
    """The texts of a conversation that curation and recall need vectors of, sorted, each once.

    What its entries are worded like, and what users said, turn by turn in English: recall looks at both. Vectors of
    what agents said would double the cost and were measured to bring recall next to nothing. None for a conversation
    that nothing can be learned from.
    """
    worth = [p for p in proposals if not p.low_value]
    if not worth:
        return []
    out = {first_words(conversation)}
    out.update(in_english(own_words(t.text)) for t in conversation.turns if t.role == "user")
    for p in worth:
        out.update(*wordings_of(p).values())
    return sorted(text for text in out if text.strip())


def note_encoder(store: Store, encoder: Encoder) -> None:
    """Make sure that a bank's vectors come from this encoder: others are made again, and everything is replayed."""
    if store.get_meta("encoder") == encoder.name:
        return
    with store.transaction():
        if store.get_meta("encoder") is not None:
            encode_again(store, encoder)
        store.set_meta("encoder", encoder.name)


def encode_again(store: Store, encoder: Encoder) -> None:
    """Make all vectors again from truth, and mark every category for replay."""
    with store.transaction():
        store.clear_vectors()
        for category in store.proposed():
            store.mark_dirty(category, "")
        batch: list[tuple[str, list[str]]] = []
        for conversation in store.conversations():
            batch.append((conversation.id, texts_of(conversation, store.proposals(conversation.id))))
            if sum(len(texts) for _, texts in batch) >= BATCH:
                _store(store, encoder, batch)
                batch = []
        _store(store, encoder, batch)
        store.set_meta("encoder", encoder.name)


def _store(store: Store, encoder: Encoder, batch: Sequence[tuple[str, list[str]]]) -> None:
    wanted = sorted({text for _, texts in batch for text in texts})
    known = store.known_texts(wanted)
    new = [text for text in wanted if text not in known]
    vectors = dict(zip(new, encoder.encode(new), strict=True))
    for conversation, texts in batch:
        store.put_vectors(conversation, texts, {t: vectors[t] for t in texts if t in vectors})
