"""Generated memory for speed measurements: nothing measured on it says how well anything reads or recalls."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

import numpy as np

from memlab.bank import Bank
from memlab.bank.store import order_key
from memlab.bank.texts import texts_of
from memlab.corpus.generator import generate
from memlab.graph import SkillGraph, fold
from memlab.operations import Operation
from memlab.records import Conversation, Evidence, Proposal, content_hash

SEED = 20260930


class FakeEncoder:
    """384 numbers drawn from a text's hash: as long to multiply as real ones, and nothing to encode."""

    name = "fake-384"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([self._one(t) for t in texts], np.float32).reshape(len(texts), 384)

    def _one(self, text: str) -> np.ndarray:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        vector = np.random.default_rng(seed).standard_normal(384)
        return vector / np.linalg.norm(vector)


def cases(count: int, *, customers: int = 1, causes: int = 40) -> Iterable[tuple[Conversation, dict[str, Any]]]:
    return generate(count, seed=SEED, customers=customers, causes=causes)


def proposal_of(label: dict[str, Any]) -> Proposal:
    """The label as the proposal of an extractor that makes no mistake."""
    return Proposal.from_json({**label, "solution": _solution(label), "facts": []})


def _solution(label: dict[str, Any]) -> dict[str, Any] | None:
    return {**label["solution"], "kind": label["solution_kind"]} if label["solution"] else None


def generated_graph(count: int) -> SkillGraph:
    """The skill graph of `count` conversations about one topic, folded from operations without a curator."""
    made = operations(cases(count, causes=60), category="teams")
    return fold((op for _, _, op in made), customer="speed", category="teams")


def operations(
    items: Iterable[tuple[Conversation, dict[str, Any]]], *, category: str
) -> Iterator[tuple[Conversation, int, Operation]]:
    """What a curator would do that knows which wordings are the same: they have the same gold id."""
    known: set[str] = set()
    for c, label in items:
        evidence = Evidence(c.id, c.started_at.astimezone(UTC), "confirmed", c.requester)
        before, kinds = "", (("symptom", label["symptoms"][0]), ("cause", label["root_cause"]))
        for step, (kind, item) in enumerate([*kinds, ("solution", label["solution"])]):
            if item is None:
                continue
            entry = content_hash([category, kind, item["id"]])
            yield (
                c,
                step,
                Operation(
                    op="reinforce" if entry in known else "add",
                    kind=kind,
                    entry=entry,
                    text=item["text"],
                    evidence=evidence,
                    links=((before, entry),) if before else (),
                    turn=item["turn"],
                    quote=item["quote"],
                    reason="generated",
                ),
            )
            known.add(entry)
            before = entry


def generated_bank(home: Path, count: int, *, batch: int = 5000) -> Bank:
    """A bank of `count` conversations of one customer over six topics, written without reading or curating them."""
    encoder, bank = FakeEncoder(), Bank.open(home, "customer-000")
    by_category: dict[str, list[tuple[Conversation, dict[str, Any]]]] = {}
    part: list[tuple[Conversation, dict[str, Any]]] = []
    for item in itertools.chain(cases(count), [None]):
        if item is not None:
            part.append(item)
            by_category.setdefault(str(item[0].category), []).append(item)
        if len(part) == batch or item is None:
            with bank.transaction():
                for c, label in part:
                    proposal = proposal_of(label)
                    texts = texts_of(c, [proposal])
                    vectors = dict(zip(texts, encoder.encode(texts), strict=True))
                    bank.put(c, [proposal], extractor="told", texts=texts, vectors=vectors)
            part = []
    for category, items in sorted(by_category.items()):
        rows = [
            (category, order_key(c), c.id, 0, step, op.op, op.dumps())
            for c, step, op in operations(items, category=category)
        ]
        with bank.transaction():
            bank.replace_operations(category, "", rows)
    return bank
