"""How fast learned banks are curated again from the start, without an encoder: on the wordings that were read out of them.

    memlab learn datasets/support/conversations.jsonl --home HOME
    python benchmarks/replaying.py HOME [--repeats 3]

Prints JSON: proposals a second of the processor, the first time in this process (nothing of the wordings is known to it)
and the best of the repeats. Nothing is written.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

from memlab.bank import Bank
from memlab.bank.connection import connect, disconnect
from memlab.bank.replay import derive


def customers(home: Path) -> list[str]:
    """Whose banks lie in a folder."""
    found = []
    for path in sorted(home.glob("*.bank")):
        db = connect(path, create=False)
        found += [row[0] for row in db.execute("SELECT value FROM meta WHERE key = 'customer'")]
        disconnect(path, db)
    return found


def seconds(banks: list[Bank]) -> float:
    started = time.process_time()
    for bank in banks:
        for category in bank.proposed():
            derive(bank, category)
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    banks = [Bank.open(options.home, name, create=False) for name in customers(options.home)]
    proposals = sum(bank.count("proposals") for bank in banks)
    first, again = seconds(banks), min(seconds(banks) for _ in range(options.repeats))
    result = {"proposals": proposals, "first_per_cpu_second": round(proposals / first)}
    print(
        json.dumps({**result, "again_per_cpu_second": round(proposals / again), "load": round(os.getloadavg()[0], 1)})
    )


if __name__ == "__main__":
    main()
