"""Scenarios: who has which faults on which day, and how they put it. One JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args

from memlab.errors import InputError
from memlab.records import content_hash, parse_time, valid_customer
from memlab.simulation.world import Fault, World

__all__ = ["Complaint", "Language", "Persona", "Scenario", "ScenarioReport", "read_scenarios"]

Language = Literal["en", "de", "fr"]


@dataclass(frozen=True, slots=True)
class Persona:
    """Who asks.

    Attributes
    ----------
    patience : float
        How much annoyance the user bears before leaving; a failed action costs about 1, a question 0.6. > 0
    skill, honesty : float
        In [0, 1]: does what was asked rather than something else; says only what is true.
    language : {"en", "de", "fr"}
        Of what they answer.
    """

    patience: float = 8.0
    skill: float = 0.7
    honesty: float = 0.9
    language: Language = "en"


@dataclass(frozen=True, slots=True)
class Complaint:
    """A fault, and how this user describes it: first unasked, then on every question."""

    fault: str
    says: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One simulated case.

    Attributes
    ----------
    at : datetime
        When it happens; memory is looked at as of then.
    tags : tuple of str
        To group results by.
    """

    id: str
    customer: str
    category: str
    at: datetime
    complaints: tuple[Complaint, ...]
    persona: Persona = Persona()
    tags: tuple[str, ...] = ()

    @property
    def opening(self) -> str:
        """The user's first words about the first fault: what memory is asked with."""
        return self.complaints[0].says[0]

    def faults(self, world: World) -> list[Fault]:
        """The faults, in the order of complaint."""
        return [world.fault(c.fault) for c in self.complaints]

    def to_json(self) -> dict[str, Any]:
        """As a line of `scenarios.jsonl`."""
        p = self.persona
        return {
            "id": self.id,
            "customer": self.customer,
            "category": self.category,
            "at": self.at.isoformat(),
            "faults": [{"id": c.fault, "says": list(c.says)} for c in self.complaints],
            "persona": {"patience": p.patience, "skill": p.skill, "honesty": p.honesty, "language": p.language},
            "tags": list(self.tags),
        }

    @classmethod
    def from_json(cls, data: object, world: World) -> Scenario:
        """Read one object of `scenarios.jsonl`.

        Raises
        ------
        InputError
            If a field is missing or is not what it must be; the message names the field.
        """
        if not isinstance(data, Mapping):
            raise InputError(f"a scenario is a JSON object, not {type(data).__name__}")
        known = {"id", "customer", "category", "at", "faults", "persona", "tags"}
        if unknown := sorted(set(data) - known):
            raise InputError(f"a scenario has no field {unknown[0]!r}; known: {', '.join(sorted(known))}")
        customer, category = valid_customer(data.get("customer")), _text(data.get("category"), "category")
        if category not in world.checklists:
            raise InputError(f"category must be one of {', '.join(world.categories)}, not {category!r}")
        complaints = tuple(_complaint(f, world, customer) for f in _list(data.get("faults"), "faults"))
        if not complaints:
            raise InputError("faults must name at least one fault")
        if len({c.fault for c in complaints}) < len(complaints):
            raise InputError("faults must differ from each other")
        return cls(
            id=_text(data.get("id"), "id"),
            customer=customer,
            category=category,
            at=parse_time(data.get("at")),
            complaints=complaints,
            persona=_persona(data.get("persona", {})),
            tags=tuple(_text(t, "tags") for t in _list(data.get("tags", []), "tags")),
        )


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{name} must be a non-empty text, not {value!r}")
    return value.strip()


def _list(value: object, name: str) -> Sequence[object]:
    if not isinstance(value, list):
        raise InputError(f"{name} must be a list, not {value!r}")
    return value


def _complaint(value: object, world: World, customer: str) -> Complaint:
    if not isinstance(value, Mapping):
        raise InputError(f'faults must hold objects {{"id", "says"}}, not {value!r}')
    fault = world.fault(_text(value.get("id"), "id of a fault"))
    if fault.customer != customer:
        raise InputError(f"fault {fault.id!r} belongs to {fault.customer}, not to {customer}")
    says = tuple(_text(s, "says") for s in _list(value.get("says"), "says"))
    if not says:
        raise InputError(f"says of fault {fault.id!r} must hold at least one text")
    return Complaint(fault.id, says)


def _persona(value: object) -> Persona:
    if not isinstance(value, Mapping):
        raise InputError(f"persona must be an object, not {value!r}")
    if unknown := sorted(set(value) - {"patience", "skill", "honesty", "language"}):
        raise InputError(f"persona has no field {unknown[0]!r}; known: patience, skill, honesty, language")
    for name, most in (("patience", 1000.0), ("skill", 1.0), ("honesty", 1.0)):
        number = value.get(name, 0.5)
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 <= number <= most:
            raise InputError(f"{name} must be a number from 0 to {most:g}, not {number!r}")
    if value.get("language", "en") not in get_args(Language):
        raise InputError(f"language must be one of {', '.join(get_args(Language))}, not {value['language']!r}")
    return Persona(**value)


@dataclass(frozen=True, slots=True)
class ScenarioReport:
    """The scenarios of a file in its order, and what could not be read: ``file:line: reason``."""

    scenarios: tuple[Scenario, ...]
    skipped: tuple[str, ...]

    @property
    def hash(self) -> str:
        """Of everything in them: two runs of one hash played the same cases."""
        return content_hash([s.to_json() for s in self.scenarios])


def read_scenarios(path: str | Path, world: World, *, strict: bool = False) -> ScenarioReport:
    """Read a file of scenarios; a bad line is named with file, line and reason, and the rest goes on.

    Raises
    ------
    InputError
        If the file is missing or holds no scenario, or, when strict, at the first bad line.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    found: dict[str, Scenario] = {}
    skipped: list[str] = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            scenario = Scenario.from_json(json.loads(line.decode("utf-8")), world)
            if scenario.id in found:
                raise InputError(f"id {scenario.id!r} stands twice")
            found[scenario.id] = scenario
        except (InputError, ValueError, RecursionError) as error:
            reason = str(error) if isinstance(error, InputError) else f"not JSON: {error}"
            skipped.append(f"{path}:{number}: {reason}")
            if strict:
                raise InputError(skipped[-1]) from None
    if not found:
        raise InputError(skipped[0] if skipped else f"{path}: no scenario in this file")
    return ScenarioReport(tuple(found.values()), tuple(skipped))
