"""What is measured of one peer: speed, ranking, size, doubles, leftovers and leaks, by calls over a pipe."""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from servers import Served

from memlab.evaluation.queries import GoldCauses, Query, RankedHit
from memlab.evaluation.retrieval import score_ranking
from memlab.models.tokens import count_tokens
from memlab.records import Conversation

Values = dict[str, dict[str, float]]  # column -> query -> value
HERE = Path(__file__).parent
NAMES = ("acme", "ACME", " acme ", "acme2", "acme.eu", "acme/eu", "a_me", "a%", "*", "acmé", "")
LOOKED_FOR = 200  # turns of the customer that was forgotten
DEPTH = 50  # items asked for; what of them is read is decided by the budget


@dataclass
class Peer:
    """A peer in its process."""

    process: subprocess.Popen[str]
    megabytes: float = 0.0

    @classmethod
    def start(cls, python: str, adapter: str, folder: Path, served: Served) -> Peer:
        folder.mkdir(parents=True, exist_ok=True)
        env = {
            **os.environ,
            **served.env,
            "PYTHONPATH": f"{HERE}{os.pathsep}{HERE.parent.parent}",
            "PYTHONWARNINGS": "ignore",
        }
        process = subprocess.Popen(
            [python, str(HERE / "protocol.py"), adapter, str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
        )  # fmt: skip
        peer = cls(process)
        if not process.stdout or not process.stdout.readline():
            raise RuntimeError(peer.last_words())
        return peer

    def last_words(self) -> str:
        err = self.process.communicate()[1].strip().splitlines()
        return err[-1] if err else "it ended without a word"

    def call(self, do: str, *arguments: Any) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps({"do": do, "with": arguments}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(self.last_words())
        answer: dict[str, Any] = json.loads(line)
        self.megabytes = max(self.megabytes, answer["megabytes"])
        return answer

    def answer(self, do: str, *arguments: Any) -> dict[str, Any]:
        """An answer that is no error."""
        answer = self.call(do, *arguments)
        if "error" in answer:
            raise RuntimeError(f"{do}: {answer['error']}")
        return answer

    def value(self, do: str, *arguments: Any) -> Any:
        return self.answer(do, *arguments)["value"]

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def read_within(hits: list[dict[str, Any]], budget: int) -> list[RankedHit]:
    """What an agent reads: hits until the budget is spent (the first one in any case), each conversation once."""
    seen: set[str] = set()
    spent, out = 0, []
    for hit in hits:
        spent += count_tokens(hit["text"])
        if out and spent > budget:
            break
        fresh = [c for c in hit["conversations"] if c not in seen]
        seen.update(fresh)
        if fresh:
            out.append(RankedHit(tuple(hit["conversations"])))
    return out


def values_of(rankings: dict[str, list[RankedHit]], queries: list[Query], gold: GoldCauses) -> Values:
    """Recall on ordinary paraphrases, and recall@1 on hard negatives, query by query."""
    found: Values = {"recall@1": {}, "recall@3": {}, "recall@5": {}, "hard recall@1": {}}
    for q in queries:
        scores = score_ranking(q, rankings[q.id], gold)
        for name in ("recall@1",) if q.hard_negative else ("recall@1", "recall@3", "recall@5"):
            found[f"hard {name}" if q.hard_negative else name][q.id] = scores[name]
    return found


def scores_of(values: Values) -> dict[str, float]:
    """Their means."""
    return {name: statistics.fmean(of.values()) if of else float("nan") for name, of in values.items()}


@dataclass(frozen=True)
class Spent:
    """What calls took: seconds, of these in the encoder of the table, the processor's, and how many texts it was given."""

    seconds: float = 0.0
    encoding: float = 0.0
    cpu: float = 0.0
    texts: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.seconds + other.seconds, self.encoding + other.encoding, self.cpu + other.cpu, self.texts + other.texts
        )


def measure(
    python: str, adapter: str, folder: Path, conversations: list[Conversation], queries: list[Query],
    gold: GoldCauses, *, budget: int, served: Served,
) -> tuple[dict[str, Any], Values]:  # fmt: skip
    """One row of the table, and what it found, query by query."""
    customers = sorted({c.customer for c in conversations})
    by = {name: [c.to_json() for c in conversations if c.customer == name] for name in customers}
    files = served.files or folder / "store"
    empty = _bytes(files)
    peer = Peer.start(python, adapter, folder / "store", served)
    try:
        first = _ingest(peer, by)
        items = sum(peer.value("count", name) for name in customers)
        rankings, waits = {}, []
        for q in queries:
            answer = peer.answer("search", q.customer, q.query, DEPTH)
            waits.append(_spent(answer))
            rankings[q.id] = read_within(answer["value"], budget)
        again = _ingest(peer, by)
        doubled = sum(peer.value("count", name) for name in customers)
        size = _bytes(files) - empty
        gone = max(customers, key=lambda n: len(by[n]))
        peer.value("forget", gone)
        listed = peer.value("count", gone)
        peer.value("close")
        left = leftovers(files, gone, conversations)
    finally:
        peer.end()
    values = values_of(rankings, queries, gold)
    return {
        "conversations/s": len(conversations) / first.seconds,
        "CPU ms each": 1000 * first.cpu / len(conversations),
        "again/s": len(conversations) / again.seconds,
        "texts encoded": first.texts,
        "encoder's share": first.encoding / first.seconds,
        "p50 ms": 1000 * statistics.median(w.seconds for w in waits),
        "p95 ms": 1000 * _p95(w.seconds for w in waits),
        "p95 ms less encoder": 1000 * _p95(w.seconds - w.encoding for w in waits),
        **scores_of(values),
        "bytes": size,
        "MB": peer.megabytes,
        "items again": doubled / items,
        "listed after forget": listed,
        "% left in files": 100 * left,
        **leaks(python, adapter, folder / "names", served),
    }, values


def _ingest(peer: Peer, by: dict[str, list[dict[str, Any]]]) -> Spent:
    return sum((_spent(peer.answer("add", name, mine)) for name, mine in by.items()), Spent())


def _spent(answer: dict[str, Any]) -> Spent:
    return Spent(answer["seconds"], answer["encoding"], answer["cpu"], answer["texts"])


def _p95(seconds: Iterable[float]) -> float:
    found = sorted(seconds)
    return found[int(0.95 * (len(found) - 1))]


def _bytes(folder: Path) -> int:
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


def leftovers(folder: Path, customer: str, conversations: list[Conversation]) -> float:
    """The share of the customer's own turns (≥ 30 letters, said to nobody else) that still stand in the files.

    They are looked for byte by byte, 200 of them drawn by their hash.
    """
    others = "\n".join(c.text() for c in conversations if c.customer != customer)
    mine = {t.text for c in conversations if c.customer == customer for t in c.turns if len(t.text) >= 30}
    own = sorted((t for t in mine if t not in others), key=lambda t: hashlib.sha256(t.encode()).digest())[:LOOKED_FOR]
    data = b"\n".join(p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file())
    forms = (lambda t: t.encode(), lambda t: json.dumps(t)[1:-1].encode())
    return sum(any(form(t[:60]) in data for form in forms) for t in own) / max(1, len(own))


def leaks(python: str, adapter: str, folder: Path, served: Served) -> dict[str, int]:
    """Names that read what another wrote, names that were refused, and names whose own memory was lost."""
    peer = Peer.start(python, adapter, folder, served)
    kept = {}
    try:
        for n, name in enumerate(NAMES):
            kept[name] = "error" not in peer.call("add", name, [_secret(n, name)])
        found = {name: peer.call("search", name, "Outlook shows a certificate error", DEPTH) for name in NAMES}
    finally:
        peer.end()
    read = {
        name: {c for hit in answer.get("value") or () for c in hit["conversations"]} for name, answer in found.items()
    }
    own = {name: {f"secret-{n}"} for n, name in enumerate(NAMES)}
    return {
        "names that read others'": sum(bool(read[n] - own[n]) for n in NAMES),
        "names refused": sum(not kept[n] for n in NAMES),
        "names lost": sum(kept[n] and not read[n] & own[n] for n in NAMES),
    }


def _secret(n: int, name: str) -> dict[str, Any]:
    said = [
        ("user", f"Outlook shows certificate error 0x80{n:02d} since this morning, I cannot send mail"),
        ("agent", f"The cause was an expired certificate on server mx{n:02d}. I renewed the certificate."),
        ("user", "Outlook sends mail again, it works now, thanks a lot"),
    ]
    return {
        "id": f"secret-{n}",
        "customer": name,
        "category": "outlook",
        "started_at": "2026-03-02T09:00:00+00:00",
        "turns": [{"role": role, "text": text} for role, text in said],
        "metadata": {},
    }
