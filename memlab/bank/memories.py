"""A further table of truth in a customer's bank file: what a support agent remembers of this customer, as named JSON texts."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab.bank.connection import Connection, connect, disconnect
from memlab.bank.schema import bank_error
from memlab.errors import BankFormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MemoryTable", "Row", "memories_in", "owners", "put_memories"]

Row = tuple[str, str, str]  # id, moment (sorts like the instant), body

# The table is made at its first use, so that a bank without an agent stays as it is. Emptying a bank removes all notes
# in `meta`, and with the note `memories` goes the table's content: forgetting a customer can't leave it behind.
_TABLE = (
    """CREATE TABLE IF NOT EXISTS memories (
        id TEXT PRIMARY KEY, moment TEXT NOT NULL, body TEXT NOT NULL, vector BLOB) WITHOUT ROWID""",
    """CREATE TRIGGER IF NOT EXISTS memories_go_with_the_bank AFTER DELETE ON meta WHEN old.key = 'memories'
       BEGIN DELETE FROM memories; END""",
    "INSERT OR IGNORE INTO meta VALUES ('memories', '1')",
)


def memories_in(bank: Connection) -> list[Row]:
    """All rows of an open bank file by (moment, id)."""
    with bank.reading():
        return bank.rows("SELECT id, moment, body FROM memories ORDER BY moment, id") if _there(bank) else []


def put_memories(bank: Connection, rows: Iterable[Row]) -> None:
    """Write rows, in the place of those with the same ids."""
    with bank.transaction():
        for statement in _TABLE:
            bank._run(statement)
        bank._run_all("INSERT OR REPLACE INTO memories (id, moment, body) VALUES (?, ?, ?)", rows)


def _there(bank: Connection) -> bool:
    return bool(bank.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'memories'"))


class MemoryTable(Connection):
    """The memories in an open bank file."""

    def memories(self) -> list[Row]:
        """All rows by (moment, id)."""
        return memories_in(self)

    def change(self, ids: Sequence[str], change: Callable[[dict[str, str]], Iterable[Row]]) -> None:
        """Read the bodies of some ids and write rows in their place, as one step that no other writer comes into.

        Parameters
        ----------
        ids : sequence of str
            What `change` wants to see; ids that are not there are left out.
        change : callable
            Given bodies by id, the rows to write; a vector goes with a body that changes.
        """
        with self.transaction():
            there, found = _there(self), dict[str, str]()
            for id_ in ids if there else ():
                found.update(self.rows("SELECT id, body FROM memories WHERE id = ?", id_))
            put_memories(self, [row for row in change(found) if found.get(row[0]) != row[2]])

    def erase(self, ids: Iterable[str] | None = None) -> int:
        """Delete rows by id, by default all, and return how many there were; no page or journal keeps their text."""
        if not _there(self):
            return 0
        with self.transaction():
            before = self.count("memories")
            if ids is None:
                self._run("DELETE FROM memories")
            else:
                self._run_all("DELETE FROM memories WHERE id = ?", ((i,) for i in ids))
            gone = before - self.count("memories")
        if gone:
            self.vacuum()
        return gone

    def vectors(self) -> dict[str, NDArray[np.float32]]:
        """The stored vectors by id."""
        found = self.rows("SELECT id, vector FROM memories WHERE vector IS NOT NULL") if _there(self) else []
        return {i: np.frombuffer(v, np.float16).astype(np.float32) for i, v in found}

    def put_vectors(self, vectors: Iterable[tuple[str, str, NDArray[np.float32]]]) -> None:
        """Store vectors, given with the id and the body that they were made of; one whose body changed is left out."""
        with self.transaction():
            self._run_all(
                "UPDATE memories SET vector = ?3 WHERE id = ?1 AND body = ?2",
                ((i, body, np.asarray(v, np.float16).tobytes()) for i, body, v in vectors),
            )


def owners(home: str | Path) -> list[str]:
    """The customers whose bank files in a folder hold at least one memory, sorted.

    Raises
    ------
    BankFormatError, BankError
        If a bank file there is damaged or can't be read.
    """
    found = (_owner(path) for path in sorted(Path(home).glob("*.bank")))
    return sorted(name for name in found if name is not None)


def _owner(path: Path) -> str | None:
    db = connect(path)
    try:
        rows: list[tuple[Any, ...]] = db.execute("SELECT name FROM sqlite_master WHERE name = 'memories'").fetchall()
        if not rows or not db.execute("SELECT 1 FROM memories LIMIT 1").fetchone():
            return None
        name = db.execute("SELECT value FROM meta WHERE key = 'customer'").fetchone()
    except sqlite3.Error as error:
        raise bank_error(path, error) from error
    finally:
        disconnect(path, db)
    if name is None:
        raise BankFormatError(f"{path}: the file does not say whose it is; restore a copy")
    return str(name[0])
