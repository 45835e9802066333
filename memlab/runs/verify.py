"""`memlab verify`: run the committed notebooks again and compare every recorded number with the committed one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from memlab.errors import RunError
from memlab.runs.compare import Difference, differences
from memlab.runs.files import find_notebooks, read_notebook
from memlab.runs.kernel import Execution, Limits, execute_notebook
from memlab.runs.normalise import code_hash, normalise, prose_hash, run_parameters, stripped
from memlab.runs.parameters import check_parameters, parameters_of
from memlab.runs.progress import Progress, Step, reporter
from memlab.runs.provenance import Provenance, stamp
from memlab.runs.record import results_of, stamp_of, tables_of

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
        What has changed since the notebook was executed: any of prose, code, data, prompt, library, each with what
        exactly. It explains differences, and is none by itself.
    other_outputs : tuple of int
        Cells (from 1) whose printed output differs although it is not recorded.
    """

    name: str
    seconds: float
    numbers: int
    tables: int
    differences: tuple[Difference, ...]
    changed: Mapping[str, tuple[str, ...]] = field(hash=False)
    other_outputs: tuple[int, ...] = ()

    def __str__(self) -> str:
        """A line, and one for each difference below it."""
        size = f"{self.numbers} numbers, {self.tables} tables"
        found = f"{len(self.differences)} DIFFERENCES in {size}" if self.differences else f"equal: {size}"
        lines = [f"{self.name}: {found} ({self.seconds:.1f} s)"]
        lines += [f"  {d}" for d in self.differences]
        lines += [f"  changed since: {what} ({', '.join(how)})" for what, how in self.changed.items()]
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
    progress: bool | Progress = True,
) -> Verification:
    """Run committed notebooks again, with their own parameters, and compare what they record; nothing is written.

    Parameters
    ----------
    directory : path or paths
        Folders of executed notebooks, or single ones.
    timeout_cell, timeout_run : float
        Seconds that a cell and a whole notebook may take, > 0.
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
    checked: list[Checked] = []
    for number, path in enumerate(paths, 1):
        step = Step(path.stem, number, len(paths), 0, 0)
        checked.append(_check(path, limits, step, report))
        report(replace(step, outcome=str(checked[-1]).split(": ", 1)[1].splitlines()[0]))
    return Verification(checked)


def _check(path: Path, limits: Limits, step: Step, report: Progress) -> Checked:
    try:
        committed = read_notebook(path)
        old = results_of(committed), tables_of(committed)
        parameters = check_parameters(parameters_of(committed), run_parameters(committed), where=path.name)
    except RunError as error:
        return Checked(path.stem, 0.0, 0, 0, (Difference(path.stem, "failed", detail=str(error)),), {})
    if not any(c.get("outputs") or c.get("execution_count") for c in committed["cells"]):
        detail = f"the notebook holds no outputs; `memlab run {path} -o DIR` executes it"
        return Checked(path.stem, 0.0, 0, 0, (Difference(path.stem, "unexecuted", detail=detail),), {})
    step = replace(step, cells=len(stripped(committed)["cells"]) + bool(parameters))
    found = execute_notebook(
        committed,
        parameters=parameters,
        folder=path.parent,
        limits=limits,
        on_cell=lambda cell: report(replace(step, done=cell)),
    )
    return Checked(
        name=path.stem,
        seconds=round(found.seconds, 3),
        numbers=len(old[0]),
        tables=len(old[1]),
        differences=tuple(_compare(path.stem, old, found)),
        changed=_changed(committed, found.notebook, stamp(folder=path.parent)),
        other_outputs=() if found.error else _other_outputs(committed, found.notebook),
    )


def _compare(name: str, old: Any, found: Execution) -> Iterable[Difference]:
    if found.error is not None:
        return [Difference(name, "failed", detail=found.error)]
    try:
        new = results_of(found.notebook), tables_of(found.notebook)
    except RunError as error:
        return [Difference(name, "failed", detail=str(error))]
    return differences(name, old, new)


def _changed(committed: Any, repeated: Any, now: Provenance) -> dict[str, tuple[str, ...]]:
    """What is not as it was when the notebook was executed; only what the notebook says of itself can be told."""
    then: Mapping[str, Any] = committed["metadata"].get("memlab", {})
    old, new = stamp_of(committed), stamp_of(repeated)
    library = _moved(then["packages"], now.packages) if "packages" in then else ()
    if then.get("memlab", now.memlab) != now.memlab:
        library = (f"memlab {then['memlab']} → {now.memlab}", *library)
    elif then.get("source", now.source) != now.source:
        library = ("memlab: its source", *library)
    found = {
        "prose": ("markdown cells",) if then.get("prose", prose_hash(committed)) != prose_hash(committed) else (),
        "code": ("code cells",) if then.get("code", code_hash(committed)) != code_hash(committed) else (),
        "data": _moved(old.get("datasets", {}), new.get("datasets", {})) if old and new else (),
        "prompt": _moved(old.get("prompts", {}), new.get("prompts", {})) if old and new else (),
        "library": library,
    }
    return {what: how for what, how in found.items() if how}


def _moved(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[str, ...]:
    """Names whose version or hash is another one, as ``name old → new``."""
    names = sorted(k for k in old.keys() | new.keys() if old.get(k) != new.get(k))
    return tuple(f"{k} {old.get(k, 'none')[:12]} → {new.get(k, 'none')[:12]}" for k in names)


def _other_outputs(committed: Any, repeated: Any) -> tuple[int, ...]:
    """Numbers of the cells whose outputs differ in anything but memlab's own data."""

    def printed(nb: Any) -> list[Any]:
        return [[_visible(o) for o in c.get("outputs", ())] for c in normalise(nb)["cells"]]

    old, new = printed(committed), printed(repeated)
    return tuple(n for n, (a, b) in enumerate(zip(old, new, strict=False), 1) if a != b)


def _visible(output: Any) -> Any:
    data = {k: v for k, v in output.get("data", {}).items() if not k.startswith("application/vnd.memlab.")}
    return data or {k: v for k, v in output.items() if k not in ("data", "metadata")}
