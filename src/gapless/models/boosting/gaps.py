"""Both gaps of a boosted model: what its loss reached, and the fit for what unseen rows score."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...certificates import Certificate
from ...losses import Loss
from ..trees import PackedTrees
from .data import BoostingData
from .held_out import BoostingFit, check_finished
from .run import Run, mean_loss

Array = np.ndarray


class BoostedGaps:
    """What is known of the optimality and the generalisation of a boosted model."""

    loss_: Loss
    trees_: list[Any]
    certificate_: Certificate
    _random_seed: int
    _has_validation: bool
    # Methods of the model.
    _read: Any
    _raw_of: Any
    _held_out_share: Any
    _boost: Any

    def _certificate(self, data: BoostingData, loss: float, run: Run | None = None) -> Certificate:
        """What the training loss reached: no bound is known for the best sum of trees."""
        total = float(data.weights.sum())
        least = float(data.weights @ data.loss.smallest(data.y)) / total
        rounds = len(self.trees_ if run is None else run.trees)
        verdict = (
            f"no bound: trees are grown greedily, and how good the best sum of trees is, is not "
            f"known; {rounds} rounds brought the mean loss of the training rows to {loss:.6g}, and "
            f"no model can go below {least:.3g}."
        )
        if run is not None and run.ending in ("time_limit", "interrupted", "callback"):
            verdict = f"stopped after {rounds} of {run.wanted} rounds. {verdict.capitalize()}"
        return Certificate(
            "none", verdict, loss * total, -np.inf, np.inf, np.inf, 0.0, max(total, 1e-300)
        )

    def _certified(self, X, y, sample_weight=None) -> Certificate:
        """The certificate, with the loss computed again from the data."""
        check_is_fitted(self)
        data = self._read(X, y, sample_weight, reset=False)
        return self._certificate(data, self._objective(data) / float(data.weights.sum()))

    def _fitted_to(self, X, y, sample_weight=None) -> BoostingFit:
        """The fit, rebuilt from its data."""
        check_is_fitted(self)
        return self._fitted(self._read(X, y, sample_weight, reset=False))

    def _fitted(self, data: BoostingData) -> BoostingFit:
        """The fit, or an error if its data has changed."""
        found = self._objective(data)
        expected = self.certificate_.primal
        if np.isfinite(expected) and not abs(found - expected) <= 1e-6 * (1e-3 + abs(expected)):
            raise ValueError(
                f"the model does not match these data: the loss is {found:.9g}, and was "
                f"{expected:.9g} when {type(self).__name__} was fitted; X, y or the weights have "
                "changed since. Fit again."
            )
        return BoostingFit(self, data)

    def _objective(self, data: BoostingData) -> float:
        """The loss of the rows that the trees were grown on."""
        weights = data.weights
        share = None if self._has_validation else self._held_out_share(data)
        if share is not None:
            weights = np.where(data.aside(share, self._random_seed), 0.0, weights)
        z = self._raw_of(data.F, data.X)
        return mean_loss(self.loss_, data.y, z, weights) * float(data.weights.sum())

    def _refitted(self, data: BoostingData, weights: Array) -> Any:
        """The model of the rows that have a weight."""
        fitted = self._boost(data, self._random_seed, weights=weights)
        check_finished(fitted.run.ending)
        twin: Any = copy.copy(self)
        twin.__dict__.update(fitted.learned, _packed=packed(fitted.run.trees, data.scores))
        return twin

    def _standing_in(self, z: Array) -> Any:
        """A copy of the model that gives row i, asked for by X = [[i]], the scores z[i]."""
        twin: Any = copy.copy(self)
        twin._raw_predict = lambda X: z[X[:, 0]]
        return twin


def packed(trees: list[Any], scores: int) -> PackedTrees | None:
    """All trees, as prediction needs them; None where there are no rounds."""
    if not trees:
        return None
    return PackedTrees.of([tree for each in trees for tree in each], groups=scores)
