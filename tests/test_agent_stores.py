"""One contract for every store. A further backend is one line in STORES."""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from threading import Thread
from time import sleep

import pytest
from scripted import HashEncoder

from memlab.agent.bankstore import BankStore
from memlab.agent.jsonstore import JsonStore
from memlab.agent.records import Memory, Telling, remembered
from memlab.agent.stores import Store, open_store
from memlab.errors import BankError, BankFormatError, CustomerError, InputError, RecallError

STORES: dict[str, Callable[[Path], Store]] = {
    "json": lambda home: JsonStore(home, encoder=HashEncoder()),
    "bank": lambda home: BankStore(home, encoder=HashEncoder()),
}
FILES = ("json", "bank")  # backends that keep files in `home`

MARCH = datetime(2026, 3, 2, 9, tzinfo=timezone(timedelta(hours=1)))
ODD_NAMES = ("", " ", " acme ", "acme ", "\tacme", "ac\nme", "\u200b", None, 7)
# Names that a careless backend folds, trims, splits or reads as a pattern.
CANARIES = ("acme", "ACME", "acme2", "acme.eu", "acme/eu", "a_me", "a%", "*", "acmé", "../acme", "acme-eu")


@pytest.fixture(params=STORES)
def backend(request) -> str:
    return str(request.param)


@pytest.fixture
def store(backend: str, tmp_path: Path) -> Iterator[Store]:
    yield STORES[backend](tmp_path)


def step(text: str, customer: str = "acme", *, outcome: str = "unknown", days: float = 0, **more: object) -> Memory:
    told = Telling(MARCH + timedelta(days=days), more.pop("conversation", "c1"), more.pop("by", "user"), outcome, text)
    return remembered(customer, "attempt", text, told, **more)


def test_what_was_added_comes_back_as_it_was_in_order_of_time(store):
    late, early = step("restart the router", days=2, symptoms=["no network"]), step("change the cable")
    fact = remembered("acme", "profile", "Uses a ThinkPad T14 — größer", Telling(MARCH, "c1", "user"))
    store.add("acme", [late, early, fact])
    # late is two days after the others; early and fact share a moment and are sorted by id.
    assert store.all("acme") == [*sorted([early, fact], key=lambda m: m.id), late]
    assert store.all("acme")[-1].at.isoformat() == "2026-03-04T09:00:00+01:00"  # its own date, with its own offset


def test_nothing_is_an_empty_list_and_leaves_nothing_behind(store, tmp_path):
    assert store.all("acme") == [] == store.search("acme", "anything") == store.customers()
    assert store.forget("acme") == 0
    store.add("acme", [])
    assert store.customers() == []
    assert not list(tmp_path.glob("*.bank")) + list(tmp_path.glob("*.json"))


def test_adding_the_same_again_changes_nothing(store):
    store.add("acme", [step("restart it"), step("restart it")])
    before = store.all("acme")
    store.add("acme", [step("restart it")])
    assert store.all("acme") == before
    assert len(before) == 1


def test_the_same_step_told_twice_is_one_attempt_with_the_better_informed_outcome(store):
    store.add("acme", [step("Restart it", outcome="failed", days=1)])
    store.add("acme", [step("restart  it", days=2)])
    (memory,) = store.all("acme")
    assert (memory.outcome, len(memory.tellings)) == ("failed", 2)


def test_update_replaces_fields_and_returns_the_memory(store):
    memory = step("restart it")
    store.add("acme", [memory, step("another")])
    told = (*memory.tellings, Telling(MARCH + timedelta(days=1), "c2", "tool", "worked", "exit code 0"))
    updated = store.update("acme", memory.id, tellings=told, symptoms=("no sound",))
    assert (updated.outcome, updated.verification, updated.symptoms) == ("worked", "inferred", ("no sound",))
    assert updated in store.all("acme")
    assert len(store.all("acme")) == 2


