"""memlab and what a user would otherwise pick, in one run: same conversations, queries, encoder and token budget.

    python benchmarks/peers/run.py --cache /var/tmp/memlab-peers [--conversations 400] [--queries 269] [-o docs/peers.md]

Prints JSON; `-o` writes the page. Each peer runs in a process and an environment of its own (with pinned versions, in
the cache); one that can't be installed or started is skipped with a line. Hindsight's server is started for the run;
its database refuses to run as root, so root names a cache that others can enter. The page says where memlab is behind.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from environments import SkippedError, python_of
from measure import Values, measure, scores_of, values_of
from servers import served
from table import page

from memlab.corpus import read_conversations
from memlab.evaluation.labels import read_labels
from memlab.evaluation.queries import GoldCauses, Query, RankedHit, gold_causes, read_queries
from memlab.evaluation.statistics import paired_difference

ROOT = Path(__file__).parent.parent.parent


def main() -> None:
    options = _options()
    spec = json.loads((Path(__file__).parent / "peers.json").read_text("utf-8"))
    conversations, queries, gold = sample(options.data, options.conversations, options.queries, options.seed)
    rows, values = bounds(conversations, queries, gold, options.seed)
    skipped = {name: f"left out: {why}" for name, why in spec["left_out"].items()}
    load = _load()
    for peer in spec["peers"]:
        if options.only and peer["name"] not in options.only:
            continue
        try:
            python = python_of(peer, spec, options.cache, seconds=options.install_seconds)
            print(f"running {peer['name']}", file=sys.stderr)
            with (
                tempfile.TemporaryDirectory() as folder,
                served(peer, options.cache, seconds=options.install_seconds) as server,
            ):
                row, found = measure(
                    python, peer["adapter"], Path(folder), conversations, queries, gold, budget=options.budget,
                    served=server,
                )  # fmt: skip
        except (SkippedError, RuntimeError) as why:
            skipped[peer["name"]] = str(why)
            print(f"skipped {peer['name']}: {why}", file=sys.stderr)
            continue
        rows[peer["name"]] = row | peer.get("unknown", {})
        values[peer["name"]] = found
    result = {
        "command": f"python benchmarks/peers/run.py --cache FOLDER --conversations {options.conversations} "
        f"--queries {options.queries}",
        "conversations": len(conversations),
        "turns": sum(len(c.turns) for c in conversations),
        "customers": len({c.customer for c in conversations}),
        "queries": len(queries),
        "hard negatives": sum(q.hard_negative for q in queries),
        "budget": options.budget,
        "load before": load,
        "load after": _load(),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {p["name"]: p["packages"] for p in spec["peers"] if p.get("packages") and p["name"] in rows},
        "rows": rows,
        "ahead by": ahead(values, queries, options.seed),
        "skipped": skipped,
    }
    print(json.dumps(result, indent=1))
    if options.output:
        options.output.write_text(page(result), "utf-8")


def _load() -> float | None:
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, help="folder for the peers' environments")
    parser.add_argument("--data", type=Path, default=ROOT / "datasets/support")
    parser.add_argument("--conversations", type=int, default=400)
    parser.add_argument("--queries", type=int, default=269)
    parser.add_argument("--budget", type=int, default=800, help="WordPiece tokens that may be read for a query")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="names of peers")
    parser.add_argument("--install-seconds", type=float, default=300)
    parser.add_argument("-o", "--output", type=Path)
    return parser.parse_args()


def sample(data: Path, n: int, m: int, seed: int) -> tuple[list[Any], list[Query], GoldCauses]:
    """Conversations drawn by seed, and queries of the test split (memlab never saw it) whose cause is among them."""
    everything = sorted(read_conversations(data / "conversations.jsonl"), key=lambda c: c.id)
    draw = random.Random(seed)  # a sample, no secret
    conversations = draw.sample(everything, min(n, len(everything)))
    labels = read_labels(data / "labels.jsonl")
    gold = gold_causes(labels, conversations)
    asked = [
        Query(
            q.id, q.query, q.customer, None, q.symptom_ids, q.root_cause_ids, q.solution_ids, q.hard_negative, q.split
        )
        for q in read_queries(data / "paraphrases.jsonl")
        if q.split == "test"
    ]
    fitting = [q for q in asked if gold.bank(q) & set(q.root_cause_ids)]
    return conversations, draw.sample(fitting, min(m, len(fitting))), gold


def bounds(
    conversations: list[Any], queries: list[Query], gold: GoldCauses, seed: int
) -> tuple[dict[str, dict[str, Any]], dict[str, Values]]:
    """Two rows without a memory: a random order, and one that knows the answer."""
    draw = random.Random(seed)
    chance, oracle = {}, {}
    for q in queries:
        mine = sorted(c.id for c in conversations if c.customer == q.customer)
        chance[q.id] = [RankedHit((c,)) for c in draw.sample(mine, len(mine))]
        right = [c for c in mine if gold.causes[c] & set(q.root_cause_ids)]
        oracle[q.id] = [RankedHit((c,)) for c in right]
    values = {name: values_of(of, queries, gold) for name, of in (("random order", chance), ("oracle", oracle))}
    return {name: dict(scores_of(found)) for name, found in values.items()}, values


def ahead(values: dict[str, Values], queries: list[Query], seed: int) -> dict[str, dict[str, dict[str, Any]]]:
    """By how much memlab is ahead of each other row in recall, paired, over root causes."""
    clusters = {q.id: min(q.root_cause_ids) for q in queries}
    out: dict[str, dict[str, dict[str, Any]]] = {}
    for name in values if "memlab" in values else ():
        if name in ("memlab", "random order", "oracle"):
            continue
        out[name] = {}
        for column, mine in values["memlab"].items():
            if mine:
                own = {q: clusters[q] for q in mine}
                found = paired_difference(values[name][column], mine, seed=seed, clusters=own)
                low, high = found.interval.low, found.interval.high
                out[name][column] = {"by": found.difference, "low": low, "high": high, "p": found.p}
    return out


if __name__ == "__main__":
    main()
