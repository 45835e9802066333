"""The skill graph: symptoms → root causes → solutions of one customer and category, a fold of operations.

Every entry and edge holds the conversations that support it; weights are computed from them on reading, by `decay`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memlab.decay import DEFAULT, WeightRule, weight
from memlab.errors import CurationError
from memlab.operations import Operation
from memlab.records import Evidence, Kind

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Entry", "SkillGraph", "fold"]

_NEXT: Mapping[Kind, Kind] = {"symptom": "cause", "cause": "solution"}
Edge = tuple[str, str]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Entry:
    """A symptom, root cause or solution, with every wording and conversation that it rests on.

    `wordings` maps conversation and case to (text, turn, quote); `evidence` maps conversation to its vote.
    """

    id: str
    kind: Kind
    name: str | None = None
    stated: bool = True
    wordings: dict[tuple[str, int], tuple[str, int, str]] = field(default_factory=dict)
    evidence: dict[str, Evidence] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The name that a person gave, else the most frequent wording (ties: the shortest, then the first by letter)."""
        if self.name:
            return self.name
        counts = Counter(text for text, _, _ in self.wordings.values())
        return min(counts, key=lambda text: (-counts[text], len(text), text))

    @property
    def aliases(self) -> list[str]:
        """Every other wording seen, sorted."""
        return sorted({text for text, _, _ in self.wordings.values()} - {self.title})

    @property
    def last_seen(self) -> datetime:
        """When the newest conversation behind it started."""
        return max(e.at for e in self.evidence.values())


