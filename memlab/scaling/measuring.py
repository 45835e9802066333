"""The costs of learning on this machine, each in CPU seconds, so that a busy machine measures the same as an idle one."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from memlab.bank import Bank
from memlab.bank.replay import fold
from memlab.corpus.generator import generate
from memlab.curation.curator import OfflineCurator
from memlab.extraction import OfflineExtractor
from memlab.learning import learn
from memlab.models.embeddings import OnnxMiniLM
from memlab.records import Conversation, Mention, Proposal, Solution, canonical_json
from memlab.scaling.batches import Crew, read_here, write_batch
from memlab.scaling.costs import Costs, fit_fold
from memlab.scaling.distributed import learn_on, local_client, offline_curator
from memlab.scaling.ledger import Ledger

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

__all__ = [
    "SpeedEncoder",
    "SpeedReader",
    "fold_seconds",
    "measured_costs",
    "memory_of_a_stream",
    "same_as_alone",
    "throughput",
]

T = TypeVar("T")


class SpeedReader:
    """Reads generated conversations by their template, at no cost: **for speed only**."""

    name = "speed-1"

    def extract(self, conversation: Conversation) -> Sequence[Proposal]:
        """The opening is the symptom, and the last reply of an agent names cause and solution."""
        turns = conversation.turns
        number = next((n for n in reversed(range(len(turns))) if turns[n].role == "agent"), 0)
        said, _, fix = turns[number].text.partition(". Please ")
        cause = said.removeprefix("The cause: ")
        return [
            Proposal(
                conversation.id, 0, conversation.category, resolution="inferred",
                symptoms=(Mention(re.sub(r"(?i)[,(]? ?(ticket|ref\.?)? ?SR\d+\)?", "", turns[0].text), 0, turns[0].text),),
                root_cause=Mention(cause, number, cause), solution=Solution(fix or cause, number, fix or cause, "fix"),
            )
        ]  # fmt: skip


class SpeedEncoder:
    """Vectors of the right size from hashed words, at little cost: **for speed only**."""

    name = "speed-words-384"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of shape (len(texts), 384)."""
        rows = np.zeros((len(texts), 384), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.casefold()):
                digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
                row[[int.from_bytes(digest[n : n + 2], "big") % 384 for n in (0, 2, 4, 6)]] += 1
            row[0] += 1e-3
        unit: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-9)).astype(np.float32)
        return unit


def _cpu(work: Callable[[], T]) -> tuple[float, T]:
    started = time.process_time()
    value = work()
    return time.process_time() - started, value


