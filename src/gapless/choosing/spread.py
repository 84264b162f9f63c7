"""Spread: how large the errors of a model are where, so that prediction intervals fit the row.

Held-out errors are learned from the prediction and the columns of their rows. Errors are then
measured by what was to be expected of them, which new rows can be told apart by.
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

# With fewer errors their size is taken to be the same everywhere; of more, a sample is learned.
FEWEST, MOST = 200, 5_000
# Of tables with more columns, the spread is learned from the prediction alone.
MOST_COLUMNS = 100
FOLDS = 5
# How much of the mean error is expected of any row: no interval is a point.
LEAST = 0.1
# By how many standard errors it must be worth it to tell rows apart.
WORTH_IT = 2.0


def learn_spread(
    columns: Sequence[Column],
    frame: pl.DataFrame,
    predicted: Array,
    errors: Array,
    units: Array | None = None,
) -> tuple[Pipeline | None, Array]:
    """Learn how large errors are, from rows that were held out.

    Parameters
    ----------
    columns : sequence of Column
        The columns that the model is given.
    frame : polars.DataFrame
        The rows.
    predicted, errors : ndarray of shape (n,)
        What was predicted for them, and how far from the target that was, at least 0.
    units : ndarray of int, shape (n,), default=None
        Labels of rows that belong together: a spread that knows a group is of no use for new ones.
        None if each row is on its own.

    Returns
    -------
    spread : Pipeline or None
        For `spread_at`; None if the errors do not tell where they are large, or are too few.
    errors : ndarray
        Divided by the spread at their rows, which was learned from others; as they were without.

    Notes
    -----
    Locally weighted conformal inference (Lei, G'Sell, Rinaldo, Tibshirani and Wasserman 2018, JASA
    113, section 5.2), with errors that are held out from the spread by folds. Whether it is worth
    it is judged by the likelihood of errors that are distributed exponentially around it.
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
        What is predicted for them.

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
    # A fit that a time limit ends has fewer trees, which is not what was asked for.
    check()
    return model


def _predict(model: Pipeline, frame: pl.DataFrame) -> Array:
    with _quietly():
        return np.maximum(model.predict(frame), LEAST)


@contextmanager
def _quietly() -> Iterator[None]:
    """The model itself warns of new levels and the like; a spread need not do so again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _free_name(columns: Sequence[Column]) -> str:
    """What the prediction is called beside the columns."""
    name = "prediction"
    while any(column.name == name for column in columns):
        name += "_"
    return name


def _with_prediction(frame: pl.DataFrame, predicted: Array, name: str) -> pl.DataFrame:
    values = pl.Series(name, np.asarray(predicted, dtype=float))
    return frame.select(pl.exclude(name)).with_columns(values)


def _unfitted(columns: Sequence[Column], name: str) -> Pipeline:
    """Few small trees: what is known of errors is coarse, and it has to be quick."""
    plain = [column for column in columns if column.is_feature and column.role != "text"]
    own = Column(name, "number", "what is predicted", "Float64", 0, 0, 0)
    used = [*plain, own] if len(plain) <= MOST_COLUMNS else [own]
    # The Poisson loss has the mean as its best prediction and keeps it above 0.
    trees = HistGradientBoostingRegressor(
        "poisson", max_iter=50, max_leaf_nodes=8, early_stopping=False, random_state=0
    )
    return prepare(used, "table", trees)
