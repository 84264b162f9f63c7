"""Spread: where the errors of a model are large, so that prediction intervals fit the row.

The size of held-out errors is learned from the prediction and the columns of their rows. Errors are
then measured relative to their expected size, which differs between new rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import polars as pl
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from .._ground.interrupt import check
from ..data import Column, prepare
from ..models.boosting import HistGradientBoostingRegressor
from ..unseen import mean_and_error

Array = np.ndarray

# With fewer errors their size counts as constant; of more, a sample is used.
FEWEST, MOST = 200, 5_000
# For tables with more columns, the spread is learned from the prediction alone.
MOST_COLUMNS = 100
FOLDS = 5
# The part of the mean error expected of any row: no interval is a point.
LEAST = 0.1
# The gain, in standard errors, that makes it worth distinguishing rows.
WORTH_IT = 2.0


def learn_spread(
    columns: Sequence[Column],
    frame: pl.DataFrame,
    predicted: Array,
    errors: Array,
    units: Array | None = None,
) -> tuple[Pipeline | None, Array]:
    """Learn how large errors are, from held-out rows.

    Parameters
    ----------
    columns : sequence of Column
        The columns of the model.
    frame : polars.DataFrame
        The rows.
    predicted, errors : ndarray of shape (n,)
        Their predictions, and the absolute errors of these.
    units : ndarray of int, shape (n,), default=None
        Labels of rows that belong together: a spread that knows a group is useless for new ones.
        None if each row is on its own.

    Returns
    -------
    spread : Pipeline or None
        For `spread_at`; None if the errors do not show where they are large, or are too few.
    errors : ndarray
        Divided by the spread at their rows, learned from other rows; unchanged without a spread.

    Notes
    -----
    Locally weighted conformal inference (Lei, G'Sell, Rinaldo, Tibshirani and Wasserman 2018, JASA
    113, section 5.2), with errors held out from the spread by folds. Whether it is worthwhile is
    judged by the likelihood of exponentially distributed errors.
    """
    rows = np.random.default_rng(0).permutation(len(errors))[:MOST]
    places = np.arange(len(rows))
    if units is not None:
        places = np.unique(units[rows], return_inverse=True)[1]
    if len(errors) < FEWEST or not errors.any() or places.max() < FOLDS - 1:
        return None, errors
    known = _with_prediction(frame[rows], predicted[rows], _free_name(columns))
    sizes = errors[rows] / errors[rows].mean()
    model, spread = _unfitted(columns, known.columns[-1]), np.empty(len(rows))
    for k in range(FOLDS):
        others = places % FOLDS != k
        fitted = _fit(clone(model), known.filter(others), sizes[others])
        spread[~others] = _predict(fitted, known.filter(~others))
    # Per row; a spread of 1 everywhere has the surprise |r|.
    gains = sizes - np.log(spread) - sizes / spread
    gain, error = mean_and_error(gains, np.ones(len(gains)), places)
    if gain <= WORTH_IT * error:
        return None, errors
    return _fit(model, known, sizes), errors[rows] / spread


def spread_at(spread: Pipeline | None, frame: pl.DataFrame, predicted: Array) -> Array:
    """How large errors are in rows, relative to the mean; 1 without a spread.

    Parameters
    ----------
    spread : Pipeline or None
        From `learn_spread`.
    frame : polars.DataFrame
        The rows.
    predicted : ndarray of shape (n,)
        Their predictions.

    Returns
    -------
    ndarray of shape (n,)
    """
    if spread is None or not len(predicted):
        return np.ones(len(predicted))
    name = spread[0].columns[-1].name
    return _predict(spread, _with_prediction(frame, predicted, name))


def _fit(model: Pipeline, frame: pl.DataFrame, sizes: Array) -> Pipeline:
    with _quietly():
        model.fit(frame, sizes)
    # A fit ended by a time limit has fewer trees, which is not what was requested.
    check()
    return model


def _predict(model: Pipeline, frame: pl.DataFrame) -> Array:
    with _quietly():
        return np.maximum(model.predict(frame), LEAST)


@contextmanager
def _quietly() -> Iterator[None]:
    """The model itself warns about new levels and the like; a spread need not repeat it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _free_name(columns: Sequence[Column]) -> str:
    """The name of the prediction among the columns."""
    name = "prediction"
    while any(column.name == name for column in columns):
        name += "_"
    return name


def _with_prediction(frame: pl.DataFrame, predicted: Array, name: str) -> pl.DataFrame:
    values = pl.Series(name, np.asarray(predicted, dtype=float))
    return frame.select(pl.exclude(name)).with_columns(values)


def _unfitted(columns: Sequence[Column], name: str) -> Pipeline:
    """Few small trees: knowledge about errors is coarse, and it has to be quick."""
    plain = [column for column in columns if column.is_feature and column.role != "text"]
    own = Column(name, "number", "what is predicted", "Float64", 0, 0, 0)
    used = [*plain, own] if len(plain) <= MOST_COLUMNS else [own]
    # The Poisson loss has the mean as its best prediction and keeps it above 0.
    trees = HistGradientBoostingRegressor(
        "poisson", max_iter=50, max_leaf_nodes=8, early_stopping=False, random_state=0
    )
    return prepare(used, "table", trees)
