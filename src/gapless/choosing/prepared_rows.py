"""Preparing: each part of the rows once for each kind of model, for all families of that kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from .._ground.interrupt import check, time_limit

Array = np.ndarray

# Prepared parts are kept as long as they have at most so many bytes together.
MOST_BYTES = 1 << 29
# What a model is asked for.
ASKED = ("predict", "predict_proba", "predict_log_proba", "decision_function")


class Prepared:
    """A preparation that is fitted to some rows, and what it makes of these and of others.

    Parameters
    ----------
    frame : polars.DataFrame
        All rows.
    steps : sklearn.pipeline.Pipeline
        The preparation, unfitted.
    rows : ndarray of int
        The rows to learn from.
    """

    def __init__(self, frame: pl.DataFrame, steps: Pipeline, rows: Array):
        self._frame = frame
        self.steps = clone(steps)
        self._known = {rows.tobytes(): self.steps.fit_transform(frame[rows])}
        self.bytes = _size(self._known[rows.tobytes()])

    def of(self, rows: Array) -> Any:
        """The features of some rows; those that were asked for before are remembered."""
        key = rows.tobytes()
        if key not in self._known:
            made = self.steps.transform(self._frame[rows])
            self._known[key] = made
            self.bytes += _size(made)
        return self._known[key]


class Preparation:
    """Preparations of the same rows, remembered by the columns, the kind and the rows they learned.

    Parameters
    ----------
    frame : polars.DataFrame
        All rows.
    """

    def __init__(self, frame: pl.DataFrame):
        self._frame = frame
        self._kept: dict[tuple[Any, ...], Prepared] = {}

    def has_learned(self, key: tuple[Any, ...], rows: Array) -> bool:
        """Whether a preparation that has learned from these rows is remembered."""
        return (*key, rows.tobytes()) in self._kept

    def learned(self, key: tuple[Any, ...], steps: Pipeline, rows: Array) -> Prepared:
        """The preparation that has learned from these rows; `key` names its kind."""
        whole = (*key, rows.tobytes())
        # The one that was used last stands last, so that the oldest goes first.
        found = self._kept.pop(whole, None) or Prepared(self._frame, steps, rows)
        self._kept[whole] = found
        while len(self._kept) > 1 and sum(one.bytes for one in self._kept.values()) > MOST_BYTES:
            self._kept.pop(next(iter(self._kept)))
        return found


class ByRow:
    """A pipeline that is fitted to rows, and asked about rows, by their numbers: X = [[i]].

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline
        Preparation and model, unfitted.
    preparation : Preparation
        Prepares the rows, or has done so.
    key : tuple
        Names the kind of preparation.
    seconds : float or None, default=None
        How long a fit may take.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        preparation: Preparation,
        key: tuple[Any, ...],
        seconds: float | None = None,
    ):
        self._pipeline, self._preparation, self._key = pipeline, preparation, key
        self._seconds = seconds

    def __sklearn_clone__(self) -> ByRow:
        # The steps before the model are copied by the preparation, and only if it has to learn.
        steps, (name, model) = self._pipeline.steps[:-1], self._pipeline.steps[-1]
        copy = Pipeline([*steps, (name, clone(model))])
        return ByRow(copy, self._preparation, self._key, self._seconds)

    def __sklearn_tags__(self) -> Any:
        return self._pipeline.__sklearn_tags__()

    def is_prepared(self, rows: Array) -> bool:
        """Whether a preparation has learned from these rows before."""
        return self._preparation.has_learned(self._key, rows)

    def prepare(self, rows: Array) -> Prepared:
        """The preparation that has learned from these rows."""
        return self._preparation.learned(self._key, self._pipeline[:-1], rows)

    def fit(self, X: Array, y: Array) -> ByRow:
        """Fit the model to rows."""
        self._prepared = self.prepare(X[:, 0])
        with time_limit(self._seconds):
            self._model = clone(self._pipeline[-1]).fit(self._prepared.of(X[:, 0]), y)
            # Models that are stopped by the limit return what they have; that is not what they are.
            check()
        return self

    @property
    def pipeline(self) -> Pipeline:
        """The fitted pipeline, which takes frames."""
        name = self._pipeline.steps[-1][0]
        return Pipeline([*self._prepared.steps.steps, (name, self._model)])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._model, name)
        return self._of_rows(value) if name in ASKED else value

    def _of_rows(self, method: Callable[[Any], Array]) -> Callable[[Array], Array]:
        @wraps(method)
        def answer(X: Array) -> Array:
            return method(self._prepared.of(X[:, 0]))

        return answer


def _size(made: Any) -> int:
    """About how many bytes there are, of an array, a sparse one, or a frame."""
    if isinstance(made, pl.DataFrame):
        return int(made.estimated_size())
    return int(made.nbytes if isinstance(made, np.ndarray) else made.data.nbytes * 2)
