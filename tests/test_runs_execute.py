"""Running notebooks: one real run for most of it, and one for each way to fail."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from memlab.errors import RunError
from memlab.runs import RunResult, Step, provenance, read_results, results_of, run, runs_df, tables_of
from memlab.runs.kernel import Limits, execute_notebook, kernel_environment
from memlab.runs.progress import reporter
from memlab.runs.report import external_requests

PARAMETERS = 'k: int = 3  # hits\ntext: str = "plain"\noptions: dict = {}\nnames: list[str] = []'
NASTY = "quo\"te \\n {brace} \n line – 😀 'x' $HOME"
OPTIONS = {"a": [1, 2.5, None, True, {"b": "c"}], "ü": -1e-9}

SOURCES = [
    "from memlab.runs import record, record_table, stamp\nstamp(datasets=['data.txt'], seed=7)",
    "import json, os, sys\nprint('from', os.path.basename(os.getcwd()), sys.executable == os.environ['EXPECTED'])",
    "print('no' + 'ise', file=sys.stderr); print(object())",
    "record('recall@3', k / 10, n=90, interval=(0.1, 0.9), tolerance=0.01, cases={'c1': True})",
    "record('echo', json.dumps([text, options, names]))",
    "record('hash', hash('a'))\nrecord('offline', os.environ['HF_HUB_OFFLINE'])",
    "import pandas as pd\nrecord_table('per.topic', pd.DataFrame({'topic': ['teams', None], 'n': [1, 2]}))",
]


def write_notebook(path: Path, *sources: str, parameters: str = "", kernel: str = "no-such-kernel") -> Path:
    cells = [new_markdown_cell(f"# About {path.stem}\n\n## Part")]
    cells += [new_code_cell(parameters, metadata={"tags": ["parameters"]})] if parameters else []
    cells += map(new_code_cell, sources)
    spec = {"name": kernel, "display_name": "x", "language": "none"}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(new_notebook(cells=cells, metadata={"kernelspec": spec})), encoding="utf-8")
    return path


@pytest.fixture(scope="module", autouse=True)
def steady() -> Iterator[None]:
    """The source hash of memlab stays while the tests run, whoever edits it meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(provenance, "memlab_source", lambda: "0" * 16)
        patch.setenv("EXPECTED", sys.executable)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("run {k} {0}")
    write_notebook(base / "books" / "01_study.ipynb", *SOURCES, parameters=PARAMETERS)
    (base / "books" / "data.txt").write_bytes(b"abc")
    write_notebook(base / "broken" / "02_broken.ipynb", "x = 1", "1 / 0", "record('never', 1)", parameters="k: int = 1")
    return base


OVERRIDES = {"k": "5", "text": NASTY, "options": OPTIONS, "names": "a,b"}


@pytest.fixture(scope="module")
def steps() -> list[Step]:
    return []


@pytest.fixture(scope="module")
def done(folder: Path, steps: list[Step]) -> RunResult:
    books = [folder / "books", folder / "broken" / "02_broken.ipynb"]
    return run(books, parameters=OVERRIDES, output=folder / "out", progress=steps.append)


@pytest.fixture(scope="module")
def results(done: RunResult) -> dict[str, Any]:
    return read_results(done.folder / "results.json")


def test_the_values_that_were_sent_arrive_in_the_kernel(results: dict[str, Any]) -> None:
    recorded = results["notebooks"]["01_study"]["results"]
    assert json.loads(recorded["echo"]["value"]) == [NASTY, OPTIONS, ["a", "b"]]
    assert recorded["recall@3"]["value"] == 0.5  # k / 10 with k = "5"


def test_the_kernel_is_this_interpreter_in_the_notebooks_folder_without_a_hub(done: RunResult) -> None:
    node = nbformat.read(done.folder / "01_study.ipynb", as_version=4)
    printed = [o.text for c in node.cells for o in c.get("outputs", ()) if o.output_type == "stream"]
    assert printed == ["from books True\n", "<object object at 0x…>\n"]
    recorded = results_of(done.folder / "01_study.ipynb")
    assert recorded["offline"].value == "1"
    # hash('a') with PYTHONHASHSEED=0 on CPython 3.11 and later (SipHash-1-3), 64 bit
    assert recorded["hash"].value == 4644417185603328019


def test_results_hold_numbers_parameters_provenance_and_durations(done: RunResult, results: dict[str, Any]) -> None:
    study = results["notebooks"]["01_study"]
    assert (results["schema"], results["ok"], study["ok"], study["title"]) == (1, False, True, "About 01_study")
    assert study["parameters"] == {"k": 5, "text": NASTY, "options": OPTIONS, "names": ["a", "b"]}
    assert study["overridden"] == ["k", "text", "options", "names"]
    assert study["results"]["recall@3"]["cases"] == {"c1": True}
    assert study["provenance"]["seed"] == 7
    assert list(study["provenance"]["datasets"]) == ["data.txt"]
    assert results["provenance"]["python"].startswith("3.")
    assert "pandas" in results["provenance"]["packages"]
    # 1 cell of prose, the parameters, the injected ones, and the sources
    assert len(study["cell_seconds"]) == 3 + len(SOURCES)
    assert 0 < sum(study["cell_seconds"]) <= study["seconds"]


