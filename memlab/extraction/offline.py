"""The offline extractor: what the reader model says of each clause becomes proposals, by rules that fit on one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import regex

from memlab.extraction.categories import Categories
from memlab.extraction.clauses import Clause
from memlab.extraction.features import CUES
from memlab.extraction.phrases import phrase
from memlab.extraction.reader import OUTCOMES, RESOLUTIONS, Reading, read, weights_version
from memlab.extraction.titles import title
from memlab.extraction.triage import Triage, triage
from memlab.models.embeddings import Encoder, default_encoder
from memlab.records import Attempt, Conversation, Mention, Proposal, Resolution, Solution, SolutionKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OfflineExtractor", "confidences", "proposals_of"]

RULES = 6  # the version of this page
# The least score of a clause for each field, chosen on the dev split.
THRESHOLDS = {"symptom": 0.5, "attempt": 0.35, "fact": 0.4, "cause": 0.1, "solved": 0.5, "second": 0.5}
WORKAROUND = 0.5  # the probability from which a solution counts as a workaround
# How much it counts that the phrase made of the clause says what people would write; the rest is the field's own word.
NAMED = {"symptom": 0.3, "cause": 0.5, "solution": 0.3, "attempt": 0.5}
WORKED = 0.8  # what a clause gains as the solution if it names an attempt that worked
MOST_SYMPTOMS = 3
PERHAPS = 0.1  # the least score of an issue's only symptom
PLAINLY_DONE = 0.5  # the probability of an attempt from which a clause is no complaint
SAME = 0.9  # of two phrases of one field that share so many of the shorter one's words, the likelier is taken


class OfflineExtractor:
    """Reads with a small model that ships with memlab: no key, no network, no memory.

    Parameters
    ----------
    encoder : Encoder, optional
        Sentence vectors; by default all-MiniLM-L6-v2, which the model was trained on.
    categories : Categories, optional
        A user's own, told from examples, instead of the six that the model was trained on.
    """

    def __init__(self, encoder: Encoder | None = None, *, categories: Categories | None = None) -> None:
        self._encoder, self._categories = encoder, categories

    @property
    def name(self) -> str:
        """Changes with the rules and with the weights, so that other proposals are never taken for these."""
        own = f"-{self._categories.version}" if self._categories else ""
        return f"offline-{RULES}-{weights_version()}{own}"

    def _triage(self, conversation: Conversation) -> Triage:
        return triage(conversation, self.encoder, categories=self._categories)

    @staticmethod
    def _idle(conversation: Conversation, verdict: Triage) -> bool:
        """Whether there is nothing to learn from it: of low value, or told by memory itself."""
        return verdict.low_value or bool(conversation.metadata.get("derived_from"))

    @property
    def encoder(self) -> Encoder:
        """Who makes the sentence vectors."""
        return self._encoder or default_encoder()

    def extract(self, conversation: Conversation) -> Sequence[Proposal]:
        """One proposal an issue; a single empty one, marked, if there is nothing to learn.

        Raises
        ------
        ModelError
            If a model can't be loaded or run.
        """
        verdict = self._triage(conversation)
        if self._idle(conversation, verdict):
            return [Proposal(conversation.id, 0, verdict.category, low_value=True, resolution="abandoned")]
        return proposals_of(conversation, read(conversation), verdict)


def proposals_of(conversation: Conversation, reading: Reading, verdict: Triage) -> list[Proposal]:
    """Sort the clauses by issue and make a proposal of each."""
    everything = np.arange(len(reading.clauses))
    later = reading.fields["second"] >= THRESHOLDS["second"]
    second = everything[later]
    # A second issue needs a symptom of its own, and something that was found or done about it.
    own = any(reading.fields["symptom"][n] >= THRESHOLDS["symptom"] for n in second)
    done = any(reading.fields["attempt"][n] >= THRESHOLDS["attempt"] for n in second)
    groups = [everything[~later], second] if own and done and not later.all() else [everything]
    return [_Issue(conversation, group.tolist(), reading, verdict).proposal(n) for n, group in enumerate(groups)]


@dataclass(frozen=True, slots=True)
class _Issue:
    """The clauses of one issue, to be made into a proposal."""

    conversation: Conversation
    group: Sequence[int]
    reading: Reading
    verdict: Triage

    def proposal(self, case: int) -> Proposal:
        reading = self.reading
        found = self._titled("solution") if reading.solved >= THRESHOLDS["solved"] else None
        kind: SolutionKind = "workaround" if reading.kind["workaround"] >= WORKAROUND else "fix"
        return Proposal(
            conversation=self.conversation.id,
            case=case,
            category=self.verdict.category,
            symptoms=self._phrased("symptom", MOST_SYMPTOMS) or self._complaint(),
            root_cause=self._titled("cause"),
            attempts=self._attempts(),
            solution=Solution(found.text, found.turn, found.quote, kind) if found else None,
            resolution=_resolution(reading),
            facts=self._phrased("fact", 8),
        )

    def _titled(self, field: str) -> Mention | None:
        """The field's title with the clause that says it best, if one is likely enough."""
        p = _scores(self.reading, field)
        best = max(self.group, key=lambda n: (p[n], n), default=None)
        if best is None or p[best] < THRESHOLDS.get(field, 0.0):
            return None
        clauses = [self.reading.clauses[n] for n in self.group]
        logits = np.log(np.clip(p[self.group], 1e-4, None)).tolist()
        clause = self.reading.clauses[best]
        return Mention(title(self.conversation, clauses, logits, self.verdict.category), clause.turn, clause.text)

    def _phrased(self, field: str, most: int) -> tuple[Mention, ...]:
        """The most probable clauses above the threshold, in order, none saying the same as a more probable one."""
        p, taken = _scores(self.reading, field), dict[int, Mention]()
        for n in sorted((n for n in self.group if p[n] >= THRESHOLDS[field]), key=lambda n: (-p[n], n)):
            mention = self._mention(field, n)
            if len(taken) < most and not any(_same(mention.text, m.text) for m in taken.values()):
                taken[n] = mention
        return tuple(taken[n] for n in sorted(taken))

    def _mention(self, field: str, n: int) -> Mention:
        clause = self.reading.clauses[n]
        return Mention(phrase(self.conversation, clause, field, self.verdict.category), clause.turn, clause.text)

    def _complaint(self) -> tuple[Mention, ...]:
        """Where no clause is a likely symptom, the likeliest that may be one: the user says it, as no step or question."""
        p, attempts = _scores(self.reading, "symptom"), self.reading.fields["attempt"]
        for n in sorted(self.group, key=lambda n: (-p[n], n)):
            clause = self.reading.clauses[n]
            told = clause.role == "user" and attempts[n] < PLAINLY_DONE and not clause.text.rstrip().endswith("?")
            if told and (p[n] >= PERHAPS or CUES["problem"].search(clause.text)):
                return (self._mention("symptom", n),)
        return ()

    def _attempts(self) -> tuple[Attempt, ...]:
        """The steps that are named and told of, the likeliest first; a clause that tells of one tells of no other."""
        p, told, taken = _scores(self.reading, "attempt"), _told(self.reading), dict[int, int]()
        for name in sorted((n for n in self.group if p[n] >= THRESHOLDS["attempt"]), key=lambda n: (-p[n], n)):
            taken.setdefault(max(self.group, key=lambda n: (told[n, name], -n)), name)
        return tuple(self._attempt(n, taken[n]) for n in sorted(taken))

    def _attempt(self, n: int, name: int) -> Attempt:
        told, outcome = self.reading.clauses[n], OUTCOMES[int(self.reading.outcomes[n].argmax())]
        action = phrase(self.conversation, self.reading.clauses[name], "attempt", None)
        by: Literal["user", "agent"] = "user" if told.role == "user" else "agent"
        return Attempt(action, outcome, by, told.turn, told.text)


