"""Softmax cross-entropy: logistic regression with several classes."""

from dataclasses import dataclass
from functools import reduce

import numpy as np

from ._base import Loss, p_log_p

# NumPy reduces rows shorter than this several times slower than it compares whole columns.
SHORT = 32


@dataclass(frozen=True)
class Softmax(Loss):
    """Minus the log-likelihood of a class with probabilities p ∝ exp(z).

    ℓ(y, z) = log Σₖ exp(zₖ) − z_y, with gradient p − e_y;
    ℓ*(y, u) = Σₖ pₖ log pₖ with p = u + e_y, which must be a distribution.
    """

    task = "multiclass"
    dispersion = 1.0
    is_self_concordant = True

    def value(self, y, z):
        below = z - _largest(z)
        return np.log(np.einsum("nk->n", np.exp(below))) - below[np.arange(len(y)), y]

    def gradient(self, y, z):
        p = self.inverse_link(z)
        p[np.arange(len(y)), y] -= 1
        return p

    def curvature(self, y, z):
        p = self.inverse_link(z)
        return p * (1 - p)

    def hessian_times(self, y, z, v):
        p = self.inverse_link(z)
        return p * (v - np.einsum("nk,nk->n", p, v)[:, None])

    def hessian_factors(self, y, z, gradient=None):
        if gradient is None:
            p = self.inverse_link(z)
        else:
            p = np.array(gradient)
            p[np.arange(len(y)), y] += 1
        return p, p

    def derivatives(self, y, z):
        rows = np.arange(len(y))
        p = z - _largest(z)
        value = -p[rows, y]
        np.exp(p, out=p)
        total = np.einsum("nk->n", p)
        value += np.log(total)
        p /= total[:, None]
        curvature = 1 - p
        curvature *= p
        p[rows, y] -= 1
        return value, p, curvature

    def conjugate(self, y, u):
        p = np.array(u)
        p[np.arange(len(y)), y] += 1
        slack = 8 * p.shape[1] * np.finfo(p.dtype).eps  # u + e_y rounds, and so does the sum
        inside = np.all(p >= -slack, axis=1) & (np.abs(np.einsum("nk->n", p) - 1) <= slack)
        return np.where(inside, np.einsum("nk->n", p_log_p(p)), np.inf)

    def dual_domain(self, y):
        return np.array(-1.0), np.array(1.0)

    def equal_scores(self, totals):
        logs = np.log(totals)
        return logs - logs.mean()

    def inverse_link(self, z):
        p = np.exp(z - _largest(z))
        p /= np.einsum("nk->n", p)[:, None]
        return p

    def log_probabilities(self, z):
        below = z - _largest(z)
        return below - np.log(np.einsum("nk->n", np.exp(below)))[:, None]


def _largest(z):
    """The largest score of each row, as a column."""
    if 0 < z.shape[1] <= SHORT:
        return reduce(np.maximum, z.T)[:, None]
    return z.max(axis=1, keepdims=True)
