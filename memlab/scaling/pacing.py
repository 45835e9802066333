"""One endpoint for many workers: how many may ask at a time, and how often, counted where all of them look."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from memlab.errors import InputError
from memlab.extraction import Extractor
from memlab.records import Conversation, Proposal

__all__ = ["Paced"]


class Paced:
    """Makes an extractor that shares its endpoint with those of all other workers of a Dask cluster.

    The counts are leases that the scheduler keeps and takes back when a worker is lost. One conversation is one lease;
    what a reader asks in pieces or again stays inside of it.

    Parameters
    ----------
    extractor : callable
        Makes the extractor in the worker.
    at_once : int, optional
        Conversations being read at a time by all workers together, ≥ 1.
    per_minute : float, optional
        Conversations begun a minute by all workers together, > 0.
    name : str
        Of the endpoint: runs that name the same one share the count.

    Raises
    ------
    InputError
        If a limit is out of range.
    """

    def __init__(
        self,
        extractor: Callable[[], Extractor],
        *,
        at_once: int | None = None,
        per_minute: float | None = None,
        name: str = "endpoint",
    ) -> None:
        if (at_once is not None and at_once < 1) or (per_minute is not None and not 0 < per_minute < float("inf")):
            raise InputError(f"at_once={at_once} must be ≥ 1 and per_minute={per_minute} > 0; None means no limit")
        self.extractor, self.at_once, self.per_minute, self.name = extractor, at_once, per_minute, name

    def __call__(self) -> Extractor:
        """The extractor, in a worker."""
        return _Waiting(self)


class _Waiting:
    def __init__(self, pace: Paced) -> None:
        self._extractor = pace.extractor()
        self.name = self._extractor.name
        self._pace = pace
        self._leases: tuple[Any, Any] | None = None

    def extract(self, conversation: Conversation) -> Sequence[Proposal]:
        begin, places = self._counts()
        if self._pace.per_minute is not None:
            with begin:
                time.sleep(60 / self._pace.per_minute)
        with places:
            return self._extractor.extract(conversation)

    def _counts(self) -> tuple[AbstractContextManager[object], AbstractContextManager[object]]:
        if self._leases is None:
            from distributed import Semaphore

            key, most = f"memlab/{self._pace.name}", self._pace.at_once
            places = nullcontext() if most is None else Semaphore(most, name=f"{key}/at once/{most}")
            begin = nullcontext() if self._pace.per_minute is None else Semaphore(1, name=f"{key}/begin")
            self._leases = begin, places
        return self._leases
