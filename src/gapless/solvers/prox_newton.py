"""Prox-Newton: a smooth loss with a penalty that has kinks, by coordinate descent on growing sets.

Each step replaces the loss by its quadratic model, and minimises model + penalty over a working set
of features by the compiled coordinate descent. For the squared loss the model is the loss, and this
is plain coordinate descent.

References
----------
Yuan, Ho and Lin (2012), An improved GLMNET for L1-regularized logistic regression, JMLR 13.
Massias, Gramfort and Salmon (2018), Celer: a fast solver for the lasso with dual extrapolation,
ICML.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .. import _core
from ..interrupt import deadline
from ..problem import Parameters, Problem
from ._base import Point, solver
from .working_set import BlockPenalty, Part, choose_blocks

Array = np.ndarray
EPS = float(np.finfo(float).eps)

# The working set holds the support and at least so many other blocks, or as many as the support.
FEWEST_NEW = 200
# How well the first model is minimised, and how much better each one than the one before: Newton's
# method converges faster than linearly if its steps become exact (Dembo, Eisenstat, Steihaug 1982).
FIRST_TOLERANCE, TIGHTENING, LAST_TOLERANCE = 0.1, 0.3, 1e-9
# Entries of the matrices that several outputs need for each feature of the working set.
LARGEST_MOMENTS = 20_000_000


def _refuses(problem: Problem) -> str | None:
    if not problem.loss.has_curvature:
        return f"needs a loss with curvature, got {problem.loss.name}"
    penalty, d = problem.penalty, problem.d
    if penalty.coordinates(d) is None and penalty.blocks(d) is None:
        return f"needs a penalty on coordinates or groups, got {penalty.name}"
    return None


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
        return self.loss + self.penalty


@solver("prox_newton", refuses=_refuses, max_iter=500)
def prox_newton(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Minimise by quadratic models of the loss over growing working sets.

    A step costs two products with the data, and some sweeps over the working set's columns.
    """
    penalty = BlockPenalty(problem.penalty, problem.d)
    model = Model(problem)
    w = problem.penalty.prox(np.array(start.w, dtype=float), 0.0)  # into the constraints
    at = evaluate(problem, w, np.array(start.b, dtype=float), problem.penalty.value(w))
    tolerance, stalls, smallest = FIRST_TOLERANCE, 0, math.inf
    while stalls < 4:
        G = problem.design.transposed_times(at.slope)
        yield Point(at.w, at.b, at.z, estimate=_estimate_gap(problem, at, G))
        distance = penalty.norms(problem.penalty.subdifferential_distance(at.w, G))
        part = penalty.part(_working_set(problem, penalty, at.w, distance))
        new = _line_search(problem, at, part, *model.minimise(at, G, part, tolerance))
        stalls += 1
        if new is None:
            model.damp(failed=True)
            continue
        model.damp(failed=False)
        # Near the end rounding hides the descent, but the distance to optimality still falls.
        largest = float(distance.max(initial=0.0))
        if new.primal < at.primal - 8 * EPS * abs(at.primal) or largest < 0.5 * smallest:
            stalls = 0
        smallest = min(smallest, largest)
        at, tolerance = new, max(TIGHTENING * tolerance, LAST_TOLERANCE)


def evaluate(
    problem: Problem, w: Array, b: Array, penalty: float, z: Array | None = None
) -> Iterate:
    """The iterate at (w, b), whose penalty (and z) is known."""
    z = problem.predictions(w, b) if z is None else z
    value, slope, curvature = problem.loss.derivatives(problem.y, z)
    s = problem.row_weights
    return Iterate(w, b, z, problem.weighted_sum(value), penalty, s * slope, s * curvature)


def _estimate_gap(problem: Problem, at: Iterate, G: Array) -> float | None:
    """The gap of θ = −s·ℓ′ scaled, as if it were orthogonal to the free columns: no product."""
    if not problem.has_dual:
        return None
    scales = problem.penalty.feasible_scales(-G)
    duals = [problem.dual(-c * at.slope, -c * G) for c in scales if c > 0]
    best = max(duals, default=-math.inf)
    return at.primal - best if best > -math.inf else None


