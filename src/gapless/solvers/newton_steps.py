"""The iterates of Newton's method, and steps from a factor of the Hessian XᵀDX + Λ.

`Blocks` factorises the Hessian of each output, `Joint` that of all classes together; the
alternative in `conjugate_gradients` only multiplies by the Hessian. Called by `newton`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..problem import FreeColumns, Problem, joint_hessian
from ._base import Point
from .positive_definite import EPS, Cholesky, Eigen, centred_rows, drop_constants

Array = np.ndarray

# Reuse a factor while every step reduces the squared decrement by this factor.
FAST = 0.05**2
# Quadratic convergence reduces it by at least this factor per step, and coefficients settle within
# this many steps; without a minimiser, as for separable data, they never do.
SHRINKS, LONGEST_WAIT = 0.05, 6
# The part of the gradient that a singular Hessian may leave unexplained.
UNANSWERED = 1e-6
# Factorise the rows themselves if their Gram matrix is singular and this takes about a second.
CHEAP_ROWS = 2e10
# Leave rows without curvature out of the Hessian if at most this part has any.
MOST_CURVED = 0.5
# A mean curvature that counts as zero: dividing by it would overflow.
NOTHING = 1e-100


def inner(a: Array, b: Array) -> float:
    """Σ aᵢbᵢ, summed in an order that does not depend on threads."""
    return float(np.einsum("i,i->", a.ravel(), b.ravel()))


def strengths(problem: Problem) -> Array:
    """The l2ⱼ, as a column if there are several outputs."""
    coordinates = problem.coordinates
    assert coordinates is not None
    l2 = coordinates.l2
    return l2 if problem.outputs is None else l2[:, None]


@dataclass(frozen=True)
class Damping:
    """What is added to the Hessian if its steps fail (Levenberg 1944, Marquardt 1963).

    `rows` is added to the curvature of every row, in units of their mean, because some have none;
    `diagonal` to the diagonal of H, in its own units, because rounding dominates an ill-conditioned
    H.
    """

    rows: float = 0.0
    diagonal: float = 0.0


@dataclass(frozen=True, eq=False)
class Change:
    """A change of the parameters, or a gradient with respect to them."""

    w: Array
    b: Array

    def dot(self, other: Change) -> float:
        """The inner product."""
        return inner(self.w, other.w) + inner(self.b, other.b)

    def plus(self, other: Change, factor: float = 1.0) -> Change:
        """self + factor·other."""
        return Change(self.w + factor * other.w, self.b + factor * other.b)


class Iterate:
    """Parameters, z = Xw + b, the objective, and the derivatives of the loss, weights included."""

    def __init__(self, problem: Problem, l2: Array, w: Array, b: Array, z: Array | None = None):
        self.problem, self.l2 = problem, l2
        self.w, self.b = w, np.asarray(b, dtype=float)
        passed = problem.row_pass(self.w, self.b) if z is None and np.any(w) else None
        if passed is not None:
            self.z, self._product = passed.z, passed.product
            value, slope, curvature = passed.value, passed.slope, passed.curvature
        else:
            self.z, self._product = problem.predictions(w, b) if z is None else z, None
            value, slope, curvature = problem.loss.derivatives(problem.y, self.z)
        self.primal = problem.weighted_sum(value) + problem.penalty.value(w)
        self.loss_gradient = slope
        self.slope, self.curvature = problem.weighted(slope), problem.weighted(curvature)

    def hessian_factors(self) -> tuple[Array, Array | None]:
        """a and f: the Hessian of row i in its scores is diag(aᵢ) − fᵢfᵢᵀ, without its weight."""
        return self.problem.loss.hessian_factors(self.problem.y, self.z, self.loss_gradient)

    @cached_property
    def gradient(self) -> Change:
        """∇P; 0 for the bias if there is none."""
        problem = self.problem
        product = self._product
        if product is None:
            product = problem.design.transposed_times(self.slope)
        w = product + self.l2 * self.w
        b = self.slope.sum(axis=0) if problem.fit_bias else np.zeros_like(self.b)
        return Change(w, np.asarray(b))

    @cached_property
    def gap_guess(self) -> float | None:
        """P − D at the dual point that `point` hands over, except for the bias.

        At θ = −sℓ′ Fenchel's inequality is tight in every row, and the penalty leaves Σ
        gⱼ²/(2·l2ⱼ). None with free features, to which θ must be made orthogonal.
        """
        if not np.all(self.l2 > 0):
            return None
        return min(float(np.sum(self.gradient.w**2 / (2 * self.l2))), self._gap_at_zero)

    @cached_property
    def _gap_at_zero(self) -> float:
        """P − D(0) = P − Σ s·min ℓ if the data are almost fitted; else ∞, uncomputed."""
        problem = self.problem
        if self.primal > 1e-3 * problem.scale:
            return math.inf
        return self.primal - problem.weighted_sum(problem.loss.smallest(problem.y))

    def point(self, estimate: float | None, unsettled: float | None = None) -> Point:
        """The iterate as a `Point`."""
        is_fitted = self.gap_guess is not None and self.gap_guess == self._gap_at_zero
        if is_fitted:
            theta, product = np.zeros_like(self.slope), np.zeros_like(self.w)
        else:
            theta, product = -self.slope, self.l2 * self.w - self.gradient.w
        return Point(
            self.w, self.b, self.z, theta, estimate, self.primal, product, unsettled=unsettled
        )


class Line:
    """The iterates at + t·step.

    The one after a whole step, where most searches end, is computed from its coefficients by a
    single pass over X, where there is one; the others need only X·step, computed once.
    """

    def __init__(self, at: Iterate, step: Change):
        self.start, self.step = at, step

    @cached_property
    def _along(self) -> Array:
        """By how much a whole step moves z."""
        return self.start.problem.design.times(self.step.w) + self.step.b

    def at(self, t: float) -> Iterate:
        """The iterate after t·step."""
        at, step = self.start, self.step
        w, b = at.w + t * step.w, at.b + t * step.b
        is_passed = t == 1 and at.problem.has_row_pass and np.any(w)
        return Iterate(at.problem, at.l2, w, b, None if is_passed else at.z + t * self._along)

    def slope(self, there: Iterate) -> float:
        """dP/dt at one of the iterates."""
        if "_along" not in vars(self):
            return there.gradient.dot(self.step)
        return inner(there.slope, self._along) + inner(there.l2 * there.w, self.step.w)


class Factored:
    """Steps from a factor of the Hessian, which is kept while it contracts fast.

    Near the solution a step with the old factor costs two products with X and no Gram matrix. Once
    the steps shrink fast, the gap is not computed before the coefficients have settled: the last
    steps cost little, and make coefficients agree to many more digits than the gap requires.
    """

    def __init__(self, problem: Problem):
        self.problem = problem
        self.is_factored = False
        self._by_old: Change | None = None
        self._is_old = False
        self.unsettled: float | None = None
        self._before, self._waits = math.inf, 0
        # Changes of the parameters and of the gradient, with their products, since the factor.
        self._pairs: list[tuple[Change, Change, float]] = []
        self._last: Iterate | None = None

    def begin_with(self, other: Factored) -> None:
        """Take the first steps by the factor of a similar problem, if its form allows it."""

    def estimate(self, at: Iterate) -> float | None:
        """About P − P*, without a new factor."""
        self.unsettled = None
        if not self.is_factored:
            return at.gap_guess
        self._remember(at)
        self._by_old = self._corrected(at.gradient)
        squared = -at.gradient.dot(self._by_old)
        is_fast = squared <= SHRINKS * self._before
        self._waits = self._waits + 1 if is_fast else 0
        if 0 < self._waits <= LONGEST_WAIT:
            self.unsettled = self._relative_change(at, squared)
        return 0.5 * squared if at.gap_guess is None else at.gap_guess

    def step(self, at: Iterate, damping: Damping) -> Change | None:
        """−H⁻¹∇P by the old factor if it is good enough, else by a new one; None if singular."""
        if self._by_old is not None:
            step, self._by_old = self._by_old, None
            squared = -at.gradient.dot(step)
            if squared <= FAST * self._before:
                self._before, self._is_old = squared, True
                return step
        if not self._factorise(at, damping):
            return None
        self.is_factored, self._is_old = True, False
        self._pairs, self._last = [], at
        step = self._solve(at.gradient)
        self._before = -at.gradient.dot(step)
        return step

    def renew(self) -> bool:
        """Whether a new factor may make the next step better than the last."""
        return self._is_old

    def _remember(self, at: Iterate) -> None:
        """What the way from the last iterate says about the Hessian."""
        if self._last is not None:
            moved = Change(at.w, at.b).plus(Change(self._last.w, self._last.b), -1.0)
            turned = at.gradient.plus(self._last.gradient, -1.0)
            product = moved.dot(turned)
            if product > EPS * math.sqrt(moved.dot(moved) * turned.dot(turned)):
                self._pairs.append((moved, turned, product))
        self._last = at

    def _corrected(self, gradient: Change) -> Change:
        """−H⁻¹∇P where H is the old matrix, corrected by the changes since (L-BFGS).

        A factor that is wrong in a few directions, such as that of a sample with few rows of some
        kind, so costs a few steps and not a new one (Nocedal and Wright, algorithm 7.4).
        """
        shares = []
        for moved, turned, product in reversed(self._pairs):
            shares.append(moved.dot(gradient) / product)
            gradient = gradient.plus(turned, -shares[-1])
        step = self._solve(gradient)
        for (moved, turned, product), share in zip(self._pairs, reversed(shares)):
            step = step.plus(moved, -share - turned.dot(step) / product)
        return step

    def _relative_change(self, at: Iterate, squared: float) -> float:
        """The change of the coefficients by the next step; 0 if it leaves the objective alone."""
        if abs(squared) <= 0.01 * EPS * abs(at.primal):
            return 0.0
        assert self._by_old is not None
        w_size, b_size = self._sizes(Change(at.w, at.b))
        w_change, b_change = self._sizes(self._by_old)
        changes = (w_change, w_size), (b_change, max(w_size, b_size))
        return max(change / size if size > 0 else math.inf for change, size in changes if change)

    def _factorise(self, at: Iterate, damping: Damping) -> bool:
        """Compute the Hessian at an iterate; False if it cannot explain the gradient."""
        raise NotImplementedError

    def _solve(self, gradient: Change) -> Change:
        """−H⁻¹∇P."""
        raise NotImplementedError

    def _sizes(self, change: Change) -> tuple[float, float]:
        """The largest entries for w and b, in units in which H has a unit diagonal."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Block:
    """The factorised Hessian of one output, the bias eliminated by centring the rows at m.

    H = [XᵀDX + Λ, Tm; Tmᵀ, T] with T = ΣD and m the mean of the rows weighted by D.
    """

    factor: Cholesky | Eigen
    mean: Array
    total: float

    @classmethod
    def make(
        cls,
        problem: Problem,
        l2: Array,
        curvature: Array,
        lift: float = 0.0,
        single: bool = False,
    ) -> Block | None:
        """The block for given curvatures; None if the bias is undetermined.

        With `single`, a float32 factor of float32 data will do, as for a preconditioner.
        """
        design, total = problem.design, 0.0
        mean = np.zeros(problem.d)
        if problem.fit_bias:
            total = float(curvature.sum())
            if not total > NOTHING * float(problem.weights.sum()):
                return None
            mean = design.transposed_times(curvature) / total
            design = design.shifted(mean)
        # Without a penalty, recognising a constant feature takes double precision.
        if single and lift == 0 and np.all(l2 > 0):
            H = design.gram(curvature, single=True)
            H[np.diag_indices(problem.d)] += l2.astype(H.dtype)
            rough = Cholesky(H)
            if rough.is_reliable:
                return cls(rough, mean, total)
        H = design.gram(curvature)
        drop_constants(H, l2, total * mean**2, problem.n)
        l2 = l2 + lift * np.diag(H)
        H[np.diag_indices(problem.d)] += l2
        factor: Cholesky | Eigen = Cholesky(H.copy())
        if not factor.is_reliable and problem.n * problem.d**2 > CHEAP_ROWS:
            factor = Eigen.of(H)
        elif not factor.is_reliable:
            rows = centred_rows(design, curvature) if problem.fit_bias else design.dense()
            roots = np.sqrt(curvature)[:, None] * rows
            factor = Eigen.of_rows(np.vstack([roots, np.diag(np.sqrt(l2))]))
        return cls(factor, mean, total)

    def solve(self, g_w: Array, g_b: Array | float) -> tuple[Array, Array]:
        """The (w, b) with H(w, b) = g; columns of g are solved at once."""
        w = self.factor.solve(g_w - np.multiply.outer(self.mean, g_b))
        mean = self.mean if w.ndim == 1 else self.mean[:, None]
        return w, bias_step(g_b, self.total, mean * w)

    def unanswered(self, g_w: Array, g_b: Array | float) -> tuple[float, float]:
        """‖·‖² of the part of g outside the range of H, and of g."""
        return self.factor.unanswered(g_w - np.multiply.outer(self.mean, g_b))


