"""Which fixes work for which symptom across customers: words and counts that at least k customers share, and nothing else.

What is guaranteed, for any data: a pattern is published only if at least k customers have it; it consists of words that
all of these customers used together; its counts are multiples of k; and customers of a pattern that fewer than k have
do not change the output in any way, whoever else comes or goes. Names, sentences, dates and conversations never appear.

What is not: this is no differential privacy. A count steps when its k-th, 2k-th, … customer arrives, and whoever can
compare two outputs that differ by one known customer sees that step. Publish outputs of many customers' changes at
a time, and only of customers who agreed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from memlab.agent.records import Memory
from memlab.agent.stores import Store
from memlab.curation.guards import stems
from memlab.errors import InputError
from memlab.records import valid_customer

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LEAST_CUSTOMERS", "Pattern", "Patterns", "patterns", "patterns_in"]

LEAST_CUSTOMERS = 3
MOST_WORDS = 8  # of a symptom or a step that are looked at
MOST_TOGETHER = (3, 2)  # words of a pattern's symptom and step
Key = tuple[frozenset[str], frozenset[str]]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A step and a symptom that several customers had together.

    Attributes
    ----------
    symptom, step : tuple of str
        Stems of words that all of these customers used, sorted.
    worked, failed : int
        Customers for whom the step helped at last, and did not, each rounded down to a multiple of k.
    """

    symptom: tuple[str, ...]
    step: tuple[str, ...]
    worked: int
    failed: int

    def __str__(self) -> str:
        return f"{' '.join(self.symptom)}: {' '.join(self.step)} | worked for {self.worked}+, failed for {self.failed}+"


class Patterns(tuple[Pattern, ...]):
    """Patterns, the most widely worked first; also a data frame."""

    __slots__ = ()

    def to_frame(self) -> pd.DataFrame:
        """One row a pattern."""
        import pandas as pd

        rows = [(" ".join(p.symptom), " ".join(p.step), p.worked, p.failed) for p in self]
        return pd.DataFrame(rows, columns=["symptom", "step", "worked", "failed"])


def patterns(store: Store, customers: Iterable[str], *, k: int = LEAST_CUSTOMERS) -> Patterns:
    """What the customers who agreed have in common.

    Parameters
    ----------
    store : Store
        Where their memories are.
    customers : iterable of str
        Those who agreed, by exact name; nobody else's memory is read.
    k : int
        The least number of customers behind whatever is said, ≥ 3.

    Raises
    ------
    InputError
        If k < 3.
    CustomerError
        If a name is empty or odd.
    """
    names = sorted({valid_customer(name) for name in customers})
    return patterns_in({name: store.all(name) for name in names}, k=k)


def patterns_in(memories: Mapping[str, Sequence[Memory]], *, k: int = LEAST_CUSTOMERS) -> Patterns:
    """The patterns of memories by customer; see `patterns`."""
    if k < LEAST_CUSTOMERS:
        raise InputError(f"k must be at least {LEAST_CUSTOMERS} customers, not {k}")
    worked: dict[Key, set[str]] = defaultdict(set)
    failed: dict[Key, set[str]] = defaultdict(set)
    for customer in sorted(memories):
        for key, outcome in _outcomes(memories[customer]).items():
            (worked if outcome == "worked" else failed)[key].add(customer)
    counts = {
        key: (_rounded(worked[key], k), _rounded(failed[key], k))
        for key in {*worked, *failed}
        if max(len(worked[key]), len(failed[key])) >= k
    }
    found = [Pattern(tuple(sorted(s)), tuple(sorted(f)), *counts[s, f]) for s, f in _largest(counts)]
    return Patterns(sorted(found, key=lambda p: (-p.worked, -p.failed, p.symptom, p.step)))


def _rounded(customers: set[str], k: int) -> int:
    return len(customers) // k * k


def _outcomes(memories: Sequence[Memory]) -> dict[Key, str]:
    """For every choice of words that one customer used together, the latest known outcome; a customer counts once."""
    out: dict[Key, str] = {}
    known = [m for m in memories if m.kind == "attempt" and m.outcome in ("worked", "failed")]
    for m in sorted(known, key=lambda m: (m.last, m.id)):
        for symptom in m.symptoms:
            for key in _keys(symptom, m.text):
                out[key] = m.outcome
    return out


def _keys(symptom: str, step: str) -> Iterator[Key]:
    for s in _choices(symptom, MOST_TOGETHER[0], least=2):
        for f in _choices(step, MOST_TOGETHER[1], least=1):
            yield s, f


def _choices(text: str, most: int, *, least: int) -> list[frozenset[str]]:
    words = sorted(set(stems(text)))[:MOST_WORDS]
    sizes = range(min(least, len(words)) or 1, most + 1)
    return [frozenset(c) for size in sizes for c in combinations(words, size)]


def _largest(counts: Mapping[Key, tuple[int, int]]) -> list[Key]:
    """Those that no pattern with more words and the same published counts contains; decided on published counts only."""
    by_count: dict[tuple[int, int], list[Key]] = defaultdict(list)
    for key, count in counts.items():
        by_count[count].append(key)
    return [
        (s, f)
        for (s, f), count in counts.items()
        if not any((s <= a and f <= b) and (s, f) != (a, b) for a, b in by_count[count])
    ]
