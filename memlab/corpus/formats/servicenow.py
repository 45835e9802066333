"""Reader for ServiceNow incidents with their journal (comments and work notes): API results, exports or JSON lines.

Journals come as one text, newest entry first, whose times have no zone (they are in the zone of who exported): tell the
reader the zone, or they are refused. They may also be lists of `sys_journal_field` rows. Work notes are agent turns,
counted in `metadata["work_notes"]`; the close notes are the agent's last word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memlab.corpus.formats.building import build, convert, find, mappings, text
from memlab.corpus.jsonfiles import json_items
from memlab.corpus.quoting import cut_quoted
from memlab.corpus.reading import Options, Skipped
from memlab.errors import InputError
from memlab.records import Conversation

__all__ = ["read"]

_ENTRY = re.compile(r"(?m)^(\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?) - (.+?) \(([^()\n]+)\)[ \t]*$")
_JOURNALS = ("comments_and_work_notes", "comments", "work_notes")


def read(path: Path, options: Options) -> Iterator[Conversation | Skipped]:
    """Incidents as conversations; `customer` may be mapped to a place such as ``company.display_value``."""
    items = json_items(path, under=("result", "records"))
    return convert(path, items, lambda _, data: _conversation(data, options))


def _conversation(incident: Mapping[str, Any], options: Options) -> Conversation:
    caller = value(incident.get("caller_id")) or value(incident.get("opened_by"))
    opened = _iso(value(incident.get("opened_at")) or value(incident.get("sys_created_on")))
    opening = [value(incident.get("short_description")).strip(), value(incident.get("description")).strip()]
    turns = [{"role": "user", "text": "\n\n".join(dict.fromkeys(t for t in opening if t)), "at": opened}]
    cut = notes = 0
    for at, author, label, said in sorted(_entries(incident), key=lambda e: e[0]):
        body = cut_quoted(said)
        work_note = "work" in label.casefold()
        cut, notes = cut + body.lines, notes + work_note
        role = "user" if author == caller and not work_note else "agent"
        turns.append({"role": role, "text": body.text, "at": _iso(at)})
    closed = _iso(value(incident.get("resolved_at")) or value(incident.get("closed_at")))
    turns.append({"role": "agent", "text": value(incident.get("close_notes")), "at": closed})
    return build(
        options,
        id=value(incident.get("number")) or value(incident.get("sys_id")),
        turns=turns,
        started_at=opened,
        customer=_place(incident, options, "customer"),
        category=_place(incident, options, "category"),
        requester=caller,
        metadata={
            "state": value(incident.get("state")),
            "close_code": value(incident.get("close_code")),
            "work_notes": notes,
            "quoted_lines_cut": cut,
        },
    )


def value(field: object) -> str:
    """A field's text, whether it is plain or ``{"display_value", "value"}``."""
    if isinstance(field, Mapping):
        return text(field.get("display_value")) or text(field.get("value"))
    return text(field)


def _place(incident: Mapping[str, Any], options: Options, name: str) -> str | None:
    return value(find(incident, options.columns.get(name))) or None


def _entries(incident: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Time, author, label and text of every journal entry, each once."""
    found: dict[tuple[str, str, str], tuple[str, str, str, str]] = {}
    for journal in _JOURNALS:
        field = incident.get(journal)
        rows = mappings(field)
        entries = [_row(row, journal) for row in rows] if rows else _parse(value(field), journal)
        for entry in entries:
            found.setdefault((entry[0], entry[1], "".join(entry[3].split())), entry)
    return list(found.values())


def _row(row: Mapping[str, Any], journal: str) -> tuple[str, str, str, str]:
    return (
        value(row.get("sys_created_on")),
        value(row.get("sys_created_by")),
        value(row.get("element")) or journal,
        value(row.get("value")),
    )


def _parse(journal: str, name: str) -> list[tuple[str, str, str, str]]:
    heads = list(_ENTRY.finditer(journal))
    if journal.strip() and (not heads or journal[: heads[0].start()].strip()):
        raise InputError(f"{name} does not begin with an entry such as '2026-03-02 09:12:33 - Jane Doe (Work notes)'")
    ends = [m.start() for m in heads[1:]] + [len(journal)]
    return [(m[1], m[2], m[3], journal[m.end() : end].strip()) for m, end in zip(heads, ends, strict=False)]


def _iso(time: str) -> str | None:
    return time.strip().replace(" ", "T") or None
