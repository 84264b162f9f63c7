"""Rows for explanations to compare with, made up from what a model knows of its training rows.

The file of a model holds no training rows, only the distribution of each column. Every value here
occurs in its column about as often as in training, in rows that nobody has seen.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from ..data import MICROSECONDS_PER_DAY, Column, ColumnProfile, TableProfile

Array = np.ndarray

ROWS = 100
# Stands for all levels that a profile does not name: a new level is treated as a rare one.
RARE = "(rare)"


def made_up_rows(profile: TableProfile, columns: tuple[Column, ...]) -> pl.DataFrame:
    """Rows whose columns are distributed as in training, each by itself; texts are empty.

    Parameters
    ----------
    profile : TableProfile
        The distributions.
    columns : tuple of Column
        The features.

    Returns
    -------
    polars.DataFrame
        A hundred rows, always the same ones.
    """
    known = {each.column.name: each for each in profile.columns}
    rng = np.random.default_rng(0)
    return pl.DataFrame([_series(known[column.name], column, rng) for column in columns])


def _series(profile: ColumnProfile, column: Column, rng: np.random.Generator) -> pl.Series:
    order = rng.permutation(ROWS)
    # Shares at equal distances; the first ones are missing.
    missing = profile.missing / max(profile.rows, 1)
    share = (np.arange(ROWS) + 0.5) / ROWS
    is_there = share >= missing
    share = (share - missing) / max(1.0 - missing, 1e-300)
    if column.role == "text":
        return pl.Series(column.name, [""] * ROWS)
    if column.role == "category":
        levels, counts = [*profile.levels, RARE], [*profile.counts, max(profile.others, 0)]
        # With no level at all, every value is missing.
        place = np.searchsorted(np.cumsum(counts) / max(sum(counts), 1), share)
        texts = [levels[min(k, len(levels) - 1)] for k in place]
        values = [text if there else None for text, there in zip(texts, is_there)]
        return pl.Series(column.name, [values[k] for k in order], dtype=pl.String)
    numbers = np.full(ROWS, np.nan)
    if profile.values:
        place = np.searchsorted(profile.shares, share)
        found = np.array(profile.values)[np.minimum(place, len(profile.values) - 1)]
        numbers = np.where(is_there, found, np.nan)
    series = pl.Series(column.name, numbers[order]).fill_nan(None)
    if column.given_as == "date":
        moments = (series * MICROSECONDS_PER_DAY).round().cast(pl.Int64)
        return moments.cast(pl.Datetime("us"))
    return series
