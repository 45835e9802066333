"""Learning over the workers of a Dask cluster: the same bytes as one process, however many there are and whichever die."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memlab.bank import Bank, bank_path
from memlab.bank.replay import hand_over
from memlab.curation.curator import Curator, OfflineCurator
from memlab.errors import InputError, ModelError
from memlab.extraction import Extractor, OfflineExtractor
from memlab.learning import BATCH, LearnReport
from memlab.models.embeddings import Encoder, OnnxMiniLM
from memlab.records import Conversation
from memlab.scaling.batches import Crew, Written, fold_category, read_batch, seen_by, write_batch, write_folds
from memlab.scaling.ledger import Ledger

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["learn_on", "local_client", "offline_curator"]

RETRIES = 5  # of a task whose worker is lost
LOGGED = 16  # last messages that Dask keeps for who debugs it, by default 1,000, each with the batch that it carried


def offline_curator(_: str) -> Curator:
    """The offline curator, for any customer."""
    return OfflineCurator()


def learn_on(
    client: Client,
    conversations: Iterable[Conversation],
    home: str | Path,
    *,
    extractor: Callable[[], Extractor] = OfflineExtractor,
    curator: Callable[[str], Curator] = offline_curator,
    encoder: Encoder | None = None,
    batch: int = BATCH,
    in_flight: int | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> dict[str, LearnReport]:
    """Learn conversations, each into its own customer's bank, on the workers of a Dask cluster.

    Reading and encoding run anywhere; a bank is written by one task at a time; each category of each customer is folded
    by itself, in order. Every task may be lost and repeated. A run that was ended goes on when it is started again.

    Parameters
    ----------
    client : distributed.Client
        Of a cluster whose workers see the folder `home` under the same path.
    conversations : iterable of Conversation
        Of any customers, in any order; consumed as workers get free, so it may be longer than memory.
    home : path
        Folder with one bank a customer.
    extractor : callable
        Makes the extractor in each worker.
    curator : callable
        Makes a customer's curator in each worker.
    encoder : Encoder, optional
        By default all-MiniLM-L6-v2 on one thread, for a cluster has a worker a processor.
    batch : int
        Conversations read at a time; the result is the same for any number.
    in_flight : int, optional
        Batches on their way at most; by default two a thread of the cluster.
    progress : callable
        Called with the number of conversations that were read and stored.

    Returns
    -------
    dict of str to LearnReport
        By customer; the same counts as `memlab.learning.learn`.

    Raises
    ------
    InputError
        If workers do not see the folder, or can't be sent the extractor.
    ModelError
        If a batch can't be read because workers keep dying of it.
    """
    crew = Crew(extractor, curator, encoder or OnnxMiniLM(1))
    run = _Run(client, crew.packed(), str(Path(home).absolute()), in_flight or 2 * max(1, _threads(client)), progress)
    _check_home(client, run.home)
    with Ledger(run.home, extractor().name) as ledger, run.cancelling():
        before: dict[str, Counter[str]] = {}
        for customer, part in ledger.batches(conversations, max(1, batch)):
            before.setdefault(customer, _operations(run.home, customer))
            run.add(customer, part, ledger)
        run.drain(0, ledger)
        customers = ledger.customers()
        changed = [c for c in customers if bank_path(run.home, c).exists()]
        for customer in changed:
            before.setdefault(customer, _operations(run.home, customer))
        run.curate(changed, ledger, crew)
        return {c: _report(run, c, ledger, before.get(c, Counter())) for c in customers}


def _report(run: _Run, customer: str, ledger: Ledger, before: Counter[str]) -> LearnReport:
    gained = _operations(run.home, customer)
    gained.subtract(before)
    skipped: list[dict[str, object]] = run.skipped.get(customer, [])
    return ledger.report(customer, skipped, {op: n for op, n in sorted(gained.items()) if n})


def _operations(home: str, customer: str) -> Counter[str]:
    if not bank_path(home, customer).exists():
        return Counter()
    with Bank.open(home, customer, create=False) as bank:
        return Counter(dict(bank.rows("SELECT op, count(*) FROM operations GROUP BY op")))


@dataclass(slots=True)
class _Flight:
    """A batch on its way; it is written when its customer's batch before stands in the bank."""

    customer: str
    read: Future | None = None
    written: Future | None = None


