"""What a store's calls mean, as pure functions of a customer's memories by id: every backend does the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memlab.agent.records import Memory, merged
from memlab.errors import CustomerError, InputError

__all__ = ["added", "changed", "check_changes", "remaining"]

_FIXED = {"id", "customer"}
_FREE = {f.name for f in dataclasses.fields(Memory)} - _FIXED


def added(customer: str, old: Mapping[str, Memory], new: Sequence[Memory]) -> dict[str, Memory]:
    """The memories after `Store.add`.

    Raises
    ------
    CustomerError
        If a memory belongs to another customer.
    """
    if any(m.customer != customer for m in new):
        raise CustomerError(f"a memory that is to be added to {customer!r} belongs to another customer")
    out = dict(old)
    for memory in new:
        out[memory.id] = merged(out[memory.id], memory) if memory.id in out else memory
    return out


def check_changes(changes: Mapping[str, Any]) -> None:
    """Refuse a change of what does not exist or may not change.

    Raises
    ------
    InputError
        The message lists what may change.
    """
    odd = sorted(set(changes) - _FREE)
    if odd:
        raise InputError(f"{odd[0]!r} of a memory can't be changed; allowed: {', '.join(sorted(_FREE))}")


def changed(customer: str, old: Mapping[str, Memory], memory: str, changes: Mapping[str, Any]) -> dict[str, Memory]:
    """The memories after `Store.update`.

    Raises
    ------
    InputError
        If there is no such memory, or a field may not change.
    """
    check_changes(changes)
    if memory not in old:
        raise InputError(f"{customer!r} has no memory {memory!r}; `all` lists what there is")
    # Through JSON, so that what can't be read back is refused before it is stored.
    new = Memory.from_json(dataclasses.replace(old[memory], **changes).to_json())
    return {**old, memory: new}


def remaining(old: Mapping[str, Memory], gone: Iterable[str] | None) -> dict[str, Memory]:
    """The memories after `Store.forget`."""
    ids = set(old) if gone is None else set(gone)
    return {i: m for i, m in old.items() if i not in ids}
