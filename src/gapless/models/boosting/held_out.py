"""What boosting says of rows that it has not seen: by boosting again without those rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..._ground.design import Design
from ..._ground.interrupt import TimeLimit
from ...unseen import (
    LARGE_ROWS,
    ChangeDial,
    Dial,
    NotAvailable,
    Refittable,
    Version,
    asymmetric,
    equal_rows,
    fewer_rounds,
    more_rounds,
    named,
    units_of,
)
from ..trees import fewer_limits, larger_leaves

Array = np.ndarray


class BoostingFit(Refittable):
    """A boosted model, and how to boost again on some of the rows.

    Parameters
    ----------
    estimator : GradientBoosting
        The fitted model.
    data : BoostingData
        The data of the fit. Each refit makes the bins of its own rows.
    """

    def __init__(self, estimator: Any, data: Any):
        self.estimator, self.data = estimator, data
        self.has_classes = data.outputs.classes is not None
        super().__init__(Design(data.F), data.given(), data.repeats)

    @property
    def targets(self) -> Array:
        """Positions of the classes, or numbers as they are."""
        y = self.data.outputs.y[:, 0]
        return y.astype(int) if self.has_classes else y

    @property
    def outputs(self) -> int:
        """How many scores a row has."""
        return self.data.scores

    @property
    def fit_weights(self) -> Array:
        """How much each row counts in the fit."""
        return self.data.weights

    @property
    def is_large(self) -> bool:
        """Whether another fit takes a good part of a second."""
        return len(self.y) > LARGE_ROWS

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

    def held_out(self, groups):
        """Not known: one row can change every split."""
        raise NotAvailable("trees must be regrown")

    def without_each(self, rows):
        """Not known either."""
        raise NotAvailable("trees must be regrown")

    def simpler(self):
        """Fewer rounds, or larger leaves."""
        parameters, rows = self.estimator.get_params(deep=False), float(self.weights.sum())
        rounds = fewer_rounds(self.estimator._rounds_parameter, len(self.estimator.trees_))
        return [self._dial(rounds), self._dial(larger_leaves(parameters, rows))]

    def richer(self):
        """More rounds, or fewer limits of growing."""
        parameters, rows = self.estimator.get_params(deep=False), float(self.weights.sum())
        rounds = more_rounds(self.estimator._rounds_parameter, len(self.estimator.trees_))
        return [self._dial(rounds), self._dial(fewer_limits(parameters, rows))]

    def _dial(self, changes: ChangeDial) -> Dial:
        """Boosting with other parameters."""

        def turned(step: int) -> Version | None:
            found = changes(step)
            if found is None:
                return None
            return Version(BoostingFit(self.estimator._at(**found), self.data), named(found))

        return turned

    @property
    def asymmetric_loss(self):
        """That of a quantile."""
        return None if self.has_classes else asymmetric(self.data.loss)


def check_finished(ending: str) -> None:
    """Raise what ended a refit before its time."""
    if ending == "interrupted":
        raise KeyboardInterrupt
    if ending == "time_limit":
        raise TimeLimit
