"""Reader for STATE-Bench training trajectories (customer support): past conversations with tool calls and results.

The set is synthetic and its conversations have no time. So that they have an order, each gets a nominal one: a minute
after the one before it, from `at` on (1 January 2026 unless told); `metadata["time"]` says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memlab.corpus.formats.building import build, convert, mappings, role_of, text
from memlab.corpus.formats.openai_chat import call_text, content_text
from memlab.corpus.jsonfiles import json_items
from memlab.corpus.reading import Options, Skipped
from memlab.errors import InputError
from memlab.records import Conversation

__all__ = ["read"]

_NOMINAL = datetime(2026, 1, 1, tzinfo=UTC)


def read(path: Path, options: Options) -> Iterator[Conversation | Skipped]:
    """Trajectories as conversations of one customer (`state_bench` unless told); each tool call is a tool turn."""
    return convert(path, json_items(path), lambda line, data: _conversation(line, data, options))


def _conversation(line: int, data: Mapping[str, Any], options: Options) -> Conversation:
    messages = data.get("conversation")
    if not isinstance(messages, list) or not all(isinstance(m, Mapping) for m in messages):
        raise InputError("conversation must be a list of objects")
    turns: list[dict[str, Any]] = []
    for message in messages:
        # What the tools said came before the reply that uses it.
        calls = mappings(message.get("tool_calls"))
        turns += [{"role": "tool", "text": f"{call_text(call)}: {_result(call)}"} for call in calls]
        turns.append({"role": role_of(message.get("role"), options), "text": content_text(message.get("content"))})
    return build(
        options,
        id=text(data.get("task")),
        turns=turns,
        started_at=((options.at or _NOMINAL) + timedelta(minutes=line - 1)).isoformat(),
        customer=options.customer or "state_bench",
        metadata={"time": "nominal"},
    )


def _result(call: Mapping[str, Any]) -> str:
    result = call.get("result")
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, sort_keys=True)
