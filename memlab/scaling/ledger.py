"""What a run has taken in so far: on disk, so that a million conversations need no memory, and exact under repetition."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from memlab.bank import Bank, bank_path
from memlab.learning import LearnReport
from memlab.records import Conversation, valid_customer

__all__ = ["Ledger"]

HELD = 32  # batches of conversations held back at most while the batches of their customers fill
_TABLE = """CREATE TABLE seen (customer TEXT, id TEXT, length TEXT, version TEXT, before TEXT, extractor TEXT,
            extra INTEGER DEFAULT 0, rewritten INTEGER DEFAULT 0, troubled INTEGER DEFAULT 0,
            PRIMARY KEY (customer, id)) WITHOUT ROWID"""


class Ledger:
    """Sorts a stream of conversations into batches of one customer each, and counts as `memlab.learning.learn` does.

    Parameters
    ----------
    home : path
        Folder with the banks; asked once for each conversation, before the run changes it.
    extractor : str
        Name of the extractor; what it has read before in this form is not read again.
    """

    def __init__(self, home: str | Path, extractor: str) -> None:
        self._home, self._extractor = Path(home), extractor
        self._folder = tempfile.TemporaryDirectory(prefix="memlab-")
        self._db = sqlite3.connect(Path(self._folder.name) / "ledger", isolation_level=None)
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("PRAGMA journal_mode = MEMORY")
        self._db.execute(_TABLE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._db.close()
        self._folder.cleanup()

    def batches(self, conversations: Iterable[Conversation], size: int) -> Iterator[tuple[str, list[Conversation]]]:
        """Customer and conversations to read, at most `size` at a time; the fullest goes first when too many wait."""
        waiting: dict[str, list[Conversation]] = {}
        count = 0
        for raw in conversations:
            c = Conversation.from_json(raw.to_json())  # clean text and checked times, whoever made the record
            waiting.setdefault(valid_customer(c.customer), []).append(c)
            count += 1
            name = c.customer if len(waiting[c.customer]) >= size else None
            if name is None and count >= HELD * size:
                name = max(sorted(waiting), key=lambda n: len(waiting[n]))
            if name is not None:
                part = waiting.pop(name)
                count -= len(part)
                yield from self._fresh(name, part)
        for name in sorted(waiting):
            yield from self._fresh(name, waiting[name])

    def _fresh(self, customer: str, part: Sequence[Conversation]) -> Iterator[tuple[str, list[Conversation]]]:
        self._db.execute("BEGIN")
        before = self._before(customer, sorted({c.id for c in part}))
        chosen = {c.id: c for c in part if self._take(customer, c, before.get(c.id, (None, None)))}
        self._db.execute("COMMIT")
        new = [c for c in chosen.values() if before.get(c.id) != (c.version, self._extractor)]
        if new:
            yield customer, sorted(new, key=lambda c: c.order)

    def _before(self, customer: str, ids: Sequence[str]) -> dict[str, tuple[str | None, str | None]]:
        """What the bank held before this run: asked of the bank for those that the run has not seen yet."""
        if not bank_path(self._home, customer).exists():
            return {}
        with Bank.open(self._home, customer, create=False) as bank:
            return dict(bank.versions(ids))

    def _take(self, customer: str, c: Conversation, before: tuple[str | None, str | None]) -> bool:
        """Note a conversation; False if the run has seen it in this form or in a longer one."""
        sql = "SELECT length FROM seen WHERE customer = ? AND id = ?"
        known = self._db.execute(sql, (customer, c.id)).fetchone()
        length = _length(c)
        if known is None:
            row = (customer, c.id, json.dumps(length), c.version, *before)
            sql = "INSERT INTO seen (customer, id, length, version, before, extractor) VALUES (?, ?, ?, ?, ?, ?)"
            self._db.execute(sql, row)
            return True
        longer = length > tuple(json.loads(known[0]))
        self._db.execute("UPDATE seen SET extra = extra + 1 WHERE customer = ? AND id = ?", (customer, c.id))
        if longer:
            sql = "UPDATE seen SET length = ?, version = ?, rewritten = 1, troubled = 0 WHERE customer = ? AND id = ?"
            self._db.execute(sql, (json.dumps(length), c.version, customer, c.id))
        return longer

    def troubled(self, customer: str, ids: Iterable[str]) -> None:
        """Note conversations that could not be read."""
        sql = "UPDATE seen SET troubled = 1 WHERE customer = ? AND id = ?"
        self._db.executemany(sql, ((customer, i) for i in ids))

    def customers(self) -> list[str]:
        """Whose conversations came, sorted."""
        return [c for (c,) in self._db.execute("SELECT DISTINCT customer FROM seen ORDER BY customer")]

    def rewritten(self, customer: str) -> bool:
        """Whether a stored conversation was put into another form."""
        sql = """SELECT 1 FROM seen WHERE customer = ? AND (rewritten OR (before IS NOT NULL AND before != version))
                 LIMIT 1"""
        return self._db.execute(sql, (customer,)).fetchone() is not None

    def report(self, customer: str, skipped: Sequence[dict[str, object]], operations: dict[str, int]) -> LearnReport:
        """The counts of a customer."""
        sql = """SELECT sum(before IS NULL), sum(same AND NOT coalesce(extractor = ?1, 0) AND NOT troubled) +
                        sum(before IS NOT NULL AND NOT same), sum(same AND coalesce(extractor = ?1, 0)) + sum(extra),
                        sum(troubled)
                 FROM (SELECT *, coalesce(before = version, 0) AS same FROM seen WHERE customer = ?2)"""
        learned, updated, unchanged, pending = self._db.execute(sql, (self._extractor, customer)).fetchone()
        return LearnReport(
            learned=learned, updated=updated, unchanged=unchanged, pending=pending, skipped=tuple(skipped),
            operations=operations,
        )  # fmt: skip


def _length(c: Conversation) -> tuple[int, int, str, str]:
    """Which of two forms of a conversation is the later one, whatever order they come in; as in `memlab.learning`."""
    last = max((t.at.isoformat() for t in c.turns if t.at), default="")
    return len(c.turns), sum(len(t.text) for t in c.turns), last, c.version
