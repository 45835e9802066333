"""The tables of one customer's bank: truth (conversations, proposals, decisions) and what is derived from it."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from memlab.curation.decisions import Decision
from memlab.bank.schema import prepare
from memlab.errors import BankError, BankFormatError, CustomerError
from memlab.operations import Operation
from memlab.records import Conversation, Proposal, canonical_json, parse_time, valid_customer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Store", "bank_path", "order_key", "text_hash"]


def order_key(conversation: Conversation) -> str:
    """The start of a conversation as text that sorts like the instant."""
    return conversation.started_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def bank_path(home: str | Path, customer: str) -> Path:
    """The one file of a customer: a readable prefix and a hash of the exact name, so no two names share it.

    >>> bank_path("memory", "acme/eu").name == bank_path("memory", "acme_eu").name
    False
    """
    name = valid_customer(customer)
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return Path(home) / f"{re.sub('[^a-z0-9]+', '-', name.casefold())[:40].strip('-')}-{digest}.bank"


class Store:
    """One customer's memory. There is no way to read it without naming the customer.

    Open it with `Bank.open`; use it as a context manager or call `close`. One bank may be shared by threads, and one
    file by processes: a writer waits for the other, nothing is lost.
    """

    def __init__(self, path: Path, customer: str, connection: sqlite3.Connection) -> None:
        self.path = path
        self.customer = customer
        self._db = connection
        self._lock = threading.RLock()
        self._depth = 0

    @classmethod
    def open(cls, home: str | Path, customer: str, *, create: bool = True) -> Self:
        """Open a customer's bank in the folder `home`.

        Parameters
        ----------
        home : path
            Folder with one file a customer.
        customer : str
            Exact name; it is never trimmed or folded.
        create : bool
            Make the folder and the file if they do not exist.

        Raises
        ------
        CustomerError
            If the name is empty or odd, or has no bank and `create` is false.
        BankFormatError
            If the file is no bank, is damaged, or was written by a newer memlab.
        BankError
            If the file can't be opened or written.
        """
        name = valid_customer(customer)
        path = bank_path(home, name)
        if not create and not path.exists():
            raise CustomerError(f"{home}: no bank for customer {name!r}; `memlab learn` makes one")
        try:
            if create:
                path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(path, timeout=120, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise BankError(f"{path}: can't open the bank: {error}") from error
        try:
            prepare(db, path, name)
        except BaseException:
            db.close()
            raise
        return cls(path, name, db)

    def close(self) -> None:
        """Close the file; a bank that was closed can't be read again."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.customer!r}, {self.count('conversations')} conversations, {str(self.path)!r})"

    # -- one transaction at a time -------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing: what is written inside appears together, or not at all. Nests.

        Raises
        ------
        BankError
            If the disk is full, read-only, or the file is locked for two minutes.
        """
        with self._lock:
            try:
                if self._depth == 0:
                    self._db.execute("BEGIN IMMEDIATE")
                self._depth += 1
                try:
                    yield
                except BaseException:
                    if self._depth == 1:
                        self._db.execute("ROLLBACK")
                    raise
                else:
                    if self._depth == 1:
                        self._db.execute("UPDATE meta SET value = value + 1 WHERE key = 'revision'")
                        self._db.execute("COMMIT")
                finally:
                    self._depth -= 1
            except sqlite3.Error as error:
                raise BankError(f"{self.path}: {error}; nothing was changed") from error

    def rows(self, sql: str, *arguments: object) -> list[tuple[Any, ...]]:
        """Rows of a query on the bank's tables (read-only use)."""
        with self._lock:
            try:
                return self._db.execute(sql, arguments).fetchall()
            except sqlite3.DatabaseError as error:
                raise BankFormatError(f"{self.path}: {error}") from error

    def _run(self, sql: str, *arguments: object) -> None:
        self._db.execute(sql, arguments)

    def count(self, table: str) -> int:
        """Rows in a table."""
        return int(self.rows(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608 - table names are ours

    @property
    def revision(self) -> int:
        """Grows with every committed change, by whichever process."""
        return int(self.rows("SELECT value FROM meta WHERE key = 'revision'")[0][0])

    def get_meta(self, key: str) -> str | None:
        """A setting of the bank, such as the curator that its operations come from."""
        found = self.rows("SELECT value FROM meta WHERE key = ?", key)
        return str(found[0][0]) if found else None

    def set_meta(self, key: str, value: str) -> None:
        """Write a setting."""
        with self.transaction():
            self._run("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value)

    # -- truth ---------------------------------------------------------------------------------------------------

    def versions(self) -> dict[str, tuple[str, str | None]]:
        """Content hash and extractor of every conversation (extractor None: still pending)."""
        return {i: (v, x) for i, v, x in self.rows("SELECT id, version, extractor FROM conversations")}

    def conversation(self, id_: str) -> Conversation | None:
        """One conversation, or None."""
        found = self.rows("SELECT body FROM conversations WHERE id = ?", id_)
        return Conversation.from_json(json.loads(found[0][0])) if found else None

    def conversations(self) -> Iterator[Conversation]:
        """All conversations in the order of (started_at, id)."""
        for (body,) in self.rows("SELECT body FROM conversations ORDER BY moment, id"):
            yield Conversation.from_json(json.loads(body))

    def proposals(self, conversation: str | None = None) -> list[Proposal]:
        """Proposals of one conversation, or all, in the order in which they are curated."""
        where = "" if conversation is None else "WHERE conversation = ?"
        arguments = () if conversation is None else (conversation,)
        sql = f"SELECT body FROM proposals {where} ORDER BY moment, conversation, issue"  # noqa: S608
        return [Proposal.from_json(json.loads(b)) for (b,) in self.rows(sql, *arguments)]

    def pending(self) -> list[tuple[str, str]]:
        """Conversations that could not be read yet, with the reason."""
        return [(c, r) for c, r in self.rows("SELECT conversation, reason FROM pending ORDER BY conversation")]

    def decisions(self, category: str | None = None) -> list[Decision]:
        """What people decided, for one category or all, sorted by id."""
        found = self.rows("SELECT body FROM decisions WHERE ?1 IS NULL OR category = ?1 ORDER BY id", category)
        return [Decision.from_json(json.loads(b)) for (b,) in found]

    def put(
        self,
        conversation: Conversation,
        proposals: Sequence[Proposal],
        *,
        extractor: str | None,
        texts: Sequence[str] = (),
        vectors: NDArray[np.float32] | None = None,
        pending: tuple[str, str] | None = None,
    ) -> None:
        """Store a conversation in place of any earlier version, with what was read out of it.

        Parameters
        ----------
        conversation, proposals
            Truth to store; the categories concerned are marked for replay from this place.
        extractor : str or None
            Who made the proposals; None if nobody could.
        texts, vectors
            Texts that curation and recall need, and their unit vectors of shape (len(texts), dimension).
        pending : (reason, raw reply), optional
            Why the conversation could not be read.

        Raises
        ------
        CustomerError
            If the conversation is another customer's.
        """
        if conversation.customer != self.customer:
            raise CustomerError(f"conversation {conversation.id!r} belongs to another customer")
        moment = order_key(conversation)
        with self.transaction():
            self._drop(conversation.id)
            body = canonical_json(conversation.to_json())
            row = (conversation.id, moment, conversation.version, extractor, body)
            self._run("INSERT INTO conversations VALUES (?, ?, ?, ?, ?)", *row)
            for p in proposals:
                place = (conversation.id, p.case, p.category, moment)
                self._run("INSERT INTO proposals VALUES (?, ?, ?, ?, ?)", *place, canonical_json(p))
                if p.category is not None:
                    self.mark_dirty(p.category, moment)
            if pending:
                self._run("INSERT INTO pending VALUES (?, ?, ?)", conversation.id, *pending)
            for text, vector in zip(texts, vectors if vectors is not None else (), strict=True):
                name = text_hash(text)
                self._run("INSERT OR IGNORE INTO texts VALUES (?, ?)", conversation.id, name)
                blob = np.asarray(vector, np.float16).tobytes()
                self._run("INSERT OR IGNORE INTO vectors VALUES (?, ?)", name, blob)

    def _drop(self, id_: str) -> None:
        for category, moment in self.rows("SELECT category, moment FROM proposals WHERE conversation = ?", id_):
            if category is not None:
                self.mark_dirty(category, moment)
        for table in ("proposals", "pending"):
            self._run(f"DELETE FROM {table} WHERE conversation = ?", id_)  # noqa: S608
        self._run("DELETE FROM conversations WHERE id = ?", id_)
        mine = "SELECT text FROM texts WHERE conversation = ?1"
        others = "SELECT 1 FROM texts t WHERE t.text = vectors.text AND t.conversation != ?1"
        self._run(f"DELETE FROM vectors WHERE text IN ({mine}) AND NOT EXISTS ({others})", id_)  # noqa: S608
        self._run("DELETE FROM texts WHERE conversation = ?", id_)

    def drop(self, conversation: str) -> bool:
        """Remove a conversation and mark its categories for replay; True if there was one."""
        with self.transaction():
            found = bool(self.rows("SELECT 1 FROM conversations WHERE id = ?", conversation))
            self._drop(conversation)
            return found

    def decide(self, decision: Decision) -> None:
        """Store a person's decision; its category is replayed from the start."""
        with self.transaction():
            body = canonical_json(decision)
            self._run("INSERT OR REPLACE INTO decisions VALUES (?, ?, ?)", decision.id, decision.category, body)
            self.mark_dirty(decision.category, "")

    def take_back(self, decision: str) -> bool:
        """Remove a decision by id; True if there was one."""
        with self.transaction():
            found = self.rows("SELECT category FROM decisions WHERE id = ?", decision)
            for (category,) in found:
                self.mark_dirty(category, "")
            self._run("DELETE FROM decisions WHERE id = ?", decision)
            return bool(found)

    # -- derived -------------------------------------------------------------------------------------------------

    def mark_dirty(self, category: str, moment: str) -> None:
        """Note that a category must be replayed from `moment` on ("" for the start)."""
        self._run(
            "INSERT INTO dirty VALUES (?, ?) ON CONFLICT DO UPDATE SET moment = min(moment, excluded.moment)",
            category,
            moment,
        )

    def dirty(self) -> list[tuple[str, str]]:
        """Categories to be replayed, and from when."""
        return [(c, m) for c, m in self.rows("SELECT category, moment FROM dirty ORDER BY category")]

    def clean(self, category: str) -> None:
        """Note that a category has been replayed."""
        self._run("DELETE FROM dirty WHERE category = ?", category)

    def categories(self) -> list[str]:
        """Categories that hold at least one operation, sorted."""
        return [c for (c,) in self.rows("SELECT DISTINCT category FROM operations ORDER BY category")]

    def operations(self, category: str, *, before: str | None = None) -> Iterator[Operation]:
        """A category's operations in order, all or those of conversations that started before a moment."""
        sql = "SELECT body FROM operations WHERE category = ? AND (?2 IS NULL OR moment < ?2)"
        for (body,) in self.rows(f"{sql} ORDER BY moment, conversation, issue, step", category, before):  # noqa: S608
            yield Operation.from_json(json.loads(body))

    def cut_operations(self, category: str, moment: str) -> None:
        """Delete a category's operations from a moment on."""
        self._run("DELETE FROM operations WHERE category = ? AND moment >= ?", category, moment)

    def append_operations(self, category: str, moment: str, operations: Sequence[Operation]) -> None:
        """Store the operations of one proposal."""
        for step, op in enumerate(operations):
            row = (category, moment, op.conversation, op.case, step, op.dumps())
            self._run("INSERT INTO operations VALUES (?, ?, ?, ?, ?, ?)", *row)

    def vector(self, text: str) -> NDArray[np.float32]:
        """The stored unit vector of a text.

        Raises
        ------
        KeyError
            If the text has none.
        """
        found = self.rows("SELECT vector FROM vectors WHERE text = ?", text_hash(text))
        if not found:
            raise KeyError(text)
        return np.frombuffer(found[0][0], np.float16).astype(np.float32)

    def newest(self) -> datetime | None:
        """When the newest conversation started."""
        found = self.rows("SELECT max(moment) FROM conversations")[0][0]
        return parse_time(found) if found else None


def text_hash(text: str) -> str:
    """The name under which a text's vector is stored."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
