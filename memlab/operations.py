"""What the curator did: one record an entry and conversation. The skill graph is a fold of these."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any, Literal

from memlab.records import Evidence, Kind, parse_time

__all__ = ["DOUBT", "NEEDS_REVIEW", "Operation", "OperationKind"]

OperationKind = Literal["add", "edit", "reinforce", "reject"]
DOUBT = "perhaps the same"  # reasons with these words put a pair, or a wording, into the review queue
NEEDS_REVIEW = "needs_review"


@dataclass(frozen=True, slots=True)
class Operation:
    """One decision of the curator about one entry.

    Attributes
    ----------
    op : {"add", "edit", "reinforce", "reject"}
        Add a new entry, edit its title, reinforce it with a conversation, or reject it. A rejection without links
        keeps a proposed wording out; one with links is counter-evidence: in this conversation they did not hold.
    kind : {"symptom", "cause", "solution"}
        The column of the entry.
    entry : str
        Id of the entry; for a wording that was kept out the id that it would have had.
    text : str
        The wording proposed by the conversation.
    evidence : Evidence
        The conversation, its time, and how well the entry was verified there.
    links : tuple of (str, str)
        Edges (source entry, target entry) that this conversation speaks about together with the entry.
    case, turn, quote
        Which issue of the conversation, and where it says so.
    reason : str
        Why, in words.
    features : mapping
        The numbers that the decision rests on.
    near : str
        The wording that the proposed one was compared with, if any.
    name : str
        The title that the entry gets, if this is its conversation to give one.
    stated : bool
        False for a placeholder, such as the unknown cause of a symptom, which nobody put into words.
    kept_out : bool
        A person rejected the entry: later wordings of it stay out as well.
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
    near: str = ""
    name: str = ""
    stated: bool = True
    kept_out: bool = False

    @property
    def conversation(self) -> str:
        """Id of the conversation that the operation rests on."""
        return self.evidence.conversation

    @property
    def at(self) -> datetime:
        """When that conversation started."""
        return self.evidence.at

    @property
    def changes_graph(self) -> bool:
        """Whether folding it in changes the graph: everything but a wording that was kept out."""
        return self.op != "reject" or bool(self.links)

    def to_json(self) -> dict[str, Any]:
        """As a plain object."""
        e = self.evidence
        return {  # in the order of the letters: `dumps` need not sort
            "case": self.case,
            "entry": self.entry,
            "evidence": {
                "at": e.at.isoformat(),
                "conversation": e.conversation,
                "requester": e.requester,
                "verification": e.verification,
                "workaround": e.workaround,
            },
            "features": {name: self.features[name] for name in sorted(self.features)},
            "kept_out": self.kept_out,
            "kind": self.kind,
            "links": [list(link) for link in self.links],
            "name": self.name,
            "near": self.near,
            "op": self.op,
            "quote": self.quote,
            "reason": self.reason,
            "stated": self.stated,
            "text": self.text,
            "turn": self.turn,
        }

    def dumps(self) -> str:
        """As canonical JSON."""
        # Written out, as a replay makes very many: the same bytes as the encoder makes of `to_json`.
        e, q = self.evidence, encode_basestring
        # JSON writes a finite float as Python does; for what else a curator may have told, the encoder knows how.
        numbers = sorted(self.features.items())
        features = ",".join(
            [f"{q(n)}:{v!r}" if type(v) is float and v - v == 0.0 else f"{q(n)}:{_ENCODE(v)}" for n, v in numbers]
        )
        links = ",".join([f"[{q(a)},{q(b)}]" for a, b in self.links])
        return (
            f'{{"case":{self.case},"entry":{q(self.entry)},"evidence":{{"at":{q(e.at.isoformat())},"conversation":'
            f'{q(e.conversation)},"requester":{"null" if e.requester is None else q(e.requester)},"verification":'
            f'{q(e.verification)},"workaround":{_BOOL[e.workaround]}}},"features":{{{features}}},"kept_out":'
            f'{_BOOL[self.kept_out]},"kind":{q(self.kind)},"links":[{links}],"name":{q(self.name)},"near":{q(self.near)},'
            f'"op":{q(self.op)},"quote":{q(self.quote)},"reason":{q(self.reason)},"stated":{_BOOL[self.stated]},'
            f'"text":{q(self.text)},"turn":{self.turn}}}'
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Operation:
        """Read back what `dumps` wrote."""
        d, e = data, data["evidence"]
        evidence = Evidence(e["conversation"], _moment(e["at"]), e["verification"], e["requester"], e["workaround"])
        links = tuple([(a, b) for a, b in d["links"]])
        return cls(
            d["op"], d["kind"], d["entry"], d["text"], evidence, links, d["case"], d["turn"], d["quote"], d["reason"],
            d["features"], d["near"], d["name"], d["stated"], d["kept_out"],
        )  # fmt: skip


_BOOL = ("false", "true")
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_moment = lru_cache(maxsize=4096)(parse_time)  # the operations of one conversation share one time
