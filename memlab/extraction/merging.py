"""Issues of a conversation that was read in parts: what continues is joined, what stood in two parts counts once."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import TypeVar

from memlab.records import Attempt, Mention, Proposal, Resolution, Solution

__all__ = ["described", "merged", "settled"]

T = TypeVar("T", Mention, Attempt)


def merged(
    issues: Sequence[Proposal], found: Sequence[tuple[int | None, Proposal]], repeated: Collection[int]
) -> list[Proposal]:
    """The issues so far together with those of the next part.

    Parameters
    ----------
    issues : sequence of Proposal
        Of the parts before.
    found : sequence of (number or None, Proposal)
        Of this part; the number (from 1) says which of `issues` it continues. Without one it is joined to the issue
        that rests on the same words of a repeated turn, and to the only one where it has no symptom of its own.
    repeated : collection of int
        Turns that stood in the part before too.
    """
    out = list(issues)
    for number, proposal in found:
        index = _continued(issues, number, proposal, repeated)
        if index is None:
            out += [proposal] if _places(proposal) or proposal.facts else []
        else:
            out[index] = _joined(out[index], proposal, repeated)
    return out


def settled(issues: Sequence[Proposal]) -> list[Proposal]:
    """The issues in order with their case numbers; a solution that nothing shows to have helped is none."""
    return [dataclasses.replace(p, case=n, solution=p.solution if _helped(p) else None) for n, p in enumerate(issues)]


def _helped(p: Proposal) -> bool:
    return p.resolution in ("confirmed", "inferred") or any(a.outcome in ("worked", "partial") for a in p.attempts)


def described(issues: Sequence[Proposal]) -> str:
    """The issues as one numbered line each, for the prompt of the next part."""
    lines = []
    for n, p in enumerate(issues, 1):
        known = "; ".join(m.text for m in p.symptoms) or "no symptom yet"
        cause = f" | cause: {p.root_cause.text}" if p.root_cause else ""
        solution = f" | solution: {p.solution.text}" if p.solution else ""
        lines.append(f"{n}. {known}{cause}{solution} | {p.resolution}")
    return "\n".join(lines) or "none"


def _continued(
    issues: Sequence[Proposal], number: int | None, proposal: Proposal, repeated: Collection[int]
) -> int | None:
    if number is not None and 1 <= number <= len(issues):
        return number - 1
    for index, issue in enumerate(issues):
        if any(_same(a, b) for a in _places(issue) for b in _places(proposal) if b[0] in repeated):
            return index
    return 0 if len(issues) == 1 and not proposal.symptoms else None


Item = Mention | Attempt | Solution


def _places(p: Proposal) -> list[tuple[int, str]]:
    items: list[Item | None] = [*p.symptoms, *p.attempts, p.root_cause, p.solution]
    return [(i.turn, i.quote) for i in items if i is not None]


def _same(a: tuple[int, str], b: tuple[int, str]) -> bool:
    """Whether two quotes of one turn are the same words, or one holds the other."""
    return a[0] == b[0] and (a[1] in b[1] or b[1] in a[1])


def _joined(a: Proposal, b: Proposal, repeated: Collection[int]) -> Proposal:
    """One issue: all items, the cause and the solution said last, and the last resolution that is not mere silence.

    A solution that a later one replaces stays as an attempt, so that no action is lost.
    """
    attempts = _union(a.attempts, b.attempts, repeated)
    solution = b.solution or a.solution
    if a.solution and b.solution and _key(a.solution) != _key(b.solution) and not _known(a.solution, attempts):
        s = a.solution
        attempts = (*attempts, Attempt(s.text, "unknown", "user", s.turn, s.quote))
    return dataclasses.replace(
        a,
        category=a.category if a.category not in (None, "other") else b.category,
        symptoms=_union(a.symptoms, b.symptoms, repeated),
        root_cause=b.root_cause or a.root_cause,
        attempts=tuple(sorted(attempts, key=lambda x: x.turn)),
        solution=solution,
        resolution=_last(a, b, solution),
        facts=_union(a.facts, b.facts, repeated),
    )


def _last(a: Proposal, b: Proposal, solution: Solution | None) -> Resolution:
    """What the later part says; but silence about an issue that was solved does not take the solution back."""
    silent = b.resolution in ("unresolved", "abandoned") and not _places(b)
    return a.resolution if silent and solution is not None else b.resolution


def _union(a: tuple[T, ...], b: tuple[T, ...], repeated: Collection[int]) -> tuple[T, ...]:
    """All of `a`, and of `b` what is new; an attempt that the later part knows the outcome of takes it over."""
    out = list(a)
    for item in b:
        at = next((n for n, old in enumerate(a) if _repeats(old, item, repeated)), None)
        if at is None:
            out.append(item)
        elif isinstance(item, Attempt) and item.outcome != "unknown":
            out[at] = dataclasses.replace(out[at], outcome=item.outcome)
    return tuple(dict.fromkeys(out))


def _repeats(old: T, new: T, repeated: Collection[int]) -> bool:
    if _key(old) == _key(new) and (old.turn == new.turn or isinstance(new, Mention)):
        return True
    return new.turn in repeated and old.turn == new.turn and old.quote == new.quote


def _key(item: Item) -> str:
    return " ".join((item.action if isinstance(item, Attempt) else item.text).casefold().split())


def _known(solution: Solution, attempts: Sequence[Attempt]) -> bool:
    return any(_key(a) == _key(solution) or a.quote == solution.quote for a in attempts)
