"""What a Hindsight server does that a store must handle, one test a trap; the server's answers are those of the real one."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from threading import Thread

import pytest
from calls import done, refused
from hindsight_fake import KEY, FakeHindsight, dropped, empty, faking, slow, status
from scripted import HashEncoder
from test_agent_stores import MARCH, step

from memlab.agent.bankstore import BankStore
from memlab.agent.hindsight import HindsightStore
from memlab.agent.hindsight_documents import bank_name
from memlab.agent.hindsight_server import HindsightServer
from memlab.agent.records import Telling, remembered
from memlab.agent.stores import open_store
from memlab.errors import BankError, BankFormatError, InputError, RecallError

pytest.importorskip("hindsight_client", reason="the Hindsight client is not installed: pip install 'memlab[hindsight]'")
BANK = bank_name("memlab", "acme")


@pytest.fixture
def server() -> Iterator[FakeHindsight]:
    with faking() as fake:
        yield fake


@pytest.fixture
def connect(server: FakeHindsight) -> Iterator[Callable[..., HindsightStore]]:
    """Stores on the server, with short pauses between attempts; closed at the end."""
    opened: list[HindsightStore] = []

    def make(
        *, url: str = "", key: str = KEY, timeout: float = 30, pauses: tuple[float, ...] = (0.01, 0.01)
    ) -> HindsightStore:
        line = HindsightServer(url or server.url, api_key=key, timeout=timeout, pauses=pauses)
        opened.append(HindsightStore("unused", server=line))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(connect: Callable[..., HindsightStore]) -> HindsightStore:
    return connect()


def texts(store: HindsightStore, customer: str = "acme") -> list[str]:
    return [m.text for m in store.all(customer)]


# -- banks and documents ----------------------------------------------------------------------------------------------


def test_a_customer_has_a_bank_with_mission_and_disposition_and_nothing_derived(server, store):
    store.add("acme", [step("x step")])
    config = server.configs[BANK]
    assert "claim until then" in config["reflect_mission"]
    assert {1 <= config[f"disposition_{trait}"] <= 5 for trait in ("skepticism", "literalism", "empathy")} == {True}
    assert config["enable_observations"] is False


def test_a_bank_that_is_there_keeps_its_memories(server, store, connect):
    store.add("acme", [step("one step")])
    connect().add("acme", [step("two step")])
    assert sorted(texts(store)) == ["one step", "two step"]


def test_names_that_a_path_can_not_hold_are_hashed(server, store):
    names = ("acme/eu", "acme eu", "ACME-EU", "../acme", "日本", "*", "a%2Fb")
    for name in names:
        store.add(name, [step(f"memory of {name}", name)])
    assert all(set(bank) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for bank in server.banks)
    assert len(server.banks) == len(names)
    assert store.customers() == sorted(names)


@pytest.mark.parametrize("prefix", ["a/b", "A", "-a", "a--b", "ä", "x" * 61])
def test_a_prefix_that_banks_can_not_have_is_refused(prefix):
    with pytest.raises(InputError, match="HINDSIGHT_BANK"):
        HindsightStore("http://127.0.0.1:1", prefix=prefix)


def test_other_banks_of_the_server_are_not_read(server, store):
    store.add("acme", [step("x step")])
    server.banks["memlab-somebody"] = [{"id": "u", "text": "t", "document_id": "d", "metadata": {}, "tags": []}]
    server.banks["other"] = []
    assert store.customers() == ["acme"]


def test_outcomes_claims_and_proposals_are_told_apart_by_context_and_tags(server, store):
    outcome = step("update the client", outcome="worked")
    claim = remembered(
        "acme", "attempt", "clear the cache", Telling(MARCH, "c1", "user"), Telling(MARCH, "c1", "agent", "worked")
    )
    proposal = step("restart it", by="agent")
    store.add("acme", [outcome, claim, proposal])
    units = {u["text"]: u for u in server.banks[BANK]}
    standing = {text: {t for t in u["tags"] if t.startswith(("standing", "outcome"))} for text, u in units.items()}
    assert standing["update the client"] == {"standing:outcome", "outcome:worked"}
    assert standing["clear the cache"] == {"standing:claim", "outcome:unknown"}
    assert standing["restart it"] == {"standing:proposal", "outcome:unknown"}
    assert units["update the client"]["context"] == "attempt, outcome: worked (confirmed, told by user)"


def test_the_original_time_is_sent_and_its_offset_kept(server, store):
    store.add("acme", [step("x step")])
    (unit,) = server.banks[BANK]
    assert unit["mentioned_at"] == "2026-03-02T09:00:00+01:00"  # never omitted: the server would say "now"
    assert unit["metadata"]["first_told"] == "2026-03-02T09:00:00+01:00"
    assert all(isinstance(v, str) for v in unit["metadata"].values())
    unit["mentioned_at"] = "2026-03-02T08:00:00+00:00"  # what the real server makes of it
    assert store.all("acme")[0].at.isoformat() == "2026-03-02T09:00:00+01:00"


def test_writing_the_same_again_replaces_its_document(server, store):
    for _ in range(2):
        store.add("acme", [step("x step")])
    assert len(server.banks[BANK]) == 1


def test_what_a_server_derives_or_others_wrote_is_not_a_memory(server, store):
    store.add("acme", [step("x step")])
    server.banks[BANK].append(
        {
            "id": "o",
            "text": "x step, observed",
            "document_id": None,
            "metadata": None,
            "tags": [],
            "fact_type": "observation",
        }
    )
    assert texts(store) == ["x step"]
    assert [m.text for m, _ in store.search("acme", "observed")] == ["x step"]
    assert server.calls[-1][2]["types"] == ["world", "experience"]


def test_a_memory_of_another_customer_in_a_bank_is_refused(server, store):
    store.add("globex", [step("secret", "globex")])
    server.banks[BANK] = server.banks[bank_name("memlab", "globex")]
    with pytest.raises(BankFormatError, match="another customer") as caught:
        store.all("acme")
    assert "secret" not in str(caught.value)


def test_a_damaged_document_is_said(server, store):
    store.add("acme", [step("x step")])
    server.banks[BANK][0]["metadata"]["record"] = "{"
    with pytest.raises(BankFormatError, match="damaged"):
        store.all("acme")


# -- what is written is there, or is an error --------------------------------------------------------------------------


def test_an_empty_extraction_is_an_error_although_the_server_says_success(server, store):
    server.fail("POST .*/memories$", empty)
    with pytest.raises(BankError, match="kept nothing of it"):
        store.add("acme", [step("x step")])
    assert texts(store) == []
    store.add("acme", [step("x step")])  # it may be repeated
    assert texts(store) == ["x step"]


@pytest.mark.parametrize("fault", [status(500), dropped, empty])
@pytest.mark.parametrize("request_number", [0, 1])
def test_a_batch_that_ends_half_way_is_not_seen_and_may_be_repeated(server, connect, fault, request_number):
    # Two requests write three documents: first the two memories, then the one that completes them.
    store, ok = connect(pauses=()), (lambda h: False)
    server.fail("POST .*/memories$", *[ok] * request_number, fault)
    two = [step("one step"), step("two step")]
    with pytest.raises(BankError):
        store.add("acme", two)
    assert store.all("acme") == [] == store.customers()
    assert store.search("acme", "one") == []
    store.add("acme", two)
    assert sorted(texts(store)) == ["one step", "two step"]


def test_an_update_that_ends_half_way_is_the_old_or_the_new_memory(server, connect):
    store, memory = connect(pauses=()), step("old text")
    store.add("acme", [memory])
    server.fail("POST .*/memories$", status(500))
    with pytest.raises(BankError):
        store.update("acme", memory.id, text="new text")
    assert texts(store) == ["old text"]
    server.fail("DELETE .*/documents/", status(500))
    with pytest.raises(BankError):
        store.update("acme", memory.id, text="new text")
    assert texts(store) == ["new text"]  # the old document is still there, and no longer counts
    assert len(server.banks[BANK]) == 2
    store.update("acme", memory.id, text="newer text")
    assert [u["text"] for u in server.banks[BANK]] == ["newer text"]


def test_a_concurrent_retain_is_repeated(server, store):
    server.fail("POST .*/memories$", status(500, "updated by a concurrent retain"), status(409))
    store.add("acme", [step("x step")])
    assert texts(store) == ["x step"]


def test_more_than_a_page_is_read_whole(server, store):
    server.page = 2
    store.add("acme", [step(f"step {n}") for n in range(7)])
    assert len(store.all("acme")) == 7


# -- errors are errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["all", "search", "add", "forget", "customers", "update"])
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (status(500), "HTTP 500"),
        (status(409), "HTTP 409"),
        (dropped, "can't be reached"),
        (status(404, "Not Found"), "answers as"),
    ],
)
def test_no_failure_reads_as_an_empty_history(server, connect, call, fault, said):
    store, memory = connect(pauses=()), step("x step")
    store.add("acme", [memory])
    server.faults.append((".", fault))
    calls = {
        "all": lambda: store.all("acme"),
        "search": lambda: store.search("acme", "x"),
        "add": lambda: store.add("acme", [step("y step")]),
        "forget": lambda: store.forget("acme"),
        "customers": store.customers,
        "update": lambda: store.update("acme", memory.id, text="z"),
    }
    with pytest.raises(RecallError if call == "search" else BankError, match=said) as caught:
        calls[call]()
    assert "\n" not in str(caught.value)


def test_a_bad_key_no_server_and_a_wrong_address_are_told_apart(server, connect):
    said = {}
    for name, store in {
        "key": connect(key="wrong"),
        "server": connect(url="http://127.0.0.1:1"),
        "address": connect(url=f"{server.url}/elsewhere"),
    }.items():
        for call in (lambda s=store: s.all("acme"), lambda s=store: s.add("acme", [step("x step")])):
            with pytest.raises(BankError) as caught:
                call()
            said.setdefault(name, []).append(str(caught.value))
    assert all("key was refused" in text for text in said["key"])
    assert all("can't be reached" in text for text in said["server"])
    assert all("check HINDSIGHT_URL" in text for text in said["address"])
    assert KEY not in str(said)


def test_a_time_out_is_an_error_and_is_not_repeated(server, connect):
    connect().add("acme", [step("x step")])
    store = connect(timeout=1)
    server.fail("POST .*/memories$", slow(3))
    before = len(server.calls)
    with pytest.raises(BankError, match="no answer within 1 s"):
        store.add("acme", [step("y step")])
    assert sum(m == "POST" for m, _, _ in server.calls[before:]) == 1
    server.fail("/memories/list", slow(3))
    with pytest.raises(BankError, match="no answer"):
        store.all("acme")


def test_a_server_that_is_busy_is_asked_again(server, store):
    store.add("acme", [step("x step")])
    server.fail("/memories/", status(503), status(429))
    assert texts(store) == ["x step"]


# -- search ---------------------------------------------------------------------------------------------------------------


def test_the_rank_that_the_server_gives_is_not_a_score(server, store):
    store.add("acme", [step("printer jam"), step("no sound in calls")])
    hits = store.search("acme", "holiday on a distant beach")
    # `final` says 1.0 for the first hit, whatever was asked; the similarity is the semantic score.
    assert all(score < 0.9 for _, score in hits)
    assert len(hits) == 2


def test_a_stage_that_did_not_find_a_hit_is_null(server, store):
    store.add("acme", [step("one step"), step("two step"), step("three step")])
    scores = {"one step": (0.4, None), "two step": (None, 0.7), "three step": (None, None)}

    def reshape(rows):
        for row in rows:
            row["scores"]["semantic"], row["scores"]["keyword"] = scores.get(row["text"], (None, None))
        return rows

    server.reshape = reshape
    assert [(m.text, s) for m, s in store.search("acme", "x")] == [
        ("two step", 0.7),
        ("one step", 0.4),
        ("three step", 0.0),
    ]


def test_results_that_the_server_cut_are_still_memories(server, store):
    store.add("acme", [step(f"step number {n}") for n in range(5)])
    server.reshape = lambda rows: rows[:2]
    hits = store.search("acme", "step", k=4)
    assert len(hits) == 4
    assert [s for _, s in hits][2:] == [0.0, 0.0]
    asked = next(body for _, path, body in reversed(server.calls) if path.endswith("/recall"))
    assert asked["max_tokens"] > sum(len(u["text"]) for u in server.banks[BANK])


# -- erasure ----------------------------------------------------------------------------------------------------------------


def test_a_deadlock_while_deleting_is_repeated_until_the_bank_is_gone(server, store):
    store.add("acme", [step("x step")])
    server.fail("DELETE .*/banks/[^/]+$", status(500, "deadlock detected"), status(500, "deadlock detected"))
    assert store.forget("acme") == 1
    assert BANK not in server.banks


def test_memories_that_survive_a_successful_delete_are_deleted_again(server, store):
    store.add("acme", [step("x step")])
    left = list(server.banks[BANK])

    def revive(handler) -> bool:
        """The deletion succeeds, and a retain that was queued writes afterwards."""
        with server.lock:
            server.banks[BANK] = []
        handler.send(200, {"success": True, "message": "deleted", "deleted_count": 1})
        with server.lock:
            server.banks[BANK] = left
        return True

    server.fail("DELETE .*/banks/[^/]+$", revive, revive)
    assert store.forget("acme") == 1
    assert BANK not in server.banks


def test_a_bank_that_never_goes_is_an_error(server, store):
    store.add("acme", [step("x step")])
    server.faults.append(
        ("DELETE .*/banks/[^/]+$", lambda h: h.send(200, {"success": True, "deleted_count": 0}) or True)
    )
    with pytest.raises(BankError, match="still there after 5 deletions"):
        store.forget("acme")


def test_what_is_queued_is_waited_for_before_deleting(server, store):
    store.add("acme", [step("x step")])
    server.queued = [2]  # looks: pending 2; then pending 0, processing 0
    store.forget("acme")
    asked = [(m, p.rpartition("/")[2]) for m, p, _ in server.calls]
    first_delete = next(n for n, (m, _) in enumerate(asked) if m == "DELETE")
    assert sum(p == "operations" for _, p in asked[:first_delete]) >= 3


def test_forgetting_one_deletes_its_documents_and_the_last_one_the_bank(server, store):
    one, two = step("one step"), step("two step")
    store.add("acme", [one, two])
    assert store.forget("acme", [one.id]) == 1
    assert "one step" not in json.dumps(server.banks)
    assert store.forget("acme", [two.id]) == 1
    assert BANK not in server.banks


# -- threads and loops ----------------------------------------------------------------------------------------------------


def test_it_works_inside_a_running_loop_and_from_other_threads(store):
    async def in_a_notebook() -> list[str]:
        store.add("acme", [step("from a loop")])
        return texts(store)

    assert asyncio.run(in_a_notebook()) == ["from a loop"]
    seen: list[list[str]] = []
    threads = [Thread(target=lambda: seen.append(texts(store))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [["from a loop"]] * 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_gets_a_loop_of_its_own(store):
    store.add("acme", [step("x step")])
    # os.fork itself would be warned about in a process with threads; what is looked at is the process's number.
    store._server._line.process -= 1
    assert texts(store) == ["x step"]


def test_it_can_be_closed_and_used_again(store):
    store.add("acme", [step("x step")])
    store.close()
    store.close()
    assert texts(store) == ["x step"]


# -- configuration and moving ---------------------------------------------------------------------------------------------


def test_the_environment_names_server_key_and_prefix(server, tmp_path):
    environ = {"HINDSIGHT_URL": server.url, "HINDSIGHT_API_KEY": KEY, "HINDSIGHT_BANK": "desk"}
    store = open_store(tmp_path, environ=environ)
    assert isinstance(store, HindsightStore)
    store.add("acme", [step("x step")])
    assert list(server.banks) == [bank_name("desk", "acme")]
    store.close()
    with pytest.raises(InputError, match="http://"):
        open_store(tmp_path, environ={"HINDSIGHT_URL": "localhost"})


def test_memories_move_to_hindsight_and_back_without_loss(server, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    bank = BankStore(here, encoder=HashEncoder())
    told = [
        Telling(MARCH + timedelta(days=n), f"c{n}", by, "failed", "“no”\n") for n, by in enumerate(("user", "tool"))
    ]
    mine = [
        remembered("acme", "attempt", "restart — größer", *told, symptoms=["no sound"], category="teams"),
        step("b step"),
    ]
    bank.add("acme", mine)
    bank.add("a/b", [step("other", "a/b")])
    env = {"HINDSIGHT_URL": server.url, "HINDSIGHT_API_KEY": KEY}
    out = done("import", here, "--to", "hindsight", env=env).stdout
    assert out.splitlines() == ["a/b: 1 memory from bank to hindsight", "acme: 2 memories from bank to hindsight"]
    done("import", here, "--to", "hindsight", env=env)  # again changes nothing
    done("import", there, "--from", "hindsight", "--to", "bank", env=env)
    copy = BankStore(there, encoder=HashEncoder())
    assert copy.customers() == bank.customers()
    assert [copy.all(c) for c in copy.customers()] == [bank.all(c) for c in bank.customers()]
    one = tmp_path / "one"
    rows = json.loads(
        done("import", one, "--from", "hindsight", "--to", "json", "--customer", "acme", "--json", env=env).stdout
    )
    assert rows == {"from": "hindsight", "to": "json", "memories": {"acme": 2}}


def test_moving_refuses_what_can_not_be_meant(server, tmp_path):
    env = {"HINDSIGHT_URL": None, "HINDSIGHT_API_KEY": None}
    assert "HINDSIGHT_URL" in refused("import", tmp_path, "--to", "hindsight", env=env)
    assert "the same" in refused("import", tmp_path, "--to", "bank", "--from", "bank", code=2)
    assert "--to" in refused("import", tmp_path, "--from", "bank", code=2)
    assert "-o" in refused("import", tmp_path, "--to", "bank", "--from", "json", "-o", Path("x"), code=2)
    env = {"HINDSIGHT_URL": server.url, "HINDSIGHT_API_KEY": KEY}
    assert "no memories" in refused("import", tmp_path, "--to", "hindsight", env=env)
    assert "globex" in refused("import", tmp_path, "--to", "hindsight", "--customer", "globex", env=env)