def test_a_failing_notebook_is_reported_and_kept_up_to_its_failure(done: RunResult, results: dict[str, Any]) -> None:
    assert not done.ok
    broken = results["notebooks"]["02_broken"]
    # The second code cell after the parameters and the injected ones is the fourth to run.
    assert broken["error"] == "In [4]: ZeroDivisionError: division by zero"
    assert broken["parameters"] == {"k": 5}
    node = nbformat.read(done.folder / "02_broken.ipynb", as_version=4)
    assert [c.source for c in node.cells[3:]] == ["x = 1", "1 / 0", "record('never', 1)"]
    assert [c.execution_count for c in node.cells[3:]] == [1 + 2, 4, None]
    assert node.cells[4].outputs[0].ename == "ZeroDivisionError"
    assert "FAILED" in str(done)


def test_tables_are_written_as_csv_and_parquet(done: RunResult) -> None:
    assert (done.folder / "tables" / "01_study.per.topic.csv").read_text() == "topic,n\nteams,1\n,2\n"
    back = pd.read_parquet(done.folder / "tables" / "01_study.per.topic.parquet")
    pd.testing.assert_frame_equal(back, tables_of(done.folder / "01_study.ipynb")["per.topic"].to_frame())


def test_every_page_is_self_contained_and_the_index_leads_to_it(done: RunResult) -> None:
    pages = sorted(p.name for p in done.folder.glob("*.html"))
    assert pages == ["01_study.html", "02_broken.html", "index.html"]
    for name in pages:
        assert external_requests((done.folder / name).read_text(encoding="utf-8")) == []
    index = (done.folder / "index.html").read_text(encoding="utf-8")
    assert 'href="01_study.html"' in index
    assert "ZeroDivisionError" in index


def test_the_callable_hears_of_every_cell_and_every_end(done: RunResult, steps: list[Step]) -> None:
    study = [s for s in steps if s.notebook == "01_study"]
    cells = 3 + len(SOURCES)
    assert [s.done for s in study] == [*range(cells), cells]
    assert {s.cells for s in study} == {cells}
    assert study[-1].outcome == done.notebooks[0].outcome
    assert [s.number for s in steps] == sorted(s.number for s in steps)
    assert steps[-1].outcome.startswith("FAILED")


def test_running_the_executed_notebook_again_gives_the_same_bytes(done: RunResult, folder: Path) -> None:
    # Its earlier outputs and injected parameters must not reach the new run.
    source = folder / "again" / "01_study.ipynb"
    source.parent.mkdir()
    source.write_bytes((done.folder / "01_study.ipynb").read_bytes())
    (source.parent / "data.txt").write_bytes(b"abc")
    source.parent.rename(folder / "again books")
    (folder / "books").rename(folder / "kept")
    (folder / "again books").rename(folder / "books")
    run(folder / "books", parameters=OVERRIDES, output=folder / "out2", progress=False)
    names = ["01_study.ipynb", "01_study.html", "tables/01_study.per.topic.csv", "tables/01_study.per.topic.parquet"]
    for name in names:
        assert (folder / "out2" / name).read_bytes() == (done.folder / name).read_bytes(), name
    text = (done.folder / "01_study.ipynb").read_text(encoding="utf-8")
    for leak in (str(folder), os.path.realpath(folder), "noise", "no-such-kernel"):
        assert leak not in text


def test_many_runs_are_one_frame(done: RunResult, folder: Path) -> None:
    frame = runs_df(folder)
    mine = frame[(frame.run == "out") & (frame.name == "recall@3")].iloc[0]
    assert (mine.value, mine.n, mine.low, mine.high, mine["parameter.k"], mine.seed) == (0.5, 90, 0.1, 0.9, 5, 7)
    assert json.loads(mine["parameter.options"]) == OPTIONS
    broken = frame[frame.notebook == "02_broken"]
    assert broken.name.isna().tolist() == [True]
    assert broken.ok.tolist() == [False]


def test_a_folder_without_readable_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no results\.json"):
        runs_df(tmp_path)
    for text, reason in (
        ("{", "not JSON"),
        ("{}", "not the results"),
        ('{"schema": 2, "notebooks": {}}', "reads up to"),
    ):
        (tmp_path / "results.json").write_text(text)
        with pytest.raises(RunError, match=reason):
            runs_df(tmp_path)


