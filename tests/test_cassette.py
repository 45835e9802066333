"""Recorded replies: found by what was sent, on disk at once, never another customer's, gone when forgotten."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab.errors import InputError
from memlab.models.cassette import Cassette, request_key
from memlab.models.chat import Reply
from memlab.models.usage import Usage

SENT = {
    "customer": "acme",
    "model": "m",
    "messages": [{"role": "user", "content": "hi"}],
    "schema": {"title": "t"},
    "temperature": 0.0,
    "max_tokens": 10,
    "prompt": "extract@1",
}
ABOUT = {"sender": ("m", 0.0, 10), "prompt": "extract@1", "customer": "acme", "conversation": "c1"}


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("customer", "globex"),
        ("model", "n"),
        ("messages", [{"role": "user", "content": "hi "}]),
        ("schema", None),
        ("temperature", 0.1),
        ("max_tokens", 11),
        ("prompt", "extract@2"),
    ],
)
def test_the_key_is_made_of_everything_that_was_sent(field, other):
    assert request_key(**SENT) == request_key(**SENT)
    assert request_key(**SENT) != request_key(**{**SENT, field: other})


def test_a_reply_is_on_disk_before_the_next_question(tmp_path):
    path = tmp_path / "sub" / "replies.jsonl"
    cassette = Cassette(path, "record")
    cassette.put("k1", Reply("one", 5, 6, "stop", 0.5), **ABOUT)
    assert Cassette(path).get("k1") == Reply("one", 5, 6, "stop", 0.5)
    cassette.put("k2", Reply("zwei ü", 1, 1), **ABOUT, calls=2)
    assert path.read_text("utf-8").count("\n") == 2
    again = Cassette(path)
    assert (len(again), again.senders) == (2, [("m", 0.0, 10)])
    # 1 + 2 calls; the second one's cost is unknown, and so is the sum.
    assert again.usage == Usage(3, 0, 6, 7, 0, None)


def test_modes(tmp_path):
    path = tmp_path / "r.jsonl"
    with pytest.raises(InputError, match="no such cassette"):
        Cassette(path)
    Cassette(path, "record").put("k", Reply("x"), **ABOUT)
    Cassette(path, "replay").put("other", Reply("y"), **ABOUT)
    live = Cassette(path, "live")
    live.put("other", Reply("y"), **ABOUT)
    assert live.get("k") is None
    assert next(map(json.loads, path.read_text("utf-8").splitlines()))["key"] == "k"
    assert len(Cassette(path)) == 1
    with pytest.raises(InputError, match="replay, record, live"):
        Cassette(path, "rewind")
    memory = Cassette(mode="record")
    memory.put("k", Reply("x"), **ABOUT)
    assert memory.get("k") == Reply("x")


@given(st.text())
def test_any_text_comes_back_as_it_was(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("c") / "r.jsonl"
    Cassette(path, "record").put("k", Reply(text), **ABOUT)
    assert Cassette(path).get("k") == Reply(text)


def test_a_lone_surrogate_comes_back_too(tmp_path):
    path = tmp_path / "r.jsonl"
    Cassette(path, "record").put("k", Reply("Drucker \ud83d defekt\x00"), **ABOUT)
    assert Cassette(path).get("k") == Reply("Drucker \ud83d defekt\x00")


def test_a_line_that_a_kill_cut_off_is_passed_by_at_every_byte(tmp_path):
    path = tmp_path / "r.jsonl"
    cassette = Cassette(path, "record")
    cassette.put("k1", Reply('one {with} "braces"'), **ABOUT)
    whole = path.read_bytes()
    cassette.put("k2", Reply("{two} ü"), **ABOUT)
    both = path.read_bytes()
    for size in range(len(whole), len(both) - 1):
        path.write_bytes(both[:size])
        resumed = Cassette(path, "record")
        assert resumed.get("k1") is not None and resumed.get("k2") is None
        resumed.put("k3", Reply("three"), **ABOUT)
        after = Cassette(path)
        assert (after.get("k1"), after.get("k3")) == (Reply('one {with} "braces"'), Reply("three"))


@pytest.mark.parametrize("line", ["not json}", '{"key": "k"}', "[1]", '{"key": 1, "text": 2}'])
def test_a_line_that_is_no_reply_is_named(line, tmp_path):
    path = tmp_path / "r.jsonl"
    Cassette(path, "record").put("k1", Reply("one"), **ABOUT)
    path.write_text(path.read_text("utf-8") + line + "\n", "utf-8")
    with pytest.raises(InputError, match=r"r\.jsonl:2: not a recorded reply"):
        Cassette(path)


def test_threads_write_whole_lines(tmp_path):
    path = tmp_path / "r.jsonl"
    cassette = Cassette(path, "record")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: cassette.put(f"k{n}", Reply("x" * 5000), **ABOUT), range(40)))
    assert len(Cassette(path)) == 40


def test_forgetting_leaves_no_trace(tmp_path):
    path = tmp_path / "r.jsonl"
    cassette = Cassette(path, "record")
    cassette.put("k1", Reply("secret one"), **ABOUT)
    cassette.put("k2", Reply("two"), **{**ABOUT, "conversation": "c2"})
    cassette.put("k3", Reply("a decision that may rest on c1"), **{**ABOUT, "conversation": None})
    cassette.put("k4", Reply("another customer's c1"), **{**ABOUT, "customer": "globex"})
    assert cassette.forget("acme", "c1") == 2
    assert b"secret" not in path.read_bytes() and b"decision" not in path.read_bytes()
    left = Cassette(path, "record")
    assert [left.get(k) is not None for k in ("k1", "k2", "k3", "k4")] == [False, True, False, True]
    assert left.forget("acme") == 1
    assert left.forget("acme") == 0
    assert Cassette(path).get("k4") is not None
    assert [p.name for p in tmp_path.iterdir()] == ["r.jsonl"]
