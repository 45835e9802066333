"""How learning scales: measured with 1 and 2 workers, fitted, and computed up to 1,000 workers and 10⁹ conversations.

    python benchmarks/scaling/run.py [--sample 192] [--workers 1 2] > benchmarks/scaling/measured.json

Prints JSON. Costs are CPU seconds of this machine; throughput is told on the clock, which depends on the load printed
beside it, and in CPU seconds of the busiest worker, which hardly does. `stream.py` measures the memory of a stream.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from dataclasses import asdict
from pathlib import Path

from memlab.corpus import read_conversations
from memlab.scaling.measuring import measured_costs, throughput
from memlab.scaling.study import bends, scenarios

ROOT = Path(__file__).parent.parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT / "datasets/support/conversations.jsonl")
    parser.add_argument("--sample", type=int, default=192)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--folds", type=int, nargs="*", default=[250, 500, 1000, 2000, 4000])
    parser.add_argument("--conversations", type=int, default=10**9)
    parser.add_argument("--customers", type=int, default=1000)
    options = parser.parse_args()
    everything = list(read_conversations(options.data))
    sample = everything[:: max(1, len(everything) // options.sample)][: options.sample]
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as home:
        costs = measured_costs(sample, Path(home) / "costs", sizes=options.folds)
        measured = [throughput(sample, home, workers=w) for w in options.workers]
    frame = scenarios(costs, conversations=options.conversations, customers=options.customers)
    result = {
        "machine": {
            "processors": os.cpu_count(),
            "python": platform.python_version(),
            "load before": round(load, 1),
            "load after": round(os.getloadavg()[0], 1),
        },
        "sample": len(sample),
        "folds": options.folds,
        "costs": {k: v for k, v in asdict(costs).items() if v != float("inf")},
        "measured": measured,
        "bends": bends(frame).to_dict("records"),
        "simulated": frame.to_dict("records"),
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
