"""Incident tables: CSV, Parquet or a data frame, one row an incident, bad rows named with file, line and reason.

Columns: ``id``, ``opened_at`` (ISO 8601), ``category``, ``resolved`` (yes or no; blank where nobody knows), and
optionally ``period`` (before or after; else a rollout date decides) and ``resolved_by`` (confirmation or classifier).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from memlab.corpus.encoding import detect_encoding, open_text
from memlab.corpus.reading import Skipped
from memlab.errors import InputError, TimeError
from memlab.records import parse_time

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Incident", "IncidentTable", "Period", "Source", "read_incidents"]

Row: TypeAlias = "tuple[int, Mapping[str, Any] | InputError]"
Period = Literal["before", "after"]
Source = Literal["confirmation", "classifier"]

_NEEDED = ("id", "opened_at", "category", "resolved")
_OPTIONAL = ("period", "resolved_by")
_PERIODS: Mapping[str, Period] = {"before": "before", "after": "after"}
_SOURCES: Mapping[str, Source] = {"confirmation": "confirmation", "classifier": "classifier"}
_YES = frozenset({"yes", "y", "true", "1", "resolved"})
_NO = frozenset({"no", "n", "false", "0", "unresolved"})
_BLANK = frozenset({"", "unknown", "na", "n/a", "nan", "none", "null"})


@dataclass(frozen=True, slots=True)
class Incident:
    """One incident as the study needs it.

    Attributes
    ----------
    id : str
    opened_at : datetime
        With a zone.
    category : str
    period : {"before", "after"}
        Of the rollout.
    resolved : bool or None
        None if nobody knows.
    resolved_by : {"confirmation", "classifier"}
        Who says so: the requester, or a classifier that reads the conversation.
    """

    id: str
    opened_at: datetime
    category: str
    period: Period
    resolved: bool | None
    resolved_by: Source = "confirmation"


@dataclass(frozen=True, slots=True)
class IncidentTable:
    """The incidents of a table, sorted by time and id, the moment of the rollout, and the rows that were left out."""

    incidents: tuple[Incident, ...]
    rollout: datetime
    skipped: tuple[Skipped, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """One row an incident."""
        import pandas as pd

        names = list(Incident.__dataclass_fields__)
        return pd.DataFrame([[getattr(i, n) for n in names] for i in self.incidents], columns=names)


def read_incidents(
    source: str | Path | pd.DataFrame,
    *,
    rollout: str | datetime | None = None,
    columns: Mapping[str, str] | None = None,
    zone: tzinfo | None = None,
    resolved_by: Source = "confirmation",
    strict: bool = False,
) -> IncidentTable:
    """Read an incident table.

    Parameters
    ----------
    source : path or frame
        A CSV file (any usual encoding and separator), a ``.parquet`` file, or a data frame.
    rollout : ISO text or datetime, optional
        When the change reached users: incidents opened from then on are after. Needed without a ``period`` column,
        which otherwise decides (a rollout in waves); then the first incident after stands for the moment.
    columns : mapping, optional
        From our column names to those of the table.
    zone : tzinfo, optional
        For times without an offset; without it such rows are left out.
    resolved_by : {"confirmation", "classifier"}
        For all rows, if the table has no such column.
    strict : bool
        Raise at the first bad row instead of leaving it out.

    Raises
    ------
    InputError
        If the file can't be read, a column is missing, no row is left, or one of the two periods has none.
    """
    name, header, rows = _rows(source)
    places = _places(name, header, columns or {}, rollout)
    moment = parse_time(rollout, zone=zone) if rollout is not None else None
    found: dict[str, Incident] = {}
    lines: dict[str, int] = {}
    skipped: list[Skipped] = []
    for line, row in rows:
        try:
            if isinstance(row, InputError):
                raise row
            incident = _incident({k: row.get(v) for k, v in places.items()}, moment, zone, resolved_by)
            if incident.id in found:
                raise InputError(
                    f"id {incident.id!r} was on line {lines[incident.id]} already; an incident counts once"
                )
        except InputError as error:
            if strict:
                raise InputError(f"{name}:{line}: {error}") from None
            skipped.append(Skipped(name, line, str(error)))
            continue
        found[incident.id], lines[incident.id] = incident, line
    return _table(name, found.values(), moment, skipped)


def _table(name: str, incidents: Iterable[Incident], moment: datetime | None, skipped: list[Skipped]) -> IncidentTable:
    ordered = tuple(sorted(incidents, key=lambda i: (i.opened_at, i.id)))
    first = f"; the first row left out is line {skipped[0].line}: {skipped[0].reason}" if skipped else ""
    if not ordered:
        raise InputError(f"{name}: no incident could be read{first}")
    for period in ("before", "after"):
        if not any(i.period == period for i in ordered):
            raise InputError(f"{name}: no incident is from {period} the rollout; check its date{first}")
    start = moment or min(i.opened_at for i in ordered if i.period == "after")
    return IncidentTable(ordered, start, tuple(skipped))


def _rows(source: str | Path | pd.DataFrame) -> tuple[str, list[str], Iterator[Row]]:
    if not isinstance(source, (str, Path)):
        records = source.to_dict("records")
        return "frame", [str(c) for c in source.columns], iter([(n, dict(r)) for n, r in enumerate(records, 1)])  # type: ignore[arg-type]
    path = Path(source)
    return (str(path), *(_parquet(path) if path.suffix.lower() == ".parquet" else _csv(path)))


def _csv(path: Path) -> tuple[list[str], Iterator[Row]]:
    with open_text(path, detect_encoding(path)) as file:
        text = file.read().lstrip("\ufeff")
    first = text.split("\n", 1)[0]
    separator = max(",;\t|", key=lambda d: (first.count(d), d == ","))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        header = [cell.strip() for cell in next(reader, [])]
        rows: list[Row] = [(reader.line_num, _cells(header, cells)) for cells in reader if any(cells)]
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: not CSV: {error}") from None
    return header, iter(rows)


def _cells(header: list[str], cells: list[str]) -> Mapping[str, Any] | InputError:
    if len(cells) != len(header):
        return InputError(f"{len(cells)} cells where the header has {len(header)}")
    return dict(zip(header, cells, strict=True))


def _parquet(path: Path) -> tuple[list[str], Iterator[Row]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a readable Parquet file: {error}") from error
    return list(table.column_names), enumerate(table.to_pylist(), 1)


def _places(name: str, header: list[str], columns: Mapping[str, str], rollout: object) -> dict[str, str]:
    known = (*_NEEDED, *_OPTIONAL)
    unknown = sorted(set(columns) - set(known))
    if unknown:
        raise InputError(f"a study has no column {unknown[0]!r}; map one of {', '.join(known)}")
    places = {k: columns.get(k, k) for k in known if columns.get(k, k) in header}
    missing = [columns.get(k, k) for k in _NEEDED if k not in places]
    missing += [f"{columns[k]}" for k in _OPTIONAL if k in columns and k not in places]
    if missing:
        raise InputError(f"{name}:1: no column {', '.join(missing)}; it has {', '.join(header) or 'none'}")
    if rollout is None and "period" not in places:
        raise InputError(f"{name}:1: no column period, and no rollout date; give one of them")
    return places


def _incident(row: Mapping[str, Any], rollout: datetime | None, zone: tzinfo | None, resolved_by: Source) -> Incident:
    id_, category = (_text(row.get(k)) for k in ("id", "category"))
    if not id_ or not category:
        raise InputError(f"no {'id' if not id_ else 'category'}")
    opened = row.get("opened_at")
    try:
        opened_at = parse_time(None if opened != opened else opened, zone=zone)
    except TimeError as error:
        raise InputError(f"opened_at: {error}") from None
    return Incident(
        id=id_,
        opened_at=opened_at,
        category=category,
        period=_period(row, opened_at, rollout),
        resolved=_resolved(row.get("resolved")),
        resolved_by=_source(row, resolved_by),
    )


def _text(value: object) -> str:
    if value is None or value != value:  # NaN and NaT differ from themselves
        return ""
    return str(value).strip()


def _period(row: Mapping[str, Any], opened_at: datetime, rollout: datetime | None) -> Period:
    word = _text(row.get("period")).casefold()
    if word in _PERIODS:
        return _PERIODS[word]
    if "period" in row or rollout is None:
        raise InputError(f"period must be before or after, not {word!r}")
    return "after" if opened_at >= rollout else "before"


def _source(row: Mapping[str, Any], default: Source) -> Source:
    word = _text(row.get("resolved_by")).casefold() or default
    if word in _SOURCES:
        return _SOURCES[word]
    raise InputError(f"resolved_by must be confirmation or classifier, not {word!r}")


def _resolved(value: object) -> bool | None:
    word = _text(value).casefold().removesuffix(".0")
    if word in _BLANK:
        return None
    if word in _YES or word in _NO:
        return word in _YES
    raise InputError(f"resolved must be yes or no (or blank if unknown), not {word!r}")
