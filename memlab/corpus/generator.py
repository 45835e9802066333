"""Conversations by the million, **for speed only**: to measure throughput, memory and size, never quality.

The texts are templates, so nothing that is measured on them says how well anything reads, learns or recalls; each is
marked ``metadata["for"] = "speed only"``. What they do have is known ground truth, and the shape that costs: customers,
categories, a long tail of causes, times, identifiers that differ, failed attempts before the one that worked.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from random import Random
from typing import Any, Literal

from memlab.errors import InputError
from memlab.records import Conversation, Turn

__all__ = ["generate"]

_CATEGORIES = ("teams", "outlook", "vpn", "printing", "onedrive", "windows-performance")
_PARTS = (
    ("audio device", "sign-in cache", "client", "calendar add-in", "call policy", "network profile"),
    ("profile", "search index", "password prompt", "shared mailbox", "add-in", "rules"),
    ("certificate", "gateway", "adapter", "split tunnel", "authenticator", "client profile"),
    ("spooler", "driver", "queue", "badge reader", "paper tray", "port"),
    ("sync client", "folder redirection", "file lock", "quota", "account link", "path length"),
    ("antivirus scan", "power plan", "startup item", "disk", "update service", "memory"),
)
_FAULTS = (
    "is corrupt",
    "is out of date",
    "was disabled by a policy",
    "points to a retired server",
    "was renamed",
    "is full",
)
_EFFECTS = (
    "stops with error {code}",
    "hangs at {n} percent",
    "shows code {code} and closes",
    "works once and then fails",
)
_FIXES = ("reset", "replace", "renew", "re-register", "reinstall", "reassign")
_TRIES = ("restart the computer", "sign out and in again", "clear the cache", "update the driver", "change the network")
_OPENINGS = (
    "{part} {effect} since {day}, ticket {ref}",
    "hi, {day} my {part} {effect}. ref {ref}",
    "since {day} {part} {effect} ({ref}), please help",
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_START = datetime(2024, 1, 1, tzinfo=UTC)


def generate(
    n: int,
    *,
    seed: int,
    customers: int = 3,
    causes: int = 40,
    start: int = 0,
    every: timedelta = timedelta(minutes=7),
) -> Iterator[tuple[Conversation, dict[str, Any]]]:
    """Conversations with their labels, **for speed only**, in the order of their times and at constant memory.

    Conversation number i depends on `seed`, `customers`, `causes` and i alone: the same whoever makes it, so workers
    can make a part each (`start`), and a longer run begins with the shorter one.

    Parameters
    ----------
    n : int
        How many, ≥ 0.
    seed : int
        Another seed gives other conversations.
    customers : int
        How many customers they are spread over, ≥ 1.
    causes : int
        Root causes of each customer in each category, ≥ 1; the k-th is as frequent as 1/k.
    start : int
        The number of the first, ≥ 0.
    every : timedelta
        Time between one and the next.

    Yields
    ------
    Conversation, dict
        The conversation, and an object of `labels.jsonl`.

    Raises
    ------
    InputError
        If a number is out of range.

    >>> [c.id for c, _ in generate(2, seed=1)]
    ['speed-1-00000000', 'speed-1-00000001']
    """
    if n < 0 or start < 0 or customers < 1 or causes < 1:
        raise InputError(f"n={n} and start={start} must be ≥ 0, customers={customers} and causes={causes} ≥ 1")
    for number in range(start, start + n):
        yield _one(number, seed, customers, causes, _START + number * every)


def _one(number: int, seed: int, customers: int, causes: int, at: datetime) -> tuple[Conversation, dict[str, Any]]:
    random = Random(f"{seed}/{number}")  # noqa: S311 - reproducible texts, no secrets
    customer, category = random.randrange(customers), random.randrange(len(_CATEGORIES))
    cause = bisect.bisect(_shares(causes), random.random())
    truth = _truth(seed, customer, category, min(cause, causes - 1))
    tries = random.sample(_TRIES, random.randrange(3))
    solved = random.random() < 0.8
    said = _OPENINGS[random.randrange(len(_OPENINGS))].format(
        part=truth["part"], effect=truth["effect"], day=_DAYS[at.weekday()], ref=f"SR{random.randrange(10**6):06d}"
    )
    turns = [("user", said)]
    for action in tries:
        turns += [("agent", f"Please {action}."), ("user", f"I did {action}, no change.")]
    turns.append(("agent", f"The cause: {truth['cause']}. Please {truth['fix']}."))
    turns.append(
        ("user", f"I did {truth['fix']} and it works now, thanks." if solved else "I have to leave, maybe later.")
    )
    conversation = Conversation(
        id=f"speed-{seed}-{number:08d}",
        customer=f"customer-{customer:03d}",
        category=_CATEGORIES[category],
        started_at=at,
        requester=f"user-{random.randrange(500):03d}",
        turns=tuple(Turn(_role(r), t, at + timedelta(seconds=40 * k)) for k, (r, t) in enumerate(turns)),
        metadata={"for": "speed only", "seed": seed},
    )
    return conversation, _label(conversation, truth, tries, solved)


def _role(name: str) -> Literal["user", "agent"]:
    return "user" if name == "user" else "agent"


@lru_cache(maxsize=64)
def _shares(causes: int) -> list[float]:
    """Cumulative shares of a harmonic tail, from 0 to 1."""
    weights = [1 / k for k in range(1, causes + 1)]
    return [share / sum(weights) for share in itertools.accumulate(weights)]


@lru_cache(maxsize=4096)
def _truth(seed: int, customer: int, category: int, cause: int) -> dict[str, str]:
    random = Random(f"{seed}/{customer}/{category}/{cause}")  # noqa: S311 - reproducible texts, no secrets
    part = f"{_CATEGORIES[category]} {_PARTS[category][cause % 6]}"
    code = f"0x{random.randrange(16**4):04X}{cause:04X}"
    fault = _FAULTS[random.randrange(6)]
    return {
        "id": f"speed-{customer:03d}-{_CATEGORIES[category]}-{cause:03d}",
        "part": part,
        "effect": _EFFECTS[random.randrange(4)].format(code=code, n=random.randrange(5, 95)),
        "cause": f"{part} no. {cause} {fault}",
        "fix": f"{_FIXES[random.randrange(6)]} the {part} no. {cause}",
    }


def _label(c: Conversation, truth: dict[str, str], tries: list[str], solved: bool) -> dict[str, Any]:
    last = len(c.turns) - 1

    def entry(kind: str, text: str, turn: int) -> dict[str, Any]:
        return {"id": f"{truth['id']}-{kind}", "text": text, "turn": turn, "quote": text}

    attempts = [
        {"action": a, "outcome": "failed", "by": "user", "turn": 2 * k + 2, "quote": f"I did {a}, no change"}
        for k, a in enumerate(tries)
    ]
    if solved:
        worked = f"I did {truth['fix']} and it works now"
        attempts.append({"action": truth["fix"], "outcome": "worked", "by": "user", "turn": last, "quote": worked})
    return {
        "conversation": c.id,
        "case": 0,
        "category": c.category,
        "low_value": False,
        "symptoms": [entry("s1", f"{truth['part']} {truth['effect']}", 0) | {"quote": truth["effect"]}],
        "root_cause": entry("c", truth["cause"], last - 1),
        "attempts": attempts,
        "solution": entry("x", truth["fix"], last) if solved else None,
        "solution_kind": "fix" if solved else None,
        "resolution": "confirmed" if solved else "abandoned",
        "profile": [],
        "facts": [],
        "phenomena": [] if solved else ["user_leaves"],
    }
