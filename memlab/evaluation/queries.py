"""What is asked and what would be right: queries, the gold root causes behind a corpus, and the hits of a ranking."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from memlab.errors import InputError
from memlab.evaluation import labels as door
from memlab.records import Conversation, valid_customer

__all__ = ["GoldCauses", "HitLike", "Hits", "Query", "RankedHit", "gold_causes", "read_queries"]


@dataclass(frozen=True, slots=True)
class Query:
    """What a user types, and what would be right: any of `root_cause_ids`, or nothing at all where there are none."""

    id: str
    query: str
    customer: str
    category: str | None
    symptom_ids: tuple[str, ...] = ()
    root_cause_ids: tuple[str, ...] = ()
    solution_ids: tuple[str, ...] = ()
    hard_negative: bool = False
    split: str = ""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Query:
        """Read one object of `paraphrases.jsonl`.

        Raises
        ------
        InputError
            If a field is missing or is not what it must be.
        """
        category, hard = data.get("category"), data.get("hard_negative", False)
        if not isinstance(hard, bool):
            raise InputError(f"hard_negative must be true or false, not {hard!r}")
        return cls(
            id=door.text(data.get("id"), "id"),
            query=door.text(data.get("query"), "query"),
            customer=valid_customer(data.get("customer")),
            category=None if category is None else door.text(category, "category"),
            symptom_ids=door.texts(data.get("symptom_ids"), "symptom_ids"),
            root_cause_ids=door.texts(data.get("root_cause_ids"), "root_cause_ids"),
            solution_ids=door.texts(data.get("solution_ids"), "solution_ids"),
            hard_negative=hard,
            split=str(data.get("split") or ""),
        )


def read_queries(path: str | Path) -> list[Query]:
    """The queries of a `paraphrases.jsonl`, in the order of the file.

    Raises
    ------
    InputError
        At the first bad line, with file, line and field; or if an id stands twice.
    """
    seen: dict[str, int] = {}
    queries = []
    for number, query in door.checked_lines(Path(path), Query.from_json):
        if query.id in seen:
            raise InputError(f"{path}:{number}: query {query.id!r} stands on line {seen[query.id]} already")
        seen[query.id] = number
        queries.append(query)
    return queries


class HitLike(Protocol):
    """A hit of any ranking: all that is asked of it are the conversations behind it."""

    @property
    def conversations(self) -> Sequence[str]:
        """Ids of the conversations that support it."""
        ...


@dataclass(frozen=True, slots=True)
class RankedHit:
    """One hit of a ranking, best first."""

    conversations: tuple[str, ...]
    score: float = 0.0


Hits = Sequence[HitLike | Mapping[str, Any]]
"""A ranking, best first."""


@dataclass(frozen=True, slots=True)
class GoldCauses:
    """The gold root causes behind a corpus.

    Attributes
    ----------
    causes : mapping of conversation id to root cause ids
        Empty where none was found; every conversation of the corpus is a key.
    banks : mapping of (customer, category) to root cause ids
        What that memory can hold; under (customer, None) those of all its categories.
    """

    causes: Mapping[str, frozenset[str]]
    banks: Mapping[tuple[str, str | None], frozenset[str]]

    def bank(self, query: Query) -> frozenset[str]:
        """The causes that the memory asked by a query can hold."""
        return self.banks.get((query.customer, query.category), frozenset())


def gold_causes(labels: Iterable[Mapping[str, Any]], conversations: Iterable[Conversation]) -> GoldCauses:
    """The gold root causes of the conversations that a memory has learned from; labels of others are left aside.

    Raises
    ------
    InputError
        If two conversations have the same id.
    """
    customers: dict[str, str] = {}
    for c in conversations:
        if c.id in customers:
            raise InputError(f"conversation {c.id!r} stands twice; ids must be unique over all customers here")
        customers[c.id] = c.customer
    causes: dict[str, set[str]] = {c: set() for c in customers}
    banks: dict[tuple[str, str | None], set[str]] = defaultdict(set)
    for label in labels:
        name, cause = label["conversation"], label["root_cause"]
        if name in customers and cause:
            causes[name].add(cause["id"])
            for category in {label["category"], None}:
                banks[customers[name], category].add(cause["id"])
    return GoldCauses(
        {c: frozenset(ids) for c, ids in sorted(causes.items())}, {b: frozenset(ids) for b, ids in banks.items()}
    )
