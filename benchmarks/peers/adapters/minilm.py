"""A matrix of MiniLM vectors, a row a turn, a file a customer: the bare encoder with a product."""

from __future__ import annotations

import json

import numpy as np
from protocol import encoder, turns_of


def open_store(folder):
    return Matrix(folder)


class Matrix:
    def __init__(self, folder):
        self.folder, self.encoder, self.rows, self.vectors = folder, encoder(), {}, {}

    def add(self, customer, conversations):
        new = [(c["id"], text) for c in conversations for text in turns_of(c)]
        vectors = self.encoder.encode([text for _, text in new])
        self.rows[customer] = self.rows.get(customer, []) + new
        self.vectors[customer] = np.concatenate([self.vectors.get(customer, vectors[:0]), vectors])
        self.save()

    def save(self):
        np.savez(self.folder / "vectors.npz", **{f"m{n}": v for n, v in enumerate(self.vectors.values())})
        (self.folder / "rows.json").write_text(json.dumps(self.rows, ensure_ascii=False), "utf-8")

    def search(self, customer, query, k):
        if not self.rows.get(customer):
            return []
        scores = np.round(self.vectors[customer] @ self.encoder.encode([query])[0], 6)
        best = np.argsort(-scores, kind="stable")[:k]
        rows = [self.rows[customer][n] for n in best]
        return [{"conversations": [c], "text": text} for c, text in rows]

    def count(self, customer):
        return len(self.rows.get(customer, ()))

    def forget(self, customer):
        self.rows.pop(customer, None)
        self.vectors.pop(customer, None)
        self.save()

    def close(self):
        pass
