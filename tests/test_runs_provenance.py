"""Provenance: what is hashed, what is shown, and what stays out of a committed notebook."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from memlab.errors import RunError
from memlab.runs import stamp
from memlab.runs.provenance import _git, memlab_source

# printf abc | sha256sum
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.jsonl").write_bytes(b"abc")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    return tmp_path


def test_files_are_hashed_under_names_that_every_machine_shares(study: Path) -> None:
    found = stamp(datasets=["../data/a.jsonl"], prompts=[study / "data" / "a.jsonl"])
    assert found.datasets == {"data/a.jsonl": ABC}
    assert found.prompts == {"a.jsonl": ABC}
    assert stamp(datasets="../data/a.jsonl").datasets == found.datasets


def test_a_folder_changes_with_any_file_in_it(study: Path) -> None:
    before = stamp(datasets=["../data"]).datasets
    assert list(before) == ["data"]
    (study / "data" / ".hidden").write_bytes(b"x")
    assert stamp(datasets=["../data"]).datasets == before
    (study / "data" / "b.jsonl").write_bytes(b"")
    assert stamp(datasets=["../data"]).datasets != before


def test_a_missing_file_and_two_files_of_one_name_are_refused(study: Path) -> None:
    with pytest.raises(RunError, match=r"dataset nowhere\.jsonl: no such file"):
        stamp(datasets=["nowhere.jsonl"])
    (study / "a.jsonl").write_bytes(b"other")
    with pytest.raises(RunError, match=r"two datasets are called a\.jsonl"):
        stamp(datasets=[study / "a.jsonl", study / "data" / "a.jsonl"])


def test_a_notebook_shows_only_what_no_machine_changes(study: Path) -> None:
    found = stamp(datasets=["../data/a.jsonl"], model="<m>", seed=7, parameters={"k": [1, 2]})
    shown = found._repr_mimebundle_()
    assert shown["application/vnd.memlab.provenance+json"] == {
        "memlab": found.memlab,
        "datasets": {"data/a.jsonl": ABC},
        "prompts": {},
        "model": "<m>",
        "seed": 7,
        "parameters": {"k": [1, 2]},
    }
    text, html = shown["text/plain"], shown["text/html"]
    for hidden in (found.python, *found.packages.values(), found.source, str(found.commit)):
        assert hidden == found.memlab or (hidden not in text and hidden not in html)
    assert text.splitlines()[1:] == [
        f"dataset data/a.jsonl  sha256 {ABC[:16]}…",
        "model                 <m>",
        "seed                  7",
        "parameter k           [1,2]",
    ]
    assert "&lt;m&gt;" in html
    assert "<m>" not in html


def test_everything_is_kept_for_the_results_and_the_comparable_part_is_named(study: Path) -> None:
    found = stamp()
    assert found.packages["pandas"]
    assert set(found.to_json()) - set(found.comparable()) == {"commit", "dirty", "python"}
    assert len(memlab_source()) == 16


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_commit_and_dirty_flag_come_from_the_repository_that_tracks_the_folder(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        command = ["git", "-C", str(tmp_path), *who, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    assert _git(tmp_path) is None
    git("init", "-q")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "x.py").write_text("1")
    assert _git(tmp_path) is None  # nothing is committed
    git("add", "inside")
    git("commit", "-q", "-m", "x")
    commit = git("rev-parse", "HEAD")
    assert _git(tmp_path / "inside") == (commit, False)
    (tmp_path / "inside" / "x.py").write_text("2")
    assert _git(tmp_path / "inside") == (commit, True)
    # A virtual environment inside a checkout is no part of it.
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "y.py").write_text("1")
    assert _git(tmp_path / "venv") is None
