"""Asking a model over a network that fails: what is tried again, what is not, what it costs."""

from __future__ import annotations

import importlib.util
import pickle
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab.errors import InputError, ModelError
from memlab.models.chat import Chat
from memlab.models.usage import Ceiling, Price, Usage, estimate_tokens, most_tokens, read_prices

_spec = importlib.util.spec_from_file_location("fault_server", Path(__file__).with_name("fault_server.py"))
assert _spec and _spec.loader
faults = importlib.util.module_from_spec(_spec)
sys.modules["fault_server"] = faults
_spec.loader.exec_module(faults)

MESSAGES = [{"role": "system", "content": "You read."}, {"role": "user", "content": "Read this."}]
SCHEMA = {"title": "thing", "type": "object", "properties": {}, "required": [], "additionalProperties": False}
PRICES = {"m": {"input": 1.0, "output": 2.0}}


class Sleeps(list[float]):
    """A clock that only sleeping moves, and how long each sleep was."""

    now = 0.0

    def __call__(self, seconds: float) -> None:
        self.now += seconds
        self.append(round(seconds, 3))


def chat_at(server: Any, **options: Any) -> Chat:
    sleeps = options.get("sleep", Sleeps())
    options = {"timeout": 5.0, "sleep": sleeps, "clock": lambda: sleeps.now, **options}
    return Chat("m", base_url=server.url, api_key="sk-secret", **options)


def test_a_reply_comes_with_its_tokens_and_cost():
    with faults.serving(faults.ok("hi")) as server, chat_at(server, prices=PRICES) as chat:
        reply = chat.complete(MESSAGES)
    # (100 * 1.0 + 20 * 2.0) / 1e6
    assert (reply.text, reply.tokens_in, reply.tokens_out, reply.finish_reason) == ("hi", 100, 20, "stop")
    assert reply.cost == pytest.approx(140e-6)
    assert chat.usage == Usage(1, 0, 100, 20, 0, reply.cost)
    assert server.bodies[0]["messages"] == MESSAGES
    assert server.bodies[0]["temperature"] == 0.0


def test_an_unknown_price_or_uncounted_tokens_give_no_cost():
    with faults.serving(faults.ok()) as server, chat_at(server, prices={}) as chat:
        assert chat.complete(MESSAGES).cost is None
        assert chat.usage.cost is None
    with faults.serving(faults.ok(tokens=None), faults.ok()) as server, chat_at(server, prices=PRICES) as chat:
        assert chat.complete(MESSAGES).cost is None
        assert chat.complete(MESSAGES).cost is not None
        assert (chat.usage.calls, chat.usage.unmetered, chat.usage.cost) == (2, 1, None)


# -- failures that may pass ----------------------------------------------------------------------------------------


def test_429_waits_as_long_as_the_server_says():
    script = [
        faults.status(429, "slow down", Retry_After="7"),
        faults.status(429, "slow down", retry_after_ms="1500"),
        faults.status(429, "x", Retry_After="Wed, 04 Mar 2026 10:00:09 GMT", Date="Wed, 04 Mar 2026 10:00:00 GMT"),
        faults.ok("hi"),
    ]
    sleeps = Sleeps()
    with faults.serving(*script) as server, chat_at(server, sleep=sleeps) as chat:
        assert chat.complete(MESSAGES).text == "hi"
    assert chat.usage.retries == 3
    assert sleeps == [7.0, 1.5, 9.0]


def test_a_pause_longer_than_allowed_is_given_up_at_once():
    with (
        faults.serving(faults.status(429, "slow down", Retry_After="3600")) as server,
        chat_at(server) as chat,
        pytest.raises(ModelError, match=r"wait 3600 s, more than 120 s"),
    ):
        chat.complete(MESSAGES)
    assert len(server.bodies) == 1


def test_429_holds_back_the_other_threads_too():
    sleeps = Sleeps()
    with (
        faults.serving(faults.status(429, "x", Retry_After="5"), faults.ok()) as server,
        chat_at(server, sleep=sleeps, clock=lambda: 0.0) as chat,
    ):
        chat.complete(MESSAGES)
        chat.complete(MESSAGES)  # the clock stands still, so the pause is not over for this one either
    assert sleeps == [5.0, 5.0]


