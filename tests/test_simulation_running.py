"""Arms, runs on disk, resuming, and the same bytes for the same seed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scripted import HashEncoder

from memlab.cli import main
from memlab.errors import InputError
from memlab.models.tokens import count_tokens
from memlab.rendering import parse_skill
from memlab.simulation.history import past_case, past_scenarios
from memlab.simulation.memories import ARMS, Library, shuffled
from memlab.simulation.records import Trial, read_trials, to_frame, write_trials
from memlab.simulation.running import Settings, learn_past, play_all, simulate
from memlab.simulation.scenarios import Scenario, read_scenarios
from memlab.simulation.sight import Sight
from memlab.simulation.studies import Desk, sampled
from memlab.simulation.world import load_world

WORLD = load_world()
SHIPPED = Path(__file__).parent.parent / "datasets/scenarios.jsonl"


class Remembering(HashEncoder):
    """Encodes a text once for all tests."""

    known: dict[str, np.ndarray] = {}

    def _one(self, text: str) -> np.ndarray:
        if text not in self.known:
            self.known[text] = super()._one(text)
        return self.known[text]


ENCODER = Remembering(dimension=32)
QUICK = ("none", "bm25", "minilm", "reference", "oracle")


class Nothing:
    """An extractor that reads nothing out of anything."""

    name = "nothing-1"

    def extract(self, conversation: object) -> Sequence[object]:
        return ()


@pytest.fixture(scope="module")
def few() -> list[Scenario]:
    return sampled(read_scenarios(SHIPPED, WORLD).scenarios, categories=["vpn"], most=4)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, few: list[Scenario]) -> Library:
    settings = Settings(history=6, seed=1)
    past = learn_past(WORLD, few, settings, Sight(ENCODER))
    made = Library(WORLD, tmp_path_factory.mktemp("banks"), past, seed=1, encoder=ENCODER)
    # What the extractor reads is laid down, so that no test waits for it.
    made.read.update({p.conversation.id: (p.reference,) for p in past})
    made.extractor = Nothing()
    return made


@pytest.mark.parametrize("arm", ARMS)
def test_every_arm_keeps_its_budget(arm: str, library: Library, few: list[Scenario]) -> None:
    for scenario in few:
        text = library.context(arm, scenario)
        assert count_tokens(text) <= library.budget
        assert (text == "") == (arm == "none")


def test_arms_differ_in_one_thing(library: Library, few: list[Scenario]) -> None:
    case = few[0]
    skill = library.context("skill", case)
    assert parse_skill(skill)["causes"]
    assert library.context("skill+episodes", case) != skill
    assert f"# vpn at {case.customer}" in skill
    assert f"# vpn at {case.customer}" not in library.context("other customer", case)
    assert f"# vpn at {case.customer}" not in library.context("random", case)
    assert count_tokens(library.context("random", case)) <= max(300, count_tokens(skill))
    for fault in case.faults(WORLD):
        assert fault.fix in library.context("oracle", case)
    assert case.opening not in library.context("bm25", case)  # the very words are nowhere in the past
    with pytest.raises(InputError, match="no arm 'magic'"):
        library.context("magic", case)


def test_shuffling_moves_evidence_and_keeps_entries(library: Library, few: list[Scenario]) -> None:
    graph = library.bank(few[0].customer).graph("vpn")
    other = shuffled(graph, seed=3)
    assert other.entries.keys() == graph.entries.keys() and other.edges.keys() == graph.edges.keys()
    weights = sorted(graph.weight(e.id) for e in graph.of_kind("cause"))
    assert sorted(other.weight(e.id) for e in other.of_kind("cause")) == weights
    now = [graph.weight(i) for i in sorted(graph.entries)]
    drawn = [shuffled(graph, seed=seed) for seed in range(5)]  # one draw alone may swap equal weights
    assert any([g.weight(i) for i in sorted(g.entries)] != now for g in drawn)
    assert shuffled(graph, seed=3) == other


def run(folder: Path, few: list[Scenario], **options: object) -> list[Trial]:
    settings = Settings(arms=QUICK, repeats=2, seed=1, history=4)
    return simulate(few, folder, settings, encoder=ENCODER, extractor=Nothing(), **options)


def test_a_run_repeats_itself_and_goes_on_after_a_kill(tmp_path: Path, few: list[Scenario]) -> None:
    seen: list[tuple[int, int]] = []
    trials = run(tmp_path / "a", few, played=lambda done, total: seen.append((done, total)))
    assert len(trials) == len(few) * len(QUICK) * 2 == seen[-1][0] == seen[-1][1]
    whole = (tmp_path / "a/trials.jsonl").read_bytes()
    # A run killed in the middle of writing a line: the rest is played, and the file is the same.
    lines = whole.splitlines(keepends=True)
    (tmp_path / "a/trials.jsonl").write_bytes(b"".join(lines[:7]) + lines[7][:20])
    assert run(tmp_path / "a", few) == trials
    assert (tmp_path / "a/trials.jsonl").read_bytes() == whole
    run(tmp_path / "b", few)
    for name in ("trials.jsonl", "contexts.jsonl", "past.jsonl", "run.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert read_trials(tmp_path / "a/trials.jsonl") == trials


def test_processes_do_not_show(tmp_path: Path, few: list[Scenario]) -> None:
    settings = Settings(arms=("none", "oracle"), repeats=1, seed=1)
    contexts = {("none", s.id): "" for s in few} | {("oracle", s.id): f"fix: {s.opening}" for s in few}
    found = []
    for n in (1, 2):
        folder = tmp_path / str(n)
        folder.mkdir()
        found.append(play_all(WORLD, few, contexts, folder, settings, processes=n, encoder=ENCODER))
    assert found[0] == found[1]


def test_more_repeats_and_arms_are_added_but_other_settings_refused(tmp_path: Path, few: list[Scenario]) -> None:
    first = run(tmp_path, few)
    more = simulate(
        few,
        tmp_path,
        Settings(arms=("none", "oracle"), repeats=3, seed=1, history=4),
        encoder=ENCODER,
        extractor=Nothing(),
    )
    assert {t.key for t in more} - {t.key for t in first} == {(a, s.id, 2) for a in ("none", "oracle") for s in few}
    assert {t.key: t for t in more}.items() >= {t.key: t for t in first if t.arm in ("none", "oracle")}.items()
    with pytest.raises(InputError, match=r"holds a run with seed 1, not 2; name another folder"):
        simulate(few, tmp_path, Settings(arms=("none",), seed=2, history=4), encoder=ENCODER, extractor=Nothing())


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"arms": ("skil",)}, "no arm 'skil'"), ({"arms": ("none", "none")}, "twice"), ({"repeats": 0}, "at least 1")],
)
def test_settings_are_checked(options: dict, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        Settings(**options)


def test_a_desk_plays_in_memory(few: list[Scenario]) -> None:
    desk = Desk(
        few, Settings(arms=("none", "oracle"), repeats=1, seed=1, history=4), extractor=Nothing(), encoder=ENCODER
    )
    trials = desk.trials()
    assert trials == desk.trials()
    named = desk.named().set_index("arm")["named"]
    assert set(named["none"]) == {0.0} and set(named["oracle"]) <= {0.0, 1.0} and len(named) == 2 * len(few)
    frame = desk.curve((2, 4), ("none", "reference"))
    assert set(frame["history"]) == {2, 4}
    # none does not depend on the amount of history
    none = frame[frame["arm"] == "none"].drop(columns="history")
    assert not none[none.duplicated()].empty and len(none.drop_duplicates()) == len(few)
    assert set(desk.patience()) == {s.id for s in few}


def test_records_keep_their_form(tmp_path: Path) -> None:
    one = past_scenarios(WORLD, customer="fabrikam", category="vpn", count=1, seed=0)[0]
    assert past_case(WORLD, one, seed=0, sight=Sight(ENCODER)).conversation.customer == "fabrikam"
    trial = Trial("s", "none", 0, 1, "c", "vpn", True, 3, 2, None, False, 0, 1.0, 0, 0, 5.0, 9, 0, True, "confirmed")
    path = tmp_path / "t.jsonl"
    write_trials(path, [trial])
    assert read_trials(path) == [trial]
    assert list(to_frame([trial])["resolved"]) == [True]
    for field, value in (("ended_by", "sleep"), ("resolved", 1), ("steps", 2.5), ("tool_relevance", "x")):
        path.write_text(json.dumps({**trial.to_json(), field: value}) + "\n", "utf-8")
        with pytest.raises(InputError, match=f"{path}:1: a trial's {field}"):
            read_trials(path)
    path.write_text(json.dumps({**trial.to_json(), "mood": 1}) + "\n", "utf-8")
    with pytest.raises(InputError, match="no field 'mood'"):
        read_trials(path)


def command(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["simulate", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr


def test_the_command_plays_and_prints(tmp_path: Path, few: list[Scenario], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memlab.simulation.running.default_encoder", lambda: ENCODER)
    monkeypatch.setattr("memlab.simulation.sight.default_encoder", lambda: ENCODER)
    path = tmp_path / "s.jsonl"
    path.write_text("".join(f"{json.dumps(s.to_json())}\n" for s in few[:2]) + "{}\n", "utf-8")
    options = ["--scenarios", path, "--arms", "none,oracle", "--repeats", 2, "--processes", 1, "-o", tmp_path / "out"]
    code, out, err = command(*options)
    assert code == 0, err
    assert f"{path}:3: " in err and "8 trials" in err
    assert out.splitlines()[0].startswith("arm ") and "oracle" in out and "[" in out
    code, out, _ = command(*options, "--json")
    assert code == 0
    data = json.loads(out)
    assert data["trials"] == 8
    assert {row["arm"] for row in data["differences"]} == {"oracle"}
    assert command(*options, "--strict")[0] == 1
    assert command(*options[:-1], tmp_path / "s.jsonl")[0] == 1


def test_the_command_lists_arms_and_refuses_others(tmp_path: Path) -> None:
    code, out, _ = command("--scenarios", SHIPPED, "--arms", "list", "-o", tmp_path / "x")
    assert code == 0 and len(out.splitlines()) == len(ARMS)
    code, _, err = command("--scenarios", SHIPPED, "--arms", "skil", "-o", tmp_path / "x")
    assert code == 1 and "no arm 'skil'" in err and err.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_a_past_of_ones_own_can_be_learned(tmp_path: Path, few: list[Scenario]) -> None:
    past = [p.conversation for p in learn_past(WORLD, few, Settings(history=2, seed=5), Sight(ENCODER))]
    settings = Settings(arms=("none", "bm25", "skill", "reference", "random"), repeats=1, seed=1)
    trials = simulate(few[:2], tmp_path, settings, conversations=past, encoder=ENCODER, extractor=Nothing())
    assert len(trials) == 10
    kept = (tmp_path / "past.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["id"] for line in kept} == {c.id for c in past}
    with pytest.raises(InputError, match="holds a run with past"):
        simulate(few[:2], tmp_path, settings, conversations=past[1:], encoder=ENCODER, extractor=Nothing())
