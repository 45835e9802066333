"""The memory of a stream: generated conversations learned by two workers as fast as they can be sent.

    python benchmarks/scaling/stream.py [--conversations 50000] [--every 5000] > benchmarks/scaling/streamed.json

Prints JSON: the peaks of the sending process (with Dask's scheduler in it) and of the largest worker while the stream
passes, how much either grows with a conversation in its second half, and what that makes at a million. The readers cost
nothing here (**for speed only**), so only back-pressure keeps the stream from piling up. Curation comes at the end, a
category of a customer at a time; its peak grows with the largest category, not with the stream.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile

from memlab.scaling.measuring import memory_of_a_stream

SIZES = ("sender_mb", "worker_mb")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, default=50_000)
    parser.add_argument("--every", type=int, default=5_000)
    parser.add_argument("--customers", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as home:
        rows = memory_of_a_stream(
            home, options.conversations, every=options.every, workers=options.workers, customers=options.customers,
            told=lambda row: print(row, file=sys.stderr),
        )  # fmt: skip
    result = {
        "workers": options.workers,
        "customers": options.customers,
        "load before": round(load, 1),
        "load after": round(os.getloadavg()[0], 1),
        **summary(rows),
        "stream": rows,
    }
    print(json.dumps(result, indent=1))


def summary(rows: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Growth in the second half of the stream, where nothing is loaded for the first time any more."""
    passing = [row for row in rows if "curated" not in row]
    if len(passing) < 2:
        return {}
    middle, last = passing[(len(passing) - 1) // 2], passing[-1]
    n = last["conversations"] - middle["conversations"]
    slope = {k: (last[k] - middle[k]) / n for k in SIZES}
    million = {k: last[k] + slope[k] * (10**6 - last["conversations"]) for k in SIZES}
    return {
        "bytes a conversation": {k: round(slope[k] * 2**20, 1) for k in SIZES},
        "MB at a million": {k: round(million[k]) for k in SIZES},
    }


if __name__ == "__main__":
    main()