@pytest.mark.parametrize(
    "fault",
    [
        faults.status(500, "oops"),
        faults.status(503, "busy"),
        faults.status(408, "late"),
        faults.dropped,
        faults.truncated,
        faults.raw(b""),
        faults.raw(b"<html>bad gateway</html>"),
        faults.raw(b'{"choices": []}'),
        faults.raw(b'{"choices": [{"message": null}]}'),
        faults.raw(b"[" * 100_000),
    ],
    ids=["500", "503", "408", "dropped", "truncated", "empty", "html", "no choice", "no message", "nested"],
)
def test_what_may_pass_is_tried_again_and_only_so_often(fault):
    with faults.serving(fault, faults.ok("hi")) as server, chat_at(server) as chat:
        assert chat.complete(MESSAGES).text == "hi"
        assert (chat.usage.calls, chat.usage.retries) == (1, 1)
    sleeps = Sleeps()
    with (
        faults.serving(fault) as server,
        chat_at(server, attempts=3, sleep=sleeps) as chat,
        pytest.raises(ModelError, match="asked 3 times"),
    ):
        chat.complete(MESSAGES)
    assert len(server.bodies) == 3
    # Half a second, doubled, each longer by the same share of at most a quarter.
    assert 0.5 <= sleeps[0] <= 0.625
    assert sleeps[1] == pytest.approx(2 * sleeps[0], abs=2e-3)


def test_the_useless_reply_is_kept():
    with (
        faults.serving(faults.raw(b"<html>bad gateway</html>")) as server,
        chat_at(server, attempts=1) as chat,
        pytest.raises(ModelError, match="no chat completion") as caught,
    ):
        chat.complete(MESSAGES)
    assert caught.value.raw == "<html>bad gateway</html>"


def test_a_server_that_answers_too_slowly_is_left():
    with (
        faults.serving(faults.slow(1.0, faults.ok())) as server,
        chat_at(server, timeout=0.2, attempts=1) as chat,
        pytest.raises(ModelError, match=r"no reply within 0\.2 s"),
    ):
        chat.complete(MESSAGES)


def test_a_reply_that_drips_is_left_too():
    with (
        faults.serving(faults.dripping) as server,
        chat_at(server, timeout=0.3, attempts=1, clock=time.monotonic) as chat,
        pytest.raises(ModelError, match=r"no complete reply within 0\.3 s"),
    ):
        chat.complete(MESSAGES)


def test_nobody_listens():
    with faults.serving(faults.ok()) as server:
        url = server.url
    with (
        Chat("m", base_url=url, attempts=2, sleep=Sleeps()) as chat,
        pytest.raises(ModelError, match="connection failed"),
    ):
        chat.complete(MESSAGES)


# -- replies that are not what was hoped for ------------------------------------------------------------------------


def test_three_megabytes_are_cut_off_while_they_arrive():
    with (
        faults.serving(faults.raw(faults.completion("x" * 3_000_000))) as server,
        chat_at(server, prices=PRICES) as chat,
    ):
        reply = chat.complete(MESSAGES)
    assert reply.finish_reason == "oversize"
    assert len(reply.text) <= 20_000
    assert reply.cost is None
    assert len(server.bodies) == 1  # the same would come again


@pytest.mark.parametrize(
    ("text", "finish", "shown"), [("{", "length", "{"), (None, "content_filter", ""), ("", "stop", "")]
)
def test_how_a_reply_ended_is_handed_on(text, finish, shown):
    with faults.serving(faults.ok(text, finish)) as server, chat_at(server) as chat:
        reply = chat.complete(MESSAGES)
    assert (reply.text, reply.finish_reason) == (shown, finish)


# -- what an endpoint can't do --------------------------------------------------------------------------------------


def test_schema_falls_back_to_json_mode_and_to_text_and_is_remembered():
    no = faults.status(400, "response_format is not supported")
    with faults.serving(no, no, faults.ok("{}")) as server, chat_at(server) as chat:
        assert chat.complete(MESSAGES, SCHEMA).text == "{}"
        assert chat.format == "text"
        chat.complete(MESSAGES, SCHEMA)
    formats = [b.get("response_format", {}).get("type") for b in server.bodies]
    assert formats == ["json_schema", "json_object", None, None]
    assert server.bodies[0]["response_format"]["json_schema"] == {"name": "thing", "strict": True, "schema": SCHEMA}
    assert server.bodies[0]["messages"] == MESSAGES
    for body in server.bodies[1:]:  # the schema is said in words instead, in the one system message
        assert [m["role"] for m in body["messages"]] == ["system", "user"]
        assert body["messages"][0]["content"].startswith("You read.\n\nReply with one JSON object")
        assert '"additionalProperties":false' in body["messages"][0]["content"]