def test_a_kernel_that_is_killed_ends_the_notebook_and_not_the_run(tmp_path: Path) -> None:
    node = new_notebook(
        cells=[
            new_code_cell("print('before')"),
            new_code_cell("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"),
        ]
    )
    found = execute_notebook(node, parameters={}, folder=tmp_path, limits=Limits(60, 60))
    assert found.error == "the kernel died in cell 2 of 2 (killed, out of memory, or a crash in a library)"
    assert found.notebook.cells[0].outputs[0].text == "before\n"


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(cell=0.3), "stopped in cell 2 of 2: the cell took more than 0.3 s"),
        # Shorter than the start of the kernel, so the first cell is over the limit.
        (Limits(run=0.1), "stopped in cell 2 of 2: the notebook took more than 0.1 s"),
    ],
)
def test_time_limits_hold(tmp_path: Path, limits: Limits, reason: str) -> None:
    node = new_notebook(cells=[new_markdown_cell("prose"), new_code_cell("import time; time.sleep(60)")])
    assert execute_notebook(node, parameters={}, folder=tmp_path, limits=limits).error == reason


def test_what_is_wrong_is_refused_before_a_kernel_starts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a kernel was started")

    monkeypatch.setattr("memlab.runs.jobs.execute_notebook", refuse)
    broken, output = folder / "broken", folder / "never"
    with pytest.raises(RunError, match=r"02_broken\.ipynb has no parameter 'kk'; did you mean k\? \(allowed: k\)"):
        run(broken, parameters={"kk": 1}, output=output)
    with pytest.raises(RunError, match="parameter k must be int"):
        run(broken, parameters={"k": "many"}, output=output)
    with pytest.raises(RunError, match=r"no such notebook; in that folder: 02_broken\.ipynb"):
        run(broken / "03.ipynb", output=output)
    with pytest.raises(RunError, match=r"ends in \.ipynb"):
        run(broken / "03.py", output=output)
    with pytest.raises(RunError, match=r"two notebooks are called 02_broken"):
        run([broken, broken], output=output)
    with pytest.raises(RunError, match="above 0 seconds"):
        run(broken, output=output, timeout_cell=0)
    (folder / "file").write_text("")
    with pytest.raises(RunError, match="can't be written"):
        run(broken, output=folder / "file")
    assert not output.exists()


def test_a_result_recorded_twice_makes_a_failed_notebook(tmp_path: Path) -> None:
    book = write_notebook(tmp_path / "a.ipynb", "from memlab.runs import record\nrecord('x', 1)\nrecord('x', 2)")
    done = run(book, output=tmp_path / "out", progress=False)
    assert done.notebooks[0].error == "the number 'x' is recorded twice; give each a name of its own"


def test_progress_off_a_terminal_is_a_line_a_notebook_and_per_fifth() -> None:
    # The clock goes on by 1 s at each look: it is read at the start, and whenever time left is told.
    stream, ticks = io.StringIO(), iter(range(100))
    report = reporter(True, stream=stream, clock=lambda: float(next(ticks)))
    for cell in range(10):
        report(Step("01_x", 1, 2, cell, 10))
    report(Step("01_x", 1, 2, 10, 10, "done in 1.0 s"))
    assert stream.getvalue().splitlines() == [
        "[1/2] 01_x: 10 cells",
        # 1 s for 10 % of the run: 9 s for the rest; then 2 s for 20 %, and so on; 5 s for one notebook of two.
        "[1/2] 01_x: 20 %, about 9 s left",
        "[1/2] 01_x: 40 %, about 8 s left",
        "[1/2] 01_x: 60 %, about 7 s left",
        "[1/2] 01_x: 80 %, about 6 s left",
        "[1/2] 01_x: done in 1.0 s, about 5 s left",
    ]


def test_progress_counts_notebooks_that_run_at_the_same_time_together() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    report = reporter(True, stream=stream, clock=lambda: 0.0)
    report(Step("01_x", 1, 2, 5, 10))
    report(Step("02_y", 2, 2, 3, 10))
    assert "40 %  [2/2] 02_y" in stream.getvalue()  # (50 % + 30 %) / 2


def test_progress_on_a_terminal_rewrites_one_line() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    report = reporter(True, stream=stream)
    report(Step("01_x", 1, 2, 5, 10))
    report(Step("01_x", 1, 2, 10, 10, "done"))
    bar, end = stream.getvalue().split("\r\x1b[K")[1:]
    # Half of the first of two notebooks is a quarter of the run: 5 of 20 blocks.
    assert bar.startswith("█████░░░░░░░░░░░░░░░  25 %  [1/2] 01_x: cell 6 of 10, about ")
    assert end == "[1/2] 01_x: done\n"


def test_progress_can_be_off(capsys: pytest.CaptureFixture[str]) -> None:
    reporter(False)(Step("01_x", 1, 1, 0, 1))
    assert capsys.readouterr() == ("", "")


def test_a_kernel_imports_the_memlab_that_runs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", "kept")
    paths = kernel_environment(tmp_path).get("PYTHONPATH", "").split(os.pathsep)
    home = str(Path(provenance.__file__).resolve().parents[2])
    assert paths == [home, "kept"] or home.endswith("-packages")
