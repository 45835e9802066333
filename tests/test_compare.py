"""Comparing two sides, case by case: runs, proposals and rankings, as text, JSON, page and exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from calls import call, done, refused, write

from memlab.cli.comparing import WORSE
from memlab.errors import InputError, RunError
from memlab.models.cassette import Cassette
from memlab.models.chat import Reply
from memlab.runs import compare_proposals, compare_rankings, compare_runs, read_proposals
from memlab.runs.paired import Evidence, Values, compare_values
from memlab.runs.paired_page import compare_page, fragment, marked
from memlab.runs.report import external_requests
from memlab.runs.schema import Result

PACKAGES = {"numpy": "2"}


def run_folder(path: Path, *results: Result, book: str = "01_x", **parameters: Any) -> Path:
    """A folder as `memlab run` leaves it, as far as comparing reads it."""
    stamp = {"datasets": {"d.jsonl": "a" * 64}, "prompts": {}, "model": "offline", "seed": 1}
    entry = {"title": "X", "ok": True, "error": None, "seconds": 2.0, "cell_seconds": [], "overridden": []}
    entry |= {
        "parameters": parameters,
        "provenance": stamp,
        "tables": {},
        "results": {r.name: r.to_json() for r in results},
    }
    origin = {"memlab": "1", "source": "s", "commit": None, "dirty": None, "python": "3.11", "packages": PACKAGES}
    path.mkdir(parents=True)
    (path / "results.json").write_text(
        json.dumps({"schema": 1, "ok": True, "provenance": origin, "notebooks": {book: entry}})
    )
    return path


def outcomes(name: str, right: int, of: int, **more: Any) -> Result:
    """A share with its cases: the first `right` of them are right."""
    return Result.of(name, right / of, n=of, cases={f"c{i:03d}": int(i < right) for i in range(of)}, **more)


# -- the statistics of a line ----------------------------------------------------------------------------------------


def test_a_line_says_difference_interval_test_and_how_far_to_trust_it() -> None:
    a = Values(0.5, {f"c{i}": float(i < 100) for i in range(200)})
    b = Values(0.6, {f"c{i}": float(i < 120) for i in range(200)})
    (line,) = compare_values({"m": a}, {"m": b})
    # 20 cases rise, none falls: +0.1, and exact McNemar p = 2 / 2 ** 20.
    assert line.difference == pytest.approx(0.1)
    assert line.comparison is not None
    assert line.p_holm == pytest.approx(2 / 2**20)
    assert (line.verdict, line.reliability, line.comparison.test) == ("better", "decisive", "exact McNemar")
    (fall,) = compare_values({"m": a}, {"m": b}, lower=["m"])
    assert fall.verdict == "worse"


def test_tests_are_adjusted_for_all_lines() -> None:
    # 6 cases rise: p = 2 / 2 ** 6 = 0.031 alone; with two such lines Holm doubles it.
    side = {f"c{i}": 0.0 for i in range(150)}
    up = side | {f"c{i}": 1.0 for i in range(6)}
    one = compare_values({"m": Values(0.0, side)}, {"m": Values(0.0, up)})
    two = compare_values({n: Values(0.0, side) for n in "mn"}, {n: Values(0.0, up) for n in "mn"})
    assert one[0].p_holm == pytest.approx(0.03125)
    assert [line.p_holm for line in two] == [pytest.approx(0.0625)] * 2
    assert (one[0].decided, two[0].decided) == (True, False)
    assert "interval and test disagree" in two[0].reliability


def test_what_can_not_be_paired_says_so() -> None:
    lines = compare_values(
        {"number": Values(1.0), "other": Values(1.0, {"x": 1.0}), "gone": Values(2.0), "same": Values(1.0, {"x": 1.0})},
        {"number": Values(3.0), "other": Values(0.0, {"y": 0.0}), "new": Values(5.0), "same": Values(1.0, {"x": 1.0})},
    )
    by_name = {line.name: line for line in lines}
    assert [line.name for line in lines] == ["number", "other", "gone", "same", "new"]
    assert (by_name["number"].difference, by_name["number"].reliability[:10]) == (2.0, "not paired")
    assert by_name["other"].reliability == "no case is on both sides"
    assert by_name["same"].reliability == "no case differs"
    assert (by_name["gone"].b, by_name["new"].a) == (None, None)
    assert [line.interval for line in lines] == [None] * 5  # no case, or one
    assert not any(line.decided for line in lines)


# -- runs ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def two_runs(tmp_path: Path) -> tuple[Path, Path]:
    slow, fast = (Result.of("latency", v, unit="ms", cases={"q": v}) for v in (5.0, 3.0))
    a = run_folder(tmp_path / "a", outcomes("recall", 60, 100), slow, Result.of("text", "x"), k=1)
    b = run_folder(tmp_path / "b", outcomes("recall", 40, 100), fast, Result.of("text", "y"), k=2)
    return a, b


def test_runs_are_compared_by_the_cases_that_they_recorded(two_runs: tuple[Path, Path]) -> None:
    report = compare_runs(*two_runs)
    recall, latency = report.lines
    # 20 of 100 cases fall: -0.2, exact McNemar p = 2 / 2 ** 20, doubled at most by Holm.
    assert (recall.name, round(recall.difference or 0, 9), recall.verdict) == ("recall", -0.2, "worse")
    assert report.worse == ("recall",)
    assert latency.lower_is_better
    assert report.changed == {"01_x: parameter k": "1 → 2"}
    flips = report.flips(recall)
    assert [f.case for f in flips] == [f"c{i:03d}" for i in range(40, 60)]
    assert "worse in B: recall" in str(report)
    assert "c040: 1 → 0" in str(report)


def test_flips_are_worst_first_on_the_side_where_less_is_better(tmp_path: Path) -> None:
    a = run_folder(tmp_path / "a", Result.of("time", 2.0, unit="s", cases={"x": 1.0, "y": 5.0, "z": 3.0}))
    b = run_folder(tmp_path / "b", Result.of("time", 2.0, unit="s", cases={"x": 4.0, "y": 1.0, "z": 3.0}))
    report = compare_runs(a, b)
    assert [f.case for f in report.flips(report.lines[0])] == ["x", "y"]
    swapped = compare_runs(a, b, lower=["nothing"])
    assert swapped.lines[0].lower_is_better  # its unit says so


def test_other_data_and_missing_notebooks_are_said(tmp_path: Path) -> None:
    a = run_folder(tmp_path / "a", outcomes("r", 1, 2))
    text = (a / "results.json").read_text()
    b = tmp_path / "b"
    b.mkdir()
    (b / "results.json").write_text(text.replace("a" * 64, "b" * 64))
    assert any("the data differ" in note for note in compare_runs(a, b).notes)
    other = run_folder(tmp_path / "c", outcomes("r", 1, 2), book="02_y")
    with pytest.raises(RunError, match="no notebook in common"):
        compare_runs(a, other)


# -- proposals -------------------------------------------------------------------------------------------------------

TURNS = ["My <b>mic</b> is dead since Monday", "Please reinstall the driver", "did that, works now"]


def label(conversation: str) -> dict[str, Any]:
    cause = {"id": "rc", "text": "broken driver"}
    return {
        "conversation": conversation, "category": "teams", "low_value": False,
        "symptoms": [{"id": "s", "text": "mic is dead"}], "root_cause": cause, "attempts": [],
        "solution": {"id": "f", "text": "reinstall the driver"}, "solution_kind": "fix", "resolution": "confirmed",
        "phenomena": ["plain"],
    }  # fmt: skip


def proposal(conversation: str, symptom: str, cause: str | None = "broken driver") -> dict[str, Any]:
    mention = {"text": symptom, "turn": 0, "quote": "<b>mic</b> is dead"}
    return {
        "conversation": conversation, "case": 0, "category": "teams", "low_value": False, "symptoms": [mention],
        "root_cause": {"text": cause, "turn": 1, "quote": "driver"} if cause else None, "attempts": [],
        "solution": {"text": "reinstall the driver", "turn": 1, "quote": "reinstall the driver", "kind": "fix"},
        "resolution": "confirmed", "facts": [],
    }  # fmt: skip


@pytest.fixture
def extractions(tmp_path: Path) -> dict[str, Path]:
    ids = [f"c{i}" for i in range(8)]
    turns = [{"role": r, "text": t} for r, t in zip(("user", "agent", "user"), TURNS, strict=True)]
    base = {"customer": "acme", "category": "teams", "started_at": "2026-01-05T09:00:00Z", "turns": turns}
    return {
        "labels": write(tmp_path / "labels.jsonl", [label(i) for i in ids]),
        "conversations": write(tmp_path / "conversations.jsonl", [{"id": i, **base} for i in ids]),
        "a": write(tmp_path / "a.jsonl", [proposal(i, "mic is dead") for i in ids]),
        "b": write(tmp_path / "b.jsonl", [proposal(i, "printer jam", None) for i in [*ids[:6], "extra"]]),
    }


def compare_files(found: dict[str, Path], *more: object) -> list[object]:
    names = ("labels", "conversations")
    options = [x for n in names for x in (f"--{n}", found[n])]
    return ["compare", found["a"], found["b"], *options, *more]


def test_two_extractions_are_compared_by_conversation_and_field(extractions: dict[str, Path]) -> None:
    from memlab.evaluation import read_labels

    report = compare_proposals(
        read_proposals(extractions["a"]),
        read_proposals(extractions["b"]),
        read_labels(extractions["labels"]),
        by="words",
        fields=("symptoms", "root_cause", "resolution"),
    )
    by_name = {line.name: line for line in report.lines}
    # Six conversations on both sides: A is right in all, B in none; 2 ** -5 = 0.031 each, Holm: times 3 lines, times 2.
    assert (by_name["symptoms"].a, by_name["symptoms"].b, by_name["symptoms"].difference) == (1.0, 0.0, -1.0)
    assert by_name["root_cause"].p_holm == pytest.approx(3 / 32)
    assert by_name["resolution"].reliability == "no case differs"
    c = by_name["symptoms"].comparison
    assert c is not None
    assert (c.unmatched_a, c.unmatched_b) == (("c6", "c7"), ())
    assert report.notes == ("1 conversations of B have no label",)
    said = report.evidence["symptoms", "c0"]
    assert [e.status for e in said[1]] == ["missed", "invented"]
    assert [e.status for e in said[0]] == ["matched"]
    with pytest.raises(InputError, match="unknown field 'x'"):
        compare_proposals([], [], [], fields=("x",))
    with pytest.raises(InputError, match="no labelled conversation"):
        compare_proposals([], [], [])


def test_the_page_marks_quotes_escapes_and_asks_for_nothing(extractions: dict[str, Path], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    printed = done(*compare_files(extractions, "-o", page, "--field", "symptoms"))
    text = page.read_text("utf-8")
    assert external_requests(text) == []
    assert "My <mark>&lt;b&gt;mic&lt;/b&gt; is dead</mark> since Monday" in text
    assert "<b>mic" not in text
    assert "symptoms: only in A: c6, c7" in printed.stdout
    assert "printer jam" in printed.stdout


def test_cost_comes_from_the_cassettes(extractions: dict[str, Path], tmp_path: Path) -> None:
    tape = Cassette(tmp_path / "t.jsonl", "record")
    reply = Reply("{}", 100, 20, "stop", 0.5)
    tape.put("k", reply, sender=("m", 0.0, 9), prompt="p@1", customer="acme", conversation="c0")
    result = done(*compare_files(extractions, "--cassette-b", tape.path, "--field", "symptoms"))
    assert "cost of B: 1 calls, 100 tokens in, 20 out, cost 0.5" in result.stdout


def test_exit_codes_tell_worse_from_wrong(two_runs: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = two_runs
    assert call("compare", a, b).exit_code == 0
    worse = call("compare", a, b, "--fail-if-worse")
    assert (worse.exit_code, worse.stderr.splitlines()[-1]) == (WORSE, "memlab: b is worse than a in recall")
    assert call("compare", b, a, "--fail-if-worse").exit_code == 0
    assert call("compare", a, a, "--fail-if-worse").exit_code == 0
    data = json.loads(done("compare", a, b, "--json").stdout)
    assert (data["worse"], len(data["lines"][0]["flips"])) == (["recall"], 20)
    assert "two run folders, or two files" in refused("compare", a, a / "results.json")
    assert "says nothing about two run folders" in refused("compare", a, b, "--labels", "x", code=2)
    assert "no such file" in refused("compare", tmp_path / "x.jsonl", tmp_path / "y.jsonl").lower()


# -- rankings --------------------------------------------------------------------------------------------------------


def test_two_memories_are_compared_by_query(extractions: dict[str, Path], tmp_path: Path) -> None:
    question = {
        "customer": "acme",
        "category": "teams",
        "symptom_ids": ["s"],
        "root_cause_ids": ["rc"],
        "solution_ids": [],
    }
    queries = write(
        tmp_path / "q.jsonl", [{"id": f"q{i}", "query": f"nobody hears me {i}", **question} for i in range(3)]
    )
    hit = {"root_cause": "broken driver", "conversations": ["c0"]}
    a = write(tmp_path / "ra.jsonl", [{"id": f"q{i}", "hits": [hit]} for i in range(3)])
    b = write(tmp_path / "rb.jsonl", [{"id": f"q{i}", "hits": []} for i in range(2)])
    names = ("labels", "conversations")
    options = [x for n in names for x in (f"--{n}", extractions[n])]
    data = json.loads(done("compare", a, b, "--queries", queries, *options, "--json").stdout)
    recall = next(line for line in data["lines"] if line["name"] == "recall@1")
    assert (recall["a"], recall["b"], recall["difference"], recall["only_a"]) == (1.0, 0.0, -1.0, ["q2"])
    assert recall["clusters"] == 1  # all three ask for one cause
    assert recall["flips"][0]["said_b"] == ["asked, “nobody hears me 0”", "no hit"]
    with pytest.raises(InputError, match="no query"):
        compare_rankings({}, {}, [], None)  # type: ignore[arg-type]
    assert "compare two of a kind" in refused("compare", a, extractions["a"])


def test_a_file_that_is_no_proposals_file_is_refused_with_its_line(tmp_path: Path) -> None:
    bad = write(tmp_path / "bad.jsonl", [proposal("c0", "x"), {"conversation": "c1"}])
    with pytest.raises(InputError, match=r"bad\.jsonl:2: not a proposal"):
        read_proposals(bad)


def test_marking_falls_back_to_the_quote_alone() -> None:
    assert marked(Evidence("x", quote="a&b")) == "<mark>a&amp;b</mark>"
    assert marked(Evidence("x")) == ""


def test_a_notebook_shows_a_part_of_the_page(two_runs: tuple[Path, Path]) -> None:
    report = compare_runs(*two_runs)
    assert "17 more are not shown" in fragment(report)
    assert external_requests(fragment(report)) == []
    assert compare_page(report) == compare_page(compare_runs(*two_runs))
    assert set(report._repr_mimebundle_()) == {"text/html", "text/plain"}
    assert list(report.to_frame()["name"]) == ["recall", "latency"]