def test_a_fall_back_that_does_not_help_is_not_remembered():
    with faults.serving(faults.status(400, "your mail is odd")) as server, chat_at(server) as chat:
        with pytest.raises(ModelError, match="HTTP 400: your mail is odd"):
            chat.complete(MESSAGES, SCHEMA)
        assert chat.format == "json_schema"
    assert len(server.bodies) == 3


def test_a_prompt_that_is_too_long_is_not_taken_for_a_missing_format():
    no = faults.status(400, "the request exceeds the available context size")
    with faults.serving(no) as server, chat_at(server) as chat, pytest.raises(ModelError, match="context size"):
        chat.complete(MESSAGES, SCHEMA)
    assert len(server.bodies) == 1


def test_newer_models_want_another_limit_and_no_temperature():
    script = [
        faults.status(400, "Unsupported parameter: 'max_tokens'; use 'max_completion_tokens'"),
        faults.status(400, "Unsupported value: 'temperature'"),
        faults.ok("hi"),
    ]
    with faults.serving(*script) as server, chat_at(server) as chat:
        chat.complete(MESSAGES, SCHEMA)
        chat.complete(MESSAGES, SCHEMA)
    assert [sorted({"max_tokens", "max_completion_tokens", "temperature"} & set(b)) for b in server.bodies] == [
        ["max_tokens", "temperature"],
        ["max_completion_tokens", "temperature"],
        ["max_completion_tokens"],
        ["max_completion_tokens"],
    ]
    assert chat.format == "json_schema"


# -- when nothing more is asked -------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [401, 403, 404])
def test_a_refused_key_or_unknown_model_stops_all_calls(code):
    with faults.serving(faults.status(code, "bad key sk-secret")) as server, chat_at(server) as chat:
        with pytest.raises(ModelError, match=f"HTTP {code}"):
            chat.complete(MESSAGES)
        with pytest.raises(ModelError, match="not asked any more"):
            chat.complete(MESSAGES)
    assert len(server.bodies) == 1


def test_the_key_is_never_shown():
    with (
        faults.serving(faults.status(401, "Incorrect API key provided: sk-secret")) as server,
        chat_at(server) as chat,
        pytest.raises(ModelError) as caught,
    ):
        chat.complete(MESSAGES)
    assert "sk-secret" not in f"{caught.value}{chat!r}"


def test_an_endpoint_that_is_down_is_given_up():
    with faults.serving(faults.status(500)) as server, chat_at(server, attempts=1, give_up_after=2) as chat:
        for _ in range(2):
            with pytest.raises(ModelError, match="HTTP 500"):
                chat.complete(MESSAGES)
        with pytest.raises(ModelError, match="2 failures in a row"):
            chat.complete(MESSAGES)
    assert len(server.bodies) == 2


def test_threads_share_the_limit():
    with (
        faults.serving(faults.slow(0.05, faults.ok())) as server,
        chat_at(server, concurrency=2) as chat,
        ThreadPoolExecutor(8) as pool,
    ):
        list(pool.map(lambda _: chat.complete(MESSAGES), range(12)))
    assert server.most_running == 2
    assert chat.usage.calls == 12


# -- money ----------------------------------------------------------------------------------------------------------


def test_a_ceiling_needs_a_price():
    with pytest.raises(InputError, match="MEMLAB_PRICES"):
        Chat("m", base_url="http://127.0.0.1:1/v1", max_cost=1.0, prices={})


