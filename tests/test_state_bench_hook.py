"""The hook of STATE-Bench on trajectories of our own: read in every form, learned, retrieved, silent when nothing fits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripted import Scripted, prop

from memlab.bank import Bank
from memlab.errors import CustomerError, InputError
from memlab.integrations import state_bench
from memlab.integrations.state_bench import build_learnings, retrieve_learnings


def trajectory(task: str, *turns: tuple[str, str], result: object = None) -> dict:
    """User and assistant in turn; the first reply comes with a tool call."""
    messages: list[dict] = [{"role": "system", "content": "You help customers. Do not reveal the tools."}]
    for role, text in turns:
        messages.append({"role": role, "content": text})
    reply = next(m for m in messages if m["role"] == "assistant")
    reply["tool_calls"] = [{"name": "get_thing", "arguments": {"id": "T-1"}, "result": result or {"status": "ok"}}]
    return {"task": task, "conversation": messages}


KETTLE = trajectory(
    "kettle",
    ("user", "The kettle from order K-20 arrived with a cracked lid and I want my money back."),
    ("assistant", "The carrier report shows that the parcel was dropped. Please send a photo of the lid."),
    ("user", "Photo sent. The refund has arrived now, that solved it, thanks."),
)
LAMP = trajectory(
    "lamp",
    ("user", "My desk lamp order L-7 shows as lost in tracking since two weeks."),
    ("assistant", "The parcel is stuck at the depot. I opened a trace with the carrier."),
    ("user", "The trace worked, the lamp came today. Thank you!"),
)
SCRIPT = {
    "kettle": prop("lid arrived cracked", "courier let the box fall", "ask for a photo, then refund", quote=""),
    "lamp": prop(
        "parcel lost in tracking", "consignment held in a depot", "open a trace", failed=["wait a week"], quote=""
    ),
}


@pytest.fixture
def built(tmp_path, encoder):
    extractor = Scripted(SCRIPT)
    return build_learnings([KETTLE, LAMP], home=tmp_path / "home", extractor=extractor, encoder=encoder), extractor


def test_what_was_learned_comes_back_as_texts(built, encoder):
    learnings, _ = built
    found = retrieve_learnings("lid arrived cracked", home=learnings.home, encoder=encoder, least=0.0)
    assert all(isinstance(text, str) for text in found)
    assert found[0].splitlines()[0] == "In 1 past case like this one: courier let the box fall"
    assert "- helped: ask for a photo, then refund (worked 1×)" in found[0].splitlines()
    assert len(found) == 2


def test_no_more_than_asked_for_and_nothing_below_the_threshold(built, encoder):
    learnings, _ = built
    assert len(retrieve_learnings("parcel", 1, home=learnings.home, encoder=encoder, least=0.0)) == 1
    assert retrieve_learnings("parcel", home=learnings.home, encoder=encoder, least=1.0) == []
    assert retrieve_learnings("  ", home=learnings.home, encoder=encoder) == []


def test_learning_again_changes_nothing(built, encoder):
    learnings, extractor = built
    again = build_learnings([LAMP, KETTLE], home=learnings.home, extractor=extractor, encoder=encoder)
    assert (learnings.report.learned, again.report.learned, again.report.unchanged) == (2, 0, 2)


def test_instructions_are_left_out_and_tools_are_too_unless_wanted(tmp_path, encoder):
    said = {}
    for tools in (False, True):
        home = tmp_path / str(tools)
        build_learnings([KETTLE], home=home, tools=tools, extractor=Scripted(SCRIPT), encoder=encoder)
        with Bank.open(home, "customer_support") as bank:
            found = bank.conversation("kettle")
        said[tools] = [t.role for t in found.turns]
        assert "Do not reveal" not in " ".join(t.text for t in found.turns)
    assert said == {False: ["user", "agent", "user"], True: ["user", "tool", "agent", "user"]}


def test_a_folder_a_file_and_objects_are_the_same(tmp_path, encoder):
    folder = tmp_path / "customer_support"
    folder.mkdir()
    for row in (KETTLE, LAMP):
        # The benchmark's own files do not name the task; their names do.
        (folder / f"{row['task']}.json").write_text(json.dumps({"conversation": row["conversation"]}, indent=1))
    lines = tmp_path / "train.jsonl"
    lines.write_text("".join(f"{json.dumps(row)}\n\n" for row in (KETTLE, LAMP)))
    exports = []
    for number, source in enumerate((folder, lines, [KETTLE, LAMP])):
        home = tmp_path / f"home{number}"
        build_learnings(source, home=home, extractor=Scripted(SCRIPT), encoder=encoder)
        with Bank.open(home, "customer_support") as bank:
            exports.append(sorted(c for c in bank.versions(["kettle", "lamp"]).items()))
    assert exports[0] == exports[1] == exports[2]
    assert len(exports[0]) == 2


def test_domains_do_not_read_each_other(built, encoder):
    learnings, _ = built
    with pytest.raises(InputError, match="no learnings of domain 'travel'"):
        retrieve_learnings("lid", home=learnings.home, domain="travel", encoder=encoder)
    with pytest.raises(CustomerError):
        retrieve_learnings("lid", home=learnings.home, domain="", encoder=encoder)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no trajectory to learn from"),
        ("{", r"train\.jsonl:1: not JSON"),
        ("[1]", r"train\.jsonl:1: a trajectory must be an object"),
        ('{"task": "x", "conversation": "hello"}', r"trajectory 1 \('x'\): conversation must be a list"),
        ('{"task": "x", "conversation": [{"role": "bee", "content": "hi"}]}', "unknown role 'bee'"),
    ],
)
def test_bad_trajectories_are_refused_by_place(tmp_path, text, said):
    file = tmp_path / "train.jsonl"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        build_learnings(file, home=tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="can't be read"):
        build_learnings(tmp_path / "none.jsonl", home=tmp_path / "home")


def test_the_hook_of_the_benchmark_with_the_real_encoder_and_threshold(tmp_path, monkeypatch):
    class Agent:
        def retrieve_learnings(self, query: str, top_k: int = 3) -> list[str]:
            return state_bench.retrieve_learnings(query, top_k, home="learnings")

    monkeypatch.chdir(tmp_path)
    learnings = build_learnings([KETTLE, LAMP], home="learnings", extractor=Scripted(SCRIPT))
    assert learnings.home == Path("learnings")
    right = Agent().retrieve_learnings("My desk lamp order has shown as lost in tracking for two weeks")
    assert right == learnings.retrieve_learnings("My desk lamp order has shown as lost in tracking for two weeks")
    assert "consignment held in a depot" in right[0]
    assert Agent().retrieve_learnings("which vaccinations do I need for a trip to Peru?") == []


def test_with_the_offline_extractor_every_trajectory_is_learned(tmp_path):
    learnings = build_learnings([KETTLE, LAMP], home=tmp_path)
    assert (learnings.report.learned, learnings.report.pending) == (2, 0)
    assert build_learnings([KETTLE, LAMP], home=tmp_path).report.unchanged == 2
