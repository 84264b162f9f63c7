"""X as trees see it: a code for every entry, column by column.

A number becomes its rank among the distinct values of its column, or its bin; a category becomes
its level. So one algorithm grows exact and binned trees. Sparse matrices and tables are read a few
columns at a time, so X never exists as one dense matrix of floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import core
from ..interrupt import deadline
from ..threads import thread_count
from .bins import edges_of
from .bundles import Bundles, apart, bundle
from .tables import Level, is_table, levels_of, number_of_level, series_of

Array = np.ndarray

# Read this many columns of numbers at a time.
AT_A_TIME = 8


@dataclass(frozen=True, eq=False)
class Columns:
    """Codes of all entries, and their meaning.

    Parameters
    ----------
    rows : int
        The number of rows.
    codes : ndarray of uint8
        The codes of all columns back to back, each in as few bytes as it needs.
    begin, width : ndarray of int64 and of uint8, shape (d,)
        Where the codes of each column begin, and their bytes.
    count : ndarray of int64, shape (d,)
        The number of codes; the code `count` means that the value is missing.
    is_category : ndarray of bool, shape (d,)
        Whether the codes are levels.
    values_begin : ndarray of int64, shape (d,)
        Where the values of each column begin in `lowest` and `highest`.
    lowest, highest : ndarray of float64
        The smallest and the largest value of each code of a number.
    levels : tuple of (ndarray or None)
        The names of the levels of each category; None for numbers.
    names : tuple of str or None
        Names of the columns.
    has_missing : ndarray of bool, shape (d,)
        Whether a value of the column is missing.
    bundles : Bundles
        Columns that are counted together.
    """

    rows: int
    codes: Array
    begin: Array
    width: Array
    count: Array
    is_category: Array
    values_begin: Array
    lowest: Array
    highest: Array
    levels: tuple[Array | None, ...]
    names: tuple[str, ...] | None
    has_missing: Array
    bundles: Bundles

    @classmethod
    def read(
        cls,
        X: Any,
        *,
        categorical_features: Any = None,
        max_bins: int | None = None,
        weights: Array | None = None,
        negative_is_missing: bool = False,
    ) -> Columns:
        """Read X.

        Parameters
        ----------
        X : ndarray, sparse matrix, or pandas or polars data frame of shape (n, d)
            Numbers in float32 or float64 with NaN for missing values; in tables, columns of
            category or string type are categories, and in arrays of objects those that are not
            all numbers.
        categorical_features : None, "from_dtype", mask, indices or names, default=None
            Which further columns are categories.
        max_bins : int or None, default=None
            Columns with more distinct values are cut into this many bins of about equal weight.
        weights : ndarray of shape (n,) or None, default=None
            Weights for the bins.
        negative_is_missing : bool, default=False
            Whether a number below 0 in a column of categories is a missing value.

        Returns
        -------
        Columns
        """
        reader = _Reader(X, categorical_features, max_bins, weights, negative_is_missing)
        return reader.columns()

    @classmethod
    def of_levels(
        cls,
        X: Any,
        *,
        categorical_features: Any = None,
        negative_is_missing: bool = False,
        most_levels: int | None = None,
    ) -> Columns:
        """The categories of X alone, without any rows; `coded` reads those.

        A text column that the caller does not call a category counts as numbers if all of it reads
        as such and it has more than `most_levels` levels.
        """
        reader = _Reader(X, categorical_features, None, None, negative_is_missing)
        return reader.levels_alone(most_levels)

    def coded(self, F: Any, max_bins: int, weights: Array) -> Columns:
        """Codes of rows, as returned by `encode_new`; numbers are binned by these rows."""
        reader = _Reader(F, self.is_category, max_bins, weights, False, self.levels)
        return reader.columns(is_bundled=False)

    def __len__(self) -> int:
        return len(self.count)

    @property
    def arguments(self) -> tuple[Array, ...]:
        """The arguments of the core."""
        return (
            self.codes,
            self.begin,
            self.width,
            self.count,
            self.is_category,
            self.values_begin,
            self.lowest,
            self.highest,
            self.bundles.of_column,
            self.bundles.usual,
            self.bundles.first,
            self.bundles.codes,
            self.bundles.count,
        )

    def codes_of(self, j: int) -> Array:
        """The codes of one column, (n,)."""
        end = self.begin[j] + self.rows * int(self.width[j])
        return self.codes[self.begin[j] : end].view(f"uint{8 * int(self.width[j])}")

    def encode_new(self, X: Any) -> Any:
        """X as prediction needs it: categories as level numbers, all else unchanged.

        A level unknown to the fit becomes NaN, like a missing value. An X without categories is
        returned itself.
        """
        if not is_table(X) and not self.is_category.any():
            return X
        if sp.issparse(X):
            X = X.toarray()
        out = np.empty(X.shape, dtype=np.float64)
        for j, levels in enumerate(self.levels):
            series = series_of(X, j)
            out[:, j] = series.numbers if levels is None else self._encoder(j).of(series.values)
        return out

    def _encoder(self, j: int) -> Level:
        return self._encoders[j]

    @cached_property
    def _encoders(self) -> dict[int, Level]:
        return {
            j: number_of_level(levels) for j, levels in enumerate(self.levels) if levels is not None
        }


class _Reader:
    """Collects the columns of one X."""

    def __init__(
        self,
        X: Any,
        categorical: Any,
        max_bins: int | None,
        weights: Array | None,
        negative_is_missing: bool,
        known: Sequence[Array | None] | None = None,
    ):
        self.X = X.tocsc() if sp.issparse(X) else X
        self.known = known
        self.rows, self.d = X.shape
        self.max_bins, self.weights = max_bins, weights
        self.negative_is_missing = negative_is_missing
        self.names = tuple(map(str, X.columns)) if is_table(X) else None
        self.is_marked = marked(categorical, self.d, self.names)
        self.is_category = self.is_marked
        if is_table(X):
            self.is_category = self.is_marked | [series_of(X, j).is_category for j in range(self.d)]
        elif X.dtype == object:  # lists of rows with texts
            texts = [not series_of(X, j).is_of_numbers for j in range(self.d)]
            self.is_category = self.is_marked | texts
        self.parts: list[Array | None] = [None] * self.d
        self.lowest: list[Array] = [np.zeros(0)] * self.d
        self.highest: list[Array] = [np.zeros(0)] * self.d
        self.levels: list[Array | None] = [None] * self.d
        self.count = np.zeros(self.d, dtype=np.int64)
        self.has_missing = np.zeros(self.d, dtype=bool)

    def columns(self, *, is_bundled: bool = True) -> Columns:
        for j in np.flatnonzero(self.is_category):
            self._read_levels(int(j))
        numbers = np.flatnonzero(~self.is_category)
        for first in range(0, len(numbers), AT_A_TIME):
            self._read_numbers(numbers[first : first + AT_A_TIME])
        return self._joined(is_bundled)

    def levels_alone(self, most_levels: int | None) -> Columns:
        for j in np.flatnonzero(self.is_category).tolist():
            levels = levels_of(self._values(j))
            is_many = most_levels is not None and len(levels) > most_levels
            if is_many and not self.is_marked[j] and series_of(self.X, j).is_of_numbers:
                self.is_category[j] = False
                continue
            self.levels[j], self.count[j] = levels, len(levels)
        self.rows, self.parts = 0, [np.zeros(0, dtype=np.uint8)] * self.d
        return self._joined(is_bundled=False)

    # ---- reading -----------------------------------------------------------------------------

    def _values(self, j: int) -> Array:
        """The names of levels, None if missing."""
        X = self.X[:, [j]].toarray() if sp.issparse(self.X) else self.X
        series = series_of(X, 0 if sp.issparse(self.X) else j)
        values = series.values
        if self.negative_is_missing and not series.is_category:
            values[series.numbers < 0] = None
        return values

    def _read_levels(self, j: int) -> None:
        levels = None if self.known is None else self.known[j]
        if levels is None:
            values = self._values(j)
            levels = levels_of(values)
            numbers = number_of_level(levels).of(values)
        else:
            numbers = self.X[:, j]
        self.levels[j], self.count[j] = levels, len(levels)
        self._keep(j, np.where(np.isnan(numbers), len(levels), numbers).astype(np.uint32))

    def _read_numbers(self, which: Array) -> None:
        x = self._numbers(which)
        ranks = np.empty(x.shape, dtype=np.uint32)
        distinct = np.empty(x.shape)
        counts = np.empty(len(which), dtype=np.int64)
        core.rank_columns(x, ranks, distinct, counts, thread_count(), deadline())
        for k, j in enumerate(which.tolist()):
            values = distinct[k, : counts[k]].copy()
            self.lowest[j] = self.highest[j] = values
            self.count[j] = counts[k]
            codes = ranks[k]
            if self.max_bins is not None and counts[k] > self.max_bins:
                codes = self._binned(j, codes, values, self.max_bins)
            self._keep(j, codes)

    def _numbers(self, which: Array) -> Array:
        """Some columns of numbers as the rows of a matrix."""
        if sp.issparse(self.X):
            return np.ascontiguousarray(self.X[:, which].toarray().T)
        if is_table(self.X) or self.X.dtype == object:
            return np.ascontiguousarray([series_of(self.X, j).numbers for j in which])
        return np.ascontiguousarray(self.X[:, which].T)

    def _binned(self, j: int, ranks: Array, values: Array, most: int) -> Array:
        """Codes of bins in place of ranks."""
        weights = np.ones(self.rows) if self.weights is None else self.weights
        share = np.bincount(ranks, weights, len(values) + 1)[: len(values)]
        edges = edges_of(values, share, most)
        bins = np.searchsorted(edges, values, side="left")
        first = np.flatnonzero(np.diff(bins, prepend=-1))
        self.lowest[j] = values[first]
        self.highest[j] = values[np.append(first[1:] - 1, len(values) - 1)]
        self.count[j] = len(first)
        dense = np.cumsum(np.diff(bins, prepend=bins[0]) > 0)
        return np.append(dense, len(first)).astype(np.uint32)[ranks]

    def _keep(self, j: int, codes: Array) -> None:
        """Keep the codes of a column in as few bytes as they need."""
        self.has_missing[j] = bool(len(codes)) and bool(codes.max() == self.count[j])
        self.parts[j] = codes.astype(np.min_scalar_type(int(self.count[j])))

    # ---- joining -----------------------------------------------------------------------------

    def _joined(self, is_bundled: bool) -> Columns:
        parts = [part for part in self.parts if part is not None]
        sizes = np.array([part.nbytes for part in parts], dtype=np.int64)
        # Codes of four bytes are read as such, so each column begins at a multiple of eight.
        begin = np.concatenate([[0], np.cumsum((sizes + 7) // 8 * 8)]).astype(np.int64)
        codes = np.zeros(begin[-1], dtype=np.uint8)
        for first, part in zip(begin, parts):
            codes[first : first + part.nbytes] = part.view(np.uint8)
        lengths = [len(values) for values in self.lowest]
        lowest = _concatenated(self.lowest)
        is_exact = all(low is high for low, high in zip(self.lowest, self.highest))
        return Columns(
            rows=self.rows,
            codes=codes,
            begin=begin[:-1],
            width=np.array([part.itemsize for part in parts], dtype=np.uint8),
            count=self.count,
            is_category=self.is_category,
            values_begin=np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64),
            lowest=lowest,
            highest=lowest if is_exact else _concatenated(self.highest),
            levels=tuple(self.levels),
            names=self.names,
            has_missing=self.has_missing,
            bundles=bundle(parts, self.count, self.is_category) if is_bundled else apart(self.d),
        )


def _concatenated(parts: Sequence[Array]) -> Array:
    return np.concatenate(parts) if len(parts) else np.zeros(0)


def marked(
    given: Any, d: int, names: tuple[str, ...] | None, parameter: str = "categorical_features"
) -> Array:
    """Which columns the caller named in a parameter: by a mask, positions or names."""
    mask = np.zeros(d, dtype=bool)
    if given is None or (isinstance(given, str) and given == "from_dtype"):
        return mask
    chosen = np.asarray(given)
    if chosen.dtype == bool:
        if chosen.shape != (d,):
            raise ValueError(
                f"{parameter} set as a boolean mask must have shape (n_features,) = ({d},), got: "
                f"{chosen.shape}; set True for the categorical columns."
            )
        return chosen.copy()
    _check_kinds(chosen, parameter)
    mask[list(_positions(chosen, d, names, parameter))] = True
    return mask


def _check_kinds(chosen: Array, parameter: str) -> None:
    """Refuse what is neither the number nor the name of a column."""
    kinds = {type(item).__name__ for item in chosen.reshape(-1).tolist()}
    if not kinds <= {"int", "str", "bool"}:
        found = ", ".join(sorted(kinds)) if chosen.dtype == object else chosen.dtype.name
        raise ValueError(f"{parameter} must be an array-like of bool, int or str, got: {found}.")


def _positions(
    chosen: Array, d: int, names: tuple[str, ...] | None, parameter: str
) -> Iterator[int]:
    for item in chosen.reshape(-1).tolist():
        if isinstance(item, str):
            if names is None:
                raise ValueError(
                    f"{parameter} should be passed as an array of integers or as a boolean "
                    "mask when the model is fitted on data without feature names."
                )
            if item not in names:
                raise ValueError(
                    f"{parameter} has an item value {item!r} which is not a valid feature "
                    f"name of the training data. X has {list(names)}."
                )
            yield names.index(item)
        elif 0 <= item < d:
            yield item
        else:
            raise ValueError(
                f"{parameter} set as integer indices must be in [0, n_features - 1] = "
                f"[0, {d - 1}], got {item}."
            )
