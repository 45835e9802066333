"""A plain SQLite FTS5 table, a row a turn."""

from __future__ import annotations

import re
import sqlite3

from protocol import turns_of


def open_store(folder):
    return Table(folder)


class Table:
    def __init__(self, folder):
        self.db = sqlite3.connect(folder / "fts5.sqlite")
        self.db.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS turns USING fts5(text, customer UNINDEXED, conversation UNINDEXED)"
        )

    def add(self, customer, conversations):
        rows = [(text, customer, c["id"]) for c in conversations for text in turns_of(c)]
        self.db.executemany("INSERT INTO turns VALUES (?, ?, ?)", rows)
        self.db.commit()

    def search(self, customer, query, k):
        words = " OR ".join(f'"{w}"' for w in re.findall(r"\w+", query))
        sql = "SELECT conversation, text FROM turns WHERE turns MATCH ? AND customer = ? ORDER BY rank, rowid LIMIT ?"
        found = self.db.execute(sql, (words or '""', customer, k))
        return [{"conversations": [c], "text": t} for c, t in found]

    def count(self, customer):
        return self.db.execute("SELECT count(*) FROM turns WHERE customer = ?", (customer,)).fetchone()[0]

    def forget(self, customer):
        self.db.execute("DELETE FROM turns WHERE customer = ?", (customer,))
        self.db.commit()

    def close(self):
        self.db.close()
