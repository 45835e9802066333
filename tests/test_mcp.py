"""Memory as tools for other agents, asked by the official SDK's own client over standard input and output."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from calls import COMMAND, done, environment, line, refused, write
from scripted import HashEncoder, conv, prop
from test_agent_stores import step

from memlab.agent.bankstore import BankStore
from memlab.agent.mcp_server import build_server
from memlab.bank import Bank
from memlab.errors import BankError

pytest.importorskip("mcp", reason="the MCP SDK is not installed: pip install 'memlab[mcp]'")
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

READING = ["episode", "recall", "skill"]


def ask(server: Any, talk: Callable[[Client], Awaitable[Any]]) -> Any:
    """What comes of a talk with a server, in this process or another one."""

    async def run() -> Any:
        async with Client(server) as client:
            return await talk(client)

    return anyio.run(run)


def call(server: Any, tool: str, **arguments: object) -> Any:
    return ask(server, lambda client: client.call_tool(tool, arguments))


def failing(server: Any, tool: str, **arguments: object) -> str:
    """The text of a call that must end as a tool error."""
    result = call(server, tool, **arguments)
    assert result.is_error, result
    return str(result.content[0].text)


@pytest.fixture
def bank(tmp_path: Path, teach: Any) -> Iterator[Bank]:
    """acme's bank, beside that of globex."""
    with Bank.open(tmp_path, "globex") as other:
        teach(other, [(conv("g1", customer="globex"), prop("globex secret", "hidden cause", "secret fix"))])
    with Bank.open(tmp_path, "acme") as bank:
        teach(
            bank,
            [
                (conv(f"c{n}", n), prop("vpn drops in hotels", "udp 500 is blocked", "use tcp", failed=["reboot"]))
                for n in range(4)
            ],
        )
        yield bank


@pytest.fixture
def server(bank: Bank) -> Any:
    return build_server(bank, encoder=HashEncoder())


# -- in this process --------------------------------------------------------------------------------------------------


def test_without_leave_there_are_only_tools_that_read(server):
    tools = ask(server, lambda client: client.list_tools()).tools
    assert sorted(t.name for t in tools) == READING
    assert all(t.annotations.read_only_hint and t.description for t in tools)
    assert not any("customer" in t.input_schema["properties"] for t in tools)
    assert all(t.input_schema["additionalProperties"] is False for t in tools)


def test_recall_skill_and_episode_say_what_the_bank_holds(server, monkeypatch):
    monkeypatch.setattr("memlab.ranking.least", lambda: 0.0)  # the threshold is for a real encoder
    found = call(server, "recall", query="vpn drops in hotels", category="vpn").structured_content
    assert [(h["root_cause"], h["solutions"][0]["text"]) for h in found["hits"]] == [("udp 500 is blocked", "use tcp")]
    assert found["own_history"] == []
    assert "use tcp" in call(server, "skill", category="vpn").content[0].text
    (case,) = call(server, "episode", conversation="c2").structured_content["cases"]
    assert case["solution"]["text"] == "use tcp"
    assert "tried by user: reboot -> failed" in case["text"]


def test_nothing_that_fits_is_an_empty_list_and_no_error(server):
    result = call(server, "recall", query="the printer eats paper", category="vpn")
    assert (result.is_error, result.structured_content["hits"]) == (False, [])


@pytest.mark.parametrize("tool", READING)
@pytest.mark.parametrize("name", ["customer", "home", "bank", "Customer"])
def test_no_call_can_name_another_customer(server, tool, name):
    right = {"recall": {"query": "secret"}, "skill": {"category": "vpn"}, "episode": {"conversation": "c1"}}
    assert f"no argument '{name}'" in failing(server, tool, **right[tool], **{name: "globex"})


def test_what_another_customer_has_is_not_there(server):
    assert call(server, "recall", query="globex secret").structured_content["hits"] == []
    assert "no conversation 'g1'" in failing(server, "episode", conversation="g1")
    for odd in ("../globex", "globex", "*", "%"):
        said = failing(server, "skill", category=odd)
        assert "known: vpn" in said
        assert "secret" not in said


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("recall", {"query": "  "}),
        ("recall", {"query": ""}),
        ("recall", {}),
        ("recall", {"query": "x", "k": 0}),
        ("recall", {"query": "x", "k": 10_000}),
        ("recall", {"query": "x" * 5000}),
        ("recall", {"query": "x", "category": "nothing"}),
        ("skill", {"category": "vpn", "budget": 5}),
        ("skill", {"category": 7}),
        ("episode", {"conversation": "nowhere"}),
        ("report_outcome", {"problem": "x", "step": "y", "outcome": "worked", "conversation": "c"}),
        ("nothing", {}),
    ],
)
def test_a_wrong_call_is_a_tool_error_with_a_text(server, tool, arguments):
    assert len(failing(server, tool, **arguments)) > 10


