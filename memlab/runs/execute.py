"""`memlab run`: notebooks in, a folder of executed notebooks, recorded results, tables and reports out."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memlab.errors import RunError
from memlab.runs.files import find_notebooks, read_notebook, write_bytes, write_json
from memlab.runs.index import write_index
from memlab.runs.jobs import Job, execute_jobs
from memlab.runs.kernel import Execution, Limits
from memlab.runs.normalise import notebook_bytes, stripped
from memlab.runs.outcome import NotebookRun, RunResult, Sweep
from memlab.runs.parameters import Parameter, parameters_of
from memlab.runs.planning import case_name, overrides_of, spread_cases, takers
from memlab.runs.progress import Progress, reporter
from memlab.runs.provenance import Provenance, stamp
from memlab.runs.record import results_of, stamp_of, tables_of
from memlab.runs.report import index_html, notebook_html
from memlab.runs.resuming import earlier_runs, fingerprint
from memlab.runs.signing import sign

__all__ = ["run", "sweep"]


def run(
    notebooks: str | Path | Sequence[str | Path],
    *,
    parameters: Mapping[str, object] | None = None,
    output: str | Path,
    timeout_cell: float = 300.0,
    timeout_run: float = 900.0,
    jobs: int = 1,
    resume: bool = False,
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
    jobs : int
        How many notebooks run at a time, ≥ 1; results are the same for any number.
    resume : bool
        Take over what `output` holds of notebooks that ran to their end with the same sources, parameters, data and
        code; run only the others.
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
    books = _Books.read(notebooks)
    case = _Case(Path(output), overrides_of(books.declared, parameters or {}))
    return _execute(books, [case], Limits(timeout_cell, timeout_run), jobs, resume, reporter(progress))[0]


def sweep(
    notebooks: str | Path | Sequence[str | Path],
    *,
    parameters: Mapping[str, object],
    output: str | Path,
    timeout_cell: float = 300.0,
    timeout_run: float = 900.0,
    jobs: int = 1,
    resume: bool = False,
    progress: bool | Progress = True,
) -> Sweep:
    """Run notebooks once for every combination of values, each in a folder ``output/NAME=VALUE``, with a page over all.

    Notebooks that declare none of the parameters with several values are left out: they would say the same each time.

    Parameters
    ----------
    parameters : mapping
        As in `run`; text with commas, a list or a tuple are several values (see `spread_cases`).
    notebooks, output, timeout_cell, timeout_run, jobs, resume, progress
        As in `run`; notebooks of different runs share the jobs.

    Raises
    ------
    RunError
        As in `run`; also if nothing has several values, or two cases would share a folder.
    """
    books = _Books.read(notebooks)
    found = spread_cases(books.declared, parameters)
    names = [n for n in parameters if len({str(case[n]) for case in found}) > 1]
    if not names:
        raise RunError("nothing to sweep: no parameter has several values; write -p NAME A,B,C")
    books = books.only(takers(books.declared, names))
    base = Path(output)
    swept = [{n: case[n] for n in names} for case in found]
    cases = [_Case(base / case_name(s), overrides_of(books.declared, _known(books, c)))
             for s, c in zip(swept, found, strict=True)]  # fmt: skip
    if len({c.folder for c in cases}) < len(cases):
        raise RunError("two cases of the sweep would be written to one folder; write their values differently")
    runs = _execute(books, cases, Limits(timeout_cell, timeout_run), jobs, resume, reporter(progress))
    write_index(base)
    return Sweep(base, tuple(runs), tuple(swept))


@dataclass(frozen=True, slots=True)
class _Books:
    """The notebooks of a run, read once."""

    nodes: Mapping[Path, Any]
    declared: Mapping[Path, Sequence[Parameter]]

    @classmethod
    def read(cls, notebooks: str | Path | Sequence[str | Path]) -> _Books:
        paths = find_notebooks(notebooks if isinstance(notebooks, (str, Path)) else list(notebooks))
        nodes = {path: read_notebook(path) for path in paths}
        return cls(nodes, {path: parameters_of(stripped(node)) for path, node in nodes.items()})

    def only(self, paths: Sequence[Path]) -> _Books:
        return _Books({p: self.nodes[p] for p in paths}, {p: self.declared[p] for p in paths})


@dataclass(slots=True)
class _Case:
    """One run: where it is written, what its notebooks get, and what is done of it."""

    folder: Path
    overrides: Mapping[Path, Mapping[str, Any]]
    done: dict[Path, NotebookRun] = field(default_factory=dict)

    def result(self, origin: Provenance) -> RunResult:
        ran = tuple(self.done[p] for p in self.overrides if p in self.done)
        return RunResult(self.folder, origin, ran)


def _known(books: _Books, case: Mapping[str, object]) -> dict[str, object]:
    names = {p.name for known in books.declared.values() for p in known}
    return {k: v for k, v in case.items() if k in names}


def _execute(
    books: _Books, cases: Sequence[_Case], limits: Limits, workers: int, resume: bool, report: Progress
) -> list[RunResult]:
    origin = stamp(folder=next(iter(books.nodes)).parent)
    todo: list[tuple[_Case, Path]] = []
    for case in cases:
        keys = {p: _key(books, case, p, origin) for p in books.nodes}
        case.done = earlier_runs(case.folder, keys) if resume else {}
        _write_summary(case.result(origin))
        todo += [(case, path) for path in books.nodes if path not in case.done]
    many = len(cases) > 1
    jobs = [
        Job(f"{c.folder.name}/{p.stem}" if many else p.stem, p, books.nodes[p], c.overrides[p]) for c, p in todo
    ]  # fmt: skip

    def finish(number: int, found: Execution) -> str:
        case, path = todo[number]
        ran = _harvest(path, found, books.declared[path], case.overrides[path], _key(books, case, path, origin))
        _write_notebook(case.folder, ran, sign(found.notebook, origin), path.parent)
        case.done[path] = ran
        _write_summary(case.result(origin))
        return ran.outcome

    execute_jobs(jobs, finish, limits=limits, workers=workers, report=report)
    return [case.result(origin) for case in cases]


def _key(books: _Books, case: _Case, path: Path, origin: Provenance) -> str:
    values = {p.name: case.overrides[path].get(p.name, p.default) for p in books.declared[path]}
    return fingerprint(books.nodes[path], values, origin)


def _harvest(
    path: Path, found: Execution, declared: Sequence[Parameter], overrides: Mapping[str, Any], key: str
) -> NotebookRun:
    """What the executed notebook recorded; unreadable or doubled records make it a failed one."""
    error, results, tables = found.error, {}, {}
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
        fingerprint=key,
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
