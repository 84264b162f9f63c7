"""Tables read like another one: texts by the forms of its columns, whole or in batches.

A new table alone may look otherwise: 1.000 is a thousand where training rows had decimal commas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from .columns import Column
from .forms import Form, form_by_type, read
from .options import AS_FOUND, ReadingOptions
from .reading import read_batches
from .sources import Source
from .tables import Table


def batches_like(
    source: Source, columns: Sequence[Column], options: ReadingOptions = AS_FOUND
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Read a table piece by piece, as another table was read.

    Parameters
    ----------
    source : str, Path, bytes or binary stream
        As for `read_table`.
    columns : sequence of Column
        The columns of the other table. Texts of one that has no form, since it did not come as
        texts, get the form of the first piece; texts of columns that are not here stay texts.
    options : ReadingOptions
        How the table is to be read; a decimal mark goes before those of the columns.

    Yields
    ------
    tuple of two polars.DataFrame
        Some rows as they stand in the source, and the same as values.
    """
    forms: dict[str, Form] | None = None
    told = options.told()
    decimal = told.pop("decimal", None)
    for frame in read_batches(source, {}, **told):
        if forms is None:
            forms = {
                name: _with_decimal(form, decimal) for name, form in _forms(frame, columns).items()
            }
        yield frame, as_values(frame, forms)


def joined(frames: Sequence[pl.DataFrame], source: Source, columns: Sequence[Column]) -> Table:
    """The pieces of a table as one.

    Parameters
    ----------
    frames : sequence of polars.DataFrame
        Its rows as values, from `batches_like`; at least one frame.
    source : str, Path, bytes or binary stream
        Where they come from.
    columns : sequence of Column
        The columns of the table that they were read like.

    Returns
    -------
    Table
        May have no rows.
    """
    frame = pl.concat(frames, how="diagonal_relaxed") if len(frames) > 1 else frames[0]
    forms = {column.name: column.form for column in columns if column.form is not None}
    return Table(frame.rechunk(), source=str(source), forms=forms)


def as_values(frame: pl.DataFrame, forms: Mapping[str, Form]) -> pl.DataFrame:
    """Texts as numbers, dates and truth values by their forms; what does not fit is missing."""
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
