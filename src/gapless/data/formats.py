"""The format of a table; frames from Parquet, Arrow and JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any, Literal

import polars as pl

from .._ground.memory import free_memory
from .excel import read_excel
from .findings import TableError
from .sources import AS_FOUND, SAMPLE_BYTES, ReadingOptions

Format = Literal["csv", "parquet", "arrow", "arrow stream", "json", "excel"]

# The first bytes of files that are not text.
MAGIC: tuple[tuple[bytes, Format], ...] = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (b"\xff\xff\xff\xff", "arrow stream"),
    (b"PK\x03\x04", "excel"),
    (b"\xd0\xcf\x11\xe0", "excel"),
)
TITLES = {"parquet": "Parquet", "arrow": "Arrow", "arrow stream": "Arrow"}
NO_TABLES = (
    (b"SQLite format 3", "an SQLite database; export the table as CSV"),
    (b"%PDF", "a PDF; copy its table into a CSV file"),
    (b"\x93NUMPY", "a NumPy array; save it as CSV or Parquet, with column names"),
    *(
        (b"\x80" + protocol, "a pickle, which is never opened because it can run code; use Parquet")
        for protocol in (b"\x02", b"\x03", b"\x04", b"\x05")
    ),
    (b"\x89HDF", "an HDF5 file; save the table as Parquet"),
    (b"RDX", "an R workspace; save the table with write.csv"),
    (b"<stata_dta", "a Stata file; export it as CSV"),
    (b"$FL", "an SPSS file; save it as CSV"),
    (b"ORC", "an ORC file; save the table as Parquet"),
    (b"Obj\x01", "an Avro file; save the table as Parquet"),
    (b"7z\xbc\xaf", "an archive; unpack it and name the table's file"),
    (b"Rar!", "an archive; unpack it and name the table's file"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
)
# The beginning of text that is not a table, in any case.
NO_TABLE_TEXTS = (
    (b"<!doctype", "an HTML page; save its table as CSV"),
    (b"<html", "an HTML page; save its table as CSV"),
    (b"<table", "an HTML table; save it as CSV"),
    (b"<?xml", "XML; save its table as CSV"),
    (b"@relation", "an ARFF file; save it as CSV, e.g. in Weka or from OpenML"),
)
# The largest share of the first bytes of a text that may be control characters.
MOST_CONTROLS = 0.05
CONTROLS = bytes({*range(32), 127} - set(b"\t\n\v\f\r\x1a\x1c\x1d\x1e\x1f"))
# Memory per value while it is read, as a number and its copies.
BYTES_PER_VALUE = 24
PACKED = (".gz", ".bz2", ".xz", ".zst")
LINES_NAMES = (".jsonl", ".ndjson")
JSON_NAMES = (".json", *LINES_NAMES)


def format_of(name: str, head: bytes) -> Format:
    """The format by the first bytes, then by the name."""
    for start, what in NO_TABLES:
        if head.startswith(start):
            raise TableError(f"{name} is {what}.")
    low = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for start, what in NO_TABLE_TEXTS:
        if low.startswith(start):
            raise TableError(f"{name} is {what}.")
    for start, known in MAGIC:
        if head.startswith(start):
            return _excel(name) if known == "excel" else known
    path = PurePath(name)
    suffix = (path.with_suffix("") if path.suffix in PACKED else path).suffix.lower()
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if suffix in JSON_NAMES or start.startswith((b'{"', b"{ ", b"{\n", b"{\r", b'[{"', b"[\n")):
        return "json"
    return "csv"


def _excel(name: str) -> Format:
    if name.endswith((".npz", ".zip", ".docx", ".pptx", ".pt")):
        raise TableError(f"{name} is an archive; unpack it and name the table's file.")
    return "excel"


def read_binary(
    data: bytes, known: Format, name: str, options: ReadingOptions = AS_FOUND
) -> tuple[pl.DataFrame, list[str]]:
    """A frame from bytes of Parquet, Arrow or Excel, and notes about what was decided."""
    if known == "excel":
        return read_excel(data, name, options)
    readers: dict[str, Any] = {
        "parquet": pl.read_parquet,
        "arrow": pl.read_ipc,
        "arrow stream": pl.read_ipc_stream,
    }
    with damage_named(name, known):
        if known == "parquet":
            _refuse_many_rows(data, name)
        return readers[known](io.BytesIO(data)), []


def _refuse_many_rows(data: bytes, name: str) -> None:
    """Refuse a small file with more values than memory holds: equal ones take no room in it."""
    lazy = pl.scan_parquet(io.BytesIO(data))
    rows, columns = lazy.select(pl.len()).collect().item(), len(lazy.collect_schema())
    if rows * columns * BYTES_PER_VALUE > free_memory():
        raise TableError(
            f"{name} has {rows:,} rows and {columns:,} columns, too many for the free memory; "
            "use fewer of them."
        )


@contextmanager
def damage_named(name: str, known: Format) -> Iterator[None]:
    """Turn polars' errors about a file into table errors; a panic of its readers is one too."""
    try:
        yield
    except (TableError, MemoryError):
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        why = _first_line(error)
        raise TableError(
            f"{name} is damaged: it is not a complete {TITLES[known]} file ({why})."
        ) from None


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")


