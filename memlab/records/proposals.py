"""What an extractor makes of one issue in a conversation, and one conversation's vote for a link."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, get_args, overload

from memlab.errors import InputError
from memlab.records.values import clean_text, plain, valid_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Attempt",
    "Evidence",
    "Kind",
    "Mention",
    "Outcome",
    "Proposal",
    "Proposals",
    "Resolution",
    "Solution",
    "SolutionKind",
    "Verification",
]

Outcome = Literal["worked", "failed", "partial", "unknown"]
Resolution = Literal["confirmed", "inferred", "unresolved", "abandoned"]
SolutionKind = Literal["fix", "workaround"]
Kind = Literal["symptom", "cause", "solution"]
Verification = Literal["confirmed", "inferred", "claimed", "failed"]


@dataclass(frozen=True, slots=True)
class Mention:
    """Something that a conversation says: a short phrase, the turn, and the verbatim quote it rests on."""

    text: str
    turn: int
    quote: str


@dataclass(frozen=True, slots=True)
class Solution:
    """What ended the problem; a `workaround` makes it go away without mending the cause."""

    text: str
    turn: int
    quote: str
    kind: SolutionKind = "fix"


@dataclass(frozen=True, slots=True)
class Attempt:
    """An action that somebody carried out, and whether it helped."""

    action: str
    outcome: Outcome
    by: Literal["user", "agent"]
    turn: int
    quote: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an extractor makes of one issue in a conversation, without having seen memory."""

    conversation: str
    case: int = 0
    category: str | None = None
    low_value: bool = False
    symptoms: tuple[Mention, ...] = ()
    root_cause: Mention | None = None
    attempts: tuple[Attempt, ...] = ()
    solution: Solution | None = None
    resolution: Resolution = "unresolved"
    facts: tuple[Mention, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As a line of `proposals.jsonl`."""
        return {f.name: plain(getattr(self, f.name)) for f in dataclasses.fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Proposal:
        """Read one object of `proposals.jsonl`.

        Raises
        ------
        InputError
            If a field is missing or is not what it must be.
        """

        def mention(value: Mapping[str, Any]) -> Mention:
            return Mention(clean_text(value["text"]), int(value["turn"]), clean_text(value["quote"]))

        def one_of(value: Any, allowed: Any) -> Any:
            if value not in get_args(allowed):
                raise InputError(f"{value!r} is none of {', '.join(get_args(allowed))}")
            return value

        try:
            cause, solution = data.get("root_cause"), data.get("solution")
            return cls(
                conversation=valid_name(data["conversation"], "conversation"),
                case=int(data.get("case", 0)),
                category=data.get("category"),
                low_value=bool(data.get("low_value", False)),
                symptoms=tuple(map(mention, data.get("symptoms", ()))),
                root_cause=mention(cause) if cause else None,
                attempts=tuple(
                    Attempt(
                        clean_text(a["action"]),
                        one_of(a["outcome"], Outcome),
                        "agent" if a.get("by") == "agent" else "user",
                        int(a["turn"]),
                        clean_text(a["quote"]),
                    )
                    for a in data.get("attempts", ())
                ),
                solution=Solution(
                    clean_text(solution["text"]),
                    int(solution["turn"]),
                    clean_text(solution["quote"]),
                    one_of(solution.get("kind", "fix"), SolutionKind),
                )
                if solution
                else None,
                resolution=one_of(data.get("resolution", "unresolved"), Resolution),
                facts=tuple(map(mention, data.get("facts", ()))),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"not a proposal: {type(error).__name__} {error}") from None


class Proposals(Sequence[Proposal]):
    """A list of proposals that also becomes a data frame, one row an item."""

    def __init__(self, items: Iterable[Proposal] = ()) -> None:
        self._items = tuple(items)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Proposal: ...
    @overload
    def __getitem__(self, index: slice) -> Proposals: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Proposal | Proposals:
        return Proposals(self._items[index]) if isinstance(index, slice) else self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"Proposals({len(self)} of {len({p.conversation for p in self})} conversations)"

    def to_frame(self) -> pd.DataFrame:
        """One row a symptom, root cause, solution, attempt or fact, with its conversation, turn and quote."""
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for p in self._items:
            base = {"conversation": p.conversation, "case": p.case, "category": p.category}
            for name, items in (("symptom", p.symptoms), ("fact", p.facts)):
                rows += [{**base, "field": name, "text": m.text, "turn": m.turn, "quote": m.quote} for m in items]
            if p.root_cause:
                m = p.root_cause
                rows.append({**base, "field": "root_cause", "text": m.text, "turn": m.turn, "quote": m.quote})
            if p.solution:
                s = p.solution
                rows.append(
                    {**base, "field": "solution", "text": s.text, "turn": s.turn, "quote": s.quote, "detail": s.kind}
                )
            rows += [
                {**base, "field": "attempt", "text": a.action, "turn": a.turn, "quote": a.quote, "detail": a.outcome}
                for a in p.attempts
            ]
        columns = ["conversation", "case", "category", "field", "text", "detail", "turn", "quote"]
        return pd.DataFrame(rows, columns=columns)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One conversation's vote for a link: when, how well verified, and who asked."""

    conversation: str
    at: datetime
    verification: Verification
    requester: str | None = None
    workaround: bool = False
