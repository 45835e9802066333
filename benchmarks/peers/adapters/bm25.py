"""BM25S over whole transcripts, an index a customer, built anew when something came."""

from __future__ import annotations

import json

import bm25s
from protocol import turns_of


def open_store(folder):
    return Index(folder)


class Index:
    def __init__(self, folder):
        self.folder, self.rows, self.built = folder, [], {}

    def add(self, customer, conversations):
        self.rows += [{"customer": customer, "id": c["id"], "text": "\n".join(turns_of(c))} for c in conversations]
        self.build(customer)

    def build(self, customer):
        mine = [r for r in self.rows if r["customer"] == customer]
        index = bm25s.BM25()
        if mine:
            index.index(bm25s.tokenize([r["text"] for r in mine], show_progress=False), show_progress=False)
        self.built[customer] = (index, mine)
        (self.folder / "rows.json").write_text(json.dumps(self.rows, ensure_ascii=False), "utf-8")

    def search(self, customer, query, k):
        index, mine = self.built.get(customer, (None, []))
        tokens = bm25s.tokenize([query], show_progress=False)
        if not mine or not tokens.vocab:
            return []
        found, scores = index.retrieve(tokens, k=min(k, len(mine)), show_progress=False)
        pairs = zip(found[0].tolist(), scores[0].tolist(), strict=True)
        return [{"conversations": [mine[n]["id"]], "text": mine[n]["text"]} for n, score in pairs if score > 0]

    def count(self, customer):
        return sum(r["customer"] == customer for r in self.rows)

    def forget(self, customer):
        self.rows = [r for r in self.rows if r["customer"] != customer]
        self.build(customer)

    def close(self):
        pass
