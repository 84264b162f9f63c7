"""The quadratic model of a loss at a point, minimised together with the penalty of a working set.

Called by `prox_newton`. Decides whether coordinate descent runs on a Gram matrix, of one output or
of all (`joint_gram`), or on columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._ground import core
from .._ground.interrupt import deadline
from ..problem import Problem
from .joint_gram import KeptGram, is_small
from .working_set import Part

Array = np.ndarray
EPS = float(np.finfo(float).eps)

# Up to this many columns, dense (by BLAS) or sparse, a Gram matrix costs less than the sweeps it
# saves.
MOST_DENSE_COLUMNS, MOST_SPARSE_COLUMNS = 2000, 100
# Recompute a Gram matrix, in half the operations, if more than this part of it is new.
MOST_ADDED = 0.5


@dataclass(frozen=True, eq=False)
class Iterate:
    """Parameters, z = Xw + b, both terms of P, and the loss's derivatives, weights included."""

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
    """The iterate at (w, b), given its penalty and perhaps z."""
    z = problem.predictions(w, b) if z is None else z
    value, slope, curvature = problem.loss.derivatives(problem.y, z)
    slope, curvature = problem.weighted(slope), problem.weighted(curvature)
    return Iterate(w, b, z, problem.weighted_sum(value), penalty, slope, curvature)


@dataclass(frozen=True, eq=False)
class ModelStep:
    """The step to the model's minimiser: in w on the part's features, in b and in z.

    `slope` is the first-order change of P along it, `decrease` that of model + penalty, both < 0;
    `converged` is False if coordinate descent ran out of sweeps.
    """

    part: Part
    w: Array
    b: Array
    z: Array
    slope: float
    decrease: float
    converged: bool

    def error(self, change: float, rounding: float) -> float:
        """Relative difference of the change of P from the model's, beyond the rounding of P.

        0 where rounding hides both; 1 if the model has no decrease.
        """
        if self.decrease > rounding or not np.isfinite(self.decrease):
            return 1.0
        beyond = max(abs(change - self.decrease) - rounding, 0.0)
        return beyond / max(-self.decrease, rounding) if beyond else 0.0


class QuadraticModel:
    """Minimises ⟨slope, δz⟩ + ½⟨δz, H δz⟩ + R over δz = X δw + δb, for w in a working set.

    If Newton steps are too long, because a loss such as Huber's is linear far from its minimum, the
    curvature of a row is at least that of the chord over the last step tried: the change of its
    slope divided by the distance. It anticipates what that step overlooked. `damping` then also
    raises H by that part of the largest curvature. If computing the Hessian takes longest, that of
    an earlier step is `kept`, perhaps from a similar problem.
    """

    def __init__(self, problem: Problem, kept: KeptGram | None = None):
        self.problem = problem
        self.kept = KeptGram() if kept is None else kept
        self.damping = 0.0
        self._chord: Array | float = 0.0

    def adapt(self, at: Iterate, step: ModelStep, length: float, error: float) -> None:
        """Record how much of a step was taken (a short one was too long) and its error."""
        self.kept.judge(error)
        if length >= 0.2 and step.slope < 0:
            self._chord = self._chord / 8 if np.max(self._chord) > 1e-6 else 0.0
            self.damping = self.damping / 8 if self.damping > 1e-3 else 0.0
            return
        before = self._chord
        if np.all(np.isfinite(step.z)):
            self._chord = self._curvature_of_chord(at, step.z)
        if np.sum(self._chord) <= 1.1 * np.sum(before):
            self.damping = min(max(8 * self.damping, 1e-3), 1.0)

    def forget(self) -> None:
        """Recompute the Hessian at the next step."""
        self.kept.gram = None

    def _curvature_of_chord(self, at: Iterate, z: Array) -> Array:
        """(ℓ′(z + δz) − ℓ′(z))/δz, weights included, and 0 where nothing moves."""
        change = self.problem.derivative(at.z + z) - at.slope
        return np.maximum(np.divide(change, z, out=np.zeros_like(z), where=z != 0), 0.0)

    def minimise(
        self, at: Iterate, G: Array, part: Part, tolerance: float, sweeps: int
    ) -> ModelStep:
        """The step to the minimiser of the model at an iterate, where G = Xᵀ slope."""
        problem, K = self.problem, self.problem.outputs or 1
        before = np.ascontiguousarray(at.w[part.features]).reshape(-1, K)
        slope = np.ascontiguousarray(G[part.features]).reshape(-1, K)
        bias_slope = at.slope.reshape(-1, K).sum(axis=0) if problem.fit_bias else None
        diagonal, factor = self.curvature(at)
        w, b, curve = before.copy(), np.zeros(K), None
        if self._prefers_gram(len(w), diagonal, factor):
            gram = self._gram_of(part.features, diagonal[:, 0])
            slope = gram.centre(slope, bias_slope)
            _, converged = core.gram_descent(
                gram.values, slope, part.arrays, w, tolerance, 20 * sweeps, deadline()
            )
            b = gram.bias_step(w - before, bias_slope)
        elif factor is not None and is_small(problem, part, K):
            joint = self.kept.of(problem, part.features, diagonal, factor)
            b, curve, converged = joint.minimise(slope, bias_slope, part, w, tolerance, 20 * sweeps)
        else:
            design = problem.design
            _, converged = core.column_descent(
                design.columns_view(), part.features, design.center, diagonal, factor, slope,
                bias_slope, part.arrays, w, b, tolerance, sweeps, deadline(),
            )  # fmt: skip
        step = (w - before).reshape(-1, *at.w.shape[1:])
        b = b.reshape(np.shape(at.b))
        z = prediction_step(problem, part.features, step) + b
        more = part.value(at.w[part.features] + step) - part.value(at.w[part.features])
        linear = float(np.sum(at.slope * z)) + more
        curve = _curve(z, diagonal, factor) if curve is None else curve
        decrease = linear + 0.5 * curve
        return ModelStep(part, step, b, z, linear, decrease, converged)

    def curvature(self, at: Iterate) -> tuple[Array, Array | None]:
        """The Hessian of each row as diag(a) − ffᵀ, weights and damping included, both (n, K)."""
        problem = self.problem
        diagonal, factor = np.maximum(at.curvature, self._chord), None
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
        """The curvature of the loss at z = y, or at z = 0 for a classifier: usually the largest."""
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

    def _gram_of(self, features: Array, weights: Array) -> Gram:
        """The Gram matrix of some columns, made from the last one if that has some of them."""
        last = self.kept.plain
        if last is None or not np.array_equal(last.weights, weights):
            self.kept.plain = Gram.of(self.problem, features, weights)
            return self.kept.plain
        new = np.setdiff1d(features, last.features)
        if len(new) > MOST_ADDED * len(features):
            last = Gram.of(self.problem, features, weights)
        elif len(new):
            last = last.extended(self.problem, new)
        self.kept.plain = last
        order = np.argsort(last.features)
        return last.part(order[np.searchsorted(last.features, features, sorter=order)])


