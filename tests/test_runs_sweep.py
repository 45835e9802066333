"""Sweeps, parallel runs, resume, the quick check, the page over all runs, and the schema in sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from calls import call, done, refused
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

import memlab
from memlab.errors import RunError
from memlab.runs import Parameter, Sweep, normalise, provenance, read_results, run, runs_df, sweep, verify, write_index
from memlab.runs.fields import FIELDS, paths_of
from memlab.runs.files import read_notebook
from memlab.runs.index import find_runs
from memlab.runs.planning import MOST_CASES, case_name, spread_cases
from memlab.runs.report import external_requests

PARAMETERS = 'half_life: int = 30  # days\nnames: list = ["a"]  # never split\narm: str = "raw"'
BODY = (
    "from memlab.runs import record, record_table, stamp\nstamp(datasets=['data.txt'], prompts=['p.md'], seed=1)",
    "record('twice', 2 * half_life, n=3, interval=(0, 500), unit='d', tolerance=0.5, cases={'c': half_life > 50})",
    "record('names', len(names))\nrecord('arm', arm)",
    "import pandas as pd\nrecord_table('t', pd.DataFrame({'x': [half_life]}))",
)


@pytest.fixture(scope="module", autouse=True)
def steady() -> Iterator[None]:
    """The source hash of memlab stays while the tests run, whoever edits it meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(provenance, "memlab_source", lambda: "0" * 16)
        yield


def write_notebook(path: Path, *sources: str, parameters: str = PARAMETERS) -> Path:
    cells = [new_markdown_cell("# A study"), new_code_cell(parameters, metadata={"tags": ["parameters"]})]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(new_notebook(cells=[*cells, *map(new_code_cell, sources)])), "utf-8")
    for name in ("data.txt", "p.md"):
        (path.parent / name).write_text("abc")
    return path


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("books")
    write_notebook(folder / "01_study.ipynb", *BODY)
    write_notebook(folder / "02_other.ipynb", "1", parameters="k: int = 1")
    return folder


