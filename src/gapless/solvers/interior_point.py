"""Interior point: piecewise linear or quadratic losses and separable penalties, as a programme.

Everything non-smooth is a kink c·max(0, v − κ) in one of the numbers v = (z, w): the hinge has one
per row, the ε-insensitive loss two, and |wⱼ| is −wⱼ + 2·max(0, wⱼ). Written with p − r = v − κ and
a slope β between 0 and c, a kink requires βr = (c − β)p = 0. A soft kink bends over a length:
p − r + σβ = v − κ, which makes Huber's loss of a single one, and the squared hinge. A bound on wⱼ
is a wall: its slack times its multiplier ν is 0. Newton's method follows these products from μω > 0
down to 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .._ground.design import Design
from ..losses import DualBox
from ..problem import Parameters, Problem
from ._base import Point, solver
from .newton_steps import inner
from .normal_equations import NormalMatrix
from .polish import held_coordinates

Array = np.ndarray
EPS = float(np.finfo(float).eps)

CENTRING = 5  # Newton steps, at most, at the first μ before the first predictor
CORRECTORS = 2  # further corrections of a step that the boundary cuts short
RUN_FROM, RUN_UNTIL = 1e-5, 1e-10  # gaps, relative to P₀, between which no iterate is reported
NEAR_BOUNDARY = 0.995  # the part of the way to the boundary that a step may go
HALVINGS = 50  # of the interval of a slope, for the start alone


def _refuses(problem: Problem) -> str | None:
    if not problem.loss.has_dual_box:
        return f"needs a piecewise linear or quadratic loss, got {problem.loss.name}"
    if problem.penalty.coordinates(problem.d) is None:
        return f"needs a penalty that is a sum over coordinates, got {problem.penalty.name}"
    return None


@dataclass(frozen=True, eq=False)
class Kinks:
    """Terms cost·max(0, v[index] − at), any number for each entry of v.

    `soft` is σ: the slope rises from 0 to cost on an interval of length σ·cost, not at once.
    On the path βr = μω_β and γp = μω_γ. Both are proportional to a row's weight, so that weight 2
    follows the same path as the row repeated. Their ratio is that of the slopes on both sides of
    the minimum: the path then begins with z at the kinks, and not far above them for a high
    quantile.
    """

    index: Array
    at: Array
    cost: Array
    soft: Array
    omega_beta: Array
    omega_gamma: Array
    length: int

    @property
    def omega(self) -> float:
        """The sum of all shares of μ."""
        return float(self.omega_beta.sum() + self.omega_gamma.sum())

    @property
    def are_soft(self) -> bool:
        """Whether some are: then the slopes also enter the primal equations."""
        return bool(np.any(self.soft))

    def sums(self, values: Array) -> Array:
        """The values of the kinks, summed for each entry of v."""
        return np.bincount(self.index, values, minlength=self.length)

    def centred(self, v: Array, mu: float) -> tuple[Array, Array, Array, Array]:
        """p, r, β and γ on the central path for the given v."""
        t = v[self.index] - self.at
        if self.are_soft:
            t = t - self.soft * self._soft_slopes(t, mu)
        return self._hard(t, mu)

    def _soft_slopes(self, t: Array, mu: float) -> Array:
        """The β with β = β(t − σβ), the slope of a hard kink there, by bisection."""
        low, high = np.zeros_like(t), self.cost
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            is_below = self._hard(t - self.soft * middle, mu)[2] > middle
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        return 0.5 * (low + high)

    def _hard(self, t: Array, mu: float) -> tuple[Array, Array, Array, Array]:
        """p, r, β and γ on the central path where p − r = t."""
        c, m_beta, m_gamma = self.cost, mu * self.omega_beta, mu * self.omega_gamma
        # p and r solve m_β/r + m_γ/p = c, p − r = t; the formula for the larger one has no
        # cancellation.
        root = np.hypot(c * t + m_beta - m_gamma, 2 * np.sqrt(m_beta * m_gamma))
        larger = (c * np.abs(t) + m_beta + m_gamma + root) / (2 * c)
        of_larger, of_smaller = np.where(t > 0, (m_gamma, m_beta), (m_beta, m_gamma))
        smaller = of_smaller * larger / (c * larger - of_larger)
        p, r = np.where(t > 0, larger, smaller), np.where(t > 0, smaller, larger)
        return p, r, m_beta / r, m_gamma / p


@dataclass(frozen=True, eq=False)
class Walls:
    """Bounds sign·(w[index] − at) ≥ 0."""

    index: Array
    at: Array
    sign: Array
    omega: Array
    length: int

    def slack(self, w: Array) -> Array:
        """How far w is inside its bounds."""
        return self.sign * (w[self.index] - self.at)

    def sums(self, values: Array) -> Array:
        """The values of the walls, summed for each coefficient."""
        return np.bincount(self.index, values, minlength=self.length)


@dataclass(frozen=True, eq=False)
class Programme:
    """min slopeᵀv + ½Σ l2ⱼwⱼ² + kinks(v) within walls, where v = (Xw + b, w)."""

    design: Design
    fit_bias: bool
    slope: Array
    l2: Array
    kinks: Kinks
    walls: Walls
    offset: Array

    def v(self, w: Array, b: float) -> Array:
        """(z, w)."""
        return np.concatenate([self.design.times(w) + self.offset + b, w])

    def move(self, dw: Array, db: float) -> Array:
        """The change of v for a change of w and b."""
        return np.concatenate([self.design.times(dw) + db, dw])

    def adjoint(self, g: Array) -> tuple[Array, float]:
        """The slopes in w and b for slopes g in v."""
        n = self.design.n
        return self.design.transposed_times(g[:n]) + g[n:], float(g[:n].sum())


@dataclass(frozen=True, eq=False)
class Iterate:
    """w, b, v; p, r, β and γ = c − β of the kinks; slack and ν of the walls. Also a step."""

    w: Array
    b: float
    v: Array
    p: Array
    r: Array
    beta: Array
    gamma: Array
    slack: Array
    nu: Array


@solver("interior_point", refuses=_refuses, max_iter=200)
def interior_point(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Mehrotra's predictor and corrector, with Gondzio's multiple corrections.

    Each step factorises XᵀDX + diag(h), d × d, or its dual form, n × n, whichever is smaller:
    O(nd·min(n, d)) for each of twenty to forty steps, whatever the conditioning. Not for problems
    with both n and d above a few thousand.

    References
    ----------
    Mehrotra (1992), On the implementation of a primal-dual interior point method. Gondzio
    (1996), Multiple centrality corrections in a primal-dual method for linear programming.
    """
    if problem.outputs is None:
        yield from _follow_path(problem, start)
        return
    # A penalty on coordinates does not couple the outputs, so they take their steps side by side.
    followed = [_follow_path(one, at) for one, at in _by_outputs(problem, start)]
    points: list[Point | None] = [None] * len(followed)
    while True:
        news = [next(path, None) for path in followed]
        if all(new is None for new in news):
            return
        points = [old if new is None else new for new, old in zip(news, points)]
        yield _joined([point for point in points if point is not None])


