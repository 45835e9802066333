"""A folder that is followed: whole files once, half-written ones later, bad lines told once, and a clean stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from scripted import conv

from memlab.cli import main
from memlab.corpus.reading import read_conversations
from memlab.errors import InputError
from memlab.following import Cursor, follow, look, whole_files


def line(id: str, **more: object) -> str:
    return json.dumps({**conv(id, **more).to_json()}) + "\n"


class Taking:
    """Follows a folder for one `--once`, or as long as it is let, and notes what it was given."""

    def __init__(self, tmp_path: Path) -> None:
        self.inbox, self.path = tmp_path / "inbox", tmp_path / "cursor.json"
        self.inbox.mkdir()
        self.ids: list[str] = []
        self.told: list[str] = []
        self.stop = threading.Event()

    def run(self, *, once: bool = True, every: float = 0.01) -> int:
        return follow(
            self.inbox, cursor=Cursor.load(self.path), read=read_conversations, take=self.take, tell=self.told.append,
            stop=self.stop, pattern="*.jsonl", every=every, once=once,
        )  # fmt: skip

    def take(self, chunk) -> None:
        self.ids += [c.id for c in chunk]


@pytest.fixture
def taking(tmp_path):
    return Taking(tmp_path)


def test_a_file_is_taken_once_and_again_when_it_grows(taking):
    file = taking.inbox / "a.jsonl"
    file.write_text(line("c1") + line("c2"))
    assert taking.run() == 1
    assert taking.run() == 0  # a new run, a new cursor read from the file
    assert taking.ids == ["c1", "c2"]
    with file.open("a") as opened:
        opened.write(line("c3"))
    assert taking.run() == 1
    assert taking.ids == ["c1", "c2", "c1", "c2", "c3"]


def test_a_half_written_file_waits_until_its_last_line_is_whole(taking):
    file, whole = taking.inbox / "a.jsonl", line("c1") + line("c2")
    file.write_text(whole[:-20])
    first = look(taking.inbox)
    assert whole_files(taking.inbox, first, {}, {}) == []
    file.write_text(whole)
    second = look(taking.inbox)
    assert whole_files(taking.inbox, second, first, {}) == ["a.jsonl"]
    assert whole_files(taking.inbox, second, second, second) == []


def test_a_last_line_without_an_end_is_read_when_nobody_writes_any_more(taking):
    (taking.inbox / "a.jsonl").write_text(line("c1") + line("c2").rstrip("\n"))
    assert taking.run() == 1
    assert taking.ids == ["c1", "c2"]


def test_hidden_unfinished_empty_and_foreign_files_are_passed_by(taking):
    for name in (".a.jsonl", "b.jsonl.part", "notes.txt", "c.jsonl.tmp"):
        (taking.inbox / name).write_text(line("c1"))
    (taking.inbox / "empty.jsonl").touch()
    assert taking.run() == 0
    assert (taking.ids, taking.told) == ([], [])


def test_bad_lines_are_told_once_over_restarts_and_growth(taking):
    file = taking.inbox / "a.jsonl"
    file.write_text(line("c1") + "{broken\n")
    taking.run()
    with file.open("a") as opened:
        opened.write(line("c2") + "[]\n")
    taking.run()
    taking.run()
    assert [t.split(": ")[0].removeprefix(f"skipped {taking.inbox}/") for t in taking.told] == [
        "a.jsonl:2",
        "a.jsonl:4",
    ]
    assert taking.ids == ["c1", "c1", "c2"]


def test_a_file_that_is_no_text_is_told_once_and_the_others_go_on(taking):
    (taking.inbox / "a.jsonl").write_bytes("{}\n".encode("utf-16"))
    (taking.inbox / "b.jsonl").write_text(line("c1"))
    assert taking.run() == 2
    assert taking.run() == 0
    assert len(taking.told) == 1
    assert "UTF-16" in taking.told[0]
    assert taking.ids == ["c1"]


def test_the_cursor_holds_no_text_and_a_damaged_one_is_like_none(taking):
    (taking.inbox / "a.jsonl").write_text(line("secret-id") + '{"id": "other-secret"}\n')
    taking.run()
    assert "secret" not in taking.path.read_text()
    taking.path.write_text('{"files": {"a.jsonl": ')
    assert taking.run() == 1
    assert taking.ids == ["secret-id"] * 2


def test_what_is_known_of_a_file_that_is_gone_is_dropped(taking):
    (taking.inbox / "a.jsonl").write_text(line("c1"))
    taking.run()
    (taking.inbox / "a.jsonl").unlink()
    (taking.inbox / "b.jsonl").write_text(line("c2"))
    taking.run()
    assert list(Cursor.load(taking.path).done) == ["b.jsonl"]


def test_asked_to_stop_it_ends_between_chunks_and_takes_the_file_anew(taking, monkeypatch):
    monkeypatch.setattr("memlab.following.CHUNK", 2)
    (taking.inbox / "a.jsonl").write_text("".join(line(f"c{n}") for n in range(5)))
    take = taking.take

    def stopping(chunk) -> None:
        take(chunk)
        taking.stop.set()

    taking.take = stopping
    assert taking.run(once=False) == 0
    assert taking.ids == ["c0", "c1"]
    taking.stop.clear()
    taking.take = take
    assert taking.run() == 1
    assert taking.ids == ["c0", "c1", "c0", "c1", "c2", "c3", "c4"]


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        look(tmp_path / "nowhere")


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture
def low_value(tmp_path):
    """A folder with a conversation in which no user speaks: nothing needs a model."""
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    turns = [("agent", "nightly summary: all is well")]
    (inbox / "a.jsonl").write_text(line("c1", turns=turns) + "{bad\n" + line("c2", turns=turns))
    return inbox


def memlab(*arguments: object):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def test_once_learns_what_is_new_and_says_it(low_value, tmp_path):
    home = tmp_path / "memory"
    call = ("learn", low_value, "--home", home, "--follow", "--once", "--every", "0.05", "--json")
    first, second = memlab(*call), memlab(*call)
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert json.loads(first.stdout)["learned"] == 2
    assert first.stderr.count("skipped") == 1
    assert json.loads(second.stdout) == json.loads(second.stdout) | {"learned": 0, "unchanged": 0}
    assert "skipped" not in second.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--once"], "--once needs --follow"),
        (["--follow", "--strict"], "--strict"),
        (["--follow", "--scheduler", "local"], "exclude each other"),
        (["--at-once", "2"], "needs --scheduler"),
        (["--scheduler", "tcp://127.0.0.1:1", "--workers", "2"], "--workers is for --scheduler local"),
        (["--workers", "2", "--at-once", "2"], "--extractor prompted"),
    ],
)
def test_calls_that_mean_nothing_are_refused(low_value, tmp_path, options, message):
    result = memlab("learn", low_value, "--home", tmp_path / "memory", *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_scheduler_that_does_not_answer_is_one_line(low_value, tmp_path):
    pytest.importorskip("distributed")
    result = memlab("learn", low_value / "a.jsonl", "--home", tmp_path / "memory", "--scheduler", "tcp://127.0.0.1:1")
    assert result.exit_code == 1
    assert "no Dask scheduler answers" in result.stderr.splitlines()[-1]


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGTERM")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(low_value, tmp_path, number):
    home = tmp_path / "memory"
    command = [sys.executable, "-m", "memlab.cli", "learn", str(low_value), "--home", str(home), "--follow"]
    process = subprocess.Popen(
        [*command, "--every", "0.1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    )
    try:
        deadline = time.monotonic() + 60
        while not list(home.glob("followed-*.json")) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0
    assert out == "acme: 2 learned; no operation\n"
    assert "stopped; the next run goes on from here" in err
    assert "Traceback" not in err