@pytest.fixture(scope="module")
def swept(books: Path, tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    output = tmp_path_factory.mktemp("out")
    values = {"half_life": "30,90", "names": "x,y"}
    return sweep(books, parameters=values, output=output, jobs=2, progress=False)


# -- which cases -----------------------------------------------------------------------------------------------------

DECLARED = {
    Path("a.ipynb"): (
        Parameter("half_life", "int", 30),
        Parameter("names", "list[str]", []),
        Parameter("maybe", "list | None", None),
        Parameter("options", "dict", {}),
        Parameter("text", "str", ""),
    )
}


@pytest.mark.parametrize(
    ("given", "cases"),
    [
        ({}, [{}]),
        ({"half_life": "30"}, [{"half_life": "30"}]),
        ({"half_life": "30, 90"}, [{"half_life": "30"}, {"half_life": "90"}]),
        ({"half_life": [30, 90]}, [{"half_life": 30}, {"half_life": 90}]),
        ({"names": "a,b"}, [{"names": "a,b"}]),
        ({"names": ["a", "b"]}, [{"names": ["a", "b"]}]),
        ({"maybe": "a,b"}, [{"maybe": "a,b"}]),
        ({"options": '{"a": 1, "b": 2}'}, [{"options": '{"a": 1, "b": 2}'}]),
        ({"names": ("a,b", "c")}, [{"names": "a,b"}, {"names": "c"}]),
        ({"text": "train,test"}, [{"text": "train"}, {"text": "test"}]),
        ({"text": '"Hello, world"'}, [{"text": "Hello, world"}]),
        ({"text": '"quoted"'}, [{"text": '"quoted"'}]),
        (
            {"half_life": "1,2", "text": "a,b"},
            [
                {"half_life": "1", "text": "a"},
                {"half_life": "1", "text": "b"},
                {"half_life": "2", "text": "a"},
                {"half_life": "2", "text": "b"},
            ],
        ),
    ],
)
def test_commas_make_cases_unless_the_parameter_is_a_list(given: dict[str, Any], cases: list[Any]) -> None:
    assert list(spread_cases(DECLARED, given)) == cases


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"half_life": "30,,90"}, "has an empty value"),
        ({"half_life": "30,90,30"}, "the value 30 stands twice"),
        ({"half_life": []}, "has an empty value"),
        ({"half_live": "30,90"}, "did you mean half_life"),
        ({"half_life": list(range(MOST_CASES + 1))}, "split it"),
    ],
)
def test_a_sweep_that_makes_no_sense_is_refused(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(RunError, match=reason):
        spread_cases(DECLARED, given)


def test_names_of_cases_are_plain_and_their_own() -> None:
    names = [case_name({"text": t}) for t in ("a/b", "a?b", "x" * 200, "a")]
    assert len(set(names)) == 4
    assert all("/" not in n and len(n) < 100 for n in names)


# -- runs ------------------------------------------------------------------------------------------------------------


def test_a_sweep_is_one_run_a_value_and_a_list_stays_whole(swept: Sweep) -> None:
    assert swept.ok
    assert [r.folder.name for r in swept] == ["half_life=30", "half_life=90"]
    assert [r.notebooks[0].results["twice"].value for r in swept] == [60, 180]
    assert [r.notebooks[0].results["names"].value for r in swept] == [2, 2]
    # 02_other has no such parameter: it is not run once a value.
    assert [[n.name for n in r.notebooks] for r in swept] == [["01_study"], ["01_study"]]


def test_many_runs_are_one_frame_from_the_package(swept: Sweep) -> None:
    frame = memlab.runs_df(swept.folder)
    mine = frame[frame.name == "twice"].set_index("run")["value"]
    assert mine.to_dict() == {"half_life=30": 60, "half_life=90": 180}
    assert runs_df is memlab.runs_df


def test_the_page_over_all_runs_sets_numbers_side_by_side(swept: Sweep) -> None:
    text = (swept.folder / "index.html").read_text("utf-8")
    assert external_requests(text) == []
    assert "60 d [0, 500]" in text
    assert "180 d [0, 500]" in text
    assert 'href="half_life%3D90/index.html"' in text
    assert list(find_runs(swept.folder)) == ["half_life=30", "half_life=90"]


def test_the_index_of_a_run_is_not_replaced(swept: Sweep) -> None:
    with pytest.raises(RunError, match="is a run itself"):
        write_index(swept.runs[0].folder)


def test_every_field_of_results_has_a_sentence_and_every_sentence_a_field(swept: Sweep) -> None:
    found = set(paths_of(read_results(swept.runs[0].folder / "results.json")))
    assert found == set(FIELDS)
    assert all(s.endswith(".") and s.count(". ") == 0 for s in FIELDS.values())


def test_several_at_a_time_give_the_same_bytes_in_the_same_order(books: Path, tmp_path: Path) -> None:
    one = run(books, output=tmp_path / "one", jobs=1, progress=False)
    two = run(books, output=tmp_path / "two", jobs=2, progress=False)
    assert [n.name for n in two.notebooks] == [n.name for n in one.notebooks] == ["01_study", "02_other"]
    for name in ("01_study.ipynb", "01_study.html", "02_other.ipynb", "tables/01_study.t.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    with pytest.raises(RunError, match="at least 1"):
        run(books, output=tmp_path / "three", jobs=0, progress=False)


def test_resume_runs_only_what_is_missing_or_stale(tmp_path: Path) -> None:
    first = write_notebook(tmp_path / "b" / "01_a.ipynb", *BODY)
    second = write_notebook(tmp_path / "b" / "02_b.ipynb", "1 / 0", parameters="k: int = 1")

    def again() -> list[str]:
        started: list[str] = []
        ran = run([first, second], output=tmp_path / "out", resume=True, progress=lambda s: started.append(s.notebook))
        assert [n.name for n in ran.notebooks] == ["01_a", "02_b"]
        return sorted(set(started))

    assert again() == ["01_a", "02_b"]
    kept = read_results(tmp_path / "out" / "results.json")["notebooks"]["01_a"]
    assert again() == ["02_b"]  # it failed, so it is tried again
    assert read_results(tmp_path / "out" / "results.json")["notebooks"]["01_a"] == kept
    write_notebook(second, "'mended'", parameters="k: int = 1")
    assert again() == ["02_b"]
    assert again() == []
    (first.parent / "data.txt").write_text("other data")
    assert again() == ["01_a"]
    executed = tmp_path / "out" / "01_a.ipynb"
    executed.write_text(executed.read_text("utf-8")[:500], "utf-8")  # as a kill leaves a file that is not renamed
    assert again() == ["01_a"]


# -- the quick check -------------------------------------------------------------------------------------------------


@pytest.fixture
def committed(swept: Sweep, tmp_path: Path) -> Path:
    path = write_notebook(tmp_path / "c" / "01_study.ipynb")
    path.write_bytes((swept.runs[0].folder / "01_study.ipynb").read_bytes())
    return path


def test_an_untouched_notebook_passes_without_being_run(committed: Path) -> None:
    result = verify(committed, quick=True)
    assert result.ok
    assert str(result).startswith("01_study: unchanged since it ran: 3 numbers, 1 tables (not run)")


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('"value": 60', '"value": 61', "results"),
        ('"# A study"', '"# Another study"', "prose"),
        ("len(names)", "len(names) + 1", "code"),
    ],
)
def test_a_change_by_hand_is_found_and_named(committed: Path, old: str, new: str, what: str) -> None:
    text = committed.read_text("utf-8")
    assert old in text
    committed.write_text(text.replace(old, new), "utf-8")
    found = verify(committed, quick=True)
    assert not found.ok
    assert [str(d).split(":")[1].strip() for d in found] == [what]