@dataclass(frozen=True, eq=False)
class Gram:
    """XᵀHX of some columns for H = diag(weights), made orthogonal to a free bias.

    `mean` is that of each column under the weights, 0 without a bias.
    """

    features: Array
    weights: Array
    values: Array
    mean: Array
    total: float

    @classmethod
    def of(cls, problem: Problem, features: Array, weights: Array) -> Gram:
        """The Gram matrix of the columns of these features."""
        values, total = problem.design.gram(weights, columns=features), float(np.sum(weights))
        mean = np.zeros(len(features))
        if problem.fit_bias and total > 0:
            raw = np.diag(values).copy()
            mean = problem.design.transposed_times(weights, features) / total
            values -= np.multiply.outer(total * mean, mean)
            _drop_constants(values, raw)
        return cls(features, weights, values, mean, total)

    def extended(self, problem: Problem, new: Array) -> Gram:
        """The same with more columns; computes their products with each other and the rest."""
        features, p = np.append(self.features, new), len(self.features)
        columns = problem.design.columns(new).dense()
        weighted = np.ascontiguousarray(columns * self.weights[:, None])
        products = problem.design.transposed_times(weighted, features)
        raw = np.concatenate([np.diag(self.values), np.diag(products[p:])])
        mean = np.append(self.mean, np.zeros(len(new)))
        if problem.fit_bias and self.total > 0:
            mean[p:] = np.einsum("nk->k", weighted) / self.total
            products -= np.multiply.outer(mean, self.total * mean[p:])
        values = np.empty((len(features), len(features)))
        values[:p, :p], values[:, p:] = self.values, products
        values[p:, :p] = products[:p].T
        if problem.fit_bias and self.total > 0:
            _drop_constants(values, raw)
        return Gram(features, self.weights, values, mean, self.total)

    def part(self, places: Array) -> Gram:
        """The matrix of some of its columns."""
        if np.array_equal(places, np.arange(len(self.features))):
            return self
        values = np.ascontiguousarray(self.values[np.ix_(places, places)])
        return Gram(self.features[places], self.weights, values, self.mean[places], self.total)

    def centre(self, slope: Array, bias_slope: Array | None) -> Array:
        """The slopes with the bias optimal for the model; 0 for a constant column."""
        if bias_slope is None or self.total == 0:
            return slope
        slope = slope - np.multiply.outer(self.mean, bias_slope)
        slope[np.diag(self.values) == 0] = 0.0
        return slope

    def bias_step(self, step: Array, bias_slope: Array | None) -> Array:
        """The change of the bias that goes with a change of the coefficients."""
        if bias_slope is None or self.total == 0:
            return np.zeros(step.shape[1])
        return -bias_slope / self.total - np.sum(self.mean[:, None] * step, axis=0)


def _drop_constants(values: Array, raw: Array) -> None:
    """Set constant columns to 0: what centring leaves of their diagonal, `raw`, is rounding."""
    constant = np.diag(values) <= 64 * EPS * raw
    values[constant] = 0.0
    values[:, constant] = 0.0


def prediction_step(problem: Problem, features: Array, step: Array) -> Array:
    """X times a step in some of the coefficients, or several steps side by side."""
    design = problem.design
    moved = np.any(step != 0, axis=tuple(range(1, step.ndim)))
    features, step = features[moved], step[moved]
    if 4 * len(features) > design.d:
        change = np.zeros((design.d, *step.shape[1:]))
        change[features] = step
        return design.times(change)
    columns = step.reshape(len(step), int(np.prod(step.shape[1:])))
    out = np.zeros((design.n, columns.shape[1]))
    core.column_times(design.columns_view(), features, columns, out, deadline())
    if design.center is not None:
        out -= np.sum(design.center[features][:, None] * columns, axis=0)
    return out.reshape(design.n, *step.shape[1:])


def _curve(z: Array, diagonal: Array, factor: Array | None) -> float:
    """⟨δz, H δz⟩."""
    z = z.reshape(diagonal.shape)
    curve = float(np.sum(diagonal * z**2))
    return curve if factor is None else curve - float(np.sum(np.sum(factor * z, axis=1) ** 2))
