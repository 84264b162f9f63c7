"""Totals: a last row that sums up those above it, as spreadsheets have, and is none of them."""

from __future__ import annotations

import re

import polars as pl

FEWEST_ROWS = 4
# What such a row is called.
CALLED_TOTAL = re.compile(
    r"(?:(?:grand|sub|overall)[\s-]*)?totals?|sums?|overall|average|mean|"
    r"(?:gesamt|end|zwischen)?summe|gesamt|insgesamt|durchschnitt|total (?:général|general)|"
    r"totale|somme|suma|totaal|summa|totalt|итого|всего|合计|总计|合計|総計",
    re.IGNORECASE,
)
# Sums of decimals are exact but for rounding.
ROUNDING = 1e-6


def totals_row(frame: pl.DataFrame) -> int | None:
    """The last row of a table if it holds the totals of the others; None if it is one of them.

    It is called so, and has the sum or the mean of some column. A name in a column of numbers was
    read as missing; then it has gaps where no other row has one, and nothing but sums or means:
    two of them, or one sum beside two gaps.

    Parameters
    ----------
    frame : polars.DataFrame
        A table as values.
    """
    if frame.height < FEWEST_ROWS:
        return None
    last = frame.height - 1
    columns = list(frame.iter_columns())
    is_called = any(map(_is_called, columns))
    gaps = sum(series.null_count() == 1 and series[last] is None for series in columns)
    if not is_called and not gaps:
        return None
    sums, means = sum(map(_is_sum, columns)), sum(map(_is_mean, columns))
    if is_called:
        return last if sums or means else None
    filled = sum(series[last] is not None for series in columns)
    is_sure = filled in (sums, means) and (filled > 1 or (sums == 1 and gaps > 1))
    return last if is_sure else None


def _is_called(series: pl.Series) -> bool:
    if series.dtype != pl.String or series[-1] is None:
        return False
    name = series[-1].strip().rstrip(":")
    return CALLED_TOTAL.fullmatch(name) is not None and int((series == series[-1]).sum()) == 1


def _is_sum(series: pl.Series) -> bool:
    """Whether the last number is the sum of those above, and beyond all of them."""
    above = _above(series)
    if above is None:
        return False
    value, most = float(series[-1]), float(above.abs().max())  # type: ignore[arg-type]
    size = float(above.abs().sum())
    return abs(value - float(above.sum())) <= ROUNDING * size and abs(value) > most


def _is_mean(series: pl.Series) -> bool:
    above = _above(series)
    if above is None:
        return False
    size = float(above.abs().sum()) / len(above)
    return abs(float(series[-1]) - float(above.sum()) / len(above)) <= ROUNDING * size


def _above(series: pl.Series) -> pl.Series | None:
    """The numbers above the last one; None if there is none, or they are few or all the same."""
    if not series.dtype.is_numeric() or series[-1] is None:
        return None
    above = series[:-1].drop_nulls().cast(pl.Float64)
    return above if len(above) >= FEWEST_ROWS - 1 and above.n_unique() > 1 else None
