"""An OpenAI-compatible endpoint on this machine that fails on request: a script of answers, one a request."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Hands each request to the next step of the server's script; the last step stays."""

    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.bodies.append(body)
            step = self.server.script.pop(0) if len(self.server.script) > 1 else self.server.script[0]
            self.server.running += 1
            self.server.most_running = max(self.server.most_running, self.server.running)
        try:
            step(self)
        finally:
            with self.server.lock:
                self.server.running -= 1

    def log_message(self, *_: object) -> None:
        pass

    def send(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, *, claimed: int | None = None
    ) -> None:
        """A response; `claimed` is the length that it says to have, if another."""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) if claimed is None else claimed))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(body)

    def send_response(self, code: int, message: str | None = None) -> None:
        """Without the Date header, so that a test can send its own."""
        self.send_response_only(code, message)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: Sequence[Step]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.bodies = list(script), list[dict[str, Any]]()
        self.lock, self.running, self.most_running = threading.Lock(), 0, 0

    def handle_error(self, *_: object) -> None:
        pass

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@contextmanager
def serving(*script: Step) -> Iterator[Server]:
    server = Server(script)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def completion(text: str | None, finish: str = "stop", tokens: tuple[int, int] | None = (100, 20)) -> bytes:
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]} if tokens else None
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
    return json.dumps({"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()


# -- steps ---------------------------------------------------------------------------------------------------------


def ok(text: str | None = "hello", finish: str = "stop", tokens: tuple[int, int] | None = (100, 20)) -> Step:
    return lambda h: h.send(200, completion(text, finish, tokens))


def status(code: int, message: str = "no", **headers: str) -> Step:
    body = json.dumps({"error": {"message": message}}).encode()
    return lambda h: h.send(code, body, {k.replace("_", "-"): v for k, v in headers.items()})


def raw(body: bytes) -> Step:
    """A 200 with any body: empty, not JSON, not a completion, far too long."""
    return lambda h: h.send(200, body)


def dropped(h: Handler) -> None:
    """The connection ends before a byte of the answer."""
    h.close_connection = True


def truncated(h: Handler) -> None:
    """The connection ends in the middle of the body."""
    body = completion("hello")
    h.send(200, body[: len(body) // 2], claimed=len(body))
    h.close_connection = True


def dripping(h: Handler) -> None:
    """One byte at a time, each soon enough for a timeout that only looks at the next one."""
    h.send(200, b"", claimed=1000)
    for _ in range(60):
        try:
            h.wfile.write(b" ")
            h.wfile.flush()
        except OSError:
            return
        time.sleep(0.05)


def slow(seconds: float, then: Step) -> Step:
    def step(h: Handler) -> None:
        time.sleep(seconds)
        then(h)

    return step
