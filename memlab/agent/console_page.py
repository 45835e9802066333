"""The console as a page of its own: Voilà serves a notebook of one cell, on this machine only."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from memlab.errors import InputError

__all__ = ["serve_console", "start_console", "write_page"]

_CELL = """\
import os
from memlab.agent.console import Console
Console.open(os.environ["MEMLAB_CONSOLE_HOME"])
"""


# Nothing is fetched from elsewhere: Voilà's own template asks a public network for icons that the console does not use.
_POLICY = (
    "default-src 'self' data: blob:; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self' ws://127.0.0.1:*; frame-ancestors 'self'; object-src 'none'; base-uri 'self'"
)


def write_page(folder: Path) -> Path:
    """A notebook that shows the console of the folder in `MEMLAB_CONSOLE_HOME`, and Voilà's settings beside it."""
    import nbformat

    voila = {
        "ip": "127.0.0.1",
        "log_level": "ERROR",
        "tornado_settings": {"headers": {"Content-Security-Policy": _POLICY}},
    }
    shown = {"strip_sources": True, "default_pool_size": 0}
    settings = {"Voila": voila, "VoilaConfiguration": shown}
    (folder / "voila.json").write_text(json.dumps(settings), encoding="utf-8")

    cell = nbformat.v4.new_code_cell(_CELL, id="console")  # type: ignore[no-untyped-call]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "title": "memlab console"}
    page = nbformat.v4.new_notebook(cells=[cell], metadata=metadata)  # type: ignore[no-untyped-call]
    path = folder / "console.ipynb"
    path.write_text(nbformat.writes(page), encoding="utf-8")  # type: ignore[no-untyped-call]
    return path


def start_console(
    folder: Path, home: Path, *, port: int, browser: bool, environ: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start serving the console of `home`; the page and its settings are written to `folder`, where Voilà looks."""
    page = write_page(folder)
    command = [sys.executable, "-m", "voila", page.name, f"--port={port}", *([] if browser else ["--no-browser"])]
    values = {**environ, "MEMLAB_CONSOLE_HOME": str(home.resolve())}
    return subprocess.Popen(command, cwd=folder, env=values)  # noqa: S603 - our own command


def serve_console(home: Path, *, port: int, browser: bool, environ: Mapping[str, str]) -> None:
    """Serve the console of a folder until interrupted.

    Raises
    ------
    InputError
        If Voilà is not installed, or can't start.
    """
    from importlib.util import find_spec

    if find_spec("voila") is None or find_spec("ipywidgets") is None:
        raise InputError("the console needs Voilà and ipywidgets: pip install 'memlab[console]'")
    with tempfile.TemporaryDirectory() as folder:
        process = start_console(Path(folder), home, port=port, browser=browser, environ=environ)
        try:
            code = process.wait()
        except KeyboardInterrupt:
            code = 0
        finally:
            process.terminate()
            process.wait()
    if code:
        raise InputError(f"the console's server ended with {code}; is port {port} taken? choose another with --port")
