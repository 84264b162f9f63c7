"""What the components of a table mean in its columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy.stats import chi2

from ...data import Column
from .sections import Loading

Array = np.ndarray

# A column belongs to a component from this correlation on, and this part of the largest one.
LEAST_CORRELATION, PART_OF_LARGEST = 0.3, 0.6
MOST_LOADINGS = 6
# Levels with fewer rows, or a smaller share of them, do not name the end of a component.
FEWEST_OF_A_LEVEL, RAREST = 5, 0.02
# Two columns have something in common if chance would give as much in one of a hundred tables; of
# more prepared columns than this, pairs are not compared.
BY_CHANCE, MOST_COMPARED = 0.01, 2_000


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
    x, y = (part / (np.abs(part).max() or 1.0) for part in (x, y))
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
    least = min(max(FEWEST_OF_A_LEVEL, RAREST * len(scores)), float(np.sort(rows)[-2:][0]))
    usual = levels.filter(pl.col("rows") >= least)
    ends = usual.sort("score", "level")["level"].to_list()
    return Loading(name, min(ratio, 1.0), ends[0], ends[-1])


def closest_columns(
    prepared: Array, blocks: Sequence[tuple[str, slice]]
) -> tuple[str, str, float] | None:
    """The two columns with most in common and their association; None if chance gives as much.

    That is V = √(‖C‖²/min(p, q)) for the p × q correlations C of the prepared columns: the absolute
    correlation of two numbers, the correlation ratio of a number and a category, and V of two
    categories (Cramér 1946, Mathematical Methods of Statistics).
    """
    rows, width = prepared.shape
    blocks = [(name, where) for name, where in blocks if where.stop > where.start]
    if len(blocks) < 2 or width > MOST_COMPARED:
        return None
    deviations = prepared.std(axis=0)
    scaled = (prepared - prepared.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
    squares = (scaled.T @ scaled / rows) ** 2
    starts = [where.start for _, where in blocks]
    sums = np.add.reduceat(np.add.reduceat(squares, starts, axis=0), starts, axis=1)
    sizes = np.array([where.stop - where.start for _, where in blocks])
    found = np.triu(sums / np.minimum.outer(sizes, sizes), 1)
    a, b = np.unravel_index(np.argmax(found), found.shape)
    pairs = len(blocks) * (len(blocks) - 1) / 2
    if pairs * chi2.sf(rows * sums[a, b], sizes[a] * sizes[b]) > BY_CHANCE:
        return None
    return blocks[a][0], blocks[b][0], float(min(np.sqrt(found[a, b]), 1.0))
