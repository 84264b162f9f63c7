"""The active-set polish: optimality conditions as equations on the set that a solver has found.

At a solution it is mostly decided which coefficients are 0 or at a bound and which rows sit at a
kink of the loss. The rest is a linear system (or, for a smooth loss, a few Newton steps), whose
solution has all the digits that a small gap alone does not guarantee.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse.linalg

from .._ground.interrupt import TimeLimit
from ..penalties import Coordinates
from ..problem import Parameters, Problem, minimise_bias
from ._base import Solution
from .augmented_lagrangian import sharpen
from .face_newton import newton_on_face
from .newton_steps import Blocks, Damping, Iterate, Joint, Line, inner, strengths
from .normal_equations import NormalMatrix
from .quadratic_model import evaluate

Array = np.ndarray
EPS = float(np.finfo(float).eps)

NO_WORK = 1e5  # operations for a Gram matrix that takes no longer than the work around it
LARGEST = 1000  # unknowns of a system that is small compared with the solver's own work
MOST_FACTORED = 5e7  # rows times squared unknowns of all outputs, for a factor in milliseconds
MOST_WORK = 1e9  # the same for conjugate gradients
MOST_PRODUCTS = 300  # of all their steps together: a solver takes about as many
ROUNDS = 8  # how often the active set may be corrected
STEPS = 10  # of Newton's method or of iterative refinement
FAR = 1e-3  # of P₀: by so much an objective is clearly worse
NEGLIGIBLE = 1e-3  # of P₀, for the penalty of a coefficient on which no force acts
SETTLED = 1e-9  # relative change of the coefficients by the last Newton step


def finish(problem: Problem, solution: Solution, tol: float) -> Solution:
    """The polished solution if its gap is smaller, with zeros where no force acts."""
    if not problem.penalty.is_convex and problem.loss.is_piecewise_linear:
        return solution  # its last convex problem has been polished
    return _with_zeros(problem, _polished(problem, solution, tol))


def _with_zeros(problem: Problem, solution: Solution) -> Solution:
    """Zeros in place of the rounding that interior points leave, also where a polish failed."""
    coordinates, found = problem.coordinates, solution.parameters
    is_single = problem.loss.is_piecewise_linear and problem.outputs is None
    if coordinates is None or not is_single or found.theta is None or not np.any(coordinates.l1):
        return solution
    w, _ = held_coordinates(problem, found, coordinates)
    if np.array_equal(w, found.w):
        return solution
    z = problem.predictions(w, found.b)
    primal = problem.primal(w, found.b, z)
    sizes = np.abs(z) + abs(float(found.b))
    rounding = _rounding(problem, primal) + 8 * EPS * inner(np.abs(found.theta), sizes)
    if not primal <= solution.primal + rounding:
        return solution
    return dataclasses.replace(solution, parameters=dataclasses.replace(found, w=w), primal=primal)


def _polished(problem: Problem, solution: Solution, tol: float) -> Solution:
    """The polished solution if its gap is smaller."""
    before = solution.gap
    is_smooth = not problem.loss.is_piecewise_linear
    is_done = before <= _rounding(problem, solution.primal) or solution.is_settled
    is_done &= is_smooth
    if is_done and not (solution.trace.steps and _has_free_digits(problem)):
        return solution
    began = time.monotonic()
    try:
        parameters = polish(problem, solution.parameters)
        if parameters is None:
            return solution
        z = problem.predictions(parameters.w, parameters.b)
        primal = problem.primal(parameters.w, parameters.b, z)
        if not primal <= solution.primal + max(before, FAR * problem.scale):
            return solution  # Newton's method began too far away
        theta = -problem.derivative(z) if parameters.theta is None else parameters.theta
        bound = problem.bound(theta)
        if not problem.penalty.is_convex:
            bound = dataclasses.replace(bound, theta=theta, dual=solution.dual)
    except TimeLimit:
        return solution
    except KeyboardInterrupt:
        return dataclasses.replace(solution, status="interrupted")
    gap = primal - bound.dual
    # The terms ℓ + ℓ* and θz of the gap nearly cancel, and are as large as θz.
    rounding = _rounding(problem, primal) + 8 * EPS * inner(np.abs(bound.theta), np.abs(z))
    is_better = gap <= max(before, rounding) if np.isfinite(before) else primal <= solution.primal
    if not is_better:
        return solution
    trace = solution.trace
    seconds = (trace.seconds or [0.0])[-1] + time.monotonic() - began
    trace.record(primal, gap, seconds, (trace.iterations or [0.0])[-1] + 1)
    if trace.iterates:
        trace.iterates.append((parameters.w.copy(), np.array(parameters.b)))
    return dataclasses.replace(
        solution,
        parameters=dataclasses.replace(parameters, theta=bound.theta),
        primal=primal,
        dual=bound.dual,
        status="optimal" if gap <= tol * problem.scale + rounding else solution.status,
    )


def _has_free_digits(problem: Problem) -> bool:
    """Whether a last step costs nothing: a gap of rounding leaves half of the digits to find.

    Only for losses without jumps in their derivatives, and with a ridge penalty, which determines
    the coefficients.
    """
    coordinates = problem.coordinates
    is_ridge = coordinates is not None and bool(np.all(coordinates.l2 > 0))
    is_curved = is_ridge and problem.loss.is_self_concordant
    return is_curved and problem.n * (problem.d + 1) ** 2 <= NO_WORK


def _rounding(problem: Problem, primal: float) -> float:
    """The part of a gap that may be rounding."""
    return 8 * EPS * (abs(primal) + problem.scale)


def polish(problem: Problem, parameters: Parameters) -> Parameters | None:
    """The solution on the active set of the given parameters; None if it cannot be found.

    It is right only if the active set is: the caller keeps it if its gap is smaller.
    """
    coordinates = problem.penalty.coordinates(problem.d)
    if problem.loss.is_piecewise_linear and problem.loss.has_class_box:
        point = sharpen(problem, parameters, ROUNDS)
        return Parameters(point.w, point.b, point.theta)
    if problem.loss.is_piecewise_linear:
        if coordinates is None or parameters.theta is None:
            return None
        return _by_outputs(_polish_kinks, problem, parameters, coordinates)
    if not problem.loss.has_curvature:
        return None
    if coordinates is not None and problem.outputs is None:
        return _polish_coordinates(problem, parameters, coordinates)
    if coordinates is not None and coordinates.is_quadratic():
        return _polish_classes(problem, parameters)
    return _polish_jointly(problem, parameters)


def _by_outputs(polish_one, problem: Problem, parameters: Parameters, coordinates: Coordinates):
    """Each output polished on its own, as a penalty on coordinates does not connect them."""
    if problem.outputs is None:
        return polish_one(problem, parameters, coordinates)
    polished = []
    for k in range(problem.outputs):
        one = dataclasses.replace(problem, y=np.ascontiguousarray(problem.y[:, k]), outputs=None)
        at = Parameters(parameters.w[:, k], parameters.b[k], parameters.theta[:, k])
        polished.append(polish_one(one, at, coordinates))
    if any(p is None for p in polished):
        return None
    return Parameters(
        *(np.stack([getattr(p, a) for p in polished], -1) for a in ("w", "b", "theta"))
    )


# ---- piecewise-linear losses ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Kink:
    """The nearest kink of each row: ℓ′ rises from `low` to `high` at z = `at`."""

    low: Array
    high: Array
    at: Array

    @property
    def width(self) -> Array:
        """How much ℓ′ rises, never 0."""
        return np.maximum(self.high - self.low, np.finfo(float).tiny)

    @classmethod
    def nearest(cls, problem: Problem, u: Array, z: Array) -> Kink:
        """The kink next to the slope u, or next to z if u does not decide."""
        box = problem.loss.dual_box(problem.y)
        if not box.absolute:
            return cls(box.lower, box.upper, box.linear)
        above = (u > 0) | ((u == 0) & (z > box.linear))
        return cls(
            np.where(above, 0.0, box.lower),
            np.where(above, box.upper, 0.0),
            box.linear + np.where(above, box.absolute, -box.absolute),
        )

    def end(self, u: Array, z: Array) -> Array:
        """The end of the interval that u is near, or that z points to if u is near neither."""
        inside = (u - self.low) / self.width
        undecided = (inside > 0.25) & (inside < 0.75)
        return np.where(np.where(undecided, z > self.at, inside > 0.5), self.high, self.low)


def _polish_kinks(problem: Problem, parameters: Parameters, c: Coordinates) -> Parameters | None:
    """Rows at a kink have z there and a free θ; the others have θ at an end of their interval."""
    s, b = problem.weights, float(parameters.b)
    w, held = held_coordinates(problem, parameters, c)
    signs = np.sign(w)
    u = np.divide(-parameters.theta, s, out=np.zeros(problem.n), where=s > 0)
    z = problem.predictions(w, b)
    kink = Kink.nearest(problem, u, z)
    typical = _typical_distance(problem)
    order, count = _likely_rows(problem, kink, u, z, typical)
    most = np.count_nonzero(~held) + problem.fit_bias
    if not np.any(c.l2[~held]):
        # Only rows hold w: the solution is a vertex, with that many rows at their kink.
        count = min(most, len(order))
    active = _choose(problem.n, order[:count])
    u = np.where(active, u, kink.end(u, z))
    fewest = np.inf
    for _ in range(ROUNDS):
        if min(np.count_nonzero(~held), np.count_nonzero(active)) > LARGEST:
            return None
        w, b, u = _solve_kinks(problem, c, w, b, u, kink, active, held, signs)
        if not (np.all(np.isfinite(w)) and np.isfinite(b) and np.all(np.isfinite(u))):
            return None
        z = problem.predictions(w, b)
        distance = np.abs(z - kink.at) / typical
        most = np.count_nonzero(~held) + problem.fit_bias
        if np.any(distance[active] > 1e-8) and np.count_nonzero(active) > most:
            # More rows than can be at their kink together: drop the least certain ones.
            certain = [i for i in order if active[i]][:most]
            active = _choose(problem.n, certain)
            u = np.where(active, np.clip(u, kink.low, kink.high), kink.end(-parameters.theta, z))
            continue
        wrong = _wrong_rows(problem, kink, active, u, z, typical)
        force = problem.design.transposed_times(-s * u) - c.l2 * w
        mistaken = _wrong_coordinates(c, w, force, held, signs)
        errors = np.count_nonzero(wrong) + np.count_nonzero(mistaken)
        if errors == 0:
            break
        # Twice as many errors as rows that may be at a kink: the set is not identified yet.
        if errors >= min(fewest, 2 * max(most, np.count_nonzero(active))):
            return None
        fewest = errors
        # A slope that left its interval stays at the end; a row that crossed its kink joins it.
        u = np.clip(u, kink.low, kink.high)
        signs = np.where(mistaken & held & (w == 0), np.sign(force), signs)
        w = np.where(mistaken & ~held, np.clip(np.where(c.l1 > 0, 0.0, w), c.lower, c.upper), w)
        active, held = active ^ wrong, held ^ mistaken
    u = np.clip(u, kink.low, kink.high)
    inside = (u - kink.low) / kink.width
    if problem.fit_bias and not np.any(active & (inside > 1e-6) & (inside < 1 - 1e-6)):
        # No row fixes the bias: take the middle of the interval that is left.
        b = minimise_bias(problem.loss, problem.y, z - b, s)
    return Parameters(np.clip(w, c.lower, c.upper), np.array(b), -s * u)


def _choose(n: int, positions) -> Array:
    chosen = np.zeros(n, dtype=bool)
    chosen[positions] = True
    return chosen


def _typical_distance(problem: Problem) -> float:
    """How far z is from the kinks in the model without features."""
    box = problem.loss.dual_box(problem.y)
    width = problem.weighted_sum(box.upper - box.lower)
    return problem.scale / width if problem.scale > 0 and width > 0 else 1.0


def _likely_rows(
    problem: Problem, kink: Kink, u: Array, z: Array, typical: float
) -> tuple[Array, int]:
    """The rows that may be at their kink, the likeliest first, and how many probably are.

    A row is at its kink if its slope is farther from the ends than z is from the kink, both
    relative: one of the two goes to 0 and the other does not.
    """
    inside = (u - kink.low) / kink.width
    middle = np.where(problem.weights > 0, np.minimum(inside, 1 - inside), 0.0)
    distance = np.abs(z - kink.at) / typical
    rows = np.flatnonzero(middle > 0)
    ratio = distance[rows] / middle[rows]
    return rows[np.argsort(ratio, kind="stable")], int(np.count_nonzero(ratio < 1))


def _wrong_rows(
    problem: Problem, kink: Kink, active: Array, u: Array, z: Array, typical: float
) -> Array:
    """Active rows with a slope outside its interval, and others on the wrong side of a kink."""
    outside = (u < kink.low - 1e-9 * kink.width) | (u > kink.high + 1e-9 * kink.width)
    above = (z - kink.at) / typical
    crossed = np.where(u - kink.low > kink.high - u, above < -1e-9, above > 1e-9)
    return np.where(active, outside, crossed) & (problem.weights > 0)


def held_coordinates(problem: Problem, parameters: Parameters, c: Coordinates):
    """w with the coefficients that belong on a kink or bound put there, and which ones they are.

    Decided as for rows: a coefficient is held if it is nearer to that point than the force on it is
    to what would move it, both relative: to the largest coefficient, or, as that may itself belong
    on 0, to P₀. The square keeps a small coefficient of a large column, whose force is l1 but for
    rounding.
    """
    w = np.asarray(parameters.w, dtype=float)
    force = problem.design.transposed_times(parameters.theta) - c.l2 * w
    size = float(np.max(np.abs(w), initial=0.0)) or 1.0
    strength = float(np.max(np.abs(force), initial=0.0)) or 1.0
    spare = np.divide(c.l1 - np.abs(force), c.l1, out=np.full(len(w), -1.0), where=c.l1 > 0)
    at_zero = (c.l1 > 0) & (np.abs(w) / size <= spare)
    at_zero |= (spare > 0) & (c.l1 * np.abs(w) <= NEGLIGIBLE * problem.scale * spare**2)
    push = (force - c.l1 * np.sign(w)) / strength
    at_lower = np.isfinite(c.lower) & ((w - c.lower) / size <= np.maximum(-push, 0))
    at_upper = np.isfinite(c.upper) & ((c.upper - w) / size <= np.maximum(push, 0))
    held = at_zero | at_lower | at_upper
    stop = np.where(at_lower, c.lower, np.where(at_upper, c.upper, 0.0))
    return np.where(held, stop, w), held


def _wrong_coordinates(c: Coordinates, w: Array, force: Array, held: Array, signs: Array) -> Array:
    """Held coefficients that are pushed away, and free ones that crossed their kink or a bound."""
    smallest = np.where(w <= c.lower, -np.inf, np.where(w > 0, c.l1, -c.l1))
    largest = np.where(w >= c.upper, np.inf, np.where(w >= 0, c.l1, -c.l1))
    slack = 1e-9 * (c.l1 + np.max(np.abs(force), initial=0.0))
    pushed = (force < smallest - slack) | (force > largest + slack)
    crossed = ((c.l1 > 0) & (signs * w < 0)) | (w < c.lower) | (w > c.upper)
    return np.where(held, pushed, crossed)


def _solve_kinks(problem, c: Coordinates, w, b, u, kink: Kink, active, held, signs):
    """w, b and u with z at the kink for the active rows and stationarity for the free coefficients.

    The linear system may be singular in θ (equal rows): it is solved by the method of multipliers,
    which adds a little curvature 1/ρ to θ and removes it in a few rounds (Rockafellar 1976).
    """
    s, rows, free = problem.weights, np.flatnonzero(active), np.flatnonzero(~held)
    l2 = c.l2[free]
    w, u = w.copy(), u.copy()
    force = problem.design.transposed_times(-s * u)[free] - c.l1[free] * signs[free]
    if not len(rows):
        w[free] = np.divide(force, l2, out=w[free], where=l2 > 0)
        return w, b, u
    part = problem.design.rows(rows)
    part = part.columns(free) if len(free) < problem.d else part
    theta, total = -(s * u)[rows], -inner(s, u)
    z = problem.predictions(w, b)[rows]
    squares = float(part.column_square_sums().sum()) / max(len(free), 1) or 1.0
    rho = np.full(len(rows), 1e6 * (float(np.max(l2, initial=0.0)) or 1.0) / squares)
    matrix = NormalMatrix(part, rho, l2, problem.fit_bias)
    last = np.inf
    for _ in range(STEPS):
        miss, rest = kink.at[rows] - z, force - l2 * w[free]
        left = max(
            np.max(np.abs(rest), initial=0.0), np.max(np.abs(miss)), abs(total) * problem.fit_bias
        )
        if not left < 0.5 * last:
            break
        last = left
        right = rest + part.transposed_times(rho * miss)
        dw, db = matrix.solve(right, total + float(np.sum(rho * miss)))
        dz = part.times(dw) + db
        dtheta = rho * (miss - dz)
        w[free] += dw
        b, z, theta = b + db, z + dz, theta + dtheta
        force = force + part.transposed_times(dtheta)
        total += float(dtheta.sum())
    u[rows] = -theta / s[rows]
    return w, b, u


# ---- smooth losses -------------------------------------------------------------------------------


def _polish_coordinates(problem: Problem, parameters: Parameters, c: Coordinates):
    """Newton steps in the coefficients that are neither 0 at a kink nor at a bound, and in b."""
    w, b = np.array(parameters.w, dtype=float), float(parameters.b)
    penalty = problem.penalty
    free = np.flatnonzero(penalty.active(w))
    if len(free) > LARGEST:
        return None
    part = problem.design if len(free) == problem.d else problem.design.columns(free)
    z = problem.predictions(w, b)
    primal = problem.primal(w, b, z)
    rounding = EPS * (abs(primal) + problem.scale)
    for _ in range(STEPS):
        _, slope, curvature = problem.loss.derivatives(problem.y, z)
        slope, curvature = problem.weighted(slope), problem.weighted(curvature)
        rest = -(part.transposed_times(slope) + penalty.gradient(w)[free])
        matrix = NormalMatrix(part, curvature, c.l2[free], problem.fit_bias)
        dw, db = np.zeros(problem.d), 0.0
        dw[free], db = matrix.solve(rest, -float(slope.sum()))
        decrement = inner(rest, dw[free]) - float(slope.sum()) * db
        if not decrement > 0:
            break
        dz, length, reached = part.times(dw[free]) + db, 1.0, np.inf
        # If a row crosses a jump of the curvature, the full step may be too long.
        while length > 1e-3:
            reached = problem.primal(w + length * dw, b + length * db, z + length * dz)
            if reached <= primal + rounding:
                break
            length *= 0.5
        if not (reached <= primal + rounding and _is_smooth(problem, w, w + length * dw)):
            return None
        w, b, z, primal = w + length * dw, b + length * db, z + length * dz, reached
        if decrement <= 1e-3 * rounding:
            break
    return Parameters(w, np.array(b))


def _polish_classes(problem: Problem, parameters: Parameters) -> Parameters | None:
    """Newton steps in all coefficients of several outputs, by a factor if it is cheap."""
    unknowns = (problem.outputs or 1) * (problem.d + 1)
    if problem.n * unknowns**2 > MOST_FACTORED:
        return None
    at = Iterate(problem, strengths(problem), parameters.w, parameters.b)
    rounding = EPS * (abs(at.primal) + problem.scale)
    factored = Joint(problem) if problem.loss.task == "multiclass" else Blocks(problem)
    for _ in range(STEPS):
        step = factored.step(at, Damping())
        if step is None or not -at.gradient.dot(step) > 1e-3 * rounding:
            break
        at = Line(at, step).at(1.0)
        factored.estimate(at)
    return Parameters(at.w, at.b)


def _polish_jointly(problem: Problem, parameters: Parameters) -> Parameters | None:
    """The same for several outputs or for groups of coefficients.

    By a factor of the Hessian if that is small, else by conjugate gradients.
    """
    w, b = np.array(parameters.w, dtype=float), np.array(parameters.b, dtype=float)
    if not problem.penalty.has_curvature:
        return None
    active = problem.penalty.active(w)
    if problem.n * np.count_nonzero(active) ** 2 > MOST_WORK:
        return None
    rows = np.count_nonzero(active if active.ndim == 1 else active.any(axis=1))
    if problem.n * ((problem.outputs or 1) * (rows + 1)) ** 2 <= MOST_FACTORED:
        polished = _polish_on_face(problem, w, b)
        if polished is not None:
            return polished
    if not problem.penalty.is_convex:
        return None
    last, products = np.inf, 0
    while products < MOST_PRODUCTS:
        dw, db, decrement, more = _joint_step(problem, w, b, MOST_PRODUCTS - products)
        if not 0 < decrement < 0.5 * last:
            break
        last, products = decrement, products + more
        if not _is_smooth(problem, w, w + dw):
            return None
        w, b = w + dw, b + db
    return Parameters(w, b)


def _polish_on_face(problem: Problem, w: Array, b: Array) -> Parameters | None:
    """Newton steps on the face around w while they get shorter; None if one leaves it."""
    at, last = evaluate(problem, w, b, problem.penalty.value(w)), np.inf
    coordinates = problem.penalty.coordinates(problem.d)
    for _ in range(STEPS):
        new = newton_on_face(problem, coordinates, at)
        if new is None:
            break
        if not _is_smooth(problem, w, new.w):
            return None
        change = max(float(np.max(np.abs(new.w - at.w))), float(np.max(np.abs(new.b - at.b))))
        if not change < 0.5 * last:
            break
        at, last = new, change
        # About the square of that remains: another step would search among rounding errors.
        if change <= SETTLED * max(float(np.max(np.abs(at.w))), float(np.max(np.abs(at.b)))):
            break
    return Parameters(at.w, at.b) if np.isfinite(last) else None


def _is_smooth(problem: Problem, w: Array, moved: Array) -> bool:
    """Whether no kink or bound lies between w and the moved coefficients."""
    penalty, coordinates = problem.penalty, problem.penalty.coordinates(problem.d)
    if coordinates is not None:
        l1, _, _, _ = coordinates.like(w)
        if np.any((l1 > 0) & (np.sign(moved) != np.sign(w))):
            return False
    return np.array_equal(penalty.active(moved), penalty.active(w))


def _joint_step(problem: Problem, w: Array, b: Array, most: int) -> tuple[Array, Array, float, int]:
    """The Newton step in the active coefficients and the biases, its decrement, and its products.

    Cut short after `most` products, it still leads downhill.
    """
    s, penalty, design = problem.row_weights, problem.penalty, problem.design
    products = 0
    active = penalty.active(w)
    z = problem.predictions(w, b)
    slope = s * problem.loss.gradient(problem.y, z)

    def join(for_w: Array, for_b: Array) -> Array:
        return np.append(for_w * active, for_b * problem.fit_bias)

    def split(step: Array) -> tuple[Array, Array]:
        return step[: w.size].reshape(w.shape) * active, step[w.size :].reshape(b.shape)

    def hessian_times(step: Array) -> Array:
        nonlocal products
        products += 1
        dw, db = split(step)
        slopes = s * problem.loss.hessian_times(problem.y, z, design.times(dw) + db)
        curved = design.transposed_times(slopes) + penalty.hessian_times(w, dw)
        return join(curved, slopes.sum(axis=0))

    right = -join(design.transposed_times(slope) + penalty.gradient(w), slope.sum(axis=0))
    H = scipy.sparse.linalg.LinearOperator((len(right),) * 2, hessian_times, dtype=float)
    maxiter = min(2 * len(right), most)
    # The next step adds the other digits. Asked for all of them at once, the method goes astray
    # when rounding leaves a residual that a singular H cannot explain.
    step, _ = scipy.sparse.linalg.cg(H, right, rtol=1e-9, maxiter=maxiter)
    return *split(step), inner(right, step), max(products, 1)
