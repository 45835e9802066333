"""The device and the services behind it: a state of plain values, and pure functions that break, show and mend it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from memlab.simulation.world import Component, Fault, Tool, World, dice

__all__ = [
    "TIMED_OUT",
    "Done",
    "State",
    "act",
    "broken",
    "healthy",
    "noticed",
    "read",
    "snapshot",
    "whole",
    "with_faults",
]

TIMED_OUT = "timed out: the device did not answer; try again"
RELIEF = 45.0  # minutes that a workaround holds before the trouble is back


@dataclass(frozen=True, slots=True)
class State:
    """What is not as it should be, at a minute; everything else has its healthy value.

    Attributes
    ----------
    values : mapping of label to text
        Components that differ from healthy.
    eased : mapping of fault id to minute
        Until when a workaround hides a fault's symptoms.
    """

    customer: str
    values: Mapping[str, str] = field(default_factory=dict)
    eased: Mapping[str, float] = field(default_factory=dict)
    minute: float = 0.0

    def after(self, minutes: float) -> State:
        """The same, later."""
        return replace(self, minute=self.minute + minutes)


@dataclass(frozen=True, slots=True)
class Done:
    """What an action did: the new state, whether anything moved towards mending, what broke, and what the tool says."""

    state: State
    helped: bool
    harmed: bool
    says: str


def healthy(customer: str) -> State:
    """A device on which nothing is wrong."""
    return State(customer)


def with_faults(state: State, faults: Iterable[Fault]) -> State:
    """The state with these faults in it, too."""
    return replace(state, values={**state.values, **{f.component.label: f.component.broken for f in faults}})


def broken(world: World, state: State) -> list[Fault]:
    """The faults that are not mended, whether or not a workaround hides them."""
    return [f for f in world.at(state.customer) if _stage(state, f.component) is not None]


def noticed(world: World, state: State) -> list[Fault]:
    """The faults that the user can notice now."""
    return [f for f in broken(world, state) if state.eased.get(f.id, -1.0) < state.minute]


def whole(state: State) -> bool:
    """Whether nothing at all is broken, neither by a fault nor by what was done about it."""
    return not state.values


def snapshot(world: World, state: State) -> dict[str, str]:
    """Every component of the customer with its value: the device as plain data."""
    labels = {c.label: c.healthy for c in _components(world, state)}
    return {**labels, **state.values}


def read(world: World, state: State, tool: Tool, *, key: object = "") -> list[str]:
    """What a reading shows: one line ``label: value`` a component, and something harmless that looks odd.

    Parameters
    ----------
    key : object
        Which oddities of the tool the device has; any value.
    """
    shown = [c for c in _components(world, state) if c.reads == tool.name]
    lines = [f"{c.label}: {state.values.get(c.label, c.healthy)}" for c in shown]
    odd = [line for line in world.oddities.get(tool.name, ()) if dice(key, "odd", line) < 0.6]
    return sorted([*lines, *odd], key=lambda line: dice(key, "order", line))


def act(world: World, state: State, tool: Tool, *, works: bool = True) -> Done:
    """Carry an action out.

    Parameters
    ----------
    works : bool
        False if the tool itself fails this time (a time-out): then nothing changes but the minute.
    """
    state = state.after(tool.minutes)
    if not works:
        return Done(state, False, False, TIMED_OUT)
    values, eased, says, helped = dict(state.values), dict(state.eased), "done", False
    harms = [h for h in world.harms if h.action == tool.name]
    present = {f.id for f in broken(world, state)}
    for component in _components(world, state):
        stage = _stage(state, component)
        if stage is not None and component.mend[stage] == tool.name:
            helped = True
            if stage + 1 == len(component.mend):
                del values[component.label]
            else:
                values[component.label] = _staged(component, stage + 1)
                says = f"done, not in effect yet: {_hint(world, component.mend[stage + 1])}"
    for fault in broken(world, state):
        if fault.around == tool.name:
            eased[fault.id] = state.minute + RELIEF
    broke = [h.component for h in harms if not helped and not h.unless & present and h.component.label not in values]
    values |= {c.label: c.broken for c in broke}
    return Done(replace(state, values=values, eased=eased), helped, bool(broke), says)


def _components(world: World, state: State) -> Iterator[Component]:
    """Every component of this customer, and what an action has broken meanwhile; each once."""
    yield from (f.component for f in world.at(state.customer))
    yield from (h.component for h in world.harms if h.component.label in state.values)


def _stage(state: State, component: Component) -> int | None:
    """How many mending steps are done; None if it is healthy."""
    value = state.values.get(component.label)
    if value is None:
        return None
    return next((n for n in range(1, len(component.mend)) if value == _staged(component, n)), 0)


def _staged(component: Component, steps: int) -> str:
    return f"{component.broken} (step {steps} of {len(component.mend)} done)"


def _hint(world: World, following: str) -> str:
    if following.startswith("restart.") or following.endswith("sync_device"):
        return f"takes effect after: {world.tools[following].does}"
    return "one more step is needed"
