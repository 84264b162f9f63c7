"""A Newton step among the coefficients that can move without crossing a kink, for prox-Newton.

Coordinate descent crawls if columns are nearly dependent or their units far apart; a Newton step
does not. It is only an aid: the step is taken if it lowers P.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..penalties import Coordinates
from ..problem import FreeColumns, Problem, joint_hessian
from .newton_steps import inner
from .normal_equations import Factor, NormalMatrix
from .quadratic_model import Iterate, evaluate
from .working_set import Face

Array = np.ndarray
EPS = float(np.finfo(float).eps)

# The largest support whose Newton system is worth factorising; the second number is for coupled
# coefficients of several outputs or groups.
LARGEST_SUPPORT, LARGEST_JOINT = 3000, 1000


def newton_on_face(problem: Problem, c: Coordinates | None, at: Iterate) -> Iterate | None:
    """The end of a Newton step on the face around an iterate; None if it does not help."""
    if c is not None and problem.outputs is None:
        return _step_in_coordinates(problem, c, at)
    return _joint_step(problem, c, at)


def shorten(at: Iterate, along: Callable[[float], Iterate], slope: float) -> tuple[Iterate, float]:
    """The first of 1, ½, ¼ … at which P is as low as its slope promises; else the start, and 0.

    Armijo's rule for a composite objective (Tseng and Yun 2009).
    """
    rounding = 4 * EPS * abs(at.primal)
    if not np.isfinite(slope):
        return at, 0.0  # the model has no minimum
    for halvings in range(40):
        t = 0.5**halvings
        new = along(t)
        if new.primal <= at.primal + 0.01 * t * slope + rounding:
            return new, t
    return at, 0.0


def _step_in_coordinates(problem: Problem, c: Coordinates, at: Iterate) -> Iterate | None:
    """The step of coefficients that stop where the face ends (projected Newton, Bertsekas 1982)."""
    face = Face.around(at.w, c.l1, c.l2, c.lower, c.upper)
    # With nearly as many coefficients as rows the system is close to singular and misleads.
    most = LARGEST_SUPPORT if np.all(face.l2 > 0) else min(LARGEST_SUPPORT, problem.n // 2)
    if not 0 < len(face.index) <= most:
        return None
    before = at.w[face.index]
    design = problem.design.columns(face.index)
    gradient = design.transposed_times(at.slope) + face.gradient(before)
    bias_slope = float(np.sum(at.slope))
    matrix = NormalMatrix(design, at.curvature, face.l2, problem.fit_bias)
    step, bias_step = matrix.solve(-gradient, -bias_slope)
    slope = float(np.sum(gradient * step)) + bias_slope * bias_step
    if not (np.isfinite(slope) and slope < 0):
        return None

    def along(t: float) -> Iterate:
        w = at.w.copy()
        w[face.index] = face.clip(before + t * step)
        z = at.z + design.times(w[face.index] - before) + t * bias_step
        return evaluate(problem, w, at.b + t * bias_step, problem.penalty.value(w), z)

    new, length = shorten(at, along, slope)
    return new if length > 0 else None


def _joint_step(problem: Problem, c: Coordinates | None, at: Iterate) -> Iterate | None:
    """The step where the loss couples several outputs, or the penalty the features of a group."""
    penalty = problem.penalty
    if not penalty.has_curvature:
        return None
    active = penalty.active(at.w)
    features = np.flatnonzero(active if active.ndim == 1 else active.any(axis=1))
    K = problem.outputs or 1
    if not 0 < (len(features) + 1) * K <= LARGEST_JOINT:
        return None
    columns = FreeColumns(problem.design.columns(features), problem.fit_bias)
    if not columns.m:
        return None
    # One output after another; in each, the features and then the bias.
    moving = np.ones((K, columns.m), dtype=bool)
    moving[:, : len(features)] = active[features].reshape(-1, K).T
    gradient = columns.transposed_times(at.slope.reshape(-1, K))
    gradient[: len(features)] += penalty.gradient(at.w)[features].reshape(-1, K)
    right = -gradient.T[moving]
    step = np.zeros((K, columns.m))
    step[moving] = _solve(_hessian(problem, at, columns, features, moving), right)
    slope = -inner(right, step[moving])
    if not (np.isfinite(slope) and slope < 0):
        return None
    dw = np.zeros_like(at.w)
    dw[features] = step.T[: len(features)].reshape(-1, *at.w.shape[1:])
    db = step[:, -1] if problem.fit_bias else np.zeros(K)
    if problem.loss.task == "multiclass":
        db = db - db.mean()  # the same shift of all scores changes nothing: it is rounding
    db = db.reshape(np.shape(at.b))

    def along(t: float) -> Iterate:
        w = _stopped_at_kinks(c, at.w, at.w + t * dw)
        z = at.z + columns.columns.times((w - at.w)[features]) + t * db
        return evaluate(problem, w, at.b + t * db, penalty.value(w), z)

    new, length = shorten(at, along, slope)
    return new if length > 0 else None


def _hessian(
    problem: Problem, at: Iterate, columns: FreeColumns, features: Array, moving: Array
) -> Array:
    """∇²P among the moving coefficients and the biases, one output after another."""
    K, m = moving.shape
    a, f = at.curvature.reshape(-1, K), None
    if problem.loss.task == "multiclass":
        a, f = problem.loss.hessian_factors(problem.y, at.z)
        a, f = problem.row_weights * a, None if f is None else np.sqrt(problem.row_weights) * f
    H = joint_hessian(a, f, columns)[np.ix_(moving.ravel(), moving.ravel())]
    # The penalty stores its coefficients feature by feature.
    place = np.cumsum(moving.ravel()).reshape(K, m)[:, : len(features)].T - 1
    place = place[moving[:, : len(features)].T]
    curved = problem.penalty.hessian(at.w)
    if curved.ndim == 1:
        H[place, place] += curved
    else:
        H[np.ix_(place, place)] += curved
    return H


def _solve(H: Array, right: Array) -> Array:
    """H⁻¹·right, refined once."""
    factor = Factor(H.copy())
    x = factor.solve(right)
    return x + factor.solve(right - np.einsum("ij,j->i", H, x))


def _stopped_at_kinks(c: Coordinates | None, before: Array, after: Array) -> Array:
    """The coefficients after a step, stopped at 0 if that is a kink, and at their bounds."""
    if c is None:
        return after
    l1, _, lower, upper = c.like(before)
    crossed = (l1 > 0) & (after * before < 0)
    return np.clip(np.where(crossed, 0.0, after), lower, upper)