def check_text(text: bytes, name: str) -> None:
    """Refuse bytes that are not text.

    Raises
    ------
    TableError
        If too many of the first bytes are control characters.
    """
    # A truncated file may be padded with zeros.
    start = text[:SAMPLE_BYTES].rstrip(b"\0") or text[:SAMPLE_BYTES]
    if len(start) - len(start.translate(None, CONTROLS)) > MOST_CONTROLS * len(start):
        raise TableError(f"{name} is neither text nor in a known format; save it as CSV.")


# ---- JSON ----------------------------------------------------------------------------------------


def read_json(data: bytes, name: str, *, are_lines: bool = False) -> pl.DataFrame:
    """A frame from one object per line, a list of objects, or columns; nested values stay so.

    If lines are known to be rows, a single line is a row too, not a table of columns.
    """
    are_lines = are_lines or name.endswith(LINES_NAMES)
    text = data.strip()
    if not text:
        raise TableError(f"{name} is empty; each line should be an object with names and values.")
    if text.startswith(b"["):
        return _frame(_parsed(text, name, 0), name)
    first, _, rest = text.partition(b"\n")
    if not are_lines and (not rest or first.rstrip() == b"{"):
        return _frame(_parsed(text, name, 0 if rest else 1), name)
    try:
        return pl.read_ndjson(text, infer_schema_length=None)
    except pl.exceptions.PolarsError:
        # Python names the wrong line, and accepts values of different kinds in a column.
        lines = enumerate(text.split(b"\n"), 1)
        return _frame([_parsed(line, name, k) for k, line in lines if line.strip()], name)


def _parsed(text: bytes, name: str, line: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f"line {line:,} of {name}" if line else name
        raise TableError(f"{where} is not valid JSON: {getattr(error, 'msg', error)}.") from None


def _frame(rows: Any, name: str) -> pl.DataFrame:
    if isinstance(rows, dict):
        rows = _rows_of(rows)
    for k, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise TableError(
                f"entry {k:,} of {name} is a {type(row).__name__}; each entry should be an object "
                "with names and values."
            )
    names = dict.fromkeys(key for row in rows for key in row)
    return pl.DataFrame([_column(key, [row.get(key) for row in rows]) for key in names])


def _rows_of(whole: dict[str, Any]) -> list[Any]:
    """Rows of one object: its list of objects, its columns, or itself."""
    values = list(whole.values())
    tables = [value for value in values if value and isinstance(value, list)]
    if len(tables) == 1 and all(isinstance(row, dict) for row in tables[0]):
        return tables[0]
    if values and all(isinstance(value, list) for value in values):
        keys: list[Any] = list(range(len(values[0])))
        columns = [dict(enumerate(value)) for value in values]
    elif values and all(isinstance(value, dict) for value in values):
        # As pandas writes a frame: for each column an object of its rows.
        keys, columns = list(values[0]), values
    else:
        return [whole]
    if len(keys) < 2 or any(set(column) != set(keys) for column in columns):
        return [whole]
    return [dict(zip(whole, (column[key] for column in columns))) for key in keys]


def _column(name: str, values: list[Any]) -> pl.Series:
    """Values of one kind unchanged; of several kinds as texts."""
    try:
        return pl.Series(name, values, strict=True)
    except (TypeError, pl.exceptions.PolarsError, OverflowError):
        texts = [
            value if value is None or isinstance(value, str) else json.dumps(value)
            for value in values
        ]
        return pl.Series(name, texts, dtype=pl.String)
