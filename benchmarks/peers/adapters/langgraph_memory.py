"""LangGraph's InMemoryStore with an index, an item a turn, a namespace a customer."""

from __future__ import annotations

from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from protocol import encoder, turns_of


def index_of():
    found = encoder()
    return {"dims": 384, "embed": lambda texts: found.encode(list(texts)).tolist(), "fields": ["text"]}


def open_store(folder):  # noqa: ARG001 - it has no file
    return Items(InMemoryStore(index=index_of()))


class Items:
    """Keys are the conversation and the number of the turn, which spares it the doubles of random keys."""

    def __init__(self, store):
        self.store = store

    def add(self, customer, conversations):
        for c in conversations:
            self.store.batch(
                [
                    PutOp((customer, "turns"), f"{c['id']}/{n}", {"text": text, "conversation": c["id"]})
                    for n, text in enumerate(turns_of(c))
                ]
            )

    def search(self, customer, query, k):
        found = self.store.search((customer, "turns"), query=query, limit=k)
        return [{"conversations": [i.value["conversation"]], "text": i.value["text"]} for i in found]

    def count(self, customer):
        return len(self.store.search((customer, "turns"), limit=10**6))

    def forget(self, customer):
        for item in self.store.search((customer, "turns"), limit=10**6):
            self.store.delete(item.namespace, item.key)

    def close(self):
        pass
