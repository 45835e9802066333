"""The tables of a bank file, how older files become newer ones, and what must hold before one is opened."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable, Mapping
from pathlib import Path

from memlab.errors import BankError, BankFormatError

__all__ = ["MIGRATIONS", "SCHEMA_VERSION", "bank_error", "inspect", "prepare"]

SCHEMA_VERSION = 1
MIGRATIONS: Mapping[int, Callable[[sqlite3.Connection], None]] = {}  # version n -> statements that make it n + 1
_MARK = 0x6D656D6C  # "meml", SQLite's application_id: tells a bank from any other SQLite file
_MAGIC = b"SQLite format 3\x00"
_CORRUPT, _NOT_A_DATABASE, _READ_ONLY, _FULL = 11, 26, 8, 13
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- truth
CREATE TABLE conversations (
    id TEXT PRIMARY KEY, moment TEXT NOT NULL, version TEXT NOT NULL, extractor TEXT, started_at TEXT NOT NULL,
    requester TEXT, body TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX conversations_in_order ON conversations (moment, id);
CREATE TABLE proposals (
    conversation TEXT, issue INTEGER, category TEXT NOT NULL, moment TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (conversation, issue)) WITHOUT ROWID;
CREATE INDEX proposals_in_order ON proposals (category, moment, conversation, issue);
CREATE TABLE pending (conversation TEXT PRIMARY KEY, reason TEXT NOT NULL, raw TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE decisions (
    place INTEGER PRIMARY KEY, id TEXT NOT NULL, run TEXT NOT NULL, category TEXT NOT NULL, body TEXT NOT NULL,
    UNIQUE (id, run));
CREATE TABLE settings (category TEXT, key TEXT, value TEXT NOT NULL, PRIMARY KEY (category, key)) WITHOUT ROWID;
-- derived: can be deleted and made again
CREATE TABLE operations (
    category TEXT, moment TEXT, conversation TEXT, issue INTEGER, step INTEGER, op TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (category, moment, conversation, issue, step)) WITHOUT ROWID;
CREATE TABLE heads (category TEXT PRIMARY KEY, revision INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE dirty (category TEXT PRIMARY KEY, moment TEXT NOT NULL, revision INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE texts (conversation TEXT, text TEXT, PRIMARY KEY (conversation, text)) WITHOUT ROWID;
CREATE INDEX texts_by_text ON texts (text);
CREATE TABLE vectors (text TEXT PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;
"""


def bank_error(path: Path, error: sqlite3.Error, end: str = "") -> BankError:
    """What a SQLite error means for a bank, as an error to raise."""
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    end = f"; {end}" if end else ""
    if code in (_CORRUPT, _NOT_A_DATABASE):
        return BankFormatError(f"{path}: not a bank, or damaged: {error}; restore a copy or import an export{end}")
    if code == _READ_ONLY:
        return BankError(f"{path}: {error}; make the file and its folder writable, or use another folder{end}")
    if code == _FULL:
        return BankError(f"{path}: {error}; free some space and try again{end}")
    return BankError(f"{path}: {error}{end}")


def _look(path: Path) -> tuple[bytes, bool, int]:
    """The first bytes of a file, whether its log is empty, and its size.

    In this order: what the first bytes speak of is either in the log or, if that is empty by now, in the file.
    """
    with path.open("rb") as file:
        head = file.read(100)
    log = Path(f"{path}-wal")
    settled = not log.exists() or log.stat().st_size == 0
    return head, settled, path.stat().st_size


def inspect(path: Path) -> None:
    """Refuse what can be seen to be no bank from its first bytes, before SQLite opens it.

    Raises
    ------
    BankFormatError
        If the file is something else, was cut short, or comes from a newer memlab.
    BankError
        If the file can't be read.
    """
    try:
        seen = _look(path)
        while seen != (again := _look(path)):  # somebody writes: what was seen first belongs to two moments
            seen = again
    except FileNotFoundError:
        return
    except OSError as error:
        raise BankError(f"{path}: can't open the bank: {error.strerror or error}") from error
    head, settled, size = seen
    if not head:
        return
    if head[:16] != _MAGIC or len(head) < 100:
        raise BankFormatError(f"{path}: not a memlab bank, or damaged; it was not touched")
    page, changes, pages, version, mark, valid = struct.unpack(">16xH6xII28xI4xI20xI4x", head)
    page = 65536 if page == 1 else page
    if mark == _MARK and version > SCHEMA_VERSION:
        raise BankFormatError(
            f"{path}: written by a newer memlab (format {version}, this one reads up to {SCHEMA_VERSION}); "
            f"update memlab; the file was not touched"
        )
    if settled and changes == valid and size < pages * page:
        raise BankFormatError(
            f"{path}: cut short ({size} bytes of {pages * page}); it was not touched; "
            f"restore a copy or import an export"
        )


def prepare(db: sqlite3.Connection, path: Path, customer: str) -> None:
    """Check that the file is a bank of this customer and version, or make it one.

    Raises
    ------
    BankFormatError
        If it is another SQLite file, another customer's, damaged, or from a newer memlab.
    BankError
        If it can't be read or written.
    """
    try:
        fresh = not db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        if not fresh and db.execute("PRAGMA application_id").fetchone()[0] != _MARK:
            raise BankFormatError(f"{path}: a SQLite file, but not a memlab bank; it was not touched")
        if db.execute("PRAGMA user_version").fetchone()[0] > SCHEMA_VERSION:
            raise BankFormatError(f"{path}: written by a newer memlab; update memlab; the file was not touched")
        for pragma in ("journal_mode=WAL", "secure_delete=ON", "synchronous=NORMAL"):
            db.execute(f"PRAGMA {pragma}")
        if fresh:
            _create(db, customer)
        owner = db.execute("SELECT value FROM meta WHERE key = 'customer'").fetchone()
        if owner is None or owner[0] != customer:
            raise BankFormatError(f"{path}: the file belongs to another customer; it was not touched")
        _migrate(db)
    except sqlite3.Error as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise bank_error(path, error, "the bank was not opened") from error


def _create(db: sqlite3.Connection, customer: str) -> None:
    db.execute("BEGIN IMMEDIATE")
    if not db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():  # nobody else was faster
        for statement in _SCHEMA.split(";"):
            db.execute(statement)
        db.execute("INSERT INTO meta VALUES ('customer', ?), ('revision', '0')", (customer,))
        db.execute(f"PRAGMA application_id = {_MARK}")
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    db.execute("COMMIT")


def _migrate(db: sqlite3.Connection) -> None:
    """Bring an older file up to date, all steps in one transaction."""
    if db.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION:
        return
    db.execute("BEGIN IMMEDIATE")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    while version < SCHEMA_VERSION:
        MIGRATIONS[version](db)
        version += 1
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    db.execute("UPDATE meta SET value = value + 1 WHERE key = 'revision'")
    db.execute("COMMIT")
