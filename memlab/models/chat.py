"""Asking a chat model behind any OpenAI-compatible endpoint: bounded retries, one limit of concurrency, tokens counted.

What an endpoint can't do is found out once: a JSON schema falls back to JSON mode and that to plain text.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from memlab.errors import InputError, ModelError
from memlab.models.endpoint import Answer, Endpoint
from memlab.models.prompts import Message
from memlab.models.usage import Ceiling, Price, Usage, most_tokens, read_prices

__all__ = ["Chat", "Reply"]

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds of back-off


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model said.

    Attributes
    ----------
    text : str
        Its words; the beginning of them where `finish_reason` is not ``"stop"``.
    tokens_in, tokens_out : int or None
        As the server counted them; None if it did not.
    finish_reason : str
        ``"stop"``; ``"length"`` if the limit of tokens cut it, ``"oversize"`` if it was longer than allowed,
        ``"content_filter"`` or ``"refusal"`` if the model would not answer.
    cost : float or None
        In the currency of the price table; None if price or tokens are unknown.
    """

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    finish_reason: str = "stop"
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class _Dialect:
    """What an endpoint understands."""

    format: Literal["json_schema", "json_object", "text"] = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True


class Chat:
    """A model at an endpoint; threads may share one.

    Parameters
    ----------
    model, base_url, api_key : str, optional
        By default the variables `MEMLAB_MODEL`, `OPENAI_BASE_URL` and `OPENAI_API_KEY`.
    prices : mapping, JSON text or path, optional
        See `read_prices`; by default the variable `MEMLAB_PRICES`.
    temperature : float
        0 for replies that repeat as far as the server lets them.
    max_tokens : int
        Most tokens of a reply.
    timeout : float
        Seconds until a reply must be complete.
    attempts : int
        Most requests for one reply; failures that may pass (429, 500, a lost connection, a body that is no reply) are
        tried again after a pause that doubles, or the one that the server asks for.
    longest_wait : float
        Seconds; a server that asks for a longer pause is given up.
    concurrency : int
        Most requests under way at a time, over all threads.
    max_cost : float, optional
        Calls stop before their sum could pass it.
    give_up_after : int
        After so many replies in a row that could not be had, nothing more is asked.
    most_bytes : int
        A longer response is cut off while it arrives.
    sleep, clock : callable
        Waiting and measuring, in seconds.

    Raises
    ------
    InputError
        If no model is named, or there is a `max_cost` but no price.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        prices: str | Mapping[str, Any] | None = None,
        temperature: float = 0.0,
        max_tokens: int = 2048,
        timeout: float = 120.0,
        attempts: int = 5,
        longest_wait: float = 120.0,
        concurrency: int = 4,
        max_cost: float | None = None,
        give_up_after: int = 5,
        most_bytes: int = 1_000_000,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model = model or os.environ.get("MEMLAB_MODEL", "")
        if not self.model:
            raise InputError("no model is named: set MEMLAB_MODEL (and OPENAI_BASE_URL, OPENAI_API_KEY)")
        if min(attempts, concurrency, max_tokens, give_up_after) < 1 or timeout <= 0:
            raise InputError("attempts, concurrency, max_tokens, give_up_after and timeout must be positive")
        self.price: Price | None = read_prices(prices).get(self.model)
        if max_cost is not None and self.price is None:
            raise InputError(f"max_cost needs the price of {self.model!r}: set MEMLAB_PRICES to a price table")
        self.temperature, self.max_tokens = temperature, max_tokens
        self.max_cost, self.concurrency = max_cost, concurrency
        self.usage = Usage()
        self.stopped: str | None = None  # why nothing more is asked
        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        key = api_key or os.environ.get("OPENAI_API_KEY") or None
        self._endpoint = Endpoint(base_url, key, timeout=timeout, most_bytes=most_bytes, clock=clock)
        self._attempts, self._longest_wait, self._give_up_after = attempts, longest_wait, give_up_after
        self._sleep, self._clock = sleep, clock
        self._ceiling = Ceiling(max_cost)
        self._slots = threading.BoundedSemaphore(concurrency)
        self._lock = threading.Lock()
        self._dialect, self._failures, self._not_before = _Dialect(), 0, 0.0

    def __repr__(self) -> str:
        return f"Chat({self.model!r})"

    def __getstate__(self) -> object:
        raise InputError("a Chat can't be sent to another process; its calls run in threads (processes=1)")

    def __enter__(self) -> Chat:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the endpoint."""
        self._endpoint.close()

    @property
    def format(self) -> str:
        """How replies are asked for now: ``json_schema``, ``json_object`` or ``text``."""
        return self._dialect.format

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None, *, max_tokens: int | None = None
    ) -> Reply:
        """Ask for one reply.

        Parameters
        ----------
        messages : sequence of {"role", "content"}
            What to send.
        schema : mapping, optional
            JSON schema of the reply, with a ``title``.
        max_tokens : int, optional
            Instead of the chat's own.

        Raises
        ------
        ModelError
            If no reply could be had; `.raw` holds what the server sent last. Nothing is half done.
        """
        limit = max_tokens or self.max_tokens
        with self._slots:
            if self.stopped:
                raise ModelError(f"{self.model}: not asked any more: {self.stopped}")
            most = self._most_cost(messages, schema, limit)
            try:
                self._ceiling.reserve(most)
            except ModelError as error:
                self.stopped = str(error)
                raise
            try:
                reply = self._booked(self._ask(messages, schema, limit))
            except BaseException:
                self._ceiling.settle(most, 0.0)
                raise
            self._ceiling.settle(most, most if reply.cost is None else reply.cost)
            return reply

    def _most_cost(self, messages: Sequence[Message], schema: Mapping[str, Any] | None, limit: int) -> float:
        """The most that one call can cost; a token is at least a byte, and a few more stand around each message."""
        if self.price is None:
            return 0.0
        sent = sum(most_tokens(m["content"]) + 16 for m in messages) + 2 * most_tokens(json.dumps(schema or ""))
        return self.price.cost(sent, limit)

    def _booked(self, answer: Answer) -> Reply:
        """Count an answer; raise if it is no reply."""
        with self._lock:
            if answer.kind != "ok":
                self._failures += 1
                if answer.kind == "fatal":
                    self.stopped = answer.reason
                elif self._failures >= self._give_up_after:
                    self.stopped = f"{self._failures} failures in a row, the last one: {answer.reason}"
                raise ModelError(f"{self.model}: {answer.reason}", raw=answer.text)
            self._failures = 0
            known = answer.tokens_in is not None and answer.tokens_out is not None
            tokens = (answer.tokens_in or 0, answer.tokens_out or 0)
            cost = self.price.cost(*tokens) if self.price and known else None
            self.usage += Usage(1, 0, *tokens, unmetered=int(not known), cost=cost)
        return Reply(answer.text, answer.tokens_in, answer.tokens_out, answer.finish_reason, cost)

    # -- until there is an answer --------------------------------------------------------------------------------

    def _ask(self, messages: Sequence[Message], schema: Mapping[str, Any] | None, limit: int) -> Answer:
        dialect = self._dialect
        answer = self._retried(self._body(messages, schema, limit, dialect))
        first, tried = answer, {dialect}
        while answer.kind == "refused":
            lower = _lower(dialect, answer.reason, with_schema=schema is not None)
            if lower is None or lower in tried:
                return first
            dialect = lower
            tried.add(dialect)
            answer = self._retried(self._body(messages, schema, limit, dialect))
        if answer.kind == "ok" and dialect is not self._dialect:
            self._dialect = dialect  # remembered: the next call does not try again what this endpoint refused
        return answer

    def _retried(self, body: Mapping[str, Any]) -> Answer:
        answer = Answer("again")
        for attempt in range(self._attempts):
            self._rest()
            answer = self._endpoint.send(body)
            if answer.kind != "again":
                return answer
            if answer.wait is not None and answer.wait > self._longest_wait:
                asked = f"the server asks to wait {answer.wait:g} s, more than {self._longest_wait:g} s"
                return dataclasses.replace(answer, reason=f"{answer.reason} ({asked})")
            if attempt + 1 < self._attempts:
                self._pause(answer, body, attempt)
        return dataclasses.replace(answer, reason=f"{answer.reason} (asked {self._attempts} times)")

    def _pause(self, answer: Answer, body: Mapping[str, Any], attempt: int) -> None:
        """Set the moment before which this thread (after a 429 all threads) asks nothing."""
        with self._lock:
            self.usage += Usage(retries=1)
        if answer.wait is not None:
            seconds = answer.wait
        else:
            # Spread by the request itself instead of at random, so that threads do not come back all at once.
            spread = int(hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:4], 16) / 0xFFFF
            seconds = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**attempt) * (1 + 0.25 * spread)
        if answer.status == 429:
            with self._lock:
                self._not_before = max(self._not_before, self._clock() + seconds)
        else:
            self._sleep(seconds)

    def _rest(self) -> None:
        with self._lock:
            left = self._not_before - self._clock()
        if left > 0:
            self._sleep(left)

    def _body(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None, limit: int, dialect: _Dialect
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.model, "messages": [dict(m) for m in messages], dialect.limit: limit}
        if dialect.temperature:
            body["temperature"] = self.temperature
        if schema is None:
            return body
        if dialect.format == "json_schema":
            named = {"name": str(schema.get("title", "reply")), "strict": True, "schema": dict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
            return body
        text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
        order = f"Reply with one JSON object, and nothing else, that fits this JSON schema:\n{text}"
        said = {"role": "system", "content": order}
        if body["messages"] and body["messages"][0]["role"] == "system":
            said["content"] = f"{body['messages'].pop(0)['content']}\n\n{said['content']}"
        body["messages"].insert(0, said)
        if dialect.format == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body


_NOT_ABOUT_FORM = ("context length", "context size", "context_length", "too long", "content policy")


def _lower(dialect: _Dialect, message: str, *, with_schema: bool) -> _Dialect | None:
    """The next thing to try after a refused request; None if the refusal is not about the form of the request."""
    text = message.casefold()
    if any(words in text for words in _NOT_ABOUT_FORM):
        return None
    if "max_completion_tokens" in text and dialect.limit == "max_tokens":
        return dataclasses.replace(dialect, limit="max_completion_tokens")
    if "temperature" in text and dialect.temperature:
        return dataclasses.replace(dialect, temperature=False)
    if with_schema and dialect.format != "text":
        return dataclasses.replace(dialect, format="json_object" if dialect.format == "json_schema" else "text")
    return None