def _by_outputs(problem: Problem, start: Parameters) -> Iterator[tuple[Problem, Parameters]]:
    """The problem of each output alone, and its starting point."""
    for k in range(problem.outputs or 0):
        y = np.ascontiguousarray(problem.y[:, k])
        yield (
            replace(problem, y=y, outputs=None),
            Parameters(np.asarray(start.w)[:, k], np.asarray(start.b)[k]),
        )


def _joined(points: list[Point]) -> Point:
    """The points of the outputs as one."""
    w, b, theta = (np.stack([getattr(p, a) for p in points], axis=-1) for a in ("w", "b", "theta"))
    return Point(w, b, theta=theta, estimate=sum(p.estimate or 0.0 for p in points))


def _follow_path(problem: Problem, start: Parameters) -> Iterator[Point]:
    """The steps for one output."""
    if problem.scale == 0:
        # One bias fits all rows: interior points get no closer to it.
        yield Point(problem.null.w, problem.null.b, theta=np.zeros(problem.n))
        return
    rows, columns, programme = _programme(problem)
    kinks, walls = programme.kinks, programme.walls
    total = kinks.omega + walls.omega.sum()
    first = problem.scale / total if kinks.are_soft else None
    at, mu = _start(programme, np.asarray(start.w, dtype=float)[columns], float(start.b), first)
    length = 1.0
    while True:
        gap = mu * total
        # From here on every step gains digits, and a few more put the active set beyond doubt.
        if not RUN_UNTIL < gap / problem.scale < RUN_FROM or length < 0.5:
            yield _point(problem, rows, columns, programme, at, gap)
        if not gap > EPS * problem.scale or not length > 1e-8:  # also if it is not a number
            return
        at, length = _step(programme, at, mu)
        mu = _complementarity(at) / total


