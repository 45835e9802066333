"""A Hindsight server at HINDSIGHT_URL, a bank a customer, a document a conversation, stored as it stands (no model)."""

from __future__ import annotations

import hashlib
import os
import warnings

from hindsight_client import Hindsight
from protocol import turns_of

warnings.simplefilter("ignore")
AT_ONCE = 50  # documents of one request


def open_store(folder):
    return Server(os.environ["HINDSIGHT_URL"], hashlib.sha256(str(folder).encode()).hexdigest()[:8])


class Server:
    """The server asks for vectors over HTTP; documents are named, so that a second ingest replaces them."""

    def __init__(self, url, run):
        self.client, self.run = Hindsight(base_url=url, api_key=os.environ.get("HINDSIGHT_API_KEY")), run
        self.made = set()

    def bank(self, customer):
        name = f"peers-{self.run}-{hashlib.sha256(customer.encode()).hexdigest()[:12]}"
        if name not in self.made:
            self.client.create_bank(name, retain_extraction_mode="chunks", enable_observations=False)
            self.made.add(name)
        return name

    def add(self, customer, conversations):
        items = [{"content": "\n".join(turns_of(c)), "document_id": c["id"]} for c in conversations]
        for start in range(0, len(items), AT_ONCE):
            self.client.retain_batch(self.bank(customer), items[start : start + AT_ONCE])

    def search(self, customer, query, k):
        found = self.client.recall(self.bank(customer), query).results[:k]
        return [{"conversations": [r.document_id], "text": r.text} for r in found if r.document_id]

    def count(self, customer):
        return self.client.list_memories(self.bank(customer), limit=1).total

    def forget(self, customer):
        self.client.delete_bank(self.bank(customer))
        self.made.clear()

    def close(self):
        self.client.close()
