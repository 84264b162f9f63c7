"""Frames from workbooks: Excel's of any age, and OpenDocument's."""

from __future__ import annotations

import importlib
import io
import logging
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import polars as pl

from .._ground.memory import free_memory
from .findings import TableError, counted, listed
from .headers import (
    BY_POSITION,
    TOP_ROWS,
    by_position,
    distinct_names,
    looks_like_data,
    n_filled,
    rows_above,
    without_footer,
)
from .sources import AS_FOUND, BUFFER, ReadingOptions

READER_MISSING = "to read Excel files: pip install 'gapless[tables]'."
# The reader allocates every cell between the first and the last one: some 3 GB for this many.
MOST_CELLS = 10**8
# The size of this many cells as text; a small file may unpack to any size.
MOST_BYTES = 1 << 33

Row = tuple[str | None, ...]


def read_excel(
    data: bytes, name: str, options: ReadingOptions = AS_FOUND
) -> tuple[pl.DataFrame, list[str]]:
    """The table on a sheet, the first one with any, and notes about what was decided."""
    with _errors_named(name) as excel:
        _refuse_stray_cells(data, name)
        workbook = excel.read_excel(data)
        given = _sheet(options.sheet, workbook.sheet_names, name)
        sheet, top = _first_table(workbook, name, given, options.header or 0)
        names, skipped, notes = _names(top, options.header, name)
        frame = pl.read_excel(
            io.BytesIO(data),
            sheet_name=sheet,
            read_options={"column_names": names, "skip_rows": skipped},
            infer_schema_length=None,
            raise_if_empty=False,
        )
        others = [] if given else _note_of_sheets(sheet, workbook.sheet_names)
        frame, below = without_footer(frame)
        return frame, others + notes + below


@contextmanager
def _errors_named(name: str) -> Iterator[Any]:
    """The package that reads workbooks; its errors become table errors."""
    try:
        fastexcel = importlib.import_module("fastexcel")
        # Its guesses about types are replaced later by all rows, so its log is irrelevant.
        logging.getLogger("fastexcel").addHandler(logging.NullHandler())
    except ImportError:
        raise TableError(f"{name}: {READER_MISSING}") from None
    try:
        yield fastexcel
    except (TableError, MemoryError):
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        first = str(error).strip().partition("\n")[0].rstrip(".")
        raise TableError(f"{name} is damaged: it is not a complete workbook ({first}).") from None


def _refuse_stray_cells(data: bytes, name: str) -> None:
    """Refuse a cell so far from the others that no memory holds the cells in between."""
    if not zipfile.is_zipfile(io.BytesIO(data)):
        return
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = sum(part.file_size for part in archive.infolist())
        if size > min(MOST_BYTES, free_memory()):
            raise TableError(
                f"{name} unpacks to {size:,} bytes, too large to read; save the table as CSV."
            )
        for part in archive.namelist():
            if part.startswith("xl/worksheets/") and part.endswith(".xml"):
                with archive.open(part) as stream:
                    rows, columns = _extent(stream)
                if rows * columns > MOST_CELLS:
                    raise TableError(
                        f"{name} has a sheet of {rows:,} rows and {columns:,} columns, too large "
                        "to read; delete cells outside the table, or save it as CSV."
                    )


def _extent(stream: IO[bytes]) -> tuple[int, int]:
    """The last row and the last column with cells of a sheet."""
    rows, columns, left = 1, 1, b""
    while block := stream.read(BUFFER):
        text = left + block
        places = re.findall(rb'\br="([A-Z]+)([0-9]+)"', text)
        if places:
            letters, digits = (set(part) for part in zip(*places))
            rows = max(rows, *map(int, digits))
            columns = max(columns, *map(_column, letters))
        left = text[-32:]
    return rows, columns


def _column(letters: bytes) -> int:
    """The number of a column: A is 1, Z is 26, AA is 27."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def _sheet(given: str | int | None, sheets: list[str], name: str) -> str | None:
    """The name of the sheet requested by its name or its position, counted from 1."""
    if given is None or given in sheets:
        return None if given is None else str(given)
    place = int(given) if str(given).isdecimal() else 0
    if not 0 < place <= len(sheets):
        raise TableError(f"{name} has no sheet {given!r}; its sheets are {listed(sheets)}.")
    return sheets[place - 1]


def _first_table(workbook: Any, name: str, given: str | None, header: int) -> tuple[str, list[Row]]:
    """The first sheet with any values and the top of it, hidden sheets last."""
    hidden = []
    for sheet in workbook.sheet_names if given is None else [given]:
        found = workbook.load_sheet(
            sheet, header_row=None, skip_rows=0, n_rows=TOP_ROWS + header, dtypes="string"
        )
        top = pl.DataFrame(found).rows()
        if not any(n_filled(row) for row in top):
            continue
        if found.visible == "visible" or given is not None:
            return sheet, top
        hidden.append((sheet, top))
    if not hidden:
        what = "is an empty workbook" if given is None else f"has an empty sheet {given!r}"
        raise TableError(f"{name} {what}; a table needs a header and values.")
    return hidden[0]


def _names(top: list[Row], header: int | None, name: str) -> tuple[list[str], int, list[str]]:
    """Names of the columns, the number of rows above the values, and notes."""
    above = rows_above(top) if header is None else max(header - 1, 0)
    if above >= len(top):
        raise TableError(f"{name} has no row {header:,}, which should be the header.")
    left_out = sum(n_filled(row) > 0 for row in top[:above])
    notes = [f"skipped above the header: {counted(left_out, 'row')}"] if left_out else []
    first, *others = [[value or "" for value in row] for row in top[above:]]
    if header == 0:
        return list(by_position(len(first))), 0, []
    if header is None and looks_like_data(first, others):
        return list(by_position(len(first))), above, [*notes, BY_POSITION]
    names, more = distinct_names(first)
    return list(names), above + 1, notes + more


def _note_of_sheets(sheet: str, sheets: list[str]) -> list[str]:
    others = [other for other in sheets if other != sheet]
    if not others:
        return []
    return [f"read sheet {sheet!r} of {len(sheets)}; name another ({listed(others)}) to read it"]
