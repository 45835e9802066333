"""The offline extractor: what the reader model says of each clause becomes proposals, by rules that fit on one page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memlab.extraction.clauses import Clause
from memlab.extraction.features import CUES
from memlab.extraction.phrases import phrase
from memlab.extraction.reader import KINDS, OUTCOMES, RESOLUTIONS, Reading, read, weights_version
from memlab.extraction.triage import Triage, triage
from memlab.models.embeddings import Encoder, default_encoder
from memlab.records import Attempt, Conversation, Mention, Proposal, Resolution, Solution

__all__ = ["OfflineExtractor"]

# The least probability of a clause for each field, chosen on the dev split.
THRESHOLDS = {"symptom": 0.2, "attempt": 0.3, "fact": 0.4, "cause": 0.05, "solved": 0.5, "second": 0.5}
MOST_SYMPTOMS = 3
SAME = 0.8  # two clauses of one field that are closer than this say the same thing


class OfflineExtractor:
    """Reads with a small model that ships with memlab: no key, no network, no memory.

    Parameters
    ----------
    encoder : Encoder, optional
        Sentence vectors; by default all-MiniLM-L6-v2, which the model was trained on.
    """

    def __init__(self, encoder: Encoder | None = None) -> None:
        self._encoder = encoder

    @property
    def name(self) -> str:
        """Changes with the rules and with the weights, so that other proposals are never taken for these."""
        return f"offline-1-{weights_version()}"

    def extract(self, conversation: Conversation) -> Sequence[Proposal]:
        """One proposal an issue; a single empty one, marked, if there is nothing to learn.

        Raises
        ------
        ModelError
            If a model can't be loaded or run.
        """
        encoder = self._encoder or default_encoder()
        verdict = triage(conversation, encoder)
        if verdict.low_value or conversation.metadata.get("derived_from"):
            return [Proposal(conversation.id, 0, verdict.category, low_value=True, resolution="abandoned")]
        return proposals_of(conversation, read(conversation, encoder), verdict)


def proposals_of(conversation: Conversation, reading: Reading, verdict: Triage) -> list[Proposal]:
    """Sort the clauses by issue and make a proposal of each."""
    everything = np.arange(len(reading.clauses))
    later = reading.fields["second"] >= THRESHOLDS["second"]
    second = everything[later]
    # A second issue needs a symptom of its own, and something that was found or done about it.
    own = any(reading.fields["symptom"][n] >= THRESHOLDS["symptom"] for n in second)
    done = any(reading.fields["attempt"][n] >= THRESHOLDS["attempt"] for n in second)
    groups = (
        [everything[~later].tolist(), second.tolist()] if own and done and not later.all() else [everything.tolist()]
    )
    return [_proposal(conversation, group, n, reading, verdict) for n, group in enumerate(groups)]


def _proposal(
    conversation: Conversation, group: Sequence[int], case: int, reading: Reading, verdict: Triage
) -> Proposal:
    def mentions(field: str, most: int) -> tuple[Mention, ...]:
        found: dict[str, Mention] = {}
        for n in _chosen(reading, group, field, most):
            c = reading.clauses[n]
            text = phrase(conversation, c, field, verdict.category)
            found.setdefault(text.casefold(), Mention(text, c.turn, c.text))
        return tuple(found.values())

    attempts = _attempts(conversation, group, reading)
    resolution = _resolution(reading)
    cause, best = _best(reading, group, "cause"), _best(reading, group, "solution")
    solution = None
    if best is not None and reading.solved >= THRESHOLDS["solved"]:
        c = reading.clauses[best]
        kind = max(KINDS, key=lambda k: reading.kind[k])
        solution = Solution(phrase(conversation, c, "solution", verdict.category), c.turn, c.text, kind)
    root = None
    if cause is not None and reading.fields["cause"][cause] >= THRESHOLDS["cause"]:
        c = reading.clauses[cause]
        root = Mention(phrase(conversation, c, "cause", verdict.category), c.turn, c.text)
    return Proposal(
        conversation=conversation.id,
        case=case,
        category=verdict.category,
        symptoms=mentions("symptom", MOST_SYMPTOMS),
        root_cause=root,
        attempts=attempts,
        solution=solution,
        resolution=resolution,
        facts=mentions("fact", 8),
    )


def _resolution(reading: Reading) -> Resolution:
    """The most probable ending; "confirmed" only if the user told of a success, gave thanks, or had one of the last words."""
    last = reading.clauses[-1].turn if reading.clauses else 0

    def confirms(c: Clause) -> bool:
        later = c.turn > 0 and (c.turn >= last - 1 or bool(CUES["thanks"].search(c.text)))
        return c.role == "user" and (later or bool(CUES["success"].search(c.text)))

    heard = any(confirms(c) for c in reading.clauses)
    return max((r for r in RESOLUTIONS if heard or r != "confirmed"), key=lambda r: reading.resolution[r])


def _chosen(reading: Reading, group: Sequence[int], field: str, most: int) -> list[int]:
    """The most probable clauses above the threshold, in order, none saying the same as a more probable one."""
    p = reading.fields[field]
    taken: list[int] = []
    for n in sorted((n for n in group if p[n] >= THRESHOLDS[field]), key=lambda n: (-float(p[n].round(4)), n)):
        if len(taken) < most and all(reading.vectors[n] @ reading.vectors[m] < SAME for m in taken):
            taken.append(n)
    return sorted(taken)


def _best(reading: Reading, group: Sequence[int], field: str) -> int | None:
    p = reading.fields[field]
    return max(group, key=lambda n: (float(p[n].round(4)), n), default=None)


def _attempts(conversation: Conversation, group: Sequence[int], reading: Reading) -> tuple[Attempt, ...]:
    p, out = reading.fields["attempt"], []
    for n in group:
        if p[n] >= THRESHOLDS["attempt"]:
            clause: Clause = reading.clauses[n]
            outcome = OUTCOMES[int(reading.outcomes[n].argmax())]
            action = phrase(conversation, clause, "attempt", None)
            out.append(Attempt(action, outcome, "user" if clause.role == "user" else "agent", clause.turn, clause.text))
    return tuple(out)
