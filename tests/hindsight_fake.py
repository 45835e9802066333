"""A Hindsight server in memory, with the answers that the real one gave, and faults on request."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from scripted import HashEncoder

Fault = Callable[["Handler"], bool]  # True: it has answered (or dropped) the request
KEY = "secret-key"


class Handler(BaseHTTPRequestHandler):
    server: FakeHindsight
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet

    def do_GET(self) -> None:
        self.route("GET")

    def do_POST(self) -> None:
        self.route("POST")

    def do_PUT(self) -> None:
        self.route("PUT")

    def do_DELETE(self) -> None:
        self.route("DELETE")

    def log_message(self, *_: object) -> None:
        pass

    def route(self, method: str) -> None:
        size = int(self.headers.get("Content-Length", 0))
        self.body = json.loads(self.rfile.read(size) or b"null")
        parts = urlsplit(self.path)
        self.query = parse_qs(parts.query)
        with self.server.lock:
            self.server.calls.append((method, parts.path, self.body))
            faults = [f for pattern, f in self.server.faults if re.search(pattern, f"{method} {parts.path}")]
        if not any(fault(self) for fault in faults):
            self.send(*self.result(method, parts.path))

    def result(self, method: str, path: str) -> tuple[int, Any]:
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            return 401, {"detail": "Authentication failed: Invalid API key"}
        found = re.fullmatch(r"/v1/default/banks(?:/([^/]+))?(/.*)?", path)
        if not found:
            return 404, {"detail": "Not Found"}
        bank, rest = found[1] and unquote(found[1]), unquote(found[2] or "")
        with self.server.lock:
            return self.answer(method, bank, rest)

    def answer(self, method: str, bank: str | None, rest: str) -> tuple[int, Any]:
        banks = self.server.banks
        if bank is None:
            rows = [{"bank_id": b, "name": b, "disposition": TRAITS, "fact_count": len(u)} for b, u in banks.items()]
            return 200, {"banks": self.page(rows), "total": len(rows), "limit": 100, "offset": 0}
        if method == "PUT":
            self.server.configs[bank] = self.body
            banks.setdefault(bank, [])
            return 200, {"bank_id": bank, "name": bank, "disposition": TRAITS, "mission": ""}
        if method == "DELETE" and not rest:
            self.server.configs.pop(bank, None)
            n = len(banks.pop(bank, []))
            return 200, {"success": True, "message": "deleted", "deleted_count": n}
        if rest == "/memories" and method == "POST":
            return self.retain(banks.setdefault(bank, []))  # an unknown bank is made, silently
        if bank not in banks:
            return 404, {"detail": f"Bank '{bank}' not found"}
        if rest == "/operations":
            left = self.server.queued.pop(0) if self.server.queued else 0
            return 200, {"bank_id": bank, "total": left, "limit": 20, "offset": 0, "operations": []}
        if rest == "/memories/list":
            return 200, self.listed(banks[bank])
        if rest == "/memories/recall":
            return 200, self.recalled(banks[bank])
        document = rest.removeprefix("/documents/")
        if not any(u["document_id"] == document for u in banks[bank]):
            return 404, {"detail": "Document not found"}
        banks[bank][:] = [u for u in banks[bank] if u["document_id"] != document]
        return 200, {"success": True, "message": "", "document_id": document, "memory_units_deleted": 1}

    def retain(self, units: list[dict[str, Any]]) -> tuple[int, Any]:
        items = self.body["items"]
        for item in items:
            key = item["document_id"]
            units[:] = [u for u in units if u["document_id"] != key]
            if len(re.findall(r"\w", item["content"])) > 1:  # otherwise nothing is kept, and all went well
                self.server.made["unit"] += 1
                units.append(
                    {
                        "id": f"unit-{self.server.made['unit']}", "text": item["content"], "document_id": key,
                        "metadata": item["metadata"], "tags": item["tags"], "context": item.get("context"),
                        "fact_type": "world", "mentioned_at": item["timestamp"],
                    }
                )  # fmt: skip
        return 200, {"success": True, "bank_id": "b", "items_count": len(items), "async": False}

    def listed(self, units: list[dict[str, Any]]) -> dict[str, Any]:
        document, tags = self.query.get("document_id"), set(self.query.get("tags", ()))
        rows = [u for u in units if not document or u["document_id"] == document[0]]
        rows = [u for u in rows if not tags or tags & set(u["tags"])]
        return {"items": self.page(rows), "total": len(rows), "limit": 100, "offset": 0}

    def page(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        start = int(self.query.get("offset", ["0"])[0])
        return rows[start : start + min(self.server.page, int(self.query.get("limit", ["100"])[0]))]

    def recalled(self, units: list[dict[str, Any]]) -> dict[str, Any]:
        """As without a reranker: `final` says the rank and nothing else."""
        if not units:
            return {"results": []}
        vectors = HashEncoder().encode([self.body["query"], *(u["text"] for u in units)])
        ranked = sorted(zip(vectors[1:] @ vectors[0], units, strict=True), key=lambda p: -p[0])
        rows = []
        for rank, (score, u) in enumerate(ranked):
            final = 1 - 0.9 * rank / max(1, len(ranked) - 1)
            scores = {"final": final, "semantic": float(score), "keyword": None, "reranker": None}
            rows.append({**{k: v for k, v in u.items() if k != "fact_type"}, "type": "world", "scores": scores})
        return {"results": self.server.reshape(rows)}

    def send(self, status: int, value: object) -> None:
        body = json.dumps(value).encode()
        with suppress(BrokenPipeError, ConnectionResetError):
            self.send_response_only(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)


TRAITS = {"skepticism": 3, "literalism": 3, "empathy": 3}


class FakeHindsight(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.banks: dict[str, list[dict[str, Any]]] = {}
        self.configs: dict[str, Any] = {}
        self.faults: list[tuple[str, Fault]] = []
        self.calls: list[tuple[str, str, Any]] = []
        self.queued: list[int] = []
        self.made: Counter[str] = Counter()
        self.page = 1000
        self.reshape: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = lambda rows: rows
        self.lock = threading.RLock()

    def handle_error(self, *_: object) -> None:
        pass

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def fail(self, pattern: str, *faults: Fault) -> None:
        """Requests whose "METHOD path" matches meet these faults, one each, and then none."""
        left = list(faults)

        def next_one(handler: Handler) -> bool:
            with self.lock:
                fault = left.pop(0) if left else None
            return fault(handler) if fault else False

        self.faults.append((pattern, next_one))


@contextmanager
def faking() -> Iterator[FakeHindsight]:
    server = FakeHindsight()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def status(code: int, detail: str = "no") -> Fault:
    return lambda h: h.send(code, {"detail": detail}) or True


def slow(seconds: float) -> Fault:
    return lambda h: bool(time.sleep(seconds))


def dropped(h: Handler) -> bool:
    h.close_connection = True
    return True


def empty(h: Handler) -> bool:
    """An extraction that found nothing, and success."""
    return h.send(200, {"success": True, "bank_id": "b", "items_count": 1, "async": False}) or True
