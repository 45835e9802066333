"""What the reader model says of every token, and of the conversation: the one list that training and reading share."""

from __future__ import annotations

from typing import Any

__all__ = ["FIELDS", "KINDS", "OUTCOMES", "RESOLUTIONS", "TOKEN_WIDTH"]

FIELDS = ("symptom", "cause", "solution", "attempt", "fact")
OUTCOMES: tuple[Any, ...] = ("worked", "failed", "partial", "unknown")
RESOLUTIONS: tuple[Any, ...] = ("confirmed", "inferred", "unresolved", "abandoned")
KINDS: tuple[Any, ...] = ("fix", "workaround")

# Per token: outside/begin/inside for each field, then the outcome of an attempt, then "belongs to the second issue".
TOKEN_WIDTH = 3 * len(FIELDS) + len(OUTCOMES) + 1
