"""The command line: what it prints, how it fails, and that a failure changes nothing."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from calls import COMMAND, call, command, done, environment, line, refused, rows, write
from scripted import Scripted, conv, prop

import memlab.extraction
from memlab.bank import Bank, bank_path
from memlab.cli import main
from memlab.errors import ExtractionError
from memlab.learning import learn

# What is read out of them is scripted, so that no test rests on a model's taste.
VPN, FIX = "error 809 on VPN", "open UDP 500 in the router"
TEAMS = "nobody hears me in Teams"
CASES = [
    (
        conv("v1", 0, [("user", VPN), ("user", FIX)]),
        prop(VPN, "router blocks UDP 500", FIX, failed=["reboot"], quote=VPN),
    ),
    (conv("v2", 3, [("user", VPN), ("user", FIX)]), prop(VPN, "router blocks UDP 500", FIX, quote=VPN)),
    (
        conv("t1", 5, [("user", TEAMS)], category="teams"),
        prop(TEAMS, "wrong microphone", "choose the headset", quote=TEAMS),
    ),
]


@pytest.fixture(scope="module")
def taught(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("taught")
    with Bank.open(home, "acme") as bank:
        learn(bank, [c for c, _ in CASES], extractor=Scripted({c.id: p for c, p in CASES}))
    return home


@pytest.fixture
def memory(taught, tmp_path) -> Path:
    """A home in which acme has learned three conversations."""
    return shutil.copytree(taught, tmp_path / "memory")


def whose(home: Path, customer: str = "acme") -> list[object]:
    return ["--home", home, "--customer", customer]


def export(home: Path) -> str:
    return done("bank", "export", *whose(home)).stdout


# -- help, and calls that can't be understood ----------------------------------------------------------------------


def commands(group=main, path=()):
    for name, found in sorted(group.commands.items()):
        yield from commands(found, (*path, name)) if hasattr(found, "commands") else [(*path, name)]


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_every_command_says_what_it_does_and_names_its_options(path):
    text = done(*path, "--help").stdout
    assert text.startswith(f"Usage: memlab {' '.join(path)}")
    assert len(text.split("\n")[2].strip()) > 20


def test_the_commands_of_the_contract_are_there():
    expected = "run verify extract import learn skill recall forget graph why review decide bank data formats"
    assert set(expected.split()) <= set(main.commands)
    assert {"check", "export", "import"} <= set(main.commands["bank"].commands)


def test_help_imports_nothing_heavy():
    code = "import sys; from memlab.cli import main; main(['--help'], standalone_mode=False); print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(result.stdout.split("\n")[-2].split())
    heavy = "numpy pandas pydantic sklearn onnxruntime tokenizers openai networkx matplotlib papermill nbformat scipy"
    assert "memlab.cli.learning" in loaded
    assert not loaded & {*heavy.split(), "memlab.bank", "memlab.extraction", "memlab.runs"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["recal"], ["No such command 'recal'", "recall"]),
        (["--home"], ["No such option", "memlab --help"]),
        (["recall", "q", "--customer", "acme"], ["Missing option '--home'", "memlab recall --help"]),
        (["recall", "--home", "h", "--customer", "acme"], ["QUERY", "--queries"]),
        (["recall", "q", "--queries", "f", "--home", "h", "--customer", "acme"], ["QUERY", "--queries"]),
        (["recall", "q", "-k", "many", "--home", "h", "--customer", "acme"], ["'many'", "integer"]),
        (["learn", "c.jsonl", "--home", "h", "--processes", "0"], ["--processes", "0"]),
        (["decide", "same", "a", "--home", "h", "--customer", "acme"], ["memlab decide same", "'B'"]),
        (["bank", "chek", "--home", "h"], ["chek", "memlab bank --help"]),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_code_2(arguments, words):
    said = refused(*arguments, code=2)
    assert all(word in said for word in words), said


# -- what can't be read ----------------------------------------------------------------------------------------------

BAD = {
    "malformed": ("{not json", ["not JSON"]),
    "no object": ("[1, 2]", ["not a JSON object"]),
    "empty": (line(turns=[]), ["empty", "no turn with text"]),
    "blank": (line(turns=[{"role": "user", "text": " \n"}]), ["empty"]),
    "naive": (line(started_at="2026-03-02T09:00:00"), ["2026-03-02T09:00:00", "UTC offset"]),
    "no time": (line(started_at=None), ["time is needed"]),
    "role": (line(turns=[{"role": "boss", "text": "x"}]), ["boss", "user, agent, tool"]),
    "no customer": (line(customer=None), ["customer must be a non-empty name"]),
    "odd customer": (line(customer=" acme"), ["white space at an end"]),
    "not UTF-8": (line(turns=7), ["turns must be a list"]),
}


@pytest.mark.parametrize("verb", ["learn", "extract"])
@pytest.mark.parametrize("bad", BAD)
def test_a_file_of_one_bad_line_is_refused_with_file_line_and_reason(bad, verb, memory, tmp_path):
    text, words = BAD[bad]
    path, before = write(tmp_path / "bad.jsonl", ["", text]), export(memory)
    said = refused(verb, path, *(["--home", memory] if verb == "learn" else []))
    assert all(word in said for word in [f"{path}:2:", *words]), said
    assert export(memory) == before


def test_bad_lines_are_told_and_the_others_go_on(memory, tmp_path):
    path = write(tmp_path / "mixed.jsonl", [line("n1"), *[text for text, _ in BAD.values()], line("n2")])
    result = done("learn", path, "--home", memory, "--json")
    total = json.loads(result.stdout)
    assert (total["learned"], total["unchanged"], total["updated"], total["pending"]) == (2, 0, 0, 0)
    assert [row["line"] for row in total["skipped"]] == list(range(2, 2 + len(BAD)))
    assert {frozenset(row) for row in total["skipped"]} == {frozenset({"file", "line", "reason"})}
    assert set(total["operations"]) == {"add", "edit", "reinforce", "reject"}
    told = [text for text in result.stderr.splitlines() if text.startswith("skipped ")]
    assert [text.split(":")[1] for text in told] == [str(row["line"]) for row in total["skipped"]]


def test_strict_stops_at_the_first_bad_line(memory, tmp_path):
    path, before = write(tmp_path / "mixed.jsonl", [line("n1"), "{", line("n2")]), export(memory)
    assert f"{path}:2: not JSON" in refused("learn", path, "--home", memory, "--strict")
    assert export(memory) == before


def test_a_zone_lets_naive_times_in(tmp_path):
    path = write(tmp_path / "c.jsonl", [line(started_at="2026-03-02T09:00:00")])
    (total,) = rows("learn", path, "--home", tmp_path / "h", "--zone", "Europe/Berlin")
    assert total["learned"] == 1


# -- what is not there, not known, not allowed -----------------------------------------------------------------------

ACME = "--home {home} --customer acme"
WRONG = {
    "missing file": ("learn {tmp}/no.jsonl --home {home}", ["no.jsonl", "no such file"]),
    "empty file": ("learn {tmp}/none.jsonl --home {home}", ["none.jsonl", "no conversation"]),
    "a folder": ("learn {tmp} --home {home}", ["{tmp}", "a folder"]),
    "unknown format": ("learn {tmp}/good.jsonl --home {home} --format xml", ["'xml'", "known: csv", "jsonl"]),
    "unknown zone": ("learn {tmp}/good.jsonl --home {home} --zone Mars", ["'Mars'", "Europe/Berlin"]),
    "unknown extractor": ("extract {tmp}/good.jsonl --extractor x", ["'x'", "offline, prompted"]),
    "unknown curator": ("learn {tmp}/good.jsonl --home {home} --curator x", ["'x'", "offline, prompted"]),
    "home is a file": ("learn {tmp}/good.jsonl --home {tmp}/file", ["{tmp}/file", "can't open the bank"]),
    "empty source": ("learn {tmp}/good.jsonl --home {home} --customer ''", ["non-empty name", "''"]),
    "empty customer": ("recall q --home {home} --customer ''", ["non-empty name", "''"]),
    "blank customer": ("forget --home {home} --customer '  '", ["non-empty name"]),
    "odd customer": ("bank export --home {home} --customer 'acme '", ["white space at an end"]),
    "unknown customer": ("recall q --home {home} --customer ACME", ["'ACME'", "memlab learn"]),
    "unknown home": ("recall q --home {tmp}/nowhere --customer acme", ["nowhere", "'acme'"]),
    "blank query": (f"recall ' \t' {ACME}", ["query is blank"]),
    "k = 0": (f"recall q -k 0 {ACME}", ["at least 1, not 0"]),
    "k < 0": (f"recall q -k -3 {ACME}", ["at least 1, not -3"]),
    "no query": (f"recall --queries {{tmp}}/q.jsonl {ACME}", ["'acme'", "1 of other", "q.jsonl:1"]),
    "missing queries": (f"recall --queries {{tmp}}/no.jsonl {ACME}", ["no.jsonl", "no such file"]),
    "recall: unknown category": (f"recall q --category nix {ACME}", ["'nix'", "known: teams, vpn"]),
    "skill: unknown category": (f"skill --category nix {ACME}", ["'nix'", "known: teams, vpn"]),
    "why: unknown category": (f"why q --category nix {ACME}", ["'nix'", "known: teams, vpn"]),
    "graph: unknown category": (f"graph --category nix -o {{tmp}}/g.html {ACME}", ["'nix'", "known: teams, vpn"]),
    "review: unknown category": (f"review --category nix {ACME}", ["'nix'", "known: teams, vpn"]),
    "unknown entry": (f"why 'no such words' {ACME}", ["'no such words'", "acme"]),
    "naive moment": (f"skill --category vpn --at 2026-03-02T09:00:00 {ACME}", ["UTC offset"]),
    "no moment": (f"recall q --at soon {ACME}", ["'soon'", "ISO 8601"]),
    "small budget": (f"skill --category vpn --budget 20 {ACME}", ["budget of 20", "allow"]),
    "unknown conversation": (f"forget --conversation x9 {ACME}", ["'x9'", "acme"]),
    "missing cassette": (f"forget --conversation v1 --cassette {{tmp}}/no {ACME}", ["no such cassette"]),
    "graph: ending": (f"graph --category vpn -o {{tmp}}/g.png {ACME}", ["g.png", ".html, .svg or .graphml"]),
    "graph: no folder": (f"graph --category vpn -o {{tmp}}/no/g.html {ACME}", ["g.html", "no folder"]),
    "skill: below a file": (f"skill --category vpn -o {{tmp}}/file/S.md {ACME}", ["S.md", "can't write"]),
    "extract: a folder": ("extract {tmp}/good.jsonl -o {tmp}", ["{tmp}", "name a file"]),
    "extract: a device": ("extract {tmp}/good.jsonl -o /dev/null", ["/dev/null", "not a regular file"]),
    "export: no folder": (f"bank export {{tmp}}/no/e.json {ACME}", ["e.json", "no folder"]),
    "import: missing": ("bank import {tmp}/no.json --home {tmp}/h2 --customer acme", ["no.json"]),
    "import: no export": ("bank import {tmp}/good.jsonl --home {tmp}/h2 --customer acme", ["not an export"]),
    "import: not empty": (f"bank import {{tmp}}/e.json {ACME}", ["'acme'", "not empty"]),
    "import: another's": ("bank import {tmp}/e.json --home {tmp}/h2 --customer beta", ["'acme'", "'beta'"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_goes_wrong_is_one_line_and_changes_nothing(case, memory, tmp_path):
    write(tmp_path / "good.jsonl", [line()])
    write(tmp_path / "none.jsonl", [])
    write(tmp_path / "q.jsonl", ["{", {"id": "q", "query": " "}, {"id": "r", "query": "x", "customer": "beta"}])
    (tmp_path / "file").write_text("x")
    before = export(memory)
    (tmp_path / "e.json").write_text(before)
    files = sorted(p.name for p in tmp_path.rglob("*"))
    text, words = WRONG[case]
    places = {"home": memory, "tmp": tmp_path}
    said = refused(*(part.format(**places) for part in shlex.split(text)))
    assert all(word.format(**places) in said for word in words), said
    assert export(memory) == before
    assert sorted(p.name for p in tmp_path.rglob("*")) in (files, sorted([*files, "h2"]))


def test_a_damaged_bank_is_named_and_not_touched(tmp_path):
    path = bank_path(tmp_path, "acme")
    path.write_bytes(b"not a bank, but somebody's notes" * 10)
    before = path.read_bytes()
    for call_ in (["recall", "q"], ["bank", "check"], ["forget"]):
        assert path.name in refused(*call_, *whose(tmp_path))
    assert path.read_bytes() == before


def test_a_full_disk_is_one_line(memory, tmp_path, monkeypatch):
    def full(self, *_, **__):
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_text", full)
    said = refused("skill", "--category", "vpn", "-o", tmp_path / "S.md", *whose(memory))
    assert "S.md: can't write: No space left on device" in said
    assert sorted(p.name for p in tmp_path.iterdir()) == ["memory"]


# -- learning and reading --------------------------------------------------------------------------------------------


def test_learning_goes_to_each_customers_bank_and_again_changes_nothing(tmp_path):
    path, home = write(tmp_path / "c.jsonl", [line("c1"), line("c2"), line("b1", customer="beta")]), tmp_path / "h"
    first = done("learn", path, "--home", home)
    assert [text.split(":")[0] for text in first.stdout.splitlines()] == ["acme", "beta"]
    assert "2 learned" in first.stdout.splitlines()[0]
    before = export(home)
    (again,) = rows("learn", path, "--home", home)
    assert (again["learned"], again["unchanged"], again["operations"]["add"], again["skipped"]) == (0, 3, 0, [])
    assert export(home) == before
    (longer,) = rows("learn", write(path, [line("c1", requester="ann")]), "--home", home)
    assert (longer["updated"], longer["learned"]) == (1, 0)


def test_processes_make_no_difference(tmp_path):
    path = write(tmp_path / "c.jsonl", [line(f"c{n}") for n in range(4)])
    done("learn", path, "--home", tmp_path / "one")
    result = command("learn", path, "--home", tmp_path / "two", "--processes", "2")
    assert (result.returncode, b"4 learned" in result.stdout) == (0, True), result.stderr
    assert export(tmp_path / "one") == export(tmp_path / "two")


def test_extract_writes_proposals_and_says_how_many(tmp_path):
    path, out = write(tmp_path / "c.jsonl", [line("c1"), "{", line("c2")]), tmp_path / "p.jsonl"
    (total,) = rows("extract", path, "-o", out)
    lines = out.read_text("utf-8").splitlines()
    assert set(total) == {"conversations", "proposals", "skipped", "output"}
    assert (total["conversations"], total["proposals"], len(total["skipped"])) == (2, len(lines), 1)
    assert {json.loads(text)["conversation"] for text in lines} == {"c1", "c2"}
    assert done("extract", path).stdout == out.read_text("utf-8")


class Picky:
    """An offline extractor that one conversation is too much for."""

    name = "offline-1-picky"

    def __init__(self, *, categories=None):
        pass

    def extract(self, conversation):
        if conversation.id.startswith("bad"):
            raise ExtractionError("the weights disagree", raw="?")
        return [prop("no sound", conversation=conversation.id)]


def test_one_conversation_that_cannot_be_read_does_not_stop_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(memlab.extraction, "OfflineExtractor", Picky)
    path, out = write(tmp_path / "c.jsonl", [line("c1"), line("bad"), line("c2")]), tmp_path / "p.jsonl"
    result = done("extract", path, "-o", out, "--json")
    total = json.loads(result.stdout)
    assert (total["conversations"], total["proposals"]) == (2, 2)
    reason = "conversation 'bad': the weights disagree"
    assert total["skipped"] == [{"file": str(path), "line": None, "reason": reason}]
    assert f"skipped {path}: {reason}" in result.stderr.splitlines()
    assert [json.loads(text)["conversation"] for text in out.read_text().splitlines()] == ["c1", "c2"]


def test_if_none_can_be_read_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(memlab.extraction, "OfflineExtractor", Picky)
    one, both, out = tmp_path / "one.jsonl", tmp_path / "both.jsonl", tmp_path / "p.jsonl"
    assert f"{one}: conversation 'bad'" in refused("extract", write(one, [line("bad")]), "-o", out)
    result = call("extract", write(both, [line("bad"), line("bad2")]), "-o", out)
    assert (result.exit_code, result.stdout, result.stderr.count("skipped")) == (1, "", 2)
    assert "none of 2" in result.stderr.splitlines()[-1]
    assert "conversation 'bad'" in call("extract", write(both, [line(), line("bad")]), "--strict").stderr
    assert not out.exists()


def test_what_could_not_be_read_is_pending_and_said(tmp_path, monkeypatch):
    monkeypatch.setattr(memlab.extraction, "OfflineExtractor", Picky)
    path = write(tmp_path / "c.jsonl", [line("c1"), line("bad")])
    result = done("learn", path, "--home", tmp_path / "h", "--json")
    assert json.loads(result.stdout)["pending"] == 1
    assert "pending acme: conversation 'bad': the weights disagree" in result.stderr


def test_recall_prints_one_object_a_query(memory, tmp_path):
    queries = [
        {"id": "q1", "query": "error 809 on VPN"},
        {"id": "q2", "query": "nobody hears me in Teams", "category": "teams", "customer": "acme"},
        {"id": "q3", "query": "\ud83d paper jam", "category": "printing"},
        {"id": "q4", "query": "x", "customer": "beta"},
        {"id": "q5", "query": "x", "category": 7},
    ]
    path = tmp_path / "q.jsonl"
    path.write_text("\n".join(map(json.dumps, queries)))
    result = done("recall", "--queries", path, *whose(memory), "-k", "2", "--json")
    found = {row["id"]: row for row in map(json.loads, result.stdout.splitlines())}
    assert list(found) == ["q1", "q2", "q3"]
    assert "q.jsonl:5" in result.stderr
    assert "1 queries of other customers" in result.stderr
    hit = found["q1"]["hits"][0]
    assert {"root_cause", "score", "weight", "conversations", "last_seen", "reason", "solutions"} <= set(hit)
    assert (hit["root_cause"], hit["conversations"], hit["last_seen"]) == (
        "router blocks UDP 500",
        ["v1", "v2"],
        "2026-03-05",
    )
    assert {"text", "kind", "weight", "worked", "failed", "conversations"} <= set(hit["solutions"][0])
    assert (hit["solutions"][0]["text"], hit["solutions"][0]["worked"]) == ("open UDP 500 in the router", 2)
    assert found["q2"]["hits"][0]["root_cause"] == "wrong microphone"
    # A category that this customer has nothing in gives no hits; --category, which a person types, is refused instead.
    assert found["q3"]["hits"] == []
    shown = done("recall", "error 809 on VPN", *whose(memory)).stdout
    assert "1. router blocks UDP 500" in shown
    assert "did not help: reboot" in shown


def test_recall_before_anything_was_known_finds_nothing(memory):
    (row,) = rows("recall", "error 809 on VPN", *whose(memory), "--at", "2026-03-01T00:00:00Z")
    assert row["hits"] == []
    shown = done("recall", "error 809", *whose(memory), "--at", "2026-03-01T00:00:00Z").stdout
    assert shown == "“error 809”\nnothing in memory fits\n"


def test_the_skill_comes_as_text_json_or_file(memory, tmp_path):
    vpn = [*whose(memory), "--category", "vpn"]
    text = done("skill", *vpn).stdout
    assert text.startswith("---\nname: acme-vpn-")
    (row,) = rows("skill", *vpn)
    assert set(row) == {"name", "tokens", "skill", "causes"}
    assert (row["skill"], row["causes"][0]["text"]) == (text, "router blocks UDP 500")
    done("skill", *vpn, "-o", tmp_path / "SKILL.md")
    assert (tmp_path / "SKILL.md").read_text("utf-8") == text


def test_why_walks_from_wording_to_quotes(memory):
    (found,) = rows("why", "Router blocks UDP 500", *whose(memory))
    assert [(e["id"], e["kind"], [v["conversation"] for v in e["evidence"]]) for e in found] == [
        (found[0]["id"], "cause", ["v1", "v2"])
    ]
    shown = done("why", found[0]["id"], *whose(memory)).stdout
    assert f"turn 0: “{VPN}”" in shown
    assert "2026-03-02 v1: confirmed" in shown


@pytest.mark.parametrize("ending", ["html", "svg", "graphml", "HTML"])
def test_the_graph_is_drawn_in_the_form_of_its_ending(ending, memory, tmp_path):
    path = tmp_path / f"g.{ending}"
    # Symptom, cause, the fix and the failed reboot; symptom → cause, cause → fix, cause → reboot.
    (row,) = rows("graph", *whose(memory), "--category", "vpn", "-o", path)
    assert row == {"output": str(path), "entries": 4, "edges": 3}
    assert "router blocks UDP 500" in path.read_text("utf-8")


# -- keeping ---------------------------------------------------------------------------------------------------------


def test_forgetting_one_conversation_leaves_the_bank_as_if_it_had_never_come(memory, tmp_path):
    (row,) = rows("forget", *whose(memory), "--conversation", "t1")
    assert row == {"forgotten": 1}
    with Bank.open(tmp_path / "never", "acme") as bank:
        learn(bank, [c for c, _ in CASES[:2]], extractor=Scripted({c.id: p for c, p in CASES}))
    assert export(memory) == export(tmp_path / "never")
    assert b"microphone" not in b"".join(p.read_bytes() for p in memory.iterdir())


def test_forgetting_a_customer_removes_the_file(memory):
    assert "forgot 3 conversations" in done("forget", *whose(memory)).stdout
    assert list(memory.iterdir()) == []


def test_an_export_makes_the_same_bank_elsewhere(memory, tmp_path):
    done("bank", "export", *whose(memory), tmp_path / "e.json")
    (row,) = rows("bank", "import", *whose(tmp_path / "h2"), tmp_path / "e.json")
    assert row == {"conversations": 3, "categories": ["teams", "vpn"]}
    assert export(tmp_path / "h2") == export(memory) == (tmp_path / "e.json").read_text("utf-8")


def test_a_changed_export_is_refused_unless_its_truth_is_taken(memory, tmp_path):
    changed = json.loads(export(memory))
    changed["derived"]["operations"]["vpn"][0]["reason"] = "because I say so"
    path = tmp_path / "e.json"
    path.write_text(json.dumps(changed))
    assert "operations/vpn" in refused("bank", "import", *whose(tmp_path / "h2"), path)
    assert not bank_path(tmp_path / "h2", "acme").exists()
    done("bank", "import", *whose(tmp_path / "h2"), path, "--rederive")
    assert export(tmp_path / "h2") == export(memory)


def test_check_and_vacuum(memory):
    assert rows("bank", "check", *whose(memory)) == [{"faults": []}]
    assert "no fault" in done("bank", "check", *whose(memory)).stdout
    assert done("bank", "vacuum", *whose(memory)).stdout == ""
    with Bank.open(memory, "acme") as bank, bank.transaction():
        bank._run("DELETE FROM vectors")
    result = call("bank", "check", *whose(memory), "--json")
    assert (result.exit_code, len(json.loads(result.stdout)["faults"]), result.stderr) == (
        1,
        1,
        "memlab: acme: 1 faults\n",
    )


def test_formats_lists_what_can_be_read():
    assert {"jsonl", "csv", "slack"} <= set(done("formats").stdout.split())


# -- as a user calls it ----------------------------------------------------------------------------------------------


def test_a_process_fails_with_one_line_and_no_traceback(memory, tmp_path):
    before = export(memory)
    result = command("learn", tmp_path / "no.jsonl", "--home", memory)
    assert (result.returncode, result.stdout) == (1, b"")
    assert result.stderr.decode() == f"memlab: {tmp_path / 'no.jsonl'}: no such file\n"
    result = command("recall", "--home", memory)
    assert (result.returncode, result.stdout, result.stderr.count(b"\n")) == (2, b"", 1)
    assert export(memory) == before


def test_output_is_utf_8_whatever_the_terminal_says(memory):
    result = command("why", "open UDP 500 in the router", *whose(memory), env={"PYTHONIOENCODING": "ascii"})
    assert result.returncode == 0, result.stderr
    assert "“open UDP 500 in the router”" in result.stdout.decode("utf-8")


def test_a_reader_that_goes_away_is_no_error(memory):
    argv = [*COMMAND, "bank", "export", *map(str, whose(memory))]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait(60)) == (b"", 0)