def _same(a: str, b: str) -> bool:
    x, y = (frozenset(_WORD.findall(text.casefold())) for text in (a, b))
    return len(x & y) >= SAME * min(len(x), len(y))


_WORD = regex.compile(r"\w+")


def _told(reading: Reading) -> NDArray[np.float64]:
    """The probability that a clause (row) tells of a step that another (column) names."""
    told = reading.fields["attempt"][:, None] * reading.names
    return np.asarray(np.round(told, 4), np.float64)


def _scores(reading: Reading, field: str) -> NDArray[np.float64]:
    """How well each clause states the field, or names a step; a probability but for solutions, which may gain more."""
    share = NAMED.get(field, 0.0)
    p = _told(reading).max(axis=0, initial=0.0) if field == "attempt" else reading.fields[field]
    if share:
        p = (1 - share) * p + share * reading.named[field]
    if field == "solution":
        worked = reading.outcomes[:, OUTCOMES.index("worked")]
        p = p + WORKED * (worked[:, None] * _told(reading)).max(axis=0, initial=0.0)
    return np.asarray(np.round(p, 4), np.float64)


def confidences(reading: Reading, verdict: Triage) -> dict[str, float]:
    """How sure the reader is of what it says of a conversation, in [0, 1], by the fields that it is asked once."""
    cause = _scores(reading, "cause")
    return {
        "category": verdict.probability,
        "low_value": max(verdict.low_value_probability, 1 - verdict.low_value_probability),
        "resolution": max(reading.resolution.values()),
        "root_cause": float(cause.max()) if len(cause) else 0.0,
        "solution": reading.solved,
    }


def _resolution(reading: Reading) -> Resolution:
    """The most probable ending; "confirmed" only if the user told of a success, gave thanks, or had one of the last words."""
    last = reading.clauses[-1].turn if reading.clauses else 0

    def confirms(c: Clause) -> bool:
        later = c.turn > 0 and (c.turn >= last - 1 or bool(CUES["thanks"].search(c.text)))
        return c.role == "user" and (later or bool(CUES["success"].search(c.text)))

    heard = any(confirms(c) for c in reading.clauses)
    return max((r for r in RESOLUTIONS if heard or r != "confirmed"), key=lambda r: reading.resolution[r])
