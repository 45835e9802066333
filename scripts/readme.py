"""Run the console blocks of README.md and docs/agent.md in scratch folders and write what they print below each command.

    python scripts/readme.py

Also draws docs/graph.svg, fills the results from the committed notebooks, and puts the check into the data card.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        text = _printed(ROOT / "README.md", scratch)
        graph = f"memlab graph --home memory --customer fabrikam --category teams -o {ROOT}/docs/graph.svg"
        _shell(graph, scratch)
    text = re.sub(r"<!-- results -->.*?<!-- /results -->|^RESULTS$", lambda _: _results(), text, flags=re.S | re.M)
    (ROOT / "README.md").write_text(text, "utf-8")
    with tempfile.TemporaryDirectory() as scratch:
        (ROOT / "docs/agent.md").write_text(_printed(ROOT / "docs/agent.md", scratch), "utf-8")
    card = ROOT / "datasets/README.md"
    check = f"<!-- check -->\n~~~text\n{_shell('memlab data check', str(ROOT))}~~~\n<!-- /check -->"
    text = re.sub(r"<!-- check -->.*?<!-- /check -->", lambda _: check, card.read_text("utf-8"), flags=re.S)
    card.write_text(text, "utf-8")


def _printed(page: Path, folder: str) -> str:
    """A page with what each command of its console blocks prints, run in this folder."""
    (Path(folder) / "datasets").symlink_to(ROOT / "datasets")
    return re.sub(
        r"~~~console\n(.*?)~~~",
        lambda m: f"~~~console\n{_run(m[1], folder)}~~~",
        page.read_text("utf-8"),
        flags=re.S,
    )


def _run(block: str, folder: str) -> str:
    commands = [line for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"{c}\n{_shell(c[2:], folder)}" for c in commands)


def _shell(command: str, folder: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": path},
    )
    return done.stdout


def _results() -> str:
    from memlab.runs import results_of
    from memlab.runs.files import read_notebook

    lines = ["<!-- results -->", "Committed results, test split (`notebooks/`), best first:", ""]
    found = {r.name: r for r in results_of(read_notebook(ROOT / "notebooks/04_paraphrase_recall.ipynb")).values()}
    lines += ["| right root cause named first | ordinary paraphrases | hard negatives |", "|---|---|---|"]
    arms = sorted({n.split(".")[1] for n in found}, key=lambda a: -found[f"ordinary.{a}.recall@1"].value)
    lines += [
        f"| {a} | {_cell(found[f'ordinary.{a}.recall@1'])} | {_cell(found[f'hard.{a}.recall@1'])} |" for a in arms
    ]
    read = {r.name: r for r in results_of(read_notebook(ROOT / "notebooks/01_extraction_quality.ipynb")).values()}
    lines += ["", "| read out of a conversation, F1 | offline extractor | prototypes |", "|---|---|---|"]
    ours = [n for n in read if not n.startswith("prototypes.")]
    lines += [f"| {_plain(n)} | {_cell(read[n])} | {_cell(read.get(f'prototypes.{n}'))} |" for n in ours]
    return "\n".join([*lines, "<!-- /results -->"])


def _plain(name: str) -> str:
    single = " in single messages" if name.startswith("messages.") else ""
    return name.rpartition("f1.")[2].replace("_", " ") + single


def _cell(result) -> str:
    if result is None:
        return "–"
    low, high = result.interval
    return f"{result.value:.2f} [{low:.2f}, {high:.2f}]"


if __name__ == "__main__":
    if not shutil.which("bash"):
        sys.exit("bash is needed")
    main()
