"""What the page knows: entries, links and their weights at many moments, as plain data ready for JSON."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memlab.decay import WeightRule, weight
from memlab.errors import InputError
from memlab.figures.layout import column_layout
from memlab.figures.style import COLUMNS, VERIFICATIONS
from memlab.figures.text import xml_text
from memlab.graph import Entry, SkillGraph
from memlab.operations import Operation
from memlab.records import Evidence

__all__ = ["heaviest", "moments", "page_data"]


def heaviest(graph: SkillGraph, limit: int) -> SkillGraph:
    """The graph of its `limit` heaviest entries (ties by id) and the links between them."""
    ranked = sorted(graph.entries, key=lambda i: (-graph.weight(i), i))[:limit]
    kept = {i: graph.entries[i] for i in sorted(ranked)}
    edges = {e: graph.edges[e] for e in sorted(graph.edges) if e[0] in kept and e[1] in kept}
    return SkillGraph(graph.customer, graph.category, graph.at, graph.rule, kept, edges)


def moments(graph: SkillGraph, steps: int) -> list[datetime]:
    """`steps` evenly spaced moments (UTC) from the first evidence to `graph.at`; one if they coincide, none if empty.

    Raises
    ------
    InputError
        If `steps` is not positive.
    """
    if steps < 1:
        raise InputError(f"steps must be at least 1, not {steps}")
    times = [v.at.astimezone(UTC) for e in graph.entries.values() for v in e.evidence.values()]
    if not times:
        return []
    first, last = min(times), max(graph.at.astimezone(UTC), *times)
    if steps == 1 or first == last:
        return [last]
    return [*(first + (last - first) * k / (steps - 1) for k in range(steps - 1)), last]


@dataclass(frozen=True, slots=True)
class _History:
    """Moments, and the number of every conversation behind the graph."""

    moments: Sequence[datetime]
    numbers: Mapping[str, int]
    rule: WeightRule

    def step(self, at: datetime) -> int:
        """The first moment at which something of that time is known."""
        return min(bisect_left(self.moments, at.astimezone(UTC)), len(self.moments) - 1)

    def of(self, evidence: Iterable[Evidence]) -> dict[str, Any]:
        """Evidence in order of time, the step of its start, and the weight at every step from there on."""
        votes = sorted(evidence, key=lambda e: (e.at.astimezone(UTC), e.conversation))
        since = [self.step(e.at) for e in votes]
        rows = [
            [self.numbers[e.conversation], VERIFICATIONS.index(e.verification), s, int(e.workaround)]
            for e, s in zip(votes, since, strict=True)
        ]
        first = since[0] if since else len(self.moments)
        weights = [
            round(weight((e for e, s in zip(votes, since, strict=True) if s <= k), self.moments[k], self.rule), 4)
            for k in range(first, len(self.moments))
        ]
        return {"first": first, "weights": weights, "evidence": rows}


def page_data(
    graph: SkillGraph,
    *,
    steps: int = 40,
    limit: int = 600,
    operations: Iterable[Operation] = (),
    categories: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Everything that the page shows, as plain data: the same graph always gives the same data.

    Parameters
    ----------
    graph : SkillGraph
        With its whole history; weights are those of its own rule.
    steps : int
        Moments between the first evidence and `graph.at` at which weights are given, ≥ 1.
    limit : int
        Draw at most so many entries, the heaviest at `graph.at`; the rest is counted under `hidden`.
    operations : iterable of Operation
        The curator's decisions about this category, to show why an entry is there.
    categories : mapping of entry id to category, optional
        Of each entry, where the graph joins several.

    Raises
    ------
    InputError
        If `steps` or `limit` is not positive.
    """
    if limit < 1:
        raise InputError(f"limit must be at least 1, not {limit}")
    drawn, operations = heaviest(graph, limit), [o for o in operations if o.at <= graph.at]
    seen = _conversations(drawn, operations)
    history = _History(moments(graph, steps), {c: n for n, c in enumerate(seen)}, graph.rule)
    places = column_layout(drawn.to_networkx())
    ids = {i: n for n, i in enumerate(drawn.entries)}
    told = _decisions(operations, history, ids)
    owner = {i: xml_text((categories or {}).get(i, graph.category)) for i in drawn.entries}
    names = sorted({xml_text(c) for c in (categories or {}).values()} or {xml_text(graph.category)})
    return {
        "customer": xml_text(graph.customer),
        "category": xml_text(graph.category),
        "categories": names,
        "moments": [m.isoformat(timespec="seconds") for m in history.moments],
        "arrivals": _arrivals(seen.values(), history),
        "rows": 1 + max((y for _, y in places.values()), default=0.0),
        "conversations": [
            [xml_text(c), at.isoformat(sep=" ", timespec="minutes"), history.step(at)] for c, at in seen.items()
        ]
        if history.moments
        else [],
        "nodes": [
            {**_node(e, places[i], history), "category": names.index(owner[i]), "decisions": told[i]}
            for i, e in drawn.entries.items()
        ],
        "edges": [{"a": ids[a], "b": ids[b], **history.of(v.values())} for (a, b), v in drawn.edges.items()],
        "rejected": told[""],
        "hidden": {
            "nodes": len(graph.entries) - len(drawn.entries),
            "edges": len(graph.edges) - len(drawn.edges),
        },
    }


def _conversations(graph: SkillGraph, operations: Iterable[Operation]) -> dict[str, datetime]:
    """Every conversation that the page names with its start, oldest first."""
    votes = [v for e in graph.entries.values() for v in e.evidence.values()]
    votes += [v for e in graph.edges.values() for v in e.values()]
    votes += [o.evidence for o in operations if o.entry in graph.entries or o.op == "reject"]
    times = {v.conversation: v.at for v in votes}
    return dict(sorted(times.items(), key=lambda item: (item[1].astimezone(UTC), item[0])))


def _arrivals(times: Iterable[datetime], history: _History) -> list[int]:
    """How many conversations were new at each moment."""
    counts = [0] * len(history.moments)
    for at in times if counts else ():
        counts[history.step(at)] += 1
    return counts


def _node(entry: Entry, place: tuple[int, float], history: _History) -> dict[str, Any]:
    quotes = [
        [history.numbers[c], turn, xml_text(text), xml_text(quote)]
        for (c, _), (text, turn, quote) in sorted(entry.wordings.items())
        if c in history.numbers
    ]
    return {
        "id": xml_text(entry.id),
        "kind": COLUMNS.index(entry.kind),
        "title": xml_text(entry.title),
        "row": place[1],
        "quotes": sorted(quotes),
        **history.of(entry.evidence.values()),
    }


def _decisions(
    operations: Iterable[Operation], history: _History, ids: Mapping[str, int]
) -> defaultdict[str, list[list[Any]]]:
    """By entry: what was done, in which conversation, about which words, why; under "" what was rejected."""
    told: defaultdict[str, list[list[Any]]] = defaultdict(list)
    for o in operations:
        if (o.entry in ids or o.op == "reject") and history.moments:
            row = [o.op, history.numbers[o.conversation], xml_text(o.text), xml_text(o.reason)]
            told[o.entry if o.entry in ids else ""].append(row)
    return defaultdict(list, {i: sorted(rows, key=lambda r: (r[1], r[0], r[2])) for i, rows in told.items()})
