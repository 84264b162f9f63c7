"""Stochastic fits without some rows, to predict those: the same epochs on the others."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._ground.design import Design
from ..._ground.validation import Training
from ...problem import Parameters, Problem
from ...unseen import Dial, OnlyRefittable, changing
from .passes import as_parameters

Array = np.ndarray


class StochasticFit(OnlyRefittable):
    """A model learned by steps, and how to learn it again from some of the rows.

    Parameters
    ----------
    estimator : StochasticModel
        The fitted model.
    data : Training
        The data of the fit.
    seed : int
        The seed of its order of the rows, which refits use too.
    """

    reason = "the steps must be taken again"
    is_limited = True
    refits_alike = True
    columns = None

    def __init__(self, estimator: Any, data: Training, seed: int):
        self.estimator, self.data, self.seed = estimator, data, seed
        self.has_classes = data.classes is not None
        self.has_probabilities = hasattr(estimator, "predict_proba")
        self._targets = data.y
        y = data.classes[data.y] if data.classes is not None else data.y
        super().__init__(Design(data.X), y, data.sample_weight)

    @property
    def targets(self) -> Array:
        """Positions of the classes, or numbers."""
        return self._targets

    @cached_property
    def problems(self) -> list[Problem]:
        """The objective: one problem, or one for each class."""
        return self.estimator._problems(self.data)

    @cached_property
    def parameters(self) -> list[Parameters]:
        """What was learned, as the parameters of the problems."""
        w, b = self.estimator._stored_parameters()
        return as_parameters(self.problems, w, b, None)

    @property
    def outputs(self) -> int:
        """The number of scores per row."""
        return len(np.atleast_1d(self.estimator.intercept_))

    @property
    def fit_weights(self) -> Array:
        """How much each row counts in the fit."""
        return self.data.weights

    @cached_property
    def is_counted(self) -> Array:
        """Which rows have any weight, in the fit and in the score."""
        return (self.weights > 0) & (self.fit_weights > 0)

    @cached_property
    def labels(self) -> Array:
        """Numbers of the rows (x, y), the same for equal ones, by content."""
        return self.design.equal_rows(self.targets)

    @property
    def model(self):
        """The model of the fit."""
        return _predictor(*self.estimator._stored_parameters())

    def fit_to(self, rows):
        """A model of some rows alone."""
        is_in = np.zeros(len(self.y), dtype=bool)
        is_in[rows] = True
        # Rows of weight 0 are not there, and X need not be copied.
        part = replace(self.data, weights=np.where(is_in, self.data.weights, 0.0))
        return _predictor(*self.estimator._refitted(part, self.seed))

    def sample(self, rows):
        """The fit to some rows, as if they were all."""
        data = self.data
        part = Training(
            Design(data.X).rows(rows).X,
            data.y[rows],
            data.sample_weight[rows],
            data.weights[rows],
            data.classes,
            data.feature_names,
        )
        return _Sampled(self.estimator, part, self.seed)

    def simpler(self):
        """A stronger penalty, if there is one."""
        return self._by_strength(10.0)

    def richer(self):
        """A weaker one."""
        return self._by_strength(0.1)

    def _by_strength(self, factor: float) -> list[Dial]:
        alpha = self.estimator._strength
        if not alpha:
            return []
        changes = lambda step: {"alpha": alpha * factor**step}  # noqa: E731
        return [changing(changes, self._with)]

    def _with(self, changes: dict[str, Any]) -> StochasticFit:
        return _Sampled(self.estimator._at(**changes), self.data, self.seed)


class _Sampled(StochasticFit):
    """The same estimator on other rows or with other parameters, not fitted yet."""

    @cached_property
    def model(self):
        """The model of these rows."""
        return _predictor(*self.estimator._refitted(self.data, self.seed))


def _predictor(w: Array, b: Array):
    """The scores (n, K) of rows."""
    w = np.ascontiguousarray(w.T)
    return lambda design: design.times(w) + b
