"""The memory of a stream: generated conversations of several lengths, learned by two workers as fast as they can.

    python benchmarks/scaling/stream.py [400 1200 2000]

Prints JSON: the peaks of the sending process and of the largest worker, and how much either grows with a conversation.
The readers cost nothing here (**for speed only**), so only back-pressure keeps the stream from piling up.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile

from memlab.scaling.measuring import memory_of_a_stream


def main(*sizes: str) -> None:
    with tempfile.TemporaryDirectory() as home:
        stream = memory_of_a_stream(home, [int(s) for s in sizes] or [400, 1200, 2000])
    result = {
        "load": round(os.getloadavg()[0], 1),
        "stream": stream,
        "bytes a conversation": slope(stream),
        "MB at a million": at(stream, 10**6),
    }
    print(json.dumps(result, indent=1))


def slope(stream: list[dict[str, float]]) -> dict[str, float]:
    """Growth between the two longest streams: the first one also pays for what is loaded once."""
    if len(stream) < 2:
        return {}
    first, last = stream[-2:]
    n = last["conversations"] - first["conversations"]
    return {k: round((last[k] - first[k]) * 2**20 / n, 1) for k in ("sender_mb", "worker_mb")}


def at(stream: list[dict[str, float]], conversations: int) -> dict[str, float]:
    """Extrapolated on the line through the two longest streams."""
    last = stream[-1]
    return {
        k: round(last[k] + grown * (conversations - last["conversations"]) / 2**20)
        for k, grown in slope(stream).items()
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
