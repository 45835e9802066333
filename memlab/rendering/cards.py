"""Cards: what a skill says about each root cause, before it becomes text. A pure function of the graph view."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import log1p

from memlab.decay import WeightRule, success_rate
from memlab.graph import Entry, SkillGraph

__all__ = ["CauseCard", "SolutionCard", "cause_card", "cause_cards", "ordered_causes", "worth_showing"]


@dataclass(frozen=True, slots=True)
class SolutionCard:
    """A solution as the skill shows it: in how many conversations it worked and failed, and its success rate."""

    text: str
    kind: str
    weight: float
    worked: int
    failed: int
    rate: tuple[float, float, float]
    conversations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CauseCard:
    """A root cause as the skill shows it: evidence, symptoms with weights, what helped and what did not.

    Attributes
    ----------
    stated : bool
        False for a placeholder that nobody put into words.
    confirmed : int
        Conversations in which the user confirmed it.
    last : str
        Day of the newest conversation behind it.
    solutions : tuple of SolutionCard
        What helped at least once, heaviest first.
    failed : tuple of (str, int)
        What never helped, and how often it was tried.
    aliases : tuple of str
        Other wordings.
    """

    id: str
    text: str
    stated: bool
    weight: float
    conversations: tuple[str, ...]
    confirmed: int
    last: str
    symptoms: tuple[tuple[str, float], ...]
    solutions: tuple[SolutionCard, ...]
    failed: tuple[tuple[str, int], ...]
    aliases: tuple[str, ...] = ()

    @property
    def advice(self) -> str:
        """When to stop trying and escalate; empty where a fix is known and has helped more often than it failed."""
        if not self.solutions:
            return "no known fix: escalate"
        if all(s.failed >= s.worked for s in self.solutions):
            return "the known fixes failed as often as they worked: try once, then escalate"
        if all(s.kind == "workaround" for s in self.solutions):
            return "only worked around so far: escalate for a fix"
        return ""


def cause_cards(graph: SkillGraph) -> list[CauseCard]:
    """Every root cause of a view with what hangs on it, heaviest first."""
    return [cause_card(graph, cause) for cause in graph.of_kind("cause")]


def ordered_causes(graph: SkillGraph, first: Iterable[str] = ()) -> Iterator[Entry]:
    """The causes worth showing: those named first, in that order, then the others, heaviest first.

    A placeholder says only that a symptom came up; without anything that helped it has nothing to tell an agent.
    """
    named = dict.fromkeys(first)
    yield from (graph.entries[i] for i in named if i in graph.entries and graph.entries[i].kind == "cause")
    yield from _heaviest(graph, [c for c in worth_showing(graph) if c.id not in named])


def worth_showing(graph: SkillGraph, first: Iterable[str] = ()) -> list[Entry]:
    """The causes that `ordered_causes` gives, in the order of the graph."""
    causes, named = (e for e in graph.entries.values() if e.kind == "cause"), set(first)
    return [c for c in causes if c.stated or c.id in named or graph.answers(c.id)]


def _heaviest(graph: SkillGraph, causes: Iterable[Entry]) -> Iterator[Entry]:
    """Causes by weight (ties by id); a weight is computed only once a cause may come next, judged by a cheap bound."""
    worth, queue = _most_worth(graph.rule), list[tuple[float, bool, str]]()
    for c in causes:
        queue.append((-log1p(len(c.evidence) * worth) - 1e-9, False, c.id))
    heapq.heapify(queue)
    while queue:
        _, known, cause = heapq.heappop(queue)
        if known:
            yield graph.entries[cause]
        else:
            heapq.heappush(queue, (-graph.weight(cause), True, cause))


def _most_worth(rule: WeightRule) -> float:
    """The most that one conversation can add to the sum in a weight, whatever it says and however new it is."""
    worths = (rule.confirmed, rule.inferred, rule.claimed, -rule.failed * rule.confirmed)
    return max(0.0, *worths) * max(1.0, rule.workaround)


def cause_card(graph: SkillGraph, cause: Entry) -> CauseCard:
    """One root cause of a view with what hangs on it."""
    solutions, title = [_solution(graph, cause, entry, w) for entry, w in graph.targets(cause.id)], cause.title
    helped = sorted((s for s in solutions if s.worked), key=lambda s: (-s.weight, s.text))
    failed = sorted(((s.text, s.failed) for s in solutions if not s.worked), key=lambda s: (-s[1], s[0]))
    return CauseCard(
        id=cause.id,
        text=title,
        stated=cause.stated,
        weight=graph.weight(cause.id),
        conversations=tuple(sorted(cause.evidence)),
        confirmed=sum(e.verification == "confirmed" for e in cause.evidence.values()),
        last=cause.last_seen.date().isoformat(),
        symptoms=tuple((entry.title, w) for entry, w in graph.sources(cause.id)),
        solutions=tuple(helped),
        failed=tuple(failed),
        aliases=tuple(sorted({text for text, _, _ in cause.wordings.values()} - {title})),
    )


def _solution(graph: SkillGraph, cause: Entry, entry: Entry, weight: float) -> SolutionCard:
    votes = graph.edges[cause.id, entry.id]
    good = [e for e in votes.values() if e.verification != "failed"]
    detours = sum(e.workaround for e in good)
    return SolutionCard(
        text=entry.title,
        kind="workaround" if 2 * detours > len(good) else "fix",
        weight=weight,
        worked=len(good),
        failed=len(votes) - len(good),
        rate=success_rate(len(good), len(votes) - len(good)),
        conversations=tuple(sorted(c for c, e in votes.items() if e.verification != "failed")),
    )
