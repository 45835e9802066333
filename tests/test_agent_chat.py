"""`memlab chat` in a pipe: what it prints, its commands, and what it does with a line that fails."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from memlab.cli import main

AT = "2026-03-02T09:00:00+01:00"
PROBLEM, STEP = "Outlook keeps asking for my password", "Removing the stored credential did the trick"


@pytest.fixture
def chat(tmp_path):
    def run(*lines: str, customer: str = "acme", options: tuple[str, ...] = ()) -> Result:
        call = ["chat", "--home", str(tmp_path), "--customer", customer, "--at", AT, *options]
        return CliRunner().invoke(main, call, input="".join(f"{line}\n" for line in lines))

    return run


def test_a_conversation_with_what_was_recalled_and_learned(chat):
    first = chat(PROBLEM, "/resolve remove the stored credential", "/timeline", options=("--conversation", "monday"))
    assert first.exit_code == 0, first.stderr
    assert "learned: incident opened" in first.stdout
    assert "(solved)" in first.stdout
    second = chat("Outlook asks for the password all the time", options=("--conversation", "friday"))
    assert "recalled: remove the stored credential -> worked (2026-03-02, monday" in second.stdout
    assert "What fixed it then: remove the stored credential" in second.stdout


def test_memory_off_reads_and_writes_nothing(chat, tmp_path):
    result = chat(PROBLEM, options=("--memory", "off"))
    assert result.exit_code == 0, result.stderr
    assert "memory is off" in result.stdout
    assert not list(tmp_path.iterdir())
    switched = chat("/memory off", PROBLEM, "/memory on", "/timeline")
    assert "nothing is remembered of acme" in switched.stdout


def test_json_is_one_object_a_line(chat):
    result = chat(PROBLEM, "/profile style short", "/forget all", "/quit", "never read", options=("--json",))
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 0, result.stderr
    assert [row.get("command") for row in rows] == [None, "profile", "forget"]
    assert rows[0]["learned"][0]["kind"] == "incident"
    assert rows[2]["forgotten"] == 2


def test_a_line_that_fails_is_said_and_the_rest_goes_on(chat):
    result = chat("/resolve", "/profile", "/memory maybe", "/dance", "/timeline")
    assert result.exit_code == 1
    assert [line.split(":")[0] for line in result.stderr.splitlines()] == ["memlab"] * 4
    assert "no open incident" in result.stderr
    assert "/resolve, /close" in result.stderr
    assert "nothing is remembered" in result.stdout


def test_forgetting_this_conversation(chat):
    result = chat(PROBLEM, "/forget", "/timeline")
    assert "forgot 1 memories" in result.stdout
    assert "nothing is remembered of acme" in result.stdout


@pytest.mark.parametrize("name", ["", " acme", "acme\t"])
def test_an_odd_name_is_refused_before_anything_is_read(chat, name, tmp_path):
    result = chat(PROBLEM, customer=name)
    assert result.exit_code == 1
    assert "customer" in result.stderr
    assert not list(tmp_path.iterdir())


def test_what_a_customer_writes_can_not_move_the_cursor(chat):
    result = chat(f"{PROBLEM} \x1b[2J", "/timeline")
    assert "\x1b" not in result.stdout
