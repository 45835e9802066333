"""A prompted model from the command line: recorded, replayed, estimated, refused; against an endpoint of this machine."""

from __future__ import annotations

import json
from pathlib import Path

import fault_server as faults
import pytest
from calls import call, command, done, line, refused, rows, write

from memlab.bank import bank_path

PROMPTED = ["--extractor", "prompted"]
PRICES = json.dumps({"m": {"input": 1.0, "output": 2.0}})


def item(text: str, turn: int, quote: str) -> dict[str, object]:
    return {"text": text, "turn": turn, "quote": quote}


def reply(symptom: str = "VPN error 809", **more: object) -> str:
    """What a model says that reads one of the conversations of `line`."""
    issue = {
        "continues": None,
        "category": "vpn",
        "symptoms": [item(symptom, 0, "VPN fails with error 809")],
        "root_cause": item("router blocks UDP 500", 1, "router blocks UDP 500"),
        "attempts": [],
        "solution": {**item("open UDP 500", 2, "Opened UDP 500"), "kind": "fix"},
        "resolution": "confirmed",
        "resolution_turn": 2,
        "resolution_quote": "works now",
        "facts": [],
    }
    return json.dumps({"low_value": False, "issues": [issue], **more})


def settings(server, **more: str) -> dict[str, str]:
    return {"MEMLAB_MODEL": "m", "OPENAI_BASE_URL": server.url, "MEMLAB_PRICES": PRICES, **more}


@pytest.fixture
def two(tmp_path) -> Path:
    return write(tmp_path / "two.jsonl", [line("c1"), line("c2")])


@pytest.fixture
def tape(tmp_path) -> Path:
    return tmp_path / "tape.jsonl"


@pytest.fixture
def recorded(two, tape) -> Path:
    """A cassette that holds the replies about c1 and c2."""
    with faults.serving(faults.ok(reply())) as server:
        done("extract", two, *PROMPTED, "--cassette", tape, "--record", env=settings(server))
    return tape


def test_what_it_will_take_is_said_before_and_what_it_took_after(two, tape, tmp_path):
    with faults.serving(faults.ok(reply())) as server:
        result = done(
            *["extract", two, *PROMPTED, "--cassette", tape, "--record", "--max-cost", "1", "--json"],
            *["-o", tmp_path / "p.jsonl"],
            env=settings(server),
        )
        assert len(server.bodies) == 2
    told = result.stderr.splitlines()
    assert told[0].startswith("estimate: 0 of 2 conversations need no call; about 2 calls, ")
    # Two replies of 100 tokens in and 20 out, at 1 and 2 a million: 2 * (100 + 2 * 20) / 1e6.
    assert told[-1] == (
        "used: 2 calls (0 sent again), 200 tokens in, 40 out, cost 0.00028; "
        f"{tape} holds 2 replies (2 calls, cost 0.00028)"
    )
    row = json.loads(result.stdout)
    assert (row["conversations"], row["proposals"], row["skipped"]) == (2, 2, [])
    assert row["usage"] == {
        "calls": 2,
        "retries": 0,
        "tokens_in": 200,
        "tokens_out": 40,
        "unmetered": 0,
        "cost": pytest.approx(0.00028),
    }


def test_recorded_replies_need_no_key_and_no_network(two, recorded):
    result = done("extract", two, *PROMPTED, "--cassette", recorded)
    proposals = [json.loads(text) for text in result.stdout.splitlines()]
    assert [(p["conversation"], p["solution"]["text"]) for p in proposals] == [
        ("c1", "open UDP 500"),
        ("c2", "open UDP 500"),
    ]
    told = result.stderr.splitlines()
    assert told[0] == "estimate: 2 of 2 conversations need no call; 0 lack a recorded reply"
    assert told[-1].startswith("used: no call, only recorded replies; ")


def test_a_rerun_asks_for_what_is_missing_only(recorded, tmp_path):
    three = write(tmp_path / "three.jsonl", [line("c1"), line("c2"), line("c3")])
    with faults.serving(faults.ok(reply())) as server:
        done("extract", three, *PROMPTED, "--cassette", recorded, "--record", env=settings(server))
        assert len(server.bodies) == 1


def test_a_missing_reply_is_told_with_the_command_that_records_it_and_the_others_go_on(recorded, tmp_path):
    three = write(tmp_path / "three.jsonl", [line("c1"), line("c3"), line("c2")])
    result = done("extract", three, *PROMPTED, "--cassette", recorded, "--json", "-o", tmp_path / "p.jsonl")
    row = json.loads(result.stdout)
    assert (row["conversations"], row["usage"]["calls"]) == (2, 0)
    (skipped,) = row["skipped"]
    assert skipped["reason"].startswith("conversation 'c3': no reply to prompt extract@")
    assert f"--cassette {recorded} --record" in skipped["reason"]
    assert f"skipped {three}: {skipped['reason']}" in result.stderr.splitlines()


