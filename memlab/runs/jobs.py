"""Many notebooks, one after another or several at a time: the loop that `run` and `verify` share."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from memlab.errors import RunError
from memlab.runs.kernel import Execution, Limits, execute_notebook
from memlab.runs.normalise import stripped
from memlab.runs.progress import Progress, Step

__all__ = ["Job", "execute_jobs"]


@dataclass(frozen=True, slots=True)
class Job:
    """One notebook to execute.

    Attributes
    ----------
    label : str
        Its name in progress.
    path : Path
        The file; its folder is where the kernel works.
    notebook : notebook node
        What to execute.
    parameters : mapping
        Checked overrides.
    """

    label: str
    path: Path
    notebook: Any
    parameters: Mapping[str, Any]

    @property
    def cells(self) -> int:
        """How many cells will run, with the injected parameters."""
        return len(stripped(self.notebook)["cells"]) + bool(self.parameters)


def execute_jobs(
    jobs: Sequence[Job],
    finish: Callable[[int, Execution], str],
    *,
    limits: Limits,
    workers: int = 1,
    report: Progress,
) -> None:
    """Execute notebooks, each on a kernel of its own; after each, `finish` takes it in and says what came of it.

    Parameters
    ----------
    jobs : sequence of Job
        They start in this order.
    finish : callable
        Called in this thread, with the number of the job (from 0) and its execution, in the order in which they end;
        returns one line for the progress.
    limits : Limits
        Seconds for a cell and for a notebook.
    workers : int
        How many run at a time, ≥ 1.
    report : callable
        Gets each `Step`.

    Raises
    ------
    RunError
        If `workers` is below 1.
    """
    if workers < 1:
        raise RunError(f"at least 1 notebook must run at a time, not {workers}")
    lock, stop = threading.Lock(), threading.Event()

    def said(step: Step) -> None:
        with lock:
            report(step)

    steps = [Step(job.label, n, len(jobs), 0, job.cells) for n, job in enumerate(jobs, 1)]
    work = [partial(_execute, job, step, limits, said, stop) for job, step in zip(jobs, steps, strict=True)]
    for number, found in _in_turn(work) if workers == 1 else _at_once(work, workers, stop):
        outcome = finish(number, found)
        said(replace(steps[number], done=steps[number].cells, outcome=outcome))


def _execute(job: Job, step: Step, limits: Limits, report: Progress, stop: threading.Event) -> Execution:
    def on_cell(cell: int) -> None:
        if stop.is_set():
            raise RuntimeError("the run was interrupted")
        report(replace(step, done=cell))

    folder = job.path.parent
    return execute_notebook(job.notebook, parameters=job.parameters, folder=folder, limits=limits, on_cell=on_cell)


def _in_turn(work: Sequence[Callable[[], Execution]]) -> Iterator[tuple[int, Execution]]:
    for number, one in enumerate(work):
        yield number, one()


def _in_thread(one: Callable[[], Execution]) -> Execution:
    """Execute with an event loop of this thread's own, closed at the end: nbclient would leave it open."""
    from jupyter_core.utils import ensure_event_loop

    try:
        return one()
    finally:
        ensure_event_loop().close()
        asyncio.set_event_loop(None)


def _at_once(
    work: Sequence[Callable[[], Execution]], workers: int, stop: threading.Event
) -> Iterator[tuple[int, Execution]]:
    """In the order in which they end; when the caller goes away, what has not begun never does."""
    with ThreadPoolExecutor(workers, thread_name_prefix="memlab-notebook") as pool:
        running: dict[Future[Execution], int] = {pool.submit(_in_thread, one): n for n, one in enumerate(work)}
        try:
            while running:
                ended, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(ended, key=running.__getitem__):
                    yield running.pop(future), future.result()
        finally:
            stop.set()
            for future in running:
                future.cancel()
