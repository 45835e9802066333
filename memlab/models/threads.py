"""How many threads to take."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

__all__ = ["one_thread", "processors"]


def processors() -> int:
    """The number of processors that this process may use, at most 4."""
    return min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)


def one_thread() -> AbstractContextManager[object]:
    """Inside, a BLAS uses one thread: for products this small, waking and awaiting others costs more than it saves."""
    limited: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limited


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
