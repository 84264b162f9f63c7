"""Numbers, dates and categories in one space, where none of them outweighs the others.

Each column of numbers has variance 1. A category of m levels becomes m − 1 uncorrelated columns of
variance 1, so that in no direction it weighs more than a number: the space of factor analysis of
mixed data (Pagès 2004, Revue de Statistique Appliquée 52), where indicators of levels are divided
by the roots of their shares, but without the redundant direction, so that no column can be
predicted from the others of the same category.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._ground.stored import INPUT, Declaration, Numbers, Value
from .dates import MICROSECONDS_PER_DAY

Array = np.ndarray

# Levels with a smaller share have no column of their own; and no value is further from the mean
# than that of a level with this share, 1/√RAREST standard deviations.
RAREST = 0.02
# Values further than the width of the middle 90 % outside these, for a bell-shaped column beyond
# five standard deviations, are moved towards that bound: to less than this part of the range
# between both bounds beyond it. They keep their order: no gap is closed, and no peak made.
OUTER, BEYOND = 0.05, 1 / 3
# What levels without a column of their own are called together.
OTHERS = "(other)"


class BoundedNumbers(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Numbers and dates with mean 0 and variance 1, where no single value is far from all others.

    Values far outside are moved inwards first; missing ones become 0, the mean, which favours no
    side.

    Attributes
    ----------
    lower_, upper_ : ndarray of shape (d,)
        The bounds. A value x beyond one, at the distance r from it, is moved to the distance
        r/(1 + r/w), where w is a third of the range between them.
    mean_, scale_ : ndarray of shape (d,)
        Mean and standard deviation of the bounded values.
    feature_names_in_ : ndarray of str
        Names of the columns.
    n_features_in_ : int
        Their number.
    """

    _stored: ClassVar[Declaration] = {
        **INPUT,
        "lower_": Numbers("features"),
        "upper_": Numbers("features"),
        "mean_": Numbers("features"),
        "scale_": Numbers("features", is_positive=True),
    }

    def fit(self, X: pl.DataFrame, y: Any = None) -> BoundedNumbers:
        """Learn the bounds and the scale of each column."""
        learned = np.array([_bounds(column) for column in _as_numbers(X).T]).reshape(-1, 4)
        self.lower_, self.upper_, self.mean_, self.scale_ = learned.T.copy()
        self.feature_names_in_ = np.array(X.columns, dtype=object)
        self.n_features_in_ = X.width
        return self

    def transform(self, X: pl.DataFrame) -> Array:
        """Scaled numbers, (n, d)."""
        check_is_fitted(self)
        moved = _moved_inwards(_as_numbers(X), self.lower_, self.upper_)
        # Each divided on its own: the difference of the largest numbers is not one.
        return np.nan_to_num(moved / self.scale_ - self.mean_ / self.scale_, nan=0.0)


def _as_numbers(frame: pl.DataFrame) -> Array:
    """Numbers, and dates in days since 1970; NaN for missing ones."""
    columns = [
        series.to_physical() / MICROSECONDS_PER_DAY if series.dtype.is_temporal() else series
        for series in frame.iter_columns()
    ]
    found = [one.cast(pl.Float64).fill_null(np.nan).to_numpy() for one in columns]
    return np.column_stack(found) if found else np.zeros((frame.height, 0))


def _moved_inwards(values: Array, lower: Array | float, upper: Array | float) -> Array:
    """Values with those beyond the bounds moved towards them: a column for each pair of bounds."""
    bounded = np.clip(values, lower, upper)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        width = BEYOND * (np.asarray(upper) - lower)
        # r/(1 + r/w) as w/(1 + w/r), which is w at infinity.
        beyond = np.where(values == bounded, 0.0, width / (1.0 + width / np.abs(values - bounded)))
    return bounded + np.sign(values - bounded) * np.nan_to_num(beyond, posinf=0.0)


