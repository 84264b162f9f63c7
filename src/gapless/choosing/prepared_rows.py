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

# Keep prepared parts as long as they have at most this many bytes together.
MOST_BYTES = 1 << 29
# The methods that a model is called with.
ASKED = ("predict", "predict_proba", "predict_log_proba", "decision_function")


class Prepared:
    """A preparation fitted to some rows, and its results for these and others.

    Parameters
    ----------
    frame : polars.DataFrame
        All rows.
    steps : sklearn.pipeline.Pipeline
        The preparation, unfitted.
    rows : ndarray of int
        The training rows.
    """

    def __init__(self, frame: pl.DataFrame, steps: Pipeline, rows: Array):
        self._frame = frame
        self.steps = clone(steps)
        self._known = {rows.tobytes(): self.steps.fit_transform(frame[rows])}
        self.bytes = _size(self._known[rows.tobytes()])

    def of(self, rows: Array) -> Any:
        """The features of some rows; earlier results are cached."""
        key = rows.tobytes()
        if key not in self._known:
            made = self.steps.transform(self._frame[rows])
            self._known[key] = made
            self.bytes += _size(made)
        return self._known[key]


class Preparation:
    """Preparations of the same rows, cached by columns, kind and training rows.

    Parameters
    ----------
    frame : polars.DataFrame
        All rows.
    """

    def __init__(self, frame: pl.DataFrame):
        self._frame = frame
        self._kept: dict[tuple[Any, ...], Prepared] = {}

    def has_learned(self, key: tuple[Any, ...], rows: Array) -> bool:
        """Whether a preparation fitted to these rows is cached."""
        return (*key, rows.tobytes()) in self._kept

    def learned(self, key: tuple[Any, ...], steps: Pipeline, rows: Array) -> Prepared:
        """The preparation fitted to these rows; `key` names its kind."""
        whole = (*key, rows.tobytes())
        # The one used last goes to the end, so that the oldest is dropped first.
        found = self._kept.pop(whole, None) or Prepared(self._frame, steps, rows)
        self._kept[whole] = found
        while len(self._kept) > 1 and sum(one.bytes for one in self._kept.values()) > MOST_BYTES:
            self._kept.pop(next(iter(self._kept)))
        return found


class ByRow:
    """A pipeline fitted to rows, and queried about rows, by number: X = [[i]].

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline
        Preparation and model, unfitted.
    preparation : Preparation
        Prepares the rows, unless that has been done.
    key : tuple
        Names the kind of preparation.
    seconds : float or None, default=None
        The time limit of a fit.
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
        # The preparation copies the steps before the model, and only if it has to be fitted.
        steps, (name, model) = self._pipeline.steps[:-1], self._pipeline.steps[-1]
        copy = Pipeline([*steps, (name, clone(model))])
        return ByRow(copy, self._preparation, self._key, self._seconds)

    def __sklearn_tags__(self) -> Any:
        return self._pipeline.__sklearn_tags__()

    def is_prepared(self, rows: Array) -> bool:
        """Whether a preparation has been fitted to these rows."""
        return self._preparation.has_learned(self._key, rows)

    def prepare(self, rows: Array) -> Prepared:
        """The preparation fitted to these rows."""
        return self._preparation.learned(self._key, self._pipeline[:-1], rows)

    def fit(self, X: Array, y: Array) -> ByRow:
        """Fit the model to rows."""
        self._prepared = self.prepare(X[:, 0])
        with time_limit(self._seconds):
            self._model = clone(self._pipeline[-1]).fit(self._prepared.of(X[:, 0]), y)
            # Models stopped by the limit return what they have, which is not the real model.
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
    """About how many bytes an array, a sparse matrix or a frame takes."""
    if isinstance(made, pl.DataFrame):
        return int(made.estimated_size())
    return int(made.nbytes if isinstance(made, np.ndarray) else made.data.nbytes * 2)
