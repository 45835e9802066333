"""LangGraph's SqliteStore with an index, an item a turn, a namespace a customer."""

from __future__ import annotations

try:
    import pysqlite3 as sqlite3  # many a Python's own can't load the extension that the store needs
except ImportError:
    import sqlite3

from langgraph.store.sqlite import SqliteStore

from adapters.langgraph_memory import Items, index_of


def open_store(folder):
    db = sqlite3.connect(folder / "store.sqlite", check_same_thread=False, isolation_level=None)
    store = SqliteStore(db, index=index_of())
    store.setup()
    return Items(store)
