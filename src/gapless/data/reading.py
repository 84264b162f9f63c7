"""Tables in: a path, standard input, bytes or a built-in name to a Table, whole or in batches."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from .builtin import BUILTIN, load_builtin
from .columns import Column
from .delimited import delimited_blocks, read_delimited
from .dialects import NO_DELIMITER
from .encodings import as_utf8, encoding_of, utf8_blocks
from .findings import TableError
from .formats import check_text, damage_named, format_of, read_binary, read_json
from .forms import Form, form_by_type, read
from .sources import (
    AS_FOUND,
    BLOCK,
    STANDARD_INPUT,
    Opened,
    ReadingOptions,
    Source,
    open_source,
    read_whole,
)
from .tables import Table, typed, usual_types

# Rows of a batch, if the format has rows and no bytes to cut at.
ROWS = 100_000
REPLACED = "\ufffd".encode()
# An address that is not on this machine, or looks like one.
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def read_table(
    source: Source,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: int | None = None,
    sheet: str | int | None = None,
    decimal: str | None = None,
    time_limit: float | None = None,
) -> Table:
    """Read a table.

    Parameters
    ----------
    source : str, Path, bytes or binary stream
        A file (CSV, TSV or another delimited text, Parquet, Arrow or Feather, JSON lines, Excel,
        each also compressed by gzip, bzip2, xz, Zstandard or as the only file of a ZIP archive),
        "-" for standard input, the bytes themselves, or the name of a built-in table.
    delimiter : str or None, default=None
        The character between the fields of a text; found from its first records if None.
    encoding : str or None, default=None
        The encoding of a text; found from its bytes if None.
    header : int or None, default=None
        The line of a text, or the row of a sheet, that has the names of columns, counted from 1;
        0 if none has. Found from the first rows if None.
    sheet : str, int or None, default=None
        The sheet of a workbook, by its name or its position counted from 1; the first one with a
        table if None.
    decimal : {".", ","} or None, default=None
        The decimal mark of all numbers in texts; found for each column if None.
    time_limit : float or None, default=None
        The time limit for a pipe or a device; files always end.

    Returns
    -------
    Table
        Its frame, and notes about everything that was decided.

    Raises
    ------
    TableError
        If there is no such table, or it is empty, ragged or damaged, or too large for the free
        memory; the message names the line.

    Notes
    -----
    Types are found from all rows: a million rows of twenty columns take about four seconds.

    Examples
    --------
    >>> from gapless.data import read_table
    >>> table = read_table(b"size;price\\n12,5;1.000\\n8,25;900\\n")
    >>> table.frame.rows()
    [(12.5, 1000), (8.25, 900)]
    """
    options = ReadingOptions(delimiter, encoding, header, sheet, decimal)
    if _is_builtin(source):
        return load_builtin(str(source))
    _check_exists(source)
    with open_source(source, time_limit) as opened:
        return _read(opened, options)


def _read(opened: Opened, options: ReadingOptions) -> Table:
    known, name = format_of(opened.name, opened.head), opened.name
    if known not in ("csv", "json"):
        frame, decided = read_binary(read_whole(opened.stream, name), known, name, options)
        _not_empty(frame, name)
        return typed(frame, tuple(decided), source=name, format=known, options=options)
    data = read_whole(opened.stream, name, check=partial(_check_first, name=name))
    text, found = as_utf8(data, options.encoding)
    check_text(text, name)
    notes = [] if found in ("utf-8", "utf-8-sig") else [f"decoded as {found}"]
    if REPLACED in text:
        notes.append("characters that could not be decoded are shown as \ufffd")
    delimiter = None
    if known == "json":
        frame = read_json(text, name)
    else:
        frame, dialect, decided = read_delimited(text, name, options)
        notes += decided
        delimiter = None if dialect.delimiter == NO_DELIMITER else dialect.delimiter
    # Values need the memory that their texts had.
    del data, text
    return typed(
        _not_empty(frame, name),
        tuple(notes),
        source=name,
        format=known,
        delimiter=delimiter,
        encoding=found,
        options=options,
    )


def _check_first(block: bytes, name: str) -> None:
    """Refuse anything but text as soon as its first bytes are there: a device may never end."""
    if not encoding_of(block, is_whole=False).startswith(("utf-16", "utf-32")):
        check_text(block, name)


def read_batches(
    source: Source,
    forms: Mapping[str, Form],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: int | None = None,
    sheet: str | int | None = None,
) -> Iterator[pl.DataFrame]:
    """Read a table piece by piece, for tables larger than memory.

    Parameters
    ----------
    source : str, Path, bytes or binary stream
        As for `read_table`. Texts, Parquet and Arrow files are never entirely in memory.
    forms : mapping of str to Form
        How texts are read, as in the training table (`Table.forms`); other columns stay text. What
        does not fit its form is missing.
    delimiter, encoding, header, sheet : default=None
        As for `read_table`.

    Yields
    ------
    polars.DataFrame
        Some rows, in order, with the types of a table; at least one frame, which has no rows if
        there are none.
    """
    for frame in _batches(source, ReadingOptions(delimiter, encoding, header, sheet)):
        usual, _ = usual_types(frame)
        yield usual.with_columns(
            read(usual[name], form)
            for name, form in forms.items()
            if name in usual.columns and usual[name].dtype == pl.String
        )


def _batches(source: Source, options: ReadingOptions) -> Iterator[pl.DataFrame]:
    if _is_builtin(source):
        yield from load_builtin(str(source)).frame.iter_slices(ROWS)
        return
    _check_exists(source)
    with open_source(source) as opened:
        known = format_of(opened.name, opened.head)
        if known == "csv":
            yield from delimited_blocks(_blocks(opened, options), opened.name, options)
        elif known == "json":
            yield from _json_batches(opened, options)
        elif known in ("parquet", "arrow") and isinstance(source, str | Path) and source != "-":
            scan = pl.scan_parquet if known == "parquet" else pl.scan_ipc
            with damage_named(opened.name, known):
                lazy = scan(Path(source), glob=False)
                batches = iter(lazy.collect_batches(chunk_size=ROWS, maintain_order=True))
                first = next(batches, None)
                yield lazy.collect() if first is None else first
                yield from batches
        else:
            data = read_whole(opened.stream, opened.name)
            frame, _ = read_binary(data, known, opened.name, options)
            yield from frame.iter_slices(ROWS) if frame.height else [frame]


def _blocks(opened: Opened, options: ReadingOptions) -> Iterator[tuple[bytes, bool]]:
    """Blocks of a text in UTF-8; the first has been checked."""
    blocks = utf8_blocks(opened.stream, BLOCK, options.encoding)
    for k, (block, is_last) in enumerate(blocks):
        if k == 0:
            check_text(block, opened.name)
        yield block, is_last


def _json_batches(opened: Opened, options: ReadingOptions) -> Iterator[pl.DataFrame]:
    """Whole lines of objects; a list of objects, or one object of many lines, is one batch."""
    left, are_lines = b"", False
    is_one = opened.head.lstrip().startswith((b"[", b"{\n", b"{\r"))
    for block, is_last in _blocks(opened, options):
        text = left + block
        cut = len(text) if is_last else 0 if is_one else text.rfind(b"\n") + 1
        if text[:cut].strip():
            # A text that was cut between two lines has a row in each.
            are_lines = are_lines or not is_last
            yield read_json(text[:cut], opened.name, are_lines=are_lines and not is_one)
        left = text[cut:]


def _is_builtin(source: Source) -> bool:
    """Whether the source names a built-in table; a file of that name takes precedence."""
    if not isinstance(source, str) or source not in BUILTIN:
        return False
    return not Path(source).exists() or Path(source).is_dir()


def _check_exists(source: Source) -> None:
    if isinstance(source, str) and ADDRESS.match(source) and not Path(source).exists():
        where = "drop the file://" if source.startswith("file:") else "download it first"
        raise TableError(f"{source} is a URL, but tables are read from files; {where}.")
    if isinstance(source, str | Path) and source != STANDARD_INPUT and not Path(source).exists():
        raise TableError(f"{source} does not exist; {_like(str(source))}")


def _like(name: str) -> str:
    """What else the name may have meant: a file next to it, or a built-in table."""
    folder = Path(name).parent
    beside = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    near = difflib.get_close_matches(Path(name).name, [*beside, *BUILTIN], n=1)
    if near:
        return f"did you mean {near[0] if near[0] in BUILTIN else folder / near[0]}?"
    return f"the built-in tables are {', '.join(BUILTIN)}."


def _not_empty(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    if not frame.height:
        raise TableError(f"{name} has a header but no rows; a table needs some.")
    return frame


# ---- tables read like another one ----------------------------------------------------------------


def batches_like(
    source: Source, columns: Sequence[Column], options: ReadingOptions = AS_FOUND
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Read a table piece by piece, like another table.

    Parameters
    ----------
    source : str, Path, bytes or binary stream
        As for `read_table`.
    columns : sequence of Column
        The columns of the other table. Texts of a column without a form, because it did not come as
        texts, get the form of the first piece; texts of other columns stay texts.
    options : ReadingOptions
        How to read the table; a decimal mark takes precedence over those of the columns.

    Yields
    ------
    tuple of two polars.DataFrame
        Some rows as in the source, and the same as values.
    """
    forms: dict[str, Form] | None = None
    told = options.given()
    decimal = told.pop("decimal", None)
    for frame in read_batches(source, {}, **told):
        if forms is None:
            forms = {
                name: _with_decimal(form, decimal) for name, form in _forms(frame, columns).items()
            }
        yield frame, as_values(frame, forms)