def test_learning_asks_once_and_then_never_again(two, tmp_path):
    home = tmp_path / "h"
    with faults.serving(faults.ok(reply())) as server:
        (row,) = rows("learn", two, "--home", home, *PROMPTED, env=settings(server))
        assert (row["learned"], row["usage"]["calls"]) == (2, 2)
        assert row["operations"] == {"add": 3, "edit": 0, "reinforce": 3, "reject": 0}
        result = done("learn", two, "--home", home, *PROMPTED, "--json", env=settings(server))
        again = json.loads(result.stdout)
        assert (again["unchanged"], again["usage"]["calls"], len(server.bodies)) == (2, 0, 2)
        assert result.stderr.startswith("estimate: 0 of 0 conversations need no call; about 0 calls")
        # Only what is new is estimated and asked for.
        three = write(tmp_path / "three.jsonl", [line("c0"), line("c1"), line("c2")])
        result = done("learn", three, "--home", home, *PROMPTED, env=settings(server))
        assert "estimate: 0 of 1 conversations" in result.stderr
        assert len(server.bodies) == 3


def test_learning_from_a_cassette_gives_the_same_bank(two, recorded, tmp_path):
    with faults.serving(faults.ok(reply())) as server:
        done("learn", two, "--home", tmp_path / "live", *PROMPTED, env=settings(server))
    done("learn", two, "--home", tmp_path / "replayed", *PROMPTED, "--cassette", recorded)
    export = ["bank", "export", "--customer", "acme", "--home"]
    assert done(*export, tmp_path / "live").stdout == done(*export, tmp_path / "replayed").stdout


def test_a_reply_that_cannot_be_used_leaves_the_conversation_pending(two, tmp_path):
    with faults.serving(faults.ok("I would rather not.")) as server:
        result = done("learn", two, "--home", tmp_path / "h", *PROMPTED, "--json", env=settings(server))
    assert json.loads(result.stdout)["pending"] == 2
    assert result.stderr.count("pending acme: conversation 'c") == 2
    with faults.serving(faults.ok(reply())) as server:
        (row,) = rows("learn", two, "--home", tmp_path / "h", *PROMPTED, env=settings(server))
    assert (row["updated"], row["pending"]) == (2, 0)


def test_a_refused_key_stops_at_once_and_says_what_was_used(two, tmp_path):
    with faults.serving(faults.status(401, "bad key")) as server:
        result = call("extract", two, *PROMPTED, "-o", tmp_path / "p.jsonl", env=settings(server))
    assert (result.exit_code, result.stdout) == (1, "")
    told = result.stderr.splitlines()
    assert told[-2].startswith("used: 0 calls")
    assert told[-1].startswith("memlab: m: ")
    assert "401" in told[-1]
    assert not (tmp_path / "p.jsonl").exists()


def test_too_dear_is_refused_before_anything_is_asked(two, tape, tmp_path):
    with faults.serving(faults.ok(reply())) as server:
        limit = ["--cassette", tape, "--record", "--max-cost", "0.000001"]
        for verb in (["extract", two], ["learn", two, "--home", tmp_path / "h"]):
            result = call(*verb, *PROMPTED, *limit, env=settings(server))
            assert (result.exit_code, result.stdout) == (1, "")
            assert "memlab: not started: 2 calls are estimated to cost" in result.stderr.splitlines()[-1]
        assert server.bodies == []
    assert not tape.exists()
    assert not bank_path(tmp_path / "h", "acme").exists()


def test_the_curator_asks_about_what_looks_alike(two, tape, tmp_path):
    home = tmp_path / "h"
    choice = json.dumps({"op": "reinforce", "candidate": 1, "reason": "both are error 809"})
    # c1 and c2 are asked for first, in any order; they give two wordings, and the second is compared with the first.
    script = (faults.ok(reply("VPN error 809")), faults.ok(reply("VPN error 809 at home")), faults.ok(choice))
    learn = ["learn", two, "--home", home, *PROMPTED, "--curator", "prompted", "--cassette", tape]
    with faults.serving(*script) as server:
        result = done(*learn, "--record", env=settings(server))
        assert len(server.bodies) == 3
    assert "the curator asks at most once for each new wording" in result.stderr
    acme = ["--home", home, "--customer", "acme"]
    (found,) = rows("why", "VPN error 809", *acme)
    assert sorted([found[0]["title"], *found[0]["aliases"]]) == ["VPN error 809", "VPN error 809 at home"]
    assert any("both are error 809" in op["reason"] for op in found[0]["operations"])
    before = done("bank", "export", *acme).stdout
    assert "2 unchanged" in done(*learn).stdout
    assert done("bank", "export", *acme).stdout == before


