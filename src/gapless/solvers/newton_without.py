"""Minima without one x each, for many x at once, from the solution with all rows.

The problems share X and each lacks one x with all its rows, so one factor of the Hessian H at the
solution serves them all: without xᵢ it is H − aᵢxᵢxᵢᵀ, where aᵢ is the summed curvature of its
rows, and its inverse follows from H⁻¹ (Sherman and Morrison 1950). A step is then one product with
X and one with Xᵀ, with a column for each left-out row. Called by the selection of strengths, for
rows that a single step does not move enough.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from .._ground.interrupt import check
from .._ground.memory import blocks
from ..problem import Problem
from .newton_along_path import Station
from .positive_definite import Cholesky

Array = np.ndarray

# Stop when a step promises this part of what the first did: predictions then move by a hundredth of
# what they had moved before.
SETTLED = 1e-4
MOST_STEPS, MOST_TRIALS = 50, 20


def predict_without(problem: Problem, strength: float, station: Station, rows: Array) -> Array:
    """Predictions of rows by models really fitted without their x.

    From a solution for ½λ‖w‖² with its Gram matrix: the first step is that of approximate
    leave-one-out, and further steps continue from there. NaN where they do not find the minimum.
    """
    descent = _Descent(problem, strength, station)
    if not descent.factor.is_reliable:
        return np.full(len(rows), np.nan)
    parts = blocks(len(rows), problem.n)
    return np.concatenate([_settle(descent, rows[part]) for part in parts])


def _settle(descent: _Descent, rows: Array) -> Array:
    """The same for the rows of one batch."""
    found, columns = np.full(len(rows), np.nan), np.arange(len(rows))
    models = descent.begin(rows)
    left = models.scale >= 0
    for _ in range(MOST_STEPS):
        models, columns = models.only(left), columns[left]
        if not len(columns):
            break
        check()
        models, is_better = descent.step(models)
        is_settled = is_better & (models.promise <= SETTLED * models.first)
        found[columns[is_settled]] = models.own(models.z)[is_settled]
        left = is_better & ~is_settled
    return found


@dataclass(frozen=True, eq=False)
class _Models:
    """Models without one x each; the last axis of every array is that of the models.

    Parameters
    ----------
    rows : ndarray of int, shape (K,)
        A row left out of each model, with all rows of the same x.
    x, answer : ndarray of shape (d + 1, K)
        That row, centred, with a one for the bias, and H⁻¹ times it.
    scale : ndarray of shape (K,)
        a/(1 − h) of its x, the curvature and leverage with all rows; −1 where h is 1.
    w, z : ndarray of shape (d, K), (n, K)
        Coefficients and predictions.
    primal, slope, curvature : ndarray of shape (K,), (n, K), (n, K)
        The objective there, and the derivatives of the loss, weights included: 0 for its rows.
    gradient, direction : ndarray of shape (d + 1, K)
        Those of the last step.
    promise, first : ndarray of shape (K,)
        What the last step promised, and the best so far.
    """

    rows: Array
    x: Array
    answer: Array
    scale: Array
    w: Array
    z: Array
    primal: Array
    slope: Array
    curvature: Array
    gradient: Array
    direction: Array
    promise: Array
    first: Array

    def only(self, which: Array) -> _Models:
        """Some of the models."""
        if which.all():
            return self
        return _Models(*(getattr(self, field.name)[..., which] for field in fields(self)))

    def own(self, values: Array) -> Array:
        """From an array (n, K), the values of the left-out rows, (K,)."""
        return values[self.rows, np.arange(len(self.rows))]


class _Descent:
    """Steps of all models: conjugate gradients, preconditioned by the Hessian with all rows.

    The columns of X are centred by their means under the curvatures at the full solution, where the
    Hessian splits into a block for the coefficients and one number for the bias.

    References
    ----------
    Polak and Ribière (1969), Revue française d'informatique et de recherche opérationnelle 3.
    """

    def __init__(self, problem: Problem, strength: float, station: Station):
        assert station.curved is not None
        self.problem, self.strength = problem, strength
        self.w, self.at = station.parameters.w, station.curved
        self.design, self.of_bias, total = problem.design, 0.0, float(self.at.curvature.sum())
        if problem.fit_bias and total > 0:
            self.design, self.of_bias = self.design.shifted(self.at.mean), 1 / total
        H = self.at.gram.copy()
        H[np.diag_indices(len(H))] += strength
        self.factor = Cholesky(H)

    def begin(self, rows: Array) -> _Models:
        """The models without these rows, starting at the full solution."""
        self._note(rows)
        a, K = self._left_sums(rows, self.at.curvature), len(rows)
        x = np.vstack([self.design.rows(rows).dense().T, np.ones(K)])
        answer = self._solve(x)
        leverage = a * _sums(x, answer)
        scale = np.divide(a, 1 - leverage, out=np.full(K, -1.0), where=leverage < 1)
        known = self.w, self.at.z, self.at.slope, self.at.curvature
        w, z, slope, curvature = (np.repeat(values[:, None], K, axis=1) for values in known)
        self._leave_out(rows, slope, curvature)
        value = self.problem.weights * self.problem.loss.value(self.problem.y, self.at.z)
        left = self._left_sums(rows, value)
        primal = value.sum() - left + 0.5 * self.strength * _sums(w, w)
        nothing, limit = np.zeros_like(x), np.full(K, np.inf)
        return _Models(
            *(rows, x, answer, scale, w, z, primal, slope, curvature),
            *(nothing, nothing, limit, np.zeros(K)),
        )

    def _note(self, rows: Array) -> None:
        """Find the rows that leave together with each of these."""
        same = self.problem.design.equal_x
        self.left = {row: np.flatnonzero(same == same[row]) for row in rows.tolist()}

    def _left_sums(self, rows: Array, values: Array) -> Array:
        """Sums of values (n,) over the rows that leave with each row."""
        return np.array([values[self.left[row]].sum() for row in rows.tolist()])

    def _leave_out(self, rows: Array, *parts: Array) -> None:
        """Set arrays (n, K) to 0 where a model has not seen a row."""
        for k, row in enumerate(rows.tolist()):
            for part in parts:
                part[self.left[row], k] = 0.0

    def _solve(self, g: Array) -> Array:
        """H⁻¹g, with all rows."""
        return np.vstack([self.factor.solve(g[:-1]), self.of_bias * g[-1]])

    def _look(self, rows: Array, w: Array, z: Array) -> tuple[Array, Array, Array]:
        """The objective, and the derivatives of the loss, weights included."""
        problem, K = self.problem, len(rows)
        found = problem.loss.derivatives(np.repeat(problem.y, K), z.ravel())
        value, slope, curvature = (
            problem.weights[:, None] * part.reshape(z.shape) for part in found
        )
        self._leave_out(rows, value, slope, curvature)
        return value.sum(axis=0) + 0.5 * self.strength * _sums(w, w), slope, curvature

    def step(self, at: _Models) -> tuple[_Models, Array]:
        """The models after a step, and whether it improved them."""
        g = self.design.transposed_times(at.slope) + self.strength * at.w
        g = np.vstack([g, at.slope.sum(axis=0) if self.of_bias else np.zeros(len(at.rows))])
        downhill = -self._solve(g)
        downhill += at.scale * _sums(at.x, downhill) * at.answer
        promise = -_sums(g, downhill)
        turn = np.maximum((promise + _sums(at.gradient, downhill)) / at.promise, 0.0)
        direction = downhill + turn * at.direction
        direction = np.where(_sums(g, direction) < 0, direction, downhill)
        at = replace(
            at,
            gradient=g,
            direction=direction,
            promise=promise,
            first=np.maximum(at.first, promise),
        )
        return self._move(at)

    def _move(self, at: _Models) -> tuple[_Models, Array]:
        """Move to a parabola's minimum along the direction, or half as far, … until P falls."""
        step = at.direction[:-1]
        along = self.design.times(step) + at.direction[-1]
        curvature = _sums(at.curvature, along**2) + self.strength * _sums(step, step)
        t = np.divide(
            -_sums(at.gradient, at.direction),
            curvature,
            out=np.ones(len(at.rows)),
            where=curvature > 0,
        )
        for _ in range(MOST_TRIALS):
            w, z = at.w + t * step, at.z + t * along
            primal, slope, curvature = self._look(at.rows, w, z)
            is_better = primal <= at.primal * (1 + 1e-12)
            if is_better.all():
                break
            t = np.where(is_better, t, 0.5 * t)
        moved = replace(at, w=w, z=z, primal=primal, slope=slope, curvature=curvature)
        return moved, is_better


def _sums(a: Array, b: Array) -> Array:
    """Σᵢ aᵢₖbᵢₖ for every column k, summed in an order that does not depend on threads."""
    return np.einsum("ik,ik->k", a, b)
