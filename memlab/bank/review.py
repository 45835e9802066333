"""What a person should look at: pairs that are perhaps the same, and wordings that need somebody's yes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memlab.bank import Bank
from memlab.bank.replay import replay
from memlab.curation.decisions import Answer, Decision
from memlab.graph import Entry
from memlab.operations import DOUBT, NEEDS_REVIEW, Operation
from memlab.records import Kind

__all__ = ["ReviewItem", "answer", "merge_decisions", "reject_decisions", "review_queue"]


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """One question to a person.

    Attributes
    ----------
    text, near : str
        The wording in question, and the one that it may be the same as (empty if it needs a yes or no of its own).
    reason, features
        Why the curator was not sure.
    conversation, turn, quote
        Where the wording comes from.
    """

    category: str
    kind: Kind
    text: str
    near: str
    reason: str
    conversation: str
    turn: int = 0
    quote: str = ""
    features: Mapping[str, float] = field(default_factory=dict, hash=False)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """What a person may answer."""
        return ("same", "apart", "reject", "rename") if self.near else ("accept", "reject")

    def to_json(self) -> dict[str, Any]:
        """As a plain object."""
        return {
            "category": self.category,
            "kind": self.kind,
            "text": self.text,
            "near": self.near,
            "reason": self.reason,
            "conversation": self.conversation,
            "turn": self.turn,
            "quote": self.quote,
            "features": dict(self.features),
            "answers": list(self.answers),
        }


def review_queue(bank: Bank, category: str | None = None) -> list[ReviewItem]:
    """The open questions of a category, or of all: what needs a yes first, then the likeliest pairs (ties by wording).

    The queue is derived from the curator's operations; an answer (see `answer`) takes a question off it by changing
    what the curator does on the next replay.
    """
    replay(bank)
    names = [category] if category is not None else bank.categories()
    found = {
        (name, op.kind, op.text, op.near): _item(name, op)
        for name in names
        for op in bank.operations(name)
        if (op.op == "reject" and op.reason.startswith(NEEDS_REVIEW)) or (op.op == "add" and DOUBT in op.reason)
    }
    return sorted(
        found.values(),
        key=lambda i: (bool(i.near), -i.features.get("probability", 1.0), i.category, i.kind, i.text, i.near),
    )


def _item(category: str, op: Operation) -> ReviewItem:
    return ReviewItem(
        category, op.kind, op.text, op.near, op.reason, op.conversation, op.turn, op.quote, dict(op.features)
    )


def answer(item: ReviewItem, reply: Answer, *, name: str = "", run: str = "") -> Decision:
    """A person's answer to a question, to be stored with `Bank.decide`.

    Parameters
    ----------
    item : ReviewItem
        The question.
    reply : {"same", "apart", "reject", "rename", "accept"}
        The answer; `rename` takes `name` for the entry's title.
    name : str
        The title, for `rename`.
    run : str
        What the answer belongs to, such as one review, so that it can be undone as a whole.

    Raises
    ------
    InputError
        If the answer does not fit the question.
    """
    second = {"rename": name, "same": item.near, "apart": item.near}.get(reply, "")
    return Decision(reply, item.category, item.kind, item.text, second, run)


def merge_decisions(category: str, first: Entry, second: Entry, *, run: str = "") -> list[Decision]:
    """The decisions that make one entry of two: every wording of the second is the same as the first."""
    texts = sorted({text for text, _, _ in second.wordings.values()})
    return [Decision("same", category, first.kind, first.title, text, run) for text in texts]


def reject_decisions(category: str, entry: Entry, *, run: str = "") -> list[Decision]:
    """The decisions that keep an entry out, in all its wordings."""
    texts = sorted({text for text, _, _ in entry.wordings.values()})
    return [Decision("reject", category, entry.kind, text, run=run) for text in texts]
