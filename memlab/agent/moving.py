"""Memories from one store into another, checked after they were written."""

from __future__ import annotations

from memlab.agent.records import merged
from memlab.agent.stores import Store
from memlab.errors import BankError, InputError

__all__ = ["copy_memories"]


def copy_memories(source: Store, target: Store, *, customer: str | None = None) -> dict[str, int]:
    """How many memories of each customer the target now holds as the source does; what it held before stays.

    Parameters
    ----------
    source, target : Store
        Two stores; repeating the copy changes nothing.
    customer : str, optional
        Only this customer's; by default everybody's.

    Raises
    ------
    InputError
        If the source has nothing to copy.
    BankError
        If the target does not give back what was written.
    """
    names = source.customers() if customer is None else [customer]
    memories = {name: source.all(name) for name in names}
    if not any(memories.values()):
        whose = "" if customer is None else f" of {customer!r}"
        raise InputError(f"{source!r} holds no memories{whose}; nothing was copied")
    for name, mine in memories.items():
        target.add(name, mine)
        there = {m.id: m for m in target.all(name)}
        lost = [m.id for m in mine if m.id not in there or merged(there[m.id], m) != there[m.id]]
        if lost:
            raise BankError(
                f"{target!r} does not give back memory {lost[0]!r} of {name!r} as it was; {len(lost)} are not whole"
            )
    return {name: len(mine) for name, mine in memories.items()}
