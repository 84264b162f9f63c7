"""Texts of plain numbers, read for many columns at once.

Every call of polars has a cost of its own, far above that of a few hundred texts: a table of ten
thousand columns is read in a few calls for all of them, and not in ten for each.
"""

from __future__ import annotations

import polars as pl

from .forms import CODES, LARGEST_EXACT, Form, Recognised

# Tables of fewer columns are read one by one.
MANY = 50
# So many columns are read together.
AT_ONCE = 100


def plain_numbers(texts: pl.DataFrame) -> dict[str, Recognised]:
    """What `recognise` finds in columns of nothing but finite plain numbers and empty fields.

    Parameters
    ----------
    texts : polars.DataFrame
        Columns of String.

    Returns
    -------
    dict of str to Recognised
        Other columns are not in it: they need a closer look. Empty for tables of few columns.
    """
    if texts.width < MANY:
        return {}
    form = Form("number")
    return {
        series.name: Recognised(series, form)
        for first in range(0, texts.width, AT_ONCE)
        for series in _read(texts[:, first : first + AT_ONCE]).iter_columns()
    }


def _read(texts: pl.DataFrame) -> pl.DataFrame:
    """The columns that have nothing but numbers, whole ones as integers."""
    stripped = pl.all().str.strip_chars()
    clean = texts.select(pl.when(stripped != "").then(stripped).name.keep())
    floats = clean.select(pl.all().cast(pl.Float64, strict=False))
    counts = _each(clean, pl.all().count()), _each(floats, pl.all().count())
    is_finite = _each(floats, pl.all().is_finite().all())
    has_codes = _each(clean, pl.all().str.contains(CODES).any())
    names = [
        name
        for name, texts_of, numbers_of, finite, codes in zip(
            clean.columns, *counts, is_finite, has_codes
        )
        if texts_of == numbers_of > 0 and finite and not codes
    ]
    return _whole_as_integers(clean.select(names), floats.select(names))


def _whole_as_integers(clean: pl.DataFrame, floats: pl.DataFrame) -> pl.DataFrame:
    """Integers from their texts, or from numbers such as 3.0; others are left as they are."""
    whole = (pl.all().round(0) == pl.all()) & (pl.all().abs() < LARGEST_EXACT)
    integers = clean.select(pl.all().cast(pl.Int64, strict=False))
    counts = _each(floats, pl.all().count()), _each(integers, pl.all().count())
    kept = [
        integers[name]
        if numbers_of == integers_of
        else floats[name].cast(pl.Int64)
        if is_whole
        else floats[name]
        for name, numbers_of, integers_of, is_whole in zip(
            floats.columns, *counts, _each(floats, whole.all())
        )
    ]
    return pl.DataFrame(kept)


def _each(frame: pl.DataFrame, of_all: pl.Expr) -> tuple[int, ...]:
    """What an expression says of each column."""
    return frame.select(of_all).row(0) if frame.width else ()