def test_a_failure_is_an_error_and_never_silence(bank, monkeypatch):
    class Broken(HashEncoder):
        def encode(self, texts):
            raise RuntimeError("no vectors today")

    assert "could not be searched" in failing(build_server(bank, encoder=Broken()), "recall", query="vpn")

    class Gone:
        def all(self, customer):
            raise BankError("the server can't be reached")

    assert "can't be reached" in failing(build_server(bank, store=Gone(), encoder=HashEncoder()), "recall", query="vpn")


def test_recall_gives_the_customers_own_history_first(bank, tmp_path):
    store = BankStore(tmp_path, encoder=HashEncoder())
    store.add("acme", [step("switch the tunnel to tcp", outcome="worked", symptoms=["vpn drops in hotels"])])
    store.add("globex", [step("secret step", "globex", symptoms=["vpn drops in hotels"])])
    server = build_server(bank, store=store, encoder=HashEncoder())
    own = call(server, "recall", query="vpn drops in hotels").structured_content["own_history"]
    assert [(h["text"], h["outcome"]) for h in own] == [("switch the tunnel to tcp", "worked")]
    assert own[0]["reason"]


def test_with_leave_an_outcome_can_be_reported(bank):
    told = []
    server = build_server(bank, report=lambda **said: told.append(said) or "stored it", encoder=HashEncoder())
    tools = {t.name: t for t in ask(server, lambda client: client.list_tools()).tools}
    assert sorted(tools) == sorted([*READING, "report_outcome"])
    assert tools["report_outcome"].annotations.read_only_hint is False
    said = {"problem": "vpn drops", "step": "use tcp", "outcome": "worked", "conversation": "m1"}
    assert call(server, "report_outcome", **said).structured_content == {"stored": "stored it"}
    assert told == [said]
    assert "outcome" in failing(server, "report_outcome", **{**said, "outcome": "splendid"})
    assert "no argument 'by'" in failing(server, "report_outcome", **said, by="user")


# -- as a program -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the banks of two customers, learned by the command line."""
    folder = tmp_path_factory.mktemp("mcp")
    items = [line("c1"), line("c2"), line("g1", customer="globex")]
    done("learn", write(folder / "conversations.jsonl", items), "--home", folder / "memory")
    return folder / "memory"


def program(home: Path, *more: str) -> StdioServerParameters:
    arguments = [*COMMAND[1:], "mcp", "--home", str(home), "--customer", "acme", *more]
    return StdioServerParameters(command=sys.executable, args=arguments, env=environment())


def test_the_sdks_client_talks_to_the_command_in_a_process_of_its_own(home):
    async def talk(client: Client) -> Any:
        names = sorted(t.name for t in (await client.list_tools()).tools)
        skill = await client.call_tool("skill", {"category": "vpn"})
        episode = await client.call_tool("episode", {"conversation": "c1"})
        recall = await client.call_tool("recall", {"query": "VPN error 809"})
        wrong = await client.call_tool("recall", {"query": "VPN error 809", "customer": "globex"})
        other = await client.call_tool("episode", {"conversation": "g1"})
        return names, skill, episode, recall, wrong, other

    names, skill, episode, recall, wrong, other = ask(stdio_client(program(home)), talk)
    assert names == READING
    assert "# vpn at acme" in skill.content[0].text
    assert episode.structured_content["conversation"] == "c1"
    assert set(recall.structured_content) == {"own_history", "hits", "known_categories"}
    assert (wrong.is_error, other.is_error) == (True, True)


def test_a_reported_outcome_is_a_claim_and_comes_back_in_recall(home):
    said = {"problem": "VPN fails with error 809", "step": "open UDP 500", "outcome": "worked", "conversation": "m1"}

    async def talk(client: Client) -> Any:
        stored = await client.call_tool("report_outcome", said)
        return stored, await client.call_tool("recall", {"query": "VPN fails with error 809"})

    stored, recall = ask(stdio_client(program(home, "--allow-report")), talk)
    assert not stored.is_error, stored
    (own,) = recall.structured_content["own_history"]
    assert (own["text"], own["outcome"], own["result"]) == ("open UDP 500", "unknown", "proposed")
    (memory,) = BankStore(home).all("acme")
    assert (memory.verification, memory.outcome) == ("claimed", "unknown")
    assert BankStore(home).all("globex") == []


def test_nothing_but_protocol_is_on_standard_output(home):
    """One request by hand: every line of the answer is JSON-RPC, also when libraries print."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    sent = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "recall", "arguments": {"query": "VPN error"}},
        },
    ]
    parameters = program(home)
    process = subprocess.Popen(
        [parameters.command, *parameters.args], env=parameters.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        process.stdin.write("".join(json.dumps(s) + "\n" for s in sent))
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        rest, errors = process.stdout.read(), process.stderr.read()
    assert [a["id"] for a in answers] == [1, 2]
    assert all(a["jsonrpc"] == "2.0" for a in answers)
    assert (rest, errors, process.returncode) == ("", "", 0)


def test_an_unknown_or_odd_customer_stops_it_before_it_starts(home):
    assert "nobody" in refused("mcp", "--home", home, "--customer", "nobody")
    assert "customer" in refused("mcp", "--home", home, "--customer", " acme")
    assert "--customer" in refused("mcp", "--home", home, code=2)