def test_update_refuses_what_is_not_there_or_may_not_change(store):
    memory = step("restart it", "globex")
    store.add("globex", [memory])
    for customer, id_, changes in (
        ("acme", memory.id, {"text": "taken over"}),
        ("globex", "nowhere", {"text": "x"}),
        ("globex", memory.id, {"customer": "acme"}),
        ("globex", memory.id, {"id": "x"}),
        ("globex", memory.id, {"outcome": "worked"}),
        ("globex", memory.id, {"text": " "}),
        ("globex", memory.id, {"tellings": ()}),
    ):
        with pytest.raises(InputError):
            store.update(customer, id_, **changes)
    assert store.all("globex") == [memory]
    assert store.all("acme") == []


def test_search_is_by_meaning_best_first_and_cut_at_k(store):
    store.add("acme", [step("update the client", symptoms=["crashes on big uploads"]), step("change the cable")])
    store.add("acme", [step(f"look at lamp {n}") for n in range(5)])
    hits = store.search("acme", "crashes on big uploads", k=3)
    assert [m.text for m, _ in hits][:1] == ["update the client"]
    scores = [score for _, score in hits]
    assert len(hits) == 3
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    with pytest.raises(InputError):
        store.search("acme", "   ")
    with pytest.raises(InputError):
        store.search("acme", "crash", k=0)


def test_search_sees_what_was_changed_and_not_what_was_forgotten(store):
    memory = step("alpha")
    store.add("acme", [memory, step("beta")])
    store.search("acme", "alpha")
    store.update("acme", memory.id, text="gamma delta")
    assert [m.text for m, _ in store.search("acme", "gamma delta", k=1)] == ["gamma delta"]
    store.forget("acme", [memory.id])
    assert [m.text for m, _ in store.search("acme", "gamma delta")] == ["beta"]


def test_forgetting_some_and_forgetting_all(store):
    one, two, other = step("one"), step("two"), step("three", "globex")
    store.add("acme", [one, two])
    store.add("globex", [other])
    assert store.forget("acme", [one.id, other.id, "nowhere"]) == 1
    assert store.all("acme") == [two]
    assert store.forget("acme") == 1
    assert store.all("acme") == []
    assert store.search("acme", "two") == []
    assert store.customers() == ["globex"]
    assert store.all("globex") == [other]


@pytest.mark.parametrize("backend", FILES, indirect=True)
def test_forgetting_leaves_no_byte_of_the_text(store, tmp_path):
    secret = step("Xylophonkonzert", symptoms=["Xylophonkonzert too"])
    store.add("acme", [secret, step("kept")])
    store.search("acme", "Xylophonkonzert")
    store.forget("acme", [secret.id])
    assert not any(b"Xylophonkonzert" in path.read_bytes() for path in tmp_path.iterdir())
    assert any(b"kept" in path.read_bytes() for path in tmp_path.iterdir())


# -- whose memory -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_fail_closed_everywhere(store, name):
    store.add("acme", [step("secret")])
    for call in (
        lambda: store.add(name, [step("x")]),
        lambda: store.add(name, []),
        lambda: store.update(name, step("secret").id, text="x"),
        lambda: store.all(name),
        lambda: store.forget(name),
        lambda: store.search(name, "secret"),
    ):
        with pytest.raises(CustomerError) as caught:
            call()
        assert "secret" not in str(caught.value)
    assert [m.text for m in store.all("acme")] == ["secret"]


def test_no_name_reads_anothers_memory(store):
    for name in CANARIES:
        store.add(name, [step(f"canary of {name}", name)])
    assert store.customers() == sorted(CANARIES)
    for name in CANARIES:
        assert [m.text for m in store.all(name)] == [f"canary of {name}"]
        assert [m.text for m, _ in store.search(name, "canary", k=50)] == [f"canary of {name}"]
    for n, name in enumerate(CANARIES, 1):
        assert store.forget(name) == 1
        assert store.customers() == sorted(CANARIES[n:])


