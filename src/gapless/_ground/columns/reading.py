"""How trees read data: tables and arrays become columns for growing and rows for predicting."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ..tables import readable
from ..validation import check_infinite, read_names, read_numbers
from .coded import Columns
from .tables import is_table, series_of

Array = np.ndarray


def read_training(
    estimator: Any, X: Any, weights: Array | None, *, reset: bool = True
) -> tuple[Columns, Any, Array | None]:
    """The columns of X, its rows as prediction sees them, and its feature names.

    Parameters
    ----------
    estimator : estimator
        With the parameters `categorical_features` and, for bins, `max_bins`; if its
        `_negative_is_missing` is set, numbers below 0 are missing values.
    X : {array-like, sparse matrix, data frame} of shape (n, d)
        Training data.
    weights : ndarray of shape (n,) or None
        Weights of the rows, for the bins.
    reset : bool, default=True
        Whether the features are new; otherwise they must be those of the fit.
    """
    X, names = read_features(estimator, X, reset=reset)
    columns = Columns.read(
        X,
        categorical_features=getattr(estimator, "categorical_features", None),
        max_bins=getattr(estimator, "max_bins", None),
        weights=weights,
        negative_is_missing=getattr(estimator, "_negative_is_missing", False),
    )
    return columns, encoded(columns, X), names


def read_levels(estimator: Any, X: Any, *, reset: bool = True) -> tuple[Columns, Any, Array | None]:
    """The same without codes, which `Columns.coded` makes for some of the rows.

    If the estimator sets `_takes_infinity`, infinite values are the largest ones.
    """
    X, names = read_features(estimator, X, reset=reset)
    columns = Columns.of_levels(
        X,
        categorical_features=estimator.categorical_features,
        negative_is_missing=getattr(estimator, "_negative_is_missing", False),
        most_levels=estimator.max_bins,
    )
    return columns, encoded(columns, X, takes_infinity=_takes_infinity(estimator)), names


def _takes_infinity(estimator: Any) -> bool:
    return getattr(estimator, "_takes_infinity", False)


def read_features(estimator: Any, X: Any, *, reset: bool) -> tuple[Any, Array | None]:
    """X as a table if it has categories, else as numbers; and its feature names.

    If the estimator sets `_takes_texts`, lists and arrays with texts become arrays of objects.
    """
    X = readable(X, lambda: True)
    if getattr(estimator, "_takes_texts", False) and has_texts(X):
        return _read_objects(copy.copy(estimator), X, reset=reset), None
    chosen = getattr(estimator, "categorical_features", None)
    if is_table(X) and chosen is not None:
        is_named = not isinstance(chosen, str)
        if is_named or any(series_of(X, j).is_category for j in range(X.shape[1])):
            return X, read_names(estimator, X, reset=reset)
    return read_numbers(estimator, X, reset=reset, takes_infinity=_takes_infinity(estimator))


def read_new(estimator: Any, columns: Columns, X: Any) -> Any:
    """Rows to predict: categories as the level numbers of the fit, NaN for missing values."""
    if not columns.is_category.any():
        options = {"reset": False, "takes_infinity": _takes_infinity(estimator)}
        return read_numbers(estimator, X, **options)[0]
    X = readable(X)
    if is_table(X):
        read_names(estimator, X, reset=False)
    elif isinstance(X, list | tuple):
        X = _read_objects(estimator, X, reset=False)
    else:
        X = validate_data(
            estimator, X, reset=False, dtype=None, ensure_all_finite=False, accept_sparse=True
        )
    return encoded(columns, X, takes_infinity=_takes_infinity(estimator))


def has_texts(X: Any) -> bool:
    """Whether X is a list of rows, or an array, of which some entry is a text."""
    if isinstance(X, np.ndarray):
        return X.dtype.kind == "U" or (
            X.dtype == object and any(isinstance(value, str) for value in X.ravel().tolist())
        )
    if not isinstance(X, list | tuple):
        return False
    rows = (row for row in X if isinstance(row, list | tuple | np.ndarray))
    return any(isinstance(value, str) for row in rows for value in row)


def _read_objects(estimator: Any, X: Any, *, reset: bool) -> Array:
    """Rows of texts and numbers as an array of objects, with as many columns as the fit has."""
    return validate_data(
        estimator, np.array(X, dtype=object), reset=reset, dtype=None, ensure_all_finite=False
    )


def encoded(columns: Columns, X: Any, *, takes_infinity: bool = False) -> Any:
    """X with level numbers in place of categories; an X without categories itself."""
    F = columns.encode_new(X)
    if F is not X and not takes_infinity:
        check_infinite(F, getattr(X, "columns", None))
    return F


def for_prediction(columns: Columns) -> Columns:
    """What prediction needs of the columns: their levels, without rows."""
    return replace(
        columns,
        rows=0,
        codes=columns.codes[:0],
        lowest=columns.lowest[:0],
        highest=columns.highest[:0],
        bundles=replace(columns.bundles, codes=columns.bundles.codes[:, :0]),
    )
