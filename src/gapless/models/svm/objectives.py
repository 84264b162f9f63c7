"""The objective of each machine: a problem in a box for the solver, and primal and dual values.

An objective knows targets y, weights s and scores z of the rows of one problem, but no kernel,
which the solver and `machine` add. θ is the dual variable of the rows with w = Σ θᵢφ(xᵢ), so that
‖w‖² = θᵀKθ = Σ θᵢ(zᵢ − b) with z = Kθ + b. Every objective gives the gap P − D row by row, so that
one can see where it comes from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...losses import EpsilonInsensitive, Hinge, Loss
from ...problem import minimise_bias
from ...solvers import BoxProblem, BoxSolution

Array = np.ndarray

INACTIVE, ON_MARGIN, BOUNDED = 0, 1, 2
# A multiplier this near to its bound, relative to it, is at the bound.
AT_BOUND = 1e-10
# Classes whose hulls are less than √ of this apart, relative to √k(x, x), count as touching; hulls
# that leave out a share of the rows may come nearer.
NARROW, NARROWER = 1e-12, 1e-10


@dataclass(frozen=True, eq=False)
class Point:
    """A solution of one problem: θ of the rows, the bias b, and the width ρ or ε if one is free.

    θ and b are those of the solved problem; `Objective.stored` returns what a model stores.
    """

    theta: Array
    b: float
    width: float = 1.0


@dataclass(frozen=True, eq=False)
class Judgement:
    """Primal and dual value, P₀ as their scale, and each row's contribution to the gap.

    `violations` are the amounts by which rows miss their optimality condition, on the scale of the
    stored scores; `status` is INACTIVE (θ = 0), ON_MARGIN or BOUNDED (θ at its bound). The dual is
    a lower bound only if θ respects its box and its sums: `outside` is the largest part of its
    length by which an interval is left, `imbalance` the largest error of a sum. `square` is ‖w‖²,
    `has_origin` says whether θ = 0 is a dual point, of value 0, and `is_void` that the best margin
    is 0, so that no machine exists.
    """

    primal: float
    dual: float
    scale: float
    gaps: Array
    violations: Array
    status: Array
    outside: float
    imbalance: float
    square: float
    has_origin: bool = True
    is_void: bool = False


class Objective:
    """Base class of the objectives.

    `box` poses the problem for the solver, `point` reads its answer, `judge` evaluates a point by
    its scores z = Kθ + b; y are targets, s weights > 0 of the rows.
    """

    # Why no solution may exist, for the error message.
    missing: ClassVar[str] = ""
    # Whether the width of the margin, or of the tube, is given: the span rule needs it.
    has_span: ClassVar[bool] = False
    # Whether sums of θ are a share of the weight of all rows, so that they change with any row.
    has_share: ClassVar[bool] = False
    # Whether multipliers are wanted to all digits, which puts free rows exactly on the margin.
    is_polished: ClassVar[bool] = True

    @property
    def linear_loss(self) -> Loss | None:
        """The loss of the same machine as a linear model with ½‖w‖²/C; None for others."""
        return None

    def box(self, y: Array, s: Array) -> BoxProblem:
        """The dual problem; its `rows` are positions among the rows of y."""
        raise NotImplementedError

    def point(self, y: Array, s: Array, solution: BoxSolution) -> Point:
        """The solution on the rows, from that of the box problem."""
        raise NotImplementedError

    def judge(self, y: Array, s: Array, point: Point, z: Array, norm: float) -> Judgement:
        """Primal, dual and conditions at a point of scores z; `norm` is the largest k(x, x)."""
        raise NotImplementedError

    def unit(self, y: Array, s: Array, norm: float) -> float:
        """The size of the problem's scores, to which tolerances are relative."""
        return 1.0

    # Whether a model stores the solution divided by its width ρ, so that the margin is at ±1.
    divides: ClassVar[bool] = False

    def stored(self, point: Point) -> tuple[Array, float]:
        """Dual coefficients and bias as the model stores them; unchanged without a margin."""
        width = point.width if self.divides and point.width > 0 else 1.0
        return point.theta / width, point.b / width

    def restored(self, y: Array, s: Array, theta: Array, b: float, z: Array) -> tuple[Point, Array]:
        """The point, and its scores, from a stored model and the scores it gives."""
        return Point(theta, b), z


