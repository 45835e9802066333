"""Verifying: committed notebooks are repeated, and every number that moved is named with what may have moved it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from memlab.errors import RunError
from memlab.runs import Checked, Difference, Verification, provenance, run, verify

SOURCES = [
    "from memlab.runs import record, record_table, stamp\nstamp(datasets=['data.txt'], seed=1)",
    "size = len(open('data.txt').read())\nprint('size', size)",
    "record('size', size, n=size, cases={'c1': size > 3, 'c2': True})\nrecord('rough', k, tolerance=0.5)",
    "import pandas as pd\nrecord_table('t', pd.DataFrame({'x': [1, size]}))",
]


@pytest.fixture(scope="module", autouse=True)
def steady() -> Iterator[None]:
    """The source hash of memlab stays while the tests run, whoever edits it meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(provenance, "memlab_source", lambda: "0" * 16)
        yield


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Verification:
    base = tmp_path_factory.mktemp("verify")
    cells = [new_markdown_cell("# Size"), new_code_cell("k: float = 1.0", metadata={"tags": ["parameters"]})]
    source = new_notebook(cells=[*cells, *map(new_code_cell, SOURCES)])
    (base / "a.ipynb").write_text(nbformat.writes(source), encoding="utf-8")
    (base / "data.txt").write_text("abc")
    run(base / "a.ipynb", parameters={"k": 2.0}, output=base / "out", progress=False)
    committed = json.loads((base / "out" / "a.ipynb").read_text(encoding="utf-8"))
    for name, edit in (("equal", lambda nb: None), ("moved", _move), ("fails", _break)):
        node = json.loads(json.dumps(committed))
        edit(node)
        folder = base / name
        folder.mkdir()
        (folder / f"{name}.ipynb").write_text(json.dumps(node), encoding="utf-8")
        (folder / "data.txt").write_text("abcde" if name == "moved" else "abc")
    bare = base / "bare" / "bare.ipynb"
    bare.parent.mkdir()
    bare.write_text(nbformat.writes(source), encoding="utf-8")
    damaged = base / "damaged" / "damaged.ipynb"
    damaged.parent.mkdir()
    damaged.write_text("{", encoding="utf-8")
    return verify([base / n for n in ("equal", "moved", "fails", "bare", "damaged")], progress=False)


def _move(node: dict[str, Any]) -> None:
    node["cells"][0]["source"] = ["# Another title"]
    node["metadata"]["memlab"]["packages"]["pandas"] = "0.1"
    # The claim was 2.4; the run gives 2.0, which its tolerance of 0.5 allows.
    (rough,) = [o for c in node["cells"] for o in c.get("outputs", ()) if "rough" in json.dumps(o.get("data", {}))]
    rough["data"]["application/vnd.memlab.result+json"]["value"] = 2.4


def _break(node: dict[str, Any]) -> None:
    node["cells"][-1]["source"] = ["raise ValueError('no table')"]


def account(checked: Verification, name: str) -> Checked:
    return next(n for n in checked.notebooks if n.name == name)


def test_an_untouched_notebook_is_equal_with_its_own_parameters(checked: Verification) -> None:
    equal = account(checked, "equal")
    # k was 2.0 in the committed run and is 1.0 by default: beyond the tolerance of `rough`.
    assert (equal.differences, equal.changed, equal.other_outputs) == ((), {}, ())
    assert (equal.numbers, equal.tables) == (2, 1)


def test_a_moved_number_and_table_are_named_with_old_and_new(checked: Verification) -> None:
    moved = account(checked, "moved")
    assert moved.differences == (
        # len("abc") is 3 and len("abcde") is 5; c1 asks for more than 3.
        Difference("moved", "number", "size", 3, 5, None, "n 3 → 5", ("c1",)),
        Difference("moved", "table", "t", 3, 5, None, "1 cells differ, first in row 1, column x"),
    )


def test_what_has_changed_is_named(checked: Verification) -> None:
    moved = account(checked, "moved")
    assert list(moved.changed) == ["prose", "data", "library", "results"]
    # printf abc | sha256sum and printf abcde | sha256sum
    assert moved.changed["data"] == ("data.txt ba7816bf8f01 → 36bbe50ed968",)
    assert moved.changed["library"][0].startswith("pandas 0.1 → ")
    # The stamp, the printed size and the table show it (the number's line and table too).
    assert 4 in moved.other_outputs
    assert list(account(checked, "fails").changed) == ["code"]


def test_a_repetition_that_fails_is_a_difference(checked: Verification) -> None:
    (failed,) = account(checked, "fails").differences
    assert (failed.kind, failed.detail) == ("failed", "In [6]: ValueError: no table")


def test_a_notebook_without_outputs_or_unreadable_is_a_difference(checked: Verification) -> None:
    (bare,) = account(checked, "bare").differences
    assert bare.kind == "unexecuted"
    (damaged,) = account(checked, "damaged").differences
    assert damaged.kind == "failed"
    assert "not a notebook" in damaged.detail


def test_the_account_is_one_text_one_object_and_one_frame(checked: Verification) -> None:
    assert not checked.ok
    assert len(checked) == len(checked.to_frame()) == 5
    assert [d["kind"] for n in json.loads(json.dumps(checked.to_json()))["notebooks"] for d in n["differences"]] == [
        d.kind for d in checked
    ]
    lines = str(checked).splitlines()
    assert lines[0].startswith("equal: equal: 2 numbers, 1 tables")
    assert "  size: 3 → 5 (no tolerance stated); n 3 → 5; other outcome in 1 cases: c1" in lines
    assert lines[-1] == "5 notebooks, 6 numbers, 3 tables: 5 differences"


def test_a_number_that_moved_by_itself_is_said_to_have_done_so() -> None:
    moved = Checked("x", 1.0, 1, 0, (Difference("x", "number", "n", 1, 2),), {})
    assert "nothing that the notebook names has changed" in str(moved)
    for other in (
        Checked("x", 1.0, 1, 0, (Difference("x", "number", "n", 1, 2),), {"data": ("d",)}),
        Checked("x", 0.0, 0, 0, (Difference("x", "unexecuted", detail="no outputs"),), {}),
    ):
        assert "nothing that the notebook names" not in str(other)


def test_nothing_different_is_ok() -> None:
    fine = Verification([Checked("a", 0.1, 3, 1, (), {})])
    assert fine.ok
    assert not list(fine)
    assert str(fine).splitlines()[-1] == "1 notebooks, 3 numbers, 1 tables: all equal"


def test_a_folder_without_notebooks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no notebook"):
        verify(tmp_path, progress=False)
