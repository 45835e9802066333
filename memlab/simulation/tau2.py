"""The telecom domain of τ²-bench as a device of ours: its causes as faults, its tasks played, its checks asked.

A phone and its line are one flat state; a call is a pure function from state to state, described in `tau2_phone.toml`.
The benchmark's files are read from a folder that the caller names; nothing of them is part of memlab.

References
----------
Barres et al. (2025), τ²-bench: Evaluating Conversational Agents in a Dual-Control Environment, arXiv:2506.07982.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from memlab.errors import InputError

__all__ = [
    "CHECKS",
    "Call",
    "Cause",
    "Check",
    "Outcome",
    "State",
    "Task",
    "act",
    "calls_of",
    "is_met",
    "play",
    "read",
    "read_causes",
    "read_tasks",
    "start",
]

State: TypeAlias = Mapping[str, Any]
By = Literal["customer", "agent"]


@dataclass(frozen=True, slots=True)
class Call:
    """One call with its arguments; `by` is None for a call that breaks something."""

    name: str
    args: Mapping[str, Any]
    by: By | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A question to the state, and the answer that counts as success."""

    name: str
    args: Mapping[str, Any]
    expect: bool = True


@dataclass(frozen=True, slots=True)
class Cause:
    """A fault: the calls that break, and those that mend; none of these for one that nobody at hand can mend."""

    id: str
    breaks: tuple[Call, ...]
    fixes: tuple[Call, ...]
    solvable: bool