@dataclass(frozen=True)
class SoftMargin(Objective):
    """½‖w‖² + C Σ sᵢ max(0, 1 − yᵢzᵢ);   D = Σ|θᵢ| − ½θᵀKθ, yᵢθᵢ ∈ [0, Csᵢ], Σθ = 0."""

    C: float

    has_span: ClassVar[bool] = True

    @property
    def linear_loss(self) -> Loss:
        return Hinge()

    def box(self, y: Array, s: Array) -> BoxProblem:
        end = self.C * s * y
        return BoxProblem(-y, np.minimum(end, 0.0), np.maximum(end, 0.0))

    def point(self, y: Array, s: Array, solution: BoxSolution) -> Point:
        return Point(solution.theta, float(solution.bias[0]))

    def judge(self, y: Array, s: Array, point: Point, z: Array, norm: float) -> Judgement:
        size, limit = np.abs(point.theta), self.C * s
        short = 1 - y * z
        loss = limit * np.maximum(short, 0.0)
        half = 0.5 * float(point.theta @ (z - point.b))
        status = status_of(size, limit)
        is_positive = y > 0
        return Judgement(
            primal=half + float(loss.sum()),
            dual=float(size.sum()) - half,
            scale=2 * self.C * float(min(s[is_positive].sum(), s[~is_positive].sum())),
            gaps=loss - size * short,
            violations=misses(status, short),
            status=status,
            outside=outside(y * point.theta, limit),
            imbalance=abs(float(point.theta.sum())),
            square=2 * half,
        )


@dataclass(frozen=True)
class HardMargin(Objective):
    """½‖w‖² with yᵢzᵢ ≥ 1 for all rows: the widest margin between separable classes.

    Solved as the shortest way between the convex hulls of the classes, min ½θᵀKθ with Σθ = ±1 over
    either class (Bennett and Bredensteiner 2000): bounded also where the classes are not separable,
    and then its minimum is 0. For w of that problem and margin ρ = minᵢ yᵢzᵢ, P = ½‖w‖²/ρ² and
    D = max over t of t Σ|θᵢ| − ½t²θᵀKθ = (Σ|θᵢ|)²/(2θᵀKθ).
    """

    divides: ClassVar[bool] = True
    missing: ClassVar[str] = (
        "the classes are not separable, or their margin is less than a millionth of the size of "
        "the data, so C=inf has no solution; set a finite C"
    )

    def box(self, y: Array, s: Array) -> BoxProblem:
        return in_two_groups(y, np.ones_like(s), 1.0)

    def unit(self, y: Array, s: Array, norm: float) -> float:
        return norm

    def point(self, y: Array, s: Array, solution: BoxSolution) -> Point:
        # The middle between the rows nearest to the border, so that no row has less than ρ.
        z = solution.gradient
        low, high = float(z[y > 0].min()), float(z[y < 0].max())
        return Point(solution.theta, -0.5 * (low + high), 0.5 * (low - high))

    def judge(self, y: Array, s: Array, point: Point, z: Array, norm: float) -> Judgement:
        size = np.abs(point.theta)
        square, rho = float(point.theta @ (z - point.b)), float(np.min(y * z))
        if not (square > NARROW * norm and rho > 0):
            return worthless(square, square <= NARROW * norm, len(y))
        status = np.where(size > 0, ON_MARGIN, INACTIVE).astype(np.int8)
        primal = 0.5 * square / rho**2
        return Judgement(
            primal=primal,
            dual=float(size.sum()) ** 2 / (2 * square),
            scale=primal,
            gaps=size * (y * z - rho) / rho**2,
            violations=misses(status, 1 - y * z / rho),
            status=status,
            outside=outside(y * point.theta, np.ones_like(y)),
            imbalance=abs(float(point.theta.sum())),
            square=square,
            has_origin=False,
        )

    def restored(self, y: Array, s: Array, theta: Array, b: float, z: Array) -> tuple[Point, Array]:
        rho = 2 / max(float(np.abs(theta).sum()), np.finfo(float).tiny)
        return Point(theta * rho, b * rho, rho), z * rho