def _programme(problem: Problem) -> tuple[Array, Array, Programme]:
    """The rows of positive weight, the columns that may move, and the programme on them."""
    c = problem.penalty.coordinates(problem.d)
    assert c is not None
    rows, columns = np.flatnonzero(problem.weights > 0), np.flatnonzero(c.lower < c.upper)
    fixed = np.where(c.lower < c.upper, 0.0, c.lower)
    offset = problem.design.times(fixed)[rows] if np.any(fixed) else np.zeros(len(rows))
    design = problem.design if len(rows) == problem.n else problem.design.rows(rows)
    if len(columns) < problem.d:
        design = design.columns(columns)
    s = problem.weights[rows]
    box = _bounded(problem, problem.loss.dual_box(problem.y[rows]), s)
    n, d = len(rows), len(columns)
    # The kinks and walls of w share one part of μ: that of an average row.
    share = float(s.mean()) if n else 1.0
    l1, l2, lower, upper = (a[columns] for a in (c.l1, c.l2, c.lower, c.upper))
    # |w| is linear if w cannot change sign.
    bends = (lower < 0) & (upper > 0)
    hard = np.zeros(np.count_nonzero(bends))
    equal = hard + share
    parts = [(n + np.flatnonzero(bends), hard, 2 * l1[bends], hard, equal, equal)]
    # Where a soft kink begins, its slope is box.lower.
    row, soft, lowest = np.arange(n), box.quadratic / s, box.quadratic * box.lower
    if box.absolute:
        parts.append((row, box.linear - box.absolute + lowest, -s * box.lower, soft, s, s))
        parts.append((row, box.linear + box.absolute, s * box.upper, soft, s, s))
    else:
        cost = box.upper - box.lower
        has_minimum = (box.lower < 0) & (box.upper > 0)
        side = np.divide(-box.lower, cost, out=np.full(n, 0.5), where=has_minimum)
        omegas = 2 * s * side, 2 * s * (1 - side)
        parts.append((row, box.linear + lowest, s * cost, soft, *omegas))
    stacked = [np.concatenate(column) for column in zip(*parts)]
    keep = stacked[2] > 0
    kinks = Kinks(*(column[keep] for column in stacked), n + d)
    below, above = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
    walls = Walls(
        np.concatenate([below, above]),
        np.concatenate([lower[below], upper[above]]),
        np.repeat([1.0, -1.0], [len(below), len(above)]),
        np.full(len(below) + len(above), share),
        d,
    )
    slope = np.concatenate([s * box.lower, np.where(lower >= 0, l1, -l1)])
    return rows, columns, Programme(design, problem.fit_bias, slope, l2, kinks, walls, offset)


def _bounded(problem: Problem, box: DualBox, s: Array) -> DualBox:
    """The box with finite ends: no solution has a row with a steeper slope.

    The loss of such a row alone, ½q·u² above the smallest, would exceed the whole objective at w =
    0.
    """
    if not box.quadratic:
        return box
    steepest = 2 * np.sqrt(2 * problem.scale / (box.quadratic * s))
    return replace(
        box, lower=np.maximum(box.lower, -steepest), upper=np.minimum(box.upper, steepest)
    )


def _start(
    programme: Programme, w: Array, b: float, mu: float | None = None
) -> tuple[Iterate, float]:
    """A point near the central path, and its μ: the mean distance of the kinks at the given w."""
    kinks, walls = programme.kinks, programme.walls
    w = _inside(programme, w)
    v = programme.v(w, b)
    if mu is None:
        omega = 0.5 * (kinks.omega_beta + kinks.omega_gamma)
        distance = omega * np.abs(v[kinks.index] - kinks.at)
        mu = float(distance.sum() / omega.sum()) if len(distance) else 1.0
        mu = mu if mu > 0 else 1.0

    def centred(w: Array, b: float, v: Array) -> Iterate:
        slack = walls.slack(w)
        return Iterate(w, b, v, *kinks.centred(v, mu), slack, mu * walls.omega / slack)

    def barrier(at: Iterate) -> float:
        """The function of w and b that the central path minimises at this μ."""
        value = inner(programme.slope, at.v) + 0.5 * inner(programme.l2, at.w**2)
        barriers = inner(kinks.omega_gamma, np.log(at.p)) + inner(kinks.omega_beta, np.log(at.r))
        barriers += inner(walls.omega, np.log(at.slack))
        value += 0.5 * inner(kinks.soft, at.beta**2)
        return value + inner(kinks.cost, at.p) - mu * barriers

    at = centred(w, b, v)
    zero = np.zeros(len(kinks.at))
    for _ in range(CENTRING):
        newton = Newton(programme, at)
        step = newton.solve(zero, zero, np.zeros(len(walls.at)))
        decrement = inner(newton.rest_w, step.w) + newton.rest_b * step.b
        length = min(1.0, 0.9 * _longest((at.slack, step.slack)))
        new, value = at, barrier(at)
        while length > 1e-3:
            new = centred(at.w + length * step.w, at.b + length * step.b, at.v + length * step.v)
            if barrier(new) <= value - 0.1 * length * decrement:
                break
            length *= 0.5
        at = new
        if decrement <= 0.05 * mu * kinks.omega:
            break
    return at, mu


