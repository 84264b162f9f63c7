"""Which column of a table each feature of a pipeline comes from, and rows mixed of others."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

Array = np.ndarray

# Transformers whose every feature is made of the column in its place. Others that say so of their
# names, such as Normalizer, read whole rows.
IN_PLACE = (
    StandardScaler,
    MinMaxScaler,
    MaxAbsScaler,
    RobustScaler,
    QuantileTransformer,
    PowerTransformer,
    OrdinalEncoder,
)


def sources(step: Any, width: int) -> Array | None:
    """For each feature that a fitted transformer makes, the column that it is made of.

    None if some feature is made of several columns, or if nothing is known of the transformer,
    which may say it itself by a method `_sources`.
    """
    own = getattr(step, "_sources", None)
    if own is not None:
        return np.asarray(own())
    if step is None or step == "passthrough" or isinstance(step, IN_PLACE):
        return np.arange(width)
    if isinstance(step, FunctionTransformer):
        return np.arange(width) if step.func is None else None
    if hasattr(step, "get_support"):
        return np.flatnonzero(step.get_support())
    if isinstance(step, SimpleImputer):
        return _of_imputer(step, width)
    if isinstance(step, OneHotEncoder):
        return np.repeat(np.arange(width), step._n_features_outs)
    if isinstance(step, Pipeline):
        return sources_of_steps([each for _, each in step.steps], width)
    return _of_parts(step) if isinstance(step, ColumnTransformer) else None


def sources_of_steps(steps: list[Any], width: int) -> Array | None:
    """The same for one transformer after another."""
    found = np.arange(width)
    for step in steps:
        made = sources(step, len(found))
        if made is None:
            return None
        found = found[made]
    return found


def _of_imputer(step: SimpleImputer, width: int) -> Array:
    is_empty = np.array([value != value for value in step.statistics_], dtype=bool)
    kept = np.arange(width) if step.keep_empty_features else np.flatnonzero(~is_empty)
    marked = [] if step.indicator_ is None else step.indicator_.features_
    return np.append(kept, marked).astype(int)


def _of_parts(step: ColumnTransformer) -> Array | None:
    """Parts side by side, each with the places of its columns and of its features."""
    made = max(part.stop for part in step.output_indices_.values())
    found = np.full(made, -1)
    for name, transformer, _ in step.transformers_:
        columns = np.asarray(step._transformer_to_input_indices[name], dtype=int)
        place = step.output_indices_[name]
        if transformer == "drop" or not len(columns):
            continue
        if len(columns) == 1:
            found[place] = columns[0]
            continue
        of_part = sources(transformer, len(columns))
        if of_part is None or len(of_part) != place.stop - place.start:
            return None
        found[place] = columns[of_part]
    return found


# ---- rows mixed of others ------------------------------------------------------------------------


def joined(X: Any, other: Any) -> Any:
    """The rows of both, of the type of X."""
    if sp.issparse(X):
        return sp.vstack([X, other]).tocsr()
    if hasattr(X, "vstack"):  # polars
        return X.vstack(other.cast(dict(X.schema)))
    if hasattr(X, "iloc"):  # pandas
        columns = {j: _both(X.iloc[:, j], other.iloc[:, j]) for j in range(X.shape[1])}
        return type(X)(columns).set_axis(X.columns, axis=1)
    return np.concatenate([X, other])


def _both(series: Any, other: Any) -> Any:
    """The values of two columns of pandas, of the type of the first."""
    own = series.array
    return type(own)._concat_same_type([own, other.astype(series.dtype).array])


def mixed(X: Any, rows: Array) -> Any:
    """Rows whose value in column j is that of row rows[:, j] of X."""
    if sp.issparse(X):
        # Only a few columns play, or there would be no end; so their cells fit.
        return sp.csr_matrix(X.toarray()[rows, np.arange(rows.shape[1])])
    if hasattr(X, "with_columns"):  # polars
        return X.select(X.to_series(j).gather(rows[:, j]) for j in range(X.width))
    if hasattr(X, "iloc"):  # pandas
        columns = {j: X.iloc[:, j].take(rows[:, j]).array for j in range(X.shape[1])}
        return type(X)(columns).set_axis(X.columns, axis=1)
    return X[rows, np.arange(rows.shape[1])]
