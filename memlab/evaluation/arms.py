"""The arms of the question "transcripts or skills?": ways to fill a context of so many tokens for a query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memlab.bank import Bank
from memlab.context import MOST_ORDERED, episode_block, ordered_skill
from memlab.episodes import Episode
from memlab.errors import InputError
from memlab.evaluation.baselines import Retriever
from memlab.evaluation.queries import Query
from memlab.extraction.triage import own_words
from memlab.models.tokens import count_tokens
from memlab.recalling import recall, search_episodes
from memlab.records import Conversation, content_hash
from memlab.rendering import parse_causes, render_skill

__all__ = ["Arm", "BuiltContext", "memory_arms", "shuffled_order", "transcript_arm"]

_SENTENCE = re.compile(r"[^\n]+?(?:[.!?](?=\s|$)|(?=\n|$))")


@dataclass(frozen=True, slots=True)
class BuiltContext:
    """A context for an agent: its text, and what it says as statements in order, each with the tokens up to its end."""

    text: str
    statements: tuple[tuple[str, int], ...]

    @property
    def tokens(self) -> int:
        """Tokens of the text."""
        return count_tokens(self.text)


Arm = Callable[[Query, int], BuiltContext]
"""From a query and a budget in tokens to a context that does not exceed it."""


def transcript_arm(retriever: Retriever, conversations: Iterable[Conversation]) -> Arm:
    """Whole transcripts in the order of a retriever, cut at the last turn that fits (the first one at a word)."""
    by_id = {c.id: c for c in conversations}

    def build(query: Query, budget: int) -> BuiltContext:
        lines: list[str] = []
        room = budget
        for conversation, _ in retriever.rank(query):
            for line in _transcript(by_id[conversation]):
                cost = count_tokens(line)
                if cost > room:
                    return _of_lines(lines or [_cut(line, room)])
                lines.append(line)
                room -= cost
        return _of_lines(lines)

    return build


def _transcript(conversation: Conversation) -> list[str]:
    texts = [(t.role, " ".join(own_words(t.text).split())) for t in conversation.turns]
    return [f"{role}: {text}" for role, text in texts if text]


def _cut(line: str, room: int) -> str:
    words = line.split(" ")
    while words and count_tokens(" ".join(words)) > room:
        words.pop()
    return " ".join(words)


def _of_lines(lines: Sequence[str]) -> BuiltContext:
    statements, read = [], 0
    for line in lines:
        before, read = read, read + count_tokens(line)
        said = line.partition(": ")[2] or line
        for sentence in _SENTENCE.findall(said):
            before += count_tokens(sentence)
            if re.search(r"\w", sentence):
                statements.append((sentence.strip(), min(before, read)))
    return BuiltContext("\n".join(lines), tuple(statements))


def memory_arms(banks: Mapping[str, Bank], *, seed: int, least: float | None = None) -> dict[str, Arm]:
    """What memory can put into a context, by name.

    "skill" comes by weight; "skill for the query" has the causes in front that recall found; "skill and episodes" gives
    60 % of the budget to it and the rest to the cases most like the query. The controls: "skill, shuffled" (weights
    dealt out anew) and "skill, other topic" (another category's skill, as long).

    Parameters
    ----------
    banks : mapping of customer to Bank
    seed : int
        Of the shuffle.
    least : float, optional
        As for `recall`; by default the trained threshold.
    """
    known: dict[str, list[str]] = {}

    def found(query: Query) -> list[str]:
        if query.id not in known:
            hits = recall(banks[query.customer], query.query, category=query.category, k=MOST_ORDERED, least=least)
            known[query.id] = [h.id for h in hits]
        return known[query.id]

    def skill(query: Query, budget: int) -> BuiltContext:
        return _skill(banks[query.customer], query.category, budget, [])

    def shuffled(query: Query, budget: int) -> BuiltContext:
        bank = banks[query.customer]
        return _skill(bank, query.category, budget, shuffled_order(bank, query, seed=seed))

    def ordered(query: Query, budget: int) -> BuiltContext:
        return _skill(banks[query.customer], query.category, budget, found(query), lean=True)

    def with_episodes(query: Query, budget: int) -> BuiltContext:
        bank = banks[query.customer]
        first = _skill(bank, query.category, max(int(0.6 * budget), LEAST_SKILL), found(query), lean=True)
        hits = search_episodes(bank, query.query, category=query.category, k=5)
        return _add_episodes(first, [h.episode for h in hits], budget)

    def other_topic(query: Query, budget: int) -> BuiltContext:
        bank = banks[query.customer]
        others = [c for c in bank.categories() if c != query.category]
        pick = int(content_hash(query.id), 16) % max(1, len(others))
        return _skill(bank, others[pick] if others else query.category, budget, [])

    return {
        "skill": skill,
        "skill for the query": ordered,
        "skill and episodes": with_episodes,
        "skill, shuffled": shuffled,
        "skill, other topic": other_topic,
    }


LEAST_SKILL = 120  # tokens below which a skill's frame leaves no room for an entry


def shuffled_order(bank: Bank, query: Query, *, seed: int) -> list[str]:
    """The causes of a query's category in an order drawn from the seed and the category."""
    causes = sorted(e.id for e in bank.graph(str(query.category)).of_kind("cause"))
    rng = np.random.default_rng([seed, int(content_hash([query.customer, query.category]), 16)])
    return [causes[n] for n in rng.permutation(len(causes))]


def _skill(bank: Bank, category: str | None, budget: int, first: Sequence[str], *, lean: bool = False) -> BuiltContext:
    if category is None:
        raise InputError("a skill is of one category; the query names none")
    graph = bank.graph(category)
    text = (
        ordered_skill(graph, budget=budget, first=first)
        if lean
        else render_skill(graph, budget=budget, first=first, lean=True)
    )
    return BuiltContext(text, _statements(text))


def _statements(text: str) -> tuple[tuple[str, int], ...]:
    """What a skill says: the texts of its causes, fixes and workarounds."""
    out, read = [], 0
    for line in text.split("\n"):
        read += count_tokens(line)
        causes = parse_causes(line) or parse_causes(f"1. x | y\n{line}")
        for cause in causes:
            told = [cause["cause"]] if cause["cause"] != "x" else []
            told += [t for kind in ("fix", "workaround") for t in cause.get(kind, ())]
            out += [(t, read) for t in told]
    return tuple(out)


def _add_episodes(context: BuiltContext, episodes: Sequence[Episode], budget: int) -> BuiltContext:
    text, statements, read = context.text, list(context.statements), context.tokens
    for episode in episodes:
        block = episode_block(episode)
        cost = count_tokens(block)
        if read + cost > budget:
            continue
        text, read = f"{text}\n{block}", read + cost
        told = [episode.root_cause, episode.solution]
        statements += [(item.text, read) for item in told if item]
        statements += [(step.action, read) for step in episode.steps if step.outcome in ("worked", "partial")]
    return BuiltContext(text, tuple(statements))
