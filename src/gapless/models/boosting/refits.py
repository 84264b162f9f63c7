"""Boosting without some rows, to predict those."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..._ground.design import Design
from ..._ground.interrupt import TimeLimit
from ...unseen import (
    ChangeDial,
    Dial,
    OnlyRefittable,
    asymmetric,
    changing,
    equal_rows,
    fewer_rounds,
    more_rounds,
    units_of,
)
from ..trees import fewer_limits, larger_leaves

Array = np.ndarray


class BoostingFit(OnlyRefittable):
    """A boosted model, and how to boost again on some of the rows.

    Parameters
    ----------
    estimator : GradientBoosting
        The fitted model.
    data : BoostingData
        The data of the fit. Each refit makes the bins of its rows.
    """

    reason = "trees must be regrown"

    def __init__(self, estimator: Any, data: Any):
        self.estimator, self.data = estimator, data
        self.has_classes = data.outputs.classes is not None
        super().__init__(Design(data.F), data.outputs.as_given, data.repeats)

    @property
    def targets(self) -> Array:
        """Positions of the classes, or numbers."""
        y = self.data.outputs.y[:, 0]
        return y.astype(int) if self.has_classes else y

    @property
    def outputs(self) -> int:
        """The number of scores per row."""
        return self.data.scores

    @property
    def fit_weights(self) -> Array:
        """How much each row counts in the fit."""
        return self.data.weights

    @cached_property
    def labels(self) -> Array:
        """Numbers of the rows (x, y), the same for equal ones, by content."""
        return equal_rows(self.data.F, self.data.outputs.y)

    @cached_property
    def units(self) -> Array:
        """What is left out at a time: all rows of the same x, as for single trees."""
        return units_of(equal_rows(self.data.F), self.labels, self.is_counted)

    @property
    def model(self):
        """The model of the fit."""
        return self._predictor(self.estimator)

    def fit_to(self, rows):
        """A model of some rows alone."""
        is_in = np.zeros(len(self.y), dtype=bool)
        is_in[rows] = True
        weights = np.where(is_in, self.data.weights, 0.0)
        model = self.estimator._refitted(self.data, weights)
        return self._predictor(model)

    def _predictor(self, model: Any):
        return lambda design: model._raw_of(design.X, design.X)

    def simpler(self):
        """Fewer rounds, or larger leaves."""
        parameters, rows = self.estimator.get_params(deep=False), float(self.weights.sum())
        rounds = fewer_rounds(self.estimator._rounds_parameter, len(self.estimator.trees_))
        return [self._dial(rounds), self._dial(larger_leaves(parameters, rows))]

    def richer(self):
        """More rounds, or weaker growth limits."""
        parameters, rows = self.estimator.get_params(deep=False), float(self.weights.sum())
        rounds = more_rounds(self.estimator._rounds_parameter, len(self.estimator.trees_))
        return [self._dial(rounds), self._dial(fewer_limits(parameters, rows))]

    def _dial(self, changes: ChangeDial) -> Dial:
        """Boosting with other parameters."""
        return changing(changes, lambda new: BoostingFit(self.estimator._at(**new), self.data))

    @property
    def asymmetric_loss(self):
        """That of a quantile."""
        return None if self.has_classes else asymmetric(self.data.loss)


def check_finished(ending: str) -> None:
    """Raise what ended a refit early."""
    if ending == "interrupted":
        raise KeyboardInterrupt
    if ending == "time_limit":
        raise TimeLimit
