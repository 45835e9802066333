"""Draw memory growing from the shipped corpus into docs/growth.svg: the same bytes every time.

python scripts/growth.py [--customer fabrikam] [--category teams] [-o docs/growth.svg]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from memlab import Bank, learn, read_conversations
from memlab.figures import growth_animation

CORPUS = Path(__file__).resolve().parent.parent / "datasets" / "support" / "conversations.jsonl"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--customer", default="fabrikam")
    parser.add_argument("--category", default="teams")
    parser.add_argument("-o", "--output", type=Path, default=CORPUS.parents[2] / "docs" / "growth.svg")
    options = parser.parse_args(arguments)
    chosen = [
        c for c in read_conversations(CORPUS) if c.customer == options.customer and c.category == options.category
    ]
    if not chosen:
        print(f"growth: no conversation of {options.customer} about {options.category} in {CORPUS}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as home, Bank.open(home, options.customer) as bank:
        learn(bank, chosen)
        text = growth_animation(bank.graph(options.category))
    options.output.write_text(text, encoding="utf-8", newline="\n")
    print(f"{options.output}: {len(text.encode()) // 1024} kB from {len(chosen)} conversations")
    return 0


if __name__ == "__main__":
    sys.exit(main())
