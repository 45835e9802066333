"""The scripted agent: general knowledge of the trade, tool results, and the context's text. The same rules in every arm.

It scores every step that it could take next and takes the best. What it knows without memory: a checklist a category,
what the tools say that they do, which values look wrong. What it has from memory: the lines of the context alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab.simulation.device import TIMED_OUT
from memlab.simulation.notes import Block, blocks_of, looks_fine, suspicion
from memlab.simulation.sight import Sight
from memlab.simulation.trial import Event, Step
from memlab.simulation.world import Tool, World

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Scores = NDArray[np.float64]

__all__ = ["ScriptedAgent", "Voice", "plain_voice"]

Voice = Callable[[str, "Tool | None", str, int], str]
"""Makes a message of (kind of step, tool, the reading that led there, number of the step)."""

RETRY = 0.45  # how far a step in the user's hands is used up by the first try
LEAST = 0.12  # a step that scores less is not worth the user's time: hand over
CAUTION = {"use_instead": 0.35, "renew_identity": 0.85, "reinstall": 0.9, "wait_for_provider": 0.9}


def plain_voice(kind: str, tool: Tool | None, reading: str, number: int) -> str:  # noqa: ARG001 - as Voice has it
    """A message in the tool's own words."""
    if tool is None:
        return "What exactly do you see?" if kind == "ask" else "I am handing this over to the specialists."
    start = f"I see: {reading}. " if reading else ""
    return f"{start}{'Please' if tool.by == 'user' else 'I will'}: {tool.does}."


class ScriptedAgent:
    """An agent for one category and one context.

    Parameters
    ----------
    world : World
        For the names and descriptions of tools and the checklist; faults are not looked at.
    category : str
        Of the ticket.
    context : str
        What memory gave; "" for none.
    sight : Sight
        How it compares texts; share one over all trials.
    voice : callable
        How it words its messages.
    """

    def __init__(self, world: World, category: str, context: str, *, sight: Sight, voice: Voice = plain_voice) -> None:
        self._sight, self._voice = sight, voice
        self._tools = list(world.tools.values())
        self._index = {t.name: n for n, t in enumerate(self._tools)}
        self._does = tuple(t.does for t in self._tools)
        self._reading = np.array([t.is_reading for t in self._tools])
        self._caution = np.array([CAUTION.get(t.name.partition(".")[0], 1.0) for t in self._tools])
        self._habit, self._asks = self._habits(world.checklists[category])
        self._memory = _Memory(blocks_of(context), self._does, sight)

    def next(self, events: Sequence[Event]) -> Step:
        """The step of the highest score; ties go to the tool that is listed first."""
        said, steps = self._said(events), sum(e.role == "agent" for e in events)
        spent = self._spent(events)
        memory, (readings, led) = self._from_memory(said, spent), self._from_readings(events, said, spent)
        reasons = self._combined(memory, readings, self._from_words(said)) * self._caution
        scores = np.where(spent > 0, reasons * (1 - spent), np.maximum(reasons, self._habit))
        best = int(np.argmax(np.round(scores, 4)))
        asked = sum(e.role == "agent" and not e.tool for e in events)
        if asked < len(self._asks) and self._asks[asked] > scores[best]:
            return Step("ask", self._voice("ask", None, "", steps))
        if scores[best] < LEAST:
            return Step("escalate", self._voice("escalate", None, "", steps))
        tool = self._tools[best]
        kind = "look" if tool.is_reading else "use"
        return Step("use", self._voice(kind, tool, led.get(best, ""), steps), tool.name)

    # -- what it knows -------------------------------------------------------------------------------------------

    def _habits(self, checklist: Sequence[str]) -> tuple[Scores, tuple[float, ...]]:
        """What the checklist makes of every tool, falling with its place, and what questions are worth."""
        habit, worth = np.zeros(len(self._tools)), 0.0
        for place, name in enumerate(checklist):
            value = 0.5 - 0.025 * place
            if name == "ask":
                worth = value
            else:
                habit[self._index[name]] = value
        return habit, (worth, 0.4, 0.2)

    def _said(self, events: Sequence[Event]) -> tuple[str, ...]:
        """What the user said about the problem: opening, answers to questions, and more than a word after an action."""
        return tuple(
            e.text for e in events if e.role == "user" and (not e.tool or ("." in e.tool and len(e.text.split()) > 10))
        )

    def _spent(self, events: Sequence[Event]) -> Scores:
        """For every tool, how far it is used up, in [0, 1].

        1 after it was used; 0 again after it timed out, or after a step that is said not to be in effect yet: what was
        tried before it may help now. What a user's hands did may be asked for once more, for it may not have been done.
        """
        spent = np.zeros(len(self._tools))
        for event in events:
            number = self._index.get(event.tool)
            if number is None:
                continue
            if event.role == "agent":
                again = self._tools[number].by == "user" and spent[number] == 0 and not self._tools[number].is_reading
                spent[number] = RETRY if again else 1.0
            elif event.text == TIMED_OUT:
                spent[number] = 0.0
            elif event.role == "tool" and event.text.startswith("done, not in effect yet"):
                spent[(spent > 0) & ~self._reading] = 0.2
                spent[number] = 1.0
        return spent

    # -- where scores come from ----------------------------------------------------------------------------------

    def _alike(self, text: str, spent: Scores, least: float) -> Scores:
        """How much a text is about each tool; see `_ranked`."""
        return np.asarray(_ranked(self._sight.alike(text, self._does)[None, :], spent, least)[0], np.float64)

    def _from_words(self, said: Sequence[str]) -> Scores:
        """A technician's guess from the user's words alone."""
        found = np.maximum.reduce([self._sight.alike(text, self._does) for text in said])
        return np.asarray(0.4 * np.clip((found - 0.35) / 0.5, 0, 1), np.float64)

    def _from_readings(
        self, events: Sequence[Event], said: tuple[str, ...], spent: Scores
    ) -> tuple[Scores, dict[int, str]]:
        """What values that look wrong, or that the user's words are about, suggest; and which value led to which tool."""
        scores, led = np.zeros(len(self._tools)), dict[int, str]()
        for event in events:
            if not event.tool or event.role == "agent":
                continue
            for line in event.text.splitlines():
                if "." not in event.tool:
                    likeness = float(self._sight.alike(line, said).max())
                    wrong = suspicion(line)
                    about = wrong * (0.5 + 0.5 * float(np.clip(likeness / 0.7, 0, 1)))
                    about = 0.0 if looks_fine(line) else max(about, 0.8 * float(np.clip((likeness - 0.4) / 0.3, 0, 1)))
                elif line.startswith("done, not in effect"):
                    about = 1.0
                else:
                    continue
                if about > LEAST / 2:
                    found = about * self._alike(line, spent, 0.25) * ~self._reading
                    led |= {int(n): line for n in np.flatnonzero(found > scores)}
                    scores = np.maximum(scores, found)
        return scores, led

    def _from_memory(self, said: tuple[str, ...], spent: Scores) -> Scores:
        """What the context suggests: steps of blocks that fit the user's words, less those that did not help there."""
        memory, weights = self._memory, self._memory.weights(said)
        if not len(weights):
            return np.zeros(len(self._tools))
        found = weights[:, None] * _ranked(memory.likeness, spent, 0.4)
        helped, failed, cause = memory.favour > 0, memory.favour < 0, memory.is_cause
        acts = found * ~self._reading
        good = np.maximum(_most(acts[helped & ~cause]), _most(found[cause]))
        return np.asarray(np.clip(good - _most(found[failed]), 0, 1), np.float64)

    @staticmethod
    def _combined(*parts: Scores) -> Scores:
        """Several reasons for one step add up like independent chances."""
        return np.asarray(1 - np.prod([1 - np.clip(p, 0, 0.99) for p in parts], axis=0), np.float64)


