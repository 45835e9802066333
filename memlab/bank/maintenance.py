"""Merging entries that became clear duplicates: as decisions of a run, within a budget, undone by `Bank.undo(run)`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

from memlab.bank import Bank
from memlab.bank.replay import replay, state_of
from memlab.bank.review import merge_decisions
from memlab.curation.curator import MOST_WORDINGS, Curator
from memlab.curation.decide import Company, likelihood, sure
from memlab.curation.decisions import Decisions
from memlab.curation.guards import conflict
from memlab.curation.resolving import CategoryState
from memlab.curation.vectors import centred, cosines, whole
from memlab.errors import InputError
from memlab.graph import Entry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Duplicate", "allowance", "duplicates", "merge_duplicates", "new_run"]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Two entries of one column that no guard keeps apart and that the pair model is sure about.

    Attributes
    ----------
    first, second : str
        Their ids; the second is merged into the first, which has more conversations (ties by id).
    titles : tuple of str
        Their titles.
    probability : float
        Mean over pairs of their wordings.
    """

    category: str
    first: str
    second: str
    titles: tuple[str, str]
    probability: float


def duplicates(bank: Bank, category: str) -> list[Duplicate]:
    """Pairs of entries that are clearly the same, the surest first (ties by id)."""
    replay(bank)
    with bank.reading():
        state, decisions = state_of(bank, category), Decisions(bank.decisions(category))
        found: dict[tuple[str, str], Duplicate] = {}
        for entry in sorted(state.graph.entries.values(), key=lambda e: e.id):
            for other in _near(state, entry):
                a, b = sorted((entry, other), key=lambda e: (-len(e.evidence), e.id))
                if (a.id, b.id) not in found and not _apart(decisions, a, b):
                    p = _linkage(bank, a, b, state.index.background(a.kind))
                    if p is not None and sure(a.kind, p):
                        found[a.id, b.id] = Duplicate(category, a.id, b.id, (a.title, b.title), p)
    return sorted(found.values(), key=lambda d: (-d.probability, d.first, d.second))


def merge_duplicates(
    bank: Bank, category: str, *, run: str, most: float = 0.05, curator: Curator | None = None
) -> list[Duplicate]:
    """Merge clear duplicates and return which; each entry takes part in one merge a run.

    Parameters
    ----------
    bank, category
        Where.
    run : str
        A name for what is decided here; `Bank.undo` takes it all back.
    most : float
        The share of the category's entries that may disappear in one run, in (0, 1]; at least one may.
    curator : Curator, optional
        Needed only if the bank was made by another than the offline one.

    Raises
    ------
    InputError
        If `run` is empty or was used before, or `most` is out of range.
    """
    new_run(bank, run, most)
    replay(bank, curator)
    with bank.reading():
        entries = dict(state_of(bank, category).graph.entries)
    taken: set[str] = set()
    chosen: list[Duplicate] = []
    for d in duplicates(bank, category):
        if not {d.first, d.second} & taken and len(chosen) < allowance(len(entries), most):
            chosen.append(d)
            taken |= {d.first, d.second}
    bank.decide(*(x for d in chosen for x in merge_decisions(category, entries[d.first], entries[d.second], run=run)))
    replay(bank, curator)
    return chosen


def new_run(bank: Bank, run: str, most: float) -> None:
    """Check the name and the budget of a run.

    Raises
    ------
    InputError
        If `run` is empty or was used before, or `most` is out of range.
    """
    if not run.strip() or any(d.run == run for d in bank.decisions()):
        raise InputError(f"run {run!r} must be a new name, so that it can be undone alone")
    if not 0 < most <= 1:
        raise InputError(f"most must be in (0, 1], not {most!r}")


def allowance(entries: int, most: float) -> int:
    """How many of so many entries one run may take away: the share `most`, but at least one."""
    return max(1, int(most * entries))


def _near(state: CategoryState, entry: Entry) -> Iterator[Entry]:
    if entry.stated:
        text = min(text for text, _, _ in entry.wordings.values())
        for candidate in state.index.nominate(entry.kind, text):
            other = state.graph.entries.get(candidate.entry)  # a rejected entry is no entry
            if other is not None and other.id != entry.id and other.stated:
                yield other


def _texts(entry: Entry) -> list[str]:
    return sorted({text for text, _, _ in entry.wordings.values()})[:MOST_WORDINGS]


def _apart(decisions: Decisions, a: Entry, b: Entry) -> bool:
    wordings = set(_texts(b))
    return any(wordings & set(decisions.apart(a.kind, text)) for text in _texts(a))


def _linkage(bank: Bank, a: Entry, b: Entry, mean: NDArray[np.float32] | None) -> float | None:
    """Mean probability over pairs of wordings; None if a guard keeps any two apart."""
    known = bank.known_texts([*_texts(a), *_texts(b)])  # a placeholder's words have no vector
    left, right = ([t for t in _texts(e) if t in known] for e in (a, b))
    if not left or not right:
        return None
    rows, values = whole(bank.vectors(right)), []
    company: Company = "alone" if mean is None else "among"
    for text, vector in zip(left, whole(bank.vectors(left)), strict=True):
        if any(conflict(text, other) for other in right):
            return None
        near = cosines(rows, vector) if mean is None else centred(rows, vector, mean).tolist()
        values += [likelihood(text, other, c, a.kind, company) for other, c in zip(right, near, strict=True)]
    return round(fsum(values) / len(values), 4)