@dataclass(slots=True)
class SkillGraph:
    """One category of one customer's memory at one moment.

    Attributes
    ----------
    at : datetime
        The moment that weights refer to; evidence after it is not part of the graph.
    entries : dict of id to Entry
    edges : dict of (source id, target id) to dict of conversation id to Evidence
        Symptom → cause and cause → solution only.
    """

    customer: str
    category: str
    at: datetime = EPOCH
    rule: WeightRule = DEFAULT
    entries: dict[str, Entry] = field(default_factory=dict)
    edges: dict[Edge, dict[str, Evidence]] = field(default_factory=dict)

    def apply(self, operation: Operation) -> None:
        """Fold one more operation in.

        Raises
        ------
        CurationError
            If the operation names an unknown entry, adds one twice, or links the wrong columns.
        """
        if operation.op == "reject":
            return
        self._write_entry(operation)
        for edge in operation.links:
            self._check_edge(edge)
            votes = self.edges.setdefault(edge, {})
            votes[operation.conversation] = _better(votes.get(operation.conversation), operation.evidence)
        self.at = max(self.at, operation.at)

    def _write_entry(self, op: Operation) -> None:
        entry = self.entries.get(op.entry)
        if op.op == "add":
            if entry is not None:
                raise CurationError(f"add: entry {op.entry} exists; reinforce it")
            entry = self.entries[op.entry] = Entry(op.entry, op.kind, stated=bool(op.quote))
        elif entry is None or entry.kind != op.kind:
            raise CurationError(f"{op.op}: no {op.kind} {op.entry} in {self.customer}/{self.category}")
        if op.op == "edit":
            entry.name = op.text
        # A failed attempt is no evidence that the entry is worth its place; it only counts on the edge.
        entry.wordings.setdefault((op.conversation, op.case), (op.text, op.turn, op.quote))
        entry.evidence[op.conversation] = _better(entry.evidence.get(op.conversation), op.evidence)

    def _check_edge(self, edge: Edge) -> None:
        kinds = [self.entries[e].kind if e in self.entries else None for e in edge]
        if kinds[0] not in _NEXT or _NEXT[kinds[0]] != kinds[1]:
            raise CurationError(f"a link goes symptom → cause or cause → solution, not {kinds[0]} → {kinds[1]}")

    def view(self, at: datetime | None = None, rule: WeightRule | None = None) -> SkillGraph:
        """The graph as it stood at a moment: evidence after `at` is left out, and entries that then have none."""
        at = at or self.at
        out = SkillGraph(self.customer, self.category, at, rule or self.rule)
        for id_, entry in self.entries.items():
            evidence = {c: e for c, e in entry.evidence.items() if e.at <= at}
            if evidence:
                wordings = {k: w for k, w in entry.wordings.items() if k[0] in evidence}
                out.entries[id_] = Entry(id_, entry.kind, entry.name, entry.stated, wordings, evidence)
        for edge, votes in self.edges.items():
            kept = {c: e for c, e in votes.items() if e.at <= at}
            if kept:
                out.edges[edge] = kept
        return out

    def weight(self, *edge: str) -> float:
        """Weight of an edge (two ids) or of an entry (one id) at `self.at`, ≥ 0; see `decay.weight`."""
        if len(edge) == 2:
            votes = self.edges.get((edge[0], edge[1]), {})
        else:
            votes = self.entries[edge[0]].evidence
        return weight(votes.values(), self.at, self.rule)

    def of_kind(self, kind: Kind) -> list[Entry]:
        """The entries of one column, heaviest first (ties by id)."""
        found = (e for e in self.entries.values() if e.kind == kind)
        return sorted(found, key=lambda e: (-self.weight(e.id), e.id))

    def sources(self, target: str) -> list[tuple[Entry, float]]:
        """Entries with an edge into `target`, with the edge's weight, heaviest first."""
        return self._ranked((a, self.weight(a, b)) for a, b in self.edges if b == target)

    def targets(self, source: str) -> list[tuple[Entry, float]]:
        """Entries that an edge from `source` leads to, with the edge's weight, heaviest first."""
        return self._ranked((b, self.weight(a, b)) for a, b in self.edges if a == source)

    def _ranked(self, pairs: Iterable[tuple[str, float]]) -> list[tuple[Entry, float]]:
        return [(self.entries[i], w) for i, w in sorted(pairs, key=lambda p: (-p[1], p[0]))]

    @property
    def conversations(self) -> list[str]:
        """Ids of all conversations behind the graph, sorted."""
        return sorted({c for e in self.entries.values() for c in e.evidence})

    def to_json(self) -> dict[str, Any]:
        """Everything, with weights and sorted lists, for `canonical_json`."""
        return {
            "customer": self.customer,
            "category": self.category,
            "at": self.at.isoformat(),
            "entries": [
                {
                    "id": e.id,
                    "kind": e.kind,
                    "title": e.title,
                    "aliases": e.aliases,
                    "weight": self.weight(e.id),
                    "evidence": [e.evidence[c] for c in sorted(e.evidence)],
                    "quotes": [[c, n, t, q] for (c, n), (_, t, q) in sorted(e.wordings.items())],
                }
                for e in sorted(self.entries.values(), key=lambda e: e.id)
            ],
            "edges": [
                {"source": a, "target": b, "weight": self.weight(a, b), "evidence": [v[c] for c in sorted(v)]}
                for (a, b), v in sorted(self.edges.items())
            ],
        }

    def to_networkx(self) -> nx.DiGraph[str]:
        """A directed graph with `kind`, `title` and `weight` on nodes, `weight` and `conversations` on edges."""
        import networkx as nx

        graph: nx.DiGraph[str] = nx.DiGraph(customer=self.customer, category=self.category, at=self.at.isoformat())
        for e in sorted(self.entries.values(), key=lambda e: e.id):
            graph.add_node(e.id, kind=e.kind, title=e.title, weight=self.weight(e.id))
        for (a, b), votes in sorted(self.edges.items()):
            graph.add_edge(a, b, weight=self.weight(a, b), conversations=sorted(votes))
        return graph


_RANK = {"failed": 0, "claimed": 1, "inferred": 2, "confirmed": 3}


def _better(old: Evidence | None, new: Evidence) -> Evidence:
    """One conversation, one vote: the better verified one, and of two equal ones the fix before the workaround."""
    if old is None:
        return new
    return max(old, new, key=lambda e: (_RANK[e.verification], not e.workaround))


def fold(
    operations: Iterable[Operation], *, customer: str, category: str, rule: WeightRule = DEFAULT
) -> SkillGraph:
    """The graph that a sequence of operations makes; the same operations always make the same graph.

    Raises
    ------
    CurationError
        If an operation does not fit the ones before it.
    """
    graph = SkillGraph(customer, category, rule=rule)
    for operation in operations:
        graph.apply(operation)
    return graph
