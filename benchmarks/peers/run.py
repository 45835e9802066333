"""memlab and what a user would otherwise pick, in one run: same conversations, queries, encoder and token budget.

    python benchmarks/peers/run.py --cache ~/.cache/memlab-peers [--conversations 60] [--queries 60] [-o peers.md]

Prints JSON; `-o` writes the table. Each peer runs in a process and an environment of its own; one that can't be installed
is skipped with a line. The table says where memlab is behind.
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
from measure import measure, scores_of

from memlab.corpus import read_conversations
from memlab.evaluation.labels import read_labels
from memlab.evaluation.queries import GoldCauses, Query, RankedHit, gold_causes, read_queries

ROOT = Path(__file__).parent.parent.parent
BETTER = {  # column -> whether more is better
    "conversations/s": True, "p50 ms": False, "p95 ms": False, "recall@1": True, "recall@3": True, "recall@5": True,
    "hard recall@1": True, "bytes": False, "MB": False, "items again": False, "texts left in files": False,
    "names that read others'": False, "names lost": False,
}  # fmt: skip


def main() -> None:
    options = _options()
    spec = json.loads((Path(__file__).parent / "peers.json").read_text("utf-8"))
    conversations, queries, gold = sample(options.data, options.conversations, options.queries, options.seed)
    rows: dict[str, dict[str, Any]] = bounds(conversations, queries, gold, options.seed)
    skipped = dict(spec["left_out"])
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    for peer in spec["peers"]:
        if options.only and peer["name"] not in options.only:
            continue
        try:
            python = python_of(peer, spec, options.cache, seconds=options.install_seconds)
            print(f"running {peer['name']}", file=sys.stderr)
            with tempfile.TemporaryDirectory() as folder:
                rows[peer["name"]] = measure(
                    python, peer["adapter"], Path(folder), conversations, queries, gold, budget=options.budget
                )
        except (SkippedError, RuntimeError) as why:
            skipped[peer["name"]] = str(why)
            print(f"skipped {peer['name']}: {why}", file=sys.stderr)
            continue
        if "stores" in peer:
            rows[peer["name"]]["texts left in files"] = rows[peer["name"]]["bytes"] = peer["stores"]
    result = {
        "conversations": len(conversations),
        "turns": sum(len(c.turns) for c in conversations),
        "customers": len({c.customer for c in conversations}),
        "queries": len(queries),
        "hard negatives": sum(q.hard_negative for q in queries),
        "budget": options.budget,
        "load before": round(load, 1),
        "load after": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {p["name"]: p["packages"] for p in spec["peers"] if p.get("packages") and p["name"] in rows},
        "rows": rows,
        "skipped": skipped,
    }
    print(json.dumps(result, indent=1))
    if options.output:
        options.output.write_text(markdown(result), "utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, help="folder for the peers' environments")
    parser.add_argument("--data", type=Path, default=ROOT / "datasets/support")
    parser.add_argument("--conversations", type=int, default=60)
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--budget", type=int, default=800, help="WordPiece tokens that may be read for a query")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="names of peers")
    parser.add_argument("--install-seconds", type=float, default=300)
    parser.add_argument("-o", "--output", type=Path)
    return parser.parse_args()


def sample(data: Path, n: int, m: int, seed: int) -> tuple[list[Any], list[Query], GoldCauses]:
    """Conversations drawn by seed, and queries (none that memlab was trained on) whose cause is among them."""
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
        if q.split != "train"
    ]
    fitting = [q for q in asked if gold.bank(q) & set(q.root_cause_ids)]
    return conversations, draw.sample(fitting, min(m, len(fitting))), gold


def bounds(conversations: list[Any], queries: list[Query], gold: GoldCauses, seed: int) -> dict[str, dict[str, Any]]:
    """Two rows without a memory: a random order, and one that knows the answer."""
    draw = random.Random(seed)
    chance, oracle = {}, {}
    for q in queries:
        mine = sorted(c.id for c in conversations if c.customer == q.customer)
        chance[q.id] = [RankedHit((c,)) for c in draw.sample(mine, len(mine))]
        right = [c for c in mine if gold.causes[c] & set(q.root_cause_ids)]
        oracle[q.id] = [RankedHit((c,)) for c in right]
    return {
        "random order": dict(scores_of(chance, queries, gold)),
        "oracle": dict(scores_of(oracle, queries, gold)),
    }


def markdown(result: dict[str, Any]) -> str:
    """The table, and in words where memlab is behind."""
    rows = result["rows"]
    columns = ["conversations/s", "p50 ms", "p95 ms", "recall@1", "recall@3", "recall@5", "hard recall@1", "bytes", "MB",
               "items again", "texts left in files", "names that read others'", "names refused", "names lost"]  # fmt: skip
    out = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    out += [f"| {name} | " + " | ".join(_cell(c, row.get(c)) for c in columns) + " |" for name, row in rows.items()]
    said = (
        "Made by `python benchmarks/peers/run.py --cache FOLDER`: "
        f"{result['conversations']} conversations ({result['turns']} turns, {result['customers']} customers), "
        f"{result['queries']} queries whose cause is among them ({result['hard negatives']} hard negatives), "
        f"{result['budget']} tokens to read a query, all categories at once; {result['processors']} processors, "
        f"load {result['load before']} before and {result['load after']} after: times are upper bounds. "
        "*items again*: items after the second ingest over items after the first. "
        "*texts left in files*: of the customer that was forgotten. "
        "Items are turns, except for BM25S (transcripts) and memlab (entries)."
    )
    behind = "\n".join(f"- {line}" for line in beaten(rows)) or "- nowhere in this run"
    left = "\n".join(f"- {name}: {why}" for name, why in result["skipped"].items())
    versions = sorted({p for packages in result["versions"].values() for p in packages})
    return "\n\n".join(
        [said, "\n".join(out), "Where memlab is behind:", behind, "Not in the table:", left,
         f"Versions: {', '.join(versions)}."]
    ) + "\n"  # fmt: skip


def _cell(column: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if column.endswith(("@1", "@3", "@5")) or column == "items again":
        return f"{value:.2f}"
    return f"{value:,.0f}" if value >= 100 or float(value).is_integer() else f"{value:.1f}"


def beaten(rows: dict[str, dict[str, Any]]) -> list[str]:
    """Each column in which another memory does better than memlab, with the best one."""
    ours, out = rows.get("memlab", {}), []
    others = {n: r for n, r in rows.items() if not n.startswith("memlab") and n not in ("random order", "oracle")}
    for column, more in BETTER.items():
        known = {n: r[column] for n, r in others.items() if isinstance(r.get(column), (int, float))}
        if not known or not isinstance(ours.get(column), (int, float)):
            continue
        best = (max if more else min)(sorted(known), key=known.__getitem__)
        if (known[best] > ours[column]) if more else (known[best] < ours[column]):
            out.append(f"{column}: {_cell(column, ours[column])}, {best} has {_cell(column, known[best])}")
    return out


if __name__ == "__main__":
    main()
