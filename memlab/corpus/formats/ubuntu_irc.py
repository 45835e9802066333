"""Reader for Ubuntu support chats whose conversations were separated by hand, one conversation a line.

The set: Kummerfeld et al. 2019, doi:10.18653/v1/P19-1374.
Times are clock times of a day; a chat that runs over midnight goes on the next day.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from memlab.corpus.formats.building import build, convert, mappings, text
from memlab.corpus.jsonfiles import json_items
from memlab.corpus.reading import Options, Skipped
from memlab.errors import TimeError
from memlab.records import Conversation

__all__ = ["read"]

_ROLES = {"asker": "user", "bot": "tool"}


def read(path: Path, options: Options) -> Iterator[Conversation | Skipped]:
    """Chats as conversations of one customer (`ubuntu` unless told); the asker is the user, bots are tools."""
    return convert(path, json_items(path), lambda _, data: _conversation(data, options))


def _conversation(data: Mapping[str, Any], options: Options) -> Conversation:
    try:
        day = date.fromisoformat(text(data.get("date")))
    except ValueError:
        raise TimeError(f"date must be a day such as 2010-03-02, not {data.get('date')!r}") from None
    turns: list[dict[str, Any]] = []
    last = datetime.combine(day, time.min)
    for message in mappings(data.get("messages")):
        last = _after(last, day, message.get("t"))
        who = text(message.get("who"))
        turns.append({"role": _ROLES.get(who, "agent"), "text": text(message.get("text")), "at": last.isoformat()})
    return build(
        options,
        id=text(data.get("conv_id")),
        turns=turns,
        customer=options.customer or "ubuntu",
        category="ubuntu",
        metadata={k: data[k] for k in ("split", "weak_outcome", "n_helpers") if k in data},
        default_zone=UTC,
    )


def _after(last: datetime, day: date, clock: object) -> datetime:
    try:
        moment = datetime.combine(max(day, last.date()), time.fromisoformat(text(clock)))
    except ValueError:
        raise TimeError(f"t must be a clock time such as 03:10, not {clock!r}") from None
    # A clock that jumps back by more than half a day has passed midnight; less is a line out of order.
    return moment + timedelta(days=1) if last - moment > timedelta(hours=12) else moment
