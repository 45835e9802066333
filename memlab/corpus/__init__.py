"""Reading conversations: one file a format behind one small protocol, redaction, and triage."""

from __future__ import annotations

from memlab.corpus.reading import Reader, ReadReport, Skipped, read_conversations, readers

__all__ = ["ReadReport", "Reader", "Skipped", "read_conversations", "readers"]
