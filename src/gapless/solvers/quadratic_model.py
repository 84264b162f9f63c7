"""The quadratic model of a loss at a point, minimised together with the penalty of a working set.

Called by `prox_newton`. Decides whether coordinate descent runs on a Gram matrix or on columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _core
from ..interrupt import deadline
from ..problem import Problem
from ..threads import single_blas
from .normal_equations import Factor
from .working_set import Face, Part

Array = np.ndarray
EPS = float(np.finfo(float).eps)

# Up to so many columns a Gram matrix costs less than the sweeps it saves: by BLAS, and without.
MOST_DENSE_COLUMNS, MOST_SPARSE_COLUMNS = 2000, 100
# How often coordinate descent on a Gram matrix is helped along.
ROUNDS = 30


@dataclass(frozen=True, eq=False)
class Iterate:
    """Parameters, z = Xw + b, both terms of P, and the loss's derivatives with the weights in."""

    w: Array
    b: Array
    z: Array
    loss: float
    penalty: float
    slope: Array  # s·ℓ′, the shape of z
    curvature: Array  # s·ℓ″, the shape of z

    @property
    def primal(self) -> float:
        """P(w, b)."""
        return self.loss + self.penalty


def evaluate(
    problem: Problem, w: Array, b: Array, penalty: float, z: Array | None = None
) -> Iterate:
    """The iterate at (w, b), the penalty of which is known, and perhaps z."""
    z = problem.predictions(w, b) if z is None else z
    value, slope, curvature = problem.loss.derivatives(problem.y, z)
    s = problem.row_weights
    return Iterate(w, b, z, problem.weighted_sum(value), penalty, s * slope, s * curvature)


@dataclass(frozen=True, eq=False)
class ModelStep:
    """The way to the model's minimiser: in w on the part's features, in b and in z.

    `slope` is the first-order change of P along it, `decrease` that of model + penalty, both < 0;
    `converged` is False when coordinate descent ran out of sweeps.
    """

    part: Part
    w: Array
    b: Array
    z: Array
    slope: float
    decrease: float
    converged: bool


class QuadraticModel:
    """Minimises ⟨slope, δz⟩ + ½⟨δz, H δz⟩ + R over δz = X δw + δb, for w in a working set.

    `damping` raises the curvature H by that part of the largest one, where Newton steps are too
    long: a loss may be linear far from its minimum, as Huber's is.
    """

    def __init__(self, problem: Problem):
        self.problem = problem
        self.damping = 0.0
        self._gram: _Gram | None = None

    def adapt_damping(self, is_too_long: bool) -> None:
        """Raise it after a step that was too long, lower it after one that was not."""
        if is_too_long:
            self.damping = min(max(8 * self.damping, 1e-3), 1.0)
        else:
            self.damping = self.damping / 8 if self.damping > 1e-3 else 0.0

    def minimise(
        self, at: Iterate, G: Array, part: Part, tolerance: float, sweeps: int
    ) -> ModelStep:
        """The step to the minimiser of the model at an iterate, where G = Xᵀ slope."""
        problem, K = self.problem, self.problem.outputs or 1
        before = np.ascontiguousarray(at.w[part.features]).reshape(-1, K)
        slope = np.ascontiguousarray(G[part.features]).reshape(-1, K)
        bias_slope = at.slope.reshape(-1, K).sum(axis=0) if problem.fit_bias else None
        diagonal, factor = self.curvature(at)
        w, b = before.copy(), np.zeros(K)
        if self._prefers_gram(len(w), diagonal, factor):
            gram = self._gram_of(part.features, diagonal[:, 0])
            slope = gram.centre(slope, bias_slope)
            w, converged = _descend(gram, slope, part, w, tolerance, sweeps)
            b = gram.bias_step(w - before, bias_slope)
        else:
            design = problem.design
            _, converged = _core.column_descent(
                design.columns_view(), part.features, design.center, diagonal, factor, slope,
                bias_slope, part.arrays, w, b, tolerance, sweeps, deadline(),
            )  # fmt: skip
        step = (w - before).reshape(-1, *at.w.shape[1:])
        b = b.reshape(np.shape(at.b))
        z = prediction_step(problem, part.features, step) + b
        more = part.value(at.w[part.features] + step) - part.value(at.w[part.features])
        linear = float(np.sum(at.slope * z)) + more
        return ModelStep(part, step, b, z, linear, linear + 0.5 * _curve(z, diagonal, factor), converged)

    def curvature(self, at: Iterate) -> tuple[Array, Array | None]:
        """The Hessian of each row as diag(a) − ffᵀ, weights and damping included, both (n, K)."""
        problem = self.problem
        diagonal, factor = at.curvature, None
        if problem.loss.task == "multiclass":
            s = problem.row_weights
            diagonal, factor = problem.loss.hessian_factors(problem.y, at.z)
            diagonal = s * diagonal
            factor = None if factor is None else np.ascontiguousarray(np.sqrt(s) * factor)
        if self.damping:
            diagonal = diagonal + self.damping * self._largest_curvature * problem.row_weights
        return np.ascontiguousarray(diagonal).reshape(problem.n, -1), factor

    @property
    def _largest_curvature(self) -> float:
        """That of the loss at z = y, or at z = 0 for a classifier: the most there is, usually."""
        problem = self.problem
        is_regression = problem.loss.task == "regression"
        shape = np.shape(problem.y) if problem.outputs is None else (problem.n, problem.outputs)
        z = np.array(problem.y, dtype=float) if is_regression else np.zeros(shape)
        return float(np.max(problem.loss.curvature(problem.y, z), initial=0.0)) or 1.0

    def _prefers_gram(self, p: int, diagonal: Array, factor: Array | None) -> bool:
        n, is_dense = self.problem.n, self.problem.design.density > 0.2
        if p == 0 or p > (MOST_DENSE_COLUMNS if is_dense else MOST_SPARSE_COLUMNS):
            return False
        if factor is not None or p > max(4 * n, 400):
            return False
        return diagonal.shape[1] == 1 or bool(np.all(diagonal == diagonal[:, :1]))

    def _gram_of(self, features: Array, weights: Array) -> _Gram:
        """The Gram matrix of some columns; that of the last call again if nothing has changed."""
        if self._gram is None or not self._gram.is_of(features, weights):
            self._gram = _Gram(self.problem, features, weights)
        return self._gram


