"""The limit on a BLAS's threads: shared by who is inside, lifted by the last one out."""

from __future__ import annotations

from contextlib import ExitStack

import threadpoolctl

from memlab.models.threads import one_thread, processors


def limits() -> set[int]:
    return {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}


def test_whoever_leaves_first_the_limit_holds_to_the_last_and_is_lifted_then():
    before = limits()
    first, second = ExitStack(), ExitStack()
    first.enter_context(one_thread())
    second.enter_context(one_thread())
    first.close()  # as a thread that came first and went first
    assert limits() == {1}
    second.close()
    assert limits() == before


def test_processes_share_the_processors():
    assert 1 <= processors() <= 4
    assert processors(1_000_000) == 1
