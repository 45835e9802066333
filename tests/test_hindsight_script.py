"""The parts of scripts/hindsight_server that need no server: what it asks for, what it refuses, and what the stub says."""

from __future__ import annotations

import importlib.util
import json
import sys
import urllib.request
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[1] / "scripts" / "hindsight_server"


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    spec = importlib.util.spec_from_file_location(f"hindsight_server_{name}", FOLDER / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def script(monkeypatch):
    return load("__main__", monkeypatch)


@pytest.fixture
def stub(monkeypatch):
    return load("stub", monkeypatch)


def test_the_server_listens_on_loopback_asks_for_a_key_and_fetches_nothing(script):
    values = script.settings(8888, "postgresql://x", "http://127.0.0.1:1/v1", "a-key")
    assert values["HINDSIGHT_API_HOST"] == "127.0.0.1"  # its own default is 0.0.0.0
    assert values["HINDSIGHT_API_TENANT_API_KEY"] == "a-key"
    assert values["HF_HUB_OFFLINE"] == "1"
    assert {v for k, v in values.items() if k.endswith("BASE_URL") and "DATABASE" not in k} == {"http://127.0.0.1:1/v1"}


def test_a_folder_that_the_databases_user_can_not_enter_is_refused(script, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(script.StartError, match=r"can't enter; chmod o\+x"):
        script.folder_for(closed / "inside", "somebody-else")
    assert script.folder_for(closed / "inside", script.getpass.getuser()).is_dir()


def test_a_command_that_fails_is_one_error_with_its_output(script, capsys, monkeypatch, tmp_path):
    with pytest.raises(script.StartError, match="ended with 3: told"):
        script.run(sys.executable, "-c", "print('told'); raise SystemExit(3)")

    def fail(folder):
        raise script.StartError("no room")

    monkeypatch.setattr(script, "install", fail)
    monkeypatch.setattr(script.signal, "signal", lambda *_: None)
    monkeypatch.setattr(script, "folder_for", lambda path, user: path)
    assert script.main([str(tmp_path)]) == 1
    assert capsys.readouterr().err == "hindsight_server: no room\n"


def test_a_server_that_ended_is_not_waited_for(script):
    class Ended:
        def poll(self):
            return 1

    assert script.healthy(1, Ended(), tries=3, pause=0) is False


def test_the_stub_makes_one_fact_a_sentence_word_for_word(stub):
    prompt = "Extract facts.\nText:\nThe VPN client crashes on Windows. ok. It came back\nafter lunch today."
    assert [f["what"] for f in stub.facts_of(prompt)["facts"]] == [
        "The VPN client crashes on Windows.",
        "It came back",
        "after lunch today.",
    ]
    assert stub.facts_of(prompt)["facts"][0]["entities"] == ["The", "VPN", "Windows"]
    unit = "0" * 36
    assert stub.observations_of(f"[{unit}] the fact")["creates"] == [{"text": "the fact", "source_fact_ids": [unit]}]


def test_the_stub_answers_in_openais_format(stub):
    server = stub.Stub(lambda texts: [[float(len(t)), 0.5] for t in texts])

    def post(path: str, body: object) -> dict:
        request = urllib.request.Request(f"{server.url}{path}", json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read())

    try:
        rows = post("/embeddings", {"input": ["ab", "abc"]})["data"]
        assert [(r["index"], r["embedding"]) for r in rows] == [(0, [2.0, 0.5]), (1, [3.0, 0.5])]
        schema = {"type": "json_schema", "json_schema": {"schema": {"properties": {"facts": {}}}}}
        messages = [{"role": "system", "content": "Extract facts"}, {"role": "user", "content": "The app is broken."}]
        said = post("/chat/completions", {"messages": messages, "response_format": schema})
        assert json.loads(said["choices"][0]["message"]["content"])["facts"][0]["what"] == "The app is broken."
        assert post("/chat/completions", {"messages": messages[1:]})["choices"][0]["message"]["content"] == "OK"
    finally:
        server.shutdown()
        server.server_close()
