"""The simulated user: notices symptoms, answers, carries steps out more or less well, confirms, or leaves.

Every throw depends on (seed, scenario, repeat, what is thrown for) alone, so the same user has the same luck in every arm.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Literal, Protocol

from memlab.simulation.device import State, broken, noticed
from memlab.simulation.scenarios import Scenario
from memlab.simulation.world import Tool, World, dice

__all__ = ["Reaction", "ScriptedUser", "User", "phrases", "pick"]

# What costs how much of the user's patience.
ANNOYANCE = {"ask": 0.6, "read agent": 0.3, "read user": 0.8, "act agent": 1.0, "act user": 1.4}
Part = Literal["learn", "trial"]


@cache
def phrases() -> Mapping[str, Mapping[str, Mapping[str, Sequence[str]]]]:
    """How people put things (`phrases.toml`)."""
    return tomllib.loads((resources.files("memlab.simulation") / "phrases.toml").read_text("utf-8"))


def pick(wordings: Sequence[str], part: Part, *key: object) -> str:
    """One of the first half of the wordings (what memory learns from) or of the rest (trials)."""
    half = max(1, len(wordings) // 2)
    chosen = wordings[:half] if part == "learn" else wordings[half:] or wordings
    return chosen[int(dice(*key, "wording") * len(chosen))]


@dataclass(frozen=True, slots=True)
class Reaction:
    """What the user says after a step, and whether it is over for them: they confirmed, or they left."""

    text: str
    over: Literal["", "confirmed", "abandoned"] = ""


class User(Protocol):
    """Somebody with a problem. `errors` counts own mistakes, `effort` the minutes spent."""

    errors: int
    effort: float

    def open(self, state: State) -> str:
        """The first message."""
        ...

    def carries_out(self, tool: Tool) -> bool:
        """Whether the user really does what was asked, and not something else or nothing."""
        ...

    def answer(self, question: str, state: State) -> Reaction:
        """To a question, or to a closing word while the trouble is still there."""
        ...

    def look(self, tool: Tool, lines: Sequence[str]) -> Reaction:
        """What the user reads out of what there is to be seen."""
        ...

    def waits(self, tool: Tool) -> Reaction:
        """While the agent reads something; no text unless they leave."""
        ...

    def test(self, tool: Tool, state: State) -> Reaction:
        """Whether it works, after an action of either side."""
        ...


@dataclass(slots=True)
class ScriptedUser:
    """A user made of a persona, a scenario's wordings and dice."""

    world: World
    scenario: Scenario
    seed: int
    repeat: int = 0
    part: Part = "trial"
    errors: int = 0
    effort: float = 0.0
    annoyed: float = 0.0
    _told: Counter[str] = field(default_factory=Counter)
    _throws: Counter[str] = field(default_factory=Counter)

    def open(self, state: State) -> str:  # noqa: ARG002 - all complaints come first, whatever can be noticed
        """All complaints, the second one introduced as such."""
        texts: list[str] = []
        for complaint in self.scenario.complaints:
            self._told[complaint.fault] = 1
            texts += [self._phrase("also")] if texts else []
            texts.append(complaint.says[0])
        return " ".join(texts)

    def carries_out(self, tool: Tool) -> bool:
        """A wrong step, or nothing and claiming it, by skill and honesty."""
        persona = self.scenario.persona
        wrong = self._throw(f"wrong {tool.name}") < 0.2 * (1 - persona.skill)
        lazy = self._throw(f"lazy {tool.name}") < 0.25 * (1 - persona.honesty)
        self.errors += wrong or lazy
        return not (wrong or lazy)

    def answer(self, question: str, state: State) -> Reaction:  # noqa: ARG002 - a script need not read the question
        """The next wording about a fault that is still there."""
        self.effort += 2
        return self._or_leaves("ask", self._more(state) or self._phrase("unknown"))

    def look(self, tool: Tool, lines: Sequence[str]) -> Reaction:
        """All of it, or nothing: a user of little skill does not find the place."""
        if self._throw(f"look {tool.name}") < 0.25 * (1 - self.scenario.persona.skill):
            self.errors += 1
            return self._or_leaves("read user", self._phrase("cannot"))
        return self._or_leaves("read user", "\n".join(lines))

    def waits(self, tool: Tool) -> Reaction:  # noqa: ARG002 - a script need not know for what
        """Silence, as long as the patience lasts."""
        return self._or_leaves("read agent", "")

    def test(self, tool: Tool, state: State) -> Reaction:
        """Works, works for now, one of two works, still the same; now and then a word that is not true."""
        self.effort += 1
        seen, left, persona = noticed(self.world, state), broken(self.world, state), self.scenario.persona
        polite = tool.by == "user" and self._throw(f"polite {tool.name}") < 0.1 * (1 - persona.honesty)
        if seen and polite:
            self.errors += 1
        if polite or not left:
            return Reaction(self._phrase("works"), "confirmed")
        if not seen:  # only hidden by a workaround
            content = self._throw(f"content {tool.name}") < 0.5
            return Reaction(self._phrase("works" if content else "eased"), "confirmed" if content else "")
        kind = "act user" if tool.by == "user" else "act agent"
        if len(seen) < len(self.scenario.complaints) and self._throws["partly"] == 0:
            self._throws["partly"] += 1
            return Reaction(f"{self._phrase('partly')} {self._more(state) or self._words(seen[0].id, 0)}")
        return self._or_leaves(kind, self._phrase("still"))

    def _more(self, state: State) -> str:
        for fault in noticed(self.world, state):
            number = self._told[fault.id]
            if text := self._words(fault.id, number):
                self._told[fault.id] += 1
                return text
        return ""

    def _words(self, fault: str, number: int) -> str:
        says = next((c.says for c in self.scenario.complaints if c.fault == fault), ())
        return says[number] if number < len(says) else ""

    def _or_leaves(self, what: str, text: str) -> Reaction:
        self.annoyed += ANNOYANCE[what]
        if self.annoyed > self.scenario.persona.patience:
            return Reaction(f"{text}\n{self._phrase('leaves')}".strip(), "abandoned")
        return Reaction(text)

    def _phrase(self, kind: str) -> str:
        self._throws[f"phrase {kind}"] += 1
        wordings = phrases()["user"][self.scenario.persona.language][kind]
        return pick(wordings, self.part, self.seed, self.scenario.id, self.repeat, kind, self._throws[f"phrase {kind}"])

    def _throw(self, what: str) -> float:
        self._throws[what] += 1
        return dice(self.seed, self.scenario.id, self.repeat, what, self._throws[what])
