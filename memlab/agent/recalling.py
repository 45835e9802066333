"""Recall from a customer's own history: which steps and problems fit what is said now, how well, and why."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memlab.agent.records import Memory
from memlab.agent.replies import Recalled
from memlab.curation.guards import conflict, stems
from memlab.decay import DAY, age_factor

__all__ = ["LEAST", "MOST", "Group", "groups_of", "recalled"]

MOST = 5  # memories recalled for one message
# Chosen on training queries against histories of six problems: half of the right steps pass, 3 of 100 wrong ones do.
LEAST = 0.3  # a lower score is no match
MEANING = 0.7  # of the score; the rest are rare words in common
RECENT = 0.06  # of the score that age can take away
LOOKED_AT = 40  # best attempts that are compared with each other
Same = Callable[[str, str], bool]


@dataclass(frozen=True, slots=True)
class Group:
    """One step as it was tried against alike problems, over time.

    Attributes
    ----------
    text : str
        Its newest wording.
    tried : tuple of Memory
        Every attempt, by when its outcome was told.
    """

    text: str
    tried: tuple[Memory, ...]

    @property
    def latest(self) -> Memory:
        """The attempt whose outcome is known last; without any, the newest."""
        known = [m for m in self.tried if m.outcome != "unknown"]
        return (known or list(self.tried))[-1]

    @property
    def contradicted(self) -> bool:
        """Whether it worked once and failed later."""
        return self.latest.outcome == "failed" and any(m.outcome == "worked" for m in self.tried)

    @property
    def note(self) -> str:
        """Its history where the outcomes differ, such as ``worked 2026-03-02, failed 2026-06-11``."""
        known = [(m.outcome, m.last.date().isoformat()) for m in self.tried if m.outcome != "unknown"]
        return ", ".join(f"{o} {d}" for o, d in known) if len({o for o, _ in known}) > 1 else ""


def recalled(
    query: str,
    memories: Sequence[Memory],
    similar: Mapping[str, float],
    *,
    same: Same,
    at: datetime,
    most: int = MOST,
    least: float = LEAST,
) -> tuple[Recalled, ...]:
    """What fits the query, best first; a resolved problem is never listed, only what was tried against it.

    Parameters
    ----------
    query : str
        What the customer says.
    memories : sequence of Memory
        All that is remembered of this customer.
    similar : mapping of id to similarity
        How close each memory is in meaning, in [0, 1], as the store says; what is missing counts 0.
    same : callable
        Whether two wordings are one step, to see that one was tried twice.
    at : datetime
        The moment; age takes a little of the score.
    most, least : int, float
        The most memories, and the least score.
    """
    by_id, words = {m.id: m for m in memories}, Words(memories)
    fits = {m.id: _fit(query, m, by_id, similar, words, at) for m in memories if m.kind == "attempt"}
    fitting = sorted((f for f in fits.values() if f.score >= least), key=lambda f: (-f.score, f.memory.id))
    found = []
    for group in groups_of([f.memory for f in fitting[:LOOKED_AT]], same):
        hit = max((fits[m.id] for m in group.tried), key=lambda f: (f.score, f.memory.last, f.memory.id))
        found.append(_attempt(hit, group))
    tried = {m.incident for m in memories}
    for m in memories:
        if m.kind == "incident" and m.outcome != "worked" and m.id not in tried:
            hit = _fit(query, m, by_id, similar, words, at)
            if hit.score >= least:
                found.append(_incident(hit))
    return tuple(sorted(found, key=lambda r: (-r.score, -r.at.timestamp(), r.memory))[:most])


def groups_of(memories: Sequence[Memory], same: Same) -> list[Group]:
    """Attempts sorted by step: one that was tried twice, in the same words or in the same meaning, is one group."""
    groups: list[list[Memory]] = []
    for m in sorted(memories, key=lambda m: (m.last, m.id)):
        known = next((g for g in groups if any(same(m.text, o.text) for o in g)), None)
        if known is None:
            groups.append([m])
        else:
            known.append(m)
    return [Group(g[-1].text, tuple(g)) for g in groups]


@dataclass(frozen=True, slots=True)
class _Fit:
    memory: Memory
    symptom: str
    score: float
    meaning: float
    shared: tuple[str, ...]


class Words:
    """How rare each word is in one customer's memories; words that all of them share say nothing.

    Parameters
    ----------
    memories : sequence of Memory
        The customer's incidents and attempts.
    """

    def __init__(self, memories: Sequence[Memory]) -> None:
        texts = [frozenset(stems(m.search_text)) for m in memories if m.kind != "profile"]
        self._count = len(texts)
        self._seen = Counter(w for text in texts for w in text)

    def rarity(self, word: str) -> float:
        """Near 0 for a word of every memory, largest for one that no memory has."""
        return math.log((self._count + 1) / (self._seen[word] + 0.5))

    def shared(self, query: str, text: str) -> tuple[float, tuple[str, ...]]:
        """The share of what query and text say in rare words that they have in common, in [0, 1], and these words."""
        left, right = frozenset(stems(query)), frozenset(stems(text))
        total = math.fsum(max(0.0, self.rarity(w)) for w in left)
        common = sorted(left & right, key=lambda w: (-self.rarity(w), w))
        mass = math.fsum(max(0.0, self.rarity(w)) for w in common)
        return (min(1.0, mass / total) if total > 0 else 0.0), tuple(common)


def _fit(
    query: str, m: Memory, by_id: Mapping[str, Memory], similar: Mapping[str, float], words: Words, at: datetime
) -> _Fit:
    incident = by_id.get(m.incident or "")
    symptoms = m.symptoms or (incident.symptoms if incident else ()) or ((m.text,) if m.kind == "incident" else ())
    meaning = max(similar.get(m.id, 0.0), similar.get(incident.id, 0.0) if incident and m.inherited else 0.0)
    apart = [_apart(query, t) for t in symptoms]
    if apart and all(apart):
        return _Fit(m, symptoms[0], 0.0, meaning, ())
    coverage, shared = words.shared(
        query, "; ".join([m.search_text, *([incident.search_text] if incident and m.inherited else [])])
    )
    matching = max(symptoms, key=lambda s: (words.shared(query, s)[0], -symptoms.index(s)), default=m.text)
    age = age_factor((at - m.last).total_seconds() / DAY)
    score = (MEANING * meaning + (1 - MEANING) * coverage) * (1 - RECENT * (1 - age))
    return _Fit(m, matching, round(score, 4), meaning, shared)


def _apart(query: str, text: str) -> str | None:
    """Why the query can't mean this symptom: another error code, product or direction."""
    reason = conflict(query, text)
    return (
        reason
        if reason and reason.startswith(("different identifier", "different product", "different direction"))
        else None
    )


def _attempt(hit: _Fit, group: Group) -> Recalled:
    latest = group.latest
    return Recalled(
        memory=latest.id,
        kind="attempt",
        text=latest.text,
        symptom=hit.symptom,
        score=hit.score,
        outcome=latest.outcome,
        at=latest.last,
        conversation=(latest.verdict or latest.tellings[-1]).conversation,
        reason=_reason(hit),
        proposed=latest.proposed,
        contradicted=group.contradicted,
        note=group.note,
    )


def _incident(hit: _Fit) -> Recalled:
    m = hit.memory
    return Recalled(
        memory=m.id,
        kind="incident",
        text=m.text,
        symptom=hit.symptom,
        score=hit.score,
        outcome=m.outcome,
        at=m.last,
        conversation=m.tellings[-1].conversation,
        reason=_reason(hit),
    )


def _reason(hit: _Fit) -> str:
    words = f", words in common: {', '.join(hit.shared[:4])}" if hit.shared else ", no word in common"
    return f"like “{hit.symptom}” (meaning {hit.meaning:.2f}{words})"
