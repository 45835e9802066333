"""`memlab run` and `memlab verify`: where the results are, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from calls import call, done, refused
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from memlab.runs import provenance


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A run of a notebook that works and one that does not: its folder, and what was printed."""
    base = tmp_path_factory.mktemp("run")
    good = ["from memlab.runs import record, stamp\nstamp()", "record('k', k)"]
    paths = [notebook(base / "01_good.ipynb", *good), notebook(base / "02_bad.ipynb", "1 / 0")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(provenance, "memlab_source", lambda: "0" * 16)
        yield base, call("run", *paths, "-p", "k", "5", "-o", base / "out")


def notebook(path: Path, *sources: str) -> Path:
    cells = [new_markdown_cell("# Book"), new_code_cell("k: int = 1", metadata={"tags": ["parameters"]})]
    path.write_text(nbformat.writes(new_notebook(cells=[*cells, *map(new_code_cell, sources)])), "utf-8")
    return path


def test_a_run_says_where_its_results_are_and_exits_1_if_a_notebook_failed(ran):
    base, result = ran
    assert result.exit_code == 1
    assert "01_good  done" in result.stdout
    assert "02_bad   FAILED" in result.stdout
    assert str(base / "out" / "index.html") in result.stdout
    assert str(base / "out" / "results.json") in result.stdout
    assert result.stderr.splitlines()[-1] == "memlab: 1 of 2 notebooks failed: 02_bad"
    results = json.loads((base / "out" / "results.json").read_text("utf-8"))
    assert results["notebooks"]["01_good"]["results"]["k"]["value"] == 5


def test_verify_repeats_what_was_run(ran, tmp_path):
    base, _ = ran
    committed = tmp_path / "books" / "01_good.ipynb"
    committed.parent.mkdir()
    committed.write_bytes((base / "out" / "01_good.ipynb").read_bytes())
    row = json.loads(done("verify", committed.parent, "--json").stdout)
    assert (row["ok"], row["notebooks"][0]["numbers"]) == (True, 1)
    node = json.loads(committed.read_text("utf-8"))
    for cell in node["cells"]:
        cell["source"] = [text.replace("record('k', k)", "record('k', k + 1)") for text in cell["source"]]
    committed.write_text(json.dumps(node))
    result = call("verify", committed.parent)
    assert (result.exit_code, "k: 5 → 6" in result.stdout) == (1, True)
    assert result.stderr.splitlines()[-1] == f"memlab: {committed.parent}: the results differ from the committed ones"


def test_a_run_that_cannot_start_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "no notebooks here" in refused("run")
    assert "no.ipynb" in refused("run", "no.ipynb", "-o", "out")
    path = notebook(tmp_path / "a.ipynb", "k")
    assert "'kk'" in refused("run", path, "-p", "kk", "1", "-o", "out")
    assert "nowhere" in refused("verify", "nowhere")
