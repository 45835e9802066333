"""Memories as Hindsight documents and back: what is written, what a reader may see of it, and whose bank it is in.

A call of `Store.add` writes one document a memory. Several documents are not written at once, so they carry the name
of their batch, and count only when the batch's own document, written last, is there: a writer that dies in between
leaves the old state. An update writes one document that names those which it replaces, and deletes them afterwards.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memlab.agent.records import Memory, merged
from memlab.errors import BankFormatError, InputError
from memlab.records import canonical_json, content_hash

__all__ = ["Unit", "bank_name", "check_prefix", "documents", "items_of", "memories_of", "unit_of"]

Item = dict[str, Any]  # what `retain_batch` takes


@dataclass(frozen=True, slots=True)
class Unit:
    """A stored memory unit, as far as this store needs it."""

    document: str
    text: str
    metadata: Mapping[str, str]

    @property
    def batch(self) -> str:
        """The batch that must be complete for this to count; empty for a document that stands alone."""
        return self.metadata.get("batch", "")


def unit_of(data: Mapping[str, Any]) -> Unit:
    """A row of `list_memories` or `recall`."""
    return Unit(str(data.get("document_id") or ""), str(data.get("text") or ""), dict(data.get("metadata") or {}))


def check_prefix(prefix: str | None) -> str:
    """The beginning of every bank's name; by default ``memlab``.

    Raises
    ------
    InputError
        If it holds anything but a-z, 0-9 and single dashes inside (a name with ``/`` is not found even when escaped).
    """
    name = prefix or "memlab"
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) or len(name) > 60:
        raise InputError(f"HINDSIGHT_BANK {name!r}: use at most 60 of a-z, 0-9 and single dashes inside")
    return name


def bank_name(prefix: str, customer: str) -> str:
    """The bank of a customer: readable, and another one for every customer.

    >>> bank_name("memlab", "Acme/EU") == bank_name("memlab", "acme/eu")
    False
    """
    slug = re.sub("[^a-z0-9]+", "-", customer.casefold())[:30].strip("-")
    return "-".join(part for part in (prefix, slug, content_hash(["customer", customer], length=20)) if part)


def items_of(memories: Sequence[Memory], *, replaces: Iterable[str] = ()) -> list[Item]:
    """The documents of memories that belong together; the last one completes them.

    The original time with its offset is in the metadata, since the server turns it into UTC.
    """
    records = [canonical_json(m.to_json()) for m in memories]
    batch = content_hash(["batch", *sorted(records)], length=24) if len(records) > 1 else ""
    old = sorted(replaces)
    items = [_item(m, record, batch, old) for m, record in zip(memories, records, strict=True)]
    if batch:
        when = max(m.last for m in memories)
        note = f"These {len(memories)} memories were told together."
        items.append(_plain(f"batch-{batch}", note, when.isoformat(), {"completes": batch}, ["kind:batch"]))
    return items


def _item(memory: Memory, record: str, batch: str, replaces: Sequence[str]) -> Item:
    standing = "proposal" if memory.proposed else "claim" if memory.verification == "claimed" else "outcome"
    verdict = memory.verdict
    told_by = (verdict or memory.tellings[-1]).by
    metadata = {
        "record": record,
        "batch": batch,
        "replaces": json.dumps(replaces),
        "memory": memory.id,
        "first_told": memory.at.isoformat(),
        "last_told": memory.last.isoformat(),
        "told_by": told_by,
        "verification": memory.verification,
    }
    tags = [f"kind:{memory.kind}", f"outcome:{memory.outcome}", f"standing:{standing}", f"memory:{memory.id}"]
    key = f"{memory.id}-{content_hash([record, batch, *replaces], length=16)}"
    return {
        **_plain(key, _content(memory), memory.at.isoformat(), metadata, tags),
        "context": f"{memory.kind}, {standing}: {memory.outcome} ({memory.verification}, told by {told_by})",
    }


def _plain(key: str, content: str, timestamp: str, metadata: Mapping[str, str], tags: Sequence[str]) -> Item:
    return {"document_id": key, "content": content, "timestamp": timestamp, "metadata": dict(metadata), "tags": [*tags]}


def _content(memory: Memory) -> str:
    """The words to be found by; the server drops texts without words (``.``, an emoji) and says that all went well."""
    words = memory.search_text
    return words if len(re.findall(r"\w", words)) > 1 else f"{memory.kind}: {words}"


def documents(units: Iterable[Unit]) -> dict[str, Unit]:
    """The units that count, by document: of complete batches, and not replaced by an update."""
    by_document = {u.document: u for u in units}  # a long text is several units of one document, with one metadata
    complete = {u.metadata["completes"] for u in by_document.values() if "completes" in u.metadata}
    written = [u for u in by_document.values() if "record" in u.metadata and (not u.batch or u.batch in complete)]
    gone = {old for u in written for old in json.loads(u.metadata.get("replaces", "[]"))}
    return {u.document: u for u in written if u.document not in gone}


def memories_of(customer: str | None, units: Iterable[Unit]) -> dict[str, Memory]:
    """The memories that units hold, by id; a memory that was written several times is merged.

    Raises
    ------
    BankFormatError
        If a unit can't be read, or belongs to another customer (None: to whomever the first belongs).
    """
    found: list[tuple[str, Memory]] = []
    for unit in documents(units).values():
        try:
            found.append((unit.document, Memory.from_json(json.loads(unit.metadata["record"]))))
        except (ValueError, InputError) as error:
            raise BankFormatError(
                f"document {unit.document!r} is damaged: {error}; delete it, or add it again"
            ) from error
    out: dict[str, Memory] = {}
    owner = customer
    for _, memory in sorted(found, key=lambda pair: (pair[1].tellings[0].order, pair[0])):
        owner = owner or memory.customer
        if memory.customer != owner:
            raise BankFormatError(f"the bank of {owner!r} holds a memory of another customer; it was not read")
        out[memory.id] = merged(out[memory.id], memory) if memory.id in out else dataclasses.replace(memory)
    return out
