"""Comparing recorded results: what tolerance allows, and what a difference says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab.runs import Difference, Result, Table
from memlab.runs.compare import differences, same


def found(old: list[Result | Table], new: list[Result | Table]) -> list[Difference]:
    def split(items: list[Result | Table]) -> Any:
        results = {i.name: i for i in items if isinstance(i, Result)}
        return results, {i.name: i for i in items if isinstance(i, Table)}

    return list(differences("nb", split(old), split(new)))


@pytest.mark.parametrize(
    ("old", "new", "tolerance", "equal"),
    [
        (0.81, 0.80, 0.01, True),  # 0.81 - 0.80 is 0.010000000000000009: the edge itself is allowed
        (0.81, 0.7999, 0.01, False),
        (0.81, 0.81 * (1 + 1e-10), None, True),
        (0.81, 0.81 * (1 + 1e-8), None, False),
        (90, 91, None, False),
        (90, 90.0, None, True),
        (1, True, None, False),
        (True, True, None, True),
        (None, None, None, True),
        (None, 0, 5.0, False),
        ("a", "b", 5.0, False),
        ([1, 2.0], [1, 2.05], 0.1, True),
        ([1], [1, 2], 0.1, False),
        ({"a": 1.0}, {"a": 1.05}, 0.1, True),
        ({"a": 1.0}, {"b": 1.0}, 0.1, False),
    ],
)
def test_a_value_may_differ_by_its_tolerance_and_by_rounding(
    old: Any, new: Any, tolerance: float | None, equal: bool
) -> None:
    assert same(old, new, tolerance) is equal
    assert same(new, old, tolerance) is equal


@given(st.floats(-1e6, 1e6), st.floats(0, 1e3), st.floats(-2, 2))
def test_within_the_tolerance_is_same_and_clearly_outside_is_not(old: float, tolerance: float, shift: float) -> None:
    if abs(shift) <= 1:
        assert same(old, old + shift * tolerance, tolerance)
    elif tolerance > 1 and abs(shift) > 1.01:
        # Noise allows 1e-9 * 1e6 = 0.001 more, less than the 0.01 * tolerance by which this is outside.
        assert not same(old, old + shift * tolerance, tolerance)


def test_equal_results_have_no_difference() -> None:
    items = [Result("a", 0.5, 10, (0.4, 0.6), cases={"c": 1}), Table("t", ("x",), ((1,),))]
    assert found(items, items) == []


def test_a_number_says_old_new_tolerance_and_who_flipped() -> None:
    old = Result("recall@3", 0.8125, 90, (0.7, 0.9), tolerance=0.005, cases={"c1": True, "c2": True, "c3": False})
    new = Result("recall@3", 0.7901, 91, (0.7, 0.85), tolerance=9.0, cases={"c1": True, "c2": False, "c4": True})
    (difference,) = found([old], [new])
    # The committed tolerance counts: a claim can't be loosened by the code that repeats it.
    assert difference.tolerance == 0.005
    assert difference.flipped == ("c2", "c3", "c4")
    assert str(difference) == (
        "recall@3: 0.8125 → 0.7901 (tolerance 0.005); n 90 → 91; interval [0.7, 0.9] → [0.7, 0.85]; "
        "other outcome in 3 cases: c2, c3, c4"
    )


def test_a_number_can_differ_in_its_cases_alone() -> None:
    (difference,) = found([Result("a", 0.5, cases={"x": 0, "y": 1})], [Result("a", 0.5, cases={"x": 1, "y": 0})])
    assert (difference.detail, difference.flipped) == ("same value", ("x", "y"))


def test_values_that_print_alike_are_shown_in_full() -> None:
    (difference,) = found([Result("a", 0.123456789)], [Result("a", 0.123456)])
    assert "0.123456789 → 0.123456 (no tolerance stated)" in str(difference)


def test_missing_and_unexpected_results_are_differences() -> None:
    kinds = [(d.kind, d.name) for d in found([Result("a", 1)], [Table("t", ("x",), ())])]
    assert kinds == [("missing", "a"), ("unexpected", "t")]


@pytest.mark.parametrize(
    ("columns", "rows", "detail"),
    [
        (("x", "z"), ((1, 0.5), (2, 0.6)), "columns x, y → x, z"),
        (("x", "y"), ((1, 0.5),), "2 → 1 rows"),
        (("x", "y"), ((1, 0.5), (3, 0.9)), "2 cells differ, first in row 1, column x"),
        (("x", "y"), ((1, 0.54), (2, 0.64)), None),
    ],
)
def test_a_table_is_compared_cell_by_cell(columns: Any, rows: Any, detail: str | None) -> None:
    old = Table("t", ("x", "y"), ((1, 0.5), (2, 0.6)), tolerance=0.05)
    assert [d.detail for d in found([old], [Table("t", columns, rows)])] == ([] if detail is None else [detail])
