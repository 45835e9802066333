"""Install and start a real Hindsight server on this machine, to use and test the agent's Hindsight store.

    python scripts/hindsight_server /tmp/hindsight

The folder gets an environment of its own, the database and the logs; the first start installs (about half a minute),
later ones only start. Server and database listen on 127.0.0.1 only, and a key is asked for. No model is needed: a
small stub (`stub.py`) answers for one, with memlab's sentence vectors. It prints the variables that memlab reads and
runs until it is interrupted; what was stored stays in the folder.
"""

from __future__ import annotations

import argparse
import contextlib
import getpass
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from stub import Stub

VERSION = "1.1.0"
PACKAGES = (f"hindsight-api-slim[embedded-db]=={VERSION}",)
SECRET = "hindsight"  # of a database that only this machine can reach


class StartError(Exception):
    """Why the server could not be started, in one line."""


def folder_for(path: Path, user: str) -> Path:
    """The folder, if `user` can get there (PostgreSQL refuses to run as root)."""
    path = path.resolve()
    path.mkdir(parents=True, exist_ok=True)
    if user != getpass.getuser():
        closed = next((p for p in (path, *path.parents) if not p.stat().st_mode & 0o001), None)
        if closed is not None:
            raise StartError(
                f"{closed}: user {user}, who runs the database, can't enter; chmod o+x it, or name another folder"
            )
    return path


def install(folder: Path) -> Path:
    """The environment's Python, with Hindsight in it."""
    python = folder / "venv" / "bin" / "python"
    done = folder / "venv" / f"hindsight-{VERSION}"
    if not done.exists():
        say(f"installing Hindsight {VERSION} into {folder / 'venv'}")
        run(sys.executable, "-m", "venv", "--clear", folder / "venv")
        run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "uv")
        run(python, "-m", "uv", "pip", "install", "-q", "--python", python, *PACKAGES)
        done.touch()
    return python


def run(*command: object) -> None:
    """A command that must succeed; its output is shown only if it does not."""
    found = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if found.returncode:
        raise StartError(f"{' '.join(map(str, command[:5]))} … ended with {found.returncode}: {found.stdout[-2000:]}")


@contextlib.contextmanager
def database(folder: Path, python: Path, user: str) -> Iterator[str]:
    """PostgreSQL with pgvector while the context lasts; gives its address."""
    home = folder / "postgres"
    home.mkdir(exist_ok=True)
    shutil.copyfile(next(python.parents[1].glob("lib/python3*/site-packages/pg0/bin/pg0")), home / "pg0")
    (home / "pg0").chmod(0o755)
    other = user != getpass.getuser()
    if other:
        account = pwd.getpwnam(user)
        os.chown(home, account.pw_uid, account.pw_gid)
    port = free_port()

    def pg0(*words: object) -> subprocess.CompletedProcess[str]:
        with (folder / "database.log").open("a") as log:  # PostgreSQL keeps its output open, so no pipe
            return subprocess.run(
                [str(home / "pg0"), *map(str, words), "--name", "memlab"],
                stdout=log, stderr=log, text=True, cwd=home, env={**os.environ, "HOME": str(home)},
                user=pwd.getpwnam(user).pw_uid if other else None, group=pwd.getpwnam(user).pw_gid if other else None,
                extra_groups=[] if other else None,
            )  # fmt: skip

    pg0("stop")  # of a run that was killed
    loopback = ("-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=")  # and no file in /tmp
    if pg0("start", "--port", port, "-u", SECRET, "-P", SECRET, "-n", SECRET, *loopback).returncode:
        raise StartError(f"the database did not start; see {folder / 'database.log'}")
    try:
        yield f"postgresql://{SECRET}:{SECRET}@127.0.0.1:{port}/{SECRET}"
    finally:
        pg0("stop")


def settings(port: int, database_url: str, stub_url: str, key: str) -> dict[str, str]:
    """The server's variables: loopback only, a key, the stub for every model, no reranker, nothing from a hub."""
    model = {"PROVIDER": "openai", "API_KEY": "stub", "MODEL": "stub", "BASE_URL": stub_url, "MAX_RETRIES": "1"}
    vectors = {"PROVIDER": "openai", "OPENAI_API_KEY": "stub", "OPENAI_MODEL": "stub", "OPENAI_BASE_URL": stub_url}
    api = {
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "WORKER_ID": "memlab",
        "DATABASE_URL": database_url,
        "RERANKER_PROVIDER": "rrf",
        "MCP_ENABLED": "false",
        "TENANT_EXTENSION": "hindsight_api.extensions.builtin.tenant:ApiKeyTenantExtension",
        "TENANT_API_KEY": key,
        "VECTOR_INDEX_MIN_ROWS": "10000",  # a bank a customer: no index for each of thousands of small ones
        **{f"LLM_{k}": v for k, v in model.items()},
        **{f"EMBEDDINGS_{k}": v for k, v in vectors.items()},
    }
    return {**{f"HINDSIGHT_API_{k}": v for k, v in api.items()}, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


@contextlib.contextmanager
def server(folder: Path, python: Path, port: int, values: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """The server while the context lasts, once it has said that it is healthy."""
    with (folder / "server.log").open("wb") as log:
        command = [str(python.parent / "hindsight-api")]
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env={**os.environ, **values})
    try:
        if not healthy(port, process):
            raise StartError(f"the server did not become ready; see {folder / 'server.log'}")
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def healthy(port: int, process: subprocess.Popen[bytes], *, tries: int = 360, pause: float = 0.5) -> bool:
    """Whether the server answers `GET /health` with 200 within `tries` looks, `pause` seconds apart."""
    for _ in range(tries):
        if process.poll() is not None:
            return False
        with (
            contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError),
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer,
        ):
            if answer.status == 200:
                return True
        threading.Event().wait(pause)
    return False


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def encoder() -> Callable[[Sequence[str]], Any]:
    """The sentence vectors of memlab."""
    from memlab.models.embeddings import default_encoder

    return lambda texts: default_encoder().encode(list(texts))


def say(text: str) -> None:
    """A line for people."""
    print(f"hindsight_server: {text}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the server until interrupted; 1 if it can't start."""
    parser = argparse.ArgumentParser(prog="hindsight_server", description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="where environment, database and logs go")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1 (0: any free one)")
    parser.add_argument("--key", default="", help="the key to ask for (default: a new one)")
    parser.add_argument("--user", default="nobody", help="who runs the database if root calls this (default: nobody)")
    parser.add_argument("--json", action="store_true", help="print the variables as one JSON line")
    options = parser.parse_args(arguments)
    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: done.set())
    user = options.user if os.geteuid() == 0 else getpass.getuser()
    port, key = options.port or free_port(), options.key or secrets.token_urlsafe(16)
    try:
        folder = folder_for(options.folder, user)
        python, stub = install(folder), Stub(encoder())
        with (
            database(folder, python, user) as address,
            server(folder, python, port, settings(port, address, stub.url, key)) as process,
        ):
            values = {"HINDSIGHT_URL": f"http://127.0.0.1:{port}", "HINDSIGHT_API_KEY": key}
            print(
                json.dumps(values) if options.json else "\n".join(f"export {k}={v}" for k, v in values.items()),
                flush=True,
            )
            say("ready; a stub stands in for a model, so this tests plumbing, not quality; Ctrl-C stops it")
            while not done.wait(1):
                if process.poll() is not None:
                    raise StartError(f"the server ended with {process.returncode}; see {folder / 'server.log'}")
    except StartError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
