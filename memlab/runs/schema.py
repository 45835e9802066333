"""What a notebook states as data: the schema of recorded numbers and tables, version 1.

Recorded values stand in the outputs of the executed notebook under a mime type of their own, next to the line or table
that a reader sees. A field that is added later gets a default; a change of meaning moves `SCHEMA_VERSION`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from memlab.errors import RunError
from memlab.records import canonical_json

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RESULT_MIME", "SCHEMA_VERSION", "STAMP_MIME", "TABLE_MIME", "Result", "Scalar", "Table"]

SCHEMA_VERSION = 1
RESULT_MIME = "application/vnd.memlab.result+json"
TABLE_MIME = "application/vnd.memlab.table+json"
STAMP_MIME = "application/vnd.memlab.provenance+json"
MAX_ROWS = 5000

Scalar = float | int | bool | str | None

_TABLE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,99}")


@dataclass(frozen=True, slots=True)
class Result:
    """One number that a notebook claims, with all that is needed to check it."""

    name: str
    """What was measured; one line of text, unique in its notebook."""
    value: Scalar
    """The number (or yes/no, or text); None if it could not be measured, never NaN."""
    n: int | None = None
    """How many cases the number rests on, ≥ 0."""
    interval: tuple[float, float] | None = None
    """Lower and upper end of the interval (95 % unless the name says otherwise), in the unit of `value`."""
    unit: str | None = None
    """The unit of `value`; None for a share, count or score."""
    tolerance: float | None = None
    """How far a repetition may be off (absolute, ≥ 0); None allows rounding noise only (1e-9 of the value)."""
    cases: Mapping[str, Scalar] = field(default_factory=dict, hash=False)
    """Outcome of each case by its id, so that a comparison can name the cases that flipped; may be empty."""

    @classmethod
    def of(
        cls,
        name: object,
        value: object,
        *,
        n: object = None,
        interval: object = None,
        unit: object = None,
        tolerance: object = None,
        cases: object = None,
    ) -> Result:
        """A checked result from whatever numbers a notebook has (numpy scalars, a Series of cases).

        Raises
        ------
        RunError
            If a field is not what it must be; the message names the result and the field.
        """
        name = _line(name, "a result's name")
        if unit is not None:
            unit = _line(unit, f"{name}: unit")
        count = scalar(n, f"{name}: n")
        if count is not None and (isinstance(count, (bool, str)) or count != int(count) or count < 0):
            raise RunError(f"{name}: n must be a whole number ≥ 0, not {n!r}")
        return cls(
            name,
            scalar(value, f"{name}: value"),
            None if count is None else int(count),
            _interval(interval, name),
            unit,
            _tolerance(tolerance, name),
            _cases(cases, name),
        )

    def __str__(self) -> str:
        """One line for a reader: ``recall@3 = 0.812 [0.744, 0.871] (n = 90)``."""
        text = f"{self.name} = {show(self.value)}{f' {self.unit}' if self.unit else ''}"
        if self.interval:
            text += f" [{show(self.interval[0])}, {show(self.interval[1])}]"
        return text + (f" (n = {self.n})" if self.n is not None else "")

    def to_json(self) -> dict[str, Any]:
        """As an object with its schema version; fields that are not set are left out."""
        data: dict[str, Any] = {"schema": SCHEMA_VERSION, "name": self.name, "value": self.value}
        data |= {k: v for k in ("n", "unit", "tolerance") if (v := getattr(self, k)) is not None}
        data |= {"interval": list(self.interval)} if self.interval else {}
        return data | ({"cases": dict(sorted(self.cases.items()))} if self.cases else {})

    @classmethod
    def from_json(cls, data: object) -> Result:
        """Read back what `to_json` wrote.

        Raises
        ------
        RunError
            If the object is damaged or was written by a newer memlab.
        """
        known = _known(data, "result")
        extra = {k: known.get(k) for k in ("n", "interval", "unit", "tolerance", "cases")}
        return cls.of(known.get("name"), known.get("value"), **extra)


@dataclass(frozen=True, slots=True)
class Table:
    """A table that a notebook claims, small enough to be stored in it."""

    name: str
    """What the table shows; letters, digits and ``_ . @ + -`` (it becomes a file name), unique in its notebook."""
    columns: tuple[str, ...]
    """Column names, each once."""
    rows: tuple[tuple[Any, ...], ...]
    """Cells of each row: numbers, text, yes/no, None, or lists and objects of these; times as ISO text."""
    tolerance: float | None = None
    """How far a number in a repetition may be off (absolute, ≥ 0); None allows rounding noise only."""

    @classmethod
    def of(cls, name: object, frame: pd.DataFrame | pd.Series[Any], *, tolerance: object = None) -> Table:
        """A checked table from a data frame; an index that is not just row numbers becomes the first columns.

        Raises
        ------
        RunError
            If the name or a cell is not allowed, a column stands twice, or there are more than 5,000 rows.
        """
        import pandas as pd

        name = _table_name(name)
        if isinstance(frame, pd.Series):
            frame = frame.to_frame()
        if not isinstance(frame.index, pd.RangeIndex):
            frame = frame.reset_index()
        labels: list[Any] = list(frame.columns)
        columns = tuple(" / ".join(map(str, c)) if isinstance(c, tuple) else str(c) for c in labels)
        rows = tuple(
            tuple(_cell(v, f"table {name}, row {number}, column {c}") for c, v in zip(columns, row, strict=True))
            for number, row in enumerate(frame.itertuples(index=False, name=None))
        )
        return cls._checked(name, columns, rows, _tolerance(tolerance, name))

    @classmethod
    def _checked(
        cls, name: str, columns: tuple[str, ...], rows: tuple[tuple[Any, ...], ...], tolerance: float | None
    ) -> Table:
        twice = sorted({c for c in columns if columns.count(c) > 1})
        if twice:
            raise RunError(f"table {name}: column {twice[0]!r} stands twice")
        if len(rows) > MAX_ROWS:
            raise RunError(f"table {name} has {len(rows)} rows; at most {MAX_ROWS} fit, record a summary")
        return cls(name, columns, rows, tolerance)

    def to_frame(self) -> pd.DataFrame:
        """As a data frame; lists and objects become canonical JSON text, so that every file format holds it."""
        import pandas as pd

        cells = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.columns)
        return pd.DataFrame({c: _series(values) for c, values in zip(self.columns, cells, strict=True)})

    def to_json(self) -> dict[str, Any]:
        """As an object with its schema version."""
        data: dict[str, Any] = {"schema": SCHEMA_VERSION, "name": self.name, "columns": list(self.columns)}
        data["rows"] = [list(row) for row in self.rows]
        return data | ({} if self.tolerance is None else {"tolerance": self.tolerance})

    @classmethod
    def from_json(cls, data: object) -> Table:
        """Read back what `to_json` wrote.

        Raises
        ------
        RunError
            If the object is damaged or was written by a newer memlab.
        """
        known = _known(data, "table")
        name = _table_name(known.get("name"))
        columns, rows = known.get("columns"), known.get("rows")
        if not isinstance(columns, list) or not isinstance(rows, list):
            raise RunError(f"table {name}: columns and rows must be lists")
        if any(not isinstance(row, list) or len(row) != len(columns) for row in rows):
            raise RunError(f"table {name}: every row must be a list of {len(columns)} cells")
        return cls._checked(
            name, tuple(map(str, columns)), tuple(map(tuple, rows)), _tolerance(known.get("tolerance"), name)
        )


def scalar(value: object, what: str) -> Scalar:
    """A plain Python number, text, yes/no or None.

    >>> scalar(3, "n"), scalar("a", "name")
    (3, 'a')

    Raises
    ------
    RunError
        If it is something else, or NaN or infinite.
    """
    if not isinstance(value, (bool, int, float, str)) and getattr(value, "shape", None) == ():
        value = value.item()  # type: ignore[attr-defined]  # a numpy scalar
    if isinstance(value, float) and not math.isfinite(value):
        raise RunError(f"{what} is {value}; record None for what could not be measured, with n saying how many could")
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return float(value)
    raise RunError(f"{what} must be a number, text, true/false or None, not {type(value).__name__}")


def show(value: Scalar) -> str:
    """A value for a reader: floats with four significant digits, None as "not measured".

    >>> show(0.123456), show(12345.678), show(90), show(None)
    ('0.1235', '12346', '90', 'not measured')
    """
    if value is None:
        return "not measured"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if 10_000 <= abs(value) < 1e15 else f"{value:.4g}"


def _known(data: object, what: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise RunError(f"a recorded {what} is an object, not {type(data).__name__}")
    version = data.get("schema")
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise RunError(f"a recorded {what} has schema {version!r}; this memlab reads up to {SCHEMA_VERSION}")
    return data


def _line(value: object, what: str) -> str:
    if not isinstance(value, str) or not value.isprintable() or value != value.strip() or not 0 < len(value) <= 120:
        raise RunError(f"{what} must be one line of at most 120 characters, not {value!r}")
    return value


def _table_name(value: object) -> str:
    if not isinstance(value, str) or not _TABLE_NAME.fullmatch(value):
        raise RunError(f"a table's name becomes a file name: letters, digits and _ . @ + - only, not {value!r}")
    return value


def _tolerance(value: object, name: str) -> float | None:
    number = scalar(value, f"{name}: tolerance")
    if number is None:
        return None
    if isinstance(number, (bool, str)) or number < 0:
        raise RunError(f"{name}: tolerance must be a number ≥ 0, not {value!r}")
    return float(number)


def _interval(value: object, name: str) -> tuple[float, float] | None:
    if value is None:
        return None
    try:
        low, high = (scalar(end, f"{name}: interval") for end in value)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise RunError(f"{name}: interval must be (lower, upper), not {value!r}") from None
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)) or low > high:
        raise RunError(f"{name}: interval must be (lower, upper) with lower ≤ upper, not {value!r}")
    return float(low), float(high)


def _cases(value: object, name: str) -> dict[str, Scalar]:
    if value is None:
        return {}
    if not hasattr(value, "items"):
        raise RunError(f"{name}: cases must map a case's id to its outcome, not be a {type(value).__name__}")
    pairs = [(str(k), scalar(v, f"{name}: case {k}")) for k, v in value.items()]
    if len(dict(pairs)) != len(pairs):
        raise RunError(f"{name}: a case's id stands twice in cases")
    return dict(sorted(pairs))


def _cell(value: Any, what: str) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _cell(v, what) for k, v in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((_cell(v, what) for v in value), key=canonical_json)
    if isinstance(value, (list, tuple)):
        return [_cell(v, what) for v in value]
    # NaN, NaT and pandas.NA are what a frame holds where there is no value; none of them equals itself.
    if type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if getattr(value, "shape", None) not in (None, ()):
        return [_cell(v, what) for v in value]
    return scalar(value, what)


def _series(values: Sequence[Any]) -> pd.Series[Any]:
    import pandas as pd

    kinds = {type(v) for v in values if v is not None}
    holes = None in values
    if kinds == {bool}:
        return pd.Series(values, dtype="boolean" if holes else "bool")
    if kinds == {int}:
        return pd.Series(values, dtype="Int64" if holes else "int64")
    if kinds and kinds <= {int, float}:
        return pd.Series(values, dtype="float64")
    if kinds <= {str}:
        return pd.Series(values, dtype="str")
    return pd.Series([v if v is None or isinstance(v, str) else canonical_json(v) for v in values], dtype="str")
