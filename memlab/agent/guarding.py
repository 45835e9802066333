"""What may not become memory, whatever the extractor thinks: guards over its items, as curation has over similarity.

A plan is no attempt, a complaint is no attempt, the same words are not two things at once, and no outcome is taken
from a message that says nothing about one. Guards only veto or move an item; they never read one of their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memlab.agent.verdicts import action_of, ending_of
from memlab.curation.guards import identifiers, stems
from memlab.extraction.features import CUES
from memlab.records import Attempt, Mention

__all__ = ["guarded", "outright", "says_nothing_of_outcomes", "tells_of_trouble"]

_PLAN = re.compile(
    r"(?i)\b(?:will|won['’]?t have time|going to|gonna|(?:i|we)['’]ll|about to|plan(?:ning)? to|want to|intend to|might try|"
    r"could try|should i|tomorrow|after (?:lunch|work|the meeting)|next week|werde|morgen|vais)\b"
)
_TROUBLE = re.compile(r"(?i)\bkeeps? \w+ing\b|\b(?:hang|hung|dropp|disconnect|garbl|flicker|stutter|blank)\w*")
_DONE = re.compile(
    r"(?i)^\W*(?:(?:and|but|so|then|also|already|just|first|next|ok|yes|i|we|i['’]?ve|we['’]?ve|i['’]?m|have|had|has|am|are|"
    r"ich|wir|habe|haben|j['’]ai|nous|avons|after|by)\W+)*"
    r"(?:\w{3,}ed|\w{3,}ing|re-?\w+ed|tried|ran|put|took|set|reset|went|got|made|gave|did|cut|shut|unplugged|swapped|"
    r"found|chose|wrote|sent|told|held|left|let|built|brought|switched|plugged|\w+ (?:neu )?(?:ge\w{2,}t|ge\w{2,}en|\w+iert))\b"
)


def guarded(
    symptoms: Sequence[Mention], attempts: Sequence[Attempt], facts: Sequence[Mention], *, first: bool
) -> tuple[list[Mention], list[Attempt], list[Mention]]:
    """The items that may become memory, each in one role.

    Parameters
    ----------
    symptoms, attempts, facts
        As the extractor read them from one message.
    first : bool
        Whether no incident is open, so that a problem is more likely told than a step.
    """
    attempts = [a for a in attempts if not _is_plan(a.quote)]
    complaints = [a for a in attempts if _is_complaint(a, first=first)]
    attempts = [a for a in attempts if a not in complaints]
    symptoms = [*symptoms, *(Mention(a.action, a.turn, a.quote) for a in complaints)]
    symptoms, attempts = _one_role_each(symptoms, attempts, first=first)
    taken = [*(m.quote for m in symptoms), *(a.quote for a in attempts)]
    facts = [f for f in facts if not any(_overlap(f.quote, q) for q in taken)]
    if first and not symptoms and not attempts:
        symptoms = [f for f in facts if tells_of_trouble(f.quote)]
    return _distinct(symptoms), attempts, [f for f in facts if f not in symptoms and _names_something(f.quote)]


def tells_of_trouble(text: str) -> bool:
    """Whether a text says that something is wrong."""
    return bool(CUES["problem"].search(text) or _TROUBLE.search(text))


def outright(sentence: str, turn: int) -> Attempt | None:
    """The step of a sentence that says outright what was done and how it went ("updating the client fixed it").

    Extractors take such a sentence for a symptom now and then. "Printing does not work" is none: only what worked may
    begin with a gerund.
    """
    verdict, action = ending_of(sentence), action_of(sentence)
    if verdict is None or not _DONE.search(action) or tells_of_trouble(action):
        return None
    gerund = re.match(r"(?i)\W*\w+ing\b", action)
    if verdict.outcome == "failed" and (gerund or not re.search(r"(?i)^\W*(?:i|we|tried|\w+ed)\b", action)):
        return None
    return Attempt(action, verdict.outcome, "user", turn, sentence)


def says_nothing_of_outcomes(message: str, attempts: Sequence[Attempt]) -> bool:
    """Whether a message holds its steps and nothing else, so that it can't tell how they went."""
    if any(CUES[cue].search(message) for cue in ("success", "failure", "partial", "negation", "problem")):
        return False
    rest = message
    for a in attempts:
        rest = rest.replace(a.quote, " ")
    return not stems(rest)


def _is_plan(quote: str) -> bool:
    return bool(_PLAN.search(quote)) and not re.search(r"(?i)\b(?:tried|\w{3,}ed it|did)\b", quote)


def _is_complaint(attempt: Attempt, *, first: bool) -> bool:
    """Whether the words of a step tell of a trouble, and of nothing that was done."""
    if _DONE.search(attempt.quote) or CUES["success"].search(attempt.quote):
        return False
    return first or (attempt.outcome != "worked" and tells_of_trouble(attempt.quote))


def _one_role_each(
    symptoms: list[Mention], attempts: list[Attempt], *, first: bool
) -> tuple[list[Mention], list[Attempt]]:
    """Words taken for a symptom and for a step at once are one of them.

    They are the problem where nothing else states one, none is open and nothing was done; else they are the step.
    """
    shared = [m for m in symptoms if any(_overlap(m.quote, a.quote) for a in attempts)]
    alone = [m for m in symptoms if m not in shared]
    done = any(a.outcome == "worked" or _DONE.search(a.quote) for a in attempts) or len(attempts) > 1
    if shared and first and not alone and not done:
        return symptoms, [a for a in attempts if not any(_overlap(m.quote, a.quote) for m in symptoms)]
    return alone, attempts


def _names_something(quote: str) -> bool:
    """Whether a fact names a device, a setting, a version or a proper name."""
    named = CUES["device"].search(quote) or CUES["setting"].search(quote) or identifiers(quote)
    return bool(named) or bool(re.search(r"\s[A-Z]\w+", quote))


def _overlap(a: str, b: str) -> bool:
    return a in b or b in a


def _distinct(mentions: Sequence[Mention]) -> list[Mention]:
    return list({m.quote.casefold(): m for m in reversed(mentions)}.values())[::-1]
