"""The tables of a bank file, and what must hold before one is opened."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from memlab.errors import BankError, BankFormatError

__all__ = ["SCHEMA_VERSION", "prepare"]

SCHEMA_VERSION = 1
_MARK = 0x6D656D6C  # "meml", SQLite's application_id: tells a bank from any other SQLite file
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- truth
CREATE TABLE conversations (
    id TEXT PRIMARY KEY, moment TEXT NOT NULL, version TEXT NOT NULL, extractor TEXT, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE proposals (
    conversation TEXT, issue INTEGER, category TEXT, moment TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (conversation, issue)) WITHOUT ROWID;
CREATE INDEX proposals_in_order ON proposals (category, moment, conversation, issue);
CREATE TABLE pending (conversation TEXT PRIMARY KEY, reason TEXT NOT NULL, raw TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE decisions (id TEXT PRIMARY KEY, category TEXT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
-- derived: can be deleted and made again
CREATE TABLE operations (
    category TEXT, moment TEXT, conversation TEXT, issue INTEGER, step INTEGER, body TEXT NOT NULL,
    PRIMARY KEY (category, moment, conversation, issue, step)) WITHOUT ROWID;
CREATE TABLE texts (conversation TEXT, text TEXT, PRIMARY KEY (conversation, text)) WITHOUT ROWID;
CREATE INDEX texts_by_text ON texts (text);
CREATE TABLE vectors (text TEXT PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE dirty (category TEXT PRIMARY KEY, moment TEXT NOT NULL) WITHOUT ROWID;
"""


def prepare(db: sqlite3.Connection, path: Path, customer: str) -> None:
    """Check that the file is a bank of this customer and version, or make it one."""
    try:
        fresh = not db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        if not fresh and db.execute("PRAGMA application_id").fetchone()[0] != _MARK:
            raise BankFormatError(f"{path}: a SQLite file, but not a memlab bank; it was not touched")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise BankFormatError(
                f"{path}: written by a newer memlab (format {version}, this one reads {SCHEMA_VERSION}); it was not touched"
            )
        for pragma in ("journal_mode=WAL", "secure_delete=ON", "synchronous=NORMAL"):
            db.execute(f"PRAGMA {pragma}")
        if fresh:
            _create(db, customer)
        owner = db.execute("SELECT value FROM meta WHERE key = 'customer'").fetchone()
        if owner is None or owner[0] != customer:
            raise BankFormatError(f"{path}: the file belongs to another customer")
    except sqlite3.OperationalError as error:
        raise BankError(f"{path}: can't open the bank: {error}") from error
    except sqlite3.DatabaseError as error:
        raise BankFormatError(f"{path}: not a memlab bank, or damaged: {error}; it was not touched") from error


def _create(db: sqlite3.Connection, customer: str) -> None:
    db.execute("BEGIN IMMEDIATE")
    if not db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():  # nobody else was faster
        for statement in _SCHEMA.split(";"):
            db.execute(statement)
        db.execute("INSERT INTO meta VALUES ('customer', ?), ('revision', '0')", (customer,))
        db.execute(f"PRAGMA application_id = {_MARK}")
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    db.execute("COMMIT")
