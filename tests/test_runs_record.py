"""Recorded results: checked when they are stated, and read back from a notebook as they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab.errors import RunError
from memlab.runs import Result, Table, record, record_table, results_of, tables_of
from memlab.runs.schema import RESULT_MIME, TABLE_MIME


def executed(*outputs: tuple[str, Any]) -> nbformat.NotebookNode:
    shown = [nbformat.v4.new_output("display_data", data={mime: data}) for mime, data in outputs]
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x", outputs=shown)])


def test_a_result_prints_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    record("recall@3", np.float64(0.81256), n=90, interval=(0.744, 0.871))
    record("time", 12.5, unit="ms")
    record("undecided", None, n=0)
    assert capsys.readouterr().out.splitlines() == [
        "recall@3 = 0.8126 [0.744, 0.871] (n = 90)",
        "time = 12.5 ms",
        "undecided = not measured (n = 0)",
    ]


def test_numpy_and_pandas_values_become_plain_ones() -> None:
    cases = pd.Series({"c2": np.bool_(True), "c1": np.bool_(False)})
    result = Result.of(
        "x", np.int64(3), n=np.int64(2), interval=np.array([1, 4]), tolerance=np.float32(0.5), cases=cases
    )
    assert json.loads(json.dumps(result.to_json())) == {
        "schema": 1,
        "name": "x",
        "value": 3,
        "n": 2,
        "interval": [1.0, 4.0],
        "tolerance": 0.5,
        "cases": {"c1": False, "c2": True},
    }


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"name": "two\nlines"}, "one line"),
        ({"name": ""}, "one line"),
        ({"name": 3}, "one line"),
        ({"value": float("nan")}, "x: value is nan; record None"),
        ({"value": np.float32("inf")}, "x: value is inf"),
        ({"value": [1]}, "x: value must be a number"),
        ({"n": -1}, "x: n must be a whole number"),
        ({"n": 1.5}, "x: n must be a whole number"),
        ({"n": True}, "x: n must be a whole number"),
        ({"interval": (2, 1)}, "lower ≤ upper"),
        ({"interval": (1,)}, "x: interval must be"),
        ({"interval": ("a", "b")}, "x: interval must be"),
        ({"interval": 3}, "x: interval must be"),
        ({"tolerance": -0.1}, "x: tolerance must be"),
        ({"unit": " ms"}, "x: unit must be one line"),
        ({"cases": ["c1"]}, "x: cases must map"),
        ({"cases": {1: 0, "1": 1}}, "stands twice"),
    ],
)
def test_a_field_that_is_not_what_it_must_be_is_refused(fields: dict[str, Any], reason: str) -> None:
    fields = {"name": "x", "value": 1, **fields}
    with pytest.raises(RunError, match=reason):
        record(fields.pop("name"), fields.pop("value"), **fields)


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)


@given(SCALARS, st.dictionaries(st.text(), SCALARS), st.none() | st.floats(0, 10))
def test_a_result_survives_the_way_through_json(value: Any, cases: dict[str, Any], tolerance: float | None) -> None:
    result = Result.of("x", value, cases=cases, tolerance=tolerance)
    again = Result.from_json(json.loads(json.dumps(result.to_json())))
    assert again == result
    assert type(again.value) is type(value)


def test_results_and_tables_are_found_in_their_order() -> None:
    table = Table.of("t", pd.DataFrame({"a": [1]}))
    node = executed(
        (RESULT_MIME, Result.of("b", 1).to_json()),
        (TABLE_MIME, table.to_json()),
        (RESULT_MIME, Result.of("a", 2).to_json()),
        ("text/plain", "a line that is no result"),
    )
    assert list(results_of(node).items()) == [("b", Result("b", 1)), ("a", Result("a", 2))]
    assert tables_of(node) == {"t": table}


def test_a_name_recorded_twice_is_refused() -> None:
    twice = (RESULT_MIME, Result.of("a", 1).to_json())
    with pytest.raises(RunError, match="'a' is recorded twice"):
        results_of(executed(twice, twice))


@pytest.mark.parametrize("schema", [2, None, "1"])
def test_a_result_of_another_schema_is_refused(schema: object) -> None:
    with pytest.raises(RunError, match="reads up to 1"):
        results_of(executed((RESULT_MIME, {"schema": schema, "name": "a", "value": 1})))


def test_a_file_that_is_no_notebook_is_named(tmp_path: Path) -> None:
    for text in ("{", "[]", '{"cells": [], "metadata": {}}', '{"worksheets": [], "nbformat": 3}'):
        file = tmp_path / "x.ipynb"
        file.write_text(text, encoding="utf-8")
        with pytest.raises(RunError, match=r"x\.ipynb: not a notebook"):
            results_of(file)


def test_a_table_keeps_its_values_and_gets_fitting_types() -> None:
    frame = pd.DataFrame(
        {
            "text": ["a", None],
            "whole": pd.array([1, None], dtype="Int64"),
            "real": [0.5, float("nan")],
            "yes": [True, False],
            "when": [pd.Timestamp("2026-03-01T00:00:00+00:00"), pd.NaT],
            "many": [["y", 1], {"b": 1, "a": {2, 1}}],
        },
        index=pd.Index(["r1", "r2"], name="row"),
    )
    table = Table.of("t", frame)
    assert table.columns == ("row", "text", "whole", "real", "yes", "when", "many")
    assert table.rows == (
        ("r1", "a", 1, 0.5, True, "2026-03-01T00:00:00+00:00", ["y", 1]),
        ("r2", None, None, None, False, None, {"b": 1, "a": [1, 2]}),
    )
    assert Table.from_json(json.loads(json.dumps(table.to_json()))) == table
    back = table.to_frame()
    assert [str(t) for t in back.dtypes] == ["str", "str", "Int64", "float64", "bool", "str", "str"]
    assert back["many"].tolist() == ['["y",1]', '{"a":[1,2],"b":1}']


def test_an_empty_table_keeps_its_columns() -> None:
    back = Table.of("t", pd.DataFrame({"a": [], "b": []})).to_frame()
    assert (list(back.columns), len(back)) == (["a", "b"], 0)


@pytest.mark.parametrize(
    ("name", "frame", "reason"),
    [
        ("a/b", pd.DataFrame({"a": [1]}), "becomes a file name"),
        ("../t", pd.DataFrame({"a": [1]}), "becomes a file name"),
        ("t", pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a' stands twice"),
        ("t", pd.DataFrame({"a": [float("inf")]}), "table t, row 0, column a is inf"),
        ("t", pd.DataFrame({"a": [object()]}), "table t, row 0, column a must be"),
        ("t", pd.DataFrame({"a": range(5001)}), "5001 rows"),
    ],
)
def test_a_table_that_can_not_be_stored_is_refused(name: str, frame: pd.DataFrame, reason: str) -> None:
    with pytest.raises(RunError, match=reason):
        record_table(name, frame)


def test_a_table_shows_itself(capsys: pytest.CaptureFixture[str]) -> None:
    record_table("per-topic", pd.DataFrame({"topic": ["teams"], "share": [0.5]}))
    assert capsys.readouterr().out == "per-topic\ntopic  share\nteams    0.5\n"


@pytest.mark.parametrize("damage", [{"columns": 3}, {"rows": [[1, 2]]}, {"rows": ["a"]}, {"name": "/"}, {"schema": 9}])
def test_a_damaged_table_is_refused(damage: dict[str, Any]) -> None:
    good = Table.of("t", pd.DataFrame({"a": [1]})).to_json()
    assert Table.from_json(good).rows == ((1,),)
    with pytest.raises(RunError):
        Table.from_json({**good, **damage})
