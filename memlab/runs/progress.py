"""How far a run is: a line that rewrites itself on a terminal, a line a notebook and per 20 % elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TextIO

__all__ = ["Progress", "Step", "reporter"]


@dataclass(frozen=True, slots=True)
class Step:
    """One sign of life of a run.

    Attributes
    ----------
    notebook : str
        Its name.
    number, of : int
        Which notebook of how many, from 1.
    done, cells : int
        Cells done, and all cells.
    outcome : str or None
        What came of it, once it has ended.
    """

    notebook: str
    number: int
    of: int
    done: int
    cells: int
    outcome: str | None = None

    @property
    def percent(self) -> int:
        """Share of the notebook's cells that are done, 0 to 100."""
        if self.outcome is not None:
            return 100
        return 100 * self.done // self.cells if self.cells else 100


Progress = Callable[[Step], None]


def reporter(
    progress: bool | Progress, *, stream: TextIO | None = None, clock: Callable[[], float] = monotonic
) -> Progress:
    """What is called at each step: the callable given, one that writes to stderr, or (False) one that does nothing.

    Parameters
    ----------
    progress : bool or callable
        True: write.
    stream : text file, optional
        By default stderr.
    clock : callable
        Seconds, for the estimate of what is left.
    """
    if callable(progress):
        return progress
    if not progress:
        return _nothing
    stream = stream or sys.stderr
    return _bar(stream, _Estimate(clock)) if stream.isatty() else _lines(stream, _Estimate(clock))


def _nothing(_: Step) -> None:
    return None


class _Estimate:
    """How much of a run is done, over notebooks that may run at the same time, and how long the rest will take."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began = clock()
        self._done: dict[int, float] = {}

    def share(self, step: Step) -> float:
        """Of the whole run, 0 to 1, by notebooks and cells."""
        self._done[step.number] = step.percent / 100
        return sum(self._done.values()) / step.of

    def left(self, share: float) -> str:
        """In words; empty while it can't be told, and at the end."""
        spent = self._clock() - self._began
        return f", about {spent / share - spent:.0f} s left" if 0.05 < share < 1 else ""


def _lines(stream: TextIO, estimate: _Estimate) -> Progress:
    said: dict[int, int] = {}

    def report(step: Step) -> None:
        start, share = f"[{step.number}/{step.of}] {step.notebook}:", estimate.share(step)
        if step.outcome is not None:
            print(f"{start} {step.outcome}{estimate.left(share)}", file=stream, flush=True)
        elif step.done == 0 and step.number not in said:
            said[step.number] = 0
            print(start, f"{step.cells} cells", file=stream, flush=True)
        elif step.percent // 20 > said.get(step.number, 0) and step.percent < 100:
            said[step.number] = step.percent // 20
            print(f"{start} {20 * said[step.number]} %{estimate.left(share)}", file=stream, flush=True)

    return report


def _bar(stream: TextIO, estimate: _Estimate) -> Progress:
    def report(step: Step) -> None:
        start, share = f"[{step.number}/{step.of}] {step.notebook}:", estimate.share(step)
        if step.outcome is not None:
            print(f"\r\x1b[K{start} {step.outcome}", file=stream, flush=True)
            return
        filled = int(20 * share)
        bar = "█" * filled + "░" * (20 - filled)
        text = f"{bar} {100 * share:3.0f} %  {start} cell {step.done + 1} of {step.cells}{estimate.left(share)}"
        print(f"\r\x1b[K{text}", end="", file=stream, flush=True)

    return report
