"""Learning on a real cluster of two workers: the bytes of one process, whoever dies, is asked twice, or comes late."""

from __future__ import annotations

import itertools
import os
import random
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from labour import Jotting, Mortal, Plain, Slow, Words

from memlab.bank import Bank
from memlab.corpus import read_conversations
from memlab.corpus.generator import generate
from memlab.errors import InputError
from memlab.learning import learn
from memlab.models.embeddings import OnnxMiniLM
from memlab.records import Turn, canonical_json
from memlab.scaling import Paced, learn_on, local_client
from memlab.scaling.batches import Crew, Ready, read_batch, write_batch
from memlab.scaling.ledger import Ledger
from memlab.scaling.measuring import memory_of_a_stream

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def marks(tmp_path_factory):
    """Files that workers write to; named in the environment before they start."""
    folder = tmp_path_factory.mktemp("marks")
    os.environ["MEMLAB_TEST_MARK"], os.environ["MEMLAB_TEST_JOTS"] = str(folder / "mark"), str(folder / "jots")
    yield folder
    del os.environ["MEMLAB_TEST_MARK"], os.environ["MEMLAB_TEST_JOTS"]


@pytest.fixture(scope="module")
def client(marks):
    with local_client(2) as opened:
        yield opened


@pytest.fixture(scope="module")
def some():
    return [c for c, _ in generate(160, seed=3, customers=3, causes=6)]


def alone(conversations, home, extractor, encoder) -> tuple[dict[str, str], dict[str, object]]:
    """Exports and reports of one process that learns everything at once."""
    exports, reports = {}, {}
    for name in sorted({c.customer for c in conversations}):
        with Bank.open(home, name) as bank:
            mine = [c for c in conversations if c.customer == name]
            reports[name] = learn(bank, mine, extractor=extractor, encoder=encoder)
            exports[name] = canonical_json(bank.export())
    return exports, reports


def exports_of(home, names) -> dict[str, str]:
    out = {}
    for name in names:
        with Bank.open(home, name, create=False) as bank:
            assert bank.dirty() == []
            out[name] = canonical_json(bank.export())
    return out


@pytest.fixture(scope="module")
def reference(some, tmp_path_factory):
    return alone(some, tmp_path_factory.mktemp("one"), Plain(), Words())


def test_any_batch_and_order_give_the_bytes_and_counts_of_one_process(client, some, reference, tmp_path):
    for n, size in enumerate((1000, 7)):
        home = tmp_path / str(n)
        shuffled = random.Random(n).sample(some, len(some))
        reports = learn_on(client, iter(shuffled), home, extractor=Plain, encoder=Words(), batch=size)
        assert exports_of(home, reports) == reference[0]
        assert reports == reference[1]
        again = learn_on(client, some, home, extractor=Plain, encoder=Words())
        assert [(r.learned, r.unchanged, r.operations) for r in again.values()] == [
            (0, reference[1][name].learned, {}) for name in again
        ]


def test_a_worker_that_dies_while_it_reads_changes_nothing(client, some, reference, tmp_path, marks):
    reports = learn_on(client, some, tmp_path, extractor=Mortal, encoder=Words(), batch=16)
    assert (marks / "mark").exists()  # one did die
    assert exports_of(tmp_path, reports) == reference[0]
    assert reports == reference[1]


def test_a_worker_that_is_killed_from_outside_changes_nothing(client, some, reference, tmp_path):
    pids = client.run(os.getpid)
    killed = []

    def kill() -> None:
        time.sleep(0.3)
        worker, pid = sorted(pids.items())[0]
        os.kill(pid, 9)
        killed.append(worker)

    killer = threading.Thread(target=kill)
    killer.start()
    reports = learn_on(client, some, tmp_path, extractor=Slow, encoder=Words(), batch=8)
    killer.join()
    assert killed
    assert exports_of(tmp_path, reports) == reference[0]
    assert reports == reference[1]


def test_an_ended_run_goes_on_where_it_was(client, some, reference, tmp_path):
    def broken():
        yield from some[:100]
        raise OSError("the disk with the conversations is gone")

    with pytest.raises(OSError, match="is gone"):
        learn_on(client, broken(), tmp_path, extractor=Plain, encoder=Words(), batch=8, in_flight=2)
    held = 0
    for name in reference[0]:
        with Bank.open(tmp_path, name) as bank:
            held += bank.count("conversations")
    assert 0 < held <= 100
    reports = learn_on(client, some, tmp_path, extractor=Plain, encoder=Words(), batch=8)
    assert exports_of(tmp_path, reports) == reference[0]
    assert sum(r.unchanged for r in reports.values()) >= held
    assert sum(r.learned + r.unchanged for r in reports.values()) == len(some)


