"""The page of a run: what was done, three tables, and in words where memlab is behind.

python benchmarks/peers/table.py < benchmarks/peers/measured.json > docs/peers.md
"""

from __future__ import annotations

import json
import sys
from typing import Any

NO_MEMORY = ("random order", "oracle")
SPEED = {  # column -> whether more is better
    "conversations/s": True, "CPU ms each": False, "p50 ms": False, "p95 ms": False, "p95 ms less encoder": False, "bytes": False, "MB": False,
}  # fmt: skip
RECALL = {"recall@1": True, "recall@3": True, "recall@5": True, "hard recall@1": True}
CARE = {
    "items again": False, "listed after forget": False, "% left in files": False, "names that read others'": False,
    "names lost": False,
}  # fmt: skip

SAID = """# Beside other memories

What a user could pick instead of memlab, in one run: the same conversations, the same questions, the same encoder
(memlab's int8 all-MiniLM-L6-v2, in the peer's process) and the same tokens to read for an answer. Each peer has a process
and an environment of its own. Made by

```bash
{command} -o docs/peers.md
```

from {conversations} conversations ({turns} turns, {customers} customers) and {queries} questions of the test split
whose cause is among them, {hard} of them hard negatives (worded like another problem). {budget} tokens may be read for a
question; all categories are searched at once. The machine has {processors} processors and Python {python}; its load was
{before} before and {after} after. Where that is more than the processors, times on the clock are upper bounds, and not
the same for all rows.
"""
SPEED_SAID = """## Speed and size

*CPU ms each* is the processor's time for a conversation, over all threads, which other work on the machine disturbs less
than the clock. *texts encoded* are those that the encoder was given in the first ingest, *encoder's share* is the part of
that time that it took, *less encoder* is a search without the encoding of its question. memlab does more while it takes
in: it reads out of each conversation what was wrong, what was tried and what helped, with a network of its own, and
merges it with what it knows; the others store what was said, by turn (BM25S and Hindsight by transcript). Hindsight's
server asks for the vectors over HTTP; its processor time and memory are its own.
"""
RECALL_SAID = """## Recall

The right root cause among the first hits that fit into the budget. *memlab* is silent where it finds nothing that fits,
which counts as wrong here; *always answering* takes that away. *ahead* is memlab's recall less the row's, paired,
with a 95 % interval (bootstrap over root causes).
"""
CARE_SAID = """## What is left behind

*items again*: items after the same conversations came a second time, over those after the first. *left in files*: of the
own turns of the customer that was forgotten, the share that still stands in the files, byte by byte. *names*: customers
called acme, ACME, ' acme ', acme2, acme.eu, acme/eu, a_me, a%, *, acmé and nothing at all; a refused name is no fault.
"""


def page(result: dict[str, Any]) -> str:
    """The page in Markdown."""
    rows, ahead = result["rows"], result["ahead by"]
    said = SAID.format(
        **{k: result[k] for k in ("command", "conversations", "turns", "customers", "queries", "budget", "processors")},
        python=result["python"], hard=result["hard negatives"], before=result["load before"], after=result["load after"],
    )  # fmt: skip
    memories = {name: row for name, row in rows.items() if name not in NO_MEMORY}
    speed = ("conversations/s", "CPU ms each", "texts encoded", "encoder's share", *list(SPEED)[2:])
    recall = {name: row | _ahead(ahead.get(name, {})) for name, row in rows.items()}
    care = ("items again", "again/s", "listed after forget", "% left in files", "names that read others'",
            "names refused", "names lost")  # fmt: skip
    left = [f"- {name}: {why}" for name, why in result["skipped"].items()]
    versions = sorted({p.split(";")[0] for packages in result["versions"].values() for p in packages})
    parts = [
        said, SPEED_SAID, table(memories, speed), RECALL_SAID, table(recall, (*RECALL, "ahead @1", "ahead, hard")),
        CARE_SAID, table(memories, care), "## Where memlab is behind",
        "\n".join(f"- {line}" for line in beaten(rows, ahead)) or "Nowhere in this run.",
        "## Not in the tables", "\n".join(left) or "Nothing.", f"Versions: {', '.join(versions)}." if versions else "",
    ]  # fmt: skip
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def table(rows: dict[str, dict[str, Any]], columns: tuple[str, ...]) -> str:
    """Rows in Markdown."""
    lines = [f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(cell(c, row.get(c)) for c in columns)} |" for name, row in rows.items()]
    return "\n".join(lines)


def cell(column: str, value: Any) -> str:
    """A value as it is shown: two digits where it is a share."""
    if value is None or value != value:
        return ""
    if isinstance(value, str):
        return value
    if "recall" in column or column in ("items again", "encoder's share"):
        return f"{value:.2f}"
    return f"{value:,.0f}" if value >= 100 or float(value).is_integer() else f"{value:.1f}"


def _ahead(found: dict[str, dict[str, Any]]) -> dict[str, str]:
    names = {"recall@1": "ahead @1", "hard recall@1": "ahead, hard"}
    return {
        names[column]: f"{of['by']:+.2f} [{of['low']:+.2f}, {of['high']:+.2f}]"
        for column, of in found.items()
        if column in names
    }


def beaten(rows: dict[str, dict[str, Any]], ahead: dict[str, dict[str, dict[str, Any]]]) -> list[str]:
    """Each column in which another memory does better than memlab: by the best, and by the best of those that encode."""
    ours, out = rows.get("memlab", {}), []
    others = {n: r for n, r in rows.items() if not n.startswith("memlab") and n not in NO_MEMORY}
    encoding = {n: r for n, r in others.items() if r.get("texts encoded") != 0}
    for column, more in (SPEED | RECALL | CARE).items():
        better = [_best(peers, ours, column, more) for peers in (others, encoding)]
        said = [_has(name, others[name], column, ahead) for name in dict.fromkeys(filter(None, better))]
        if len(said) == 2:
            said[1] = f"of those that encode, {said[1]}"
        if said:
            out.append(f"{column}: {cell(column, ours[column])}; {'; '.join(said)}")
    return out


def _best(rows: dict[str, dict[str, Any]], ours: dict[str, Any], column: str, more: bool) -> str | None:
    """The row with the best value of a column, if that is better than ours."""
    known = {n: r[column] for n, r in rows.items() if isinstance(r.get(column), (int, float))}
    if not known or not isinstance(ours.get(column), (int, float)):
        return None
    best = (max if more else min)(sorted(known), key=known.__getitem__)
    return best if ((known[best] > ours[column]) if more else (known[best] < ours[column])) else None


def _has(name: str, row: dict[str, Any], column: str, ahead: dict[str, dict[str, dict[str, Any]]]) -> str:
    sure = ahead.get(name, {}).get(column)
    doubt = " (the interval of the difference includes 0)" if sure and sure["high"] >= 0 else ""
    return f"{name} has {cell(column, row[column])}{doubt}"


if __name__ == "__main__":
    print(page(json.load(sys.stdin)), end="")
