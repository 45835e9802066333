"""Small parts for tests: conversations and proposals in one line, a scripted extractor, a tiny encoder without a model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from memlab.curation.curator import Choice
from memlab.records import Attempt, Conversation, Mention, Proposal, Solution, Turn

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def conv(
    id: str,
    at: str | float = 0.0,
    turns: Iterable[tuple[str, str]] = (("user", "it is broken"), ("agent", "try this"), ("user", "works, thanks")),
    *,
    customer: str = "acme",
    category: str | None = "vpn",
    requester: str | None = None,
    **metadata: object,
) -> Conversation:
    """A conversation; `at` is ISO text, or days after 2026-03-02T09:00Z."""
    when = datetime.fromisoformat(at) if isinstance(at, str) else START + timedelta(days=at)
    said = tuple(Turn(role, text) for role, text in turns)
    return Conversation(id, customer, when, said, category, requester, metadata)


def prop(
    symptom: str | Sequence[str] | None = None,
    cause: str | None = None,
    solution: str | None = None,
    outcome: str = "confirmed",
    quote: str = "it is broken",
    *,
    failed: Sequence[str] = (),
    kind: str = "fix",
    category: str | None = None,
    case: int = 0,
    conversation: str = "",
    turn: int = 0,
) -> Proposal:
    """A proposal; its conversation is filled in by the scripted extractor."""
    symptoms = [symptom] if isinstance(symptom, str) else list(symptom or ())
    return Proposal(
        conversation=conversation,
        case=case,
        category=category,
        symptoms=tuple(Mention(s, turn, quote) for s in symptoms),
        root_cause=Mention(cause, turn, quote) if cause else None,
        attempts=tuple(Attempt(a, "failed", "user", turn, quote) for a in failed),
        solution=Solution(solution, turn, quote, kind) if solution else None,
        resolution=outcome,
    )


class Scripted:
    """An extractor that says what it was told to say about each conversation, by id or by (id, number of turns)."""

    def __init__(
        self,
        script: Mapping[object, Proposal | Sequence[Proposal] | Exception],
        *,
        name: str = "scripted-1",
        before: Callable[[Conversation], None] | None = None,
    ) -> None:
        self.script, self.name, self.before = script, name, before
        self.calls: list[str] = []

    def extract(self, conversation: Conversation) -> Sequence[Proposal]:
        from dataclasses import replace

        self.calls.append(conversation.id)
        if self.before:
            self.before(conversation)
        key = (conversation.id, len(conversation.turns))
        found = self.script.get(key, self.script.get(conversation.id, ()))
        if isinstance(found, Exception):
            raise found
        found = [found] if isinstance(found, Proposal) else found
        return [replace(p, conversation=p.conversation or conversation.id) for p in found]


class HashEncoder:
    """A bag of hashed words and trigrams: similar wordings get similar unit vectors, in 64 numbers, in microseconds."""

    def __init__(self, name: str = "hash-1", dimension: int = 64) -> None:
        self.name, self.dimension = name, dimension
        self.encoded: list[str] = []

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.encoded += texts
        return np.array([self._one(t) for t in texts], np.float32).reshape(len(texts), self.dimension)

    def _one(self, text: str) -> np.ndarray:
        vector = np.full(self.dimension, 1e-3)
        for word in re.findall(r"\w+", text.casefold()):
            seed = int.from_bytes(hashlib.sha256(f"{self.name} {word}".encode()).digest()[:8], "big")
            vector += np.random.default_rng(seed).standard_normal(self.dimension)
        return vector / np.linalg.norm(vector)


class ScriptedCurator:
    """A curator that answers with the next of its answers, or always with the same function of what it is shown."""

    name = "scripted-curator"

    def __init__(self, answer: Callable[[str, str, Sequence[object]], Choice]) -> None:
        self.answer = answer
        self.shown: list[tuple[str, str, list[str]]] = []

    def choose(self, kind: str, text: str, candidates: Sequence[object]) -> Choice:
        self.shown.append((kind, text, [c.entry for c in candidates]))
        return self.answer(kind, text, candidates)
