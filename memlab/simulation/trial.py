"""One trial: an agent, a user and a device in one loop, within a budget of steps, and the record that it leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from memlab.models.tokens import count_tokens
from memlab.records import Role
from memlab.simulation.device import TIMED_OUT, State, act, broken, healthy, read, whole, with_faults
from memlab.simulation.records import EndedBy, Trial
from memlab.simulation.scenarios import Scenario
from memlab.simulation.users import Reaction, User
from memlab.simulation.world import Tool, World, dice

__all__ = ["Agent", "Event", "Played", "Step", "play"]

TIMEOUTS = 0.04  # share of the agent's own tool calls that time out
CONFIRM = "Is there anything that still does not work?"


@dataclass(frozen=True, slots=True)
class Event:
    """One message of a case: who, what, and the tool that it called or answers for ("" for words only)."""

    role: Role
    text: str
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """What an agent does next: ask the user, use a tool, hand over, or close the case."""

    kind: Literal["ask", "use", "escalate", "close"]
    text: str
    tool: str = ""


class Agent(Protocol):
    """Anything that takes the next step from what a model would get: the memory's text and the events so far."""

    def next(self, events: Sequence[Event]) -> Step:
        """The next step."""
        ...


@dataclass(frozen=True, slots=True)
class Played:
    """A trial's record, its messages, and the device as it was left."""

    trial: Trial
    events: tuple[Event, ...]
    state: State


@dataclass(slots=True)
class _Case:
    """What a running trial keeps count of."""

    world: World
    scenario: Scenario
    user: User
    luck: tuple[int, str, int]
    state: State
    events: list[Event] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    failed: set[str] = field(default_factory=set)
    first: str = ""
    repeated: int = 0
    harm: int = 0
    steps: int = 0
    ended: EndedBy = "budget"

    def hears(self, reaction: Reaction, tool: str = "") -> None:
        """Take in what the user says."""
        self.events.append(Event("user", reaction.text, tool))
        if reaction.over:
            self.ended = reaction.over

    @property
    def open(self) -> bool:
        return self.ended == "budget"


def play(
    world: World,
    scenario: Scenario,
    agent: Agent,
    user: User,
    *,
    arm: str,
    seed: int,
    repeat: int = 0,
    context: str = "",
    most_steps: int = 20,
) -> Played:
    """Play one scenario to its end.

    Parameters
    ----------
    arm, context : str
        What the agent was given to read; only named and counted here.
    most_steps : int
        The budget, the same for every arm.
    """
    state = with_faults(healthy(scenario.customer), scenario.faults(world))
    case = _Case(world, scenario, user, (seed, scenario.id, repeat), state)
    case.events.append(Event("user", user.open(state)))
    while case.open and case.steps < most_steps:
        step = agent.next(tuple(case.events))
        case.steps += 1
        case.events.append(Event("agent", step.text, step.tool))
        _take(case, step)
    return Played(_record(case, arm, seed, repeat, context), tuple(case.events), case.state)


def _take(case: _Case, step: Step) -> None:
    """Let one step happen."""
    if step.kind == "escalate":
        case.ended = "escalated"
    elif step.kind == "ask":
        case.hears(case.user.answer(step.text, case.state))
        case.state = case.state.after(2)
    elif step.kind == "close":
        left = broken(case.world, case.state)
        reaction = case.user.answer(CONFIRM, case.state) if left else Reaction("", "confirmed")
        case.hears(reaction)
        case.ended = case.ended if reaction.over else "escalated"
    elif step.tool not in case.world.tools:
        case.events.append(Event("tool", f"no tool {step.tool!r}", step.tool))
    else:
        tool = case.world.tools[step.tool]
        case.calls[tool.name] += 1
        (_look if tool.is_reading else _do)(case, tool)


def _works(case: _Case, tool: Tool) -> bool:
    return tool.by == "user" or dice(*case.luck, "time-out", tool.name, case.calls[tool.name]) >= TIMEOUTS


def _look(case: _Case, tool: Tool) -> None:
    case.state = case.state.after(tool.minutes)
    if tool.by == "user":
        case.user.effort += tool.minutes
        case.hears(case.user.look(tool, read(case.world, case.state, tool, key=case.scenario.id)), tool.name)
    elif _works(case, tool):
        lines = read(case.world, case.state, tool, key=case.scenario.id)
        case.events.append(Event("tool", "\n".join(lines), tool.name))
    else:
        case.events.append(Event("tool", TIMED_OUT, tool.name))
    if tool.by == "agent" and (reaction := case.user.waits(tool)).over:
        case.hears(reaction)


def _do(case: _Case, tool: Tool) -> None:
    mends = {name for f in case.scenario.faults(case.world) for name in f.component.mend}
    case.first = case.first or ("right" if tool.name in mends else "wrong")
    case.repeated += tool.name in case.failed
    really = tool.by == "agent" or case.user.carries_out(tool)
    works = _works(case, tool)
    done = act(case.world, case.state, tool, works=works and really)
    case.state = done.state
    case.harm += done.harmed
    if tool.by == "agent":
        case.events.append(Event("tool", done.says, tool.name))
    else:
        case.user.effort += tool.minutes
        if done.says != "done" and really:
            case.events.append(Event("tool", done.says, tool.name))
    if works:
        case.hears(case.user.test(tool, case.state), tool.name)
        if not done.helped:
            case.failed.add(tool.name)


def _record(case: _Case, arm: str, seed: int, repeat: int, context: str) -> Trial:
    relevant = frozenset().union(*(f.tools for f in case.scenario.faults(case.world)))
    calls = case.calls.total()
    read_and_written = sum(count_tokens(e.text) for e in case.events)
    return Trial(
        scenario=case.scenario.id,
        arm=arm,
        repeat=repeat,
        seed=seed,
        customer=case.scenario.customer,
        category=case.scenario.category,
        resolved=whole(case.state),
        steps=case.steps,
        tool_calls=calls,
        tool_relevance=round(sum(n for t, n in case.calls.items() if t in relevant) / calls, 6) if calls else None,
        first_action_right=case.first == "right",
        repeated_failed_steps=case.repeated,
        user_effort=round(case.user.effort, 3),
        user_errors=case.user.errors,
        harm=case.harm,
        minutes=round(case.state.minute, 3),
        tokens=count_tokens(context) + read_and_written,
        context_tokens=count_tokens(context),
        claimed_resolved=case.ended == "confirmed",
        ended_by=case.ended,
    )
