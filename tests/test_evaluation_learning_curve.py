"""The learning curve: drawn from a file that somebody made, and nothing where there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memlab.errors import InputError
from memlab.evaluation.learning_curve import COLUMNS, Absent, learning_curve, read_learning_curve
from memlab.figures import Chart


def row(share: float, f1: float, **changes: Any) -> dict[str, Any]:
    sizes = {"conversations": int(200 * share), "messages": int(400 * share)}
    return {"share": share, **sizes, "split": "dev", "field": "symptoms", "f1": f1, **changes}


def write(path: Path, rows: Any) -> Path:
    path.write_text(json.dumps({"rows": rows, "made_by": "scripts/learning_curve.py"}), "utf-8")
    return path


def test_without_a_file_nothing_is_shown_and_it_is_said(tmp_path: Path) -> None:
    shown = learning_curve(tmp_path / "learning_curve.json")
    assert isinstance(shown, Absent)
    assert repr(shown) == "No learning curve on the dev split has been made yet (learning_curve.json holds none)."
    assert shown._repr_html_().startswith("<p>No learning curve")
    assert list(read_learning_curve(tmp_path / "learning_curve.json").columns) == list(COLUMNS)


def test_a_field_is_a_line_over_the_conversations(tmp_path: Path) -> None:
    rows = [row(1.0, 0.5), row(0.5, 0.4), row(1.0, 0.3, field="root_cause"), row(1.0, 0.9, split="test")]
    file = write(tmp_path / "curve.json", rows)
    chart = learning_curve(file)
    assert isinstance(chart, Chart)
    assert "symptoms: from 0.40 at 100 to 0.50 at 200." in chart.alt
    assert "root_cause: 0.30 at 200." in chart.alt
    assert learning_curve(file, fields=["symptoms"]).table["field"].unique().tolist() == ["symptoms"]  # type: ignore[union-attr]
    assert isinstance(learning_curve(file, fields=["solution"]), Absent)
    test = learning_curve(file, split="test")
    assert isinstance(test, Chart)
    assert test.table["f1"].tolist() == [0.9]


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([{"share": 1.0}], "row 0"),
        ([row(0.5, 0.4), row(1.5, 0.5)], "row 1"),
        ([row(0.5, 1.4)], "f1 in"),
        ({"a": 1}, "one object a row"),
        ([3], "one object a row"),
    ],
)
def test_what_is_no_curve_is_refused(tmp_path: Path, rows: Any, what: str) -> None:
    with pytest.raises(InputError, match=what):
        read_learning_curve(write(tmp_path / "curve.json", rows))


def test_broken_json_is_refused_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "curve.json"
    file.write_text("{", "utf-8")
    with pytest.raises(InputError, match=r"curve\.json: not JSON"):
        learning_curve(file)