@pytest.mark.parametrize(("name", "what"), [("data.txt", "data"), ("p.md", "prompt")])
def test_other_data_and_prompts_are_found(committed: Path, name: str, what: str) -> None:
    (committed.parent / name).write_text("other")
    (difference,) = verify(committed, quick=True)
    assert (difference.kind, difference.detail.split(":")[0]) == ("stale", what)
    (committed.parent / name).unlink()
    (difference,) = verify(committed, quick=True)
    assert "→ none" in difference.detail


def test_a_number_changed_on_purpose_is_found_and_named_by_running_again(committed: Path) -> None:
    text = committed.read_text("utf-8")
    committed.write_text(text.replace('"value": 60', '"value": 61'), "utf-8")
    result = verify(committed, progress=False)
    assert [(d.kind, d.name, d.old, d.new) for d in result] == [("number", "twice", 61, 60)]
    assert result.notebooks[0].changed == {"results": ("recorded values were edited after the notebook ran",)}


# -- the command line ------------------------------------------------------------------------------------------------


def test_the_commands(books: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(books.parent)
    (tmp_path / "p.yaml").write_text("half_life: [30, 90]\nnames: [x, y, z]\n")
    result = done(
        "run", books, "-f", tmp_path / "p.yaml", "-p", "arm", "a", "-p", "arm", "b", "-o", tmp_path / "o", "-j", "2"
    )
    assert "left out, since they have no parameter half_life or arm: 02_other" in result.stderr
    assert f"results: {tmp_path / 'o' / 'index.html'}" in result.stdout
    rows = json.loads(done("runs", tmp_path / "o", "--json").stdout)
    assert list(rows) == ["half_life=30,arm=a", "half_life=30,arm=b", "half_life=90,arm=a", "half_life=90,arm=b"]
    assert {r["numbers"] for r in rows.values()} == {3}
    assert "half_life: int = 30  # days" in done("run", books, "--list").stdout
    assert "did you mean half_life" in refused("run", books, "-p", "half_live", "1", "-o", tmp_path / "x")
    assert "must be int" in refused("run", books, "-p", "half_life", "1,many", "-o", tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_notebook_is_named_by_the_beginning_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("01_a", "01_b", "02_c"):
        write_notebook(Path("notebooks") / f"{name}.ipynb", "1")
    assert "02_c" in done("run", "02", "--list").stdout
    assert "may mean 01_a, 01_b" in refused("run", "01", "--list")
    assert "no outputs" in call("verify", "02").stdout
    assert "ends in .ipynb" in refused("verify", "03")


def test_normalising_what_was_executed_changes_nothing(swept: Sweep) -> None:
    node = read_notebook(swept.runs[0].folder / "01_study.ipynb")
    assert normalise(node) == node
