"""`memlab run`: notebooks in, a folder of executed notebooks, recorded results, tables and reports out."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memlab.errors import RunError
from memlab.runs.files import find_notebooks, read_notebook, write_bytes, write_json
from memlab.runs.kernel import Execution, Limits, execute_notebook
from memlab.runs.normalise import code_hash, notebook_bytes, prose_hash, stripped
from memlab.runs.parameters import Parameter, check_parameters, parameters_of, unknown_parameter
from memlab.runs.progress import Progress, Step, reporter
from memlab.runs.provenance import Provenance, stamp
from memlab.runs.record import results_of, stamp_of, tables_of
from memlab.runs.report import index_html, notebook_html
from memlab.runs.schema import SCHEMA_VERSION, Result, Table

__all__ = ["NotebookRun", "RunResult", "run"]


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
            "provenance": dict(self.stamp),
            "results": {k: r.to_json() for k, r in self.results.items()},
            "tables": {
                k: {"columns": list(t.columns), "rows": len(t.rows), "csv": f"tables/{self.name}.{k}.csv"}
                for k, t in self.tables.items()
            },
        }


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


def run(
    notebooks: str | Path | Sequence[str | Path],
    *,
    parameters: Mapping[str, object] | None = None,
    output: str | Path,
    timeout_cell: float = 300.0,
    timeout_run: float = 900.0,
    progress: bool | Progress = True,
) -> RunResult:
    """Execute notebooks and write what they say; a notebook that fails is reported, and the next one runs.

    In `output` appear, for each notebook, the executed and normalised ``NAME.ipynb``, a self-contained ``NAME.html``,
    its tables as ``tables/NAME.TABLE.csv`` and ``.parquet``; and for all ``results.json`` and ``index.html``. They are
    written after every notebook, so a run that is killed keeps what it has.

    Parameters
    ----------
    notebooks : path or paths
        Notebook files, or folders of them.
    parameters : mapping, optional
        Overrides by name, each for every notebook that declares it; text is read in the declared type.
    output : path
        The folder to write to.
    timeout_cell, timeout_run : float
        Seconds that a cell and a whole notebook may take, > 0.
    progress : bool or callable
        Progress on stderr, none, or a callable that gets each `Step`.

    Returns
    -------
    RunResult
        ``ok`` is false if a notebook failed.

    Raises
    ------
    RunError
        Before any kernel starts: a notebook is missing or unreadable, a parameter is unknown or of a wrong type, or
        the folder can't be written.
    """
    limits = Limits(timeout_cell, timeout_run)
    paths = find_notebooks(notebooks if isinstance(notebooks, (str, Path)) else list(notebooks))
    nodes = {path: read_notebook(path) for path in paths}
    declared = {path: parameters_of(stripped(node)) for path, node in nodes.items()}
    overrides = _overrides(declared, parameters or {})
    folder, report = Path(output), reporter(progress)
    origin = stamp(folder=paths[0].parent)
    done: list[NotebookRun] = []
    _write_summary(RunResult(folder, origin, ()))
    for number, path in enumerate(paths, 1):
        size = len(stripped(nodes[path])["cells"]) + bool(overrides[path])
        step = Step(path.stem, number, len(paths), 0, size)
        found = execute_notebook(
            nodes[path],
            parameters=overrides[path],
            folder=path.parent,
            limits=limits,
            on_cell=lambda cell, step=step: report(replace(step, done=cell)),  # type: ignore[misc]
        )
        ran = _harvest(path, found, declared[path], overrides[path])
        _write_notebook(folder, ran, sign(found.notebook, origin), path.parent)
        done.append(ran)
        _write_summary(RunResult(folder, origin, tuple(done)))
        report(replace(step, done=size, outcome=ran.outcome))
    return RunResult(folder, origin, tuple(done))


def sign(notebook: Any, origin: Provenance) -> Any:
    """The notebook with hashes of its sources and the versions that it ran with in its metadata, for `verify`."""
    notebook["metadata"]["memlab"] = {
        "code": code_hash(notebook),
        "memlab": origin.memlab,
        "packages": dict(origin.packages),
        "prose": prose_hash(notebook),
        "schema": SCHEMA_VERSION,
        "source": origin.source,
    }
    return notebook


def _overrides(
    declared: Mapping[Path, Sequence[Parameter]], parameters: Mapping[str, object]
) -> dict[Path, dict[str, Any]]:
    """Checked overrides of each notebook; a name that no notebook declares is refused."""
    names = {p.name for known in declared.values() for p in known}
    where = next(iter(declared)).name if len(declared) == 1 else "this run"
    for name in parameters:
        if name not in names:
            raise RunError(unknown_parameter(name, names, where))
    chosen: dict[Path, dict[str, Any]] = {}
    for path, known in declared.items():
        mine = {p.name: parameters[p.name] for p in known if p.name in parameters}
        chosen[path] = check_parameters(known, mine, where=path.name)
    return chosen


def _harvest(path: Path, found: Execution, declared: Sequence[Parameter], overrides: Mapping[str, Any]) -> NotebookRun:
    """What the executed notebook recorded; unreadable or doubled records make it a failed one."""
    error, results, tables = found.error, dict[str, Result](), dict[str, Table]()
    try:
        results, tables = results_of(found.notebook), tables_of(found.notebook)
    except RunError as damage:
        error = error or str(damage)
    return NotebookRun(
        name=path.stem,
        title=title_of(found.notebook, path.stem),
        error=error,
        seconds=found.seconds,
        cells=found.cells,
        parameters={p.name: overrides.get(p.name, p.default) for p in declared},
        overridden=tuple(overrides),
        stamp=stamp_of(found.notebook),
        results=results,
        tables=tables,
    )


def title_of(notebook: Any, default: str) -> str:
    """The first heading of a notebook."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            for line in cell["source"].splitlines():
                if line.startswith("#"):
                    return str(line.lstrip("#").strip(" #*`")) or default
    return default


def _write_notebook(folder: Path, ran: NotebookRun, notebook: Any, source: Path) -> None:
    write_bytes(folder / f"{ran.name}.ipynb", notebook_bytes(notebook))
    page = notebook_html(notebook, title=ran.title, folder=source)
    write_bytes(folder / f"{ran.name}.html", page.encode())
    for name, table in ran.tables.items():
        frame = table.to_frame()
        text = frame.to_csv(index=False, lineterminator="\n")
        write_bytes(folder / "tables" / f"{ran.name}.{name}.csv", text.encode())
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        write_bytes(folder / "tables" / f"{ran.name}.{name}.parquet", buffer.getvalue())


def _write_summary(result: RunResult) -> None:
    write_json(result.folder / "results.json", result.to_json())
    write_bytes(result.folder / "index.html", index_html(result.to_json()).encode())
