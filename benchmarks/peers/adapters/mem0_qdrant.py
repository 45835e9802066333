"""mem0 with `infer=False` (no model reads the messages) on its default store, a local Qdrant."""

from __future__ import annotations

import os

os.environ.update(MEM0_TELEMETRY="False", OPENAI_API_KEY="unused")
from mem0 import Memory
from protocol import encoder, turns_of


def open_store(folder):
    os.environ["MEM0_DIR"] = str(folder / "mem0")
    return Mem0(folder)


class Embedder:
    def __init__(self):
        self.encoder = encoder()
        self.config = type("Config", (), {"embedding_dims": 384})()

    def embed(self, text, memory_action=None):  # noqa: ARG002 - its call
        return self.encoder.encode([text])[0].tolist()

    def embed_batch(self, texts, memory_action=None):  # noqa: ARG002 - its call
        return self.encoder.encode(list(texts)).tolist()


class Mem0:
    def __init__(self, folder):
        qdrant = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": 384}
        config = {
            "vector_store": {"provider": "qdrant", "config": qdrant},
            "history_db_path": str(folder / "history.db"),
        }
        self.memory = Memory.from_config(config)
        self.memory.embedding_model = Embedder()

    def add(self, customer, conversations):
        for c in conversations:
            said = [{"role": "user", "content": text} for text in turns_of(c)]
            self.memory.add(said, user_id=customer, infer=False, metadata={"conversation": c["id"]})

    def search(self, customer, query, k):
        found = self.memory.search(query, filters={"user_id": customer}, top_k=k, threshold=0.0)
        return [{"conversations": [r["metadata"]["conversation"]], "text": r["memory"]} for r in found["results"]]

    def count(self, customer):
        return len(self.memory.get_all(filters={"user_id": customer}, top_k=10**6)["results"])

    def forget(self, customer):
        self.memory.delete_all(user_id=customer)

    def close(self):
        self.memory.vector_store.client.close()
