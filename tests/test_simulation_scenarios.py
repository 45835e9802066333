"""Scenarios: what is read, what is refused with file and line, and what memory may not have heard."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memlab.errors import InputError
from memlab.simulation.scenarios import Scenario, read_scenarios
from memlab.simulation.world import load_world

WORLD = load_world()
SHIPPED = Path(__file__).parent.parent / "datasets/scenarios.jsonl"
GOOD = {
    "id": "one",
    "customer": "fabrikam",
    "category": "vpn",
    "at": "2026-09-02T08:00:00+00:00",
    "faults": [{"id": "fab-vpn-1", "says": ["no prompt on my new phone"]}],
}


def test_the_shipped_scenarios_are_whole() -> None:
    report = read_scenarios(SHIPPED, WORLD, strict=True)
    assert len(report.scenarios) >= 120
    assert {s.category for s in report.scenarios} == set(WORLD.categories)
    assert len({s.opening for s in report.scenarios}) == len(report.scenarios)
    for s in report.scenarios:
        assert all(f.occurs(s.at.date()) and f.category == s.category for f in s.faults(WORLD))


def test_nothing_said_in_a_scenario_is_said_in_the_past() -> None:
    heard = {t.casefold() for f in WORLD.faults.values() for t in (*f.heard, *f.notices)}
    said = {t.casefold() for s in read_scenarios(SHIPPED, WORLD).scenarios for c in s.complaints for t in c.says}
    assert not said & heard


def test_a_scenario_survives_the_way_through_json() -> None:
    scenario = Scenario.from_json(GOOD, WORLD)
    assert Scenario.from_json(scenario.to_json(), WORLD) == scenario
    assert scenario.opening == "no prompt on my new phone"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"category": "garden"}, "category must be one of"),
        ({"faults": []}, "at least one fault"),
        ({"faults": [{"id": "fab-vpn-99", "says": ["x"]}]}, "no fault 'fab-vpn-99'"),
        ({"faults": [{"id": "nwd-vpn-1", "says": ["x"]}]}, "belongs to northwind"),
        ({"faults": [{"id": "fab-vpn-1", "says": []}]}, "at least one text"),
        ({"faults": GOOD["faults"] * 2}, "differ"),
        ({"at": "2026-09-02T08:00:00"}, "no UTC offset"),
        ({"persona": {"patience": -1}}, "patience must be a number from 0"),
        ({"persona": {"honesty": True}}, "honesty must be a number"),
        ({"persona": {"language": "nl"}}, "language must be one of en, de, fr"),
        ({"persona": {"mood": 1}}, "no field 'mood'"),
        ({"customer": " fabrikam"}, "white space"),
        ({"colour": 1}, "no field 'colour'"),
    ],
)
def test_a_bad_line_is_named_and_the_rest_goes_on(tmp_path: Path, change: dict, reason: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n{json.dumps({**GOOD, 'id': 'two', **change})}\n", "utf-8")
    report = read_scenarios(path, WORLD)
    assert [s.id for s in report.scenarios] == ["one"]
    assert report.skipped[0].startswith(f"{path}:2: ") and reason in report.skipped[0]
    with pytest.raises(InputError, match=":2: "):
        read_scenarios(path, WORLD, strict=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "no scenario"), ("{not json}\n", "not JSON"), ("[1]\n", "JSON object"), ("\xff\n", "not JSON")],
)
def test_a_file_without_a_scenario_is_an_error(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=reason):
        read_scenarios(path, WORLD)


def test_an_id_stands_once(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n{json.dumps(GOOD)}\n", "utf-8")
    assert "stands twice" in read_scenarios(path, WORLD).skipped[0]
    with pytest.raises(InputError, match="no such file"):
        read_scenarios(tmp_path / "none.jsonl", WORLD)
