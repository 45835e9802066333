"""From a line of the skill to the conversations, quotes, operations and decisions that made it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from memlab.bank import Bank
from memlab.curation.keys import normal_key
from memlab.decay import DAY, age_factor, credit
from memlab.errors import InputError
from memlab.graph import Entry, SkillGraph

__all__ = ["why"]


def why(
    bank: Bank, entry: str, *, category: str | None = None, at: datetime | str | None = None
) -> list[dict[str, Any]]:
    """Everything that an entry rests on: its wordings, evidence, quotes, links, operations and people's decisions.

    Each piece of evidence comes with its credit (what it says before ageing) and the share of it that is left, each
    link from a cause to a solution with its success rate and interval (see `decay.success_rate`).

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
        "half_life_days": graph.rule.half_life_days,
        "evidence": [
            {
                "conversation": c,
                "at": e.at.isoformat(),
                "verification": e.verification,
                "workaround": e.workaround,
                "credit": credit(e, graph.rule),
                "left": age_factor((graph.at - e.at).total_seconds() / DAY, graph.rule),
                "quotes": [
                    {"turn": turn, "quote": quote}
                    for (who, _), (_, turn, quote) in sorted(entry.wordings.items())
                    if who == c
                ],
            }
            for c, e in sorted(entry.evidence.items(), key=lambda item: (item[1].at, item[0]))
        ],
        "links": [
            *(_link(graph, a, entry, w) for a, w in graph.sources(entry.id)),
            *(_link(graph, entry, b, w) for b, w in graph.targets(entry.id)),
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


def _link(graph: SkillGraph, a: Entry, b: Entry, weight: float) -> dict[str, Any]:
    """One link; from a cause to a solution with how often it worked, and the interval around that."""
    votes = graph.edges[a.id, b.id]
    link: dict[str, Any] = {"from": a.title, "to": b.title, "weight": weight, "conversations": sorted(votes)}
    if a.kind == "cause":
        mean, low, high = graph.rate(a.id, b.id)
        failed = sum(e.verification == "failed" for e in votes.values())
        link["rate"] = {"mean": mean, "low": low, "high": high, "worked": len(votes) - failed, "failed": failed}
    return link
