"""What learning costs, as a ratio: time to learn the corpus over the time the bare encoder needs for the same turns.

    python benchmarks/learning.py [datasets/support/conversations.jsonl] [--most 0] [--pairs 3]

Prints JSON. The floor is what any memory that embeds transcripts must pay: one vector for every turn with text. The two
are measured in one process, in turn, and the median of the pairs is reported: on the clock, and in seconds of the
processor, which other work on the machine disturbs less. The floor is given three times: with memlab's own encoder, the
turns handed over at once, and conversation by conversation, as a memory that stores each as it comes must ask; and with
the published weights of all-MiniLM-L6-v2 through sentence-transformers in batches of 32, which is what a user would
otherwise pick.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sentence_transformers import SentenceTransformer

from memlab.bank import Bank
from memlab.corpus import read_conversations
from memlab.extraction import OfflineExtractor
from memlab.learning import learn
from memlab.models.embeddings import OnnxMiniLM
from memlab.models.minilm import minilm_folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("conversations", nargs="?", default="datasets/support/conversations.jsonl")
    parser.add_argument("--most", type=int, default=0, help="only so many conversations; 0 for all")
    parser.add_argument("--pairs", type=int, default=3)
    options = parser.parse_args()
    conversations = list(read_conversations(options.conversations))[: options.most or None]
    turns = [[t.text for t in c.turns if t.text.strip()] for c in conversations]
    encoder = OnnxMiniLM()
    encoder.encode(["warm up"])
    OfflineExtractor(encoder).extract(conversations[0])
    taken: dict[str, list[tuple[float, float]]] = {"at_once": [], "one_by_one": [], "learn": [], "again": []}
    taken["reference"] = []
    reference = SentenceTransformer(str(minilm_folder()), device="cpu")
    for _ in range(options.pairs):
        taken["reference"].append(_seconds(lambda: reference.encode([t for texts in turns for t in texts])))
        taken["at_once"].append(_seconds(lambda: encoder.encode([t for texts in turns for t in texts])))
        taken["one_by_one"].append(_seconds(lambda: [encoder.encode(texts) for texts in turns]))
        with tempfile.TemporaryDirectory() as home:
            for name in ("learn", "again"):
                taken[name].append(_seconds(lambda home=home: _learn(conversations, Path(home), encoder)))
    result: dict[str, object] = {"conversations": len(conversations), "turns": sum(map(len, turns))}
    for n, clock in enumerate(("wall", "cpu")):
        seconds = {name: [pair[n] for pair in pairs] for name, pairs in taken.items()}
        result |= {f"{name}_{clock}_seconds": round(statistics.median(s), 2) for name, s in seconds.items()}
        for floor in ("at_once", "one_by_one", "reference"):
            ratios = [a / b for a, b in zip(seconds["learn"], seconds[floor], strict=True)]
            result[f"learn_over_{floor}_{clock}"] = round(statistics.median(ratios), 2)
    print(json.dumps({**result, "load": round(os.getloadavg()[0], 1)}, indent=1))


def _learn(conversations, home: Path, encoder: OnnxMiniLM) -> None:
    for customer in sorted({c.customer for c in conversations}):
        with Bank.open(home, customer) as bank:
            learn(bank, conversations, extractor=OfflineExtractor(encoder), encoder=encoder)


def _seconds(work: Callable[[], object]) -> tuple[float, float]:
    """How long it takes, on the clock and of the processor."""
    started, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - started, time.process_time() - cpu


if __name__ == "__main__":
    main()
