"""What the components of a table mean in its columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from ...data import Column
from .sections import Loading

Array = np.ndarray

# A column belongs to a component from this correlation on, and this part of the largest one.
LEAST_CORRELATION, PART_OF_LARGEST = 0.3, 0.6
MOST_LOADINGS = 6
# Levels with fewer rows do not name the end of a component.
FEWEST_OF_A_LEVEL = 5


def loadings_of(
    scores: Array, frame: pl.DataFrame, columns: Sequence[Column]
) -> tuple[Loading, ...]:
    """The columns that one component goes with, the closest first."""
    found = [_loading(scores, frame[column.name], column) for column in columns]
    found.sort(key=lambda one: -abs(one.correlation))
    largest = abs(found[0].correlation)
    least = max(LEAST_CORRELATION, PART_OF_LARGEST * largest)
    return tuple(one for one in found if abs(one.correlation) >= least)[:MOST_LOADINGS]


def _loading(scores: Array, series: pl.Series, column: Column) -> Loading:
    if column.role == "category":
        return _of_levels(scores, series, column.name)
    values = series.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()
    known = np.isfinite(values)
    return Loading(column.name, _correlation(scores[known], _bounded(values[known])), "", "")


def _bounded(values: Array) -> Array:
    """Values with the far ones moved to the 1st and the 99th percentile."""
    if not len(values):
        return values
    low, high = np.quantile(values, [0.01, 0.99], method="inverted_cdf")
    return np.clip(values, low, high) if high > low else values


def _correlation(x: Array, y: Array) -> float:
    if len(x) < 2:
        return 0.0
    x, y = x - x.mean(), y - y.mean()
    size = np.sqrt((x @ x) * (y @ y))
    return float(x @ y / size) if size > 0 else 0.0


def _of_levels(scores: Array, series: pl.Series, name: str) -> Loading:
    """The correlation ratio of a category, and its levels at both ends."""
    levels = (
        pl.DataFrame({"level": series.fill_null("(missing)"), "score": scores})
        .group_by("level")
        .agg(pl.len().alias("rows"), pl.col("score").mean())
        .sort("level")
    )
    rows, means = levels["rows"].to_numpy(), levels["score"].to_numpy()
    between = rows @ (means - scores.mean()) ** 2
    ratio = float(np.sqrt(between / max(np.sum((scores - scores.mean()) ** 2), 1e-300)))
    usual = levels.filter(pl.col("rows") >= min(FEWEST_OF_A_LEVEL, int(rows.max())))
    ends = usual.sort("score", "level")["level"].to_list()
    return Loading(name, min(ratio, 1.0), ends[0], ends[-1])
