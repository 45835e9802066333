"""What is measured of one peer: speed, ranking, size, doubles, leftovers and leaks, by calls over a pipe."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memlab.evaluation.queries import GoldCauses, Query, RankedHit
from memlab.evaluation.retrieval import score_ranking
from memlab.models.tokens import count_tokens
from memlab.records import Conversation

HERE = Path(__file__).parent
NAMES = ("acme", "ACME", " acme ", "acme2", "acme.eu", "acme/eu", "a_me", "a%", "*", "acmé", "")
DEPTH = 50  # items asked for; what of them is read is decided by the budget


@dataclass
class Peer:
    """A peer in its process."""

    process: subprocess.Popen[str]
    megabytes: float = 0.0

    @classmethod
    def start(cls, python: str, adapter: str, folder: Path) -> Peer:
        folder.mkdir(parents=True, exist_ok=True)
        env = {**os.environ, "PYTHONPATH": f"{HERE}{os.pathsep}{HERE.parent.parent}", "PYTHONWARNINGS": "ignore"}
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

    def value(self, do: str, *arguments: Any) -> Any:
        answer = self.call(do, *arguments)
        if "error" in answer:
            raise RuntimeError(f"{do}: {answer['error']}")
        return answer["value"]

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


def scores_of(rankings: dict[str, list[RankedHit]], queries: list[Query], gold: GoldCauses) -> dict[str, float]:
    """Mean recall on ordinary paraphrases, and recall@1 on hard negatives."""
    rows = [(q, score_ranking(q, rankings[q.id], gold)) for q in queries]
    out = {}
    for name in ("recall@1", "recall@3", "recall@5"):
        out[name] = statistics.fmean(s[name] for q, s in rows if not q.hard_negative)
    hard = [s["recall@1"] for q, s in rows if q.hard_negative]
    out["hard recall@1"] = statistics.fmean(hard) if hard else float("nan")
    return out


def measure(
    python: str, adapter: str, folder: Path, conversations: list[Conversation], queries: list[Query],
    gold: GoldCauses, *, budget: int,
) -> dict[str, Any]:  # fmt: skip
    """One row of the table."""
    customers = sorted({c.customer for c in conversations})
    by = {name: [c.to_json() for c in conversations if c.customer == name] for name in customers}
    peer = Peer.start(python, adapter, folder / "store")
    try:
        seconds = sum(_timed(peer, "add", name, mine) for name, mine in by.items())
        items = sum(peer.value("count", name) for name in customers)
        rankings, waits = {}, []
        for q in queries:
            answer = peer.call("search", q.customer, q.query, DEPTH)
            if "error" in answer:
                raise RuntimeError(f"search: {answer['error']}")
            waits.append(answer["seconds"])
            rankings[q.id] = read_within(answer["value"], budget)
        again = sum(_timed(peer, "add", name, mine) for name, mine in by.items())
        doubled = sum(peer.value("count", name) for name in customers)
        size = _bytes(folder / "store")
        gone = max(customers, key=lambda n: len(by[n]))
        peer.value("forget", gone)
        listed = peer.value("count", gone)
        peer.value("close")
        left = leftovers(folder / "store", gone, conversations)
    finally:
        peer.end()
    return {
        "conversations/s": len(conversations) / seconds,
        "p50 ms": 1000 * statistics.median(waits),
        "p95 ms": 1000 * sorted(waits)[int(0.95 * (len(waits) - 1))],
        **scores_of(rankings, queries, gold),
        "bytes": size,
        "MB": peer.megabytes,
        "items again": doubled / items,
        "again/first": again / seconds,
        "listed after forget": listed,
        "texts left in files": left,
        **leaks(python, adapter, folder / "names"),
    }


def _timed(peer: Peer, do: str, *arguments: Any) -> float:
    answer = peer.call(do, *arguments)
    if "error" in answer:
        raise RuntimeError(f"{do}: {answer['error']}")
    return float(answer["seconds"])


def _bytes(folder: Path) -> int:
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


def leftovers(folder: Path, customer: str, conversations: list[Conversation]) -> int:
    """How many of the customer's own turns (≥ 30 letters, said to nobody else) still stand in the files, byte by byte."""
    others = "\n".join(c.text() for c in conversations if c.customer != customer)
    mine = {t.text for c in conversations if c.customer == customer for t in c.turns if len(t.text) >= 30}
    data = b"\n".join(p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file())
    forms = (lambda t: t.encode(), lambda t: json.dumps(t)[1:-1].encode())
    return sum(any(form(t[:60]) in data for form in forms) for t in mine if t not in others)


def leaks(python: str, adapter: str, folder: Path) -> dict[str, int]:
    """Names that read what another wrote, names that were refused, and names whose own memory was lost."""
    peer = Peer.start(python, adapter, folder)
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
