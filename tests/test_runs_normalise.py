"""Normalising: what differs between two identical runs goes, what a reader sees stays."""

from __future__ import annotations

import copy
import json

import nbformat
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from memlab.runs.normalise import code_hash, normalise, notebook_bytes, prose_hash, run_parameters, stripped


def sample(*, address: str = "0x7f3c00aa10", when: str = "2026-01-01", cut: int = 3) -> nbformat.NotebookNode:
    """The same run at another time and place, with stdout cut at another point by a warning."""
    text = "abcdef\n"
    code = new_code_cell(
        "show()",
        execution_count=7,
        metadata={"papermill": {"start_time": when}, "execution": {"iopub": when}, "tags": ["b", "a"]},
        outputs=[
            new_output("stream", name="stdout", text=text[:cut]),
            new_output("stream", name="stderr", text=f"warned at {when}"),
            new_output("stream", name="stdout", text=text[cut:]),
            new_output("execute_result", data={"text/plain": f"<X at {address}>"}, execution_count=7),
        ],
    )
    injected = new_code_cell("# Parameters\nk = 1\n", metadata={"tags": ["injected-parameters"]}, execution_count=2)
    cells = [new_markdown_cell("# Title", metadata={"tags": []}), injected, code, new_code_cell("show()")]
    metadata = {
        "kernelspec": {"name": f"env-{when}", "display_name": "x"},
        "language_info": {"name": "python", "version": when},
        "papermill": {"input_path": f"/home/{when}", "parameters": {"k": 1}, "duration": 3},
        "widgets": {"state": when},
    }
    return new_notebook(cells=cells, metadata=metadata)


def test_two_identical_runs_give_the_same_bytes() -> None:
    one = sample()
    other = sample(address="0xdeadbeef99", when="2027-07-07", cut=5)
    assert notebook_bytes(one) != notebook_bytes(other)
    assert notebook_bytes(normalise(one)) == notebook_bytes(normalise(other))


def test_what_a_reader_sees_stays() -> None:
    before = copy.deepcopy(source := sample())
    clean = normalise(source)
    assert source == before
    nbformat.validate(clean)
    assert [c.source for c in clean.cells] == ["# Title", "# Parameters\nk = 1\n", "show()", "show()"]
    assert [c.get("execution_count") for c in clean.cells] == [None, 1, 2, None]
    assert clean.cells[2].outputs == [
        {"output_type": "stream", "name": "stdout", "text": "abcdef\n"},
        {"output_type": "execute_result", "data": {"text/plain": "<X at 0x…>"}, "metadata": {}, "execution_count": 2},
    ]
    assert clean.cells[2].metadata == {"tags": ["a", "b"]}
    assert clean.metadata.kernelspec.name == "python3"
    assert run_parameters(clean) == {"k": 1}
    assert "2026" not in json.dumps(clean, ensure_ascii=False)


def test_ids_come_from_content_and_are_unique() -> None:
    ids = [c.id for c in normalise(sample()).cells]
    assert len(set(ids)) == 4
    assert ids[3] == f"{ids[2]}-2"
    moved = sample()
    moved.cells.insert(0, new_markdown_cell("new"))
    assert [c.id for c in normalise(moved).cells][1:] == ids


def test_a_notebook_file_ends_in_one_newline_and_keeps_letters() -> None:
    data = notebook_bytes(new_notebook(cells=[new_markdown_cell("Größe")]))
    assert data.endswith(b"}\n")
    assert "Größe".encode() in data


def test_stripping_takes_back_a_run() -> None:
    bare = stripped(sample())
    assert [c.source for c in bare.cells] == ["# Title", "show()", "show()"]
    assert all(not c.outputs and c.execution_count is None for c in bare.cells[1:])
    assert run_parameters(bare) == {}


def test_source_hashes_see_edits_of_their_own_kind_only() -> None:
    one, other = sample(), sample()
    other.cells[0].source += " edited"
    assert (prose_hash(one) == prose_hash(other), code_hash(one) == code_hash(other)) == (False, True)
    other = sample()
    other.cells[2].source += "  "  # trailing white space is no edit
    assert code_hash(one) == code_hash(other)
    other.cells[2].source += "\nmore()"
    assert code_hash(one) != code_hash(other)
    # Overrides change the injected cell, which is nobody's edit.
    assert code_hash(one) == code_hash(stripped(one))


OUTPUTS = st.one_of(
    st.builds(lambda n, t: new_output("stream", name=n, text=t), st.sampled_from(["stdout", "stderr"]), st.text()),
    st.builds(lambda t: new_output("display_data", data={"text/plain": t}), st.text()),
    st.builds(lambda t: new_output("execute_result", data={"text/html": t}, execution_count=3), st.text()),
    st.builds(lambda t: new_output("error", ename="E", evalue=t, traceback=[t]), st.text()),
)
CELLS = st.one_of(
    st.builds(new_markdown_cell, st.text()),
    st.builds(
        lambda s, o, n: new_code_cell(s, outputs=o, execution_count=n),
        st.text(max_size=3),
        st.lists(OUTPUTS, max_size=3),
        st.none() | st.integers(1, 9),
    ),
)


@given(st.lists(CELLS, max_size=5))
def test_normalising_twice_changes_nothing_more(cells: list[nbformat.NotebookNode]) -> None:
    once = normalise(new_notebook(cells=cells))
    nbformat.validate(once)
    assert notebook_bytes(normalise(once)) == notebook_bytes(once)