class _Memory:
    """A context, compared with the tools once, and with what the user says whenever that is new."""

    def __init__(self, blocks: Sequence[Block], does: tuple[str, ...], sight: Sight) -> None:
        rows = [(n, line) for n, block in enumerate(blocks) for line in block.lines]
        self._sight = sight
        sight.learn([*does, *(line.text for _, line in rows)])
        told = [(n, line.text) for n, line in rows if line.use != "step"]
        self._told, self._told_block = tuple(text for _, text in told), np.array([n for n, _ in told], np.int64)
        steps = [(n, line) for n, line in rows if line.use != "about"]
        self._block = np.array([n for n, _ in steps], np.int64)
        self.favour = np.array([line.favour for _, line in steps], np.float64)
        self.is_cause = np.array([line.use == "cause" for _, line in steps], bool)
        self.likeness = np.array([sight.alike(line.text, does) for _, line in steps]).reshape(-1, len(does))
        self._nearest: dict[str, Scores] = {}
        self._count = len(blocks)

    def weights(self, said: Sequence[str]) -> Scores:
        """What each line of steps and causes weighs: how well its block fits, and how much the line speaks."""
        if not self._told or not len(self._block):
            return np.zeros(len(self._block))
        near = np.array([self._near(text) for text in said])
        fits = np.clip((near.max(axis=0) + near.mean(axis=0)) / 2 / 0.75, 0, 1.1)
        best = max(float(fits.max()), 1e-9)
        weight = np.where(fits < 0.5 * best, 0.0, fits * (fits / best) * 0.98 ** np.arange(self._count))
        return np.asarray(weight[self._block] * np.abs(self.favour), np.float64)

    def _near(self, text: str) -> Scores:
        """For every block, the likeness of its nearest line about the problem; 0 without such a line."""
        if text not in self._nearest:
            found = np.zeros(self._count)
            np.maximum.at(found, self._told_block, self._sight.alike(text, self._told))
            self._nearest[text] = found
        return self._nearest[text]


def _ranked(likeness: NDArray[Any], spent: Scores, least: float) -> Scores:
    """How much each text (a row) is about each tool: 0 below a likeness of `least`, 1 from `least` + 0.5 on.

    Only the best fit counts in full. If that one is used up, the next takes its place at a discount.
    """
    found = np.clip((likeness.astype(np.float64) - least) / 0.5, 0, 1)
    if not len(found):
        return np.zeros(found.shape)
    discount = np.where(spent[found.argmax(axis=1)] < 1, 1.0, 0.7)
    found *= spent < 1
    top = np.maximum(found.max(axis=1), 1e-9)
    return np.asarray(discount[:, None] * found * (found / top[:, None]) ** 3, np.float64)


def _most(rows: Scores) -> Scores:
    return np.asarray(rows.max(axis=0), np.float64) if len(rows) else np.zeros(rows.shape[1])
