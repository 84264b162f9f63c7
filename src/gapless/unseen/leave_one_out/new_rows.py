"""Predictions for new rows by each of the leave-one-out models.

Without xᵢ, least squares with ½Σ l2ⱼwⱼ² moves by H⁻¹x̃ᵢ·cᵢ, where cᵢ = sᵢ(z₍₋ᵢ₎ − yᵢ) is the pull
of its rows on the model without them, sᵢ their summed weight and yᵢ their mean target. So its
prediction of a new x is z(x) + x̃ᵀH⁻¹x̃ᵢ·cᵢ: all n models in one product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._ground.design import Design
from ..._ground.threads import single_blas
from ...problem import Parameters, Problem
from ._base import LARGEST_SYSTEM, Array, NotAvailable, squares_of
from .distinct import MergedRows
from .features import InFeatures
from .row_space import row_space

# The rounding error allowed in the predictions.
LOSS_OF_DIGITS = 1e-7


@dataclass(frozen=True, eq=False)
class WithoutEach:
    """Least-squares models without the x of each of some rows.

    Parameters
    ----------
    full : Parameters
        The model with all rows.
    basis : ndarray of shape (d, m) or None
        The m coordinates in which H is known; the features themselves if None.
    center : ndarray of shape (m,) or None
        The mean of the rows in these coordinates, if there is a bias.
    W : ndarray of shape (m, p)
        H⁻¹ = WWᵀ.
    of_bias : float
        The bias's contribution to x̃ᵀH⁻¹x̃ᵢ.
    rows : ndarray of shape (r, p)
        Wᵀx̃ᵢ of the rows left out.
    pull : ndarray of shape (r, K)
        Their cᵢ.
    """

    full: Parameters
    basis: Array | None
    center: Array | None
    W: Array
    of_bias: float
    rows: Array
    pull: Array

    @classmethod
    def of(cls, problem: Problem, parameters: Parameters, rows: Array, held: Array) -> WithoutEach:
        """From held-out predictions (r, K) of some rows.

        NotAvailable unless the problem is least squares with ½Σ l2ⱼwⱼ² that keeps its digits.
        """
        l2, n = squares_of(problem), problem.n
        design, basis = problem.design, None
        if l2 is None or problem.loss.name != "squared":
            raise NotAvailable("the models without a row have no closed form")
        if problem.d > n:
            if np.any(l2 == 0) or n > LARGEST_SYSTEM:
                raise NotAvailable("there are too many unpenalised features, or too many rows")
            design, basis = row_space(design, l2)
            l2 = np.ones(n)
        z = problem.predictions(parameters.w, parameters.b).reshape(n, -1)
        y = problem.y.reshape(n, -1)
        slope = problem.weights[:, None] * (z - y)
        system = InFeatures(design, l2, problem.weights, slope, z, problem.fit_bias)
        # Leverages near 1 do no harm: what they would amplify is in the held-out predictions.
        if system.lost(np.zeros(1)) > LOSS_OF_DIGITS:
            raise NotAvailable("the problem is too ill-conditioned")
        left = system.design.rows(rows).times(system.W)
        units = MergedRows.units(problem)
        weights = units.spread(units.weights, problem.weights)[rows]
        mean = units.spread(units.means(y, problem.weights), y)[rows]
        pull = weights[:, None] * (held - mean)
        center = system.design.center
        return cls(parameters, basis, center, system.W, system.of_bias, left, pull)

    def predict(self, design: Design) -> Array:
        """Predictions of new rows by each of the models, (n, r, K)."""
        z = (design.times(self.full.w) + self.full.b).reshape(design.n, 1, -1)
        if self.basis is not None:
            design = Design(design.times(self.basis))
        if self.center is not None:
            design = design.shifted(self.center)
        with single_blas():
            moved = design.times(self.W) @ self.rows.T + self.of_bias
        return z + moved[:, :, None] * self.pull
