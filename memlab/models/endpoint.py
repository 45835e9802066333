"""One request to an OpenAI-compatible endpoint, and what came of it: an answer that says whether to ask again."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, Literal

from memlab.errors import ModelError

__all__ = ["Answer", "Endpoint"]

RAW_KEPT = 20_000  # characters of a useless reply that are kept for people to look at


@dataclass(frozen=True, slots=True)
class Answer:
    """What one request gave.

    Attributes
    ----------
    kind : {"ok", "again", "refused", "fatal"}
        A reply; a failure that may pass; a request that the server won't take as it is; or no use in asking this
        endpoint at all (key refused, no such model).
    text, finish_reason, tokens_in, tokens_out
        The reply. `finish_reason` is ``"oversize"`` if it was longer than allowed; the text is then its beginning.
    reason : str
        What failed.
    wait : float or None
        Seconds that the server asks to wait.
    status : int
        HTTP status; 0 if there was none.
    """

    kind: Literal["ok", "again", "refused", "fatal"]
    text: str = ""
    finish_reason: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    reason: str = ""
    wait: float | None = None
    status: int = 0


class Endpoint:
    """A base URL with a key; the client is made at the first request, so that nothing is imported before.

    Parameters
    ----------
    base_url, api_key : str, optional
        By default `OPENAI_BASE_URL` and `OPENAI_API_KEY`; an endpoint that is named needs no key.
    timeout : float
        Seconds until a reply must be complete.
    most_bytes : int
        A longer reply is cut off while it arrives.
    clock : callable
        Seconds on a clock that never goes back.
    """

    def __init__(
        self,
        base_url: str | None,
        api_key: str | None,
        *,
        timeout: float,
        most_bytes: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._base_url, self._key = base_url, api_key
        self._timeout, self._most, self._clock = timeout, most_bytes, clock
        self._made: Any = None
        self._lock = threading.Lock()

    def send(self, body: Mapping[str, Any]) -> Answer:
        """Ask once; a failure comes back as an answer too."""
        missing, transport = _transport_errors()
        if missing:
            return Answer("fatal", reason=missing)
        import openai

        lost: tuple[type[Exception], ...] = (openai.APIConnectionError, *transport)
        started = self._clock()
        try:
            with self._client().chat.completions.with_streaming_response.create(**body) as response:
                raw = bytearray()
                for chunk in response.iter_bytes():  # as it arrives, so that a reply that drips is noticed
                    raw += chunk
                    if len(raw) > self._most:
                        return Answer("ok", _text(raw), "oversize", reason=f"longer than {self._most} bytes")
                    if self._clock() - started > self._timeout:
                        return Answer("again", reason=f"no complete reply within {self._timeout:g} s")
                return _read(bytes(raw))
        except ModelError as error:
            return Answer("fatal", reason=str(error))
        except openai.APIStatusError as error:
            return _failed(error.status_code, _message(error), error.response.headers)
        except openai.APITimeoutError:
            return Answer("again", reason=f"no reply within {self._timeout:g} s")
        except lost as error:
            return Answer("again", reason=f"connection failed: {error.__cause__ or error}"[:300])

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        with self._lock:
            if self._made is not None:
                self._made.close()
            self._made = None

    def _client(self) -> Any:
        with self._lock:
            if self._made is None:
                import openai

                try:
                    self._made = openai.OpenAI(
                        base_url=self._base_url,
                        api_key=self._key or ("none" if self._base_url else None),
                        timeout=self._timeout,
                        max_retries=0,
                    )
                except openai.OpenAIError as error:
                    raise ModelError(f"{error} (OPENAI_BASE_URL names another endpoint)") from None
            return self._made


@cache
def _transport_errors() -> tuple[str, tuple[type[Exception], ...]]:
    """Why `openai` can't be used ("" if it can), and what its HTTP library raises while a body is read."""
    try:
        import openai._base_client as base
    except ImportError as error:
        return f"{error}: pip install openai", ()
    http = getattr(base, "httpx2", None) or getattr(base, "httpx", None)
    return "", (http.HTTPError, http.StreamError, http.DecodingError) if http else ()


def _text(raw: bytes | bytearray) -> str:
    return bytes(raw[:RAW_KEPT]).decode("utf-8", "replace")


def _read(raw: bytes) -> Answer:
    """The reply in a response body; a body that is not a chat completion may be a passing fault."""
    try:
        data = json.loads(raw)
        choice = data["choices"][0]
        content = choice["message"].get("content")
        if isinstance(content, list):  # some endpoints send parts
            content = "".join(str(part.get("text", "")) for part in content)
        usage = data.get("usage") or {}
        finish = "refusal" if choice["message"].get("refusal") else str(choice.get("finish_reason") or "stop")
        return Answer("ok", str(content or ""), finish, _count(usage, "prompt"), _count(usage, "completion"))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        what = "an empty body" if not raw.strip() else "no chat completion"
        return Answer("again", _text(raw), reason=f"the server sent {what}", status=200)


def _count(usage: Mapping[str, Any], which: str) -> int | None:
    value = usage.get(f"{which}_tokens")
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _message(error: Any) -> str:
    body = error.body
    found = body.get("message") if isinstance(body, Mapping) else None
    return str(found or error.message)[:500]


def _failed(status: int, message: str, headers: Mapping[str, str]) -> Answer:
    if status in (401, 403):
        return Answer("fatal", reason=f"the endpoint refused the key (HTTP {status})", status=status)
    if status == 404:
        return Answer("fatal", reason=f"no such model or endpoint (HTTP 404: {message})", status=status)
    about_form = any(words in message for words in ("response_format", "json_schema", "grammar"))
    if status in (408, 409, 425, 429) or (status >= 500 and status != 501 and not about_form):
        if "insufficient_quota" in message or "exceeded your current quota" in message:
            return Answer("fatal", reason=f"quota used up (HTTP {status})", status=status)
        return Answer("again", reason=f"HTTP {status}: {message}", wait=_wait(headers), status=status)
    return Answer("refused", reason=f"HTTP {status}: {message}", status=status)


def _wait(headers: Mapping[str, str]) -> float | None:
    """Seconds of `Retry-After`, given in seconds or as a date (read against the server's own `Date`)."""
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        return seconds if 0 <= seconds < float("inf") else None
    try:
        until, now = (parsedate_to_datetime(headers.get(name, "")) for name in ("retry-after", "date"))
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError):
        return None