@dataclass(frozen=True)
class NuMargin(Objective):
    """½‖w‖² − νSρ + Σ sᵢ max(0, ρ − yᵢzᵢ) with S = Σsᵢ;  D = −½θᵀKθ, yᵢθᵢ ∈ [0, sᵢ], Σyᵢθᵢ = νS.

    The model keeps w/ρ and b/ρ, which is the machine of C = 1/ρ (Schölkopf et al. 2000).
    """

    nu: float

    divides: ClassVar[bool] = True
    has_share: ClassVar[bool] = True
    missing: ClassVar[str] = (
        "the classes overlap so much that the margin ρ is 0 at this nu; raise nu, up to twice the "
        "share of the smaller class, or rescale the features"
    )

    def box(self, y: Array, s: Array) -> BoxProblem:
        return in_two_groups(y, s, self._half(y, s))

    def unit(self, y: Array, s: Array, norm: float) -> float:
        return norm * self._half(y, s)

    def _half(self, y: Array, s: Array) -> float:
        """The sum of θ over a class: νS/2, or the whole weight of the smaller class."""
        return min(0.5 * self.nu * float(s.sum()), float(s[y > 0].sum()), float(s[y < 0].sum()))

    def point(self, y: Array, s: Array, solution: BoxSolution) -> Point:
        # The bias of a group is −Kθ at its margin: b − ρ for the positive class, b + ρ else.
        positive, negative = (float(b) for b in solution.bias)
        theta, product = solution.theta, solution.gradient
        half = self._half(y, s)
        # If a class is at its bounds as a whole, ρ is open: let all its rows be errors, and predict
        # the other class, which has more weight.
        if half < float(s[y < 0].sum()) and half >= float(s[y > 0].sum()):
            positive = min(positive, -2 * float(product[y > 0].max()) - negative)
        elif half < float(s[y > 0].sum()) and half >= float(s[y < 0].sum()):
            negative = max(negative, -2 * float(product[y < 0].min()) - positive)
        return Point(theta, 0.5 * (positive + negative), 0.5 * (negative - positive))

    def judge(self, y: Array, s: Array, point: Point, z: Array, norm: float) -> Judgement:
        size, rho = np.abs(point.theta), point.width
        short = rho - y * z
        loss = s * np.maximum(short, 0.0)
        half = 0.5 * float(point.theta @ (z - point.b))
        is_void = 2 * half <= NARROWER * norm * self._half(y, s) ** 2
        if is_void or not rho > 0:
            return worthless(2 * half, is_void, len(y))
        status = status_of(size, s)
        return Judgement(
            primal=half - 2 * self._half(y, s) * rho + float(loss.sum()),
            dual=-half,
            # The objective of C = 1/ρ at w = 0, times ρ²: at w = 0 that of ν itself is 0.
            scale=2 * rho * float(min(s[y > 0].sum(), s[y < 0].sum())),
            gaps=loss - size * short,
            violations=misses(status, short) / rho,
            status=status,
            outside=outside(y * point.theta, s),
            imbalance=max(abs(float(size[of].sum()) - self._half(y, s)) for of in (y > 0, y < 0)),
            square=2 * half,
            has_origin=False,
        )

    def restored(self, y: Array, s: Array, theta: Array, b: float, z: Array) -> tuple[Point, Array]:
        total = 2 * self._half(y, s)
        size = float(np.abs(theta).sum())
        rho = total / size if size > 0 else 0.0
        return Point(theta * rho, b * rho, rho), z * rho


@dataclass(frozen=True)
class Tube(Objective):
    """½‖w‖² + C Σ sᵢ max(0, |yᵢ − zᵢ| − ε);   D = Σ yᵢθᵢ − ε Σ|θᵢ| − ½θᵀKθ, |θᵢ| ≤ Csᵢ, Σθ = 0."""

    C: float
    epsilon: float

    has_span: ClassVar[bool] = True
    missing: ClassVar[str] = (
        "no function keeps all targets within epsilon, so C=inf has no solution; set a finite C"
    )

    @property
    def linear_loss(self) -> Loss | None:
        return EpsilonInsensitive(self.epsilon) if np.isfinite(self.C) else None

    def box(self, y: Array, s: Array) -> BoxProblem:
        limit = self.C * s
        return BoxProblem(-y, -limit, limit, absolute=self.epsilon)

    def unit(self, y: Array, s: Array, norm: float) -> float:
        return spread(y, s)

    def point(self, y: Array, s: Array, solution: BoxSolution) -> Point:
        return Point(solution.theta, float(solution.bias[0]))

    def judge(self, y: Array, s: Array, point: Point, z: Array, norm: float) -> Judgement:
        # A tube that must contain all targets is that of every C beyond the largest multiplier.
        largest = float(np.max(np.abs(point.theta) / s, initial=0.0))
        C = self.C if np.isfinite(self.C) else 2 * largest + 1.0
        return judge_tube(C * s, self.epsilon, y, s, point, z)


