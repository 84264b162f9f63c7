"""Texts to values: how a column writes its numbers, dates and missing values.

A form is found once from all texts of a column, and `read` uses it for new rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import polars as pl

from .dates import FORMATS, find_dates, read_dates
from .findings import listed
from .numbers import (
    Numbers,
    as_floats,
    grouped_by_points,
    plain_numbers,
    read_numbers,
    several_units,
    written_numbers,
)

# Texts that mean a missing value everywhere.
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "<NA>", "0000-00-00")
# Date formats if texts do not show how they are written.
AS_PROGRAMS_WRITE = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S%.f")

KINDS = ("number", "boolean", "date", "string")


@dataclass(frozen=True, slots=True)
class Form:
    """How the texts of a column are read.

    Attributes
    ----------
    kind : {"number", "boolean", "date", "string"}
        The kind of their values.
    decimal : {"", ".", ",", ":"}
        For numbers with signs, spaces or digit groups, the decimal point or comma; empty for
        numbers as programs write them; a colon for times such as 1:02:30.
    formats : tuple of str
        For dates, the formats to try in turn.
    unit : str, default=""
        The unit next to all numbers, such as kg; `K M B` for multiples such as 1.5K, and `h` for
        times whose two parts are hours and minutes.
    """

    kind: Literal["number", "boolean", "date", "string"]
    decimal: str = ""
    formats: tuple[str, ...] = ()
    unit: str = ""

    def __post_init__(self) -> None:
        # A form may come from a file, and polars trusts formats.
        is_known = self.kind in KINDS and self.decimal in ("", ".", ",", ":")
        is_known = is_known and isinstance(self.unit, str)
        if not is_known or not set(self.formats) <= set(FORMATS):
            raise ValueError(f"unknown form of a column: {self!r}.")


@dataclass(frozen=True, slots=True)
class Recognised:
    """A column as values, its form, and notes about what was decided."""

    values: pl.Series
    form: Form
    notes: tuple[str, ...] = ()


def recognise(texts: pl.Series, decimal: str | None = None) -> Recognised:
    """Find the form of a column of texts from all of them.

    Parameters
    ----------
    texts : polars.Series of String
        The texts; None for missing ones.
    decimal : {".", ","} or None, default=None
        The decimal mark of numbers; found from the texts if None.

    Returns
    -------
    Recognised
        Integers, floats, booleans, dates or the texts themselves, None for missing values.
    """
    clean, notes = _without_missing(texts)
    found = (
        _of_numbers(plain_numbers(clean, decimal))
        or _booleans(clean)
        or _dates(clean)
        or _of_numbers(written_numbers(clean, decimal))
        or _strings(clean)
    )
    return Recognised(found.values, found.form, (*notes, *found.notes))


def regrouped(texts: pl.Series) -> Recognised | None:
    """Numbers reread in a table whose other columns have decimal commas; None if unchanged."""
    clean, notes = _without_missing(texts)
    found = _of_numbers(grouped_by_points(clean))
    return found and Recognised(found.values, found.form, (*notes, *found.notes))


def read(texts: pl.Series, form: Form) -> pl.Series:
    """New texts by a known form; what does not fit it is missing."""
    clean = texts.str.strip_chars()
    if form.kind == "number":
        return read_numbers(clean, form.decimal, form.unit)
    if form.kind == "date":
        return read_dates(clean, form.formats)
    if form.kind == "boolean":
        return _truths(clean)
    return clean.set(clean.is_in(MISSING).fill_null(False), None)


def advice_on_decimals(texts: Iterable[str], form: Form | None) -> str:
    """Advice about texts that a form cannot read but another decimal mark can."""
    if form is None or form.kind != "number" or form.decimal == ":":
        return ""
    mark, name = (".", "point") if form.decimal == "," else (",", "comma")
    series = pl.Series(list(texts), dtype=pl.String)
    if read_numbers(series, mark, form.unit).null_count():
        return ""
    return (
        f"; if they have a decimal {name}, read the table with decimal={mark!r} (--decimal {mark})"
    )


def form_by_type(dtype: str, texts: pl.Series) -> Form:
    """How texts for values of a type are read; the type decides, not the texts."""
    if dtype in ("String", "Boolean"):
        return Form("string" if dtype == "String" else "boolean")
    found = recognise(texts).form
    if dtype in ("Int64", "Float64"):
        return found if found.kind == "number" else Form("number")
    return found if found.kind == "date" else Form("date", formats=AS_PROGRAMS_WRITE)


def _without_missing(texts: pl.Series) -> tuple[pl.Series, tuple[str, ...]]:
    """The texts without those that mean a missing value, and a note about the unusual ones."""
    clean = texts.str.strip_chars()
    where = clean.is_in(MISSING).fill_null(False)
    if not where.any():
        return clean, ()
    words = [word for word in clean.filter(where).unique().sort().to_list() if word]
    return clean.set(where, None), (f"{listed(words)} read as missing",) if words else ()


def _of_numbers(found: Numbers | None) -> Recognised | None:
    if found is None:
        return None
    return Recognised(found.values, Form("number", found.decimal, unit=found.unit), found.notes)


def _truths(texts: pl.Series) -> pl.Series:
    """true and false in any case."""
    low = texts.str.to_lowercase()
    return low.set(~low.is_in(("true", "false")).fill_null(True), None) == "true"


def _booleans(texts: pl.Series) -> Recognised | None:
    if not _truths(texts.drop_nulls().head(1)).count():
        return None
    truths = _truths(texts)
    fits = truths.null_count() == texts.null_count()
    return Recognised(truths, Form("boolean")) if fits else None


def _dates(texts: pl.Series) -> Recognised | None:
    found = find_dates(texts)
    if found is None:
        return None
    return Recognised(found.values, Form("date", formats=found.formats), found.notes)


def _strings(texts: pl.Series) -> Recognised:
    present = texts.drop_nulls()
    numbers = as_floats(present).count()
    notes: tuple[str, ...] = ()
    if numbers and numbers < len(present):
        notes = (f"{numbers:,} of {len(present):,} values are numbers; the column is read as text",)
    elif units := several_units(texts):
        notes = (f"numbers with several units ({listed(units)}) stay text; write all in one unit",)
    return Recognised(texts, Form("string"), notes)
