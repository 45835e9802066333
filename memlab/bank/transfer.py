"""A bank as one canonical JSON value, and back: what comes in is derived again and must come out the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from memlab.bank.memories import Row, memories_in, put_memories
from memlab.bank.replay import curator_name, replay, state_of
from memlab.bank.schema import SCHEMA_VERSION
from memlab.bank.texts import encode_again
from memlab.curation.curator import Curator, OfflineCurator
from memlab.curation.decisions import Decision
from memlab.errors import BankError, BankFormatError, CustomerError, InputError
from memlab.models.embeddings import Encoder
from memlab.records import Conversation, Proposal, canonical_json

if TYPE_CHECKING:
    from memlab.bank import Bank

__all__ = ["export_of", "take_in"]


def export_of(bank: Bank) -> dict[str, Any]:
    """Truth and derived state with sorted keys and sets; equal banks give equal bytes through `canonical_json`."""
    replay(bank)
    with bank.reading():
        categories = bank.categories()
        memories = [[i, moment, json.loads(body)] for i, moment, body in memories_in(bank)]
        return {
            "format": SCHEMA_VERSION,
            "customer": bank.customer,
            "truth": {
                "conversations": [
                    {**json.loads(b), "extractor": x}
                    for b, x in bank.rows("SELECT body, extractor FROM conversations ORDER BY moment, id")
                ],
                "proposals": [p.to_json() for p in bank.proposals()],
                "pending": [list(p) for p in bank.rows("SELECT * FROM pending ORDER BY conversation")],
                "decisions": bank.decisions(),
                "settings": [list(s) for s in bank.rows("SELECT * FROM settings ORDER BY category, key")],
                **({"memories": memories} if memories else {}),
            },
            "derived": {
                "curator": curator_name(bank) if categories else None,
                "encoder": bank.get_meta("encoder") if bank.count("vectors") else None,
                "operations": {c: list(bank.operations(c)) for c in categories},
                "graphs": {c: bank.graph(c).to_json() for c in categories},
                "kept_out": {c: sorted(state_of(bank, c).kept_out) for c in categories},
                "vectors": [
                    [c, t, hashlib.sha256(v).hexdigest()[:16]]
                    for c, t, v in bank.rows(
                        "SELECT conversation, text, vector FROM texts JOIN vectors USING (text) ORDER BY 1, 2"
                    )
                ],
            },
        }


def take_in(
    store: Bank, export: Mapping[str, Any], *, encoder: Encoder, curator: Curator | None, rederive: bool
) -> None:
    """Fill an empty bank with the truth of an export, derive the rest, and refuse everything if that differs.

    Raises
    ------
    CustomerError
        If the export is another customer's.
    BankFormatError
        If it is no export, comes from a newer memlab, or its derived state does not follow from its truth.
    BankError
        If the bank holds something already, or the export's curator is not at hand.
    """
    truth, derived = _parts(export, store.customer)
    curator = curator or OfflineCurator()
    made_by = derived.get("curator") or curator.name
    if made_by != curator.name and not rederive:
        raise BankError(f"the export's operations come from curator {made_by!r}; import with it, or derive them again")
    with store.transaction():
        if any(store.count(t) for t in ("conversations", "decisions", "settings")):
            raise BankError(f"{store.path}: the bank of {store.customer!r} is not empty; import into another folder")
        for conversation, proposals, extractor, pending in _records(truth):
            store.put(conversation, proposals, extractor=extractor, pending=pending)
        store.decide(*map(Decision.from_json, truth["decisions"]))
        for category, key, value in truth["settings"]:
            store.configure(category, **{key: float(value)})
        if memories := _memories(truth, store.customer):
            put_memories(store, memories)
        encode_again(store, encoder)
        replay(store, curator)
        if not rederive:
            _compare(derived, json.loads(canonical_json(export_of(store)["derived"])), encoder.name)


def _parts(export: Mapping[str, Any], customer: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    try:
        version, owner, truth, derived = (export[k] for k in ("format", "customer", "truth", "derived"))
        lists = [truth[k] for k in ("conversations", "proposals", "pending", "decisions", "settings")]
    except (KeyError, TypeError) as error:
        raise BankFormatError(f"not an export of a bank: {error} is missing") from None
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise BankFormatError(f"the export has format {version!r}; this memlab reads up to {SCHEMA_VERSION}: update it")
    if not all(isinstance(x, list) for x in lists) or not isinstance(derived, Mapping):
        raise BankFormatError("not an export of a bank: truth must hold lists, derived an object")
    if owner != customer:
        raise CustomerError(f"the export belongs to {owner!r}, not to {customer!r}")
    return truth, derived


def _records(
    truth: Mapping[str, Any],
) -> Iterator[tuple[Conversation, list[Proposal], str | None, tuple[str, str] | None]]:
    try:
        proposals: dict[str, list[Proposal]] = {}
        for data in truth["proposals"]:
            proposals.setdefault(data["conversation"], []).append(Proposal.from_json(data))
        pending = {c: (reason, raw) for c, reason, raw in truth["pending"]}
        for data in truth["conversations"]:
            plain = {k: v for k, v in data.items() if k != "extractor"}
            conversation = Conversation.from_json(plain)
            found = proposals.pop(conversation.id, [])
            yield conversation, found, data["extractor"], pending.pop(conversation.id, None)
    except (KeyError, TypeError, ValueError, InputError) as error:
        raise BankFormatError(f"not an export of a bank: {type(error).__name__} {error}") from error
    orphan = next(iter([*proposals, *pending]), None)
    if orphan is not None:
        raise BankFormatError(f"the export holds proposals of conversation {orphan!r}, but not the conversation")


def _memories(truth: Mapping[str, Any], customer: str) -> list[Row]:
    """What a support agent remembered of this customer, which an export of a bank without an agent leaves out."""
    found = truth.get("memories", [])
    try:
        rows = [(str(i), str(moment), canonical_json(body)) for i, moment, body in found]
        owners = {body["customer"] for _, _, body in found}
    except (KeyError, TypeError, ValueError) as error:
        raise BankFormatError(f"not an export of a bank: memories: {type(error).__name__} {error}") from error
    if owners - {customer}:
        raise CustomerError(f"the export holds a memory of {min(map(str, owners - {customer}))!r}, not of {customer!r}")
    return rows


def _compare(told: Mapping[str, Any], derived: Mapping[str, Any], encoder: str) -> None:
    """Refuse an export whose derived state is not what its truth leads to, naming the first place."""
    told = json.loads(canonical_json(told))
    for part in sorted({*told, *derived}):
        mine, theirs = derived.get(part), told.get(part)
        if mine == theirs:
            continue
        where = part
        if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
            where += "/" + next(k for k in sorted({*mine, *theirs}) if mine.get(k) != theirs.get(k))
        encoders = f" (encoded with {encoder!r} here, {told.get('encoder')!r} there)"
        hint = encoders if part in ("encoder", "vectors") else ""
        raise BankFormatError(
            f"the export was changed, or made by another version: its {where} is not what its conversations, proposals "
            f"and decisions lead to{hint}; nothing was imported; import with rederive to keep its truth only"
        )
