"""The objective, its lower bound and the conditions of optimality, recomputed row by row.

Called by `certificates` alone. Nothing from a solver is trusted: the dual point comes with its
product with the data, its feasibility is checked, and rounding is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..problem import EPS, Bound, Problem, column_norms

Array = np.ndarray

# A bound holds for coefficients of unpenalised columns up to this multiple of the size at which a
# column alone is as large as the predictions. Aᵀθ = 0 holds except for rounding, so nothing can be
# said about larger ones; only columns that are equal up to rounding could use them.
FAR = 1e3


@dataclass(frozen=True)
class Violation:
    """The largest violation of a condition, and its row or feature (None: nowhere)."""

    value: float = 0.0
    where: tuple[int, ...] | None = None

    @classmethod
    def largest(cls, violations: Array, positions: Array | None = None) -> Violation:
        """The largest entry; `positions` are the row numbers of the array, 0, 1, … if None."""
        if not violations.size:
            return cls()
        place = tuple(int(i) for i in np.unravel_index(violations.argmax(), violations.shape))
        if not violations[place] > 0:
            return cls()
        where = place if positions is None else (int(positions[place[0]]), *place[1:])
        return cls(float(violations[place]), where)


@dataclass(frozen=True)
class Conditions:
    """The three conditions of optimality (Karush, Kuhn and Tucker), each by its largest violation.

    With all three at 0 the parameters are optimal and the gap is 0.

    Attributes
    ----------
    stationarity : Violation
        Distance of Xᵀθ to the subdifferential of R at w, at a feature (and output).
    feasibility : Violation
        |X_jᵀθ| at a free feature j, or |Σθ| for a free bias (as feature d): what rounding leaves.
    complementarity : Violation
        sℓ(y, z) + sℓ*(y, −θ/s) + θz at a row: 0 where −θ/s is a slope of the loss at z.
    """

    stationarity: Violation = field(default_factory=Violation)
    feasibility: Violation = field(default_factory=Violation)
    complementarity: Violation = field(default_factory=Violation)

    def worst_of(self, other: Conditions) -> Conditions:
        """The larger violation of each condition."""

        def worse(a: Violation, b: Violation) -> Violation:
            return a if a.value >= b.value else b

        return Conditions(
            worse(self.stationarity, other.stationarity),
            worse(self.feasibility, other.feasibility),
            worse(self.complementarity, other.complementarity),
        )


@dataclass(frozen=True, eq=False)
class Evaluation:
    """P and D with a bound on the rounding of P − D, and the conditions of optimality."""

    primal: float
    dual: float
    rounding: float
    conditions: Conditions


def evaluate(
    problem: Problem, w: Array, b: Array, z: Array, bound: Bound, norms: Array
) -> Evaluation | None:
    """P at (w, b) and D at the dual point of `bound`; None if that point is infeasible.

    `norms` are those of the columns over rows of positive weight.
    """
    theta, v = bound.theta, bound.product
    if not _is_feasible(problem, bound, v, norms):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.abs(z) + _size_of_targets(problem)
        # How far rounding may move each z: by its own part, and by one that all rows share.
        own = 4 * EPS * (sizes + np.abs(b))
        shared = _walk(problem.d) * float(np.sum((np.abs(w).T * norms).T))
        losses, steepest = _losses_and_slopes(problem, z, own + shared)
        conjugates = problem.row_conjugates(_slopes(problem, theta))
        R, R_conjugate = problem.penalty.value(w), problem.penalty.conjugate(bound.v)
        primal = problem.weighted_sum(losses) + R
        dual = -problem.weighted_sum(conjugates) - R_conjugate
        terms = abs(R) + abs(R_conjugate)
        terms += problem.weighted_sum(np.abs(losses)) + problem.weighted_sum(np.abs(conjugates))
        if problem.loss.task != "regression":
            # Margins and probabilities are compared with 1 and rounded like 1; a probability p of
            # rounding size that should be 0 contributes −p·log p.
            terms += 64 * float(problem.weights.sum())
        rounding = (8 + np.log2(1 + _rows(problem))) * EPS * terms
        # The rounding of z in P counts through the steepest slope within its reach.
        rounding += float(np.sum(steepest * own)) + shared * float(np.sum(column_norms(steepest)))
        rounding += _rounding_of_dual(problem, w, sizes, bound, norms)
    if not np.isfinite(primal - dual + rounding):
        return None
    conditions = Conditions(
        Violation.largest(problem.penalty.subdifferential_distance(w, -v)),
        feasibility(problem, theta, v),
        _complementarity(problem, z, theta, losses + conjugates),
    )
    return Evaluation(primal, dual, rounding, conditions)


def _slopes(problem: Problem, theta: Array) -> Array:
    """u = −θ/s, put back into the domain of ℓ*(y, ·) if rounding took it out."""
    if problem.has_unit_weights:
        u = -theta
    else:
        s = np.broadcast_to(problem.row_weights, theta.shape)
        u = -np.divide(theta, s, out=np.zeros_like(theta), where=s > 0)
    return np.clip(u, *problem.loss.dual_domain(problem.y))


def _is_feasible(problem: Problem, bound: Bound, v: Array, norms: Array) -> bool:
    """Whether θ is in its box, orthogonal to the free columns up to rounding, and R* finite."""
    theta = bound.theta
    if not _is_in_box(problem, theta):
        return False
    size = column_norms(theta)
    if problem.loss.task == "multiclass":
        # θ = s(e_y − p) is a difference of numbers of size s.
        size = np.full_like(size, column_norms(problem.weights))
    rest = 64 * _walk(_rows(problem)) * np.multiply.outer(norms, size)
    if np.any(np.abs(v[problem.free]) > rest[problem.free]):
        return False
    total = np.abs(theta.sum(axis=0))
    if problem.fit_bias and np.any(total > 64 * EPS * np.sqrt(_rows(problem)) * size):
        return False
    # bound.v is v with rounding beyond a limit of R* undone: the change must be no more than that.
    return bool(np.all(np.abs(v - bound.v) <= rest))


def _is_in_box(problem: Problem, theta: Array) -> bool:
    """Whether every θᵢ is in its interval, up to the rounding of s·(θ/s)."""
    if not problem.has_box:
        return bool(np.all(np.isfinite(theta)))
    lower, upper = problem.box()
    slack = 4 * EPS * np.maximum(np.abs(theta), problem.row_weights)
    return bool(np.all((theta >= lower - slack) & (theta <= upper + slack)))


def _rows(problem: Problem) -> int:
    """The number of rows summed: one of weight 0 adds 0, without rounding."""
    return int(np.count_nonzero(problem.weights)) if problem.has_zero_weights else problem.n


def _walk(steps: int) -> float:
    """The relative error of a sum of products, modelled as a random walk (Higham and Mary 2019)."""
    return EPS * (4 + np.sqrt(steps))


def _losses_and_slopes(problem: Problem, z: Array, reach: Array) -> tuple[Array, Array]:
    """ℓ of each target at z, and the largest s|ℓ′| within the reach of rounding.

    Where |ℓ‴| ≤ ℓ″, the slope at a distance r is at most |ℓ′| + (exp(r) − 1)ℓ″, which saves two
    exponentials per row.
    """
    is_curved = problem.loss.is_self_concordant and problem.loss.has_curvature
    if is_curved and problem.outputs is None:
        losses, slope, curvature = problem.loss.derivatives(problem.y, z)
        # exp(r) − 1 ≤ r + r² for r ≤ 1, where an exponential per row would say no more.
        rise = reach * (1 + reach) if np.max(reach, initial=0.0) <= 1 else np.expm1(reach)
        return losses, problem.weighted(np.abs(slope) + rise * curvature)
    steepest = np.maximum(
        np.abs(problem.derivative(z - reach)), np.abs(problem.derivative(z + reach))
    )
    return problem.row_losses(z), steepest


def _rounding_of_dual(
    problem: Problem, w: Array, sizes: Array, bound: Bound, norms: Array
) -> float:
    """The loss in D by the rounding of u and v, and by an Aᵀθ that is only nearly 0.

    `sizes` are those of the scores and targets of the rows.
    """
    theta, v = bound.theta, bound.product
    lost = 4 * EPS * float(np.sum(np.abs(theta) * sizes))
    reach = np.maximum(np.abs(w), _reach(problem, bound.v))
    walk = _walk(_rows(problem)) * np.multiply.outer(norms, column_norms(theta)) + np.abs(
        v - bound.v
    )
    lost += 2 * float(np.sum(walk * reach))
    # Weak duality leaves ⟨Aᵀθ, best coefficients⟩, which may be much larger than ours.
    free = problem.free[norms[problem.free] > 0]
    if problem.has_zero_weights:
        sizes = (problem.row_weights > 0) * sizes
    size = FAR * float(np.max(column_norms(sizes)))
    lost += size * float(np.sum(np.abs(v[free]).T / norms[free]))
    if problem.fit_bias:
        lost += size / np.sqrt(_rows(problem)) * float(np.sum(np.abs(theta.sum(axis=0))))
    return lost


def _size_of_targets(problem: Problem) -> Array | float:
    """|y| if z is compared with it as a number, 1 for a label."""
    return np.abs(problem.y) if problem.loss.task == "regression" else 1.0


def _reach(problem: Problem, v: Array) -> Array:
    """The size of the coefficients at which R*(v) is attained, if its quadratic part decides."""
    coordinates = problem.coordinates
    if coordinates is None:
        return np.zeros_like(v)
    l1, l2, _, _ = coordinates.like(v)
    excess = np.maximum(np.abs(v) - l1, 0.0)
    return np.divide(excess, l2, out=np.zeros_like(v), where=np.broadcast_to(l2 > 0, v.shape))


def feasibility(problem: Problem, theta: Array, v: Array) -> Violation:
    """The largest entry of Aᵀθ, which should be 0; the bias is named as feature d."""
    positions, rest = problem.free, np.abs(v[problem.free])
    if problem.fit_bias:
        positions = np.append(positions, problem.d)
        rest = np.concatenate([rest, np.abs(theta.sum(axis=0, keepdims=True))])
    return Violation.largest(rest, positions)


@dataclass(frozen=True)
class Slopes:
    """The slopes up to which a point counts as stationary: in a feature, and in the bias."""

    of_features: float
    of_bias: float

    def hold(self, kkt: Conditions, d: int) -> bool:
        """Whether the violations are no larger; the bias is feature d."""
        place, value = kkt.feasibility.where, kkt.feasibility.value
        of_bias = place is not None and place[0] == d
        limit = self.of_bias if of_bias else self.of_features
        return kkt.stationarity.value <= self.of_features and value <= limit


def slope_rounding(problem: Problem, theta: Array, norms: Array) -> float:
    """How far rounding may move an entry of Xᵀθ, for columns of these norms."""
    size = float(np.max(column_norms(theta), initial=0.0))
    return 64 * _walk(_rows(problem)) * float(np.max(norms, initial=0.0)) * size


def row_violations(problem: Problem, z: Array, theta: Array) -> Violation:
    """The largest sℓ + sℓ* + θz of a row; ∞ if θ is outside its box."""
    if not _is_in_box(problem, theta):
        return Violation(np.inf)
    both = problem.loss.value(problem.y, z) + problem.loss.conjugate(
        problem.y, _slopes(problem, theta)
    )
    return _complementarity(problem, z, theta, both)


def _complementarity(problem: Problem, z: Array, theta: Array, both: Array) -> Violation:
    """The largest Fenchel–Young term of a row, from ℓ + ℓ*."""
    products = theta * z
    if both.ndim < products.ndim:
        products = products.sum(axis=1)
    if problem.has_unit_weights:
        return Violation.largest(both + products)
    s = problem.weights if both.ndim == 1 else problem.weights[:, None]
    terms = np.where(s > 0, s * np.where(s > 0, both, 0.0) + products, 0.0)
    return Violation.largest(terms)
