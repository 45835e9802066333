"""`memlab verify`: run the committed notebooks again and compare every recorded number with the committed one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from memlab.errors import RunError
from memlab.runs.compare import Difference, differences
from memlab.runs.files import find_notebooks, read_notebook
from memlab.runs.jobs import Job, execute_jobs
from memlab.runs.kernel import Execution, Limits
from memlab.runs.normalise import normalise, run_parameters
from memlab.runs.parameters import check_parameters, parameters_of
from memlab.runs.progress import Progress, reporter
from memlab.runs.provenance import stamp
from memlab.runs.record import results_of, stamp_of, tables_of
from memlab.runs.signing import changed_since, files_moved, names_moved

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Checked", "Verification", "verify"]


@dataclass(frozen=True, slots=True)
class Checked:
    """One notebook that was run again.

    Attributes
    ----------
    name : str
        File name without its ending.
    seconds : float
        Wall time of the repetition.
    numbers, tables : int
        How many the committed notebook records.
    differences : tuple of Difference
        What was not found again.
    changed : mapping
        What has changed since the notebook was executed: any of prose, code, data, prompt, library, results, each
        with what exactly. It explains differences, and is none by itself.
    other_outputs : tuple of int
        Cells (from 1) whose printed output differs although it is not recorded.
    ran : bool
        False if the notebook was only checked against its own stamp and signature.
    """

    name: str
    seconds: float
    numbers: int
    tables: int
    differences: tuple[Difference, ...]
    changed: Mapping[str, tuple[str, ...]] = field(hash=False)
    other_outputs: tuple[int, ...] = ()
    ran: bool = True

    def __str__(self) -> str:
        """A line, and one for each difference below it."""
        size = f"{self.numbers} numbers, {self.tables} tables"
        good = f"equal: {size}" if self.ran else f"unchanged since it ran: {size}"
        found = f"{len(self.differences)} DIFFERENCES in {size}" if self.differences else good
        lines = [f"{self.name}: {found} ({f'{self.seconds:.1f} s' if self.ran else 'not run'})"]
        lines += [f"  {d}" for d in self.differences]
        lines += [f"  changed since: {what} ({', '.join(how)})" for what, how in self.changed.items()]
        if not self.changed and any(d.kind in ("number", "table", "missing", "unexpected") for d in self.differences):
            lines.append("  nothing that the notebook names has changed: not prose, code, data, prompt or library")
        if self.other_outputs:
            lines.append(f"  printed output differs in cell {', '.join(map(str, self.other_outputs))}")
        return "\n".join(lines)


class Verification(Sequence[Difference]):
    """The differences found, and each notebook's account; `ok` if there is no difference."""

    def __init__(self, notebooks: Iterable[Checked] = ()) -> None:
        self.notebooks = tuple(notebooks)
        self._items = tuple(d for n in self.notebooks for d in n.differences)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Difference: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Difference, ...]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Difference | tuple[Difference, ...]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    @property
    def ok(self) -> bool:
        """Whether every notebook ran and every number and table was found again."""
        return not self._items

    def __str__(self) -> str:
        """An account of each notebook, and the sum."""
        numbers, tables = sum(n.numbers for n in self.notebooks), sum(n.tables for n in self.notebooks)
        size = f"{len(self.notebooks)} notebooks, {numbers} numbers, {tables} tables"
        verdict = "all equal" if self.ok else f"{len(self)} differences"
        return "\n".join([*map(str, self.notebooks), f"{size}: {verdict}"])

    def __repr__(self) -> str:
        return f"Verification({len(self.notebooks)} notebooks, {len(self)} differences)"

    def to_json(self) -> dict[str, Any]:
        """For ``memlab verify --json``."""
        return {"ok": self.ok, "notebooks": [asdict(n) for n in self.notebooks]}

    def to_frame(self) -> pd.DataFrame:
        """One row a difference."""
        import pandas as pd

        return pd.DataFrame([asdict(d) for d in self], columns=list(Difference.__dataclass_fields__))


