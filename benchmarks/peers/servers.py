"""A peer that is a server: started for one run, with an empty database, and ended with it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from environments import SkippedError

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Served:
    """What an adapter must know of its server, and where the server keeps its files; of most peers nothing."""

    env: dict[str, str] = field(default_factory=dict)
    files: Path | None = None


@contextmanager
def served(peer: dict[str, Any], cache: Path, *, seconds: float) -> Iterator[Served]:
    """The server of a peer while the context lasts.

    Raises
    ------
    SkippedError
        If it does not start in the time given.
    """
    if "server" not in peer:
        yield Served()
        return
    folder = (cache / f"{peer['folder']}-server").resolve()
    shutil.rmtree(folder / "postgres", ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(ROOT / peer["server"]), str(folder), "--json"]
    with (folder / "start.log").open("w+", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            yield Served(_told(process, log, seconds), folder / "postgres")
        finally:
            process.terminate()
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout:
                process.stdout.close()


def _told(process: subprocess.Popen[str], log: TextIO, seconds: float) -> dict[str, str]:
    """The variables that a server prints when it is ready."""
    assert process.stdout
    late = threading.Timer(seconds, process.terminate)
    late.start()
    line = process.stdout.readline()
    late.cancel()
    if not line:
        log.seek(0)
        words = log.read().strip().splitlines()
        raise SkippedError(f"its server did not start: {words[-1] if words else f'not within {seconds:.0f} s'}")
    told: dict[str, str] = json.loads(line)
    return told
