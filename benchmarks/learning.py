"""What learning costs, as a ratio: time to learn the corpus over the time the bare encoder needs for the same turns.

    python benchmarks/learning.py [datasets/support/conversations.jsonl]

Prints JSON. The floor is what any memory that embeds transcripts must pay: one vector for every turn with text. The two
are measured in one process, in turn, with the same encoder, and the median of the pairs is reported.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from memlab.bank import Bank
from memlab.corpus import read_conversations
from memlab.extraction import OfflineExtractor
from memlab.learning import learn
from memlab.models.embeddings import OnnxMiniLM


def main(path: str = "datasets/support/conversations.jsonl", pairs: int = 3) -> None:
    conversations = list(read_conversations(path))
    turns = [t.text for c in conversations for t in c.turns if t.text.strip()]
    encoder = OnnxMiniLM()
    encoder.encode(["warm up"])
    OfflineExtractor(encoder).extract(conversations[0])
    floor, cost, again = [], [], []
    for _ in range(pairs):
        floor.append(_seconds(lambda: encoder.encode(turns)))
        with tempfile.TemporaryDirectory() as home:
            cost.append(_seconds(lambda home=home: _learn(conversations, Path(home), encoder)))
            again.append(_seconds(lambda home=home: _learn(conversations, Path(home), encoder)))
    ratio = statistics.median(c / f for c, f in zip(cost, floor, strict=True))
    result = {
        "conversations": len(conversations),
        "turns": len(turns),
        "encoder_seconds": round(statistics.median(floor), 2),
        "learn_seconds": round(statistics.median(cost), 2),
        "learn_over_encoder": round(ratio, 2),
        "learn_again_over_encoder": round(statistics.median(a / f for a, f in zip(again, floor, strict=True)), 3),
        "conversations_per_minute": round(60 * len(conversations) / statistics.median(cost)),
    }
    print(json.dumps(result, indent=1))


def _learn(conversations, home: Path, encoder: OnnxMiniLM) -> None:
    for customer in sorted({c.customer for c in conversations}):
        with Bank.open(home, customer) as bank:
            learn(bank, conversations, extractor=OfflineExtractor(encoder), encoder=encoder)


def _seconds(work) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main(*sys.argv[1:])