def test_two_spellings_of_one_name_in_unicode_are_one_customer(store):
    store.add("acmé", [step("x", "acmé")])
    assert [m.text for m in store.all(unicodedata.normalize("NFD", "acmé"))] == ["x"]


def test_a_memory_of_another_customer_is_refused_whole(store):
    with pytest.raises(CustomerError) as caught:
        store.add("acme", [step("mine"), step("secret of globex", "globex")])
    assert "secret" not in str(caught.value)
    assert store.all("acme") == [] == store.all("globex")


# -- many writers -----------------------------------------------------------------------------------------------------

WRITER = """
import sys
from datetime import datetime, UTC
from threading import Thread
from memlab.agent.records import Telling, remembered
from memlab.agent.stores import open_store

backend, home, me, threads, each = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
store = open_store(home, backend=backend)
faults = []

def write(thread):
    try:
        for n in range(each):
            customer = ("acme", "ACME", "a%")[n % 3]
            told = Telling(datetime(2026, 3, 1, tzinfo=UTC), f"{me}-{thread}-{n}", "user", "failed", "shared")
            own = remembered(customer, "attempt", f"step {me} {thread} {n}", told)
            shared = remembered(customer, "attempt", "a step that everybody tells", told, incident="i1")
            store.add(customer, [own, shared])
    except BaseException as error:
        faults.append(repr(error))

workers = [Thread(target=write, args=(t,)) for t in range(threads)]
for w in workers: w.start()
for w in workers: w.join()
sys.exit("; ".join(faults) or 0)
"""


