"""What a message tells, as the extractor reads it in the light of the incident that it belongs to."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from memlab.agent.guarding import guarded, outright, says_nothing_of_outcomes, tells_of_trouble
from memlab.agent.records import By, Memory
from memlab.agent.verdicts import Verdict, action_of, ending_of, verdict_of
from memlab.extraction import Extractor
from memlab.extraction.features import CUES
from memlab.records import Attempt, Conversation, Mention, Outcome, Proposal, Role, Turn

__all__ = ["Heard", "Step", "hear", "retold", "transcript_of"]

MOST_WORDS = 20
RETOLD = 0.6  # a "step" that is this close to a problem is that problem, told again
TROUBLE = ("problem", "failure", "negation")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_ASKS = re.compile(
    r"(?i)^\W*(?:(?:hi|hello|hey|and|so|also|ok|okay|btw|quick question)\W+)*"
    r"(?:how|what|why|which|when|where|who|did|do|does|is|are|was|can|could|should|would|have|has|any|remind me|"
    r"wie|was|warum|wann|wo|comment|pourquoi|quel\w*|est-ce)\b"
)


@dataclass(frozen=True, slots=True)
class Step:
    """A step that a message reports."""

    action: str
    outcome: Outcome
    quote: str
    by: By = "user"


@dataclass(frozen=True, slots=True)
class Heard:
    """What a message tells.

    Attributes
    ----------
    text : str
        The message.
    symptoms : tuple of str
        What is wrong, in the customer's words.
    steps : tuple of Step
        What was tried, with outcomes.
    verdict : Verdict or None
        What the message says about steps told before, if it says nothing else.
    judged : tuple of (memory id, outcome)
        Steps told before whose outcome it tells by name.
    facts : tuple of str
        What it says about devices, versions and places.
    category : str or None
        The IT category, if the extractor knows one.
    question : bool
        Whether it asks rather than tells.
    """

    text: str
    symptoms: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    verdict: Verdict | None = None
    judged: tuple[tuple[str, Outcome], ...] = ()
    facts: tuple[str, ...] = ()
    category: str | None = None
    question: bool = False

    @property
    def solved(self) -> bool:
        """Whether it tells that something helped."""
        told = [s.outcome for s in self.steps] + [outcome for _, outcome in self.judged]
        return "worked" in told or (self.verdict is not None and self.verdict.outcome == "worked")

    @property
    def failing(self) -> bool:
        """Whether it tells that something did not help."""
        told = [s.outcome for s in self.steps] + [outcome for _, outcome in self.judged]
        return "failed" in told or (self.verdict is not None and self.verdict.outcome == "failed")


Told = tuple[Turn, tuple[str, ...]]


def transcript_of(memories: Sequence[Memory], incident: str | None) -> list[Told]:
    """What was said about an incident, as turns with the ids of the steps that each tells; made from memory alone."""
    said: dict[tuple[datetime, str, str], tuple[list[str], list[str]]] = {}
    for memory in memories:
        if incident is None or incident not in (memory.id, memory.incident):
            continue
        for t in memory.tellings:
            texts, ids = said.setdefault((t.at, t.conversation, t.by), ([], []))
            words = f"Please try this: {memory.text}" if t.by == "agent" else t.quote
            if words and not any(words in other for other in texts):
                texts.append(words)
            ids += [memory.id] if memory.kind == "attempt" else []
    turns = []
    for (at, _, by), (texts, ids) in sorted(said.items(), key=lambda item: (item[0][0], *item[0][1:])):
        role: Role = "agent" if by in ("agent", "staff") else "tool" if by == "tool" else "user"
        if texts:
            turns.append((Turn(role, ". ".join(texts), at), tuple(ids)))
    return turns


def hear(
    message: str,
    *,
    customer: str,
    conversation: str,
    at: datetime,
    extractor: Extractor,
    before: Sequence[Told] = (),
    steps: Sequence[Memory] = (),
) -> Heard:
    """Read a message.

    Parameters
    ----------
    message : str
        The customer's words.
    customer, conversation, at
        Whose, where and when.
    extractor : Extractor
        Reads the turns before and the message as one conversation.
    before : sequence of (Turn, ids)
        The incident so far (`transcript_of`).
    steps : sequence of Memory
        The steps told before, to which `before` refers.

    Raises
    ------
    ExtractionError, ModelError
        If the message could not be read.
    """
    question = "?" in message or bool(_ASKS.match(message))
    verdict = verdict_of(message)
    if verdict is not None:
        return Heard(message, verdict=verdict)
    start = min([at, *(t.at for t, _ in before if t.at)])
    turns = (*(t for t, _ in before), Turn("user", message, at))
    proposals = [p for p in extractor.extract(Conversation(conversation, customer, start, turns)) if not p.low_value]
    new = len(turns) - 1
    attempts = [a for p in proposals for a in p.attempts if a.turn == new]
    symptoms = [m for p in proposals for m in p.symptoms if m.turn == new]
    quotes = [*(a.quote for a in attempts), *(m.quote for m in symptoms)]
    bare = [v for quote in quotes if (v := verdict_of(quote)) is not None]
    attempts = [a for a in attempts if verdict_of(a.quote) is None]
    symptoms = [m for m in symptoms if verdict_of(m.quote) is None]
    facts = [m for p in proposals for m in p.facts if m.turn == new and verdict_of(m.quote) is None]
    for sentence in filter(None, map(str.strip, _SENTENCE.split(message))):
        step = outright(sentence, new) if not any(a.quote in sentence for a in attempts) else None
        if step is not None:
            attempts.append(step)
            symptoms = [m for m in symptoms if m.quote not in sentence]
            facts = [m for m in facts if m.quote not in sentence]
    if not (symptoms or attempts or facts or bare or question) and tells_of_trouble(message):
        symptoms = [_opening(message, new)]  # nothing was read in it, but it says that something is wrong
    symptoms, attempts, facts = guarded(symptoms, attempts, facts, first=not before)
    if question and not attempts and not any(CUES[cue].search(message) for cue in TROUBLE):
        symptoms = []  # "how do I …" asks for something; nothing is said to be wrong
    about = bool(CUES["success"].search(message) or CUES["failure"].search(message))
    return Heard(
        text=message,
        symptoms=tuple(dict.fromkeys(map(_wording, symptoms))),
        steps=tuple(dict.fromkeys(_steps(attempts, message))),
        verdict=bare[0] if bare and not attempts and not symptoms else None,
        judged=_judged(proposals, before, steps) if about and not attempts and not bare else (),
        facts=tuple(dict.fromkeys(map(_wording, facts))),
        category=next((p.category for p in proposals if p.category not in (None, "other")), None),
        question=question and not attempts,
    )


def retold(heard: Heard, problems: Sequence[str], like: Callable[[str, str], float]) -> Heard:
    """The same, but a step that words a known problem is no step: the problem is told again.

    Parameters
    ----------
    heard : Heard
        As the extractor reads it.
    problems : sequence of str
        Wordings of the customer's problems.
    like : callable
        How alike two wordings are.
    """
    again = tuple(
        s for s in heard.steps if s.outcome != "worked" and any(like(s.action, p) >= RETOLD for p in problems)
    )
    if not again:
        return heard
    return dataclasses.replace(
        heard,
        symptoms=tuple(dict.fromkeys([*heard.symptoms, *(s.action for s in again)])),
        steps=tuple(s for s in heard.steps if s not in again),
    )


def _opening(message: str, turn: int) -> Mention:
    """The first sentence that tells of a trouble, as a symptom."""
    sentences = [s.strip() for s in _SENTENCE.split(message) if tells_of_trouble(s)]
    text = sentences[0] if sentences else message
    return Mention(text, turn, text)


def _overlap(a: str, b: str) -> bool:
    return a in b or b in a


def _steps(attempts: Sequence[Attempt], message: str) -> Iterator[Step]:
    """The steps with their outcomes; a plain verdict at the end of a sentence goes before what the extractor thinks.

    It judges the last step of its sentence, or all of them if it says so.
    """
    sentences = [s for s in _SENTENCE.split(message) if s.strip()]
    place = {n: next((k for k, s in enumerate(sentences) if a.quote in s), -1) for n, a in enumerate(attempts)}
    silent = says_nothing_of_outcomes(message, attempts)
    for n, a in enumerate(attempts):
        verdict = ending_of(sentences[place[n]]) if place[n] >= 0 else None
        last = n == max(m for m in place if place[m] == place[n])
        outcome: Outcome = "unknown" if silent else a.outcome
        if verdict is not None and (last or verdict.every):
            outcome = verdict.outcome
        yield Step(action_of(_short(a.action)), outcome, a.quote)


def _wording(mention: Mention) -> str:
    """The customer's own words where they are short, else the extractor's phrase."""
    quote = _short(mention.quote)
    return quote if len(mention.quote.split()) <= MOST_WORDS else _short(mention.text)


def _short(text: str) -> str:
    words = text.split()[:MOST_WORDS]
    while len(words) > 1 and words[-1].casefold() in ("and", "but", "then", "so", "or", "which", "und", "et"):
        words.pop()
    return " ".join(words).strip(" ,.;:!–—-") or text.strip()


def _judged(
    proposals: Sequence[Proposal], before: Sequence[Told], steps: Sequence[Memory]
) -> tuple[tuple[str, Outcome], ...]:
    """Steps of earlier turns, still open in memory, that the extractor knows an outcome of now."""
    still = {m.id for m in steps if m.outcome == "unknown"}
    found: dict[str, Outcome] = {}
    for p in proposals:
        for a in p.attempts:
            if a.turn < len(before) and a.outcome in ("worked", "failed"):
                ids = [i for i in before[a.turn][1] if i in still]
                named = [m.id for m in steps if m.id in ids and (_told_in(m, a))]
                found.update(dict.fromkeys(named if named else ids if len(ids) == 1 else [], a.outcome))
    return tuple(sorted(found.items()))


def _told_in(memory: Memory, attempt: Attempt) -> bool:
    quotes = [memory.text, *(t.quote for t in memory.tellings if t.quote)]
    return any(_overlap(q.casefold(), attempt.quote.casefold()) for q in quotes)
