"""Importing: the preview tells what was understood, and what is written reads back the same."""

from __future__ import annotations

import json

import pytest

from memlab.corpus import read_conversations
from memlab.corpus.importing import preview, redact_all, write_conversations

LINES = [
    {
        "messages": [{"role": "user", "content": "Hi Jonas, vpn is down"}, {"role": "assistant", "content": "x" * 200}],
        "created": 1772442000,
    },
    {
        "messages": [{"role": "system", "content": "be nice"}, {"role": "user", "content": "printer?"}],
        "created": 1772528400,
    },
    {"messages": [{"role": "boss", "content": "now"}], "created": 1},
    {"messages": [{"role": "chef", "content": "now"}], "created": 1},
]


@pytest.fixture
def report(tmp_path):
    path = tmp_path / "chats.jsonl"
    path.write_text("\n".join(map(json.dumps, LINES)), "utf-8")
    return read_conversations(path, format="openai", customer="acme")


def test_the_preview_counts_what_was_understood_and_what_not(report):
    shown = preview(redact_all(report))
    assert (shown.conversations, shown.turns, shown.roles) == (2, 3, {"agent": 1, "user": 2})
    assert (shown.customers, shown.categories, shown.left_out, shown.redacted) == (
        {"acme": 2},
        {"": 2},
        {"left_out": 1},
        {"NAME": 1},
    )
    assert (shown.first, shown.last) == ("2026-03-02T09:00:00+00:00", "2026-03-03T09:00:00+00:00")
    # Equal reasons count together whatever they quote.
    assert list(shown.skipped.values()) == [2]
    assert shown.examples[0]["turns"][0]["text"] == "Hi [NAME_1], vpn is down"
    assert len(shown.examples[0]["turns"][1]["text"]) == 90
    text = shown.to_text()
    assert text.startswith("2 conversations, 3 turns, 2 pieces skipped")
    assert "left_out" in text
    assert json.loads(json.dumps(shown.to_json())) == shown.to_json()


def test_an_empty_report_previews_too(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text("")
    assert preview(read_conversations(path)).to_text().startswith("0 conversations")


def test_what_is_written_reads_back(report, tmp_path):
    assert write_conversations(report, tmp_path / "out.jsonl") == 2
    assert list(read_conversations(tmp_path / "out.jsonl")) == list(report)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["chats.jsonl", "out.jsonl"]
