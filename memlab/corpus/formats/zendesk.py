"""Reader for Zendesk ticket exports with comments: JSON lines, API pages (``{"tickets": […]}``), or a list.

The requester and other end users are the user, everybody else the agent. Private notes are agent turns, counted in
`metadata["private_notes"]`. Quoted mails are cut, with the number of lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memlab.corpus.formats.building import build, convert, find, mapping, mappings, text
from memlab.corpus.jsonfiles import json_items
from memlab.corpus.plain import html_to_text
from memlab.corpus.quoting import cut_quoted
from memlab.corpus.reading import Options, Skipped
from memlab.records import Conversation

__all__ = ["read"]


def read(path: Path, options: Options) -> Iterator[Conversation | Skipped]:
    """Tickets as conversations; `customer` and `category` may be mapped to places such as ``organization.name``."""
    return convert(path, json_items(path, under=("tickets", "results")), lambda _, d: _conversation(d, options))


def _conversation(ticket: Mapping[str, Any], options: Options) -> Conversation:
    requester = mapping(ticket.get("requester"))
    requester_id = text(ticket.get("requester_id") or requester.get("id"))
    comments = sorted(_comments(ticket), key=lambda c: text(c.get("created_at")))
    turns, cut, private = [], 0, 0
    for number, comment in enumerate(comments):
        body = cut_quoted(_body(comment), keep_forwarded=number == 0)
        cut += body.lines
        private += comment.get("public") is False
        role = "user" if _by_user(comment, requester_id) else "agent"
        turns.append({"role": role, "text": body.text, "at": comment.get("created_at")})
    subject = text(ticket.get("subject") or ticket.get("raw_subject")).strip()
    if turns and subject.casefold() not in text(turns[0]["text"]).casefold():
        turns[0]["text"] = f"{subject}\n\n{turns[0]['text']}".strip()
    return build(
        options,
        id=ticket.get("id"),
        turns=turns,
        started_at=ticket.get("created_at"),
        customer=find(ticket, options.columns.get("customer")),
        category=find(ticket, options.columns.get("category")),
        requester=requester_id,
        metadata={
            "status": ticket.get("status"),
            "tags": ticket.get("tags"),
            "quoted_lines_cut": cut,
            "private_notes": private,
        },
    )


def _comments(ticket: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The comments; the description only where no comment says the same (the first comment usually is it)."""
    comments = mappings(ticket.get("comments")) or mappings(mapping(ticket.get("comments")).get("comments"))
    description = text(ticket.get("description")).strip()
    if description and not any(_same(description, _body(c)) for c in comments):
        first = {"body": description, "created_at": ticket.get("created_at"), "by_requester": True}
        return [first, *comments]
    return comments


def _same(a: str, b: str) -> bool:
    return "".join(a.split()) == "".join(b.split())


def _body(comment: Mapping[str, Any]) -> str:
    plain = text(comment.get("plain_body") or comment.get("body"))
    return plain if plain.strip() else html_to_text(text(comment.get("html_body")))


def _by_user(comment: Mapping[str, Any], requester_id: str) -> bool:
    author = mapping(comment.get("author"))
    author_id = text(comment.get("author_id") or author.get("id"))
    by_requester = bool(requester_id) and author_id == requester_id
    return comment.get("by_requester") is True or by_requester or author.get("role") == "end-user"
