"""The skill graph: symptoms → root causes → solutions of one customer and category, a fold of operations.

Every entry and edge holds the conversations that support it; weights are computed from them on reading, by `decay`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memlab.decay import DEFAULT, WeightRule, success_rate, vote_order, weight
from memlab.errors import CurationError
from memlab.operations import Operation
from memlab.records import Evidence, Kind

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Entry", "SkillGraph", "fold"]

_NEXT: Mapping[str | None, Kind] = {"symptom": "cause", "cause": "solution"}
Edge = tuple[str, str]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Entry:
    """A symptom, root cause or solution, with every wording and conversation that it rests on.

    Attributes
    ----------
    name : str or None
        The title that a person gave.
    stated : bool
        False for a placeholder that nobody put into words ("unknown cause of …").
    wordings : dict of (conversation id, number) to (text, turn, quote)
        A conversation that says it in several ways has several, numbered from 0.
    evidence : dict of conversation id to Evidence
        One vote a conversation; one that failed says that the entry was tried and did not help.
    edits : dict of conversation id to str
        Titles that the curator gave on reading these conversations; the last one holds.
    """

    id: str
    kind: Kind
    name: str | None = None
    stated: bool = True
    wordings: dict[tuple[str, int], tuple[str, int, str]] = field(default_factory=dict)
    evidence: dict[str, Evidence] = field(default_factory=dict)
    edits: dict[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The name that a person gave, else the curator's last, else the wording of most conversations.

        Ties go to the shortest wording, then to the first by letter.
        """
        if self.name:
            return self.name
        if self.edits:
            return next(reversed(self.edits.values()))
        counts = Counter(text for _, text in {(c, text) for (c, _), (text, _, _) in self.wordings.items()})
        return min(counts, key=lambda text: (-counts[text], len(text), text))

    @property
    def aliases(self) -> list[str]:
        """Every other wording seen, sorted."""
        return sorted({text for text, _, _ in self.wordings.values()} - {self.title})

    @property
    def last_seen(self) -> datetime:
        """When the newest conversation behind it started."""
        return max(e.at for e in self.evidence.values())

    def take(self, op: Operation) -> None:
        """Take in one conversation's wording and vote."""
        wording, number = (op.text, op.turn, op.quote), 0
        while self.wordings.setdefault((op.conversation, number), wording) != wording:
            number += 1
        if op.name:
            self.edits.pop(op.conversation, None)
            self.edits[op.conversation] = op.name
        self.evidence[op.conversation] = _better(self.evidence.get(op.conversation), op.evidence)

    def drop(self, conversation: str) -> None:
        """Take a conversation's wordings and vote out again."""
        number = 0
        while self.wordings.pop((conversation, number), None) is not None:
            number += 1
        self.edits.pop(conversation, None)
        self.evidence.pop(conversation, None)

    def until(self, at: datetime, name: str | None) -> Entry | None:
        """A copy as it stood at a moment; None if it did not exist yet."""
        evidence = {c: e for c, e in self.evidence.items() if e.at <= at}
        if not evidence:
            return None
        if len(evidence) == len(self.evidence):
            return Entry(self.id, self.kind, name, self.stated, self.wordings.copy(), evidence, self.edits.copy())
        wordings = {k: w for k, w in self.wordings.items() if k[0] in evidence}
        edits = {c: e for c, e in self.edits.items() if c in evidence}
        return Entry(self.id, self.kind, name, self.stated, wordings, evidence, edits)


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
    _weights: dict[Edge | str, float] = field(default_factory=dict, repr=False, compare=False)
    _neighbours: tuple[dict[str, list[str]], dict[str, list[str]]] | None = field(
        default=None, repr=False, compare=False
    )

    def apply(self, operation: Operation) -> None:
        """Fold one more operation in; one that can't be folded changes nothing.

        Raises
        ------
        CurationError
            If the operation names an unknown entry, adds one twice, or links the wrong columns.
        """
        if not operation.changes_graph:
            return
        self._check(operation)
        if operation.op == "add":
            self.entries[operation.entry] = Entry(operation.entry, operation.kind, stated=operation.stated)
        self.entries[operation.entry].take(operation)
        for edge in operation.links:
            votes = self.edges.setdefault(edge, {})
            votes[operation.conversation] = _better(votes.get(operation.conversation), operation.evidence)
        self.at = max(self.at, operation.at)
        self._forget_views()

    def retract(self, operations: Iterable[Operation]) -> None:
        """Take operations out again: all of the last conversations that were folded in."""
        for op in operations:
            for edge in op.links:
                votes = self.edges.get(edge, {})
                votes.pop(op.conversation, None)
                if not votes:
                    self.edges.pop(edge, None)
            entry = self.entries.get(op.entry) if op.changes_graph else None
            if entry is not None:
                entry.drop(op.conversation)
                if not entry.evidence:
                    del self.entries[op.entry]
        self.at = max((e.last_seen for e in self.entries.values()), default=EPOCH)
        self._forget_views()

    def _forget_views(self) -> None:
        if self._weights:
            self._weights.clear()
        self._neighbours = None

    def _check(self, op: Operation) -> None:
        entry = self.entries.get(op.entry)
        if op.op == "add" and entry is not None:
            raise CurationError(f"add: entry {op.entry} exists; reinforce it")
        if op.op != "add" and (entry is None or entry.kind != op.kind):
            raise CurationError(f"{op.op}: no {op.kind} {op.entry} in {self.customer}/{self.category}")
        for edge in op.links:
            a, b = (op.kind if e == op.entry else self.entries[e].kind if e in self.entries else None for e in edge)
            if op.entry not in edge or _NEXT.get(a) != b or b is None:
                raise CurationError(f"a link goes symptom → cause or cause → solution of the entry, not {a} → {b}")

    def view(
        self, at: datetime | None = None, rule: WeightRule | None = None, *, names: Mapping[str, str] | None = None
    ) -> SkillGraph:
        """The graph as it stood at a moment: evidence after `at` is left out, and entries that then have none.

        Parameters
        ----------
        at : datetime, optional
            The moment; by default that of the newest conversation.
        rule : WeightRule, optional
            Other constants for the weights.
        names : mapping of entry id to str, optional
            Titles that people gave.
        """
        out = SkillGraph(self.customer, self.category, at or self.at, rule or self.rule)
        for id_, entry in self.entries.items():
            copy = entry.until(out.at, (names or {}).get(id_, entry.name))
            if copy is not None:
                out.entries[id_] = copy
        for edge, votes in self.edges.items():
            kept = {c: e for c, e in votes.items() if e.at <= out.at}
            if kept:
                out.edges[edge] = kept
        return out

    def weight(self, *edge: str) -> float:
        """Weight of an edge (two ids) or of an entry (one id) at `self.at`, ≥ 0; see `decay.weight`."""
        key: Edge | str = (edge[0], edge[1]) if len(edge) == 2 else edge[0]
        if key not in self._weights:
            votes = self.edges.get(key, {}) if isinstance(key, tuple) else self.entries[key].evidence
            self._weights[key] = weight(votes.values(), self.at, self.rule)
        return self._weights[key]

    def rate(self, cause: str, solution: str) -> tuple[float, float, float]:
        """How often a solution mended a cause: posterior mean and 95 % interval; see `decay.success_rate`."""
        votes = self.edges.get((cause, solution), {}).values()
        failed = sum(e.verification == "failed" for e in votes)
        return success_rate(len(votes) - failed, failed)

    def of_kind(self, kind: Kind) -> list[Entry]:
        """The entries of one column, heaviest first (ties by id)."""
        found = (e for e in self.entries.values() if e.kind == kind)
        return sorted(found, key=lambda e: (-self.weight(e.id), e.id))

    def sources(self, target: str) -> list[tuple[Entry, float]]:
        """Entries with an edge into `target`, with the edge's weight, heaviest first."""
        return self._ranked((a, self.weight(a, target)) for a in self.neighbours()[0].get(target, ()))

    def targets(self, source: str) -> list[tuple[Entry, float]]:
        """Entries that an edge from `source` leads to, with the edge's weight, heaviest first."""
        return self._ranked((b, self.weight(source, b)) for b in self.neighbours()[1].get(source, ()))

    def _ranked(self, pairs: Iterable[tuple[str, float]]) -> list[tuple[Entry, float]]:
        return [(self.entries[i], w) for i, w in sorted(pairs, key=lambda p: (-p[1], p[0]))]

    def neighbours(self) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        """Ids of the sources of every target, and of the targets of every source, sorted."""
        if self._neighbours is None:
            into: dict[str, list[str]] = {}
            out: dict[str, list[str]] = {}
            for a, b in sorted(self.edges):
                into.setdefault(b, []).append(a)
                out.setdefault(a, []).append(b)
            self._neighbours = into, out
        return self._neighbours

    def answers(self, cause: str) -> list[str]:
        """Ids of the solutions that helped with a cause at least once, sorted."""
        return [
            s
            for s in self.neighbours()[1].get(cause, ())
            if any(e.verification != "failed" for e in self.edges[cause, s].values())
        ]

    def limited(self, *, entries: int) -> SkillGraph:
        """A copy with at most so many entries: the weakest are left out, but never the only answer to something.

        Kept whatever their weight are a cause's only solution that helped, its last symptom, and a cause with such a
        solution unless each of its symptoms also leads to another one. The copy is larger than asked if only these
        are left. Nothing is deleted: this is a view, and another limit gives another one.

        Parameters
        ----------
        entries : int
            The most entries of all three columns, ≥ 0.
        """
        return self.without(self.weakest(len(self.entries) - entries))

    def weakest(self, many: int) -> set[str]:
        """Ids of up to so many entries, the weakest first, that `limited` would leave out."""
        return _spared(self, many)

    def without(self, ids: Collection[str]) -> SkillGraph:
        """A copy without these entries and their edges; the graph itself if there are none to leave out."""
        if not ids:
            return self
        out, left_out = self.view(), set(ids)
        out.entries = {i: e for i, e in out.entries.items() if i not in left_out}
        out.edges = {e: v for e, v in out.edges.items() if not left_out.intersection(e)}
        return out

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


