"""Two runs compared: every number that both notebooks record, by the cases that they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from memlab.errors import RunError
from memlab.records import canonical_json
from memlab.runs.frames import read_results
from memlab.runs.paired import Paired, Values, compare_values
from memlab.runs.schema import Result, Scalar

__all__ = ["LOWER_UNITS", "compare_runs"]

LOWER_UNITS = ("s", "ms", "tokens", "steps", "calls", "USD", "EUR", "MB", "bytes")
"""Units of numbers for which a fall is good."""


def compare_runs(
    a: str | Path, b: str | Path, *, lower: Sequence[str] = (), seed: int = 0, resamples: int = 2000
) -> Paired:
    """What changes from run A to run B, number by number, paired by the cases that the notebooks recorded.

    Parameters
    ----------
    a, b : path
        Folders with a `results.json`.
    lower : sequence of str
        Names (or patterns such as ``*seconds``) of numbers for which a fall is good; those with a unit of time, tokens,
        steps, calls or money are known.
    seed, resamples : int
        Of bootstrap and permutations.

    Raises
    ------
    RunError
        If a folder holds no run, or the two have no notebook in common.
    """
    sides = [read_results(Path(folder) / "results.json") for folder in (a, b)]
    books = [data["notebooks"] for data in sides]
    shared = [name for name in books[0] if name in books[1]]
    if not shared:
        raise RunError(f"{a} has {_names(books[0])} and {b} has {_names(books[1])}: no notebook in common")
    prefix = len(shared) > 1
    left, right = (dict(_numbers(data, shared, prefix=prefix)) for data in books)
    falls = [n for n, v in {**right, **left}.items() if v.unit in LOWER_UNITS or any(fnmatchcase(n, p) for p in lower)]
    lines = compare_values(left, right, lower=falls, seed=seed, resamples=resamples)
    return Paired(
        a=_name(a, b),
        b=_name(b, a),
        what=f"{len(shared)} notebook{'s' if prefix else ''} ({', '.join(shared)})",
        lines=lines,
        changed=_changed(sides, shared),
        costs={
            name: f"{sum(d['notebooks'][n]['seconds'] for n in shared):.1f} s"
            for name, d in zip("AB", sides, strict=True)
        },
        notes=_notes(books, shared, sides),
    )


def _name(mine: str | Path, other: str | Path) -> str:
    """The last parts of a path that tell it from the other."""
    path, beside = Path(mine).resolve(), Path(other).resolve()
    return path.name if path.name != beside.name else "/".join(path.parts[-2:])


def _names(books: Mapping[str, Any]) -> str:
    return ", ".join(books) or "no notebook"


def _numbers(books: Mapping[str, Any], shared: Sequence[str], *, prefix: bool) -> Iterator[tuple[str, Values]]:
    for book in shared:
        for name, raw in books[book]["results"].items():
            result = Result.from_json(raw)
            value = _as_number(result.value)
            cases = {c: _as_number(v) for c, v in result.cases.items() if not isinstance(v, str)}
            if value is not None or cases:
                yield f"{book}: {name}" if prefix else name, Values(value, cases, unit=result.unit or "")


def _as_number(value: Scalar) -> float | None:
    return float(value) if isinstance(value, (bool, int, float)) else None


def _changed(sides: Sequence[Mapping[str, Any]], shared: Sequence[str]) -> dict[str, str]:
    """Parameters, data, prompts, model, code and versions that are not the same on both sides."""
    found: dict[str, str] = {}
    for book in shared:
        old, new = (side["notebooks"][book] for side in sides)
        for what in ("parameters", "datasets", "prompts"):
            pair = [e["parameters"] if what == "parameters" else e["provenance"].get(what, {}) for e in (old, new)]
            found |= {f"{book}: {what[:-1]} {k}": how for k, how in _moved(*pair)}
        pair = [{k: e["provenance"].get(k) for k in ("model", "seed")} for e in (old, new)]
        found |= {f"{book}: {k}": how for k, how in _moved(*pair)}
    origins = [side["provenance"] for side in sides]
    found |= dict(_moved(*({k: o.get(k) for k in ("memlab", "source", "commit", "python")} for o in origins)))
    return found | {f"package {k}": how for k, how in _moved(*(o["packages"] for o in origins))}


def _moved(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key):
            yield key, f"{_short(old.get(key))} → {_short(new.get(key))}"


def _short(value: Any) -> str:
    text = canonical_json(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _notes(
    books: Sequence[Mapping[str, Any]], shared: Sequence[str], sides: Sequence[Mapping[str, Any]]
) -> tuple[str, ...]:
    notes = []
    for side, mine in zip("AB", books, strict=True):
        alone = [n for n in mine if n not in shared]
        notes += [f"only {side} has {', '.join(alone)}"] if alone else []
        notes += [f"{n} failed in {side}" for n in shared if not mine[n]["ok"]]
    if any("datasets" in key or "dataset " in key for key in _changed(sides, shared)):
        notes.append("the data differ, so that equal ids need not be equal cases")
    return tuple(notes)
