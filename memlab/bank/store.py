"""The tables of one customer's bank: truth (conversations, proposals, decisions) and what is derived from it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab.bank.connection import Connection, bank_path
from memlab.curation.decisions import Decision
from memlab.curation.resolving import CategoryState
from memlab.decay import DEFAULT, WeightRule
from memlab.errors import BankError, CustomerError, InputError, TimeError
from memlab.operations import Operation
from memlab.records import Conversation, Kind, Proposal, canonical_json, clean_text, parse_time

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SETTINGS", "Store", "bank_path", "order_key", "text_hash"]

SETTINGS = {
    "half_life_days": "days > 0",
    "most_entries": "a number of entries ≥ 1",
    "most_tokens": "tokens of the rendered skill ≥ 1",
}
_MANY = 500  # arguments of one query
_ADDED = "only added: "  # a note with the revision of the row in `dirty` that it is true of
OperationRow = tuple[str, str, str, int, int, str, str]  # category, moment, conversation, case, step, op, body


def order_key(conversation: Conversation) -> str:
    """The start of a conversation as text that sorts like the instant.

    Raises
    ------
    TimeError
        If it has no zone, or lies outside of what a calendar can say in UTC.
    """
    try:
        return parse_time(conversation.started_at).astimezone(UTC).isoformat(timespec="microseconds")
    except OverflowError:
        raise TimeError(f"conversation {conversation.id!r}: {conversation.started_at} is out of range") from None


class Store(Connection):
    """One customer's memory as tables. There is no way to read it without naming the customer."""

    def __init__(self, path: Path, customer: str, connection: sqlite3.Connection) -> None:
        super().__init__(path, customer, connection)
        # Folded operations by category, with the revision that wrote these operations: a cache and never more.
        self.states: dict[str, tuple[int, CategoryState]] = {}

    def __repr__(self) -> str:
        count = self.count("conversations")
        return f"{type(self).__name__}({self.customer!r}, {count} conversations, {str(self.path)!r})"

    def _roll_back(self) -> None:
        self.states.clear()  # they may hold operations that are taken back now
        super()._roll_back()

    # -- truth ---------------------------------------------------------------------------------------------------

    def versions(self, ids: Iterable[str] | None = None) -> dict[str, tuple[str, str | None]]:
        """Content hash and extractor of conversations, all or these (extractor None: still pending)."""
        sql = "SELECT id, version, extractor FROM conversations"
        found = self.rows(sql) if ids is None else self._in(f"{sql} WHERE id IN", list(ids))
        return {i: (v, x) for i, v, x in found}

    def _in(self, sql: str, values: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(values), _MANY):
            part = values[start : start + _MANY]
            yield from self.rows(f"{sql} ({','.join('?' * len(part))})", *part)

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
        """What people decided, for one category or all, in the order in which they did."""
        found = self.rows("SELECT body FROM decisions WHERE ?1 IS NULL OR category = ?1 ORDER BY place", category)
        return [Decision.from_json(json.loads(b)) for (b,) in found]

    def put(
        self,
        conversation: Conversation,
        proposals: Sequence[Proposal],
        *,
        extractor: str | None,
        texts: Iterable[str] = (),
        vectors: Mapping[str, NDArray[np.float32]] | None = None,
        pending: tuple[str, str] | None = None,
    ) -> None:
        """Store a conversation in place of any earlier version, with what was read out of it.

        Parameters
        ----------
        conversation : Conversation
            Of this customer.
        proposals : sequence of Proposal
            Numbered from 0 in `case`, each with a category.
        extractor : str or None
            Who made them; None if the conversation is still pending.
        texts, vectors
            Texts that curation and recall need, and the unit vectors of those that are new to the bank.
        pending : (reason, raw reply), optional
            Why the conversation could not be read.

        Raises
        ------
        CustomerError
            If the conversation is another customer's.
        """
        if conversation.customer != self.customer:
            raise CustomerError(
                f"conversation {conversation.id!r} belongs to {conversation.customer!r}, not {self.customer!r}"
            )
        c, moment = conversation, order_key(conversation)
        with self.transaction():
            old = self._drop(c.id)
            row = (c.id, moment, c.version, extractor, c.started_at.isoformat(), c.requester)
            self._run("INSERT INTO conversations VALUES (?, ?, ?, ?, ?, ?, ?)", *row, canonical_json(c.to_json()))
            for p in proposals:
                category = p.category or "other"
                self._run(
                    "INSERT INTO proposals VALUES (?, ?, ?, ?, ?)", c.id, p.case, category, moment, canonical_json(p)
                )
                self.mark_dirty(category, moment, added=True)
            if pending:
                self._run("INSERT INTO pending VALUES (?, ?, ?)", c.id, *map(clean_text, pending))
            self.put_vectors(c.id, texts, vectors or {})
            self._sweep(old)

    def _drop(self, id_: str) -> list[str]:
        """Remove a conversation but for its vectors; returns the names of its texts."""
        for category, moment in self.rows("SELECT category, moment FROM proposals WHERE conversation = ?", id_):
            self.mark_dirty(category, moment)
        names = [n for (n,) in self.rows("SELECT text FROM texts WHERE conversation = ?", id_)]
        for table in ("proposals", "pending", "texts"):
            self._run(f"DELETE FROM {table} WHERE conversation = ?", id_)  # noqa: S608
        self._run("DELETE FROM conversations WHERE id = ?", id_)
        return names

    def _sweep(self, names: Sequence[str]) -> None:
        """Delete the vectors of texts that no conversation needs any more."""
        sql = "DELETE FROM vectors WHERE text = ?1 AND NOT EXISTS (SELECT 1 FROM texts WHERE text = ?1)"
        self._run_all(sql, ((name,) for name in names))

    def drop(self, conversation: str) -> bool:
        """Remove a conversation and mark its categories for replay; True if there was one."""
        with self.transaction():
            found = bool(self.rows("SELECT 1 FROM conversations WHERE id = ?", conversation))
            self._sweep(self._drop(conversation))
            return found

    def clear(self) -> int:
        """Remove everything that was learned, decided and set; returns how many conversations there were."""
        with self.transaction():
            count = self.count("conversations")
            for category in self.proposed():
                self.mark_dirty(category, "")
            for table in ("conversations", "proposals", "pending", "decisions", "settings", "texts", "vectors"):
                self._run(f"DELETE FROM {table}")  # noqa: S608
            self._run("DELETE FROM meta WHERE key NOT IN ('customer', 'revision')")
            return count

    def decide(self, *decisions: Decision) -> None:
        """Store what was decided, after all that was decided before; its category is replayed from the start.

        A `rest` changes what is seen and not what is curated: nothing is replayed for it.
        """
        with self.transaction():
            for d in decisions:
                self._run("DELETE FROM decisions WHERE id = ? AND run = ?", d.id, d.run)
                sql = "INSERT INTO decisions (id, run, category, body) VALUES (?, ?, ?, ?)"
                self._run(sql, d.id, d.run, d.category, canonical_json(d))
                if d.answer != "rest":
                    self.mark_dirty(d.category, "")

    def take_back(self, decision: str) -> bool:
        """Remove a decision by id; True if there was one."""
        return self._undecide("id", decision) > 0

    def undo(self, run: str) -> int:
        """Remove all decisions of a run; returns how many. Afterwards the bank is as if it had not been made."""
        return self._undecide("run", run)

    def _undecide(self, column: str, value: str) -> int:
        with self.transaction():
            found = self.rows(f"SELECT category, body FROM decisions WHERE {column} = ?", value)  # noqa: S608
            for category, body in found:
                if json.loads(body)["answer"] != "rest":
                    self.mark_dirty(category, "")
            self._run(f"DELETE FROM decisions WHERE {column} = ?", value)  # noqa: S608
            return len(found)

    def settings(self, category: str) -> dict[str, float]:
        """What people set for a category: `half_life_days`, `most_entries`, `most_tokens`."""
        found = self.rows("SELECT key, value FROM settings WHERE category = ? ORDER BY key", category)
        return {k: float(v) for k, v in found}

    def configure(self, category: str, **settings: float | None) -> None:
        """Set a category's `half_life_days`, `most_entries` or `most_tokens`; None takes a setting back.

        Raises
        ------
        InputError
            If there is no such setting, or the value is not allowed.
        """
        for key, value in settings.items():
            if key not in SETTINGS:
                raise InputError(f"no setting {key!r}; there are {', '.join(SETTINGS)}")
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"{key} must be {SETTINGS[key]}, not {value!r}")
        with self.transaction():
            for key, value in settings.items():
                self._run("DELETE FROM settings WHERE category = ? AND key = ?", category, key)
                if value is not None:
                    self._run("INSERT INTO settings VALUES (?, ?, ?)", category, key, repr(float(value)))

    def rule(self, category: str) -> WeightRule:
        """The constants of a category's weights."""
        half_life = self.settings(category).get("half_life_days")
        return WeightRule(half_life_days=half_life) if half_life else DEFAULT

    def named(self, category: str) -> dict[tuple[Kind, str], str]:
        """Titles that people gave, by column and wording."""
        found = self.rows("SELECT body FROM decisions WHERE category = ? ORDER BY place", category)
        decisions = [Decision.from_json(json.loads(b)) for (b,) in found]
        return {(d.kind, d.a): d.b for d in decisions if d.answer == "rename"}

    def proposed(self) -> list[str]:
        """Categories that hold at least one proposal, sorted."""
        return [c for (c,) in self.rows("SELECT DISTINCT category FROM proposals ORDER BY category")]

    # -- derived -------------------------------------------------------------------------------------------------

    def mark_dirty(self, category: str, moment: str, *, added: bool = False) -> None:
        """Note that a category must be replayed from `moment` on ("" for the start).

        Parameters
        ----------
        category, moment
            From where.
        added : bool
            All that happened is that a proposal came that the category did not have.
        """
        only_added = added and (self._dirty_since(category) is None or self.only_added(category))
        self._run(
            "INSERT INTO dirty VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET moment = min(moment, ?2), revision = ?3",
            category,
            moment,
            self.revision,
        )
        self._run("DELETE FROM meta WHERE key = ?", _ADDED + category)
        if only_added:
            self._run("INSERT INTO meta VALUES (?, ?)", _ADDED + category, str(self.revision))

    def _dirty_since(self, category: str) -> int | None:
        found = self.rows("SELECT revision FROM dirty WHERE category = ?", category)
        return int(found[0][0]) if found else None

    def only_added(self, category: str) -> bool:
        """Whether a category waits for a replay for no other reason than proposals that it did not have."""
        return self.get_meta(_ADDED + category) == str(self._dirty_since(category))

    def dirty(self) -> list[tuple[str, str, int]]:
        """Categories to be replayed, from when, and the revision before the last change that asked for it."""
        return [(c, m, r) for c, m, r in self.rows("SELECT category, moment, revision FROM dirty ORDER BY category")]

    def head(self, category: str) -> int | None:
        """The revision that wrote a category's operations, if it has any."""
        found = self.rows("SELECT revision FROM heads WHERE category = ?", category)
        return int(found[0][0]) if found else None

    def categories(self) -> list[str]:
        """Categories that hold at least one operation, sorted."""
        sql = """WITH RECURSIVE c(name) AS (SELECT min(category) FROM operations UNION ALL
                 SELECT (SELECT min(category) FROM operations WHERE category > name) FROM c WHERE name IS NOT NULL)
                 SELECT name FROM c WHERE name IS NOT NULL"""  # one step an index entry, not a scan
        return [c for (c,) in self.rows(sql)]

    def operations(
        self,
        category: str,
        *,
        before: str | None = None,
        since: str | None = None,
        at: datetime | str | None = None,
    ) -> Iterator[Operation]:
        """A category's operations in order: all, or those of conversations that started before or since a moment.

        `at` leaves out those of conversations that started after it: what the curator had done by then.
        """
        until = None if at is None else parse_time(at).astimezone(UTC).isoformat(timespec="microseconds")
        sql = """SELECT body FROM operations
                 WHERE category = ?1 AND moment < coalesce(?2, '~') AND moment >= coalesce(?3, '')
                 AND moment <= coalesce(?4, '~') ORDER BY moment, conversation, issue, step"""
        for (body,) in self.rows(sql, category, before, since, until):
            yield Operation.from_json(json.loads(body))

    def count_operations(self, category: str, since: str) -> Counter[str]:
        """How many operations of each kind a category has from a moment on."""
        sql = "SELECT op, count(*) FROM operations WHERE category = ? AND moment >= ? GROUP BY op"
        return Counter(dict(self.rows(sql, category, since)))

    def replace_operations(self, category: str, since: str, rows: Iterable[OperationRow]) -> int:
        """Put these operations in place of all from a moment on; returns the category's new head."""
        with self.transaction():
            self._run("DELETE FROM operations WHERE category = ? AND moment >= ?", category, since)
            return self.insert_operations(category, rows)

    def insert_operations(self, category: str, rows: Iterable[OperationRow]) -> int:
        """Add operations to a category, which is up to date with them; returns its new head."""
        with self.transaction():
            self._run_all("INSERT INTO operations VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            self._run("DELETE FROM dirty WHERE category = ?", category)
            self._run("DELETE FROM meta WHERE key = ?", _ADDED + category)
            head = self.revision + 1  # the transaction that this runs in moves it on by one when it commits
            self._run("INSERT OR REPLACE INTO heads VALUES (?, ?)", category, head)
            return head

    def cut_operations(self) -> None:
        """Delete all operations that wait for a replay, so that nothing of what was dropped is left in them."""
        with self.transaction():
            for category, moment, _ in self.dirty():
                self._run("DELETE FROM operations WHERE category = ? AND moment >= ?", category, moment)
                self._run("INSERT OR REPLACE INTO heads VALUES (?, ?)", category, self.revision + 1)

    def put_vectors(self, conversation: str, texts: Iterable[str], vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Note which texts a conversation needs vectors of, and store those that are new."""
        blobs = ((text_hash(t), np.asarray(v, np.float16).tobytes()) for t, v in vectors.items())
        self._run_all("INSERT OR IGNORE INTO texts VALUES (?, ?)", ((conversation, text_hash(t)) for t in texts))
        self._run_all("INSERT OR IGNORE INTO vectors VALUES (?, ?)", blobs)

    def clear_vectors(self) -> None:
        """Delete all vectors, so that they can be made again."""
        with self.transaction():
            self._run("DELETE FROM vectors")
            self._run("DELETE FROM texts")

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The stored unit vectors of texts, shape (len(texts), dimension).

        Raises
        ------
        BankError
            If a text has none.
        """
        names = [text_hash(text) for text in texts]
        found = dict(self._in("SELECT text, vector FROM vectors WHERE text IN", sorted(set(names))))
        missing = next((t for t, n in zip(texts, names, strict=True) if n not in found), None)
        if missing is not None:
            raise BankError(f"{self.path}: no vector for {missing!r}; rebuild the bank")
        rows = np.frombuffer(b"".join(found[n] for n in names), np.float16).astype(np.float32)
        return rows.reshape(len(names), -1)

    def known_texts(self, texts: Iterable[str]) -> set[str]:
        """Those of the texts that have a vector."""
        names = {text_hash(text): text for text in texts}
        return {names[n] for (n,) in self._in("SELECT text FROM vectors WHERE text IN", sorted(names))}

    def newest(self) -> datetime | None:
        """When the newest conversation started."""
        found = self.rows("SELECT max(moment) FROM conversations")[0][0]
        return parse_time(found) if found else None


def text_hash(text: str) -> str:
    """The name under which a text's vector is stored."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
