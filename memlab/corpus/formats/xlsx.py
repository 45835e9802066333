"""Reader for Excel workbooks (first sheet), as tables; needs the extra `xlsx` (openpyxl).

A workbook is a zip archive, and a small one can unpack to gigabytes: its declared sizes are checked before anything is
unpacked (Python's zipfile never unpacks more than declared). Formulas stay text.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from memlab.corpus.formats.tables import Row, from_rows
from memlab.corpus.reading import Options, Skipped
from memlab.errors import InputError
from memlab.records import Conversation

__all__ = ["read"]

MAX_BYTES = 200 * 1024 * 1024
MAX_RATIO = 200


def read(path: Path, options: Options) -> Iterator[Conversation | Skipped]:
    """The rows of the first sheet; its first row names the columns.

    Raises
    ------
    InputError
        If the file is no workbook, unpacks to more than 200 MB or 200 times its size, or openpyxl is missing.
    """
    _refuse_bomb(path)
    try:
        import openpyxl
    except ImportError as error:
        raise InputError("an .xlsx file needs openpyxl (pip install 'memlab[xlsx]'); or save it as CSV") from error
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=False, keep_links=False)
        try:
            rows = book.worksheets[0].iter_rows(values_only=True)
            header = [str(cell).strip() if cell is not None else "" for cell in next(rows, ())]
            yield from from_rows(path, header, _rows(path, rows, header), options)
        finally:
            book.close()
    except (InvalidFileException, zipfile.BadZipFile, KeyError, IndexError, ValueError, SyntaxError, OSError) as error:
        raise InputError(f"{path}: not a readable workbook: {error}") from error


def _refuse_bomb(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError) as error:
        raise InputError(f"{path}: not a readable workbook (no zip archive): {error}") from error
    packed, unpacked = sum(m.compress_size for m in members), sum(m.file_size for m in members)
    if unpacked > MAX_BYTES or unpacked > MAX_RATIO * max(packed, 1):
        raise InputError(
            f"{path}: the workbook unpacks from {packed:,} to {unpacked:,} bytes; allowed are {MAX_BYTES:,} and "
            f"{MAX_RATIO} times its size. If it is honest, save the sheet as CSV"
        )


def _rows(path: Path, rows: Iterator[tuple[Any, ...]], header: Sequence[str]) -> Iterator[Row]:
    for number, cells in enumerate(rows, 2):
        if not any(cell is not None and str(cell).strip() for cell in cells):
            continue
        if len(cells) > len(header):
            yield Skipped(str(path), number, f"{len(cells)} cells where the header has {len(header)}")
        else:
            padded = [*cells, *[None] * (len(header) - len(cells))]
            yield number, dict(zip(header, padded, strict=True))