def _bounds(values: Array) -> tuple[float, float, float, float]:
    """Lower and upper bound, mean and scale of the values of a column."""
    present = values[np.isfinite(values)]
    if not len(present):
        return 0.0, 0.0, 0.0, 1.0
    # Quantiles that are values of the column: dates and integers may be far apart.
    quantiles = [OUTER, 1 - OUTER]
    low, high = np.quantile(present, quantiles, method="inverted_cdf")
    least, most = present.min(), present.max()
    if high > low:
        least, most = max(least, 2 * low - high), min(most, 2 * high - low)
    bounded = _moved_inwards(present, least, most)
    # In units of the largest, whose square need not be a number.
    size = float(np.abs(bounded).max()) or 1.0
    parts = bounded / size
    scale = max(float(parts.std()), float(np.ptp(parts)) * np.sqrt(RAREST)) * size
    return float(least), float(most), float(parts.mean()) * size, scale or 1.0


class LevelContrasts(TransformerMixin, BaseEstimator):
    """Categories as uncorrelated columns of variance 1, one fewer than there are levels.

    Two rows of levels with shares p and q have the squared distance 1/p + 1/q there, as the rows
    of indicators divided by the roots of the shares have.

    Attributes
    ----------
    shares_ : dict of str to dict of str to float
        For each column its levels and their shares; rare levels are one.
    feature_names_in_ : ndarray of str
        Names of the columns.
    n_features_in_ : int
        Their number.
    """

    _stored: ClassVar[Declaration] = {**INPUT, "shares_": Value(dict)}

    def fit(self, X: pl.DataFrame, y: Any = None) -> LevelContrasts:
        """Learn the levels of each column and their shares."""
        self.shares_ = {series.name: level_shares(series) for series in X.iter_columns()}
        self.feature_names_in_ = np.array(X.columns, dtype=object)
        self.n_features_in_ = X.width
        return self

    def transform(self, X: pl.DataFrame) -> Array:
        """The columns of each category, (n, Σ(levels − 1)); a new level is at 0, the mean."""
        check_is_fitted(self)
        parts = [_contrasts(X[name], shares) for name, shares in self.shares_.items()]
        return np.column_stack([np.zeros((X.height, 0)), *parts])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns, numbered within each category."""
        names = [
            f"{name} {k + 1}"
            for name, shares in self.shares_.items()
            for k in range(max(len(shares) - 1, 0))
        ]
        return np.array(names, dtype=object)


def level_shares(series: pl.Series) -> dict[str, float]:
    """The levels of a column that are not rare with their shares, then the others as one."""
    rows = max(len(series), 1)
    counts = series.alias("level").value_counts(name="rows").drop_nulls()
    ordered = counts.sort(["rows", "level"], descending=[True, False])
    kept = {level: n for level, n in ordered.iter_rows() if n >= max(RAREST * rows, 2)}
    others = rows - sum(kept.values())
    if others >= max(RAREST * rows, 2):
        kept[OTHERS] = kept.get(OTHERS, 0) + others
    total = sum(kept.values())
    return {level: n / total for level, n in kept.items()}


def _contrasts(series: pl.Series, shares: dict[str, float]) -> Array:
    """Row j of Q/√p for level j, Q an orthonormal basis of all that is orthogonal to √p."""
    levels = len(shares)
    if levels < 2:
        return np.zeros((len(series), 0))
    root = np.sqrt(np.fromiter(shares.values(), float))
    # Householder: the reflection that takes √p to the first axis takes the other axes to Q.
    axis = root.copy()
    axis[0] += 1.0
    basis = np.eye(levels) - np.outer(axis, axis) * (2.0 / (axis @ axis))
    table = np.vstack([basis[:, 1:] / root[:, None], np.zeros(levels - 1)])
    places = {level: k for k, level in enumerate(shares)}
    unknown = places.get(OTHERS, levels)
    codes = series.replace_strict(places, default=unknown, return_dtype=pl.Int64)
    return table[codes.fill_null(unknown).to_numpy()]