def _working_set(problem: Problem, penalty: BlockPenalty, w: Array, distance: Array) -> Array:
    """The support, the free blocks, and the blocks that are furthest from optimal."""
    kept = penalty.norms(w) > 0
    kept |= penalty.is_free
    extra = max(FEWEST_NEW, int(kept.sum()))
    K = problem.outputs or 1
    most = max(1, LARGEST_MOMENTS // K**2) if K > 1 else penalty.count
    return choose_blocks(kept, distance, extra, most)


def _line_search(
    problem: Problem, at: Iterate, part: Part, step: Array, bias_step: Array
) -> Iterate | None:
    """The first of the steps 1, ½, ¼ … that brings down P as it should; None if none does."""
    w_part = at.w[part.features]
    z_step = _prediction_step(problem, part.features, step) + bias_step
    before = part.value(w_part)
    slope = float(np.sum(at.slope * z_step)) + part.value(w_part + step) - before
    rounding = 4 * EPS * abs(at.primal)
    for halvings in range(40):
        t = 0.5**halvings
        w = at.w.copy()
        w[part.features] = w_part + t * step
        penalty = at.penalty + part.value(w[part.features]) - before
        new = evaluate(problem, w, at.b + t * bias_step, penalty, at.z + t * z_step)
        # Armijo's rule for a composite objective (Tseng and Yun 2009).
        if new.primal <= at.primal + 0.01 * t * slope + rounding:
            return new
    return None


def _prediction_step(problem: Problem, features: Array, step: Array) -> Array:
    """X times the step in some of the coefficients."""
    design = problem.design
    if 4 * len(features) > design.d:
        change = np.zeros((design.d, *step.shape[1:]))
        change[features] = step
        return design.times(change)
    moved = np.any(step.reshape(len(step), -1) != 0, axis=1)
    features, step = features[moved], step[moved]
    out = np.zeros((design.n, step[0].size if len(step) else problem.outputs or 1))
    columns = step.reshape(len(step), out.shape[1])
    _core.column_times(design.columns_view(), features, columns, out, deadline())
    if design.center is not None:
        out -= np.sum(design.center[features][:, None] * columns, axis=0)
    return out.reshape(design.n, *step.shape[1:])


class Model:
    """Minimises the quadratic model of the loss at an iterate, plus the penalty of a part."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.damping = 0.0
        self._gram: _Gram | None = None

    def damp(self, failed: bool) -> None:
        """After a step that failed, raise the curvature; after one that did not, lower it."""
        if failed:
            self.damping = max(8 * self.damping, 1e-3)
        else:
            self.damping = self.damping / 4 if self.damping > 1e-6 else 0.0

    def minimise(self, at: Iterate, G: Array, part: Part, tolerance: float) -> tuple[Array, Array]:
        """The changes of w (on the part's features) and of b."""
        problem, design = self.problem, self.problem.design
        K = problem.outputs or 1
        before = np.ascontiguousarray(at.w[part.features]).reshape(-1, K)
        slope = np.ascontiguousarray(G[part.features]).reshape(-1, K)
        bias_slope = at.slope.reshape(-1, K).sum(axis=0) if problem.fit_bias else None
        diagonal, factor = self._curvature(at)
        w, bias_step = before.copy(), np.zeros(K)
        if self._prefers_gram(len(w), diagonal, factor):
            gram = self._gram_of(part.features, diagonal[:, 0])
            if bias_slope is not None:
                slope = gram.centre(slope, bias_slope)
            _core.gram_descent(gram.values, slope, part.arrays, w, tolerance, 10_000, deadline())
            if bias_slope is not None:
                bias_step = gram.bias_step(w - before, bias_slope)
        else:
            _core.column_descent(
                design.columns_view(), part.features, design.center, diagonal, factor, slope,
                bias_slope, part.arrays, w, bias_step, tolerance, 1000, deadline(),
            )  # fmt: skip
        return (w - before).reshape(-1, *at.w.shape[1:]), bias_step.reshape(np.shape(at.b))

    def _curvature(self, at: Iterate) -> tuple[Array, Array | None]:
        """The Hessian of each row as diag(a) − ffᵀ, weights and damping included, both (n, K)."""
        problem = self.problem
        diagonal, factor = at.curvature, None
        if problem.loss.task == "multiclass":
            s = problem.row_weights
            diagonal, factor = problem.loss.hessian_factors(problem.y, at.z)
            diagonal = s * diagonal
            factor = None if factor is None else np.ascontiguousarray(np.sqrt(s) * factor)
        if self.damping:
            diagonal = diagonal + self.damping * self._ceiling * problem.row_weights
        return np.ascontiguousarray(diagonal).reshape(problem.n, -1), factor

    @property
    def _ceiling(self) -> float:
        """About the largest curvature of the loss: that at z = y, or at z = 0."""
        problem = self.problem
        z = problem.y if problem.loss.task == "regression" else np.zeros(np.shape(problem.null.b))
        z = np.broadcast_to(
            z, np.shape(problem.y) if problem.outputs is None else (problem.n, problem.outputs)
        )
        return float(np.max(problem.loss.curvature(problem.y, np.array(z)), initial=0.0)) or 1.0

    def _prefers_gram(self, p: int, diagonal: Array, factor: Array | None) -> bool:
        """Whether a Gram matrix of p columns, made by BLAS when X is dense, pays for itself."""
        n = self.problem.n
        if p == 0 or factor is not None or p > max(4 * n, 400):
            return False
        shared = diagonal.shape[1] == 1 or bool(np.all(diagonal == diagonal[:, :1]))
        return shared and p <= (2000 if self.problem.design.density > 0.2 else 100)

    def _gram_of(self, features: Array, weights: Array) -> _Gram:
        known = self._gram
        if known is None or not (
            np.array_equal(known.features, features) and np.array_equal(known.weights, weights)
        ):
            self._gram = _Gram(self.problem, features, weights)
        return self._gram


class _Gram:
    """XᵀHX of some columns, made orthogonal to a free bias."""

    def __init__(self, problem: Problem, features: Array, weights: Array):
        self.features, self.weights = features, weights
        self.values = problem.design.gram(weights, columns=features)
        self.total = float(np.sum(weights))
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

    def centre(self, slope: Array, bias_slope: Array) -> Array:
        """The slopes at the bias that is best for the model."""
        slope = slope - np.multiply.outer(self.mean, bias_slope)
        slope[self.constant] = 0.0
        return slope

    def bias_step(self, step: Array, bias_slope: Array) -> Array:
        """The change of the bias that goes with a change of the coefficients."""
        if self.total == 0:
            return np.zeros(len(bias_slope))
        return -bias_slope / self.total - np.sum(self.mean[:, None] * step, axis=0)
