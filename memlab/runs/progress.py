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
        return 100 * self.done // self.cells if self.cells else 100

    @property
    def share(self) -> float:
        """Share of the whole run that is done, by notebooks and cells, 0 to 1."""
        return (self.number - 1 + (1.0 if self.outcome else self.percent / 100)) / self.of


Progress = Callable[[Step], None]


def reporter(progress: bool | Progress, *, stream: TextIO | None = None) -> Progress:
    """What is called at each step: the callable given, one that writes to stderr, or (False) one that does nothing."""
    if callable(progress):
        return progress
    if not progress:
        return _nothing
    stream = stream or sys.stderr
    return _bar(stream) if stream.isatty() else _lines(stream)


def _nothing(_: Step) -> None:
    return None


def _lines(stream: TextIO) -> Progress:
    said: dict[str, int] = {}

    def report(step: Step) -> None:
        start = f"[{step.number}/{step.of}] {step.notebook}:"
        if step.outcome is not None:
            print(start, step.outcome, file=stream, flush=True)
        elif step.done == 0 and step.notebook not in said:
            said[step.notebook] = 0
            print(start, f"{step.cells} cells", file=stream, flush=True)
        elif step.percent // 20 > said.get(step.notebook, 0) and step.percent < 100:
            said[step.notebook] = step.percent // 20
            print(start, f"{20 * said[step.notebook]} %", file=stream, flush=True)

    return report


def _bar(stream: TextIO) -> Progress:
    began = monotonic()

    def report(step: Step) -> None:
        start = f"[{step.number}/{step.of}] {step.notebook}:"
        if step.outcome is not None:
            print(f"\r\x1b[K{start} {step.outcome}", file=stream, flush=True)
            return
        filled = int(20 * step.share)
        spent = monotonic() - began
        left = f", about {spent / step.share - spent:.0f} s left" if step.share > 0.05 else ""
        bar = "█" * filled + "░" * (20 - filled)
        text = f"{bar} {100 * step.share:3.0f} %  {start} cell {step.done + 1} of {step.cells}{left}"
        print(f"\r\x1b[K{text}", end="", file=stream, flush=True)

    return report
