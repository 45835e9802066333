"""Calling the command line in tests, and saying what must come of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from memlab.cli import main

NO_MODEL = dict.fromkeys(("MEMLAB_MODEL", "MEMLAB_PRICES", "OPENAI_BASE_URL", "OPENAI_API_KEY"))


def call(*arguments: object, env: Mapping[str, str | None] | None = None) -> Result:
    """One command in this process; anything but an orderly exit is raised."""
    result = CliRunner().invoke(main, [str(a) for a in arguments], env={**NO_MODEL, **(env or {})})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def done(*arguments: object, env: Mapping[str, str | None] | None = None) -> Result:
    """A call that must succeed."""
    result = call(*arguments, env=env)
    assert result.exit_code == 0, result.stderr
    return result


def rows(*arguments: object, env: Mapping[str, str | None] | None = None) -> list[Any]:
    """The JSON lines that a successful call prints with --json."""
    return [json.loads(line) for line in done(*arguments, "--json", env=env).stdout.splitlines()]


def refused(*arguments: object, code: int = 1, env: Mapping[str, str | None] | None = None) -> str:
    """The one line on stderr of a call that must fail, with nothing on stdout."""
    result = call(*arguments, env=env)
    assert (result.exit_code, result.stdout) == (code, ""), (result.exit_code, result.stdout, result.stderr)
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("memlab"), lines
    return lines[0]


def command(*arguments: object, env: Mapping[str, str | None] | None = None) -> subprocess.CompletedProcess[bytes]:
    """One command in a process of its own, as a user would."""
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, timeout=120, env=environment(env))


COMMAND = [sys.executable, "-m", "memlab.cli"]


def environment(env: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """This process's variables, without those of a model, with others."""
    merged = {**os.environ, **NO_MODEL, **(env or {})}
    return {name: value for name, value in merged.items() if value is not None}


def line(id: str = "c1", **changes: object) -> dict[str, Any]:
    """One object of conversations.jsonl; a value of None takes a field away."""
    turns = [
        {"role": "user", "text": f"VPN fails with error 809 since this morning, case {id}. I rebooted, no change."},
        {"role": "agent", "text": "Your router blocks UDP 500. Please open it."},
        {"role": "user", "text": "Opened UDP 500 in the router - works now, thanks!"},
    ]
    base = {"id": id, "customer": "acme", "category": "vpn", "started_at": "2026-03-02T09:00:00Z", "turns": turns}
    return {k: v for k, v in {**base, **changes}.items() if v is not None}


def write(path: Path, items: Iterable[Any]) -> Path:
    """A JSON lines file; text goes in as it is."""
    texts = (item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in items)
    path.write_text("".join(f"{text}\n" for text in texts), "utf-8")
    return path
