"""One notebook, executed through papermill on a kernel of this very interpreter, within time limits."""

from __future__ import annotations

import logging
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from memlab.errors import RunError
from memlab.runs.normalise import normalise, stripped

__all__ = ["Execution", "Limits", "execute_notebook", "kernel_environment"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds that a cell, a whole notebook, and the start of its kernel may take, > 0."""

    cell: float = 300.0
    run: float = 900.0
    start: float = 60.0

    def __post_init__(self) -> None:
        for name in ("cell", "run", "start"):
            if not getattr(self, name) > 0:
                raise RunError(f"the time limit of a {name} must be above 0 seconds, not {getattr(self, name)!r}")


@dataclass(frozen=True, slots=True)
class Execution:
    """What came of one notebook.

    Attributes
    ----------
    notebook : notebook node
        Executed and normalised; up to the failing cell if it failed.
    error : str or None
        Why it failed, in one line.
    seconds : float
        Wall time with the start of the kernel.
    cells : tuple of float
        Seconds of each cell that ran, in order (0 for prose).
    """

    notebook: Any
    error: str | None
    seconds: float
    cells: tuple[float, ...]


def execute_notebook(
    nb: Any,
    *,
    parameters: Mapping[str, Any],
    folder: Path,
    limits: Limits,
    on_cell: Callable[[int], None] | None = None,
) -> Execution:
    """Execute a notebook; what goes wrong inside it is reported, not raised, and nothing waits longer than the limits.

    Parameters
    ----------
    nb : notebook node
        Earlier outputs and injected parameters are dropped first; it is not changed.
    parameters : mapping
        Checked overrides.
    folder : path
        Working directory of the kernel.
    limits : Limits
        How long a cell and the whole may take.
    on_cell : callable, optional
        Called with the number of cells that are done.
    """
    watch = _Watch(limits, on_cell)
    error = None
    with tempfile.TemporaryDirectory(prefix="memlab-", ignore_cleanup_errors=True) as scratch, _quiet("papermill"):
        try:
            _papermill(stripped(nb), parameters, folder, Path(scratch), watch)
        except _failures() as failure:
            error = watch.explain(failure)
    executed = watch.notebook if watch.notebook is not None else stripped(nb)
    return Execution(normalise(executed), error, watch.seconds(), _durations(executed))


def kernel_environment(scratch: Path) -> dict[str, str]:
    """What a kernel's environment has beyond ours: no model hub, one hash seed, nobody's IPython settings.

    memlab's own folder is on the path unless it is installed, so that a kernel always imports the memlab that runs it.
    """
    environment = {
        "COLUMNS": "100",
        "HF_HUB_OFFLINE": "1",
        "IPYTHONDIR": str(scratch / "ipython"),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONHASHSEED": "0",
        "TOKENIZERS_PARALLELISM": "false",
        "TZ": "UTC",
    }
    home = Path(__file__).resolve().parents[2]
    if home.name not in ("site-packages", "dist-packages"):
        paths = [str(home), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
    return environment


def _papermill(nb: Any, parameters: Mapping[str, Any], folder: Path, scratch: Path, watch: _Watch) -> None:
    import papermill

    # A node as input and None as output: papermill would read braces in a path as format fields.
    papermill.execute_notebook(
        nb,
        None,
        parameters=dict(parameters),
        kernel_name="python3",
        language="python",
        progress_bar=False,
        request_save_on_cell_execute=False,
        autosave_cell_every=0,
        start_timeout=watch.limits.start,
        execution_timeout=math.ceil(watch.limits.cell),
        timeout_func=watch.timeout,
        kernel_manager_class=_kernel_manager(scratch),
        resources={"metadata": {"path": str(folder.resolve())}},
        on_notebook_start=watch.start,
        on_cell_start=watch.step,
    )


def _kernel_manager(scratch: Path) -> type[Any]:
    """A manager that ignores kernel names: it starts `sys.executable`, and talks over files instead of ports.

    Sockets in a folder of their own can't collide when several runs start at once, and nobody else can reach them.
    """
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    spec = KernelSpec(
        argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=CRITICAL"],
        display_name="Python 3",
        language="python",
        # jupyter_client expands $NAME in these values.
        env={name: value.replace("$", "$$") for name, value in kernel_environment(scratch).items()},
    )
    address = str(scratch / "k")
    # A socket's path may have about 100 characters.
    sockets = {"transport": "ipc", "ip": address} if os.name == "posix" and len(address.encode()) < 90 else {}

    class ThisInterpreter(AsyncKernelManager):
        def __init__(self, **options: Any) -> None:
            super().__init__(connection_file=str(scratch / "kernel.json"), **sockets, **options)

        @property
        def kernel_spec(self) -> KernelSpec:
            return spec

    return ThisInterpreter


class _Watch:
    """Keeps the time, the notebook while it runs, and the cell that it has come to."""

    def __init__(self, limits: Limits, on_cell: Callable[[int], None] | None) -> None:
        self.limits = limits
        self.notebook: Any = None
        self._on_cell = on_cell
        self._cell = 0
        self._began = monotonic()

    def seconds(self) -> float:
        return monotonic() - self._began

    def start(self, notebook: Any) -> None:
        self.notebook = notebook

    def step(self, cell: Any, cell_index: int) -> None:  # noqa: ARG002 - nbclient names them
        self._cell = cell_index
        if self._on_cell is not None:
            self._on_cell(cell_index)

    def timeout(self, _cell: Any) -> float:
        # 0 would mean "no limit" to nbclient.
        return max(0.05, min(self.limits.cell, self.limits.run - self.seconds()))

    def explain(self, failure: BaseException) -> str:
        from nbclient.exceptions import CellTimeoutError, DeadKernelError
        from papermill.exceptions import PapermillExecutionError

        if isinstance(failure, PapermillExecutionError):
            return f"In [{failure.exec_count}]: {failure.ename}: {_first_lines(failure.evalue)}"
        where = f"cell {self._cell + 1} of {len(self.notebook['cells'])}" if self.notebook else "the start"
        if isinstance(failure, CellTimeoutError):
            if self.seconds() >= self.limits.run:
                return f"stopped in {where}: the notebook took more than {self.limits.run:g} s"
            return f"stopped in {where}: the cell took more than {self.limits.cell:g} s"
        if isinstance(failure, DeadKernelError):
            return f"the kernel died in {where} (killed, out of memory, or a crash in a library)"
        return f"failed in {where}: {type(failure).__name__}: {_first_lines(str(failure))}"


def _failures() -> tuple[type[BaseException], ...]:
    from nbclient.exceptions import CellControlSignal, CellExecutionError
    from papermill.exceptions import PapermillException

    # RuntimeError: the kernel died, or did not start. OSError: it could not be started at all.
    return (PapermillException, CellControlSignal, CellExecutionError, RuntimeError, OSError)


def _durations(nb: Any) -> tuple[float, ...]:
    timed = (c["metadata"].get("papermill", {}).get("duration") for c in nb["cells"])
    return tuple(round(float(t), 3) for t in timed if t is not None)


def _first_lines(text: str, limit: int = 300) -> str:
    joined = " ".join(text.split())
    return joined if len(joined) <= limit else joined[:limit] + "…"


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """No log lines of a library on stderr when nobody set up logging; what it reports is in our result."""
    handler = logging.NullHandler()
    logger = logging.getLogger(name)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
