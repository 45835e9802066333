"""Memories in the customer's bank: one SQLite file that also holds what was learned from past conversations."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC
from pathlib import Path
from typing import Any

from memlab.agent.changes import added, changed, check_changes
from memlab.agent.meaning import Vectors, check_search, nearest
from memlab.agent.records import Memory, in_order
from memlab.bank import bank_path
from memlab.bank.memories import MemoryTable, Row, owners
from memlab.errors import BankFormatError, InputError
from memlab.models.embeddings import Encoder
from memlab.records import canonical_json, valid_customer

__all__ = ["BankStore"]


class BankStore:
    """Every customer's memories in that customer's own bank file, with their vectors.

    Parameters
    ----------
    home : path
        Folder of the banks.
    encoder : Encoder, optional
        For `search`; by default all-MiniLM-L6-v2.
    """

    def __init__(self, home: str | Path, *, encoder: Encoder | None = None) -> None:
        self._home = Path(home)
        self._encoder = Vectors(encoder)

    def __repr__(self) -> str:
        return f"BankStore({str(self._home)!r})"

    def add(self, customer: str, memories: Iterable[Memory]) -> None:
        """See `Store.add`."""
        name, new = valid_customer(customer), list(memories)
        added(name, {}, new)  # refuse before a file is made
        if not new:
            return

        def change(bodies: dict[str, str]) -> list[Row]:
            return [_row(m) for m in added(name, _read(name, bodies.values()), new).values()]

        with MemoryTable.open(self._home, name) as table:
            table.change([m.id for m in new], change)

    def update(self, customer: str, memory: str, /, **changes: Any) -> Memory:
        """See `Store.update`."""
        name = valid_customer(customer)
        check_changes(changes)
        if not bank_path(self._home, name).exists():
            raise InputError(f"{name!r} has no memory {memory!r}; `all` lists what there is")
        done: list[Memory] = []

        def change(bodies: dict[str, str]) -> list[Row]:
            done.append(changed(name, _read(name, bodies.values()), memory, changes)[memory])
            return [_row(done[0])]

        with MemoryTable.open(self._home, name) as table:
            table.change([memory], change)
        return done[0]

    def all(self, customer: str) -> list[Memory]:
        """See `Store.all`."""
        name = valid_customer(customer)
        if not bank_path(self._home, name).exists():
            return []
        with MemoryTable.open(self._home, name, create=False) as table:
            return in_order(_read(name, (body for _, _, body in table.memories())).values())

    def customers(self) -> list[str]:
        """See `Store.customers`."""
        return owners(self._home)

    def forget(self, customer: str, memories: Iterable[str] | None = None) -> int:
        """See `Store.forget`. The file is rewritten, so that no page of it keeps any of the text."""
        name = valid_customer(customer)
        if not bank_path(self._home, name).exists():
            return 0
        with MemoryTable.open(self._home, name, create=False) as table:
            return table.erase(memories)

    def search(self, customer: str, query: str, *, k: int = 20) -> list[tuple[Memory, float]]:
        """See `Store.search`."""
        name = valid_customer(customer)
        check_search(query, k)
        if not bank_path(self._home, name).exists():
            return []
        with MemoryTable.open(self._home, name, create=False) as table:
            with table.reading():
                rows, vectors = table.memories(), table.vectors()
            memories = _read(name, (body for _, _, body in rows))
            bodies = {i: body for i, _, body in rows}
            new = [m for i, m in memories.items() if i not in vectors]
            if new:
                made = self._encoder.encode([m.search_text for m in new])
                vectors.update({m.id: v for m, v in zip(new, made, strict=True)})
                table.put_vectors((m.id, bodies[m.id], v) for m, v in zip(new, made, strict=True))
        return nearest(list(memories.values()), vectors, self._encoder.encode([query])[0], k)


def _row(memory: Memory) -> Row:
    moment = memory.at.astimezone(UTC).isoformat(timespec="microseconds")
    return memory.id, moment, canonical_json(memory.to_json())


def _read(customer: str, bodies: Iterable[str]) -> dict[str, Memory]:
    try:
        memories = [Memory.from_json(json.loads(body)) for body in bodies]
    except (ValueError, InputError) as error:
        raise BankFormatError(f"a memory in the bank of {customer!r} is damaged: {error}; restore a copy") from error
    if any(m.customer != customer for m in memories):
        raise BankFormatError(f"the bank of {customer!r} holds a memory of another customer; it was not read")
    return {m.id: m for m in memories}
