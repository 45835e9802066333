"""What a question costs: recall in a warm bank of 100,000 conversations, beside the encoder's time for the question.

    python benchmarks/recalling.py [conversations] [rounds] [folder]

Prints JSON. The bank is generated (for speed only) with stored vectors that need no model, in a folder that is kept for
the next run if one is named; the questions are encoded by the real encoder, which is timed alone, and recall is timed
with the vector at hand, in one topic and in all six. All in one process, question by question, in processor time.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from speed import generated_bank

from memlab.bank import Bank, bank_path
from memlab.models.embeddings import OnnxMiniLM
from memlab.recalling import recall

CUSTOMER = "customer-000"
QUESTIONS = (
    "the client closes with a code as soon as I open it",
    "my audio device works once and then fails, since Monday",
    "it hangs at some percent and I have to leave for a customer",
    "nobody at our site can print to the badge reader any more",
    "shared mailbox asks for the password again and again",
    "gateway shows code 0x1A2B0003 and closes",
)


class Known:
    """An encoder that has encoded the question already."""

    name = "known"

    def __init__(self, vector: np.ndarray) -> None:
        self._vector = vector

    def encode(self, texts) -> np.ndarray:
        return np.stack([self._vector for _ in texts])


def main(count: str = "100000", rounds: str = "20", folder: str = "") -> None:
    encoder = OnnxMiniLM()
    encoder.encode(["warm up"])
    with tempfile.TemporaryDirectory() as temporary:
        started, home = time.perf_counter(), Path(folder or temporary)
        kept = bank_path(home, CUSTOMER).exists()
        bank = Bank.open(home, CUSTOMER) if kept else generated_bank(home, int(count))
        written = time.perf_counter() - started
        started = time.perf_counter()
        categories = bank.categories()
        for category in (*categories, None):
            recall(bank, "warm up", category=category, encoder=encoder, least=0.0)
        indexed = time.perf_counter() - started
        encode, one, everything = [], [], []
        for n in range(int(rounds)):
            for question in QUESTIONS:
                took, vector = _timed(lambda q=question: encoder.encode([q])[0])
                encode.append(took)
                known, category = Known(vector), categories[n % len(categories)]
                one.append(
                    _timed(lambda q=question, k=known, c=category: recall(bank, q, category=c, encoder=k, least=0.0))[0]
                )
                everything.append(_timed(lambda q=question, k=known: recall(bank, q, encoder=k, least=0.0))[0])
        (conversations,) = bank.rows("SELECT count(*) FROM conversations")[0]
        bank.close()
    encoder_ms = float(np.median(encode))
    result = {
        "conversations": conversations,
        "write_seconds": round(written, 1),
        "index_seconds": round(indexed, 1),
        "encoder_ms": {"p50": round(encoder_ms, 2), "p95": round(float(np.quantile(encode, 0.95)), 2)},
        "recall_without_encoder_ms": {
            name: {"p50": round(float(np.median(v)), 2), "p95": round(float(np.quantile(v, 0.95)), 2)}
            for name, v in (("one topic", one), ("all topics", everything))
        },
        "query_p95_ms": {
            name: round(float(np.quantile(np.array(encode) + v, 0.95)), 2)
            for name, v in (("one topic", one), ("all topics", everything))
        },
        "bar_ms (2 x encoder p50 + 5)": round(2 * encoder_ms + 5, 2),
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(result, indent=1))


def _timed(work):
    started = time.process_time()  # of this process alone: others on the machine must not count
    value = work()
    return 1000 * (time.process_time() - started), value


if __name__ == "__main__":
    main(*sys.argv[1:])
