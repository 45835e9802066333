"""What a run did and stated, as records: the content of `results.json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memlab.runs.provenance import Provenance
from memlab.runs.schema import SCHEMA_VERSION, Result, Table

__all__ = ["NotebookRun", "RunResult", "Sweep"]


@dataclass(frozen=True, slots=True)
class NotebookRun:
    """What one notebook of a run did and stated.

    Attributes
    ----------
    name : str
        File name without its ending.
    title : str
        Its first heading.
    error : str or None
        Why it failed; None if it ran to its end.
    seconds, cells
        Wall time of the notebook, and of each cell that ran.
    parameters : mapping
        All parameters with the values that they had.
    overridden : tuple of str
        Names of those that were given.
    stamp : mapping
        The provenance that the notebook shows.
    results, tables : mapping
        What it recorded, by name.
    fingerprint : str
        Hash of its sources, its parameters, memlab's own files and the versions of packages: `--resume` takes over
        what an earlier run did under the same one.
    """

    name: str
    title: str
    error: str | None
    seconds: float
    cells: tuple[float, ...]
    parameters: Mapping[str, Any] = field(hash=False)
    overridden: tuple[str, ...]
    stamp: Mapping[str, Any] = field(hash=False)
    results: Mapping[str, Result] = field(hash=False)
    tables: Mapping[str, Table] = field(hash=False)
    fingerprint: str = ""

    @property
    def ok(self) -> bool:
        """Whether it ran to its end."""
        return self.error is None

    @property
    def outcome(self) -> str:
        """One line: the time and what was recorded, or what went wrong."""
        if self.error is not None:
            return f"FAILED after {self.seconds:.1f} s: {self.error}"
        return f"done in {self.seconds:.1f} s, {len(self.results)} numbers, {len(self.tables)} tables"

    def to_json(self) -> dict[str, Any]:
        """As its entry in `results.json`."""
        return {
            "title": self.title,
            "ok": self.ok,
            "error": self.error,
            "seconds": round(self.seconds, 3),
            "cell_seconds": list(self.cells),
            "parameters": dict(self.parameters),
            "overridden": list(self.overridden),
            "fingerprint": self.fingerprint,
            "provenance": dict(self.stamp),
            "results": {k: r.to_json() for k, r in self.results.items()},
            "tables": {k: self._table(k, t) for k, t in self.tables.items()},
        }

    def _table(self, key: str, table: Table) -> dict[str, Any]:
        files = {ending: f"tables/{self.name}.{key}.{ending}" for ending in ("csv", "parquet")}
        return {"columns": list(table.columns), "rows": len(table.rows), **files}


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run: its folder, where its numbers come from, and its notebooks in order."""

    folder: Path
    provenance: Provenance
    notebooks: tuple[NotebookRun, ...]

    @property
    def ok(self) -> bool:
        """Whether every notebook ran to its end."""
        return all(n.ok for n in self.notebooks)

    def __str__(self) -> str:
        """A line a notebook, and where the report is."""
        width = max((len(n.name) for n in self.notebooks), default=0)
        lines = [f"{n.name:<{width}}  {n.outcome}" for n in self.notebooks]
        return "\n".join([*lines, f"report: {self.folder / 'index.html'}"])

    def to_json(self) -> dict[str, Any]:
        """As `results.json`: all recorded numbers, parameters, provenance and durations."""
        return {
            "schema": SCHEMA_VERSION,
            "ok": self.ok,
            "provenance": self.provenance.to_json(),
            "notebooks": {n.name: n.to_json() for n in self.notebooks},
        }


@dataclass(frozen=True, slots=True)
class Sweep:
    """Several runs that differ in parameters: each in a folder of its own below one, in the order of the values."""

    folder: Path
    runs: tuple[RunResult, ...]
    values: tuple[Mapping[str, Any], ...] = field(hash=False)

    def __iter__(self) -> Iterator[RunResult]:
        return iter(self.runs)

    @property
    def ok(self) -> bool:
        """Whether every notebook of every run ran to its end."""
        return all(r.ok for r in self.runs)

    def __str__(self) -> str:
        """The account of each run under its values, and where the page over all of them is."""
        parts = [f"{run.folder.name}\n{run}" for run in self.runs]
        return "\n".join([*parts, f"all runs: {self.folder / 'index.html'}"])

    def to_json(self) -> dict[str, Any]:
        """Each run with the values that it had."""
        rows = zip(self.values, self.runs, strict=True)
        runs = [{"folder": r.folder.name, "values": dict(v), **r.to_json()} for v, r in rows]
        return {"schema": SCHEMA_VERSION, "ok": self.ok, "runs": runs}