class Blocks(Factored):
    """One factor per output if the loss does not couple outputs: O(n·d² + d³) each."""

    def begin_with(self, other: Factored) -> None:
        """Take over the blocks."""
        if isinstance(other, Blocks) and other.is_factored:
            self.blocks, self.is_factored = other.blocks, True

    def _factorise(self, at, damping):
        problem, l2 = self.problem, np.ravel(at.l2)
        curvatures = columns(damped(at.curvature, problem.row_weights, damping.rows)).T
        blocks = [Block.make(problem, l2, column, damping.diagonal) for column in curvatures]
        parts = zip(blocks, columns(at.gradient.w).T, np.ravel(at.gradient.b))
        if None in blocks or not is_answered(parts):
            return False
        self.blocks = blocks
        return True

    def _solve(self, gradient):
        pairs = zip(self.blocks, columns(gradient.w).T, np.ravel(gradient.b))
        solved = [block.solve(-g_w, -float(g_b)) for block, g_w, g_b in pairs]
        w = np.stack([w for w, _ in solved], axis=1).reshape(gradient.w.shape)
        return Change(w, np.array([b for _, b in solved]).reshape(gradient.b.shape))

    def _sizes(self, change):
        pairs = zip(self.blocks, columns(change.w).T, np.ravel(change.b))
        sizes = [
            (np.max(np.abs(w) / block.factor.scale, initial=0.0), math.sqrt(block.total) * abs(b))
            for block, w, b in pairs
        ]
        return max(w for w, _ in sizes), max(b for _, b in sizes)


