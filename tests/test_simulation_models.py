"""Models in the place of scripts, against an endpoint of this machine that says what it was told to say."""

from __future__ import annotations

import itertools
import json

import fault_server as faults
import pytest

from memlab.errors import ExtractionError, InputError, ModelError
from memlab.models.chat import Chat
from memlab.models.prompts import check_released, prompt_folder
from memlab.simulation.device import healthy, with_faults
from memlab.simulation.models import Judge, ModelAgent, ModelUser, ask_endpoint
from memlab.simulation.scenarios import Scenario
from memlab.simulation.schemas import step_of_call, tool_schemas
from memlab.simulation.trial import Event, play
from memlab.simulation.users import ScriptedUser
from memlab.simulation.world import load_world

WORLD = load_world()
CASE = Scenario.from_json(
    {
        "id": "one",
        "customer": "fabrikam",
        "category": "vpn",
        "at": "2026-09-02T08:00:00+00:00",
        "faults": [{"id": "fab-vpn-3", "says": ["login denied", "after approving"]}],
        "persona": {"patience": 50, "skill": 1, "honesty": 1},
    },
    WORLD,
)


def calls(name: str, **arguments: str) -> faults.Step:
    """A reply that calls a tool."""
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    body = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    return faults.raw(json.dumps(body).encode())


def test_every_tool_has_a_schema_and_comes_back() -> None:
    schemas = [s["function"] for s in tool_schemas(WORLD)]
    names = set()
    for s in schemas:
        targets = s["parameters"]["properties"].get("target", {}).get("enum")
        names |= {step_of_call(s["name"], json.dumps({"target": t})).tool for t in targets} if targets else {s["name"]}
        assert s["parameters"]["required"] == list(s["parameters"]["properties"])
    assert names == set(WORLD.tools) | {"close_case", "hand_over"}


@pytest.mark.parametrize("arguments", ["{", "[1]", '"x"'])
def test_arguments_that_can_t_be_read_call_nothing(arguments: str) -> None:
    assert step_of_call("restart", arguments).tool not in WORLD.tools


def test_a_model_drives_a_case_with_tool_calls() -> None:
    script = [
        faults.ok("What do you see?"),
        calls("read_vpn_gateway"),
        calls("change_access", target="moon"),
        calls("change_access", target="vpn_group"),
    ]
    with faults.serving(*script) as server:
        agent = ModelAgent(WORLD, "fabrikam", "vpn", "1. a past case", ask=ask_endpoint("m", base_url=server.url))
        played = play(WORLD, CASE, agent, ScriptedUser(WORLD, CASE, 1), arm="skill", seed=1)
        bodies = server.bodies
    assert played.trial.resolved and played.trial.steps == 4
    assert [e.tool for e in played.events if e.role == "agent"] == [
        "", "read_vpn_gateway", "change_access.moon", "change_access.vpn_group",
    ]  # fmt: skip
    assert (
        "1. a past case" in bodies[0]["messages"][1]["content"]
        and "BEGIN memory" in bodies[0]["messages"][1]["content"]
    )
    assert len(bodies[0]["tools"]) == len(tool_schemas(WORLD))
    # Each call in the history is answered once, right after it, as the protocol demands.
    messages = bodies[-1]["messages"]
    for before, after in itertools.pairwise(messages):
        for call in before.get("tool_calls") or ():
            assert (after["role"], after["tool_call_id"]) == ("tool", call["id"])
    assert sum(m["role"] == "tool" for m in messages) == 2
    assert not any(f.cause in json.dumps(bodies) for f in CASE.faults(WORLD))  # nothing privileged is sent


def test_a_model_may_close_hand_over_or_be_silent() -> None:
    for step, ended in ((calls("hand_over", reason="no idea"), "escalated"), (faults.ok(""), "escalated")):
        with faults.serving(step) as server:
            agent = ModelAgent(WORLD, "fabrikam", "vpn", "", ask=ask_endpoint("m", base_url=server.url))
            played = play(WORLD, CASE, agent, ScriptedUser(WORLD, CASE, 1), arm="none", seed=1)
        assert (played.trial.ended_by, played.trial.resolved) == (ended, False)


def test_an_endpoint_that_fails_raises() -> None:
    with faults.serving(faults.status(401)) as server, pytest.raises(ModelError, match="m: "):
        ask_endpoint("m", base_url=server.url)([{"role": "user", "content": "x"}], [])


def test_a_model_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMLAB_MODEL", raising=False)
    with pytest.raises(InputError, match="no model is named"):
        ask_endpoint()


def test_a_models_words_do_not_change_what_is_true() -> None:
    state = with_faults(healthy("fabrikam"), CASE.faults(WORLD))
    group = WORLD.tool("change_access.vpn_group")
    with faults.serving(faults.ok("Alles bestens!")) as server, Chat("m", base_url=server.url) as chat:
        user = ModelUser(WORLD, CASE, 1, chat=chat)
        assert user.open(state) == "Alles bestens!"
        assert user.answer("?", state).over == ""
        assert user.test(group, state).over == ""  # still broken, whatever the model says
        assert user.test(group, healthy("fabrikam")).over == "confirmed"
        notes = [b["messages"][-1]["content"] for b in server.bodies]
    assert notes[:2] == ["login denied", "after approving"]


def test_a_judge_reads_the_messages_and_nothing_else() -> None:
    events = [Event("user", "login denied"), Event("agent", "done", "restart.laptop"), Event("user", "works now")]
    verdict = '{"resolved": false, "reason": "a restart mends no group"}'
    with faults.serving(faults.ok(verdict)) as server, Chat("m", base_url=server.url) as chat:
        found = Judge(chat).verdict(CASE, events)
        sent = json.dumps(server.bodies)
    assert (found.resolved, found.reason) == (False, "a restart mends no group")
    assert "works now" in sent and "fab-vpn-3" not in sent
    with (
        faults.serving(faults.ok('{"resolved": "maybe"}')) as server,
        Chat("m", base_url=server.url) as chat,
        pytest.raises(ExtractionError, match="true or false"),
    ):
        Judge(chat).verdict(CASE, events)


def test_prompts_are_released() -> None:
    mine = [f for f in check_released(prompt_folder()) if f.startswith(("judge", "helpdesk", "simuser"))]
    assert mine == []