def test_forms_of_one_conversation_deliveries_twice_and_trouble_count_as_in_one_process(client, some, tmp_path):
    first = some[:30]
    longer = [replace(c, turns=(*c.turns, Turn("user", "one more thing: it is back"))) for c in first[::3]]
    unreadable = [replace(c, id=f"{c.id}-bad", turns=(Turn("user", "unreadable"),)) for c in first[::5]]
    stream = [*first, *longer, *first[::2], *unreadable, *longer, *unreadable[:1]]
    expected = alone(stream, tmp_path / "one", Plain(), Words())
    for size in (3, 500):
        home = tmp_path / f"many-{size}"
        reports = learn_on(client, stream, home, extractor=Plain, encoder=Words(), batch=size)
        assert exports_of(home, reports) == expected[0]
        assert reports == expected[1]
    # Over a bank that holds another form of some: they are updates, and nothing stays of what they said.
    later = [replace(c, turns=(Turn("user", "all is well now"), *c.turns[1:])) for c in first[:9]]
    both = [*later, *first[9:], *unreadable]
    expected = alone(both, tmp_path / "one", Plain(), Words())
    reports = learn_on(client, both, home, extractor=Plain, encoder=Words(), batch=4)
    assert exports_of(home, reports) == expected[0]
    assert reports == expected[1]
    gone = first[0].turns[0].text.encode()
    assert all(gone not in path.read_bytes() for path in home.iterdir())


def test_a_batch_that_is_delivered_twice_is_stored_once(some, tmp_path):
    packed = Crew(Plain, offline, Words()).packed()
    mine = [c for c in some if c.customer == some[0].customer]
    ready = read_batch(packed, mine)
    assert isinstance(ready, Ready)
    for _ in range(2):
        written = write_batch(packed, str(tmp_path), mine[0].customer, ready)
        assert (written.count, written.skipped) == (len(mine), ())
        with Bank.open(tmp_path, mine[0].customer) as bank:
            assert bank.count("conversations") == len(mine)


def offline(customer):
    from memlab.curation.curator import OfflineCurator

    return OfflineCurator()


def test_the_real_reader_gives_the_same_bytes_on_a_worker(client, tmp_path):
    corpus = read_conversations(ROOT / "datasets/support/conversations.jsonl")
    chosen = [c for c in corpus if c.category == "printing"][:4]
    from memlab.extraction import OfflineExtractor

    encoder = OnnxMiniLM(1)
    expected = alone(chosen, tmp_path / "one", OfflineExtractor(encoder), encoder)
    reports = learn_on(client, chosen, tmp_path / "many", batch=3)
    assert exports_of(tmp_path / "many", reports) == expected[0]
    assert reports == expected[1]


def test_only_so_many_batches_are_on_their_way(client, some, tmp_path):
    taken, done = itertools.count(), []
    most = 0

    def stream():
        nonlocal most
        for c in some:
            most = max(most, next(taken) + 1 - (done[-1] if done else 0))
            yield c

    one = [replace(c, customer="acme") for c in some]
    some_of_one = iter(one)
    learn_on(
        client, (next(some_of_one) for _ in stream()), tmp_path, extractor=Plain, encoder=Words(), batch=10,
        in_flight=2, progress=done.append,
    )  # fmt: skip
    # Two batches of 10 on their way, and a third being filled.
    assert most <= 30
    assert done[-1] == len(some)


def test_a_long_stream_leaves_nothing_behind_in_the_scheduler(client, some, tmp_path):
    one = [replace(c, customer="acme") for c in some]
    held = []
    learn_on(
        client, one, tmp_path, extractor=Plain, encoder=Words(), batch=2, in_flight=2,
        progress=lambda _: held.append(len(client.cluster.scheduler.tasks)),
    )  # fmt: skip
    # 80 batches, each read and written; two of them are on their way, and those that just ended may not be gone yet.
    assert len(held) == 80
    assert max(held) <= 20
    # Nor do many of the messages that carried them: Dask keeps the last ones, by default 1,000 of each connection.
    sent = [len(stream.recent_message_log) for stream in client.cluster.scheduler.stream_comms.values()]
    assert 0 < max(sent) <= 20


def test_the_memory_of_a_stream_is_told_as_it_passes_and_when_it_is_curated(tmp_path):
    told = []
    rows = memory_of_a_stream(tmp_path, 130, every=60, workers=1, customers=2, told=told.append)
    assert rows == told
    assert [row["conversations"] for row in rows] == sorted(row["conversations"] for row in rows)
    assert rows[-1]["curated"] == rows[-1]["conversations"] == 130
    assert len(rows) >= 2
    assert all(row["worker_mb"] > 0 and row["sender_mb"] > 0 for row in rows)


def test_workers_share_the_limits_of_an_endpoint(client, some, tmp_path, marks):
    jots = marks / "jots"
    paced = Paced(Jotting, at_once=1, per_minute=60 / 0.01, name="one at a time")
    learn_on(client, some[:24], tmp_path, extractor=paced, encoder=Words(), batch=3)
    spans = sorted(tuple(map(float, line.split())) for line in jots.read_text().splitlines())
    assert len(spans) == 24
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans))


def test_an_empty_stream_is_no_error(client, tmp_path):
    assert learn_on(client, [], tmp_path, extractor=Plain, encoder=Words()) == {}


def test_what_cannot_be_sent_is_refused_in_a_sentence(client, some, tmp_path):
    with pytest.raises(InputError, match="can't be sent this extractor"):
        learn_on(client, some, tmp_path, extractor=lambda: Plain(), encoder=Words())
    with pytest.raises(InputError, match="must be ≥ 1"):
        Paced(Plain, at_once=0)


def test_the_fullest_batch_goes_when_too_many_wait(some, tmp_path):
    with Ledger(tmp_path, "plain-1") as ledger:
        many = [replace(c, customer=f"customer {n % 90}") for n, c in enumerate(some)]
        parts = list(ledger.batches(many, 2))
    assert max(len(part) for _, part in parts) <= 2
    assert sorted(c.id for _, part in parts for c in part) == sorted(c.id for c in many)
