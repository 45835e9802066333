"""What any extractor must beat, and the best and worst that the measure allows: trivial, oracle, random proposals."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from memlab.curation.keys import words
from memlab.errors import InputError
from memlab.records import Attempt, Conversation, Mention, Proposal, Proposals, Solution

__all__ = ["oracle_proposals", "random_proposals", "reference_proposals", "trivial_proposals"]

_SENTENCE = re.compile(r"[^\n]+?(?:[.!?](?=\s|$)|(?=\n|$))")


def trivial_proposals(conversations: Iterable[Conversation], labels: Sequence[Mapping[str, Any]]) -> Proposals:
    """Answers that need no reading: one issue a chat, always confirmed, always the usual cause and fix of its category.

    Symptom: the first sentence of three words or more that the user says. Root cause and solution: the most frequent
    ones of the category in `labels` (of all labels where the category is unknown), as a "fix". Resolution:
    "confirmed". Low value: never. Attempts: none.

    Parameters
    ----------
    conversations : iterable of Conversation
        What to answer for.
    labels : sequence of mappings
        Where the frequencies are counted. With the labels that are scored the baseline is as strong as it can be;
        with training labels it is fair.
    """
    usual = {name: _usual(labels, name) for name in ("root_cause", "solution")}
    names = [label["category"] for label in labels if label["category"]]
    return Proposals(_trivial(c, usual, _most_frequent(names)) for c in conversations)


def _trivial(
    conversation: Conversation, usual: Mapping[str, Mapping[str | None, str]], category: str | None
) -> Proposal:
    turn, sentence = first_sentence(conversation)
    cause, solution = (
        usual[name].get(conversation.category, usual[name].get(None)) for name in ("root_cause", "solution")
    )
    return Proposal(
        conversation=conversation.id,
        category=conversation.category or category,
        symptoms=(Mention(sentence, turn, sentence),) if sentence else (),
        root_cause=Mention(cause, turn, sentence) if cause else None,
        solution=Solution(solution, turn, sentence, "fix") if solution else None,
        resolution="confirmed",
    )


def first_sentence(conversation: Conversation) -> tuple[int, str]:
    """The user's first sentence of three words or more (else the first of all), and its turn; "" without any."""
    found = [
        (n, sentence.strip())
        for n, turn in enumerate(conversation.turns)
        if turn.role == "user"
        for sentence in _SENTENCE.findall(turn.text)
        if words(sentence)
    ]
    long = [item for item in found if len(words(item[1])) >= 3]
    return (long or found or [(0, "")])[0]


def _usual(labels: Sequence[Mapping[str, Any]], name: str) -> dict[str | None, str]:
    """The most frequent text of a field by category; under None, of all categories."""
    seen: dict[str | None, list[str]] = defaultdict(list)
    for label in labels:
        if label[name]:
            for key in {label["category"], None}:
                seen[key].append(label[name]["text"])
    return {key: text for key, found in seen.items() if (text := _most_frequent(found))}


def _most_frequent(values: Iterable[str]) -> str | None:
    counts = Counter(values)
    return min(counts, key=lambda v: (-counts[v], v)) if counts else None


def oracle_proposals(labels: Iterable[Mapping[str, Any]]) -> Proposals:
    """The gold labels as proposals: the best score there is (1 everywhere, or the measure is broken)."""
    return Proposals(_from_label(label) for label in labels)


def _from_label(label: Mapping[str, Any]) -> Proposal:
    cause, solution = label["root_cause"], label["solution"]
    return Proposal(
        conversation=label["conversation"],
        case=label["case"],
        category=label["category"],
        low_value=label["low_value"],
        symptoms=tuple(_mention(s) for s in label["symptoms"]),
        root_cause=_mention(cause) if cause else None,
        attempts=tuple(
            Attempt(a["action"], a["outcome"], a.get("by", "user"), a.get("turn", 0), a.get("quote", ""))
            for a in label["attempts"]
        ),
        solution=Solution(solution["text"], solution.get("turn", 0), solution.get("quote", ""), label["solution_kind"])
        if solution
        else None,
        resolution=label["resolution"],
    )


def _mention(value: Mapping[str, Any]) -> Mention:
    return Mention(value["text"], value.get("turn", 0), value.get("quote", ""))


def random_proposals(labels: Iterable[Mapping[str, Any]], *, seed: int) -> Proposals:
    """For every conversation the gold items of another one, drawn at random: what chance looks like on this corpus.

    Raises
    ------
    InputError
        If there are fewer than two conversations.
    """
    gold: dict[str, list[Proposal]] = defaultdict(list)
    for p in oracle_proposals(labels):
        gold[p.conversation].append(p)
    names, rng = sorted(gold), np.random.default_rng(seed)
    if len(names) < 2:
        raise InputError(f"random proposals need at least two labelled conversations, not {len(names)}")
    others = [(n + 1 + int(rng.integers(len(names) - 1))) % len(names) for n in range(len(names))]
    return Proposals(
        dataclasses.replace(p, conversation=name)
        for name, other in zip(names, others, strict=True)
        for p in gold[names[other]]
    )


def reference_proposals(
    conversations: Iterable[Conversation],
    labels: Sequence[Mapping[str, Any]],
    *,
    seed: int,
    training: Sequence[Mapping[str, Any]] | None = None,
) -> dict[str, Proposals]:
    """The rows that belong beside every extractor: "oracle", "trivial" and "random", for the labelled conversations.

    Parameters
    ----------
    conversations, labels
        What is scored; conversations without a label are left out.
    seed : int
        Of the random row.
    training : sequence of mappings, optional
        Labels to count the usual cause and fix in; by default those that are scored.
    """
    labelled = {label["conversation"] for label in labels}
    scored = [c for c in conversations if c.id in labelled]
    return {
        "oracle": oracle_proposals(labels),
        "trivial": trivial_proposals(scored, labels if training is None else training),
        "random": random_proposals(labels, seed=seed),
    }
