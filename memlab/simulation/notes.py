"""Reading a context as an agent would: blocks of lines, what each line is about, and whether it speaks for a step.

Nothing here knows where the text comes from: a skill, episodes and raw transcripts go through the same few rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Block", "Line", "blocks_of", "looks_fine", "suspicion", "tells_success"]

Use = Literal["about", "cause", "step"]

_FENCE = re.compile(r"^`{3,}(\w*)\s*$")
_START = re.compile(r"^(?:\d+\. |case )")
_FIELD = re.compile(
    r"^\s*(?:\d+\. )?(?:(symptom|environment|root cause|fix|workaround|did not help|tried by (?:user|agent)|"
    r"agent|user|tool): )?(.*?)(?: \| (.*)| -> (\w+))?$"
)
_VOTES = re.compile(r"worked (\d+), failed (\d+)")
_SUCCESS = re.compile(
    r"\b(?:works?(?! around)|working|fixed|solved|that did it|all good|geht (?:es )?wieder|läuft wieder|klappt|(?:re)?marche|fonctionne)\b",
    re.I,
)
_FAILURE = re.compile(
    r"\b(?:still|no change|nope|same (?:as|problem)|(?:doesn|didn|isn)['’]?t|not help|no difference|no luck|immer noch|"
    r"hilft nicht|keine änderung|toujours|ne change|aucun changement|but|not mended|for now|not repaired)\b",
    re.I,
)
_ALARM = re.compile(
    r"\b(?:blocked|denied|missing|expired|stopped|lost|outage|rejected|exceeded|over the limit|wrong|unreachable|retired|"
    r"not compliant|not found|incident open|unknown|conflict|stuck|frozen|refused|too little|overheating|faulty|limit|"
    r"hogs|never|100 %|9\d %|full|without|duplicate|twice|blank|no \w+ (?:licence|route|output)|not allowed|not started)\b",
    re.I,
)
_DOUBT = re.compile(
    r"\b(?:off|old|disabled|failed|slow|low|outdated|update available|false|error|not|no|only|twice|pending|delayed|"
    r"unused|removed|limited|worn|one (?:release|version|build) old|hidden|collapsed|saturated|always on)\b",
    re.I,
)
_FINE = re.compile(
    r"^\s*(?:none|no incident|complete|current|valid|running|empty|allowed|granted|enabled|compliant|direct|open|found|installed|zpl|dry|auto|loaded|fits|registered|mail-enabled|on$|off for|(?:the account|user) is a member|\d+ of \d+ GB$)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a context.

    Attributes
    ----------
    use : {"about", "cause", "step"}
        Whether it says what a case was like, why it was so, or what was done.
    favour : float
        In [-1, 1], of a step: whether it helped.
    """

    text: str
    use: Use
    favour: float = 0.0


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together: one cause of a skill, one episode, one transcript."""

    lines: tuple[Line, ...]

    def texts(self, *uses: Use) -> tuple[str, ...]:
        """The texts of these uses."""
        return tuple(line.text for line in self.lines if line.use in uses)


def blocks_of(context: str) -> list[Block]:
    """The blocks inside the fences of a context, in its order; a text without fences is read whole."""
    return [Block(tuple(lines)) for part in _parts(context) if (lines := _lines(part))]


def _parts(context: str) -> Iterator[list[str]]:
    fenced = any(_FENCE.match(line) for line in context.splitlines())
    inside, part = not fenced, list[str]()
    for line in context.splitlines():
        fence = _FENCE.match(line)
        if fence or not line.strip() or _START.match(line):
            if part:
                yield part
            part = []
        if fence:
            inside = not inside if fenced else inside
        elif inside and line.strip():
            part.append(line)
    if part:
        yield part


def _lines(part: Sequence[str]) -> list[Line]:
    fields = [match for line in part if (match := _FIELD.match(line))]
    out = []
    for number, match in enumerate(fields):
        label, text, rest, outcome = match.groups()
        following = fields[number + 1] if number + 1 < len(fields) else None
        if text.strip():
            out.append(_line(label, text.strip(), rest or "", outcome, following))
    return out


def _line(label: str | None, text: str, rest: str, outcome: str | None, following: re.Match[str] | None) -> Line:
    if label in ("symptom", "environment", "user"):
        return Line(text, "about")
    if label in ("fix", "workaround"):
        votes = _VOTES.search(rest)
        worked, failed = (int(votes[1]), int(votes[2])) if votes else (1, 0)
        return Line(text, "step", (1 if label == "fix" else 0.4) * (1 + worked) / (2 + worked + failed))
    if label == "did not help":
        return Line(text, "step", -0.6)
    if outcome or (label or "").startswith("tried"):
        return Line(text, "step", {"worked": 0.8, "partial": 0.4, "failed": -0.6}.get(outcome or "", 0.2))
    if label == "agent":
        heard = following[2] if following and following[1] in ("user", "tool") else ""
        return Line(text, "step", 0.8 if tells_success(heard) else -0.4 if _FAILURE.search(heard) else 0.3)
    return Line(text, "cause", 0.5)


def tells_success(text: str) -> bool:
    """Whether somebody says that it works now.

    >>> tells_success("Great, it works again"), tells_success("it still doesn't work")
    (True, False)
    """
    return bool(_SUCCESS.search(text)) and not _FAILURE.search(text)


def looks_fine(line: str) -> bool:
    """Whether a reading ``label: value`` says outright that all is well.

    >>> looks_fine("Audio driver: current"), looks_fine("Fan: clogged")
    (True, False)
    """
    return bool(_FINE.search(line.partition(":")[2]))


def suspicion(line: str) -> float:
    """How much a reading ``label: value`` looks like something that is wrong, in [0, 1], by general words alone."""
    value = line.partition(":")[2] or line
    if looks_fine(line):
        return 0.0
    alarms, doubts = len(_ALARM.findall(value)), len(_DOUBT.findall(value))
    return min(1.0, 0.6 * bool(alarms) + 0.2 * min(2, alarms + doubts) + 0.2 * bool(doubts))