def test_forgetting_takes_recorded_replies_along(two, recorded, tmp_path):
    home = tmp_path / "h"
    done("learn", two, "--home", home, *PROMPTED, "--cassette", recorded)
    acme = ["--home", home, "--customer", "acme"]
    assert rows("forget", *acme, "--conversation", "c1", "--cassette", recorded) == [{"forgotten": 1, "replies": 1}]
    assert '"conversation":"c1"' not in recorded.read_text()
    assert rows("forget", *acme, "--cassette", recorded) == [{"forgotten": 1, "replies": 1}]
    assert recorded.read_text() == ""


def test_a_cassette_of_several_models_is_used_for_the_one_that_is_named(two, recorded):
    with faults.serving(faults.ok(reply("dial-in fails"))) as server:
        other = settings(server, MEMLAB_MODEL="n")
        done("extract", two, *PROMPTED, "--cassette", recorded, "--record", env=other)
    replay = ["extract", two, *PROMPTED, "--cassette", recorded]
    assert "replies of m, n; set MEMLAB_MODEL" in refused(*replay)
    texts = {name: done(*replay, env={"MEMLAB_MODEL": name}).stdout for name in ("m", "n")}
    assert {name: "dial-in fails" in text for name, text in texts.items()} == {"m": False, "n": True}


MODEL = {"MEMLAB_MODEL": "m", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
WRONG = {
    "nothing is set": (PROMPTED, {}, 1, ["MEMLAB_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "--cassette FILE"]),
    "no model": (PROMPTED, {"OPENAI_API_KEY": "k"}, 1, ["set MEMLAB_MODEL;"]),
    "no endpoint": (PROMPTED, {"MEMLAB_MODEL": "m"}, 1, ["set OPENAI_API_KEY"]),
    "no price": ([*PROMPTED, "--max-cost", "1"], MODEL, 1, ["price of 'm'", "MEMLAB_PRICES"]),
    "a cost below 0": ([*PROMPTED, "--max-cost", "-1"], {**MODEL, "MEMLAB_PRICES": PRICES}, 1, ["-1"]),
    "no cassette there": ([*PROMPTED, "--cassette", "{tmp}/no"], {}, 1, ["no such cassette", "--record"]),
    "record where": ([*PROMPTED, "--record"], MODEL, 2, ["--cassette FILE"]),
    "record in a folder": ([*PROMPTED, "--record", "--cassette", "{tmp}"], MODEL, 1, ["can't record"]),
    "record below a file": ([*PROMPTED, "--record", "--cassette", "{tmp}/two.jsonl/t"], MODEL, 1, ["can't record"]),
    "no cassette": ([*PROMPTED, "--cassette", "{tmp}/two.jsonl"], {}, 1, ["two.jsonl:1", "not a recorded reply"]),
    "an empty cassette": ([*PROMPTED, "--cassette", "{tmp}/empty"], {}, 1, ["empty: no reply", "--record"]),
    "no such prompt": ([*PROMPTED, "--prompt", "extrct"], MODEL, 1, ["'extrct'", "known: curate, extract"]),
    "another's prompt": ([*PROMPTED, "--prompt", "curate"], MODEL, 1, ["'choice'", "extractor"]),
    "two prompts": ([*PROMPTED, *["--prompt", "extract"] * 2], MODEL, 1, ["two prompts", "give one"]),
    "offline with a cassette": (["--cassette", "{tmp}/x"], {}, 2, ["--cassette needs a prompted reader"]),
    "offline with a limit": (["--max-cost", "0"], {}, 2, ["--max-cost needs a prompted reader"]),
    "offline with a prompt": (["--prompt", "extract"], {}, 2, ["--prompt needs a prompted reader"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_setting_is_one_line_that_says_what_to_set(case, two, tmp_path):
    (tmp_path / "empty").touch()
    arguments, env, code, words = WRONG[case]
    said = refused("extract", two, *(str(a).format(tmp=tmp_path) for a in arguments), code=code, env=env)
    assert all(word in said for word in words), said
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty", "two.jsonl"]


def test_processes_are_for_the_offline_extractor(two, tmp_path):
    said = refused("learn", two, "--home", tmp_path / "h", *PROMPTED, "--processes", "2", code=2, env=MODEL)
    assert "--processes" in said


def test_a_prompt_file_of_ones_own_is_used(two, tmp_path):
    own = tmp_path / "mine.md"
    text = "---\nname: mine\nversion: 3\nschema: extraction\n---\n# user\nMINE {{categories}} {{earlier}} {{part}} {{conversation}}\n"
    own.write_text(text)
    with faults.serving(faults.ok(reply())) as server:
        done("extract", two, *PROMPTED, "--prompt", own, env=settings(server))
        assert all(body["messages"][-1]["content"].startswith("MINE ") for body in server.bodies)


def test_a_process_without_settings_ends_with_one_line(two):
    result = command("extract", two, *PROMPTED)
    assert (result.returncode, result.stdout, result.stderr.count(b"\n")) == (1, b"", 1)
    assert b"MEMLAB_MODEL" in result.stderr
