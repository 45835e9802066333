"""Readers for tables (CSV, Parquet): one row a message, or one row a conversation with its turns as JSON.

`columns` maps our names to theirs: ``id``, ``customer``, ``category``, ``started_at``, ``requester``, and either
``turns`` (a JSON list of ``{"role", "text", "at"}``) or ``role``, ``text`` and ``at`` of one message. A column that is
named as ours needs no mapping. ``time_format`` (such as ``%d.%m.%Y %H:%M``) reads times that are not ISO 8601.
Cells are text and nothing else: a formula such as ``=HYPERLINK(…)`` is kept as it is written and never evaluated.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, TypeAlias

from memlab.corpus.encoding import detect_encoding, is_broken, open_text
from memlab.corpus.formats.building import build, role_of, text
from memlab.corpus.reading import Options, Skipped
from memlab.errors import InputError, TimeError
from memlab.records import Conversation

__all__ = ["Row", "from_rows", "read_csv", "read_parquet"]

Row: TypeAlias = "tuple[int, Mapping[str, Any]] | Skipped"
_FIELDS = ("id", "customer", "category", "started_at", "requester", "turns", "role", "text", "at")
_BATCH = 4096


def read_csv(path: Path, options: Options) -> Iterator[Conversation | Skipped]:
    """A CSV file in any of the usual encodings and with comma, semicolon, tab or bar between the cells.

    Raises
    ------
    InputError
        If the file is no text, has no header, or has no column for what a conversation needs.
    """
    encoding = detect_encoding(path)
    with open_text(path, encoding) as file:
        lines = iter(file)
        header_line = next(lines, "").lstrip("\ufeff")
        reader = csv.reader(_chain(header_line, lines), delimiter=_delimiter(header_line), strict=True)
        try:
            header = [name.strip() for name in next(reader, [])]
        except csv.Error as error:
            raise InputError(f"{path}:1: the header is not CSV: {error}") from None
        rows = _csv_rows(path, reader, header)
        note = None if encoding.name.startswith("utf") else encoding.name
        yield from from_rows(path, header, rows, options, note=note)


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _delimiter(header: str) -> str:
    return max(",;\t|", key=lambda d: (header.count(d), d == ","))


def _csv_rows(path: Path, reader: Any, header: Sequence[str]) -> Iterator[Row]:
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield Skipped(str(path), reader.line_num, f"not CSV: {error}")
            continue
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            yield Skipped(str(path), reader.line_num, f"{len(cells)} cells where the header has {len(header)}")
        elif any(map(is_broken, cells)):
            yield Skipped(str(path), reader.line_num, "not UTF-8; save the file as UTF-8")
        else:
            yield reader.line_num, dict(zip(header, cells, strict=True))


def read_parquet(path: Path, options: Options) -> Iterator[Conversation | Skipped]:
    """A Parquet file, read in batches; lists of structs serve as turns, too.

    Raises
    ------
    InputError
        If the file is no Parquet file, is cut off, or has no column for what a conversation needs.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            yield from from_rows(path, file.schema_arrow.names, _parquet_rows(file), options)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a readable Parquet file: {error}") from error


def _parquet_rows(file: Any) -> Iterator[Row]:
    number = 0
    for batch in file.iter_batches(batch_size=_BATCH):
        for row in batch.to_pylist():
            number += 1
            yield number, row


def from_rows(
    path: Path, header: Sequence[str], rows: Iterable[Row], options: Options, *, note: str | None = None
) -> Iterator[Conversation | Skipped]:
    """Conversations out of the rows of any table; `note` is an encoding that was guessed, kept in the metadata.

    Raises
    ------
    InputError
        If a mapped column does not exist, or neither `turns` nor `id`, `role` and `text` can be found.
    """
    places = _places(path, header, options)
    metadata = {"encoding": note} if note else {}
    if "turns" in places:
        yield from _whole_rows(path, rows, places, options, metadata)
    else:
        yield from _message_rows(path, rows, places, options, metadata)