class _Gram:
    """XᵀHX of some columns for H = diag(weights), made orthogonal to a free bias."""

    def __init__(self, problem: Problem, features: Array, weights: Array):
        self.features, self.weights = features, weights
        self.values = problem.design.gram(weights, columns=features)
        self.total = float(np.sum(weights))
        self.most_rank = int(np.count_nonzero(weights)) - problem.fit_bias
        self.mean = np.zeros(len(features))
        self.constant = np.zeros(len(features), dtype=bool)
        if problem.fit_bias and self.total > 0:
            raw = np.diag(self.values).copy()
            self.mean = problem.design.transposed_times(weights)[features] / self.total
            self.values -= self.total * np.multiply.outer(self.mean, self.mean)
            # What is left of a constant column is rounding: it has no curvature and no slope.
            self.constant = np.diag(self.values) <= 64 * EPS * raw
            self.values[self.constant] = 0.0
            self.values[:, self.constant] = 0.0

    def times(self, v: Array) -> Array:
        """The matrix times v (p, K)."""
        with single_blas():
            return self.values @ v

    def is_of(self, features: Array, weights: Array) -> bool:
        """Whether it is the Gram matrix of these columns with these weights."""
        same = np.array_equal(self.features, features)
        return same and np.array_equal(self.weights, weights)

    def centre(self, slope: Array, bias_slope: Array | None) -> Array:
        """The slopes where the bias is best for the model."""
        if bias_slope is None or self.total == 0:
            return slope
        slope = slope - np.multiply.outer(self.mean, bias_slope)
        slope[self.constant] = 0.0
        return slope

    def bias_step(self, step: Array, bias_slope: Array | None) -> Array:
        """The change of the bias that goes with a change of the coefficients."""
        if bias_slope is None or self.total == 0:
            return np.zeros(step.shape[1])
        return -bias_slope / self.total - np.sum(self.mean[:, None] * step, axis=0)


def _descend(
    gram: _Gram, slope: Array, part: Part, start: Array, tolerance: float, sweeps: int
) -> tuple[Array, bool]:
    """The w that minimises ⟨slope, w − start⟩ + ½⟨w − start, gram (w − start)⟩ + R(w).

    By coordinate descent; where that is slow, equations on the face it has reached help it along.
    The second result tells whether it converged.
    """
    w, here = start.copy(), slope
    for _ in range(ROUNDS):
        _, converged = _core.gram_descent(
            gram.values, here, part.arrays, w, tolerance, sweeps, deadline()
        )
        if converged:
            return w, True
        w = _newton_step(gram, slope + gram.times(w - start), part, w)
        here = slope + gram.times(w - start)
    return w, False


def _newton_step(gram: _Gram, slope: Array, part: Part, w: Array) -> Array:
    """The end of a Newton step on the face around w, or of a part of it; w where that is no good.

    Coefficients stop where the face ends (projected Newton, Bertsekas 1982).
    """
    if part.is_grouped or w.shape[1] > 1:
        return w
    face = Face.around(w[:, 0], *part.arrays)
    if len(face.index) > gram.most_rank and not np.all(face.l2 > 0):
        return w
    before = w[face.index, 0]
    H = gram.values[np.ix_(face.index, face.index)]
    H[np.diag_indices(len(H))] += face.l2
    step = -Factor(H).solve(slope[face.index, 0] + face.gradient(before))
    for halvings in range(10):
        change = np.zeros_like(w)
        change[face.index, 0] = face.clip(before + 0.5**halvings * step) - before
        curve = float(np.sum(change * gram.times(change)))
        more = float(np.sum(slope * change)) + 0.5 * curve
        if more + part.value(w + change) < part.value(w):
            return w + change
    return w


def prediction_step(problem: Problem, features: Array, step: Array) -> Array:
    """X times a step in some of the coefficients."""
    design = problem.design
    moved = np.any(step.reshape(len(step), -1) != 0, axis=1)
    features, step = features[moved], step[moved]
    if 4 * len(features) > design.d:
        change = np.zeros((design.d, *step.shape[1:]))
        change[features] = step
        return design.times(change)
    columns = step.reshape(len(step), problem.outputs or 1)
    out = np.zeros((design.n, columns.shape[1]))
    _core.column_times(design.columns_view(), features, columns, out, deadline())
    if design.center is not None:
        out -= np.sum(design.center[features][:, None] * columns, axis=0)
    return out.reshape(design.n, *step.shape[1:])


def _curve(z: Array, diagonal: Array, factor: Array | None) -> float:
    """⟨δz, H δz⟩."""
    z = z.reshape(diagonal.shape)
    curve = float(np.sum(diagonal * z**2))
    return curve if factor is None else curve - float(np.sum(np.sum(factor * z, axis=1) ** 2))
