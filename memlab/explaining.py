"""From a line of the skill to the conversations, quotes, operations and decisions that made it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from memlab.bank import Bank
from memlab.curation.keys import normal_key
from memlab.errors import InputError
from memlab.graph import Entry, SkillGraph

__all__ = ["why"]


def why(
    bank: Bank, entry: str, *, category: str | None = None, at: datetime | str | None = None
) -> list[dict[str, Any]]:
    """Everything that an entry rests on: its wordings, evidence, quotes, links, operations and people's decisions.

    Parameters
    ----------
    bank : Bank
        Whose memory.
    entry : str
        An id, a title, or any wording of it.
    category : str, optional
        Look here only.
    at : datetime or ISO text with offset, optional
        The moment to look at memory from.

    Returns
    -------
    list of dict
        One for each entry that has this id or wording (a wording may stand in several categories or columns).

    Raises
    ------
    InputError
        If there is none.
    """
    names = [category] if category is not None else bank.categories()
    found = [
        _explain(bank, graph, e) for graph in (bank.graph(n, at=at) for n in names) for e in _matching(graph, entry)
    ]
    if not found:
        raise InputError(f"no entry {entry!r} in the memory of {bank.customer}; give an id, a title or a wording")
    return found


def _matching(graph: SkillGraph, entry: str) -> Iterator[Entry]:
    key = normal_key(entry)
    for e in sorted(graph.entries.values(), key=lambda e: e.id):
        if e.id == entry or key in {normal_key(e.title), *(normal_key(a) for a in e.aliases)}:
            yield e


def _explain(bank: Bank, graph: SkillGraph, entry: Entry) -> dict[str, Any]:
    keys = {normal_key(entry.title), *(normal_key(a) for a in entry.aliases)}
    return {
        "id": entry.id,
        "kind": entry.kind,
        "category": graph.category,
        "title": entry.title,
        "aliases": entry.aliases,
        "weight": graph.weight(entry.id),
        "evidence": [
            {
                "conversation": c,
                "at": e.at.isoformat(),
                "verification": e.verification,
                "workaround": e.workaround,
                "quotes": [
                    {"turn": turn, "quote": quote}
                    for (who, _), (_, turn, quote) in sorted(entry.wordings.items())
                    if who == c
                ],
            }
            for c, e in sorted(entry.evidence.items(), key=lambda item: (item[1].at, item[0]))
        ],
        "links": [
            {"from": a.title, "to": entry.title, "weight": w, "conversations": sorted(graph.edges[a.id, entry.id])}
            for a, w in graph.sources(entry.id)
        ]
        + [
            {"from": entry.title, "to": b.title, "weight": w, "conversations": sorted(graph.edges[entry.id, b.id])}
            for b, w in graph.targets(entry.id)
        ],
        "operations": [
            {
                "op": o.op,
                "conversation": o.conversation,
                "text": o.text,
                "reason": o.reason,
                "features": dict(o.features),
            }
            for o in bank.operations(graph.category)
            if o.entry == entry.id
        ],
        "decisions": [
            d
            for d in bank.decisions(graph.category)
            if d.kind == entry.kind and {normal_key(d.a), normal_key(d.b)} & keys
        ],
    }