def verify(
    directory: str | Path | Sequence[str | Path] = "notebooks",
    *,
    timeout_cell: float = 300.0,
    timeout_run: float = 900.0,
    jobs: int = 1,
    quick: bool = False,
    progress: bool | Progress = True,
) -> Verification:
    """Run committed notebooks again, with their own parameters, and compare what they record; nothing is written.

    Parameters
    ----------
    directory : path or paths
        Folders of executed notebooks, or single ones.
    timeout_cell, timeout_run : float
        Seconds that a cell and a whole notebook may take, > 0.
    jobs : int
        How many notebooks run at a time, ≥ 1.
    quick : bool
        Run nothing: check only that sources, files and recorded values are those that each notebook was executed
        with. A library of another version is named, and no difference here, since only a repetition tells.
    progress : bool or callable
        Progress on stderr, none, or a callable that gets each `Step`.

    Returns
    -------
    Verification
        A sequence of `Difference`, with ``ok``; ``str()`` of it is the account. A notebook that fails is a difference.

    Raises
    ------
    RunError
        If there is no notebook, or a limit makes no sense.
    """
    limits, report = Limits(timeout_cell, timeout_run), reporter(progress)
    paths = find_notebooks(directory if isinstance(directory, (str, Path)) else list(directory))
    read = {path: _committed(path) for path in paths}
    checked = {path: found for path, found in read.items() if isinstance(found, Checked)}
    books = {path: found for path, found in read.items() if isinstance(found, _Committed)}
    if quick:
        checked |= {path: _quick(path, book) for path, book in books.items()}
        return Verification(checked[path] for path in paths)
    todo = list(books)

    def finish(number: int, found: Execution) -> str:
        path = todo[number]
        checked[path] = _check(path, books[path], found)
        return str(checked[path]).split(": ", 1)[1].splitlines()[0]

    work = [Job(path.stem, path, book.notebook, book.parameters) for path, book in books.items()]
    execute_jobs(work, finish, limits=limits, workers=jobs, report=report)
    return Verification(checked[path] for path in paths)


@dataclass(frozen=True, slots=True)
class _Committed:
    """A committed notebook: what it records, and the parameters that it was run with."""

    notebook: Any
    recorded: Any
    parameters: Mapping[str, Any]


def _committed(path: Path) -> _Committed | Checked:
    try:
        node = read_notebook(path)
        recorded = results_of(node), tables_of(node)
        parameters = check_parameters(parameters_of(node), run_parameters(node), where=path.name)
    except RunError as error:
        return Checked(path.stem, 0.0, 0, 0, (Difference(path.stem, "failed", detail=str(error)),), {})
    if not any(c.get("outputs") or c.get("execution_count") for c in node["cells"]):
        detail = f"the notebook holds no outputs; `memlab run {path} -o DIR` executes it"
        return Checked(path.stem, 0.0, 0, 0, (Difference(path.stem, "unexecuted", detail=detail),), {})
    return _Committed(node, recorded, parameters)


def _quick(path: Path, book: _Committed) -> Checked:
    now = stamp(folder=path.parent)
    changed = changed_since(book.notebook, now, files_moved(book.notebook, path.parent))
    stale = [Difference(path.stem, "stale", detail=f"{what}: {', '.join(how)}") for what, how in changed.items()
             if what != "library"]  # fmt: skip
    kept = {what: how for what, how in changed.items() if what == "library"}
    numbers, tables = map(len, book.recorded)
    return Checked(path.stem, 0.0, numbers, tables, tuple(stale), kept, ran=False)


def _check(path: Path, book: _Committed, found: Execution) -> Checked:
    old, new = stamp_of(book.notebook), stamp_of(found.notebook)
    moved = {"data": names_moved(old.get("datasets", {}), new.get("datasets", {})) if old and new else (),
             "prompt": names_moved(old.get("prompts", {}), new.get("prompts", {})) if old and new else ()}  # fmt: skip
    return Checked(
        name=path.stem,
        seconds=round(found.seconds, 3),
        numbers=len(book.recorded[0]),
        tables=len(book.recorded[1]),
        differences=tuple(_compare(path.stem, book.recorded, found)),
        changed=changed_since(book.notebook, stamp(folder=path.parent), moved),
        other_outputs=() if found.error else _other_outputs(book.notebook, found.notebook),
    )


def _compare(name: str, old: Any, found: Execution) -> Iterable[Difference]:
    if found.error is not None:
        return [Difference(name, "failed", detail=found.error)]
    try:
        new = results_of(found.notebook), tables_of(found.notebook)
    except RunError as error:
        return [Difference(name, "failed", detail=str(error))]
    return differences(name, old, new)


def _other_outputs(committed: Any, repeated: Any) -> tuple[int, ...]:
    """Numbers of the cells whose outputs differ in anything but memlab's own data."""

    def printed(nb: Any) -> list[Any]:
        return [[_visible(o) for o in c.get("outputs", ())] for c in normalise(nb)["cells"]]

    old, new = printed(committed), printed(repeated)
    return tuple(n for n, (a, b) in enumerate(zip(old, new, strict=False), 1) if a != b)


def _visible(output: Any) -> Any:
    data = {k: v for k, v in output.get("data", {}).items() if not k.startswith("application/vnd.memlab.")}
    return data or {k: v for k, v in output.items() if k not in ("data", "metadata")}