def _inside(programme: Programme, w: Array) -> Array:
    """w moved off its bounds: to the middle if it has two, else by a step that z notices."""
    walls, kinks = programme.walls, programme.kinks
    if not len(walls.at):
        return w
    low, high = np.full(len(w), -np.inf), np.full(len(w), np.inf)
    is_low = walls.sign > 0
    low[walls.index[is_low]] = walls.at[is_low]
    high[walls.index[~is_low]] = walls.at[~is_low]
    # Together they move z by about its distance to the middles of the kinks.
    v = programme.v(np.clip(w, low, high), 0.0)
    half = 0.5 * kinks.soft * kinks.cost
    far = np.abs(v[kinks.index] - kinks.at - half)
    # Where all scores are in the middle, by as much as a kink is wide.
    distance = float(np.mean(far) or np.mean(half) or 1.0) if len(far) else 1.0
    norms = np.sqrt(programme.design.column_square_sums() / max(programme.design.n, 1))
    step = np.divide(distance / len(walls.at), norms, out=np.ones(len(w)), where=norms > 0)
    with np.errstate(invalid="ignore"):
        room = np.where(np.isfinite(high - low), high - low, 2 * np.maximum(step, np.abs(w)))
    return np.clip(w, low + 0.1 * room, high - 0.1 * room)


def _step(programme: Programme, at: Iterate, mu: float) -> tuple[Iterate, float]:
    """The next iterate, and how far it goes along its direction."""
    kinks, walls = programme.kinks, programme.walls
    newton = Newton(programme, at)
    products = (at.beta * at.r, at.gamma * at.p, at.nu * at.slack)
    ahead = newton.solve(*(-product for product in products))
    length = min(1.0, *_lengths(at, ahead))
    reached = _complementarity(_moved(at, ahead, length, length))
    target = mu * (reached / sum(product.sum() for product in products)) ** 3
    shares = (target * kinks.omega_beta, target * kinks.omega_gamma, target * walls.omega)
    second = (ahead.beta * ahead.r, ahead.gamma * ahead.p, ahead.nu * ahead.slack)
    step = newton.solve(*(m - a - b for m, a, b in zip(shares, products, second)))
    lengths = _lengths(at, step)
    for _ in range(CORRECTORS):
        if min(lengths) >= 0.9:
            break
        better = newton.correct(step, shares, min(1.0, min(lengths) + 0.3))
        longer = _lengths(at, better)
        if min(longer) < min(lengths) + 0.03:
            break
        step, lengths = better, longer
    primal, dual = (min(1.0, NEAR_BOUNDARY * length) for length in lengths)
    if np.any(programme.l2) or kinks.are_soft:
        # w also enters the dual equations, or β the primal ones: one length for both keeps them
        # satisfied.
        primal = dual = min(primal, dual)
    return _balanced(programme, _moved(at, step, primal, dual)), max(primal, dual)


def _lengths(at: Iterate, step: Iterate) -> tuple[float, float]:
    """How far the primal and the dual part of a step may go."""
    primal = _longest((at.p, step.p), (at.r, step.r), (at.slack, step.slack))
    return primal, _longest((at.beta, step.beta), (at.gamma, step.gamma), (at.nu, step.nu))