def test_calls_stop_before_the_ceiling_is_passed():
    # A call reserves what it can cost at most: the bytes of the messages ("You read." 9, "Read this." 10, 16 more for
    # each) and of the schema '""' (2, twice) at 1.0, and 1000 tokens of reply at 2.0: 55e-6 + 2000e-6. It does cost
    # 140e-6. So the k-th call starts while 140e-6 (k - 1) + 2055e-6 <= 3000e-6: k = 1 … 7.
    with (
        faults.serving(faults.ok()) as server,
        chat_at(server, prices=PRICES, max_tokens=1000, max_cost=3000e-6) as chat,
        ThreadPoolExecutor(4) as pool,
    ):
        done = list(pool.map(lambda _: _outcome(chat), range(20)))
    assert done.count("ok") == 7
    assert len(server.bodies) == 7
    assert chat.usage.cost == pytest.approx(7 * 140e-6)
    assert "max_cost 0.003 would be passed" in str(chat.stopped)


def _outcome(chat: Chat) -> str:
    try:
        chat.complete(MESSAGES)
    except ModelError as error:
        return str(error)
    return "ok"


def test_a_failed_call_gives_its_reservation_back():
    with (  # room for one reservation
        faults.serving(faults.status(400), faults.ok()) as server,
        chat_at(server, prices=PRICES, max_tokens=1000, max_cost=2100e-6) as chat,
    ):
        assert "HTTP 400" in _outcome(chat)
        assert _outcome(chat) == "ok"


def test_a_ceiling_counts_the_most_where_the_server_counts_nothing():
    with (
        faults.serving(faults.ok(tokens=None)) as server,
        chat_at(server, prices=PRICES, max_tokens=1000, max_cost=3000e-6) as chat,
    ):
        assert _outcome(chat) == "ok"
        assert "max_cost" in _outcome(chat)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=20), st.floats(0, 5))
def test_a_ceiling_is_never_passed(calls, most):
    ceiling = Ceiling(most)
    for reserve, share in calls:
        try:
            ceiling.reserve(reserve)
        except ModelError:
            continue
        ceiling.settle(reserve, reserve * share)
    assert ceiling.spent <= most + 1e-9


@pytest.mark.parametrize(
    "bad", ["nonsense", "[1]", '{"m": 3}', '{"m": {"input": -1, "output": 2}}', '{"m": {"input": 1}}']
)
def test_a_bad_price_table_is_refused(bad):
    with pytest.raises(InputError):
        read_prices(bad)


def test_prices_come_from_a_file_or_the_environment(tmp_path, monkeypatch):
    path = tmp_path / "prices.json"
    path.write_text('{"m": {"input": 3, "output": 4}}', "utf-8")
    assert read_prices(path)["m"] == Price(3.0, 4.0)
    monkeypatch.setenv("MEMLAB_PRICES", str(path))
    assert read_prices()["m"] == Price(3.0, 4.0)
    monkeypatch.delenv("MEMLAB_PRICES")
    assert read_prices() == {}


def test_usage_adds_up_and_an_unknown_cost_stays_unknown():
    assert Usage(1, 0, 5, 6, 0, 0.5) + Usage(2, 1, 1, 1, 0, 0.25) == Usage(3, 1, 6, 7, 0, 0.75)
    assert (Usage(1, cost=0.5) + Usage(1, cost=None)).cost is None


@given(st.text(max_size=200))
def test_token_estimates_have_an_order(text):
    assert 0 <= estimate_tokens(text) <= most_tokens(text)


# -- settings -------------------------------------------------------------------------------------------------------


def test_settings_come_from_the_environment(monkeypatch):
    monkeypatch.delenv("MEMLAB_MODEL", raising=False)
    with pytest.raises(InputError, match="MEMLAB_MODEL"):
        Chat()
    with faults.serving(faults.ok("hi")) as server:
        monkeypatch.setenv("MEMLAB_MODEL", "small")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        with Chat() as chat:
            assert chat.complete(MESSAGES).text == "hi"
    assert server.bodies[0]["model"] == "small"


def test_without_a_key_the_default_endpoint_is_not_asked(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    chat = Chat("m")
    with pytest.raises(ModelError, match="OPENAI_BASE_URL"):
        chat.complete(MESSAGES)
    assert chat.stopped is not None


def test_openai_is_imported_at_the_first_call_only():
    code = "import sys, memlab.models.chat as c; c.Chat('m', base_url='http://127.0.0.1:1/v1'); print('openai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_chat_is_not_sent_to_other_processes():
    with pytest.raises(InputError, match="threads"):
        pickle.dumps(Chat("m"))
