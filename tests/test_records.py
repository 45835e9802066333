"""The vocabulary: what goes in comes out, what is wrong is refused by name, what is unsafe becomes visible."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import conv, prop

from memlab.errors import CustomerError, InputError, TimeError
from memlab.operations import Operation
from memlab.records import (
    Conversation,
    Evidence,
    Proposal,
    Proposals,
    Turn,
    canonical_json,
    clean_text,
    content_hash,
    parse_time,
    valid_customer,
)

any_text = st.text(st.characters(codec=None), max_size=30)
visible = st.text(min_size=1, max_size=12).filter(lambda t: bool(t.strip()) and bool(clean_text(t).strip()))
conversations = st.builds(
    Conversation,
    visible,
    st.sampled_from(["acme", "globex ag"]),
    st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))])).filter(
        lambda t: 1990 < t.year < 2100
    ),
    st.lists(st.builds(Turn, st.sampled_from(["user", "agent", "tool"]), any_text), max_size=4).map(tuple),
    st.none() | visible,
    st.none() | visible,
    st.dictionaries(visible, st.none() | st.integers() | any_text | st.lists(any_text, max_size=3), max_size=3),
)


@given(conversations)
@settings(max_examples=60, deadline=None)
def test_a_conversation_survives_json_and_is_clean_after_once(c):
    once = Conversation.from_json(c.to_json())
    canonical_json(once.to_json()).encode()
    assert Conversation.from_json(json.loads(canonical_json(once.to_json()))) == once
    assert Conversation.from_json(once.to_json()).version == once.version
    assert once.order == (c.started_at.astimezone(UTC), once.id)


@given(any_text)
def test_cleaning_is_done_once_and_for_all(text):
    clean = clean_text(text)
    clean.encode()
    assert clean_text(clean) == clean
    assert not any(ord(ch) < 32 and ch not in "\t\n" for ch in clean)


def test_the_version_is_of_the_content():
    c = conv("c1", 0, tags=["a", "b"], note="x")
    assert c.version == conv("c1", 0, note="x", tags=["b", "a"]).version
    for other in (
        replace(c, id="c2"),
        replace(c, category="mail"),
        replace(c, requester="ann"),
        replace(c, turns=c.turns[:-1]),
        replace(c, turns=(*c.turns, Turn("user", "one more"))),
        replace(c, started_at=c.started_at + timedelta(seconds=1)),
        replace(c, metadata={"tags": ["a", "b"], "note": "y"}),
    ):
        assert other.version != c.version


def test_unknown_keys_are_kept_and_the_requester_is_found():
    data = {**conv("c1", 0).to_json(), "ticket": 7, "metadata": {"requester": "ann", "tags": ["x"]}}
    c = Conversation.from_json(data)
    assert (c.requester, dict(c.metadata)) == ("ann", {"ticket": 7, "tags": ["x"]})


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("id", "", "id must be"),
        ("id", None, "id must be"),
        ("customer", "", "customer"),
        ("category", "  ", "category"),
        ("category", 3, "category"),
        ("turns", None, "turns must be a list"),
        ("turns", "text", "turns must be a list"),
        ("turns", [{"role": "boss", "text": "x"}], "turn 0: role"),
        ("turns", [{"role": "user"}], "turn 0: text"),
        ("turns", [7], "turn 0"),
        ("metadata", [1], "metadata"),
        ("started_at", "2026-03-02T09:00:00", "no UTC offset"),
        ("started_at", "soon", "ISO 8601"),
    ],
)
def test_what_is_wrong_is_refused_by_name(field, value, says):
    with pytest.raises(InputError, match=says):
        Conversation.from_json({**conv("c1", 0).to_json(), field: value})


def test_times():
    zone = ZoneInfo("Europe/Berlin")
    assert parse_time("2026-03-02T09:00:00Z") == datetime(2026, 3, 2, 9, tzinfo=UTC)
    assert parse_time("2026-07-01T09:00", zone=zone).utcoffset() == timedelta(hours=2)
    for wrong in ("2026-03-29T02:30:00", None, 1774751400000, "", "2026-13-01T00:00:00Z"):
        with pytest.raises(TimeError):
            parse_time(wrong, zone=zone)


@pytest.mark.parametrize("name", ["", " ", " a", "a ", "a\tb", "\u200b", "\ud83d", None, 3, "a" * 201, "\u0301"])
def test_odd_customers_are_refused(name):
    with pytest.raises(CustomerError):
        valid_customer(name)


@pytest.mark.parametrize("name", ["a", "acme/eu", "*", "a%", "..", "プリンター", "O'Neil & Söhne"])
def test_unusual_customers_are_not(name):
    assert valid_customer(name) == name


def test_composed_and_decomposed_names_are_one_customer():
    assert valid_customer("acme\u0301") == valid_customer("acm\u00e9")


def test_a_proposal_survives_json_and_says_what_is_wrong():
    p = prop(["a", "b"], "c", "x", "inferred", failed=["y"], kind="workaround", conversation="c1", category="vpn")
    assert Proposal.from_json(json.loads(canonical_json(p))) == p
    for field, value in (
        ("resolution", "certainly"),
        ("conversation", ""),
        ("symptoms", [{"text": "a"}]),
        ("solution", {"text": "x", "turn": 0, "quote": "", "kind": "magic"}),
        ("attempts", [{"action": "a", "outcome": "maybe", "turn": 0, "quote": ""}]),
    ):
        with pytest.raises(InputError):
            Proposal.from_json({**p.to_json(), field: value})


def test_proposals_are_a_list_and_a_frame():
    found = Proposals([prop(["a", "b"], "c", "x", failed=["y"], conversation="c1"), prop("d", conversation="c2")])
    assert (len(found), len(found[:1]), found[1].conversation) == (2, 1, "c2")
    frame = found.to_frame()
    assert frame.groupby("field").size().to_dict() == {"attempt": 1, "root_cause": 1, "solution": 1, "symptom": 3}
    assert "2 of 2 conversations" in repr(found)


def test_canonical_json_is_one_text_for_one_value():
    assert canonical_json({"b": {3, 1, 2}, "a": (1, None), "ü": True}) == '{"a":[1,null],"b":[1,2,3],"ü":true}'
    assert canonical_json({"b": 1, "a": 2}) == canonical_json({"a": 2, "b": 1})
    assert content_hash([1, 2]) != content_hash([2, 1])
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))


@given(st.text(max_size=20), st.floats(-1, 1), st.booleans(), st.sampled_from([None, "r\u00e9quester", 'a "b"']))
@settings(max_examples=60, deadline=None)
def test_an_operation_is_written_as_the_encoder_would_write_it(text, value, flag, requester):
    text = clean_text(text)
    evidence = Evidence("c1", parse_time("2026-03-02T09:00:00+01:00"), "confirmed", requester, flag)
    op = Operation(
        "add", "cause", "e1", text, evidence, (("s1", "e1"),), features={"b": value, "a": 0.5}, kept_out=flag
    )
    assert op.dumps() == json.dumps(op.to_json(), ensure_ascii=False, separators=(",", ":"))
    assert Operation.from_json(json.loads(op.dumps())) == op
