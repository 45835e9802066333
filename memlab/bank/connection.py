"""One customer's file: opening it, and one transaction at a time."""

from __future__ import annotations

import hashlib
import re
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from memlab.bank.schema import bank_error, inspect, prepare
from memlab.errors import BankError, CustomerError
from memlab.records import valid_customer

__all__ = ["Connection", "bank_path", "connect", "disconnect"]

PATIENCE = 120.0  # seconds to wait for another writer
_gate = threading.Lock()
_open: Counter[Path] = Counter()  # connections of this process, by file


def bank_path(home: str | Path, customer: str) -> Path:
    """The one file of a customer: a readable prefix and a hash of the exact name, so no two names share it.

    >>> bank_path("memory", "acme/eu").name == bank_path("memory", "acme_eu").name
    False
    """
    name = valid_customer(customer)
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return Path(home) / f"{re.sub('[^a-z0-9]+', '-', name.casefold())[:40].strip('-')}-{digest}.bank"


def connect(path: Path, *, create: bool = True) -> sqlite3.Connection:
    """A connection to a bank file, which is looked at before SQLite may touch it; end it by `disconnect`.

    Closing a file drops all locks that the process holds on it (POSIX), also those of its other connections, which may
    then write at the same time as another process. So a file that this process has open is not looked at again.

    Raises
    ------
    BankFormatError
        If it is no bank, is damaged, or was written by a newer memlab.
    BankError
        If it can't be opened.
    """
    file = path.resolve()
    with _gate:
        if not _open[file]:
            inspect(path)
        try:
            if create:
                path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        except OSError as error:
            raise BankError(f"{path}: can't open the bank: {error.strerror or error}") from error
        except sqlite3.Error as error:
            raise bank_error(path, error, "the bank was not opened") from error
        _open[file] += 1
    return db


def disconnect(path: Path, db: sqlite3.Connection) -> None:
    """Close a connection, once."""
    with _gate:
        db.close()
        _open[path.resolve()] -= 1


class Connection:
    """An open bank file. Threads may share it; processes may each open the file, a writer waits for the other."""

    def __init__(self, path: Path, customer: str, connection: sqlite3.Connection) -> None:
        self.path = path
        self.customer = customer
        self._db = connection
        self._lock = threading.RLock()
        self._depth = 0
        self._closed = False

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
            If the file is no bank, is damaged, or was written by a newer memlab; it is not touched.
        BankError
            If the file can't be opened or written.
        """
        name = valid_customer(customer)
        path = bank_path(home, name)
        if not create and not path.exists():
            raise CustomerError(f"{home}: no bank for customer {name!r}; `memlab learn` makes one")
        db = connect(path, create=create)
        try:
            prepare(db, path, name)
        except BaseException:
            disconnect(path, db)
            raise
        return cls(path, name, db)

    def close(self) -> None:
        """Close the file; a bank that was closed can't be read again."""
        if not self._closed:
            self._closed = True
            disconnect(self.path, self._db)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing: what is written inside appears together, or not at all. Nests.

        Raises
        ------
        BankError
            If the disk is full or read-only, or the file stays locked for two minutes.
        """
        with self._lock:
            try:
                if self._depth == 0:
                    self._db.execute("BEGIN IMMEDIATE")
                self._depth += 1
                try:
                    yield
                    if self._depth == 1:
                        self._db.execute("UPDATE meta SET value = value + 1 WHERE key = 'revision'")
                        self._db.execute("COMMIT")
                except BaseException:
                    if self._depth == 1:
                        self._roll_back()
                    raise
                finally:
                    self._depth -= 1
            except sqlite3.Error as error:
                raise bank_error(self.path, error, "nothing was changed") from error

    def _roll_back(self) -> None:
        self._end()

    def _end(self) -> None:
        if self._db.in_transaction:  # SQLite may have done it, on a full disk for example
            self._db.execute("ROLLBACK")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """What is read inside is of one moment, whatever other processes write meanwhile. Nests."""
        with self._lock:
            outer = self._db.in_transaction
            try:
                if not outer:
                    self._db.execute("BEGIN")
                try:
                    yield
                finally:
                    if not outer:
                        self._end()
            except sqlite3.Error as error:
                raise bank_error(self.path, error) from error

    def rows(self, sql: str, *arguments: object) -> list[tuple[Any, ...]]:
        """Rows of a query on the bank's tables (read-only use)."""
        with self._lock:
            try:
                return self._db.execute(sql, arguments).fetchall()
            except sqlite3.Error as error:
                raise bank_error(self.path, error) from error

    def _run(self, sql: str, *arguments: object) -> None:
        self._db.execute(sql, arguments)

    def _run_all(self, sql: str, arguments: Iterable[tuple[object, ...]]) -> None:
        self._db.executemany(sql, arguments)

    def count(self, table: str) -> int:
        """Rows in a table."""
        return int(self.rows(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608 - table names are ours

    @property
    def revision(self) -> int:
        """Grows with every committed change, by whichever process."""
        return int(self.rows("SELECT value FROM meta WHERE key = 'revision'")[0][0])

    def get_meta(self, key: str) -> str | None:
        """A note about what is derived, such as the curator that the operations come from."""
        found = self.rows("SELECT value FROM meta WHERE key = ?", key)
        return str(found[0][0]) if found else None

    def set_meta(self, key: str, value: str | None) -> None:
        """Write such a note; None removes it."""
        with self.transaction():
            if value is None:
                self._run("DELETE FROM meta WHERE key = ?", key)
            else:
                self._run("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value)

    def vacuum(self) -> None:
        """Rewrite the file so that no freed page or journal holds old text.

        Raises
        ------
        BankError
            If another process keeps reading for two minutes, so that the journal can't be emptied.
        """
        with self._lock:
            try:
                self._db.execute("VACUUM")
                busy = self._empty_journal()
            except sqlite3.Error as error:
                raise bank_error(self.path, error, "run `memlab bank vacuum` again") from error
        if busy:
            raise BankError(
                f"{self.path}: another process is reading, so the journal may still hold old text; "
                f"run `memlab bank vacuum` when it has ended"
            )

    def _empty_journal(self) -> bool:
        """Cut the journal to nothing; True if others kept it busy. SQLite itself does not wait for every lock here."""
        self._db.execute("PRAGMA busy_timeout = 50")
        try:
            for _ in range(int(PATIENCE / 0.1) + 1):
                if not self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                    return False
                time.sleep(0.05)
            return True
        finally:
            self._db.execute(f"PRAGMA busy_timeout = {int(PATIENCE * 1000)}")
