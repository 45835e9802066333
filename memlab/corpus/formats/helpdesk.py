"""Reader for public enterprise helpdesk tickets (Abdellatif 2025, doi:10.17632/btm76zndnt.2), one ticket a line.

The agents' closing form (problem, investigation, solution) holds the answer. It never becomes a turn: it is kept in
`metadata["agent_form"]` as ground truth, which extraction and retrieval do not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC
from pathlib import Path
from typing import Any

from memlab.corpus.formats.building import convert
from memlab.corpus.reading import Options, Skipped, read_jsonl_objects
from memlab.errors import InputError
from memlab.records import Conversation

__all__ = ["read"]

_ROLES = {"reporter": "user", "assignee": "agent", "others": "agent"}


def read(path: Path, options: Options) -> Iterator[Conversation | Skipped]:
    """Tickets as conversations of one customer (`helpdesk` unless told), times read as UTC unless told a zone."""
    return convert(path, read_jsonl_objects(path), lambda _, ticket: _conversation(ticket, options))


def _conversation(ticket: Mapping[str, Any], options: Options) -> Conversation:
    messages = ticket.get("messages")
    if not isinstance(messages, list) or not all(isinstance(m, Mapping) for m in messages):
        raise InputError("messages must be a list of objects")
    turns = [
        {"role": _ROLES.get(str(m.get("role")), "agent"), "text": m.get("text") or "", "at": _iso(m.get("at"))}
        for m in messages
        if m.get("kind", "message") == "message" and str(m.get("text") or "").strip()
    ]
    if not turns:
        raise InputError(f"ticket {ticket.get('ticket_id')!r} has no message besides forms and boilerplate")
    # The person who opened the ticket speaks first, whoever typed it.
    turns[0]["role"] = "user"
    kept = ("group", "type", "priority", "status", "resolution", "agent_form")
    return Conversation.from_json(
        {
            "id": str(ticket.get("ticket_id") or ""),
            "customer": options.customer or "helpdesk",
            "category": "helpdesk",
            "started_at": _iso(ticket.get("created")),
            "turns": turns,
            "metadata": {k: ticket[k] for k in kept if ticket.get(k) is not None},
        },
        zone=options.zone or UTC,
    )


def _iso(time: object) -> str | None:
    return time.strip().replace(" ", "T") if isinstance(time, str) and time.strip() else None
