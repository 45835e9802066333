"""The scripted engine: a plan said in a few plain sentences, the most important first, without a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from memlab.agent.planning import Plan, Situation, Style
from memlab.agent.replies import Recalled

__all__ = ["said", "within"]


def said(plan: Plan, now: Situation, *, style: Style, words: int) -> str:
    """The answer in at most so many words, the most important first."""
    parts = _PARTS[plan.kind](plan, now)
    if style == "short":
        parts = parts[:1] + [p for p in parts[1:] if p.startswith(("Skip", "It worked", "Already"))]
    text = within(parts, words)
    if style == "steps" and plan.steps:
        return within(["\n".join(_numbered(plan)), *parts[1:]], words)
    return text


def _numbered(plan: Plan) -> list[str]:
    first = f"This is the same issue as on {_day(plan.fixes[0])}." if plan.fixes else "Please go through these steps:"
    return [
        first,
        f"1. {_cap(_cut(plan.steps[0]))}.",
        "2. Check whether the problem is gone.",
        "3. Tell me the result.",
    ]


def _fix(plan: Plan, _: Situation) -> list[str]:
    fix = plan.fixes[0]
    out = [f"This is the same issue as on {_day(fix)} ({_cut(fix.symptom)}). What fixed it then: {_cut(fix.text)}."]
    out += _doubts(plan) + _skips(plan)
    if plan.escalate:
        out.append(f"Since {plan.why}, I am also telling a colleague.")
    return [*out, "Please tell me whether it helps this time."]


def _suggest(plan: Plan, _: Situation) -> list[str]:
    source = plan.source
    where = (
        "in past cases like this one"
        if source is None or source.kind == "skill"
        else f"in case {source.conversations[0]}"
    )
    out = [f"Please try this, which helped {where}: {_cut(plan.steps[0])}."]
    out += _doubts(plan) + _skips(plan)
    return [*out, "Please tell me whether it helps."]


def _escalate(plan: Plan, _: Situation) -> list[str]:
    tried = "; ".join(map(_cut, plan.failures[:6]))
    first = f"I know no fix that is left to try, so I am handing this over to a colleague, because {plan.why}."
    return [first, f"Already tried without success: {tried}.", *_doubts(plan), "You need not repeat any of it."]


def _worked(_: Plan, now: Situation) -> list[str]:
    fixed = [s.action for s in now.heard.steps if s.outcome == "worked"]
    fixed += [m.text for m in now.learned if m.kind == "attempt" and m.outcome == "worked" and not fixed]
    what = f" I have noted what helped: {_cut(fixed[0])}." if fixed else " I have noted that it is solved."
    what = what if now.memory else ""
    failed = [m.text for m in now.tried if m.outcome == "failed"]
    more = [f"Next time you can skip: {'; '.join(map(_cut, failed[:3]))}."] if failed else []
    return [f"Good to hear that it works again.{what}", *more]


def _wait(_: Plan, now: Situation) -> list[str]:
    steps = [s.action for s in now.heard.steps if s.outcome == "unknown"]
    return [f"Noted: {_cut(steps[0])}. Please tell me whether it helps."]


def _ask(plan: Plan, now: Situation) -> list[str]:
    problem = now.incident.text if now.incident else now.heard.text
    ask = f"Could you tell me {' and '.join(plan.asks)}?" if plan.asks else "I am looking into it."
    if not now.memory:
        return [f"You report: {_cut(problem)}.", ask]
    return [f"I have noted the problem: {_cut(problem)}.", "I know of no earlier case of yours like it.", ask]


def _noted(_: Plan, now: Situation) -> list[str]:
    facts = [m.text for m in now.learned if m.kind == "profile"]
    return [f"Noted: {'; '.join(map(_cut, facts))}." if facts else "Noted, thank you."]


def _nothing(_: Plan, __: Situation) -> list[str]:
    return [
        "I have nothing on record that answers this.",
        "If something does not work, tell me what you see and what you tried.",
    ]


_PARTS: Mapping[str, Callable[[Plan, Situation], list[str]]] = {
    "worked": _worked,
    "fix": _fix,
    "suggest": _suggest,
    "escalate": _escalate,
    "wait": _wait,
    "ask": _ask,
    "noted": _noted,
    "nothing": _nothing,
}


def _doubts(plan: Plan) -> list[str]:
    return [
        f"It worked once but not the last time ({r.note}), so I would not start with: {_cut(r.text)}."
        for r in plan.doubtful[:1]
    ]


def _skips(plan: Plan) -> list[str]:
    left = [f for f in plan.failures if f not in {r.text for r in plan.doubtful[:1]}]
    return [f"Skip what did not help: {'; '.join(map(_cut, left[:4]))}."] if left else []


def _day(hit: Recalled) -> str:
    return hit.at.date().isoformat()


def _cap(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cut(text: str, words: int = 14) -> str:
    parts = text.split()
    return text if len(parts) <= words else " ".join(parts[:words]) + " …"


def within(sentences: Sequence[str], words: int) -> str:
    """As many sentences from the front as fit into so many words; the first is cut if it must be.

    >>> within(["One two three.", "Four five."], 4)
    'One two three.'
    >>> within(["One two three."], 2)
    'One …'
    """
    out: list[str] = []
    left = words
    for sentence in sentences:
        size = len(sentence.split())
        if size <= left:
            out.append(sentence)
            left -= size
        elif not out:
            return _cut(sentence, max(1, words - 1))
    return " ".join(out)