@dataclass(frozen=True)
class NuTube(Objective):
    """½‖w‖² + C(νSε + Σ sᵢ max(0, |yᵢ − zᵢ| − ε)) with a free ε ≥ 0 and S = Σsᵢ.

    D = Σ yᵢθᵢ − ½θᵀKθ, |θᵢ| ≤ Csᵢ, Σ|θᵢ| ≤ CνS, Σθ = 0. The solver keeps Σθ⁺ = −Σθ⁻ = ½CνS, where
    a row may have both (Schölkopf et al. 2000; Chang and Lin 2002).
    """

    C: float
    nu: float

    has_share: ClassVar[bool] = True

    def unit(self, y: Array, s: Array, norm: float) -> float:
        return spread(y, s)

    def box(self, y: Array, s: Array) -> BoxProblem:
        limit, nothing, rows = self.C * s, np.zeros_like(s), np.arange(len(y))
        filled = fill(limit, 0.5 * self.nu * float(limit.sum()))
        return BoxProblem(
            linear=-np.concatenate([y, y]),
            lower=np.concatenate([nothing, -limit]),
            upper=np.concatenate([limit, nothing]),
            rows=np.concatenate([rows, rows]),
            groups=np.repeat([0, 1], len(y)),
            start=np.concatenate([filled, -filled]),
        )

    def point(self, y: Array, s: Array, solution: BoxSolution) -> Point:
        # The bias of a group is y − Kθ where θ is free: b + ε above the tube, b − ε below.
        above, below = (float(b) for b in solution.bias)
        theta = solution.theta[: len(y)] + solution.theta[len(y) :]
        return Point(theta, 0.5 * (above + below), max(0.5 * (above - below), 0.0))

    def judge(self, y: Array, s: Array, point: Point, z: Array, norm: float) -> Judgement:
        # The best of all widths for these scores.
        epsilon = weighted_quantile(np.abs(y - z), s, 1 - self.nu)
        found = judge_tube(self.C * s, epsilon, y, s, point, z)
        # The dual of a fixed ε loses εΣ|θᵢ|; here the tube costs CνSε instead.
        total = self.nu * self.C * float(s.sum())
        dual = found.dual + epsilon * float(np.abs(point.theta).sum())
        primal = found.primal + epsilon * total
        middle = weighted_quantile(y, s, 0.5)
        away = np.abs(y - middle)
        width = weighted_quantile(away, s, 1 - self.nu)
        outside = float(s @ np.maximum(away - width, 0.0))
        scale = total * width + self.C * outside
        excess = max(float(np.abs(point.theta).sum()) - total, 0.0)
        return replace(
            found, primal=primal, dual=dual, scale=scale, imbalance=max(found.imbalance, excess)
        )

    def restored(self, y: Array, s: Array, theta: Array, b: float, z: Array) -> tuple[Point, Array]:
        return Point(theta, b, weighted_quantile(np.abs(y - z), s, 1 - self.nu)), z


@dataclass(frozen=True)
class OneClass(Objective):
    """½‖w‖² − νSρ + Σ sᵢ max(0, ρ − ⟨w, φ(xᵢ)⟩);   D = −½θᵀKθ, θᵢ ∈ [0, sᵢ], Σθ = νS.

    The bias is −ρ, so that z < 0 are outliers (Schölkopf et al. 2001).
    """

    nu: float

    has_share: ClassVar[bool] = True
    # The margin separates rows inside and outside: rounding would decide about those on it.
    is_polished: ClassVar[bool] = False

    def unit(self, y: Array, s: Array, norm: float) -> float:
        return norm * self.nu * float(s.sum())

    def box(self, y: Array, s: Array) -> BoxProblem:
        return BoxProblem(
            np.zeros_like(s), np.zeros_like(s), s, start=fill(s, self.nu * float(s.sum()))
        )

    def point(self, y: Array, s: Array, solution: BoxSolution) -> Point:
        return Point(solution.theta, float(solution.bias[0]))

    def judge(self, y: Array, s: Array, point: Point, z: Array, norm: float) -> Judgement:
        rho, total = -point.b, float(s.sum())
        loss = s * np.maximum(-z, 0.0)
        half = 0.5 * float(point.theta @ (z + rho))
        status = status_of(point.theta, s)
        return Judgement(
            primal=half - self.nu * total * rho + float(loss.sum()),
            dual=-half,
            # The largest possible ½‖w‖²: at w = 0 the objective is 0, the best one negative.
            scale=0.5 * (self.nu * total) ** 2 * norm,
            gaps=loss + point.theta * z,
            violations=misses(status, -z),
            status=status,
            outside=outside(point.theta, s),
            imbalance=abs(float(point.theta.sum()) - self.nu * total),
            square=2 * half,
            has_origin=False,
        )


