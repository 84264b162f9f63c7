"""Newton steps by preconditioned conjugate gradients: products with the Hessian, never a factor.

For many features, or many classes. The system is solved only as accurately as the step deserves
(Eisenstat and Walker 1996). With float32 data the products run in float32, but the gradient, which
determines the solution, does not. Called by `newton`.

References
----------
Dembo and Steihaug (1983), Truncated-Newton algorithms, Mathematical Programming 26.
Eisenstat and Walker (1996), Choosing the forcing terms in an inexact Newton method.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .._ground.interrupt import check
from ..problem import Problem
from .newton_steps import (
    Change,
    Damping,
    Iterate,
    columns,
    damped,
    is_shift_invariant,
)
from .preconditioners import (
    MOST_FACTORED,
    PerOutput,
    SharedBlock,
    cost_of_factors,
    make_preconditioner,
)

Array = np.ndarray

FIRST_ACCURACY, BEST_ACCURACY = 0.5, 1e-3
MOST_PRODUCTS = 250
# Solvers compute a certificate at ten times the tolerance because most estimate their gap less
# well. Here the estimate is nearly the gap, and a certificate costs several products.
GAP_MARGIN = 9.0
# Curvature, relative to what the preconditioner expects, that is only rounding.
SINGULAR = 1e-12
# Leave out the rows without curvature if at most this part has any.
MOST_ACTIVE = 0.7
# Rebuild the preconditioner after this large a change of the curvature, or this many products.
STALE_CHANGE, STALE_PRODUCTS = 0.5, 10
# A factor of the whole Hessian that costs this many products waits until a step with a factor of
# the leading features has taken this part of them.
EXPENSIVE, PATIENCE = 100, 0.5


class ConjugateGradients:
    """Truncated Newton steps: each costs a few dozen products with X and Xᵀ."""

    unsettled = None

    def __init__(self, problem: Problem):
        self.problem = problem
        self._preconditioner: PerOutput | SharedBlock | None = None
        self._made_at, self._before = np.zeros(0), 0.0
        self._products, self._accuracy = 0, FIRST_ACCURACY
        self._is_careful = False
        self._is_whole = cost_of_factors(problem) < EXPENSIVE

    def estimate(self, at: Iterate) -> float | None:
        """About P − P*, or more: the gap, or half the squared decrement by the preconditioner."""
        if at.gap_guess is not None:
            return GAP_MARGIN * at.gap_guess
        if self._preconditioner is None:
            return None
        return 0.5 * at.gradient.dot(self._preconditioner.solve(at.gradient))

    def step(self, at: Iterate, damping: Damping) -> Change | None:
        """Approximately −H⁻¹∇P; None if the bias is undetermined."""
        hessian = Hessian(at, damping)
        if self._preconditioner is None or self._is_stale(at):
            made = make_preconditioner(
                hessian.problem, hessian.curvature, hessian.l2, is_whole=self._is_whole
            )
            if made is None or not made.answers(at.gradient):
                return None
            self._preconditioner, self._made_at = made, at.curvature
        near = self._preconditioner.solve(at.gradient)
        size = math.sqrt(max(at.gradient.dot(near), 0.0))
        progress = size / self._before if self._before > 0 else 1.0
        progress = 0.0 if self._is_careful else progress
        self._accuracy = min(FIRST_ACCURACY, max(progress, BEST_ACCURACY))
        self._before, self._is_careful = size, False
        step, self._products = conjugate_gradients(
            hessian, at.gradient, near, self._preconditioner, self._accuracy
        )
        if self._products > PATIENCE * cost_of_factors(self.problem):
            self._is_whole = True
        return step if step is None else hessian.without_shifts(step, at)

    def _is_stale(self, at: Iterate) -> bool:
        """Whether the preconditioner is for too different a Hessian, or is cheap to rebuild."""
        if self.problem.d > MOST_FACTORED or self._products >= STALE_PRODUCTS:
            return True
        change = float(np.sum(np.abs(at.curvature - self._made_at)))
        return change > STALE_CHANGE * float(np.sum(self._made_at))

    def renew(self) -> bool:
        """Whether a more accurate solution may make the next step better than the last."""
        self._products, self._is_careful = STALE_PRODUCTS, True
        return self._accuracy > BEST_ACCURACY


def conjugate_gradients(
    hessian: Hessian,
    gradient: Change,
    near: Change,
    preconditioner: PerOutput | SharedBlock,
    accuracy: float,
) -> tuple[Change | None, int]:
    """Approximately −H⁻¹g: the residual, in the preconditioner's norm, is `accuracy` times g.

    `near` is the preconditioned g. Stops before a direction without curvature; None if that is the
    first, or if nothing is left of the gradient. The second result is the number of products.
    """
    zero = Change(np.zeros_like(gradient.w), np.zeros_like(gradient.b))
    x, residual = zero, zero.plus(gradient, -1.0)
    direction = zero.plus(near, -1.0)
    size = residual.dot(direction)
    first = expected = size
    for products in range(1, MOST_PRODUCTS + 1):
        check()
        product = hessian.times(direction)
        curvature = direction.dot(product)
        if not (size > 0 and curvature > SINGULAR * expected):
            return (x if products > 1 else None), products
        t = size / curvature
        x, residual = x.plus(direction, t), residual.plus(product, -t)
        near = preconditioner.solve(residual)
        size, before = residual.dot(near), size
        if not size > accuracy**2 * first:
            break
        direction = near.plus(direction, size / before)
        # The curvature along the direction if the preconditioner were the Hessian.
        expected = size + (size / before) ** 2 * expected
    return x, products


class Hessian:
    """The Hessian at an iterate, as an operator on the rows with curvature.

    Many rows of a squared hinge have none and need not be multiplied. A row's Hessian in its scores
    is s·(diag(a) − ffᵀ). Both factors are scaled to about one, because float32 ends at 1e±38.
    """

    def __init__(self, at: Iterate, damping: Damping):
        problem = at.problem
        factors = at.hessian_factors() if problem.loss.task == "multiclass" else None
        curvature = damped(at.curvature, problem.row_weights, damping.rows)
        added = curvature - at.curvature if damping.rows else None
        active = np.flatnonzero(np.einsum("nk->n", columns(curvature)))
        if len(active) <= MOST_ACTIVE * problem.n:
            design = problem.design.rows(active)
            problem = replace(
                problem, design=design, y=problem.y[active], weights=problem.weights[active]
            )
            curvature = curvature[active]
            added = None if added is None else added[active]
            if factors is not None:
                factors = tuple(None if part is None else part[active] for part in factors)
        self.problem, self.curvature, self.l2 = problem, curvature, at.l2
        if damping.diagonal:
            squares = [problem.design.column_square_sums(c) for c in columns(curvature).T]
            lift = damping.diagonal * np.stack(squares, axis=1)
            self.l2 = at.l2 + lift.reshape(at.w.shape)
        self.precision = problem.design.dtype
        a, f = curvature, None
        self.is_shift_invariant = False
        if factors is not None:
            a, f = factors
            self.is_shift_invariant = f is not None and is_shift_invariant(a, f)
            a = problem.weighted(a)
            if f is not None and not problem.has_unit_weights:
                f = np.sqrt(problem.row_weights) * f
            a = a if added is None else a + added
        self.unit = float(np.max(a, initial=0.0)) or 1.0
        self.a = np.ascontiguousarray(a / self.unit, dtype=self.precision)
        self.f = f
        if f is not None:
            self.f = np.ascontiguousarray(f / math.sqrt(self.unit), dtype=self.precision)

    def times(self, v: Change) -> Change:
        """Hv, in the precision of the data."""
        design = self.problem.design
        size = max(float(np.max(np.abs(part), initial=0.0)) for part in (v.w, v.b)) or 1.0
        w, b = ((part / size).astype(self.precision) for part in (v.w, v.b))
        w, b = design.hessian_times(self.a, self.f, w, b)
        w = (self.unit * size) * w.astype(float) + self.l2 * v.w
        return Change(w, self.unit * size * b if self.problem.fit_bias else np.zeros_like(v.b))

    def without_shifts(self, step: Change, at: Iterate) -> Change:
        """Make the step exact where only differences between classes matter to the loss.

        There the penalty alone decides: coefficients that sum to 0 over the classes are best.
        """
        if not self.is_shift_invariant:
            return step
        shift = np.where(at.l2 > 0, at.w, 0.0) + step.w
        return Change(step.w - shift.mean(axis=1, keepdims=True), step.b - step.b.mean())
