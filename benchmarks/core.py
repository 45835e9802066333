"""Speed of the memory core without an encoder, on generated conversations: replay, one more conversation, size.

    python benchmarks/core.py [--sizes 1000 10000] [--causes 40] [--new 50] [-o FILE]

Prints JSON. The texts and their labels come from the generator (for speed only); the labels stand for what an extractor
would find, and vectors come from a fake encoder, so that all that is timed is memlab's own work. For each size: a replay
from the start, in proposals a second; `--new` conversations learned one by one into the bank of that size, in
milliseconds (median and 95th percentile), in order of time; late arrivals, by half of the history and by 100
conversations, into the open bank and into one that was opened anew, in known words and in new ones (what comes after these
is curated again); and bytes of the file and of the process an edge's piece of evidence.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from memlab.bank import Bank
from memlab.bank.replay import replay
from memlab.bank.texts import texts_of
from memlab.corpus.generator import generate
from memlab.learning import learn
from memlab.records import Attempt, Conversation, Mention, Proposal, Solution

BATCH = 1000


class FakeEncoder:
    """A bag of random word vectors: what is alike stays alike, at no cost."""

    name = "fake-1"

    def __init__(self, dimension: int = 384) -> None:
        self.dimension, self._words = dimension, {}

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        rows = [sum((self._word(w) for w in t.lower().split()), np.full(self.dimension, 1e-3)) for t in texts]
        return np.array([r / np.linalg.norm(r) for r in rows], np.float32).reshape(len(texts), self.dimension)

    def _word(self, word: str) -> np.ndarray:
        if word not in self._words:
            self._words[word] = np.random.default_rng(zlib.crc32(word.encode())).standard_normal(self.dimension)
        return self._words[word]


class Told:
    """An extractor that says what the label says."""

    name = "labels-1"

    def __init__(self, labels: dict[str, dict]) -> None:
        self.labels = labels

    def extract(self, conversation: Conversation) -> list[Proposal]:
        return [proposal(conversation, self.labels[conversation.id])]


def proposal(conversation: Conversation, label: dict) -> Proposal:
    def mention(item: dict) -> Mention:
        return Mention(item["text"], item["turn"], item["quote"])

    s = label["solution"]
    return Proposal(
        conversation=conversation.id,
        category=label["category"],
        symptoms=tuple(map(mention, label["symptoms"])),
        root_cause=mention(label["root_cause"]),
        attempts=tuple(Attempt(a["action"], a["outcome"], a["by"], a["turn"], a["quote"]) for a in label["attempts"]),
        solution=Solution(s["text"], s["turn"], s["quote"], "fix") if s else None,
        resolution=label["resolution"],
    )


def fill(bank: Bank, found: Iterable[tuple[Conversation, dict]], encoder: FakeEncoder) -> None:
    """Store conversations with their proposals and vectors, without curating."""
    known: set[str] = set()
    batch: list[tuple[Conversation, dict]] = []

    def store() -> None:
        with bank.transaction():
            for c, label in batch:
                p = proposal(c, label)
                texts = texts_of(c, [p])
                new = [t for t in texts if t not in known]
                known.update(new)
                vectors = dict(zip(new, encoder.encode(new), strict=True)) if new else {}
                bank.put(c, [p], extractor=Told.name, texts=texts, vectors=vectors)
        batch.clear()

    for item in found:
        batch.append(item)
        if len(batch) == BATCH:
            store()
    store()
    bank.set_meta("encoder", encoder.name)


def milliseconds(bank: Bank, found: Iterable[tuple[Conversation, dict]], encoder: FakeEncoder) -> np.ndarray:
    """How long each conversation takes to be learned by itself: on the clock, and of the processor."""
    taken = []
    for c, label in found:
        started, cpu = time.perf_counter(), time.process_time()
        learn(bank, [c], extractor=Told({c.id: label}), encoder=encoder)
        taken.append((1000 * (time.perf_counter() - started), 1000 * (time.process_time() - cpu)))
    return np.array(taken)


def measure(size: int, causes: int, new: int) -> dict[str, object]:
    encoder = FakeEncoder()
    with tempfile.TemporaryDirectory() as home, Bank.open(home, "customer-000") as bank:
        every = generate(size + new, seed=1, customers=1, causes=causes)
        rest: list[tuple[Conversation, dict]] = []
        late: dict[int, tuple[Conversation, dict]] = {}
        places = {"late_by_half": size // 2, "late_by_100": size - 100, "late_into_reopened": size // 3}

        def history() -> Iterable[tuple[Conversation, dict]]:
            for n, item in enumerate(every):
                if n >= size:
                    rest.append(item)
                elif n in places.values():
                    late[n] = item
                else:
                    yield item

        fill(bank, history(), encoder)
        before = _resident()
        started, cpu = time.perf_counter(), time.process_time()
        done = replay(bank)
        wall, cpu = time.perf_counter() - started, time.process_time() - cpu
        votes = sum(len(v) for c in bank.categories() for v in bank.graph(c).edges.values())
        memory = _resident() - before
        one = milliseconds(bank, rest, encoder)
        of_late = {}
        for name, place in places.items():
            if name == "late_into_reopened":
                bank.states.clear()  # all that opening anew does not know
            of_late[name] = milliseconds(bank, [late[place]], encoder)[0]
        unheard = {k: _in_new_words(v) for k, v in late[size // 2][1].items()}
        again = replace(late[size // 2][0], id="new-words")
        of_late["late_in_new_words_by_half"] = milliseconds(bank, [(again, unheard)], encoder)[0]
        return {
            "conversations": size,
            "replay_proposals_per_second": round(done.proposals / wall),
            "replay_proposals_per_cpu_second": round(done.proposals / cpu),
            "replay_microseconds_per_proposal": round(1e6 * cpu / done.proposals, 1),
            "one_more_ms_p50": round(float(np.median(one[:, 0])), 2),
            "one_more_ms_p95": round(float(np.percentile(one[:, 0], 95)), 2),
            "one_more_cpu_ms_p50": round(float(np.median(one[:, 1])), 2),
            "one_more_cpu_ms_p95": round(float(np.percentile(one[:, 1], 95)), 2),
            **{f"{name}_ms": round(float(wall), 1) for name, (wall, _) in of_late.items()},
            **{f"{name}_cpu_ms": round(float(cpu), 1) for name, (_, cpu) in of_late.items()},
            "entries": sum(len(bank.graph(c).entries) for c in bank.categories()),
            "edge_evidence": votes,
            "file_bytes_per_conversation": round(bank.path.stat().st_size / size),
            "memory_bytes_per_edge_evidence": round(memory / max(1, votes)),
        }


def _in_new_words(value: object) -> object:
    """A label whose wordings nobody has used before."""
    if isinstance(value, dict) and "text" in value:
        return {**value, "text": f"{value['text']} zyxw vuts"}
    return [_in_new_words(v) for v in value] if isinstance(value, list) else value


def _resident() -> int:
    """Bytes of this process that are in memory."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--causes", type=int, default=40)
    parser.add_argument("--new", type=int, default=50)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    rows = []
    for size in options.sizes:
        rows.append({**measure(size, options.causes, options.new), "load": round(os.getloadavg()[0], 1)})
        print(json.dumps(rows[-1]), flush=True)
    if options.output:
        options.output.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