class Joint(Factored):
    """One factor for K scores coupled by the loss: O(K²·n·d² + K³d³), for small K·d.

    The Hessian of row i in its scores is diag(aᵢ) − fᵢfᵢᵀ. The bias is a last column of ones next
    to the centred features.
    """

    def __init__(self, problem: Problem):
        super().__init__(problem)
        self.mean = np.zeros(problem.d)
        if problem.fit_bias and problem.weights.sum() > 0:
            share = problem.weights / problem.weights.sum()
            self.mean = problem.design.transposed_times(share)
        self.design = problem.design.shifted(self.mean) if problem.fit_bias else problem.design

    def _factorise(self, at, damping):
        problem = self.problem
        a, f = at.hessian_factors()
        f = np.zeros_like(a) if f is None else f
        extra = damped(at.curvature, problem.weights[:, None], damping.rows) - at.curvature
        K, m = a.shape[1], problem.d + problem.fit_bias
        design, rows = self.design, np.flatnonzero(np.any(a + extra > 0, axis=1))
        if len(rows) <= MOST_CURVED * problem.n:
            design = self.design.rows(rows)
        else:
            rows = np.arange(problem.n)
        a, f, extra, s = a[rows], f[rows], extra[rows], problem.weights[rows, None]
        columns = FreeColumns(design, problem.fit_bias)
        H = joint_hessian(s * a + extra, np.sqrt(s) * f, columns).reshape(K, m, K, m)
        l2 = np.append(np.ravel(at.l2), np.zeros(m - problem.d))
        if is_shift_invariant(a, f):
            self._fix_shifts(H, l2 == 0)
        H = H.reshape(K * m, K * m)
        l2 = np.tile(l2, K) + damping.diagonal * np.diag(H)
        H[np.diag_indices(K * m)] += l2
        self.factor = Cholesky(H.copy())
        if not self.factor.is_reliable and len(rows) * K * (K * m) ** 2 > CHEAP_ROWS:
            self.factor = Eigen.of(H)
        elif not self.factor.is_reliable:
            self.factor = Eigen.of_rows(self._roots(rows, a, f, extra, l2))
        missed, whole = self.factor.unanswered(self._stacked(at.gradient))
        return missed <= UNANSWERED * whole

    def _roots(self, index: Array, a: Array, f: Array, extra: Array, l2: Array) -> Array:
        """A with AᵀA = H: per row with curvature, the K × K root of its Hessian times [x, 1]."""
        problem = self.problem
        s, K = problem.weights[index], a.shape[1]
        row = -(s[:, None, None] * f[:, :, None] * f[:, None, :])
        row[:, np.arange(K), np.arange(K)] += s[:, None] * a + extra
        values, vectors = np.linalg.eigh(row)
        # The root of a rounded zero would look like a value.
        values[values <= 8 * K * EPS * values[:, -1:]] = 0.0
        roots = np.sqrt(values)[:, :, None] * vectors.transpose(0, 2, 1)
        if problem.fit_bias:
            rows = centred_rows(self.design, problem.weights)[index]
            rows = np.column_stack([rows, np.ones(len(index))])
        else:
            rows = self.design.rows(index).dense()
        A = roots[:, :, :, None] * rows[:, None, None, :]
        return np.vstack([A.reshape(len(index) * K, -1), np.diag(np.sqrt(l2))])

    @staticmethod
    def _fix_shifts(H: Array, is_free: Array) -> None:
        """Make H regular although the same shift of all scores changes nothing.

        Steps then sum to 0 over the classes, because the gradient does.
        """
        K = H.shape[0]
        for j in np.flatnonzero(is_free):
            H[:, j, :, j] += np.trace(H[:, j, :, j]) / K**2

    def _stacked(self, change: Change) -> Array:
        """The gradient with respect to the centred features and the bias, class by class."""
        w = change.w - np.multiply.outer(self.mean, change.b)
        return (np.vstack([w, change.b]) if self.problem.fit_bias else w).ravel(order="F")

    def _solve(self, gradient):
        K = len(gradient.b)
        x = self.factor.solve(-self._stacked(gradient)).reshape(K, -1).T
        w = x[: self.problem.d]
        if not self.problem.fit_bias:
            return Change(w, np.zeros(K))
        return Change(w, x[-1] - np.sum(self.mean[:, None] * w, axis=0))

    def _sizes(self, change):
        scale = self.factor.scale.reshape(len(change.b), -1).T
        w = np.max(np.abs(change.w) / scale[: self.problem.d], initial=0.0)
        return w, (np.max(np.abs(change.b) / scale[-1]) if self.problem.fit_bias else 0.0)


