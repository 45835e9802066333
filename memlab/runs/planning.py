"""Which values each notebook gets: overrides checked by name and type, and sweeps spread into single cases."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memlab.errors import RunError
from memlab.records import content_hash
from memlab.runs.parameters import Parameter, check_parameters, unknown_parameter

__all__ = ["MOST_CASES", "case_name", "overrides_of", "spread_cases", "takers"]

MOST_CASES = 200

_Declared = Mapping[Path, Sequence[Parameter]]


def overrides_of(declared: _Declared, given: Mapping[str, object]) -> dict[Path, dict[str, Any]]:
    """Checked overrides of each notebook.

    Raises
    ------
    RunError
        If no notebook declares a name (the message has the nearest), or a value does not fit its type.
    """
    _check_names(declared, given)
    chosen: dict[Path, dict[str, Any]] = {}
    for path, known in declared.items():
        mine = {p.name: given[p.name] for p in known if p.name in given}
        chosen[path] = check_parameters(known, mine, where=path.name)
    return chosen


def spread_cases(declared: _Declared, given: Mapping[str, object]) -> tuple[dict[str, object], ...]:
    """Every combination of the values given, one case each, the last name changing fastest.

    Text with commas, and a list, are several values, unless the parameter is a list or an object itself: those are
    never split. Text in double quotes is one value. A tuple is several values for every type.

    Parameters
    ----------
    declared : mapping
        The parameters of each notebook.
    given : mapping
        Values by name.

    Returns
    -------
    tuple of dict
        One case if there is nothing to sweep.

    Raises
    ------
    RunError
        If a name is unknown, a sweep has no value or one twice, or there are more than 200 cases.
    """
    _check_names(declared, given)
    values = {name: _values(name, value, _holds_many(declared, name)) for name, value in given.items()}
    count = 1
    for found in values.values():
        count *= len(found)
    if count > MOST_CASES:
        raise RunError(f"{count} combinations of parameters; at most {MOST_CASES} in one sweep, split it")
    return tuple(dict(zip(values, case, strict=True)) for case in itertools.product(*values.values()))


def case_name(swept: Mapping[str, object]) -> str:
    """A folder's name for a case: its values where they are short and plain, else also their hash.

    >>> case_name({"half_life": 30, "arm": "raw"})
    'half_life=30,arm=raw'
    """
    text = ",".join(f"{name}={value}" for name, value in swept.items())
    plain = re.sub(r"[^A-Za-z0-9_.=+,-]", "_", text)
    if plain == text and len(text) <= 80:
        return text
    return f"{plain[:60]}-{content_hash(sorted((k, str(v)) for k, v in swept.items()), length=8)}"


def takers(declared: _Declared, swept: Sequence[str]) -> tuple[Path, ...]:
    """The notebooks that a sweep concerns: those with one of its parameters (all, without a sweep)."""
    return tuple(p for p, known in declared.items() if not swept or {k.name for k in known} & set(swept))


def _check_names(declared: _Declared, given: Mapping[str, object]) -> None:
    names = {p.name for known in declared.values() for p in known}
    where = next(iter(declared)).name if len(declared) == 1 else "this run"
    for name in given:
        if name not in names:
            raise RunError(unknown_parameter(name, names, where))


def _holds_many(declared: _Declared, name: str) -> bool:
    """Whether a notebook declares it as a list or an object: its text and lists are one value then."""
    return any(p.name == name and p.type.startswith(("list", "dict")) for known in declared.values() for p in known)


def _values(name: str, value: object, many: bool) -> list[object]:
    if isinstance(value, tuple):
        found = [v for one in value for v in _values(name, one, many)]
    elif many:
        found = [value]
    elif isinstance(value, list):
        found = list(value)
    elif isinstance(value, str) and "," in value:
        quoted = len(value) > 1 and value[0] == value[-1] == '"'
        found = [value[1:-1]] if quoted else [part.strip() for part in value.split(",")]
    else:
        found = [value]
    texts = [str(v) for v in found]
    if not found or (len(found) > 1 and "" in texts):
        raise RunError(f"parameter {name}: a sweep over {value!r} has an empty value; write values with commas between")
    twice = sorted({t for t in texts if texts.count(t) > 1})
    if twice:
        raise RunError(f"parameter {name}: the value {twice[0]} stands twice in the sweep")
    return found
