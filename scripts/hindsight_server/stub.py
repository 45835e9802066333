"""A loopback answer to what Hindsight asks of a model: facts out of a text, and sentence vectors, in OpenAI's format.

One sentence is one fact, word for word; the vectors are real (memlab's own MiniLM). It proves that a store and a
server understand each other, never that a model reads well.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Encode = Callable[[Sequence[str]], Sequence[Sequence[float]]]
_NOT_SAID = dict.fromkeys(("when", "where", "who", "why"), "N/A")


def facts_of(prompt: str) -> dict[str, Any]:
    """The sentences of the text that a retain prompt ends with, each as a fact; very short ones carry none."""
    found = re.search(r"(?:Text|Content)\s*:\s*\n?(.*)$", prompt, re.S | re.I)
    body = (found[1] if found else prompt).strip()
    sentences = [s.strip() for s in re.split(r"(?<=[.!?])\s+|\n+", body)]
    kinds = {"fact_kind": "conversation", "fact_type": "world"}
    names = [sorted(set(re.findall(r"\b[A-Z][A-Za-z0-9-]+\b", s)))[:5] for s in sentences]
    rows = zip(sentences, names, strict=True)
    return {"facts": [{"what": s, **_NOT_SAID, **kinds, "entities": e} for s, e in rows if len(s) >= 8]}


def observations_of(prompt: str) -> dict[str, Any]:
    """One derived observation a fact, so that what consolidation adds is there to be told apart."""
    rows = re.findall(r"\[([0-9a-f-]{36})\]\s*(.+)", prompt)
    return {"creates": [{"text": t.strip(), "source_fact_ids": [i]} for i, t in rows], "updates": [], "deletes": []}


def reply_to(request: dict[str, Any]) -> str:
    """What the model would say: JSON in the form that the request's schema asks for."""
    messages = request.get("messages", [])
    system = " ".join(_text(m["content"]) for m in messages if m["role"] == "system")
    user = next((_text(m["content"]) for m in messages if m["role"] == "user"), "")
    asked = json.dumps(request.get("response_format") or {}) + system
    if "creates" in asked:
        return json.dumps(observations_of(user))
    if "facts" in asked and "extract" in asked.lower():
        return json.dumps(facts_of(user))
    return "{}" if request.get("response_format") else "OK"


def _text(content: object) -> str:
    if isinstance(content, list):
        return " ".join(part.get("text", "") for part in content if isinstance(part, dict))
    return str(content or "")


class Handler(BaseHTTPRequestHandler):
    """Two endpoints: chat completions and embeddings."""

    server: Stub
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet

    def do_POST(self) -> None:
        """Answer one request."""
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        self._send(self._embeddings(request) if self.path.endswith("/embeddings") else self._completion(request))

    def do_GET(self) -> None:
        """The one model that there is."""
        self._send({"object": "list", "data": [{"id": "stub", "object": "model"}]})

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _embeddings(self, request: dict[str, Any]) -> dict[str, Any]:
        texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
        rows = [[float(x) for x in vector] for vector in self.server.encode(texts)]
        data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
        return {"object": "list", "model": "stub", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}

    def _completion(self, request: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "content": reply_to(request)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        return {
            "id": "stub",
            "object": "chat.completion",
            "created": 0,
            "model": "stub",
            "choices": [choice],
            "usage": usage,
        }

    def _send(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Stub(ThreadingHTTPServer):
    """The answers on a free port of 127.0.0.1, until the process ends."""

    daemon_threads = True

    def __init__(self, encode: Encode) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        lock = threading.Lock()  # one encoder, one caller at a time

        def one_at_a_time(texts: Sequence[str]) -> Sequence[Sequence[float]]:
            with lock:
                return encode(texts)

        self.encode = one_at_a_time
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"
