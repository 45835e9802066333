"""Single messages with gold attempts, as conversations of one turn."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memlab.records import Conversation, Turn

__all__ = ["message_conversations"]


def message_conversations(path: str | Path, *, split: str) -> tuple[list[Conversation], list[dict[str, Any]]]:
    """Single messages as conversations of one turn, with labels that hold their attempts."""
    conversations: list[Conversation] = []
    labels: list[dict[str, Any]] = []
    for line in Path(path).read_text("utf-8").splitlines():
        row = json.loads(line)
        if split not in ("all", row["split"]):
            continue
        turn = Turn("user", row["text"])
        conversations.append(Conversation(row["id"], "messages", _ANY_DAY, (turn,), category="other"))
        attempts = [{**a, "by": "user", "turn": 0} for a in row["attempts"]]
        labels.append({**_EMPTY_LABEL, "conversation": row["id"], "attempts": attempts})
    return conversations, labels


_ANY_DAY = datetime(2026, 1, 1, tzinfo=UTC)
_EMPTY_LABEL: dict[str, Any] = {
    "case": 0, "category": "other", "low_value": False, "symptoms": [], "root_cause": None, "attempts": [],
    "solution": None, "solution_kind": None, "resolution": "unresolved", "profile": [], "phenomena": [],
}  # fmt: skip
