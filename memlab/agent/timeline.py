"""A customer's history in the order of time, to look at or as a data frame."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memlab.agent.records import Memory, in_order

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Timeline", "timeline_of"]


@dataclass(frozen=True, slots=True)
class Timeline:
    """What is remembered of a customer.

    Attributes
    ----------
    customer : str
        Whose history.
    incidents : tuple of (Memory, tuple of Memory)
        Problems in order, each with the steps against it.
    loose : tuple of Memory
        Steps that belong to no incident.
    profile : tuple of Memory
        Lasting facts.
    """

    customer: str
    incidents: tuple[tuple[Memory, tuple[Memory, ...]], ...] = ()
    loose: tuple[Memory, ...] = ()
    profile: tuple[Memory, ...] = ()

    def __len__(self) -> int:
        return sum(1 + len(steps) for _, steps in self.incidents) + len(self.loose) + len(self.profile)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row a memory: when, kind, text, result, how it is verified, where, and the incident."""
        for incident, steps in self.incidents:
            yield _row(incident, incident.id)
            for step in steps:
                yield _row(step, incident.id)
        for memory in (*self.loose, *self.profile):
            yield _row(memory, None)

    def to_frame(self) -> pd.DataFrame:
        """The rows as a data frame."""
        import pandas as pd

        columns = ["when", "kind", "text", "result", "verification", "conversations", "incident", "id"]
        return pd.DataFrame(list(self.rows()), columns=columns)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"customer": self.customer, "memories": list(self.rows())}

    def lines(self) -> list[str]:
        """One line a memory; steps stand under their incident."""
        out = []
        for incident, steps in self.incidents:
            out.append(f"{_day(incident)} problem: {incident.text} ({_result(incident)})")
            out += [f"    {_day(step)} {step.text} -> {_result(step)}" for step in steps]
        out += [f"{_day(step)} {step.text} -> {_result(step)}" for step in self.loose]
        return out + [f"{_day(fact)} profile: {fact.text}" for fact in self.profile]

    def __str__(self) -> str:
        return "\n".join(self.lines()) or f"nothing is remembered of {self.customer}"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def timeline_of(customer: str, memories: Sequence[Memory]) -> Timeline:
    """Sort a customer's memories into a timeline."""
    ordered = in_order(memories)
    incidents = [m for m in ordered if m.kind == "incident"]
    known = {m.id for m in incidents}
    steps = [m for m in ordered if m.kind == "attempt"]
    return Timeline(
        customer,
        tuple((i, tuple(s for s in steps if s.incident == i.id)) for i in incidents),
        tuple(s for s in steps if s.incident not in known),
        tuple(m for m in ordered if m.kind == "profile"),
    )


def _result(memory: Memory) -> str:
    if memory.kind == "incident":
        words = {"worked": "solved", "failed": "closed without a fix", "partial": "partly solved", "unknown": "open"}
        return words[memory.outcome]
    return "proposed" if memory.proposed else memory.outcome


def _row(memory: Memory, incident: str | None) -> dict[str, Any]:
    return {
        "when": memory.at.isoformat(),
        "kind": memory.kind,
        "text": memory.text,
        "result": _result(memory) if memory.kind != "profile" else "",
        "verification": memory.verification if memory.kind != "profile" else "",
        "conversations": list(memory.conversations),
        "incident": incident,
        "id": memory.id,
    }


def _day(memory: Memory) -> str:
    return memory.at.date().isoformat()
