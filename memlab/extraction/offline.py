"""The offline extractor: spans marked by the reader model become proposals, by rules that can be read on one page."""

from __future__ import annotations

from collections.abc import Sequence

from memlab.extraction.phrases import phrase
from memlab.extraction.reader import Reading, Span, read
from memlab.extraction.tags import OUTCOMES
from memlab.extraction.triage import Triage, triage
from memlab.models.embeddings import Encoder, default_encoder
from memlab.records import Attempt, Conversation, Mention, Proposal, Resolution, Solution

__all__ = ["OfflineExtractor"]

# The least mean probability of a span for each field, chosen on the dev split (scripts/tune_reader.py).
THRESHOLDS = {"symptom": 0.5, "cause": 0.4, "solution": 0.4, "attempt": 0.5, "fact": 0.5}
MOST_SYMPTOMS = 3


class OfflineExtractor:
    """Reads with a small model that ships with memlab: no key, no network, no memory.

    Parameters
    ----------
    encoder : Encoder, optional
        Sentence vectors for triage; by default all-MiniLM-L6-v2.
    """

    name = "offline-1"

    def __init__(self, encoder: Encoder | None = None) -> None:
        self._encoder = encoder

    def extract(self, conversation: Conversation) -> Sequence[Proposal]:
        """One proposal an issue; a single empty one, marked, if there is nothing to learn.

        Raises
        ------
        ModelError
            If a model can't be loaded or run.
        """
        verdict = triage(conversation, self._encoder or default_encoder())
        if verdict.low_value or conversation.metadata.get("derived_from"):
            return [Proposal(conversation.id, 0, verdict.category, low_value=True, resolution="abandoned")]
        return proposals_of(conversation, read(conversation), verdict)


def proposals_of(conversation: Conversation, reading: Reading, verdict: Triage) -> list[Proposal]:
    """Sort the spans by issue and make a proposal of each."""
    spans = [s for s in reading.spans if s.score >= THRESHOLDS[s.field]]
    first = [s for s in spans if s.second < 0.5]
    second = [s for s in spans if s.second >= 0.5]
    # A second issue is one only if it has its own symptom and something was found or done about it.
    fields = {s.field for s in second}
    if not ("symptom" in fields and fields & {"cause", "solution", "attempt"}) or not first:
        first, second = spans, []
    groups = [g for g in (first, second) if g]
    return [_proposal(conversation, group, n, reading, verdict) for n, group in enumerate(groups or [[]])]


def _proposal(
    conversation: Conversation, spans: Sequence[Span], case: int, reading: Reading, verdict: Triage
) -> Proposal:
    def of(field: str) -> list[Span]:
        return [s for s in spans if s.field == field]

    def mention(s: Span) -> Mention:
        return Mention(phrase(conversation, s), s.turn, s.quote)

    attempts = _attempts(conversation, of("attempt"))
    resolution: Resolution = max(sorted(reading.resolution), key=lambda r: reading.resolution[r])  # type: ignore[assignment]
    causes, solutions = of("cause"), of("solution")
    solved = bool(solutions) and (any(a.outcome in ("worked", "partial") for a in attempts) or resolution in ("confirmed", "inferred"))
    symptoms = sorted(of("symptom"), key=lambda s: (-s.score, s.turn, s.start))[:MOST_SYMPTOMS]
    return Proposal(
        conversation=conversation.id,
        case=case,
        category=verdict.category,
        symptoms=tuple(mention(s) for s in sorted(symptoms, key=lambda s: (s.turn, s.start))),
        root_cause=mention(_best(causes)) if causes else None,
        attempts=attempts,
        solution=_solution(conversation, solutions, reading) if solved else None,
        resolution=resolution,
        facts=tuple(mention(s) for s in of("fact")),
    )


def _best(spans: Sequence[Span]) -> Span:
    """The most probable span; of equally good ones the last, for what is said last is what was found."""
    return max(spans, key=lambda s: (round(s.score, 1), s.turn, s.start))


def _solution(conversation: Conversation, spans: Sequence[Span], reading: Reading) -> Solution:
    best = _best(spans)
    kind = "workaround" if reading.kind["workaround"] > 0.5 else "fix"
    return Solution(phrase(conversation, best), best.turn, best.quote, "workaround" if kind == "workaround" else "fix")


def _attempts(conversation: Conversation, spans: Sequence[Span]) -> tuple[Attempt, ...]:
    out = []
    for s in spans:
        role = conversation.turns[s.turn].role
        outcome = OUTCOMES[max(range(len(OUTCOMES)), key=lambda n: (s.outcomes[n], -n))]
        out.append(Attempt(phrase(conversation, s), outcome, "user" if role == "user" else "agent", s.turn, s.quote))
    return tuple(out)
