"""What rendering costs: the skill of 10,000 conversations about one topic, first and again.

    python benchmarks/rendering.py [conversations]

Prints JSON. The graph is learned from generated conversations (for speed only) with their own labels and a small encoder
that needs no model; "first" pays for the weights of the view, "again" finds them there. Medians of several renderings, in
processor time.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time

from speed import generated_graph

from memlab.rendering import render_skill


def main(count: str = "10000", repeats: int = 9) -> None:
    graph = generated_graph(int(count))
    render_skill(graph, budget=800)  # the tokenizer is loaded
    first, again = [], []
    for _ in range(repeats):
        view = graph.view()
        first.append(_milliseconds(lambda view=view: render_skill(view, budget=800)))
        again.append(_milliseconds(lambda view=view: render_skill(view, budget=800)))
    result = {
        "conversations": len(graph.conversations),
        "entries": len(graph.entries),
        "edges": len(graph.edges),
        "first_ms": round(statistics.median(first), 1),
        "again_ms": round(statistics.median(again), 1),
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(result, indent=1))


def _milliseconds(work) -> float:
    started = time.process_time()  # of this process alone: others on the machine must not count
    work()
    return 1000 * (time.process_time() - started)


if __name__ == "__main__":
    main(*sys.argv[1:])