def test_threads_of_two_processes_lose_nothing_and_mix_nothing(backend, store, tmp_path):
    threads, each = 4, 6
    command = [sys.executable, "-c", WRITER, backend, str(tmp_path)]
    running = [
        subprocess.Popen([*command, me, str(threads), str(each)], stderr=subprocess.PIPE, text=True)
        for me in ("p", "q")
    ]
    errors = [process.communicate(timeout=120)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0], errors
    for turn, customer in enumerate(("acme", "ACME", "a%")):
        mine = [(me, t, n) for me in ("p", "q") for t in range(threads) for n in range(each) if n % 3 == turn]
        found = store.all(customer)
        shared = [m for m in found if m.text.startswith("a step")]
        assert {m.text for m in found if m not in shared} == {f"step {me} {t} {n}" for me, t, n in mine}
        # Every telling of the shared step is there: 2 processes x 4 threads x 2 of 6 messages are this customer's.
        assert [len(m.tellings) for m in shared] == [2 * threads * each // 3]


def test_concurrent_updates_of_one_memory_are_all_applied_or_refused(store):
    memories = [step(f"step {n}") for n in range(4)]
    store.add("acme", memories)
    workers = [Thread(target=store.update, args=("acme", m.id), kwargs={"category": "vpn"}) for m in memories]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [m.category for m in store.all("acme")] == ["vpn"] * 4


# -- failures ---------------------------------------------------------------------------------------------------------


class BrokenEncoder(HashEncoder):
    def encode(self, texts):
        raise RuntimeError("no vectors today")


@pytest.mark.parametrize("kind", [JsonStore, BankStore])
def test_a_search_that_fails_is_an_error_and_not_an_empty_result(kind, tmp_path):
    store = kind(tmp_path, encoder=BrokenEncoder())
    store.add("acme", [step("x")])
    with pytest.raises(RecallError, match="no vectors today"):
        store.search("acme", "x")


@pytest.mark.parametrize(
    "damage", [b"{", b"[]", b'{"format": 9, "customer": "acme", "memories": []}', b'{"format": 1, "customer": "acme", "memories": [{}]}']
)  # fmt: skip
def test_a_damaged_json_file_is_said_and_not_touched(tmp_path, damage):
    store = JsonStore(tmp_path)
    store.add("acme", [step("x")])
    (path,) = tmp_path.glob("*.json")
    path.write_bytes(damage)
    for call in (lambda: store.all("acme"), lambda: store.add("acme", [step("y")]), lambda: store.forget("acme")):
        with pytest.raises(BankFormatError):
            call()
    assert path.read_bytes() == damage


def test_another_customers_file_in_the_place_of_ones_own_is_refused(tmp_path):
    store = JsonStore(tmp_path)
    store.add("acme", [step("x")])
    store.add("globex", [step("secret", "globex")])
    mine, theirs = (store._path(name) for name in ("acme", "globex"))
    mine.write_bytes(theirs.read_bytes())
    with pytest.raises(BankFormatError, match="another customer") as caught:
        store.all("acme")
    assert "secret" not in str(caught.value)


def test_a_write_that_dies_half_way_leaves_the_old_state(tmp_path, monkeypatch):
    store = JsonStore(tmp_path)
    store.add("acme", [step("old")])

    def die(self: Path, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", die)
    with pytest.raises(BankError, match="nothing was changed"):
        store.add("acme", [step("new")])
    monkeypatch.undo()
    assert [m.text for m in store.all("acme")] == ["old"]
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".json", ".lock"]


def test_a_killed_process_leaves_the_old_or_the_new_state(backend, store, tmp_path):
    process = subprocess.Popen([sys.executable, "-c", WRITER, backend, str(tmp_path), "p", "2", "4000"])
    while not (written := store.customers()) and process.poll() is None:
        sleep(0.05)
    process.kill()
    process.wait()
    assert written
    for customer in store.customers():
        found = store.all(customer)
        texts = [m.text for m in found if not m.text.startswith("a step")]
        assert all(m.customer == customer for m in found)
        # A message's two memories are written together: the shared step has a telling for each own step.
        assert [len(m.tellings) for m in found if m.text.startswith("a step")] == [len(texts)]
    store.add("acme", [step("goes on")])


# -- the bank ---------------------------------------------------------------------------------------------------------


def test_memories_live_in_the_bank_and_go_when_the_bank_is_emptied(tmp_path, teach):
    from scripted import conv, prop

    from memlab.bank import Bank
    from memlab.learning import forget

    store = BankStore(tmp_path, encoder=HashEncoder())
    with Bank.open(tmp_path, "acme") as bank:
        teach(bank, [(conv("c1"), prop("no network", "loose cable", "push it in"))])
        before = bank.export()
        store.add("acme", [step("Xylophonkonzert")])
        after = bank.export()
        assert len(after["truth"].pop("memories")) == 1
        assert after == before
        assert bank.check() == []
        assert len(list(tmp_path.glob("*.bank"))) == 1
        store.forget("acme")
        assert bank.export() == before
        store.add("acme", [step("Xylophonkonzert")])
        forget(bank)
    assert store.all("acme") == []
    assert store.customers() == []
    assert not any(b"Xylophonkonzert" in path.read_bytes() for path in tmp_path.iterdir())


# -- choosing one -----------------------------------------------------------------------------------------------------


def test_configuration_chooses_the_store(tmp_path):
    assert isinstance(open_store(tmp_path, environ={}), BankStore)
    assert isinstance(open_store(tmp_path, environ={"MEMLAB_STORE": "json"}), JsonStore)
    assert isinstance(open_store(tmp_path, backend="json", environ={"HINDSIGHT_URL": "http://127.0.0.1:1"}), JsonStore)
    with pytest.raises(InputError, match="bank, json, hindsight"):
        open_store(tmp_path, backend="redis")


def test_a_memory_needs_a_time_with_a_zone():
    naive = datetime(2026, 3, 2, 9, tzinfo=UTC).replace(tzinfo=None)
    with pytest.raises(InputError, match="no UTC offset"):
        remembered("acme", "attempt", "x", Telling(naive, "c1", "user"))
    with pytest.raises(InputError, match="needs a telling"):
        remembered("acme", "attempt", "x")