def bias_step(g_b: Array | float, total: Array | float, moved: Array) -> Array:
    """The change of the bias for its slope and curvature; the features move it by `moved`."""
    shift = np.einsum("j...->...", moved)
    return np.divide(g_b, total) - shift if np.any(total) else np.zeros_like(shift)


def is_answered(parts: Iterable[tuple[Any, Array, Any]]) -> bool:
    """Whether blocks, if singular, still determine steps for their parts (g_w, g_b) of ∇P."""
    answers = [block.unanswered(g_w, g_b) for block, g_w, g_b in parts]
    return sum(missed for missed, _ in answers) <= UNANSWERED * sum(whole for _, whole in answers)


def is_shift_invariant(a: Array, f: Array) -> bool:
    """Whether one shift of all scores changes nothing, as for softmax: (diag(a) − ffᵀ)1 = 0."""
    rest = np.max(np.abs(a - f * f.sum(axis=1, keepdims=True)), initial=0.0)
    return bool(rest <= 1e-10 * max(1.0, np.max(a, initial=0.0)))


def damped(curvature: Array, weights: Array, damping: float) -> Array:
    """s·ℓ″ with damping times its mean added in every row; if all are 0, with s added."""
    if not damping:
        return curvature
    total = float(np.sum(np.broadcast_to(weights, curvature.shape)))
    mean = float(curvature.sum()) / total if total > 0 else 0.0
    return curvature + (damping * mean if mean > NOTHING else 1.0) * weights


def columns(a: Array) -> Array:
    """(n,) as (n, 1); (n, K) as it is."""
    return a if a.ndim == 2 else a[:, None]
