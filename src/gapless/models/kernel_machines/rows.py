"""Training rows as kernel machines see them: equal rows as one, with the sum of their weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._ground.design import Design
from ..._ground.validation import Training
from ...unseen import Distinct, left_together
from .least_squares import Array, KernelSquares

# Entries on both sides of the diagonal may differ by this part of the largest, which is rounding in
# float32; and so many rows are compared at a time.
ASYMMETRY, TOGETHER = 1e-5, 256


@dataclass(frozen=True, eq=False)
class Merged:
    """Distinct rows (x, y), in the order of their content, so that row order never matters.

    Parameters
    ----------
    data : Training
        All rows.
    kept : ndarray of int
        Those of positive weight.
    first : ndarray of int, shape (n,)
        Of each distinct row, the first that there is.
    inverse : ndarray of int, shape (len(kept),)
        Which distinct row each kept one is.
    weights : ndarray of shape (n,)
        Sums of the weights of equal rows.
    """

    data: Training
    kept: Array
    first: Array
    inverse: Array
    weights: Array

    @classmethod
    def of(cls, data: Training) -> Merged:
        """The distinct rows of the data."""
        kept = np.flatnonzero(data.weights > 0)
        labels = Design(data.X).equal_rows(data.y)[kept]
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        weights = np.bincount(inverse, data.weights[kept])
        return cls(data, kept, kept[first], inverse, weights)

    def squares(self, kernel: Any, fit_bias: bool) -> KernelSquares:
        """What kernel ridge minimises on them."""
        y = self.data.y.reshape(len(self.data.y), -1)[self.first]
        return KernelSquares(kernel, self.data.X, self.first, y, self.weights, fit_bias)

    @cached_property
    def units(self) -> Distinct:
        """Which of the distinct rows have one x, and are left out together."""
        labels = left_together(Design(self.data.X), self.data.y, self.data.weights > 0)
        return Distinct.by(np.unique(labels[self.first], return_inverse=True)[1], self.weights)

    def unit_squares(self, kernel: Any, fit_bias: bool) -> KernelSquares:
        """The same with the rows of one x as one, whose target is the mean of theirs."""
        units = self.units
        y = self.data.y.reshape(len(self.data.y), -1)[self.first]
        means = units.means(y, self.weights)
        off = (y - means[units.inverse]) ** 2
        return KernelSquares(
            kernel,
            self.data.X,
            self.first[units.first],
            means,
            units.weights,
            fit_bias,
            within=units.means(off.mean(axis=1), self.weights),
        )

    def spread(self, c: Array) -> Array:
        """Coefficients of the distinct rows (n, K) for all rows, equal ones by their weights."""
        share = self.data.weights[self.kept] / self.weights[self.inverse]
        of_all = np.zeros((len(self.data.weights), c.shape[1]))
        of_all[self.kept] = share[:, None] * c[self.inverse]
        return of_all

    def gather(self, of_all: Array) -> Array:
        """Coefficients of all rows (N, K), summed over equal ones."""
        c = np.zeros((len(self.first), of_all.shape[1]))
        np.add.at(c, self.inverse, of_all[self.kept])
        return c


def check_square(K: Any) -> Array:
    """A precomputed kernel matrix as a dense array, or an error if it is not symmetric."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"Precomputed metric requires shape (n_samples, n_samples): the kernel matrix has "
            f"shape {K.shape}, but must be square; compute it between the training rows and "
            "themselves."
        )
    K = K.toarray() if sp.issparse(K) else K
    for start in range(0, len(K), TOGETHER):
        some = slice(start, start + TOGETHER)
        difference = np.abs(K[some] - K[:, some].T)
        i, j = np.unravel_index(np.argmax(difference), difference.shape)
        if difference[i, j] > ASYMMETRY * np.max(np.abs(K)):
            raise ValueError(
                f"the kernel matrix is not symmetric: K[{start + i}, {j}] and K[{j}, {start + i}] "
                f"differ by {difference[i, j]:.3g}, so it is not a matrix of inner products; "
                "gapless.kernels.mercer_check(K) shows details."
            )
    return K
