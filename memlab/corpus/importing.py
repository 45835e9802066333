"""Bringing foreign conversations in: what was understood, what was skipped and why, redacted and in our form."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memlab.corpus.reading import ReadReport
from memlab.corpus.redaction import redact_conversation
from memlab.records import Conversation

__all__ = ["Preview", "preview", "redact_all", "write_conversations"]

_COUNTED = ("quoted_lines_cut", "auto_replies", "private_notes", "work_notes", "left_out")


@dataclass(frozen=True, slots=True)
class Preview:
    """What a reader made of a file, before anything is stored.

    Attributes
    ----------
    conversations, turns : int
        How many were read.
    roles : dict
        Turns by role; a role that is missing often means a wrong mapping.
    customers, categories : dict
        Conversations by customer and by category (``""`` where none is given).
    first, last : str or None
        The earliest and the latest start.
    nominal_times : int
        Conversations whose time was made up, because their file has none.
    left_out : dict
        What the reader cut or left out (quoted lines, automatic replies, …), summed.
    redacted : dict
        What was redacted, by type.
    skipped : dict
        What was not read: reason and number, the most frequent first.
    examples : list
        The first conversations, their texts cut short.
    """

    conversations: int
    turns: int
    roles: dict[str, int]
    customers: dict[str, int]
    categories: dict[str, int]
    first: str | None
    last: str | None
    nominal_times: int
    left_out: dict[str, int]
    redacted: dict[str, int]
    skipped: dict[str, int]
    examples: list[dict[str, Any]]

    def to_json(self) -> dict[str, Any]:
        """All figures and examples."""
        return {name: getattr(self, name) for name in self.__slots__}

    def to_text(self) -> str:
        """A page for a terminal."""
        lines = [
            f"{self.conversations} conversations, {self.turns} turns, {sum(self.skipped.values())} pieces skipped",
            f"time       {self.first} to {self.last}"
            + (f" ({self.nominal_times} nominal)" if self.nominal_times else ""),
        ]
        for name in ("customers", "categories", "roles", "left_out", "redacted"):
            counts: dict[str, int] = getattr(self, name)
            if counts:
                lines.append(f"{name:<10} " + ", ".join(f"{k or '(none)'} {v}" for k, v in counts.items()))
        lines += [f"skipped    {number} × {reason}" for reason, number in self.skipped.items()]
        for example in self.examples:
            lines.append(f"\n{example['id']}  {example['customer']}  {example['started_at']}")
            lines += [f"  {turn['role']:<5} {turn['text']}" for turn in example["turns"]]
        return "\n".join(lines)


def preview(report: ReadReport, *, examples: int = 2, width: int = 90) -> Preview:
    """Figures and the first conversations of what was read.

    Parameters
    ----------
    report : ReadReport
        What `read_conversations` gave.
    examples : int
        How many conversations to show.
    width : int
        Characters of each turn to show.
    """
    starts = sorted(report, key=lambda c: c.order)
    left_out: Counter[str] = Counter()
    redacted: Counter[str] = Counter()
    for c in report:
        left_out.update({k: c.metadata[k] for k in _COUNTED if isinstance(c.metadata.get(k), int)})
        redacted.update(c.metadata.get("redacted", {}))
    reasons = Counter(_general(s.reason) for s in report.skipped)
    return Preview(
        conversations=len(report),
        turns=sum(len(c.turns) for c in report),
        roles=_sorted(Counter(t.role for c in report for t in c.turns)),
        customers=_sorted(Counter(c.customer for c in report)),
        categories=_sorted(Counter(c.category or "" for c in report)),
        first=starts[0].started_at.isoformat() if starts else None,
        last=starts[-1].started_at.isoformat() if starts else None,
        nominal_times=sum(c.metadata.get("time") == "nominal" for c in report),
        left_out=_sorted(left_out),
        redacted=_sorted(redacted),
        skipped=dict(sorted(reasons.items(), key=lambda r: (-r[1], r[0]))),
        examples=[_example(c, width) for c in report[:examples]],
    )


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items()))


def _general(reason: str) -> str:
    """A reason without what differs from line to line, so that equal reasons count together."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|\d+", "…", reason.split("; ")[0])


def _example(conversation: Conversation, width: int) -> dict[str, Any]:
    def short(text: str) -> str:
        line = " ⏎ ".join(text.split("\n"))
        return line if len(line) <= width else f"{line[: width - 1]}…"

    turns = [{"role": t.role, "text": short(t.text)} for t in conversation.turns[:6]]
    data = conversation.to_json()
    return {**{k: data[k] for k in ("id", "customer", "started_at")}, "turns": turns}


def redact_all(report: ReadReport, *, key: MutableMapping[str, Any] | None = None) -> ReadReport:
    """The same report with every conversation redacted; `key` as in `redact_conversation`.

    File names in the reasons of what was skipped stay; reasons that quote the text are redacted, too.
    """
    from memlab.corpus.redaction import redact

    skipped = [replace(s, reason=redact(s.reason).text) for s in report.skipped]
    return ReadReport([redact_conversation(c, key=key) for c in report], skipped)


def write_conversations(conversations: Iterable[Conversation], path: str | Path) -> int:
    """Write `conversations.jsonl`, in the order given, whole or not at all; the number of lines."""
    path = Path(path)
    temporary = path.with_name(f"{path.name}.tmp")
    count = 0
    with temporary.open("w", encoding="utf-8", newline="\n") as file:
        for conversation in conversations:
            file.write(json.dumps(conversation.to_json(), ensure_ascii=False) + "\n")
            count += 1
    temporary.replace(path)
    return count
