"""Table: a frame whose columns have the few types that the rest works with.

Numbers (Int64, Float64), Boolean, Date and Datetime, String; None for every missing value. Texts
that are numbers or dates become such, and each decision is noted in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from .._ground.tables import ARROW, readable
from .findings import TableError, counted, listed
from .forms import Form, Recognised, recognise, regrouped
from .numbers import columns_of_plain_numbers
from .sources import AS_FOUND, ReadingOptions


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table that was read.

    Attributes
    ----------
    frame : polars.DataFrame
        Its columns as Int64, Float64, Boolean, Date, Datetime or String; None for missing values.
    notes : tuple of str
        What was decided in reading it, one sentence each.
    source : str
        Where it comes from: a path, "standard input", or the name of a built-in table.
    format : str
        csv, parquet, arrow, json, excel, built-in or frame.
    delimiter, encoding : str or None
        For texts, the character between fields and the encoding.
    forms : mapping of str to Form
        For columns that came as texts, how they were read; new rows are read the same way.
    options : ReadingOptions
        How it was read.
    """

    frame: pl.DataFrame
    notes: tuple[str, ...] = ()
    source: str = "frame"
    format: str = "frame"
    delimiter: str | None = None
    encoding: str | None = None
    forms: Mapping[str, Form] = field(default_factory=dict)
    options: ReadingOptions = AS_FOUND

    def __len__(self) -> int:
        return self.frame.height

    def _repr_html_(self) -> str:
        return self.frame._repr_html_()

    def __str__(self) -> str:
        rows, columns = self.frame.shape
        return f"{self.source}: {counted(rows, 'row')}, {counted(columns, 'column')}"


def typed(frame: pl.DataFrame, notes: tuple[str, ...] = (), **attributes: Any) -> Table:
    """A frame of any types as a table; the attributes are those of Table."""
    if not frame.width:
        raise TableError(f"{attributes.get('source', 'the table')} has no columns.")
    flat, said = usual_types(frame)
    texts = flat.select(pl.col(pl.String))
    decimal = attributes.get("options", AS_FOUND).decimal
    plain = columns_of_plain_numbers(texts) if decimal is None else pl.DataFrame()
    known = {s.name: Recognised(s, Form("number")) for s in plain.iter_columns()}
    known = {s.name: known.get(s.name) or recognise(s, decimal) for s in texts.iter_columns()}
    if any(column.form.decimal == "," for column in known.values()):
        known |= _with_groups(flat, known)
    for name, column in known.items():
        said += [f"column {name!r}: {note}" for note in column.notes]
    return Table(
        flat.with_columns(column.values.alias(name) for name, column in known.items()),
        (*notes, *said),
        forms={name: column.form for name, column in known.items()},
        **attributes,
    )


def _with_groups(frame: pl.DataFrame, known: Mapping[str, Recognised]) -> dict[str, Recognised]:
    """Columns of numbers reread if a decimal comma elsewhere gives points a meaning."""
    again = {
        name: regrouped(frame[name])
        for name, column in known.items()
        if column.form == Form("number")
    }
    return {name: column for name, column in again.items() if column is not None}


def table_of(frame: Any) -> Table:
    """A data frame of polars or pandas, or a mapping of names to columns, as a table."""
    if isinstance(frame, Table):
        return frame
    return typed(frame_of(frame))


def frame_of(data: Any) -> pl.DataFrame:
    """The polars frame of data from polars, pandas or Arrow, or a mapping."""
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    if isinstance(data, Mapping):
        return pl.DataFrame(data, strict=False)
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        names = [str(name) for name in data.columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise TableError(
                f"several columns are called {listed(twice)}; rename them, so that each has its "
                "own name."
            )
        return pl.DataFrame(
            [_series_of_pandas(name, data.iloc[:, k]) for k, name in enumerate(names)]
        )
    if hasattr(data, ARROW):
        return readable(data, name="the table")
    raise TableError(f"expected a table, got {type(data).__name__}; pass a data frame or a path.")


def _series_of_pandas(name: str, column: Any) -> pl.Series:
    """A pandas column; values that polars cannot take become Python objects."""
    if column.dtype.kind in "iufbM" and hasattr(column.dtype, "itemsize"):
        return pl.Series(name, column.to_numpy(), nan_to_null=True)
    values = [None if missing else value for value, missing in zip(column, column.isna())]
    return pl.Series(name, values, strict=False)


# ---- types ---------------------------------------------------------------------------------------


def usual_types(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Columns in the few types of a table, nested ones flattened; notes about what changed."""
    frame, notes = _spread(frame)
    columns = []
    for series in frame.iter_columns():
        if series.dtype in (pl.Binary, pl.Object):
            notes.append(f"column {series.name!r} contains {series.dtype} values and is dropped")
        else:
            columns.append(_usual(series))
    if not columns:
        raise TableError("no column of the table has usable values.")
    return pl.DataFrame(columns), notes


def _usual(series: pl.Series) -> pl.Series:
    kind = series.dtype
    if kind.is_integer():
        wide = series.cast(pl.Int64, strict=False)
        return wide if wide.null_count() == series.null_count() else series.cast(pl.Float64)
    if kind.is_numeric():
        floats = series.cast(pl.Float64)
        # NumPy quickly confirms that all is well; wide tables have thousands of columns.
        if np.isfinite(floats.to_numpy()).all():
            return floats
        return floats.set(~floats.is_finite().fill_null(True), None)
    if isinstance(kind, pl.Datetime):
        return series.cast(pl.Datetime("us")) if kind.time_zone is None else _in_utc(series)
    if isinstance(kind, pl.Duration):
        return series.dt.total_microseconds() / 1e6
    if kind == pl.Time:
        return series.cast(pl.Int64) / 1e9
    if kind in (pl.Boolean, pl.Date, pl.String):
        return series
    return series.cast(pl.String)


def _in_utc(series: pl.Series) -> pl.Series:
    return series.dt.convert_time_zone("UTC").dt.replace_time_zone(None).cast(pl.Datetime("us"))


def _spread(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Fields of nested values as columns of their own, `outer.inner`; lists as texts,
    their items joined by spaces.
    """
    notes: list[str] = []
    while nested := [s.name for s in frame.iter_columns() if isinstance(s.dtype, pl.Struct)]:
        notes.append(f"nested values became columns: {listed(nested)}")
        frame = pl.DataFrame([part for s in frame.iter_columns() for part in _parts(s)])
    lists = [s.name for s in frame.iter_columns() if isinstance(s.dtype, pl.List | pl.Array)]
    if lists:
        notes.append(f"lists read as text: {listed(lists)}")
        frame = frame.with_columns(_joined(frame[name]) for name in lists)
    return frame, notes


def _parts(series: pl.Series) -> list[pl.Series]:
    if not isinstance(series.dtype, pl.Struct):
        return [series]
    return [s.alias(f"{series.name}.{s.name}") for s in series.struct.unnest().iter_columns()]


def _joined(series: pl.Series) -> pl.Series:
    """Lists as their items joined by spaces, so that a text model sees the items as words."""
    texts = [
        None if items is None else " ".join(str(item) for item in items)
        for items in series.to_list()
    ]
    return pl.Series(series.name, texts, dtype=pl.String)
