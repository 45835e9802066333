"""How many threads to take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

__all__ = ["one_thread", "processors"]


def processors(processes: int = 1) -> int:
    """The threads that one of so many processes may take: its part of the processors, at least 1, at most 4."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    return max(1, min(4, count // processes))


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, a BLAS uses one thread: for products this small, waking and awaiting others costs more than it saves.

    The limit holds for the whole process, so threads that are inside at the same time share it, and the last one out
    lifts it.
    """
    global _inside, _limit
    with _lock:
        if not _inside:
            _limit = _controller().limit(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _limit.restore_original_limits()


_lock = Lock()
_inside = 0
_limit: Any = None


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
