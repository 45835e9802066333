"""Results as data inside an executed notebook: written by its cells, read back by the runner and by `memlab verify`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memlab.errors import RunError
from memlab.runs.files import read_notebook
from memlab.runs.schema import RESULT_MIME, STAMP_MIME, TABLE_MIME, Result, Scalar, Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["record", "record_table", "results_of", "stamp_of", "tables_of"]


_Item = TypeVar("_Item", Result, Table)


def record(
    name: str,
    value: object,
    *,
    n: int | None = None,
    interval: Sequence[float] | None = None,
    unit: str | None = None,
    tolerance: float | None = None,
    cases: Mapping[str, Scalar] | pd.Series[Any] | None = None,
) -> None:
    """State a number as a result of this notebook: it prints one line and is stored as data in the cell's output.

    Parameters
    ----------
    name : str
        What was measured, unique in the notebook, for example ``"recall@3"``.
    value : number, bool, str or None
        The number; None if it could not be measured.
    n : int, optional
        How many cases it rests on.
    interval : (lower, upper), optional
        Its 95 % interval.
    unit : str, optional
        For example ``"ms"``.
    tolerance : float, optional
        How far a repetition may be off, absolute; by default rounding noise only.
    cases : mapping or Series, optional
        Outcome of each case by its id; a comparison then names the cases that flipped.

    Raises
    ------
    RunError
        If a field is not what it must be.

    >>> record("recall@3", 0.8125, n=90, interval=(0.744, 0.871))
    recall@3 = 0.8125 [0.744, 0.871] (n = 90)
    """
    result = Result.of(name, value, n=n, interval=interval, unit=unit, tolerance=tolerance, cases=cases)
    _publish({RESULT_MIME: result.to_json(), "text/plain": str(result)})


def record_table(name: str, frame: pd.DataFrame, *, tolerance: float | None = None) -> None:
    """State a table as a result of this notebook: it is shown, and stored as data in the cell's output.

    Parameters
    ----------
    name : str
        Unique in the notebook; letters, digits and ``_ . @ + -``, since the files of a run are named after it.
    frame : DataFrame
        At most 5,000 rows; an index that is not just row numbers becomes the first columns.
    tolerance : float, optional
        How far a number in a repetition may be off, absolute; by default rounding noise only.

    Raises
    ------
    RunError
        If the name or a cell is not allowed.
    """
    table = Table.of(name, frame, tolerance=tolerance)
    shown = table.to_frame()
    _publish(
        {
            TABLE_MIME: table.to_json(),
            "text/html": shown.to_html(index=False, border=0, max_rows=60, na_rep=""),
            "text/plain": f"{name}\n{shown.to_string(index=False, max_rows=60, na_rep='')}",
        }
    )


def _publish(data: dict[str, Any]) -> None:
    shell = None
    if "IPython" in sys.modules:
        from IPython.core.getipython import get_ipython

        shell = get_ipython()
    if shell is None:
        print(data["text/plain"])  # noqa: T201 - outside of a notebook this is the output
    else:
        shell.display_pub.publish(data)


def results_of(notebook: Any) -> dict[str, Result]:
    """Every number that an executed notebook records, by name, in the order in which it states them.

    Parameters
    ----------
    notebook : path or notebook node
        An executed notebook.

    Raises
    ------
    RunError
        If a name is recorded twice, or an output is damaged or from a newer memlab.
    """
    return _once((Result.from_json(data) for data in _outputs(notebook, RESULT_MIME)), "number")


def tables_of(notebook: Any) -> dict[str, Table]:
    """Every table that an executed notebook records, by name; see `results_of`."""
    return _once((Table.from_json(data) for data in _outputs(notebook, TABLE_MIME)), "table")


def stamp_of(notebook: Any) -> dict[str, Any]:
    """The provenance that an executed notebook shows (its last stamp), or an empty object."""
    found: dict[str, Any] = {}
    for data in _outputs(notebook, STAMP_MIME):
        found = dict(data) if isinstance(data, Mapping) else {}
    return found


def _outputs(notebook: Any, mime: str) -> Iterator[Any]:
    node = read_notebook(notebook) if isinstance(notebook, (str, Path)) else notebook
    for cell in node["cells"]:
        for output in cell.get("outputs", ()):
            if mime in output.get("data", ()):
                yield output["data"][mime]


def _once(items: Iterator[_Item], what: str) -> dict[str, _Item]:
    found: dict[str, _Item] = {}
    for item in items:
        if item.name in found:
            raise RunError(f"the {what} {item.name!r} is recorded twice; give each a name of its own")
        found[item.name] = item
    return found
