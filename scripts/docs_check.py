"""Walk the tutorials as a newcomer would: run every console block in a copy of the clone, and compare what it prints.

    python scripts/docs_check.py [PAGE …]

In an expected line `…` stands for any text, and a line `…` for any lines. Blocks marked `bash` are for reading: they
need a model, or minutes. A block whose page says that it fails is expected to.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("docs/tutorials/reviewer.md", "docs/tutorials/analyst.md", "docs/tutorials/researcher.md")
COPIED = ("notebooks", "memlab/prompts", "scripts")
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands_of(page: str) -> Iterator[tuple[str, str]]:
    """Every command of a page's console blocks, with the output that it shows (empty: nothing is shown)."""
    for block in _BLOCK.findall(page):
        command, shown = "", list[str]()
        for line in [*block.splitlines(), "$ "]:
            if line.startswith("$ "):
                if command:
                    yield command, "\n".join(shown)
                command, shown = line[2:], []
            elif command.count('"') % 2:  # a quoted text goes on
                command += f"\n{line}"
            else:
                shown.append(line)


def matches(shown: str, printed: str) -> bool:
    """Whether what was printed is what is shown; `…` stands for any text.

    >>> matches("a … c", "a b c"), matches("a", "b"), matches("", "anything")
    (True, False, True)
    """
    pattern = ".*".join(re.escape(part) for part in shown.split("…"))
    return not shown or re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


def walk(page: str, folder: Path) -> list[str]:
    """Run a page's commands in a folder; what does not print what is shown, in words."""
    faults = []
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
    }
    for command, shown in commands_of(page):
        if "pip install" in command:
            continue
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=900
        )
        printed = done.stdout + ("" if done.returncode == 0 else done.stderr)
        print(f"$ {command}\n{printed}", flush=True)
        expects_failure = "FAILED" in shown or "DIFFERENCES" in shown or command.startswith("diff")
        if not matches(shown, printed):
            faults.append(f"{command}\n  shown:   {shown!r}\n  printed: {printed.strip()[:1500]!r}")
        elif (done.returncode != 0) != expects_failure:
            faults.append(f"{command}\n  exit code {done.returncode}: {done.stderr.strip()[-300:]}")
    return faults


def copy_of_the_clone(folder: Path) -> None:
    """What the pages need, in a folder: notebooks and prompts copied, the data linked."""
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"))
    for name in ("datasets", "benchmarks"):
        (folder / name).symlink_to(ROOT / name)


def main(arguments: Sequence[str] | None = None) -> int:
    pages = list(arguments if arguments is not None else sys.argv[1:]) or list(PAGES)
    faults = []
    for page in pages:
        with tempfile.TemporaryDirectory(prefix="memlab-docs-") as folder:
            copy_of_the_clone(Path(folder))
            faults += [f"{page}: {f}" for f in walk((ROOT / page).read_text(encoding="utf-8"), Path(folder))]
    print("\n".join(faults) if faults else f"{len(pages)} pages: every command printed what is shown", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