@dataclass(slots=True)
class _Run:
    """The batches of a run that are on their way.

    A customer's batches are written one after the other, and the next one is sent when the one before has been heard
    of. Tasks that name the one before them would say the same, but Dask keeps everything that a living task hangs on:
    a chain of batches would stay in memory as long as the run.
    """

    client: Client
    packed: bytes
    home: str
    most: int
    progress: Callable[[int], None]
    done: int = 0
    flying: deque[_Flight] = field(default_factory=deque)
    skipped: dict[str, list[dict[str, object]]] = field(default_factory=dict)

    def submit(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Future:
        return self.client.submit(function, *arguments, pure=False, retries=RETRIES, **named)

    def add(self, customer: str, part: Sequence[Conversation], ledger: Ledger) -> None:
        """Send a batch, after waiting until few enough are on their way."""
        self.drain(self.most - 1, ledger)
        self.flying.append(_Flight(customer, self.submit(read_batch, self.packed, part)))
        self._write_next(customer)

    def _write_next(self, customer: str) -> None:
        """Let the customer's oldest batch be written, unless it is being written."""
        flight = next((f for f in self.flying if f.customer == customer), None)
        if flight is not None and flight.written is None:
            flight.written = self.submit(write_batch, self.packed, self.home, customer, flight.read)

    def drain(self, most: int, ledger: Ledger) -> None:
        """Wait for the oldest until at most so many are on their way."""
        while len(self.flying) > most:
            flight = self.flying[0]
            written: Written = _result(flight.written)
            self.flying.popleft()
            self._write_next(flight.customer)
            ledger.troubled(flight.customer, written.troubled)
            self.skipped.setdefault(flight.customer, []).extend(written.skipped)
            self.done += written.count
            self.progress(self.done)

    def curate(self, customers: Sequence[str], ledger: Ledger, crew: Crew) -> None:
        """Fold what changed, each category by itself; a customer's folds are written by one task."""
        for customer in customers:
            dirty = self._dirty(customer, crew)
            rewrite = ledger.rewritten(customer)
            if not dirty and not rewrite:
                continue
            while len(self.flying) >= self.most:
                _result(self.flying.popleft().written)
            folds = [self.submit(fold_category, self.packed, self.home, customer, k) for k in dirty]
            written = self.submit(write_folds, self.packed, self.home, customer, folds, rewrite=rewrite)
            self.flying.append(_Flight(customer, written=written))
        while self.flying:
            _result(self.flying.popleft().written)

    def _dirty(self, customer: str, crew: Crew) -> list[str]:
        with Bank.open(self.home, customer, create=False) as bank:
            curator = crew.curator(customer)
            if bank.get_meta("curator") != curator.name:
                hand_over(bank, curator)
            return [category for category, _, _ in bank.dirty()]

    @contextmanager
    def cancelling(self) -> Iterator[None]:
        """Whatever goes wrong, nothing stays on its way."""
        try:
            yield
        finally:
            left = [f for flight in self.flying for f in (flight.read, flight.written) if f is not None]
            if left:
                self.client.cancel(left, force=True)
            self.flying.clear()


def _result(future: Future) -> Any:
    from distributed.scheduler import KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        raise ModelError(
            f"workers keep dying: {error}; give them more memory, or a smaller batch, and go on"
        ) from error


def _threads(client: Client) -> int:
    return sum(client.nthreads().values())


def _check_home(client: Client, home: str) -> None:
    """Refuse a cluster that would write its banks somewhere else.

    Raises
    ------
    InputError
        If there is no worker, or one does not see the folder.
    """
    folder = Path(home)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        mark = folder / f".seen-by-workers-{os.getpid()}"
        mark.touch()
    except OSError as error:
        raise InputError(f"{home}: can't write here: {error.strerror or error}") from error
    try:
        seen = client.run(seen_by, str(mark), on_error="return")  # a worker may be dying just now
    finally:
        mark.unlink(missing_ok=True)
    if not seen:
        raise InputError("the cluster has no worker; start one with `dask worker ADDRESS`")
    blind = sorted(worker for worker, sees in seen.items() if sees is False)
    if blind:
        raise InputError(f"{home}: {len(blind)} of {len(seen)} workers do not see it ({blind[0]}); use a shared folder")


@contextmanager
def local_client(workers: int, *, memory: str = "auto", dashboard: bool = False) -> Iterator[Client]:
    """A cluster of worker processes on this machine, one thread each, for as long as the context lasts.

    A script must call it under ``if __name__ == "__main__":``, for each worker imports the script.

    Parameters
    ----------
    workers : int
        Processes, ≥ 1.
    memory : str
        Of each, such as ``"2GiB"``; one that needs more is started anew.
    dashboard : bool
        Serve Dask's page about what the workers do; `client.dashboard_link` says where.

    Raises
    ------
    InputError
        If the extra `memlab[distributed]` is not installed, or `workers` is out of range.
    """
    if workers < 1:
        raise InputError(f"workers={workers} must be ≥ 1")
    with connected(
        None, n_workers=workers, threads_per_worker=1, processes=True, memory_limit=memory,
        dashboard_address="127.0.0.1:0", scheduler_kwargs={"dashboard": dashboard},
    ) as client:  # fmt: skip
        yield client


@contextmanager
def connected(address: str | None, **local: Any) -> Iterator[Client]:
    """A client of the cluster at an address, or of one that is started here.

    Raises
    ------
    InputError
        If the extra is missing, or nobody answers at the address.
    """
    try:
        from dask import config
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise InputError(f"{error}: pip install 'memlab[distributed]'") from error
    with config.set({"distributed.admin.low-level-log-length": LOGGED}):
        if address is None:
            with LocalCluster(host="127.0.0.1", **local) as cluster, Client(cluster) as client:
                yield client
            return
        try:
            client = Client(address, timeout=10)
        except (OSError, TimeoutError, ValueError) as error:
            raise InputError(f"no Dask scheduler answers at {address}: {error}") from error
        with client:
            yield client