def _longest(*pairs: tuple[Array, Array]) -> float:
    """The largest t with x + t·dx ≥ 0 for all pairs."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = [np.max(-dx / x, initial=0.0) for x, dx in pairs]
    fastest = max(rates)
    return 1 / fastest if fastest > 0 else np.inf


def _moved(at: Iterate, step: Iterate, primal: float, dual: float) -> Iterate:
    return Iterate(
        at.w + primal * step.w,
        at.b + primal * step.b,
        at.v + primal * step.v,
        at.p + primal * step.p,
        at.r + primal * step.r,
        at.beta + dual * step.beta,
        at.gamma + dual * step.gamma,
        at.slack + primal * step.slack,
        at.nu + dual * step.nu,
    )


def _balanced(programme: Programme, at: Iterate) -> Iterate:
    """Set the larger of p and r, and of β and γ, from the smaller: both equations hold exactly."""
    kinks = programme.kinks
    steep = at.beta > at.gamma
    beta = np.where(steep, kinks.cost - at.gamma, at.beta)
    gamma = np.where(steep, at.gamma, kinks.cost - at.beta)
    t = at.v[kinks.index] - kinks.at - kinks.soft * beta
    p, r = np.where(t > 0, at.r + t, at.p), np.where(t > 0, at.r, at.p - t)
    return Iterate(at.w, at.b, at.v, p, r, beta, gamma, at.slack, at.nu)


def _complementarity(at: Iterate) -> float:
    return inner(at.beta, at.r) + inner(at.gamma, at.p) + inner(at.nu, at.slack)


class Newton:
    """The linearised conditions at an iterate, factorised once for several right-hand sides."""

    def __init__(self, programme: Programme, at: Iterate):
        kinks, walls, n = programme.kinks, programme.walls, programme.design.n
        self.programme, self.at = programme, at
        self.stiffness = 1 / (at.p / at.gamma + at.r / at.beta + kinks.soft)
        stiffness = kinks.sums(self.stiffness)
        slopes = programme.slope + kinks.sums(at.beta)
        w, b = programme.adjoint(slopes)
        self.rest_w = -(w + programme.l2 * at.w - walls.sums(walls.sign * at.nu))
        self.rest_b = -b
        more = stiffness[n:] + walls.sums(at.nu / at.slack)
        self.matrix = NormalMatrix(
            programme.design, stiffness[:n], programme.l2, programme.fit_bias, more
        )

    def solve(self, e1: Array, e2: Array, e3: Array, *, rest: float = 1.0) -> Iterate:
        """The step that changes βr, γp and ν·slack by e1, e2, e3 to first order."""
        kinks, walls, at = self.programme.kinks, self.programme.walls, self.at
        pull = self.stiffness * (e2 / at.gamma - e1 / at.beta)
        w, b = self.programme.adjoint(kinks.sums(pull))
        w += rest * self.rest_w + walls.sums(walls.sign * e3 / at.slack)
        dw, db = self.matrix.solve(w, rest * self.rest_b + b)
        dv = self.programme.move(dw, db)
        dbeta = self.stiffness * dv[kinks.index] - pull
        dslack = walls.sign * dw[walls.index]
        return Iterate(
            dw,
            db,
            dv,
            (e2 + at.p * dbeta) / at.gamma,
            (e1 - at.r * dbeta) / at.beta,
            dbeta,
            -dbeta,
            dslack,
            (e3 - at.nu * dslack) / at.slack,
        )

    def correct(self, step: Iterate, shares: tuple[Array, Array, Array], length: float) -> Iterate:
        """The step plus one that moves the products it reaches into [0.1, 10] of their share."""
        ahead = _moved(self.at, step, length, length)
        products = (ahead.beta * ahead.r, ahead.gamma * ahead.p, ahead.nu * ahead.slack)
        wanted = [
            np.maximum(np.clip(product, 0.1 * share, 10 * share) - product, -10 * share)
            for product, share in zip(products, shares)
        ]
        return _moved(step, self.solve(*wanted, rest=0.0), 1.0, 1.0)


def _point(problem, rows, columns, programme: Programme, at: Iterate, estimate: float) -> Point:
    c = problem.penalty.coordinates(problem.d)
    w = np.where(c.lower < c.upper, 0.0, c.lower)
    # At the end of the path rounding may put w outside its walls, where P is infinite.
    w[columns] = np.clip(at.w, c.lower[columns], c.upper[columns])
    n = len(rows)
    theta = np.zeros(problem.n)
    theta[rows] = -(programme.slope + programme.kinks.sums(at.beta))[:n]
    if programme.kinks.are_soft:
        # The polish of a smooth loss trusts the zeros it is given, so coefficients that are zero
        # except for the barrier are set to zero, unless that costs more than the barrier, as it may
        # early on.
        b = np.array(at.b)
        held, _ = held_coordinates(problem, Parameters(w, b, theta), c)
        if problem.primal(held, b) <= problem.primal(w, b) + estimate:
            w = held
        return Point(w, b, theta=theta, estimate=estimate)
    z = at.v[:n] if n == problem.n else None
    return Point(w, np.array(at.b), z=z, theta=theta, estimate=estimate)