def joined_batches(
    frames: Sequence[pl.DataFrame], source: Source, columns: Sequence[Column]
) -> Table:
    """The pieces of a table as one.

    Parameters
    ----------
    frames : sequence of polars.DataFrame
        Its rows as values, from `batches_like`; at least one frame.
    source : str, Path, bytes or binary stream
        Where they come from.
    columns : sequence of Column
        The columns of the table whose reading was copied.

    Returns
    -------
    Table
        May have no rows.
    """
    frame = pl.concat(frames, how="diagonal_relaxed") if len(frames) > 1 else frames[0]
    forms = {column.name: column.form for column in columns if column.form is not None}
    return Table(frame.rechunk(), source=str(source), forms=forms)


def as_values(frame: pl.DataFrame, forms: Mapping[str, Form]) -> pl.DataFrame:
    """Texts as numbers, dates and booleans by their forms; what does not fit is missing."""
    schema = frame.schema
    return frame.with_columns(
        read(frame[name], form) for name, form in forms.items() if schema.get(name) == pl.String
    )


def _with_decimal(form: Form, decimal: str | None) -> Form:
    is_number = form.kind == "number" and form.decimal != ":"
    return replace(form, decimal=decimal) if decimal and is_number else form


def _forms(frame: pl.DataFrame, columns: Sequence[Column]) -> dict[str, Form]:
    schema = frame.schema
    return {
        column.name: column.form or form_by_type(column.dtype, frame[column.name])
        for column in columns
        if schema.get(column.name) == pl.String
    }
