"""Parameters: what a notebook declares, and what may be said instead, before any kernel starts."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab.errors import RunError
from memlab.runs import Parameter, check_parameters, load_parameter_file, parameters_of

CELL = """
k: int = 3  # how many hits
share: float = 1  # not a default: # twice
fast: bool = False
names: list[str] = ["a", "b"]
sizes: list = [1, 2]
options: dict[str, float] = {"low": 0.1}
mode: Literal["cold", "warm"] = "cold"
limit: int | None = None
title = "no annotation"
"""


def notebook(source: str, *tags: str) -> nbformat.NotebookNode:
    cell = nbformat.v4.new_code_cell(source, metadata={"tags": list(tags or ("parameters",))})
    return nbformat.v4.new_notebook(cells=[cell])


@pytest.fixture
def declared() -> tuple[Parameter, ...]:
    return parameters_of(notebook(CELL))


def test_every_line_is_a_parameter_with_type_default_and_help(declared: tuple[Parameter, ...]) -> None:
    assert [(p.name, p.type, p.default) for p in declared] == [
        ("k", "int", 3),
        ("share", "float", 1),
        ("fast", "bool", False),
        ("names", "list[str]", ["a", "b"]),
        ("sizes", "list", [1, 2]),
        ("options", "dict[str, float]", {"low": 0.1}),
        ("mode", "Literal['cold', 'warm']", "cold"),
        ("limit", "int | None", None),
        ("title", "str", "no annotation"),
    ]
    assert [p.help for p in declared[:3]] == ["how many hits", "not a default: # twice", ""]


def test_a_notebook_without_the_tagged_cell_has_no_parameters() -> None:
    assert parameters_of(notebook("k = 1", "other")) == ()


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import os", "only lines"),
        ("a, b = 1, 2", "only lines"),
        ("a.b = 1", "only lines"),
        ("a: int", "only lines"),
        ("a = b = 1", "only lines"),
        ("a = open('x')", "must be a literal"),
        ("a: int = 'x'", "declared int but its value is text|must be int"),
        ("a: int = '3'", "declared int but its value is text"),
        ("a: int = None", "must be int, not None"),
        ("a: tuple = (1, 2)", "has type tuple; allowed: bool"),
        ("a: dict[int, str] = {}", "has type dict"),
        ("a: Path = 'x'", "has type Path"),
        ("a = 1\na = 2", "sets a twice"),
        ("a = (", "line 1"),
    ],
)
def test_a_cell_that_is_no_list_of_parameters_is_refused(source: str, reason: str) -> None:
    with pytest.raises(RunError, match=reason):
        parameters_of(notebook(source))


def test_two_tagged_cells_are_refused() -> None:
    node = notebook("a = 1")
    node.cells.append(nbformat.v4.new_code_cell("b = 1", metadata={"tags": ["parameters"]}))
    with pytest.raises(RunError, match="2 cells are tagged parameters"):
        parameters_of(node)


def test_text_is_read_in_the_declared_type(declared: tuple[Parameter, ...]) -> None:
    text = {
        "k": "30",
        "share": "1e-3",
        "fast": "True",
        "names": "c, d",
        "sizes": "4,5",
        "options": '{"low": 1}',
        "mode": "warm",
        "limit": "none",
        "title": "30",
    }
    assert check_parameters(declared, text) == {
        "k": 30,
        "share": 0.001,
        "fast": True,
        "names": ["c", "d"],
        "sizes": [4, 5],  # the elements of a bare list are what the default's are
        "options": {"low": 1.0},
        "mode": "warm",
        "limit": None,
        "title": "30",
    }
    assert check_parameters(declared, {"names": '["x,y"]', "limit": "7", "fast": "no"}) == {
        "fast": False,
        "names": ["x,y"],
        "limit": 7,
    }
    assert check_parameters(declared, {"names": ""}) == {"names": []}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("k", "3.5"),
        ("k", 3.0),
        ("k", True),
        ("k", None),
        ("k", "many"),
        ("share", "nan"),
        ("share", float("inf")),
        ("share", False),
        ("share", 10**400),
        ("fast", 1),
        ("fast", "perhaps"),
        ("names", [1]),
        ("names", {"a": 1}),
        ("sizes", "a,b"),
        ("options", {1: 2.0}),
        ("options", {"low": "much"}),
        ("options", "{low"),
        ("mode", "hot"),
        ("limit", "soon"),
        ("title", 30),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_by_name(
    declared: tuple[Parameter, ...], name: str, value: object
) -> None:
    with pytest.raises(RunError, match=rf"parameter {name} must be "):
        check_parameters(declared, {name: value})


def test_an_unknown_name_is_refused_with_the_nearest_and_all_allowed_names(declared: tuple[Parameter, ...]) -> None:
    with pytest.raises(RunError) as refused:
        check_parameters(declared, {"sise": 1}, where="01_x.ipynb")
    assert str(refused.value) == (
        "01_x.ipynb has no parameter 'sise'; did you mean sizes? "
        "(allowed: fast, k, limit, mode, names, options, share, sizes, title)"
    )
    with pytest.raises(RunError, match=r"no parameter 'zzz' \(allowed: none\)"):
        check_parameters((), {"zzz": 1})


@given(st.lists(st.integers()), st.booleans(), st.floats(allow_nan=False, allow_infinity=False))
def test_a_value_and_its_text_are_read_alike(numbers: list[int], flag: bool, share: float) -> None:
    for kind, value in (("list[int]", numbers), ("bool", flag), ("float", share)):
        parameter = Parameter("p", kind, value)
        assert parameter.convert(str(value)) == parameter.convert(value) == value


def test_a_parameter_file_maps_names_to_values(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("k: 5\nnames: [x, y]\nday: 2026-03-01\n", encoding="utf-8")
    # A date stays text: a notebook can't be given one.
    assert load_parameter_file(file) == {"k": 5, "names": ["x", "y"], "day": "2026-03-01"}
    file.write_text("", encoding="utf-8")
    assert load_parameter_file(file) == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("k: 1\nk: 2\n", "'k' stands twice"),
        ("- 1\n", "must map names"),
        ("1: 2\n", "must map names"),
        ("k: [", "not YAML"),
        ("k: !!python/object:os.system x", "not YAML"),
    ],
)
def test_a_parameter_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(RunError, match=reason) as refused:
        load_parameter_file(file)
    assert str(file) in str(refused.value)


def test_a_missing_parameter_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"nowhere\.yaml"):
        load_parameter_file(tmp_path / "nowhere.yaml")
