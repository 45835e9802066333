"""The vocabulary: frozen records that print well, save as JSON and compare by value."""

from memlab.records.conversations import Conversation, Role, Turn
from memlab.records.proposals import (
    Attempt,
    Evidence,
    Kind,
    Mention,
    Outcome,
    Proposal,
    Proposals,
    Resolution,
    Solution,
    SolutionKind,
    Verification,
)
from memlab.records.values import canonical_json, clean_text, content_hash, parse_time, valid_customer

__all__ = [
    "Attempt",
    "Conversation",
    "Evidence",
    "Kind",
    "Mention",
    "Outcome",
    "Proposal",
    "Proposals",
    "Resolution",
    "Role",
    "Solution",
    "SolutionKind",
    "Turn",
    "Verification",
    "canonical_json",
    "clean_text",
    "content_hash",
    "parse_time",
    "valid_customer",
]
