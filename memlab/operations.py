"""What the curator did: one record an entry and conversation. The skill graph is a fold of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from memlab.records import Evidence, Kind, canonical_json, parse_time

__all__ = ["Operation", "OperationKind"]

OperationKind = Literal["add", "edit", "reinforce", "reject"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One decision of the curator about one entry.

    Attributes
    ----------
    op : {"add", "edit", "reinforce", "reject"}
        Add a new entry, edit its wording, reinforce it with a conversation, or reject what was proposed.
    kind : {"symptom", "cause", "solution"}
        The column of the entry.
    entry : str
        Id of the entry; for a rejection of something unknown the id that it would have had.
    text : str
        The wording proposed by the conversation.
    evidence : Evidence
        The conversation, its time, and how well the entry was verified there.
    links : tuple of (str, str)
        Edges (source entry, target entry) that this conversation supports together with the entry.
    case, turn, quote
        Which issue of the conversation, and where it says so.
    reason : str
        Why, in words.
    features : mapping
        The numbers that the decision rests on.
    """

    op: OperationKind
    kind: Kind
    entry: str
    text: str
    evidence: Evidence
    links: tuple[tuple[str, str], ...] = ()
    case: int = 0
    turn: int = 0
    quote: str = ""
    reason: str = ""
    features: Mapping[str, float] = field(default_factory=dict, hash=False)

    @property
    def conversation(self) -> str:
        """Id of the conversation that the operation rests on."""
        return self.evidence.conversation

    @property
    def at(self) -> datetime:
        """When that conversation started."""
        return self.evidence.at

    def dumps(self) -> str:
        """As canonical JSON."""
        return canonical_json(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Operation:
        """Read back what `dumps` wrote."""
        evidence = Evidence(**{**data["evidence"], "at": parse_time(data["evidence"]["at"])})
        links = tuple((str(a), str(b)) for a, b in data["links"])
        return cls(**{**data, "evidence": evidence, "links": links})
