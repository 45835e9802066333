"""Draw the figures of docs/loop.md from the shipped corpus: the same bytes every time.

    python scripts/figures.py [--customer fabrikam] [--category teams] [-o docs]

Writes pipeline.svg, memory.svg, and figures.json with what each says in words and the numbers that it draws.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from memlab import Bank, learn, read_conversations
from memlab.figures import memory_chart, pipeline_chart

CORPUS = Path(__file__).resolve().parent.parent / "datasets" / "support" / "conversations.jsonl"


def draw(bank: Bank, category: str, folder: Path) -> list[str]:
    """Write the figures of a category into a folder; their names."""
    charts = {"pipeline": pipeline_chart(bank, category), "memory": memory_chart(bank.graph(category))}
    told = {
        name: {
            "title": c.title,
            "alt": c.alt,
            "table": json.loads(c.table.round(3).to_json(orient="split", index=False)),
        }
        for name, c in charts.items()
    }
    for name, chart in charts.items():
        (folder / f"{name}.svg").write_text(chart.svg, encoding="utf-8", newline="\n")
    text = json.dumps(told, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    (folder / "figures.json").write_text(text, encoding="utf-8", newline="\n")
    return sorted(charts)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--customer", default="fabrikam")
    parser.add_argument("--category", default="teams")
    parser.add_argument("-o", "--output", type=Path, default=CORPUS.parents[2] / "docs")
    options = parser.parse_args(arguments)
    everything = read_conversations(CORPUS)
    chosen = [c for c in everything if c.customer == options.customer and c.category == options.category]
    if not chosen:
        print(f"figures: no conversation of {options.customer} about {options.category} in {CORPUS}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as home, Bank.open(home, options.customer) as bank:
        learn(bank, chosen)
        names = draw(bank, options.category, options.output)
    print(f"{', '.join(names)} in {options.output}: from {len(chosen)} conversations")
    return 0


if __name__ == "__main__":
    sys.exit(main())