def _places(path: Path, header: Sequence[str], options: Options) -> dict[str, str]:
    by_name = {name.strip().casefold(): name for name in reversed(header)}
    places = {}
    for field in _FIELDS:
        wanted = options.columns.get(field)
        found = wanted if wanted in header else by_name.get((wanted or field).casefold())
        if found is not None:
            places[field] = found
        elif wanted:
            raise InputError(f"{path}: no column {wanted!r} (mapped to {field}); there are: {', '.join(header)}")
    missing = [f for f in ("id", "role", "text") if f not in places]
    if "turns" not in places and missing:
        raise InputError(
            f"{path}: no column for {', '.join(missing)}; there are: {', '.join(header)}. Map them, for example "
            f"{missing[0]}={header[0] if header else 'Column'}"
        )
    return places


def _whole_rows(
    path: Path, rows: Iterable[Row], places: Mapping[str, str], options: Options, metadata: Mapping[str, Any]
) -> Iterator[Conversation | Skipped]:
    for item in rows:
        if isinstance(item, Skipped):
            yield item
            continue
        line, row = item
        try:
            turns = [_turn(turn, options) for turn in _turns(row.get(places["turns"]))]
            name = text(_cell(row, places, "id")) or f"{path.stem}-{line}"
            yield _conversation(name, turns, row, places, options, metadata)
        except InputError as error:
            yield Skipped(str(path), line, str(error))


def _turns(value: object) -> list[Mapping[str, Any]]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise InputError(f"turns is not JSON: {error}") from None
    if not isinstance(value, list) or not all(isinstance(turn, Mapping) for turn in value):
        raise InputError("turns must be a JSON list of objects")
    return value


def _turn(data: Mapping[str, Any], options: Options) -> dict[str, Any]:
    said = data.get("text", data.get("content"))
    return {"role": role_of(data.get("role"), options), "text": text(said), "at": _time(data.get("at"), options)}


def _message_rows(
    path: Path, rows: Iterable[Row], places: Mapping[str, str], options: Options, metadata: Mapping[str, Any]
) -> Iterator[Conversation | Skipped]:
    found: dict[str, tuple[int, Mapping[str, Any], list[dict[str, Any]]]] = {}
    for item in rows:
        if isinstance(item, Skipped):
            yield item
            continue
        line, row = item
        try:
            name = text(_cell(row, places, "id")).strip()
            if not name:
                raise InputError("the row has no conversation id")
            turn = _turn({f: _cell(row, places, f) for f in ("role", "text", "at")}, options)
        except InputError as error:
            yield Skipped(str(path), line, str(error))
        else:
            found.setdefault(name, (line, row, []))[2].append(turn)
    for name, (line, row, turns) in found.items():
        if all(turn["at"] is not None for turn in turns):
            turns.sort(key=lambda turn: str(turn["at"]))
        try:
            yield _conversation(name, turns, row, places, options, metadata)
        except InputError as error:
            yield Skipped(str(path), line, str(error))


def _conversation(
    id: str,
    turns: list[dict[str, Any]],
    row: Mapping[str, Any],
    places: Mapping[str, str],
    options: Options,
    metadata: Mapping[str, Any],
) -> Conversation:
    return build(
        options,
        id=id,
        turns=turns,
        started_at=_time(_cell(row, places, "started_at"), options),
        customer=text(_cell(row, places, "customer")) or None,
        category=text(_cell(row, places, "category")),
        requester=text(_cell(row, places, "requester")),
        metadata=metadata,
    )


def _cell(row: Mapping[str, Any], places: Mapping[str, str], field: str) -> Any:
    value = row.get(places.get(field, ""))
    return None if isinstance(value, str) and not value.strip() else value


def _time(value: object, options: Options) -> str | None:
    """A cell as ISO 8601 text, read in the given format if it is not that already."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, (datetime, date)):
        return value.isoformat() if isinstance(value, datetime) else datetime.combine(value, time.min).isoformat()
    written, form = text(value).strip(), options.columns.get("time_format")
    if form:
        try:
            return datetime.strptime(written, form).isoformat()  # noqa: DTZ007 - the zone is asked for later
        except ValueError:
            raise TimeError(f"{written!r} is not a time of the form {form}") from None
    return written
