"""What a peer must answer: one JSON object a line in, one out, in a process of its own.

An adapter is a module with a function `open_store(folder)`; its result has `add`, `search`, `count`, `forget`. Times are taken
around those calls, inside the process, so that neither the pipe nor an import counts, and around the encoder inside of them.
"""

from __future__ import annotations

import importlib
import json
import re
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol


class Store(Protocol):
    def add(self, customer: str, conversations: list[dict[str, Any]]) -> None:
        """Take in conversations: id, started_at, turns with role and text."""

    def search(self, customer: str, query: str, k: int) -> list[dict[str, Any]]:
        """Best first: the conversations behind a hit, and the text that an agent would read."""

    def count(self, customer: str) -> int:
        """Items that are held for a customer."""

    def forget(self, customer: str) -> None:
        """Delete all that is held for a customer, by the means that the peer has for it."""

    def close(self) -> None:
        """Write everything to disk."""


class Timed:
    """An encoder that notes how long it took, and over how many texts."""

    def __init__(self, encoder: Any) -> None:
        self.name, self._encoder, self.seconds, self.texts = encoder.name, encoder, 0.0, 0

    def encode(self, texts: Sequence[str]) -> Any:
        started = time.perf_counter()
        try:
            return self._encoder.encode(texts)
        finally:
            self.seconds += time.perf_counter() - started
            self.texts += len(texts)


ENCODERS: list[Timed] = []  # of this process


def encoder() -> Timed:
    """The encoder of every row: memlab's all-MiniLM-L6-v2, loaded and warm."""
    from memlab.models.embeddings import OnnxMiniLM

    bare = OnnxMiniLM()
    bare.encode(["warm up", "and again, with some more words"])
    ENCODERS.append(Timed(bare))
    return ENCODERS[-1]


def turns_of(conversation: dict[str, Any]) -> list[str]:
    return [t["text"] for t in conversation["turns"] if t["text"].strip()]


def peak() -> float:
    """MB at most since the start; ru_maxrss would also hold what the parent had when it forked."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) / 1024 if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def encoded() -> tuple[float, int]:
    """Seconds in the encoder so far, and texts."""
    return sum(e.seconds for e in ENCODERS), sum(e.texts for e in ENCODERS)


def serve(store: Any, lines: Any, out: Any) -> None:
    for line in lines:
        call = json.loads(line)
        before, cpu, started = encoded(), time.process_time(), time.perf_counter()
        try:
            answer: dict[str, Any] = {"value": getattr(store, call["do"])(*call["with"])}
        except Exception as error:  # noqa: BLE001 - whatever a peer raises is an answer of its own
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        answer["seconds"] = time.perf_counter() - started
        answer["cpu"] = time.process_time() - cpu
        answer["encoding"], answer["texts"] = (now - then for now, then in zip(encoded(), before, strict=True))
        answer["megabytes"] = peak()
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    sys.modules["protocol"] = sys.modules["__main__"]  # adapters import it by name: one list of encoders
    name, folder = sys.argv[1:]
    real, sys.stdout = sys.stdout, sys.stderr  # what a peer prints must not stand between the answers
    opened = importlib.import_module(f"adapters.{name}").open_store(Path(folder))
    print(json.dumps({"ready": True}), file=real, flush=True)
    serve(opened, sys.stdin, real)