# ---- what the objectives share -------------------------------------------------------------------


def in_two_groups(y: Array, limit: Array, total: float) -> BoxProblem:
    """min ½θᵀKθ where yᵢθᵢ ∈ [0, limitᵢ] sums to `total` over either class."""
    end, groups = limit * y, (y < 0).astype(np.int64)
    start = np.zeros_like(y)
    for of in (y > 0, y < 0):
        start[of] = y[of] * fill(limit[of], total)
    return BoxProblem(
        np.zeros_like(y), np.minimum(end, 0.0), np.maximum(end, 0.0), groups=groups, start=start
    )


def worthless(square: float, is_void: bool, count: int) -> Judgement:
    """The judgement of a point without a margin."""
    nothing = np.zeros(count)
    return Judgement(
        primal=np.inf,
        dual=0.0,
        scale=np.inf,
        gaps=nothing,
        violations=nothing,
        status=nothing.astype(np.int8),
        outside=0.0,
        imbalance=0.0,
        square=square,
        has_origin=False,
        is_void=is_void,
    )


def fill(limit: Array, total: float) -> Array:
    """The first variables at their limits until their sum is `total`."""
    before = np.cumsum(limit) - limit
    return np.clip(total - before, 0.0, limit)


def status_of(size: Array, limit: Array) -> Array:
    """INACTIVE, ON_MARGIN or BOUNDED by |θ| and its limit."""
    # In order, so that a limit of 0 counts as inactive.
    status = (size > 0).astype(np.int8)
    status[(size >= limit * (1 - AT_BOUND)) & (status == ON_MARGIN)] = BOUNDED
    return status


def outside(theta: Array, limit: Array) -> float:
    """The largest part of its length by which an interval [0, limit] is left."""
    return max(float((np.maximum(theta - limit, -theta) / limit).max()), 0.0)


def misses(status: Array, short: Array) -> Array:
    """By how much rows that are `short` of their margin (negative: beyond it) violate KKT."""
    # A bounded row may be short of it, and an inactive one beyond it.
    found = np.abs(short)
    found[((status == BOUNDED) & (short > 0)) | ((status == INACTIVE) & (short < 0))] = 0.0
    return found


def judge_tube(
    limit: Array, epsilon: float, y: Array, s: Array, point: Point, z: Array
) -> Judgement:
    """½‖w‖² + Σ limitᵢ max(0, |yᵢ − zᵢ| − ε) and its dual."""
    size, error = np.abs(point.theta), y - z
    loss = limit * np.maximum(np.abs(error) - epsilon, 0.0)
    half = 0.5 * float(point.theta @ (z - point.b))
    status = status_of(size, limit)
    # Outside on the side of θ; a row with θ = 0 may be on either.
    side = np.where(point.theta == 0, np.sign(error), np.sign(point.theta))
    out = side * error - epsilon
    tube = EpsilonInsensitive(epsilon)
    middle = minimise_bias(tube, y, np.zeros_like(y), s)
    return Judgement(
        primal=half + float(loss.sum()),
        dual=float(y @ point.theta) - epsilon * float(size.sum()) - half,
        scale=float(limit @ tube.value(y, np.full_like(y, middle))),
        gaps=loss - size * out,
        violations=misses(status, out),
        status=status,
        outside=outside(size, limit),
        imbalance=abs(float(point.theta.sum())),
        square=2 * half,
    )


def spread(y: Array, s: Array) -> float:
    """The standard deviation of the targets."""
    return float(np.sqrt(np.average((y - np.average(y, weights=s)) ** 2, weights=s)))


def weighted_quantile(values: Array, weights: Array, share: float) -> float:
    """The smallest value such that values up to it have this share of the weight."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    place = np.searchsorted(reached, share * reached[-1] * (1 - 1e-12))
    return float(values[order[min(place, len(order) - 1)]])
