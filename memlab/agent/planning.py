"""What to answer, decided from memory and from what was just heard: lead with a known fix, suggest, hand over, or ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memlab.agent.hearing import Heard
from memlab.agent.records import Memory
from memlab.agent.remembering import SAME_STEP, Likeness
from memlab.agent.replies import Recalled, Source
from memlab.curation.guards import identifiers

__all__ = ["Plan", "Situation", "Style", "planned", "style_of"]

Style = Literal["plain", "short", "steps"]
REPEATED = 2  # steps that failed against one problem, without a known fix, from which a person should take over
MANY = 3  # the same where a fix is known


@dataclass(frozen=True, slots=True)
class Situation:
    """All that an answer may rest on.

    Attributes
    ----------
    heard : Heard
        What the message tells.
    recalled : tuple of Recalled
        The own history that fits, best first.
    sources : tuple of Source
        What the bank adds, best first.
    incident : Memory or None
        The incident that the message belongs to, as it is after the message.
    tried : tuple of Memory
        Its steps, with what the message just told.
    profile : tuple of Memory
        Lasting facts about the customer.
    memory : bool
        Whether memory is on.
    learned : tuple of Memory
        What the message added.
    """

    heard: Heard
    recalled: tuple[Recalled, ...] = ()
    sources: tuple[Source, ...] = ()
    incident: Memory | None = None
    tried: tuple[Memory, ...] = ()
    profile: tuple[Memory, ...] = ()
    memory: bool = True
    learned: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What the answer does.

    Attributes
    ----------
    kind : str
        ``worked``, ``fix`` (known from the own history), ``suggest`` (from the bank), ``escalate``, ``wait`` (a step is
        under way), ``ask``, ``noted`` or ``nothing``.
    fixes, failures : tuple of Recalled, tuple of str
        Known fixes, best first, and steps that did not help.
    doubtful : tuple of Recalled
        Steps that worked once and failed later.
    steps, asks : tuple of str
        What to propose, and what to ask for.
    escalate, why
        Whether a person should take over, and why.
    source : Source or None
        Where a suggestion comes from.
    """

    kind: Literal["worked", "fix", "suggest", "escalate", "wait", "ask", "noted", "nothing"]
    fixes: tuple[Recalled, ...] = ()
    failures: tuple[str, ...] = ()
    doubtful: tuple[Recalled, ...] = ()
    steps: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    escalate: bool = False
    why: str = ""
    source: Source | None = None


def planned(now: Situation, like: Likeness) -> Plan:
    """What to do: acknowledge, lead with the known fix, suggest what the bank knows, hand over, or ask.

    Parameters
    ----------
    now : Situation
        What is known.
    like : callable
        How alike two wordings are, to tell that two are the same step.
    """

    def same(a: str, b: str) -> bool:
        return a.casefold().split() == b.casefold().split() or like(a, b) >= SAME_STEP

    here = tuple(m.text for m in now.tried if m.outcome == "failed")
    doubtful = tuple(r for r in now.recalled if r.contradicted)
    fixes = tuple(
        r
        for r in now.recalled
        if r.kind == "attempt"
        and r.outcome == "worked"
        and not r.contradicted
        and not any(same(r.text, f) for f in here)
    )
    past = [r.text for r in now.recalled if r.kind == "attempt" and r.outcome == "failed"]
    failures: tuple[str, ...] = ()
    for text in (*here, *past):
        if not any(same(text, f) for f in failures) and not any(same(text, r.text) for r in fixes):
            failures += (text,)
    if now.heard.solved:
        return Plan("worked", fixes=fixes, failures=failures, doubtful=doubtful)
    done = (*failures, *(m.text for m in now.tried if m.outcome == "unknown"))
    source = next((s for s in now.sources if not any(same(s.text, d) for d in done)), None)
    limit = MANY if fixes else REPEATED
    why = f"{len(here)} steps failed against this problem" if len(here) >= limit else ""
    rest = {"fixes": fixes, "failures": failures, "doubtful": doubtful, "escalate": bool(why), "why": why}
    if fixes:
        return Plan("fix", steps=(fixes[0].text,), **rest)  # type: ignore[arg-type]
    if source is not None and (now.incident is not None or now.recalled) and not why:
        return Plan("suggest", steps=(source.text,), source=source, **rest)  # type: ignore[arg-type]
    if failures:
        why = why or "no fix is known, and what was tried failed"
        return Plan("escalate", failures=failures, doubtful=doubtful, escalate=True, why=why)
    return _without_history(now)


def _without_history(now: Situation) -> Plan:
    if any(s.outcome == "unknown" for s in now.heard.steps):
        return Plan("wait")
    if any(m.kind == "incident" for m in now.learned):
        return Plan("ask", asks=_asks(now))
    return Plan("noted" if now.learned else "nothing")


def _asks(now: Situation) -> tuple[str, ...]:
    """The first two things that nobody has told yet, of those that help most; what is known is never asked again."""
    told = " ".join([now.heard.text, *(now.incident.symptoms if now.incident else ())])
    open_questions = [
        ("the exact error message or code", bool(identifiers(told)) or "error" in told.casefold()),
        ("the device and version you use", bool(now.profile) or bool(now.heard.facts)),
        ("what you have tried so far", bool(now.tried)),
    ]
    return tuple(what for what, known in open_questions if not known)[:2]


def style_of(profile: Sequence[Memory]) -> Style:
    """How the customer wants answers, from what they last said about it."""
    found: Style = "plain"
    for memory in sorted(profile, key=lambda m: (m.last, m.id)):
        text = memory.text.casefold()
        if "plain answers" in text:
            found = "plain"
        elif any(w in text for w in ("step by step", "step-by-step", "detailed instructions", "schritt für schritt")):
            found = "steps"
        elif any(w in text for w in ("short", "brief", "concise", "technical answers", "kurz")) and any(
            w in text for w in ("answer", "repl", "prefer", "style", "keep it", "antwort", "explain")
        ):
            found = "short"
    return found
