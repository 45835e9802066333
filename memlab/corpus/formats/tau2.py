"""Reader for τ²-bench (Barres et al. 2025, arXiv:2506.07982): recorded simulations, and tasks as one-turn cases.

A task is no conversation: nobody has spoken yet. It is read as the ticket that opens a case, and what would answer it
(causes, fixing actions, checks) is kept in `metadata["ground_truth"]`, which extraction and retrieval do not read. A
task index without ticket text is skipped. Tasks have no time: each gets a nominal one, a minute after the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memlab.corpus.formats.building import build, convert, mapping, mappings, role_of, text
from memlab.corpus.formats.openai_chat import call_text, content_text
from memlab.corpus.jsonfiles import json_items
from memlab.corpus.reading import Options, Skipped
from memlab.errors import InputError
from memlab.records import Conversation

__all__ = ["read"]

_NOMINAL = datetime(2026, 1, 1, tzinfo=UTC)
_TRUTH = ("causes", "fix_actions", "success", "solvable")


def read(path: Path, options: Options) -> Iterator[Conversation | Skipped]:
    """Simulations (their `messages`) or tasks (their `ticket`) of one customer, `tau2` unless told."""
    items = json_items(path, under=("simulations", "tasks"))
    return convert(path, items, lambda line, data: _conversation(line, data, options))


def _conversation(line: int, data: Mapping[str, Any], options: Options) -> Conversation:
    return _simulation(data, options) if "messages" in data else _task(line, data, options)


def _simulation(data: Mapping[str, Any], options: Options) -> Conversation:
    messages = mappings(data.get("messages"))
    calls = {text(c.get("id")): call_text(c) for m in messages for c in mappings(m.get("tool_calls"))}
    turns = []
    for message in messages:
        said, call = content_text(message.get("content")), calls.get(text(message.get("id")))
        if message.get("role") != "system":
            turns.append(
                {
                    "role": role_of(message.get("role"), options),
                    "text": f"{call}: {said}" if call and message.get("role") == "tool" else said,
                    "at": message.get("timestamp"),
                }
            )
    reward = mapping(data.get("reward_info")).get("reward")
    return build(
        options,
        id=text(data.get("id")),
        turns=turns,
        started_at=data.get("start_time"),
        customer=options.customer or "tau2",
        metadata={"task": data.get("task_id"), "trial": data.get("trial"), "ground_truth": {"reward": reward}},
    )


def _task(line: int, data: Mapping[str, Any], options: Options) -> Conversation:
    ticket = text(data.get("ticket")).strip()
    if not ticket:
        raise InputError("no ticket text: a task index names causes and fixes only, nothing that anybody says")
    return build(
        options,
        id=text(data.get("id")),
        turns=[{"role": "user", "text": ticket}],
        started_at=((options.at or _NOMINAL) + timedelta(minutes=line - 1)).isoformat(),
        customer=options.customer or "tau2",
        category=text(data.get("intent")),
        metadata={
            "time": "nominal",
            "split": data.get("split"),
            "ground_truth": {k: data[k] for k in _TRUTH if k in data},
        },
    )
