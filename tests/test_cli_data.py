"""Foreign conversations in, and the state of a data set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calls import call, done, line, refused, rows, write

from memlab.corpus.redaction import read_key, restore
from memlab.records import Conversation

CHATS = [
    {
        "messages": [
            {"role": "user", "content": "Hi Jonas, my VPN is down, mail me at katja.wirth@fabrikam.example"},
            {"role": "assistant", "content": "Open UDP 500, Katja."},
        ],
        "created": 1772442000,
    },
    {"messages": [{"role": "user", "content": "printer?"}], "created": 1772528400},
    {"messages": [{"role": "boss", "content": "now"}], "created": 1},
    {"messages": [{"role": "chef", "content": "now"}], "created": 1},
]
TABLE = """Ticket;Opened;Who;Said
T1;03.02.2026 09:00;Kunde;Drucker druckt leer
T1;03.02.2026 09:05;Hotline;Toner gewechselt
T2;04.02.2026 10:00;Kunde;VPN fehlt
"""
MAP = ["--map", "id=Ticket", "--map", "at=Opened", "--map", "role=Who", "--map", "text=Said"]


@pytest.fixture
def chats(tmp_path) -> Path:
    return write(tmp_path / "chats.jsonl", CHATS)


def openai(path: Path) -> list[object]:
    return ["import", path, "--format", "openai", "--customer", "acme"]


def test_a_preview_says_what_was_understood_and_writes_nothing(chats, tmp_path):
    result = done(*openai(chats))
    assert result.stdout.startswith("2 conversations, 3 turns, 2 pieces skipped\n")
    assert "customers  acme 2" in result.stdout
    assert "roles      agent 1, user 2" in result.stdout
    assert "skipped    2 × unknown role …" in result.stdout
    assert "nothing was written" in result.stdout
    told = [
        f"skipped {chats}:{n}: unknown role '{r}'; map it, for example role.agent={r}"
        for n, r in ((3, "boss"), (4, "chef"))
    ]
    assert result.stderr.splitlines() == told
    assert [p.name for p in tmp_path.iterdir()] == ["chats.jsonl"]


def test_what_is_written_can_be_learned(chats, tmp_path):
    out = tmp_path / "conversations.jsonl"
    (row,) = rows(*openai(chats), "-o", out)
    assert (row["conversations"], row["turns"], row["written"], row["output"]) == (2, 3, 2, str(out))
    assert (row["customers"], row["roles"], sum(row["skipped"].values())) == ({"acme": 2}, {"agent": 1, "user": 2}, 2)
    assert [(r["file"], r["line"]) for r in row["skipped_lines"]] == [(str(chats), 3), (str(chats), 4)]
    (total,) = rows("learn", out, "--home", tmp_path / "h")
    assert (total["learned"], total["skipped"]) == (2, [])


def test_redaction_hides_people_everywhere_and_the_key_brings_them_back(chats, tmp_path):
    out, key = tmp_path / "c.jsonl", tmp_path / "key.json"
    result = done(*openai(chats), "--redact", "--key", key, "-o", out)
    plain = done(*openai(chats), "-o", tmp_path / "plain.jsonl")
    for secret in ("Jonas", "katja.wirth"):
        assert secret in plain.stdout
        assert secret not in result.stdout + result.stderr + out.read_text("utf-8")
    assert "redacted " in result.stdout
    hidden = [Conversation.from_json(json.loads(text)) for text in out.read_text("utf-8").splitlines()]
    shown = [json.loads(text) for text in (tmp_path / "plain.jsonl").read_text("utf-8").splitlines()]
    assert [restore(c, read_key(key)).to_json() for c in hidden] == shown
    # Again with the same key: the same placeholders, and nothing of the key is lost.
    before = key.read_text(), out.read_text()
    done(*openai(chats), "--redact", "--key", key, "-o", out)
    assert (key.read_text(), out.read_text()) == before


def test_a_preview_of_redaction_writes_no_key(chats, tmp_path):
    assert "[NAME_1]" in done(*openai(chats), "--redact", "--key", tmp_path / "key.json").stdout
    assert [p.name for p in tmp_path.iterdir()] == ["chats.jsonl"]


def test_a_table_is_read_with_the_columns_that_are_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TABLE, "utf-8")
    more = ["--map", "role.user=Kunde", "--map", "role.agent=Hotline", "--map", "time_format=%d.%m.%Y %H:%M"]
    (row,) = rows("import", path, "--format", "csv", *MAP, *more, "--zone", "Europe/Berlin", "--customer", "acme")
    assert (row["conversations"], row["turns"], row["first"]) == (2, 3, "2026-02-03T09:00:00+01:00")


def test_conversations_without_a_time_get_the_one_that_is_given(tmp_path):
    path = write(tmp_path / "c.jsonl", [{"messages": CHATS[0]["messages"]}])
    assert "no time" in refused(*openai(path))
    (row,) = rows(*openai(path), "--at", "2026-03-02T09:00:00Z")
    assert row["first"] == "2026-03-02T09:00:00+00:00"


IMPORT = "import {tmp}/chats.jsonl --format openai --customer acme"
WRONG = {
    "key without redact": (f"{IMPORT} --key {{tmp}}/k", 2, ["--key needs --redact"]),
    "key is the output": (f"{IMPORT} --redact --key {{tmp}}/c -o {{tmp}}/c", 2, ["the same file"]),
    "a misspelt field": (f"{IMPORT} --map custmer=Firm", 1, ["'custmer'", "known: id, customer"]),
    "no equals sign": (f"{IMPORT} --map customer", 1, ["OURS=THEIRS"]),
    "a field twice": (f"{IMPORT} --map id=a --map id=b", 1, ["'id'", "twice"]),
    "jsonl has no map": ("import {tmp}/chats.jsonl --map id=a", 1, ["jsonl"]),
    "no such column": ("import {tmp}/t.csv --format csv --customer a --map id=Nr", 1, ["Nr"]),
    "unknown format": ("import {tmp}/chats.jsonl --format xml", 1, ["'xml'", "known: csv"]),
    "another format": ("import {tmp}/chats.jsonl", 1, ["chats.jsonl:1", "3 more; nothing could be read"]),
    "missing": ("import {tmp}/no.jsonl", 1, ["no such file"]),
    "strict": (f"{IMPORT} --strict -o {{tmp}}/c", 1, ["chats.jsonl:3", "boss"]),
    "no folder": (f"{IMPORT} -o {{tmp}}/no/c", 1, ["no folder"]),
    "no folder for the key": (f"{IMPORT} --redact --key {{tmp}}/no/k -o {{tmp}}/c", 1, ["no folder"]),
    "no key file": (f"{IMPORT} --redact --key {{tmp}}/t.csv -o {{tmp}}/c", 1, ["t.csv", "not a key file"]),
    "naive at": (f"{IMPORT} --at 2026-03-02", 1, ["UTC offset"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_goes_wrong_is_one_line_and_writes_nothing(case, chats, tmp_path):
    (tmp_path / "t.csv").write_text(TABLE, "utf-8")
    text, code, words = WRONG[case]
    said = refused(*text.format(tmp=tmp_path).split(), code=code)
    assert all(word in said for word in words), said
    assert sorted(p.name for p in tmp_path.iterdir()) == ["chats.jsonl", "t.csv"]


def test_many_skipped_pieces_are_summed_up(tmp_path):
    path = write(tmp_path / "c.jsonl", [CHATS[0], *[CHATS[2]] * 30])
    told = done(*openai(path)).stderr.splitlines()
    assert (len(told), told[-1]) == (11, "skipped 20 more; --json names all")


# -- data check ------------------------------------------------------------------------------------------------------

LABEL = {"conversation": "c1", "case": 0, "category": "vpn", "low_value": True, "root_cause": None, "solution": None}
LABEL |= {"solution_kind": None, "resolution": "abandoned"} | {
    k: [] for k in ("symptoms", "attempts", "profile", "phenomena")
}


@pytest.fixture
def data(tmp_path) -> Path:
    """A sound data set of one conversation."""
    folder = tmp_path / "set"
    (folder / "support").mkdir(parents=True)
    metadata = {"split": "train", "author": "A", "style": "chat", "language": "en"}
    write(folder / "support" / "conversations.jsonl", [line("c1", metadata=metadata)])
    write(folder / "support" / "labels.jsonl", [LABEL])
    return folder


def test_a_sound_data_set_passes(data):
    assert done("data", "check", data).stdout.endswith("OK\n")
    (row,) = rows("data", "check", data)
    assert (row["ok"], row["problems"], row["manifest"]) == (True, [], None)


def test_a_breach_is_shown_and_exits_1(data):
    write(data / "support" / "labels.jsonl", [{**LABEL, "resolution": "maybe"}, {**LABEL, "conversation": "c2"}])
    result = call("data", "check", data)
    assert (result.exit_code, "NOT OK" in result.stdout) == (1, True)
    assert result.stderr == f"memlab: {data}: not ok: 2 problems\n"
    result = call("data", "check", data, "--json")
    assert (result.exit_code, json.loads(result.stdout)["ok"]) == (1, False)


def test_the_manifest_is_written_and_then_watched(data):
    result = done("data", "check", data, "--write-manifest")
    assert "every file as listed" in result.stdout
    assert result.stderr == f"wrote {data / 'manifest.json'}\n"
    with (data / "support" / "labels.jsonl").open("a") as file:
        file.write("\n")
    result = call("data", "check", data)
    assert (result.exit_code, "1 files that differ from the manifest" in result.stderr) == (1, True)


def test_a_manifest_goes_into_the_folder_that_holds_support_only(data, tmp_path):
    assert "holds support/" in refused("data", "check", data / "support", "--write-manifest")
    assert "no conversations.jsonl" in refused("data", "check", tmp_path / "nowhere")
    assert not list(tmp_path.rglob("manifest.json"))
