"""What the agent says, and everything that it rests on: what was recalled and why, what was learned, what it cost."""

from __future__ import annotations

import dataclasses
import html
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from memlab.agent.records import Memory
from memlab.records import Outcome

__all__ = ["Recalled", "Reply", "Source", "Tokens", "told"]


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory of this customer that fits what was said, and why.

    Attributes
    ----------
    memory : str
        Its id.
    kind : {"attempt", "incident"}
        A step with its outcome, or a problem that was left without a fix.
    text : str
        The step, or the problem.
    symptom : str
        The remembered symptom that matched best.
    score : float
        How well it fits, in [0, 1].
    outcome : {"worked", "failed", "partial", "unknown"}
        As it is known now.
    at : datetime
        When that was last said.
    conversation : str
        Where.
    reason : str
        Why it was found, in words.
    proposed : bool
        Only the agent proposed it; nobody has said that it was tried.
    contradicted : bool
        It worked once and failed later: `note` says when, and it is no known fix.
    note : str
        The history of this step where it was tried more than once.
    """

    memory: str
    kind: Literal["attempt", "incident"]
    text: str
    symptom: str
    score: float
    outcome: Outcome
    at: datetime
    conversation: str
    reason: str
    proposed: bool = False
    contradicted: bool = False
    note: str = ""

    @property
    def result(self) -> str:
        """The outcome in a word: also ``proposed`` and ``unsolved``."""
        if self.proposed:
            return "proposed"
        return "unsolved" if self.kind == "incident" else self.outcome

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {**_fields(self), "at": self.at.isoformat(), "result": self.result}

    def __str__(self) -> str:
        note = f"; {self.note}" if self.note else ""
        return f"{self.text} -> {self.result} ({self.at.date()}, {self.conversation}, score {self.score:.2f}{note}): {self.reason}"


@dataclass(frozen=True, slots=True)
class Source:
    """Something that the category's skill or a past case (episode) gave to the answer."""

    kind: Literal["skill", "episode"]
    text: str
    score: float
    conversations: tuple[str, ...]
    reason: str

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {**_fields(self), "conversations": list(self.conversations)}

    def __str__(self) -> str:
        return f"{self.kind}: {self.text} (score {self.score:.2f}): {self.reason}"


@dataclass(frozen=True, slots=True)
class Tokens:
    """What the reply took: tokens of the recalled context and of the reply (WordPiece), and what a model was sent and sent back."""

    context: int = 0
    budget: int = 0
    reply: int = 0
    model_in: int | None = None
    model_out: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to one message.

    Attributes
    ----------
    text : str
        What the customer reads.
    customer, conversation : str
        Whose, and where.
    at : datetime
        When the message came.
    memory : bool
        Whether memory was on; off means that nothing was read or written.
    engine : {"scripted", "model"}
        Who wrote the text; `fallback` says why it was not the model.
    used : tuple of Recalled
        The customer's own history that fits, best first.
    sources : tuple of Source
        What the category's skill and past cases added, where the own history knows no fix.
    learned : tuple of Memory
        What this message told; empty if nothing is new.
    returning : bool
        Whether the customer had an incident or an attempt before this message.
    fixes, failures : tuple of str
        Known fixes for this problem, best first, and steps that did not help.
    steps, asks : tuple of str
        What the reply proposes to do, and what it asks for.
    incident : str or None
        The incident that the message belongs to.
    escalate : bool
        Whether a person should take over; `why_escalate` says why.
    tokens : Tokens
        The account.
    """

    text: str
    customer: str
    conversation: str
    at: datetime
    memory: bool
    engine: Literal["scripted", "model"] = "scripted"
    fallback: str = ""
    used: tuple[Recalled, ...] = ()
    sources: tuple[Source, ...] = ()
    learned: tuple[Memory, ...] = ()
    returning: bool = False
    fixes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    incident: str | None = None
    escalate: bool = False
    why_escalate: str = ""
    tokens: Tokens = Tokens()

    def to_json(self) -> dict[str, Any]:
        """As plain values, for `memlab chat --json`."""
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in _fields(self).items()}
        return {
            **plain,
            "at": self.at.isoformat(),
            "used": [r.to_json() for r in self.used],
            "sources": [s.to_json() for s in self.sources],
            "learned": [_short(m) for m in self.learned],
            "tokens": _fields(self.tokens),
        }

    def lines(self) -> list[str]:
        """What lies behind the text, one line each: recalled with reason, sources, learned, escalation."""
        out = [f"recalled: {r}" for r in self.used]
        out += [f"used {s}" for s in self.sources]
        out += [f"learned: {told(m)}" for m in self.learned]
        out += [f"escalate: {self.why_escalate}"] if self.escalate else []
        out += [f"engine: scripted, because {self.fallback}"] if self.fallback else []
        return out or (["nothing recalled, nothing learned"] if self.memory else ["memory is off"])

    def __str__(self) -> str:
        return "\n".join([self.text, *(f"  {line}" for line in self.lines())])

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{html.escape(line)}</li>" for line in self.lines())
        return f"<p>{html.escape(self.text)}</p><ul>{items}</ul>"


def _fields(record: Any) -> dict[str, Any]:
    return {f.name: getattr(record, f.name) for f in dataclasses.fields(record)}


def _short(memory: Memory) -> dict[str, Any]:
    return {
        **memory.to_json(),
        "outcome": memory.outcome,
        "verification": memory.verification,
        "proposed": memory.proposed,
    }


def told(memory: Memory) -> str:
    """A memory in one line, as a reply or a command shows what was learned."""
    if memory.kind == "profile":
        return f"profile: {memory.text}"
    if memory.kind == "incident":
        return f"incident {'opened' if memory.open else 'closed'}: {memory.text}"
    against = f" (against: {'; '.join(memory.symptoms)})" if memory.symptoms else ""
    return f"{memory.text} -> {'proposed' if memory.proposed else memory.outcome}{against}"
