"""One page over many runs: which there are, what they were given, and each number side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memlab.errors import RunError
from memlab.records import canonical_json
from memlab.runs.files import write_bytes
from memlab.runs.frames import read_results
from memlab.runs.report import page
from memlab.runs.schema import Result, show

__all__ = ["find_runs", "index_page", "write_index"]


def find_runs(folder: str | Path) -> dict[str, dict[str, Any]]:
    """The content of each `results.json` below a folder (its own is left out), by the path of its folder, sorted.

    Raises
    ------
    RunError
        If there is none, or one can't be read.
    """
    base = Path(folder)
    files = [p for p in sorted(base.rglob("results.json")) if p.parent != base]
    if not files:
        raise RunError(f"{folder}: no run below it; `memlab run -o {folder}/NAME` makes one")
    return {p.parent.relative_to(base).as_posix(): read_results(p) for p in files}


def write_index(folder: str | Path) -> Path:
    """Write ``index.html`` over all runs below a folder; returns its path.

    Raises
    ------
    RunError
        If there is no run, one can't be read, or the folder holds a run of its own (whose index it would replace).
    """
    base = Path(folder)
    if (base / "results.json").exists():
        raise RunError(f"{base}: is a run itself, with an index of its own; name the folder above it")
    path = base / "index.html"
    write_bytes(path, index_page(find_runs(base)).encode())
    return path


def index_page(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """The page, from what `find_runs` gives; it loads nothing from anywhere."""
    return page("runs.html.j2", runs=[_row(n, r) for n, r in runs.items()], matrix=_matrix(runs), names=list(runs))


def _row(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    books = data["notebooks"]
    given = {k: e["parameters"][k] for e in books.values() for k in e["overridden"]}
    return {
        "name": name,
        "ok": data["ok"],
        "failed": [n for n, e in books.items() if not e["ok"]],
        "notebooks": len(books),
        "numbers": sum(len(e["results"]) for e in books.values()),
        "seconds": sum(e["seconds"] for e in books.values()),
        "given": ", ".join(f"{k} = {canonical_json(v)}" for k, v in given.items()),
        "commit": (data["provenance"].get("commit") or "")[:12],
        "dirty": data["provenance"].get("dirty"),
    }


def _matrix(runs: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row a recorded number, one cell a run; numbers that differ between runs are marked."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for name, data in runs.items():
        for book, entry in data["notebooks"].items():
            for key, raw in entry["results"].items():
                found.setdefault((book, key), {})[name] = _cell(Result.from_json(raw))
    return [
        {
            "notebook": book,
            "name": key,
            "cells": [cells.get(n, "") for n in runs],
            "differs": _differ(list(cells.values())),
        }
        for (book, key), cells in found.items()
    ]


def _cell(result: Result) -> str:
    value = show(result.value) + (f" {result.unit}" if result.unit else "")
    return value + (f" [{show(result.interval[0])}, {show(result.interval[1])}]" if result.interval else "")


def _differ(cells: Sequence[str]) -> bool:
    return len(set(cells)) > 1
