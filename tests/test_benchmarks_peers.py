"""The parts of the comparison with other memories: what is read, counted and said, and one peer over its pipe."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from memlab.evaluation.queries import GoldCauses, Query
from memlab.records import Conversation

FOLDER = Path(__file__).parents[1] / "benchmarks" / "peers"
PARTS = ("environments", "servers", "measure", "table", "protocol")


@pytest.fixture
def part(monkeypatch):
    """Loads a script of the folder by name."""
    monkeypatch.syspath_prepend(str(FOLDER))

    def load(name: str):
        spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)  # dataclasses look their module up
        spec.loader.exec_module(module)
        return module

    yield load
    for name in PARTS:
        sys.modules.pop(name, None)


def case(number: int, customer: str, said: str) -> Conversation:
    turns = [
        {"role": "user", "text": said},
        {"role": "agent", "text": f"Case {number} has been looked into at length."},
    ]
    return Conversation.from_json(
        {
            "id": f"c{number}",
            "customer": customer,
            "category": "printing",
            "started_at": f"2026-03-0{number}T09:00:00+00:00",
            "turns": turns,
        }
    )


CASES = [
    case(1, "acme", "The plotter in the basement prints stripes since this morning"),
    case(2, "acme", "The scanner at reception sends empty mails to everybody"),
    case(3, "globex", "My badge is refused at the gate of the car park again"),
]
GOLD = GoldCauses(
    {"c1": frozenset({"stripes"}), "c2": frozenset({"empty"}), "c3": frozenset({"badge"})},
    {("acme", None): frozenset({"stripes", "empty"}), ("globex", None): frozenset({"badge"})},
)


def asked(number: int, customer: str, text: str, cause: str, *, hard: bool = False) -> Query:
    return Query(f"q{number}", text, customer, None, (), (cause,), (), hard, "test")


QUERIES = [
    asked(1, "acme", "plotter prints stripes", "stripes"),
    asked(2, "acme", "scanner sends mails", "empty", hard=True),
    asked(3, "globex", "xylophone", "badge"),
]


def test_hits_are_read_until_the_budget_is_spent_and_each_conversation_counts_once(part):
    measure = part("measure")
    hits = [{"conversations": [c], "text": "one two three"} for c in ("a", "a", "b", "c")]  # 3 tokens each
    read = [hit.conversations for hit in measure.read_within(hits, 9)]
    assert read == [("a",), ("b",)]
    assert [hit.conversations for hit in measure.read_within(hits, 1)] == [("a",)]  # the first one in any case


def test_a_peer_is_measured_over_its_pipe(part, tmp_path):
    measure, servers = part("measure"), part("servers")
    row, values = measure.measure(
        sys.executable, "fts5", tmp_path, CASES, QUERIES, GOLD, budget=100, served=servers.Served()
    )
    assert values["recall@1"] == {"q1": 1.0, "q3": 0.0}
    assert values["hard recall@1"] == {"q2": 1.0}
    assert row["recall@1"] == 0.5
    assert row["items again"] == 2.0  # it knows no ids
    assert row["texts encoded"] == row["encoder's share"] == 0
    assert row["listed after forget"] == 0
    assert (row["names that read others'"], row["names refused"], row["names lost"]) == (0, 0, 0)


def test_what_a_peer_says_at_its_end_is_the_reason(part, tmp_path):
    measure, servers = part("measure"), part("servers")
    with pytest.raises(RuntimeError, match=r"No module named 'adapters\.nothing'"):
        measure.Peer.start(sys.executable, "nothing", tmp_path, servers.Served())


def test_texts_that_stand_in_a_file_are_found_in_both_spellings(part, tmp_path):
    measure = part("measure")
    cases = [*CASES[:2], case(4, "acme", "Le périphérique n'imprime plus que des pages étranges")]
    assert measure.leftovers(tmp_path, "acme", cases) == 0
    # Of six turns of 30 letters and more, one stands there as UTF-8 and one escaped.
    (tmp_path / "a.bin").write_bytes(b"\x00" + cases[0].turns[0].text.encode() + b"\x00")
    (tmp_path / "b.json").write_text(json.dumps(cases[2].turns[0].text))
    assert measure.leftovers(tmp_path, "acme", cases) == pytest.approx(2 / 6)


def test_the_encoder_notes_its_time_and_texts(part):
    protocol = part("protocol")

    class Fake:
        name = "fake"

        def encode(self, texts):
            return [len(t) for t in texts]

    timed = protocol.Timed(Fake())
    protocol.ENCODERS.append(timed)
    assert timed.encode(["a", "bc"]) == [1, 2]
    assert protocol.encoded()[1] == 2
    assert protocol.encoded()[0] > 0


def test_a_peer_that_cannot_be_installed_or_started_is_skipped_in_words(part, tmp_path, monkeypatch):
    environments, servers = part("environments"), part("servers")
    bad = {"name": "x", "folder": "x", "packages": ["nowhere==1.0"]}
    spec = {"encoder": [], "encoder_alone": []}

    def fail(command, seconds):
        raise subprocess.CalledProcessError(1, command, stderr="ERROR: no versions\nERROR: no nowhere==1.0\n")

    monkeypatch.setattr(environments, "_run", fail)
    with pytest.raises(environments.SkippedError, match=r"not installable: ERROR: no nowhere==1\.0"):
        environments.python_of(bad, spec, tmp_path, seconds=60)
    dead = tmp_path / "dead.py"
    dead.write_text("import sys; print('no disk', file=sys.stderr); sys.exit(1)\n")
    with (
        pytest.raises(environments.SkippedError, match="its server did not start: no disk"),
        servers.served({"folder": "x", "server": str(dead)}, tmp_path, seconds=30),
    ):
        pass


def test_where_memlab_is_behind_is_said_and_whether_it_is_sure(part):
    table = part("table")
    rows = {
        "oracle": {"recall@1": 1.0},
        "memlab": {"recall@1": 0.5, "hard recall@1": 0.5, "p95 ms": 10.0, "bytes": 5},
        "memlab, always answering": {"recall@1": 0.9},
        "other": {"recall@1": 0.6, "hard recall@1": 0.7, "p95 ms": 12.0, "bytes": "on its server"},
        "third": {"recall@1": 0.4, "hard recall@1": 0.6, "p95 ms": 11.0, "bytes": None},
    }
    ahead = {
        "other": {
            "recall@1": {"by": -0.1, "low": -0.3, "high": 0.1},
            "hard recall@1": {"by": -0.2, "low": -0.3, "high": -0.1},
        }
    }
    assert table.beaten(rows, ahead) == [
        "recall@1: 0.50; other has 0.60 (the interval of the difference includes 0)",
        "hard recall@1: 0.50; other has 0.70",
    ]
    rows["words"] = {"p95 ms": 1.0, "texts encoded": 0}
    rows["third"]["p95 ms"] = 9.0
    assert table.beaten(rows, ahead)[0] == "p95 ms: 10; words has 1; of those that encode, third has 9"


def test_the_page_shows_every_row_and_what_is_missing(part):
    table = part("table")
    result = {
        "command": "python run.py", "conversations": 3, "turns": 6, "customers": 2, "queries": 3, "hard negatives": 1,
        "budget": 800, "processors": 2, "python": "3.11", "load before": 0.1, "load after": 0.2,
        "versions": {"other": ["other==1.0; sys_platform == 'linux'"]},
        "rows": {"oracle": {"recall@1": 1.0}, "memlab": {"recall@1": 0.5}, "other": {"recall@1": float("nan"), "MB": 1234.5}},
        "ahead by": {"other": {"recall@1": {"by": 0.1, "low": -0.05, "high": 0.25}}},
        "skipped": {"third": "not installable: no wheel"},
    }  # fmt: skip
    page = table.page(result)
    assert "| memlab | 0.50 |" in page
    assert "+0.10 [-0.05, +0.25]" in page
    assert "1,234" in page
    assert "Nowhere in this run." in page
    assert "- third: not installable: no wheel" in page
    assert "Versions: other==1.0." in page
