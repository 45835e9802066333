"""Keeping a category within its limits: the weakest entries rest, within a budget, until they are spoken of again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memlab.bank import Bank
from memlab.bank.maintenance import Duplicate, allowance, merge_duplicates, new_run
from memlab.curation.curator import Curator
from memlab.curation.decisions import Decision
from memlab.graph import SkillGraph
from memlab.records import Kind

__all__ = ["Rested", "Tidied", "over_limit", "prune", "tidy"]

MOST = 0.05  # the share of a category's entries that one run may take out of sight or merge away


@dataclass(frozen=True, slots=True)
class Rested:
    """An entry that was put out of sight, with its weight then."""

    entry: str
    kind: Kind
    title: str
    weight: float


@dataclass(frozen=True, slots=True)
class Tidied:
    """What one run of `tidy` did, and how many entries are still too many (the budget, or the only answers)."""

    merged: tuple[Duplicate, ...] = ()
    rested: tuple[Rested, ...] = ()
    over: int = 0


def over_limit(bank: Bank, category: str, *, tokens: Callable[[SkillGraph], int] | None = None) -> int:
    """How many entries a category has too many for its settings `most_entries` and `most_tokens`; 0 if none.

    Parameters
    ----------
    bank, category
        Where.
    tokens : callable, optional
        Size of a graph as it is read, in tokens; by default that of the whole rendered skill.
    """
    settings = bank.settings(category)
    graph = _unlimited(bank, category)
    most = settings.get("most_entries")
    many = max(0, len(graph.entries) - int(most)) if most is not None else 0
    room = settings.get("most_tokens")
    if room is None:
        return many
    size = tokens or _tokens
    low, high = many, len(graph.entries)
    while low < high:  # the least number of entries to leave out so that the rest fits
        middle = (low + high) // 2
        fits = size(graph.without(graph.weakest(middle))) <= room
        low, high = (low, middle) if fits else (middle + 1, high)
    return low


def _tokens(graph: SkillGraph) -> int:
    from memlab.models.tokens import count_tokens
    from memlab.rendering import render_skill

    return count_tokens(render_skill(graph, budget=10**9))


def _unlimited(bank: Bank, category: str) -> SkillGraph:
    """The graph as it is seen, but for the limit that only looks."""
    return bank.graph(category, limited=False)


def prune(
    bank: Bank,
    category: str,
    *,
    run: str,
    most: float = MOST,
    tokens: Callable[[SkillGraph], int] | None = None,
) -> list[Rested]:
    """Put the weakest entries of a category that is over its limits out of sight, and return which.

    Weak is what the one weight function says at the moment of the newest conversation. Never taken are the only answer
    to something and the only way to find one (see `SkillGraph.limited`). Nothing is lost: the decision is stored with
    its run, `Bank.undo(run)` takes it back, an earlier `at=` shows the entry, and so does the next conversation that
    speaks of it.

    Parameters
    ----------
    bank, category
        Where.
    run : str
        A new name for what is decided here.
    most : float
        The share of the category's entries that may go in one run, in (0, 1]; at least one may.
    tokens : callable, optional
        See `over_limit`.

    Raises
    ------
    InputError
        If `run` is empty or was used before, or `most` is out of range.
    """
    new_run(bank, run, most)
    return _prune(bank, category, run, allowance(len(_unlimited(bank, category).entries), most), tokens)


def _prune(bank: Bank, category: str, run: str, most: int, tokens: Callable[[SkillGraph], int] | None) -> list[Rested]:
    graph = _unlimited(bank, category)
    many = min(over_limit(bank, category, tokens=tokens), most)
    gone = graph.weakest(many) if many else set()
    while len(gone) > most:  # what would be left hanging goes along: too many for the budget
        many -= 1
        gone = graph.weakest(many) if many else set()
    ordered = sorted(gone, key=lambda e: (graph.weight(e), e))
    chosen = [Rested(e, graph.entries[e].kind, graph.entries[e].title, graph.weight(e)) for e in ordered]
    wording = {e: min(text for text, _, _ in graph.entries[e].wordings.values()) for e in gone}
    bank.decide(*(Decision("rest", category, r.kind, wording[r.entry], graph.at.isoformat(), run) for r in chosen))
    return chosen


def tidy(
    bank: Bank,
    category: str,
    *,
    run: str,
    most: float = MOST,
    curator: Curator | None = None,
    tokens: Callable[[SkillGraph], int] | None = None,
) -> Tidied:
    """Merge clear duplicates, then prune what is over the limits; both together stay within one budget.

    Parameters
    ----------
    bank, category, run, most
        As in `prune`; `Bank.undo(run)` takes all of it back.
    curator : Curator, optional
        Needed only if the bank was made by another than the offline one.
    tokens : callable, optional
        See `over_limit`.
    """
    budget = allowance(len(_unlimited(bank, category).entries), most)
    merged = merge_duplicates(bank, category, run=run, most=most, curator=curator)
    rested = _prune(bank, category, run, budget - len(merged), tokens) if budget > len(merged) else []
    return Tidied(tuple(merged), tuple(rested), over_limit(bank, category, tokens=tokens))