@dataclass(frozen=True, slots=True)
class Task:
    """One case of the benchmark."""

    id: str
    split: str
    intent: str
    causes: tuple[str, ...]
    breaks: tuple[Call, ...]
    fixes: tuple[Call, ...]
    checks: tuple[Check, ...]
    solvable: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a task.

    Attributes
    ----------
    broken : bool
        After the breaking calls some check fails (or, where nothing can be mended, there is no service).
    solved : bool
        After the actions every check holds.
    refused : tuple of str
        Actions that could not be done, with the reason.
    final : State
    """

    broken: bool
    solved: bool
    refused: tuple[str, ...]
    final: State


@cache
def _phone() -> Mapping[str, Any]:
    return tomllib.loads((resources.files("memlab.simulation") / "tau2_phone.toml").read_text("utf-8"))


def calls_of(by: By | None) -> tuple[str, ...]:
    """Names of the actions of a customer or agent, or (None) of the calls that break, sorted."""
    return tuple(sorted(name for name, row in _phone()["calls"].items() if row.get("by") == by))


def start(folder: str | Path, *, phone_number: str) -> State:
    """A healthy phone of the customer with this number, as the benchmark's two data bases describe it.

    Raises
    ------
    InputError
        If a file is missing or does not hold the number's line, customer and plan.
    """
    phone = _phone()
    device = _toml(Path(folder) / "user_db.toml").get("device", {})
    carrier = _toml(Path(folder) / "db.toml")
    line = _one(carrier.get("lines", ()), "phone_number", phone_number)
    customer = _one(carrier.get("customers", ()), "line_ids", line["line_id"])
    plan = _one(carrier.get("plans", ()), "plan_id", line["plan_id"])
    state = dict(phone["healthy"])
    state |= {key: _at(device, place) for key, place in phone["from_device"].items()}
    state |= {key: _at(line, place) for key, place in phone["from_line"].items()}
    state |= {"customer_id": customer["customer_id"], "limit_gb": plan["data_limit_gb"], "mmsc": "set"}
    return _frozen(_search(state))


def act(state: State, call: Call) -> State:
    """The state after a call; what is not in the call's description stays as it was.

    Raises
    ------
    InputError
        If the call is unknown or an argument is missing, if it is about another line or customer, or if the state does
        not allow it (nobody asked for a payment, the contract has ended, no more data may be added).
    """
    row = _phone()["calls"].get(call.name)
    if row is None:
        raise InputError(f"a phone knows no call {call.name!r}; it knows {', '.join(sorted(_phone()['calls']))}")
    for argument, key in row.get("match", {}).items():
        if _argument(call, argument) != state[key]:
            raise InputError(f"{call.name}: {argument} {call.args[argument]!r} is not at hand; this is {state[key]!r}")
    for key, value in row.get("need", {}).items():
        if state[key] != value:
            raise InputError(f"{call.name}: not possible while {key} is {state[key]!r}; it must be {value!r}")
    after = dict(state)
    if all(state[key] == value for key, value in row.get("when", {}).items()):
        after |= {key: _value(call, value) for key, value in row.get("set", {}).items()}
    if "permission" in row:
        after[_permission(state, call)] = row["permission"]
    for key in row.get("flip", ()):
        after[key] = not state[key]
        after |= row.get("on", {}) if after[key] else {}
    for key, value in row.get("add", {}).items():
        after[key] = state[key] + _value(call, value)
        if after[key] > row["most"][key] or _value(call, value) <= 0:
            raise InputError(f"{call.name}: {key} may reach {row['most'][key]} at most, not {after[key]}")
    return _frozen(_search(after) if row.get("search") else after)


def _argument(call: Call, name: str) -> Any:
    if name not in call.args:
        raise InputError(f"{call.name} needs the argument {name!r}")
    return call.args[name]


def _value(call: Call, value: Any) -> Any:
    if not isinstance(value, str) or "$" not in value:
        return value
    before, _, name = value.partition("$")
    given = _argument(call, name)
    return f"{before}{given}" if before else given


def _permission(state: State, call: Call) -> str:
    key = f"perm_{_argument(call, 'permission')}"
    if _argument(call, "app_name") != "messaging" or key not in state:
        raise InputError(f"{call.name}: only sms and storage of the app messaging are modelled, not {dict(call.args)}")
    return key


def _search(state: Mapping[str, Any]) -> dict[str, Any]:
    """What the phone finds when it looks for a network: service and technology."""
    modes = _phone()["modes"]
    if state["mode"] not in modes:
        raise InputError(f"no network mode {state['mode']!r}; there are {', '.join(sorted(modes))}")
    found = (
        not state["airplane_mode"]
        and not state["sim_missing"]
        and state["sim"] == "active"
        and state["apn"] != "broken"
        and state["line"] == "Active"
    )
    service, technology = ("connected", modes[state["mode"]]) if found else ("no_service", "none")
    return {**state, "service": service, "technology": technology}


def _data_works(s: State) -> bool:
    abroad = s["abroad"] and not (s["roaming"] and s["line_roaming"])
    return bool(s["service"] == "connected" and not s["airplane_mode"] and s["data"] and not abroad and not _over(s))


def _over(s: State) -> bool:
    return bool(s["used_gb"] >= s["limit_gb"] + s["refuel_gb"])


def _speed(s: State) -> float:
    """Megabit a second; 0 without a connection."""
    if not _data_works(s):
        return 0.0
    phone = _phone()
    slower = phone["slower"]["vpn_poor"] if s["vpn"] == "poor" else 1.0
    slower *= phone["slower"]["data_saver"] if s["data_saver"] else 1.0
    return float(round(phone["speeds"][s["technology"]] * slower, 2))


def _word(speed: float) -> str:
    return max((float(least), str(word)) for word, least in _phone()["words"].items() if speed >= least)[1]


def _mms(s: State) -> bool:
    over_wifi = s["wifi_calling"] and s["mms_over_wifi"]
    allowed = s["perm_sms"] and s["perm_storage"]
    return bool(_data_works(s) and s["technology"] != "2G" and not over_wifi and s["mmsc"] and allowed)


_DERIVED: Mapping[str, Callable[[State], Any]] = {
    "data_works": _data_works,
    "mms": _mms,
    "over_limit": _over,
    "speed": _speed,
}


def read(state: State, reading: str) -> dict[str, Any]:
    """What a reading shows of the state.

    Raises
    ------
    InputError
        If there is no such reading.
    """
    readings = _phone()["readings"]
    if reading not in readings:
        raise InputError(f"a phone knows no reading {reading!r}; it knows {', '.join(sorted(readings))}")
    return {k: _DERIVED[k](state) if k in _DERIVED else state[k] for k in readings[reading]["shows"]}


CHECKS: Mapping[str, Callable[[State, Mapping[str, Any]], bool]] = {
    "assert_service_status": lambda s, a: bool(s["service"] == a["expected_status"]),
    "assert_mobile_data_status": lambda s, a: _data_works(s) is a["expected_status"],
    "assert_can_send_mms": lambda s, a: _mms(s) is a["expected_status"],
    "assert_internet_speed": lambda s, a: bool(
        _speed(s) >= a["expected_speed"] and a.get("expected_desc", _word(_speed(s))) == _word(_speed(s))
    ),
    "assert_data_refueling_amount": lambda s, a: abs(s["refuel_gb"] - a["expected_amount"]) < 1e-6,
    "assert_no_overdue_bill": lambda s, a: s["bill_id"] != a["overdue_bill_id"] or s["bill"] == "paid",
}
"""What the benchmark asks a final state, by name."""


def is_met(state: State, checks: Sequence[Check]) -> bool:
    """Whether every check gets the answer that it expects.

    Raises
    ------
    InputError
        If a check is unknown.
    """
    unknown = sorted({c.name for c in checks} - CHECKS.keys())
    if unknown:
        raise InputError(f"a phone can't answer the check {unknown[0]!r}; it answers {', '.join(sorted(CHECKS))}")
    return all(CHECKS[c.name](state, c.args) is c.expect for c in checks)


def play(folder: str | Path, task: Task, actions: Sequence[Call] | None = None) -> Outcome:
    """Break a healthy phone as the task says, do the actions (by default the task's own: the oracle), and ask the checks.

    An action that the state does not allow is noted and passed over. A task that can't be solved within the policy
    counts as solved if it was handed to a human with the phone still without service.
    """
    numbers = [c.args["phone_number"] for c in task.breaks if c.name == "set_user_info"]
    if not numbers:
        raise InputError(f"task {task.id!r} names no phone number (set_user_info)")
    state = start(folder, phone_number=numbers[0])
    for call in task.breaks:
        state = act(state, call)
    broken = not is_met(state, task.checks) if task.solvable else state["service"] == "no_service"
    refused: list[str] = []
    for call in task.fixes if actions is None else actions:
        try:
            state = act(state, call)
        except InputError as error:
            refused.append(str(error))
    solved = is_met(state, task.checks) and (task.solvable or state["transferred"])
    return Outcome(broken, bool(solved), tuple(refused), state)


def read_tasks(folder: str | Path, *, split: str | None = None) -> tuple[Task, ...]:
    """The tasks of a folder (``tasks_base114.jsonl``), of one split or of all.

    Raises
    ------
    InputError
        If the file is missing or a line is not a task; the message names file and line.
    """
    tasks = _lines(Path(folder) / "tasks_base114.jsonl", _task)
    chosen = tuple(t for t in tasks if split in (None, t.split))
    if not chosen:
        raise InputError(
            f"{folder}: no task of split {split!r}; there are {', '.join(sorted({t.split for t in tasks}))}"
        )
    return chosen


def read_causes(folder: str | Path) -> tuple[Cause, ...]:
    """The causes of a folder (``causes.jsonl``); see `read_tasks`."""
    return tuple(_lines(Path(folder) / "causes.jsonl", _cause))


def _task(data: Mapping[str, Any]) -> Task:
    checks = tuple(Check(str(c["check"]), dict(c["args"]), bool(c.get("expect", True))) for c in data["success"])
    return Task(
        id=str(data["id"]),
        split=str(data["split"]),
        intent=str(data["intent"]),
        causes=tuple(map(str, data["causes"])),
        breaks=_calls(data["break_calls"]),
        fixes=_calls(data["fix_actions"]),
        checks=checks,
        solvable=bool(data["solvable"]),
    )


def _cause(data: Mapping[str, Any]) -> Cause:
    solvable = bool(data["solvable_in_policy"])
    return Cause(str(data["cause"]), _calls(data["break_calls"]), _calls(data["fix_actions"]), solvable)


def _calls(rows: Sequence[Mapping[str, Any]]) -> tuple[Call, ...]:
    return tuple(Call(str(r.get("call") or r["tool"]), dict(r["args"]), r.get("by")) for r in rows)


def _lines(path: Path, make: Callable[[Mapping[str, Any]], Any]) -> list[Any]:
    found = []
    for number, line in enumerate(_text(path).splitlines(), 1):
        if line.strip():
            try:
                found.append(make(json.loads(line)))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InputError(f"{path}:{number}: not a line of τ²-bench telecom: {error!r}") from None
    return found


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not TOML: {error}") from None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: can't be read ({error}); name the folder with the τ²-bench telecom files") from None


def _one(rows: Sequence[Mapping[str, Any]], key: str, value: Any) -> Mapping[str, Any]:
    for row in rows:
        if row.get(key) == value or (isinstance(row.get(key), list) and value in row[key]):
            return row
    raise InputError(f"db.toml has nothing with {key} {value!r}")


def _at(data: Mapping[str, Any], place: str) -> Any:
    value: Any = data
    for key in place.split("."):
        if not isinstance(value, Mapping) or key not in value:
            raise InputError(f"the data base of the phone has no {place}")
        value = value[key]
    return value


def _frozen(state: Mapping[str, Any]) -> State:
    return MappingProxyType(dict(sorted(state.items())))
