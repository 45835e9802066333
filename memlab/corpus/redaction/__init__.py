"""Redaction at the door: names, addresses, accounts and secrets become typed placeholders before anything is stored."""

from __future__ import annotations

from memlab.corpus.redaction.conversations import read_key, redact_conversation, restore, write_key
from memlab.corpus.redaction.measure import Figures, measure
from memlab.corpus.redaction.redact import Found, Redacted, redact
from memlab.corpus.redaction.spans import TYPES, Span, SpanType

__all__ = [
    "TYPES",
    "Figures",
    "Found",
    "Redacted",
    "Span",
    "SpanType",
    "measure",
    "read_key",
    "redact",
    "redact_conversation",
    "restore",
    "write_key",
]
