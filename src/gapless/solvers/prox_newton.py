"""Prox-Newton: a smooth loss and a penalty with kinks, by coordinate descent on growing sets.

Each step replaces the loss by its quadratic model, and minimises model + penalty over a working set
of features by the compiled coordinate descent. For the squared loss the model is the loss, and this
is plain coordinate descent. A penalty that is concave in |wⱼ| is minimised exactly in one
coefficient at a time, so that the end is a minimum in each of them. If descent is slow, because
columns are nearly dependent, a Newton step within the support speeds it up. If nothing helps,
because the units of the columns are many orders of magnitude apart or few rows have curvature,
another solver takes over.

References
----------
Yuan, Ho and Lin (2012), An improved GLMNET for L1-regularized logistic regression, JMLR 13.
Massias, Gramfort and Salmon (2018), Celer: a fast solver for the lasso with dual extrapolation,
ICML.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..problem import Parameters, Problem
from ._base import Point, solver
from .auto import has_small_factor
from .face_newton import newton_on_face, shorten
from .interior_point import interior_point
from .joint_gram import KeptGram
from .proximal_gradient import proximal_gradient
from .quadratic_model import Iterate, ModelStep, QuadraticModel, evaluate
from .working_set import BlockPenalty, choose_blocks

Array = np.ndarray
EPS = float(np.finfo(float).eps)

# Besides its support a working set holds the largest of: this many blocks, a part of all blocks,
# this many per block of the support. With dense columns FEWEST_NEW is at most PER_ROOT·√blocks, so
# that their Gram matrix costs no more than some products.
FEWEST_NEW, PER_ROOT = 200, 2
NEW_PART, NEW_PER_OLD = 1 / 128, 1.0
# Entries of the matrices that several outputs need for the features of a working set.
MOST_ENTRIES = 20_000_000
# How well a model is minimised at worst and at best: a sweep gains that part of all sweeps' gain.
LOOSEST, TIGHTEST, EXACT = 0.1, 1e-9, 1e-14
# Sweeps after which coordinate descent counts as slow and gets help, or ends without any.
SLOW, MOST_SWEEPS = 60, 1000
# A distance to optimality, relative to the slopes, that rounding does not explain.
FAR = 1e-6
# This many slow steps, plus the square of d over this many features, take as long as the interior
# point method, which is never slow.
FEW_SLOW_STEPS, FEATURES_PER_SLOW_STEP = 5, 100
# A step that lowers P by less than this part of P₀ may be followed by one on the face.
CREEPING = 1e-4


def _refuses(problem: Problem) -> str | None:
    if not problem.loss.has_curvature:
        return f"needs a loss with curvature, got {problem.loss.name}"
    penalty, d = problem.penalty, problem.d
    if all(form(d) is None for form in (penalty.coordinates, penalty.blocks, penalty.concave)):
        return f"needs a penalty on coordinates or groups, got {penalty.name}"
    return None


@solver("prox_newton", refuses=_refuses, max_iter=500)
def prox_newton(
    problem: Problem, start: Parameters, kept: KeptGram | None = None
) -> Iterator[Point]:
    """Minimise by quadratic models of the loss over growing working sets.

    A step costs two products with the data, and some sweeps over the working set's columns. Along a
    path the Gram matrix `kept` at one strength serves the next.
    """
    penalty = BlockPenalty(problem.penalty, problem.d)
    model = QuadraticModel(problem, kept)
    w = problem.penalty.prox(np.array(start.w, dtype=float), 0.0)  # into the constraints
    b = np.array(start.b, dtype=float)
    at = evaluate(problem, w, b, problem.penalty.value(w), model.kept.predictions(w, b))
    chosen, error, tolerance, sweeps = np.zeros(0, dtype=int), 1.0, LOOSEST, SLOW
    # For the squared loss the model is P itself; a working set is solved once and for all.
    is_exact = penalty.concave is not None and problem.loss.name == "squared"
    stalls, smallest = 0, math.inf
    slow, patience = 0, _patience(problem)
    squares = None
    if not penalty.has_kinks:
        squares = problem.design.column_square_sums(problem.weights)
    while stalls < 4 and slow < patience:
        G = model.kept.product(problem, at.slope)
        estimate = _estimate_gap(problem, at, G)
        # P is recomputed, because the P of a part does not see a bound that rounding has crossed.
        distance = penalty.norms(problem.penalty.subdifferential_distance(at.w, G))
        largest = max(float(distance.max(initial=0.0)), _bias_slope(problem, at))
        known = {"product": -G, "distance": largest if penalty.has_kinks else None}
        model.kept.remember(at.w, at.b, at.z)
        yield Point(at.w, at.b, at.z, -at.slope, estimate, **known)
        tolerance = _next_tolerance(tolerance, error, distance, chosen)
        tolerance = EXACT if is_exact else tolerance
        chosen = _working_set(problem, penalty, at.w, G, distance, squares)
        step = model.minimise(at, G, penalty.part(chosen), tolerance, sweeps)
        new, length = _line_search(problem, at, step)
        rounding = 8 * EPS * abs(at.primal)
        error = step.error(new.primal - at.primal, rounding) if length == 1 else 1.0
        model.adapt(at, step, length, error)
        slow += length < 0.2 or not step.converged
        sweeps = SLOW
        # A concave penalty allows no extrapolation: where columns differ in size, sweeps creep.
        creeps = penalty.concave is not None and not is_exact
        creeps &= at.primal - new.primal < CREEPING * problem.scale
        if not step.converged or creeps:
            better = newton_on_face(problem, penalty.coordinates, new)
            new = new if better is None else better
            sweeps = MOST_SWEEPS if better is None and not step.converged else SLOW
        # Near the end rounding hides the decrease, but the distance to optimality still falls.
        is_progress = new.primal < at.primal - rounding or largest < 0.5 * smallest
        stalls = 0 if is_progress else stalls + 1
        if not is_progress:
            model.forget()
        smallest = min(smallest, largest)
        at = new
    yield Point(at.w, at.b, at.z)
    here = Parameters(at.w, at.b)
    # If no row has curvature (Huber far from all targets), the model has no minimum, but P has.
    if math.isfinite(patience):
        yield from interior_point(problem, here)
    elif smallest > FAR * float(np.max(np.abs(G), initial=1.0)):
        yield from proximal_gradient(problem, here)


def _patience(problem: Problem) -> float:
    """How many slow steps to wait for progress; ∞ if the interior point method cannot take over."""
    if not problem.loss.has_dual_box or not has_small_factor(problem):
        return math.inf
    return FEW_SLOW_STEPS + (problem.d / FEATURES_PER_SLOW_STEP) ** 2


def _bias_slope(problem: Problem, at: Iterate) -> float:
    """How steep P is in the bias."""
    return float(np.max(np.abs(at.slope.sum(axis=0)))) if problem.fit_bias else 0.0


def _next_tolerance(tolerance: float, error: float, distance: Array, chosen: Array) -> float:
    """Ten times smaller if most of the remaining work is within the last working set.

    It is pointless to minimise a model better than it describes the objective, or while it lacks
    features that matter more.
    """
    outside = distance.copy()
    outside[chosen] = 0.0
    if distance[chosen].max(initial=0.0) > outside.max(initial=0.0):
        tolerance = 0.1 * tolerance
    return min(max(tolerance, error, TIGHTEST), LOOSEST)


def _estimate_gap(problem: Problem, at: Iterate, G: Array) -> float | None:
    """The gap of θ = −s·ℓ′ scaled, as if it were orthogonal to the free columns: no product."""
    if not problem.has_dual:
        return None
    scales = problem.penalty.feasible_scales(-G)
    duals = [problem.dual(-c * at.slope, -c * G) for c in scales if c > 0]
    best = max(duals, default=-math.inf)
    return at.primal - best if best > -math.inf else None


def _working_set(
    problem: Problem,
    penalty: BlockPenalty,
    w: Array,
    G: Array,
    distance: Array,
    squares: Array | None,
) -> Array:
    """The support, the free blocks, and of the others those furthest from, or nearest to, rest."""
    kept = (penalty.norms(w) > 0) | penalty.is_free
    K, fewest = problem.outputs or 1, float(FEWEST_NEW)
    if problem.design.density > 0.2 and K == 1:
        fewest = min(fewest, PER_ROOT * penalty.count**0.5)
    new = (fewest, NEW_PART * penalty.count, NEW_PER_OLD * int(kept.sum()))
    most = penalty.count if K == 1 else max(1, MOST_ENTRIES // K**2)
    slack = penalty.slack(G) if squares is None else penalty.slack(G, squares)
    priority = np.where(distance > 0, distance, -slack)
    return choose_blocks(kept, priority, int(max(new)), most)


def _line_search(problem: Problem, at: Iterate, step: ModelStep) -> tuple[Iterate, float]:
    """The end of a step, or of the part of it that lowers P; and the length of that part."""
    features = step.part.features
    before = at.w[features]
    penalty_before = step.part.value(before)

    def along(t: float) -> Iterate:
        w = at.w.copy()
        w[features] = before + t * step.w
        penalty = at.penalty + step.part.value(w[features]) - penalty_before
        return evaluate(problem, w, at.b + t * step.b, penalty, at.z + t * step.z)

    return shorten(at, along, step.slope)