def _spared(graph: SkillGraph, many: int) -> set[str]:
    """Up to so many entries, weakest first, that are not the only answer to anything, nor the only way to find one."""
    into, onto = ({i: set(ids) for i, ids in side.items()} for side in graph.neighbours())
    answers = {e.id: set(graph.answers(e.id)) for e in graph.entries.values() if e.kind == "cause"}
    gone: set[str] = set()

    def needed(entry: str) -> bool:
        kind = graph.entries[entry].kind
        if kind == "solution":
            return any(answers[c] == {entry} for c in into.get(entry, ()))
        if kind == "symptom":
            return any(into[c] == {entry} for c in onto.get(entry, ()))
        symptoms = into.get(entry, set())
        return bool(answers[entry]) and not (
            symptoms and all(any(c != entry and answers[c] for c in onto[s]) for s in symptoms)
        )

    def leave_out(entry: str) -> None:
        gone.add(entry)
        for other in into.pop(entry, set()):
            onto[other].discard(entry)
            answers.get(other, set()).discard(entry)
            if not onto[other] and graph.entries[entry].kind == "cause":
                gone.add(other)
        for other in onto.pop(entry, set()):
            into[other].discard(entry)
            if not into[other] and graph.entries[entry].kind == "cause":
                gone.add(other)

    queue = sorted(graph.entries, key=lambda i: (graph.weight(i), i))
    before = -1
    while before < len(gone) < many:
        before = len(gone)
        for entry in queue:
            if len(gone) < many and entry not in gone and not needed(entry):
                leave_out(entry)
    return gone


def _better(old: Evidence | None, new: Evidence) -> Evidence:
    """One conversation, one vote: the better verified one, and of two equal ones the fix before the workaround."""
    return new if old is None else max(old, new, key=vote_order)


def fold(operations: Iterable[Operation], *, customer: str, category: str, rule: WeightRule = DEFAULT) -> SkillGraph:
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
