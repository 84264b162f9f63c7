"""The shared covariance of all classes without each row, by downdates of rank one.

Without a row of class c and weight w the scatter within the classes, T·S, is smaller by β δδᵀ,
where δ is how far the row is from the mean of its class and β = w·N_c/(N_c − w). In the axes of S
all inverses follow from sums (Sherman and Morrison 1950).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._ground import lapack
from ..._ground.design import Design
from ..._ground.lapack import call_lapack
from ..._ground.validation import Training
from ...unseen import NotAvailable
from .covariances import shrunk
from .moments import Moments
from .priors import Priors
from .rests import left_over

Array = np.ndarray

# Rows whose x belongs to several classes are done one by one, if there are no more of them.
FEW = 200
SINGULAR = "without a row the covariance may have no inverse"


@dataclass(frozen=True, eq=False)
class Pooled:
    """The covariance within the classes, in its own axes.

    Parameters
    ----------
    moments : Moments
        Weights and means of the classes.
    S : ndarray of shape (d, d)
        The covariance within the classes, of columns divided by `scale`.
    scale : ndarray of shape (d,)
        What columns are divided by.
    shrinkage : float
        The part of the mean variance that replaces so much of S.
    """

    moments: Moments
    S: Array
    scale: Array
    shrinkage: float

    @classmethod
    def of(cls, data: Training, moments: Moments, shrinkage: float, tol: float) -> Pooled:
        """Of training rows; NotAvailable where there is no inverse."""
        n, d = np.count_nonzero(data.weights), data.X.shape[1]
        if not shrinkage and n - np.count_nonzero(moments.count) < d:
            raise NotAvailable(SINGULAR)
        away = (data.X - moments.mean[data.y]).astype(np.float64, copy=False)
        S = Design(np.ascontiguousarray(away)).gram(data.weights) / data.weights.sum()
        # What is shrunk has its own units.
        scale = np.ones(len(S)) if shrinkage else np.sqrt(np.diag(S))
        if not np.all(scale > 0):
            raise NotAvailable(SINGULAR)
        S = S / np.outer(scale, scale)
        if not shrinkage and call_lapack(np.linalg.eigvalsh, S)[0] <= tol**2:
            raise NotAvailable(SINGULAR)
        return cls(moments, S, scale, shrinkage)

    def without_each(self, X: Array, own: Array, priors: Priors) -> Array:
        """Scores (n, classes) of rows without themselves; `own` is their weight in each class."""
        z = priors.log_without(self.moments.count[:, 0], own)
        is_single = np.count_nonzero(own, axis=1) == 1
        others = np.flatnonzero(~is_single)
        if len(others) > FEW:
            raise NotAvailable("many rows differ only in their class")
        rows = np.flatnonzero(is_single)
        z[rows] -= 0.5 * self._distances(X[rows], own[rows])
        for i in others:
            z[i] -= 0.5 * self._distances_of_one(X[i], own[i])
        return z

    def _distances(self, X: Array, own: Array) -> Array:
        """Squared distances of rows of one class each to all means, (n, classes)."""
        values, axes = call_lapack(lapack.eigh, self.S.copy())
        of = np.argmax(own, axis=1)
        w = own[np.arange(len(own)), of][:, None]
        total = float(self.moments.count.sum())
        left = total - w
        rotated, centres = ((part / self.scale) @ axes for part in (X, self.moments.mean))
        away = rotated - centres[of]
        growth = self.moments.growth(of, w)
        beta = w * growth
        part = self.shrinkage
        D = (1 - part) * (total / left) * np.maximum(values, 0.0)
        if part:
            trace = total * values.sum() - beta * np.sum(away**2, axis=1, keepdims=True)
            D = D + part * trace / left / len(values)
        gamma = (1 - part) * beta / left
        rest = 1 - gamma[:, 0] * np.sum(away**2 / D, axis=1)
        if np.any(rest <= 1e-12):
            raise NotAvailable(SINGULAR)
        out = np.empty(own.shape)
        for k, centre in enumerate(centres):
            to = np.where((of == k)[:, None], away * growth, rotated - centre)
            along = np.sum(to * away / D, axis=1)
            out[:, k] = np.sum(to**2 / D, axis=1) + gamma[:, 0] * along**2 / rest
        return out

    def _distances_of_one(self, x: Array, own: Array) -> Array:
        """The same for a row with a weight in several classes."""
        count = self.moments.count[:, 0]
        left, away = left_over(count, own), (x - self.moments.mean) / self.scale
        growth = np.divide(count, left, out=np.zeros_like(count), where=left > 0)
        scatter = count.sum() * self.S - (away.T * (own * growth)) @ away
        S = shrunk(scatter / left.sum(), self.shrinkage)
        to = np.where((own > 0)[:, None], away * growth[:, None], away)
        return np.sum(to * np.linalg.solve(S, to.T).T, axis=1)
