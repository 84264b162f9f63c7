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

    It is called so, and all its numbers are sums or means of their columns: one sum, or two means,
    since a single mean may be chance. A name in a column of numbers was read as missing; then it
    has gaps where no other row has one, and nothing but sums, or nothing but means: two of either,
    beside two gaps for means, which often stand for missing values, or one sum beside two gaps.

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
    filled = [series for series in columns if series[last] is not None]
    numbers = [series for series in filled if series.dtype.is_numeric()]
    sums, means = sum(map(_is_sum, numbers)), sum(map(_is_mean, numbers))
    if is_called:
        return last if sums + means == len(numbers) and (sums or means > 1) else None
    are_sums = sums == len(filled) and (sums > 1 or (sums == 1 and gaps > 1))
    are_means = means == len(filled) and means > 1 and gaps > 1
    return last if are_sums or are_means else None


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
