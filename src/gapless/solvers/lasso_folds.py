"""Lasso and elastic net by folds, for many rows and few features: on shared Gram matrices.

The Gram matrix of a fold's training rows is that of all rows minus that of the held-out rows, so
all folds together cost two passes over the data, and their paths none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._ground import core
from .._ground.design import Design
from .._ground.interrupt import check, deadline
from .._ground.threads import single_blas
from ..penalties import Penalty
from ..problem import Problem
from .lasso_path import inner_gap, inner_tolerance, leading, most_changes, takes

Array = np.ndarray
EPS = float(np.finfo(float).eps)

# With at most this many features, and this many rows for each, a Gram matrix of all features pays
# off: beyond, a path touches only some of them.
MOST_FEATURES, ROWS_PER_FEATURE = 1000, 4


@dataclass(frozen=True, eq=False)
class Moments:
    """Weighted sums over some rows of centred data: 1, x, y, xxᵀ, xy and y²."""

    total: float
    x: Array
    y: float
    xx: Array
    xy: Array
    yy: float

    @classmethod
    def of(cls, design: Design, y: Array, s: Array) -> Moments:
        """The sums over all rows of a design with weights s."""
        xx, xy, yy = design.gram(s), design.transposed_times(s * y), float(np.sum(s * y**2))
        return cls(float(np.sum(s)), design.transposed_times(s), float(np.sum(s * y)), xx, xy, yy)

    def without(self, other: Moments) -> Moments:
        """The sums over the rows that `other` lacks."""
        names = [field.name for field in dataclasses.fields(self)]
        return Moments(*(getattr(self, name) - getattr(other, name) for name in names))


class GramFolds:
    """The sums over all rows, from which those of every fold follow."""

    def __init__(self, problem: Problem):
        s, total = problem.weights, float(np.sum(problem.weights))
        self.problem = problem
        # Sums of centred data lose no digits when some rows are subtracted again.
        self.mean = problem.design.transposed_times(s) / total
        self.y_mean = float(np.sum(s * problem.y)) / total
        self.design = problem.design.shifted(self.mean) if problem.fit_bias else problem.design
        self.y = problem.y - self.y_mean if problem.fit_bias else problem.y
        self.all = Moments.of(self.design, self.y, s)

    def predict(
        self, train: Array, test: Array, penalties: Sequence[Penalty], tol: float
    ) -> Array | None:
        """Predictions (test rows, penalties) by the training rows; None if it fails."""
        moments = self._moments(train)
        if not moments.total > 0:
            return None
        W = _coefficients(moments, self.problem.fit_bias, penalties, tol)
        if W is None:
            return None
        z = self.design.rows(test).times(W)
        if self.problem.fit_bias:
            z += self.y_mean + (moments.y - np.sum(moments.x[:, None] * W, axis=0)) / moments.total
        return z

    def _moments(self, train: Array) -> Moments:
        s = self.problem.weights
        is_out = np.ones(self.problem.n, dtype=bool)
        is_out[train] = False
        rest = np.flatnonzero(is_out)
        if len(rest) + len(train) != self.problem.n or len(rest) > len(train):
            return Moments.of(self.design.rows(train), self.y[train], s[train])
        return self.all.without(Moments.of(self.design.rows(rest), self.y[rest], s[rest]))


def is_worth_it(problem: Problem) -> bool:
    """Whether the folds of a problem should share Gram matrices."""
    n, d = problem.n, problem.d
    return takes(problem) and d <= MOST_FEATURES and n >= ROWS_PER_FEATURE * d


def _coefficients(m: Moments, fit_bias: bool, penalties, tol: float) -> Array | None:
    """Coefficients (d, penalties) of the lasso with those moments; None if it fails."""
    d = len(m.xy)
    coordinates = leading(d, penalties)
    if len(coordinates) < len(penalties) or d == 0:
        return None
    G, q, square = m.xx.copy(), m.xy, m.yy
    if fit_bias:
        G -= np.multiply.outer(m.x, m.x / m.total)
        q, square = q - m.x * (m.y / m.total), square - m.y**2 / m.total
    # The remainder of a column that is constant in these rows is rounding.
    constant = np.diag(G) <= 1e3 * EPS * (np.diag(m.xx) + EPS)
    G[constant], G[:, constant], q = 0.0, 0.0, np.where(constant, 0.0, q)
    lasso = core.GramLasso()
    lasso.grow(G, q, coordinates[0].upper > 0, coordinates[0].lower < 0)
    W, gradient = np.empty((len(penalties), d)), np.empty(d)
    for w, c in zip(W, coordinates):
        check()
        goal = inner_gap(tol, 0.5 * square), square, inner_tolerance(tol), most_changes(d)
        with single_blas():
            _, converged = lasso.solve(c.l1, c.l2, w, gradient, *goal, deadline())
        if not converged:
            return None
    return W.T
