"""Leaks: what stands in two splits, so that a test would ask for what was learned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memlab.records import Conversation

__all__ = ["MIXED", "Leak", "leaks"]

MIXED = "mixed"


@dataclass(frozen=True, slots=True, order=True)
class Leak:
    """One author, or one entry (cause, symptom, solution), that stands in several splits."""

    kind: str
    value: str
    splits: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """What leaks, and between which splits."""
        return {"kind": self.kind, "value": self.value, "splits": list(self.splits)}

    def __str__(self) -> str:
        where = "and its causes are" if self.kind == "query" else "is"
        return f"{self.kind} {self.value} {where} in {' and '.join(self.splits)}"


def leaks(
    conversations: Sequence[Conversation],
    labels: Iterable[Mapping[str, Any]],
    queries: Iterable[Mapping[str, Any]] = (),
    messages: Iterable[Mapping[str, Any]] = (),
) -> list[Leak]:
    """Authors and entries (causes, symptoms, solutions) of conversations, and authors of messages, that splits share.

    A query leaks if it belongs to another split than one of the causes that answer it; one whose causes stand in
    several splits is `MIXED`, neither learned from nor tested on. Records without a split do not count; authors of
    messages are other people than authors of conversations.
    """
    seen: dict[tuple[str, str], set[str]] = defaultdict(set)
    split_of = {c.id: str(c.metadata["split"]) for c in conversations if c.metadata.get("split")}
    for c in conversations:
        if c.metadata.get("author") and c.id in split_of:
            seen["author", str(c.metadata["author"])].add(split_of[c.id])
    for label in labels:
        split = split_of.get(str(label.get("conversation")))
        for kind, entry in _entries(label):
            if split:
                seen[kind, entry].add(split)
    for message in messages:
        if message.get("author") and message.get("split"):
            seen["author of messages", str(message["author"])].add(str(message["split"]))
    for query in queries:
        if query.get("split") not in (None, MIXED):
            answers = (seen.get(("root_cause", str(cause)), set()) for cause in query.get("root_cause_ids") or ())
            seen["query", str(query.get("id"))] = {str(query["split"])}.union(*answers)
    return sorted(Leak(kind, value, tuple(sorted(s))) for (kind, value), s in seen.items() if len(s) > 1)


def _entries(label: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for symptom in label.get("symptoms") or ():
        yield "symptom", str(symptom.get("id"))
    for kind in ("root_cause", "solution"):
        if label.get(kind):
            yield kind, str(label[kind].get("id"))
