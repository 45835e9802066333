"""What a trial leaves behind: one flat record, one line of `trials.jsonl`, one row of a data frame."""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from memlab.errors import InputError
from memlab.records import canonical_json

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EndedBy", "Trial", "read_trials", "to_frame", "write_trials"]

EndedBy = Literal["confirmed", "abandoned", "escalated", "budget"]
"""Who ended it: the user confirmed, the user left, the agent gave up (escalated), or the budget of steps was spent."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One scenario played once with one arm.

    Attributes
    ----------
    scenario, arm : str
        Which case, and what the agent was given to read.
    repeat : int
        0, 1, …: the same case with other dice.
    seed : int
        The run's seed; with scenario and repeat it decides every draw, whatever the arm.
    customer, category : str
        Of the scenario.
    resolved : bool
        No fault is left in the final state of the device; a workaround alone does not resolve.
    steps : int
        Turns that the agent took (questions, readings, remediations, instructions), ≥ 1.
    tool_calls : int
        Of them, readings and actions, whoever carried them out.
    tool_relevance : float or None
        Share of tool calls that are among the diagnostic and fixing tools of the scenario's faults; None without a call.
    first_action_right : bool
        The first action (not reading) that was carried out mends, or helps to mend, one of the faults.
    repeated_failed_steps : int
        Actions tried again after they had failed in the same trial.
    user_effort : float
        Minutes that the user spent on answers, readings and actions (simulated).
    user_errors : int
        Wrong steps, steps claimed and not done, and wrong answers, all by the user; they are not the agent's.
    harm : int
        Actions that broke something that had worked.
    minutes : float
        Simulated time from the first message to the end.
    tokens : int
        WordPiece tokens of the memory given to the agent and of all that it read and wrote.
    context_tokens : int
        Of them, the memory given to the agent.
    claimed_resolved : bool
        The user confirmed at the end that it works, rightly or not.
    ended_by : {"confirmed", "abandoned", "escalated", "budget"}
    """

    scenario: str
    arm: str
    repeat: int
    seed: int
    customer: str
    category: str
    resolved: bool
    steps: int
    tool_calls: int
    tool_relevance: float | None
    first_action_right: bool
    repeated_failed_steps: int
    user_effort: float
    user_errors: int
    harm: int
    minutes: float
    tokens: int
    context_tokens: int
    claimed_resolved: bool
    ended_by: EndedBy

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells it from other trials of a run."""
        return (self.arm, self.scenario, self.repeat)

    def to_json(self) -> dict[str, Any]:
        """As a line of `trials.jsonl`."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Trial:
        """Read one object of `trials.jsonl`.

        Raises
        ------
        InputError
            If a field is missing, unknown, or not of its type.
        """
        types_ = get_type_hints(cls)
        for name, kind in types_.items():
            if name not in data:
                raise InputError(f"a trial needs {name!r}")
            if not _is(data[name], kind):
                raise InputError(f"a trial's {name} can't be {data[name]!r}")
        unknown = sorted(set(data) - set(types_))
        if unknown:
            raise InputError(f"a trial has no field {unknown[0]!r}; known: {', '.join(types_)}")
        return cls(**data)


def _is(value: object, kind: Any) -> bool:
    if get_origin(kind) in (Union, types.UnionType):
        return any(_is(value, k) for k in get_args(kind))
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return type(value) is kind


def write_trials(path: Path, trials: Iterable[Trial]) -> None:
    """Write a file of trials, sorted by arm, scenario and repeat, whole or not at all."""
    temporary = path.with_name(f"{path.name}.tmp")
    lines = (canonical_json(t.to_json()) for t in sorted(trials, key=lambda t: t.key))
    temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    temporary.replace(path)


def read_trials(path: Path) -> list[Trial]:
    """The trials of a file; a last line that a kill cut short is left out.

    Raises
    ------
    InputError
        If a line is not a trial; the message names file and line.
    """
    whole, found = path.read_text(encoding="utf-8").rpartition("\n")[0], []
    for number, line in enumerate(filter(None, whole.split("\n")), 1):
        try:
            found.append(Trial.from_json(json.loads(line)))
        except (ValueError, InputError) as error:
            raise InputError(f"{path}:{number}: {error}") from None
    return found


def to_frame(trials: Iterable[Trial]) -> pd.DataFrame:
    """One row a trial, sorted by arm, scenario and repeat."""
    import pandas as pd

    rows = [t.to_json() for t in sorted(trials, key=lambda t: t.key)]
    return pd.DataFrame(rows, columns=[f.name for f in dataclasses.fields(Trial)])
