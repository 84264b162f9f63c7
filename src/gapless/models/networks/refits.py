"""Networks trained without some rows, to predict those."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._ground.design import Design
from ..._ground.validation import Training
from ...unseen import ChangeDial, Dial, OnlyRefittable, changing

Array = np.ndarray

# Up to so many rows or groups are left out one at a time, and more in folds: nothing is known of
# a fit without a row, so each takes as long as the fit.
FEW_UNITS = 10
# Fits with more rows than this are judged by one part kept aside, which takes one more fit.
FEW_ROWS = 300
# A richer network has so many times the units of each hidden layer, but no more than these: wider
# layers are hardly ever too narrow, and take long to train.
GROWTH, MOST_UNITS = 5, 200


class NetworkFit(OnlyRefittable):
    """A trained network, and how to train it again on some of the rows.

    Parameters
    ----------
    estimator : NetworkModel or Course
        The fitted model, or the training that has led to it.
    data : Training
        The data of the fit.
    seed : int
        The seed of its random numbers, which refits use too.
    """

    reason = "the network must be trained again"
    refits_alike = True
    few_units = FEW_UNITS

    def __init__(self, estimator: Any, data: Training, seed: int):
        self.estimator, self.data, self.seed = estimator, data, seed
        self.has_classes = data.classes is not None
        self.has_probabilities = data.classes is not None
        self._targets = data.y
        is_flat = data.classes is not None and data.y.ndim == 1
        y = data.classes[data.y] if is_flat and data.classes is not None else data.y
        super().__init__(Design(_table(data.X)), y, data.sample_weight)

    @property
    def targets(self) -> Array:
        """Positions of the classes, of all labels together; or numbers."""
        if self.has_classes and self._targets.ndim == 2:
            return np.unique(self._targets, axis=0, return_inverse=True)[1].ravel()
        return self._targets

    @property
    def outputs(self) -> int:
        """The number of scores per row."""
        return int(self.estimator.n_outputs_)

    @property
    def is_large(self) -> bool:
        """Whether one part alone is kept aside."""
        return len(self.y) > FEW_ROWS

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
        return lambda design: self.estimator._outputs(design.X).astype(np.float64)

    def fit_to(self, rows):
        """A model of some rows alone."""
        is_in = np.zeros(len(self.y), dtype=bool)
        is_in[rows] = True
        # Rows of weight 0 are not there, and X need not be copied.
        part = replace(self.data, weights=np.where(is_in, self.data.weights, 0.0))
        return self.estimator._refitted(part, self.seed)

    def sample(self, rows):
        """The fit to some rows, as if they were all."""
        data = self.data
        part = replace(
            data,
            X=data.X[rows],
            y=data.y[rows],
            sample_weight=data.sample_weight[rows],
            weights=data.weights[rows],
        )
        return _Sampled(self.estimator, part, self.seed)

    def simpler(self):
        """A stronger penalty."""
        return self._by_strength(1000.0)

    def richer(self):
        """A weaker one, and what the estimator knows: more epochs, wider layers."""
        dials = self._by_strength(0.001)
        return dials + [changing(changes, self._with) for changes in self.estimator._richer()]

    def _by_strength(self, factor: float) -> list[Dial]:
        # A penalty below 1/1000 of the weight of a row is next to none.
        alpha = max(float(self.estimator.alpha), 1e-3 if factor > 1 else 0.0)
        if not alpha:
            return []

        def changes(step: int) -> dict[str, Any] | None:
            return {"alpha": alpha * factor**step} if step <= 2 else None

        return [changing(changes, self._with)]

    def _with(self, changes: dict[str, Any]) -> NetworkFit:
        return _Sampled(self.estimator._at(**changes), self.data, self.seed)


class _Sampled(NetworkFit):
    """The same estimator on other rows or with other parameters, not fitted yet."""

    @cached_property
    def model(self):
        """The model of these rows."""
        return self.estimator._refitted(self.data, self.seed)


def wider(sizes: list[int]) -> ChangeDial:
    """Several times the units of each hidden layer, and again, within reason."""

    def changes(step: int) -> dict[str, Any] | None:
        more = [size * GROWTH**step for size in sizes]
        if max(more) > MOST_UNITS:
            return None
        return {"hidden_layer_sizes": more[0] if len(more) == 1 else more}

    return changes


def _table(X: Any) -> Any:
    return X if X.ndim == 2 else X.reshape(X.shape[0], -1)