def fold_seconds(home: str | Path, sizes: Sequence[int], *, seed: int) -> list[float]:
    """CPU seconds of curating so many generated conversations of one category, each size in a bank of its own.

    A new root cause turns up in about every fifth conversation, however many there were: the memory keeps growing.
    """
    out = []
    for size in sizes:
        made = (c for c, _ in generate(size, seed=seed, customers=1, causes=max(1, size // 5)))
        mine = tuple(replace(c, customer=f"folds-{size}", category="vpn") for c in made)
        ready = read_here(mine, SpeedReader(), SpeedEncoder())
        packed = Crew(SpeedReader, offline_curator, SpeedEncoder()).packed()
        write_batch(packed, str(home), f"folds-{size}", ready)
        with Bank.open(home, f"folds-{size}") as bank:
            out.append(_cpu(lambda bank=bank: fold(bank, "vpn", OfflineCurator()))[0])  # type: ignore[misc]
    return out


def measured_costs(
    conversations: Sequence[Conversation], home: str | Path, *, sizes: Sequence[int] = (100, 200, 400), seed: int = 1
) -> Costs:
    """The costs of a sample of real conversations, and of curation on generated ones.

    Parameters
    ----------
    conversations : sequence of Conversation
        Of any customers; reading each costs an encoder call a clause.
    home : path
        An empty folder.
    sizes : sequence of int
        Conversations of the folds that are timed.
    seed : int
        Of the generated conversations.
    """
    Path(home).mkdir(parents=True, exist_ok=True)
    encoder = OnnxMiniLM(1)
    encoder.encode(["warm up", "and again"])
    extractor = OfflineExtractor(encoder)
    extractor.extract(conversations[0])
    one = [replace(c, customer="sample") for c in conversations]
    read, ready = _cpu(lambda: read_here(one, extractor, encoder))
    packed = Crew(OfflineExtractor, offline_curator, encoder).packed()
    write, _ = _cpu(lambda: write_batch(packed, str(home), "sample", ready))
    lines = [json.dumps(c.to_json()) for c in one]
    with Ledger(home, "nobody") as ledger:
        send, _ = _cpu(lambda: list(ledger.batches((Conversation.from_json(json.loads(x)) for x in lines), 64)))
    first, growth = fit_fold(sizes, fold_seconds(home, sizes, seed=seed))
    n = len(conversations)
    return Costs(read=read / n, write=write / n, send=send / n, fold=first, growth=growth)


def throughput(conversations: Sequence[Conversation], home: str | Path, *, workers: int) -> dict[str, float]:
    """What learning takes on so many local workers, without starting them; a first batch warms them up.

    Returns
    -------
    dict
        `workers`, `seconds` on the clock, `per_second`, and seconds of the processor: `cpu_seconds` of all processes,
        this one included, and `busiest_cpu_seconds` of the worker that had most to do. On a machine with a free
        processor for each worker the clock comes down as the latter does.
    """
    with local_client(workers) as client:
        learn_on(client, _copies(conversations[: 2 * workers], "warm"), Path(home) / f"warm-{workers}", batch=1)
        before = client.run(time.process_time)
        own, started = time.process_time(), time.perf_counter()
        learn_on(client, conversations, Path(home) / f"workers-{workers}", batch=8)
        seconds, mine = time.perf_counter() - started, time.process_time() - own
        spent = [now - before[worker] for worker, now in client.run(time.process_time).items()]
    return {
        "workers": workers,
        "seconds": seconds,
        "per_second": len(conversations) / seconds,
        "cpu_seconds": sum(spent) + mine,
        "busiest_cpu_seconds": max(spent),
    }


def _copies(conversations: Sequence[Conversation], customer: str) -> list[Conversation]:
    return [replace(c, customer=customer) for c in conversations]


def same_as_alone(home: str | Path, *, conversations: int, workers: int, seed: int) -> pd.DataFrame:
    """Generated conversations learned by one process and by workers of a local cluster, bank by bank.

    Returns
    -------
    DataFrame
        By customer: `conversations`, `operations`, `bytes` of the export, and whether they are the `same bytes`.
    """
    import pandas as pd

    stream = [c for c, _ in generate(conversations, seed=seed, customers=3, causes=8)]
    with local_client(workers) as client:
        learn_on(client, stream, Path(home) / "many", extractor=SpeedReader, encoder=SpeedEncoder(), batch=16)
    rows = []
    for name in sorted({c.customer for c in stream}):
        with Bank.open(Path(home) / "one", name) as one, Bank.open(Path(home) / "many", name) as many:
            learn(one, stream, extractor=SpeedReader(), encoder=SpeedEncoder())
            export = canonical_json(one.export())
            row = {"customer": name, "conversations": one.count("conversations"), "operations": one.count("operations")}
            same = canonical_json(many.export()) == export
            rows.append({**row, "bytes": len(export.encode()), "same bytes": same})
    return pd.DataFrame(rows).set_index("customer")


def memory_of_a_stream(
    home: str | Path,
    conversations: int,
    *,
    every: int,
    workers: int = 2,
    seed: int = 1,
    customers: int = 20,
    told: Callable[[dict[str, float]], None] = lambda _: None,
) -> list[dict[str, float]]:
    """The most memory that a stream of generated conversations has taken so far, as it passes, **for speed only**.

    The readers cost nothing here, so the stream is as fast as it can be, and back-pressure is what bounds it.

    Parameters
    ----------
    home : path
        An empty folder.
    conversations : int
        Length of the stream.
    every : int
        Conversations between two rows.
    workers, seed, customers : int
        Of the cluster and the generated conversations.
    told : callable
        Is given each row when it is made.

    Returns
    -------
    list of dict
        `conversations`, `sender_mb` (peak of this process, which also holds Dask's scheduler), `worker_mb` (peak of the
        largest worker) and `seconds`; of the last row also `curated`: it is taken when all of them have been curated.
    """
    rows: list[dict[str, float]] = []
    stream = (c for c, _ in generate(conversations, seed=seed, customers=customers, causes=200))
    with local_client(workers) as client:
        started = time.perf_counter()

        def note(done: int, **more: float) -> None:
            if more or done >= every * (len(rows) + 1):
                seconds, peaks = time.perf_counter() - started, client.run(peak_mb)
                sizes = {"sender_mb": peak_mb(), "worker_mb": max(peaks.values())}
                rows.append({"conversations": done, **sizes, "seconds": seconds, **more})
                told(rows[-1])

        learn_on(client, stream, home, extractor=SpeedReader, encoder=SpeedEncoder(), progress=note)
        note(conversations, curated=conversations)
    return rows


def peak_mb() -> float:
    """The most memory that this process has held since it was started, in MB."""
    import resource
    import sys

    status = Path("/proc/self/status")  # ru_maxrss would also hold what the parent had when it forked
    if status.exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text("utf-8"))
        if found:
            return int(found[1]) / 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1024 * 1024 if sys.platform == "darwin" else 1024)
