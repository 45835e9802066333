"""What can break and what can be done about it, read from `tools.toml` and `faults.toml`; nothing here happens."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from hashlib import blake2b
from importlib import resources
from typing import Any, Literal

from memlab.errors import InputError

__all__ = ["Component", "Fault", "Harm", "Tool", "World", "dice", "load_world"]

Hands = Literal["agent", "user"]


@dataclass(frozen=True, slots=True)
class Component:
    """A thing on the device or in a service: its label, its healthy and its broken value, and which reading shows it."""

    label: str
    healthy: str
    broken: str
    reads: str
    mend: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong at one customer in a period of time.

    Attributes
    ----------
    component : Component
        What it breaks; mended by the actions of `component.mend`, in this order.
    cause, fix, detour : str
        The catalogue's words for root cause, solution and workaround ("" without one).
    around : str or None
        The action that makes the symptoms go away for a while and mends nothing.
    notices : tuple of str
        What the user notices, in the catalogue's words.
    heard : tuple of str
        How users put it in the conversations that memory learns from.
    common : int
        How often it comes, relative to the others.
    """

    id: str
    customer: str
    category: str
    since: date
    until: date
    component: Component
    cause: str
    fix: str
    around: str | None
    detour: str
    notices: tuple[str, ...]
    heard: tuple[str, ...]
    common: int

    @property
    def tools(self) -> frozenset[str]:
        """The readings and actions that have to do with it: what shows it and what mends it."""
        return frozenset((self.component.reads, *self.component.mend))

    def occurs(self, day: date) -> bool:
        """Whether it can come up on a day."""
        return self.since <= day <= self.until


@dataclass(frozen=True, slots=True)
class Tool:
    """A reading, or an action on a target, such as ``restart.outlook``.

    Attributes
    ----------
    name : str
        ``tool`` or ``tool.target``.
    by : {"agent", "user"}
        Whose hands it takes.
    minutes : float
        Simulated time.
    does : str
        What an agent reads about it.
    said : tuple of str
        How a technician puts it in a chat.
    """

    name: str
    by: Hands
    minutes: float
    does: str
    said: tuple[str, ...] = ()

    @property
    def is_reading(self) -> bool:
        """Whether it only looks."""
        return "." not in self.name


@dataclass(frozen=True, slots=True)
class Harm:
    """An action that breaks a component, unless one of some faults is there for it to mend."""

    action: str
    unless: frozenset[str]
    component: Component


@dataclass(frozen=True, slots=True)
class World:
    """All faults, tools, harms, checklists and harmless oddities."""

    faults: Mapping[str, Fault]
    tools: Mapping[str, Tool]
    families: Mapping[str, str]
    harms: tuple[Harm, ...]
    checklists: Mapping[str, tuple[str, ...]]
    oddities: Mapping[str, tuple[str, ...]]

    def at(self, customer: str, category: str | None = None) -> list[Fault]:
        """The faults of a customer (and category), by id."""
        return [f for f in self.faults.values() if f.customer == customer and category in (None, f.category)]

    def tool(self, name: str) -> Tool:
        """A tool by name.

        Raises
        ------
        InputError
            If there is none.
        """
        if name not in self.tools:
            raise InputError(f"no tool {name!r}; a reading such as read_audio, or tool.target such as restart.outlook")
        return self.tools[name]

    def fault(self, id_: str) -> Fault:
        """A fault by id.

        Raises
        ------
        InputError
            If there is none.
        """
        if id_ not in self.faults:
            raise InputError(f"no fault {id_!r}; known: {', '.join(list(self.faults)[:3])}, … ({len(self.faults)})")
        return self.faults[id_]

    @property
    def customers(self) -> list[str]:
        """Every customer, sorted."""
        return sorted({f.customer for f in self.faults.values()})

    @property
    def categories(self) -> list[str]:
        """Every category, sorted."""
        return sorted(self.checklists)


def dice(*key: object) -> float:
    """A number in [0, 1) that depends on the key alone: the same throw in every arm, order and process.

    >>> dice(1, "a") == dice(1, "a") != dice(2, "a")
    True
    """
    text = "\x1f".join(map(str, key))
    return int.from_bytes(blake2b(text.encode(), digest_size=7).digest(), "big") / 2**56


@cache
def load_world() -> World:
    """The world that ships with memlab."""
    tools, faults = (_read(name) for name in ("tools.toml", "faults.toml"))
    return World(
        faults={id_: _fault(id_, row) for id_, row in sorted(faults.items())},
        tools=_tools(tools),
        families={name: row["does"] for name, row in tools["tools"].items()},
        harms=tuple(_harm(row) for row in tools["harm"]),
        checklists={name: tuple(steps) for name, steps in tools["checklists"].items()},
        oddities={name: tuple(lines) for name, lines in tools["oddities"].items()},
    )


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((resources.files("memlab.simulation") / name).read_text("utf-8"))


def _tools(data: Mapping[str, Any]) -> dict[str, Tool]:
    found = [Tool(name, row["by"], row["minutes"], row["does"]) for name, row in data["readings"].items()]
    for family, targets in data["targets"].items():
        row = data["tools"][family]
        for target, does in targets.items():
            name = f"{family}.{target}"
            found.append(Tool(name, row["by"], row["minutes"], does, tuple(data["said"].get(name, ()))))
    return {tool.name: tool for tool in found}


def _fault(id_: str, row: Mapping[str, Any]) -> Fault:
    shows = row["shows"]
    component = Component(shows["label"], shows["healthy"], shows["broken"], row["reads"], tuple(row["mend"]))
    return Fault(
        id=id_,
        component=component,
        around=row.get("around"),
        detour=row.get("detour", ""),
        notices=tuple(row["notices"]),
        heard=tuple(row["heard"]),
        **{name: row[name] for name in ("customer", "category", "since", "until", "cause", "fix", "common")},
    )


def _harm(row: Mapping[str, Any]) -> Harm:
    label, broken, healthy, reads, mend = row["breaks"].split("|")
    return Harm(row["action"], frozenset(row["unless"]), Component(label, healthy, broken, reads, (mend,)))
