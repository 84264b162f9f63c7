"""The certificate of a linear model from sums over the parts of a table: see `in_parts`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...certificates import CURE, Certificate, judged, why_endless
from ...problem import DualSums, Problem, rounding_of
from ...solvers import Descent, minimised

Array = np.ndarray

# Weak duality holds for unpenalised coefficients up to this multiple of their usual size.
FAR = 1e3
# A dual point on the edge of what is feasible is also tried this far inside.
ROOMS = (0.0, 1e-12, 1e-10, 1e-8)
SEPARATED = (
    "no minimiser exists: coefficients without a penalty separate the classes, so the objective "
    "keeps falling as they grow; add a penalty."
)
# What helps a fit that ended by itself.
UNITS = (
    "bring the columns to about the same size, such as their standard deviations, and near 0; "
    "sums of squares hide what is much smaller"
)


def dual_point(descent: Descent, towards: bool = False) -> tuple[Any, ...]:
    """Where the proof is sought: see `dual_sums`."""
    problem, at, end = descent.problem, descent.at, descent.found
    sums = descent.sums
    assert sums is not None
    ahead = minimised(sums, problem, at)[0] if towards else end
    w, b = ahead.w - at.w, ahead.b - at.b
    # After the whole step, all slopes together are those of the end to first order.
    v = -sums.moved(w, b).of_w
    v = _within(problem, v)
    scales = problem.penalty.feasible_scales(v)
    if not is_ridge(problem):
        # The sums over θ itself differ from v by rounding, and must be feasible as well.
        scales = tuple(c * (1 - room) for c in scales for room in ROOMS)
    kept = tuple(c for c in scales if c > 0) or (0.0,)
    return (at.w, at.b), (w, b), (end.w, end.b), kept


def cure_of(descent: Descent, is_given: bool) -> str:
    """What helps if the gap is too large, for given coefficients or those of the fit."""
    if is_given:
        return "fit again"
    return UNITS if descent.is_done else CURE


def _within(problem: Problem, v: Array) -> Array:
    """Xᵀθ, with the rounding at free columns undone."""
    v = v.copy()
    v[problem.free] = 0.0
    return v


def certified(
    descent: Descent,
    how: tuple[Any, ...],
    sums: DualSums,
    above: float,
    norms: Array,
    n: int,
    tol: float,
    *,
    is_constant: bool,
    cure: str,
) -> Certificate:
    """The certificate from the sums of the last pass; `norms` are those of the columns.

    `is_constant` says that all targets are equal, and `cure` what helps if the gap is too large.
    """
    problem, end, scales = descent.problem, descent.found, how[3]
    penalty = problem.penalty
    primal = sums.loss + penalty.value(end.w)
    v = _within(problem, sums.product)
    best, rounding = -np.inf, 0.0
    # What is left of Aᵀθ, which should be 0, counts against the bound.
    size = FAR * np.sqrt(sums.square)
    left = size / np.sqrt(n) * float(np.sum(np.abs(sums.total))) if problem.fit_bias else 0.0
    free = problem.free[norms[problem.free] > 0]
    rest = np.abs(sums.product.reshape(problem.d, -1)[free]).sum(axis=1)
    left += size * float(np.sum(rest / norms[free]))
    for c, conjugates in zip(scales, sums.conjugates):
        with np.errstate(over="ignore", invalid="ignore"):
            dual = -conjugates - penalty.conjugate(c * v)
        if np.isfinite(dual) and dual > best:
            best, rounding = float(dual), rounding_of(sums, n, primal, float(dual)) + left
    found = judged(
        primal,
        best,
        scale=float(above) + penalty.value(np.zeros_like(end.w)),
        tol=tol,
        rounding=rounding,
        exact=problem.loss.name == "squared" and is_ridge(problem),
        is_constant=is_constant,
        method="gradient",
        cure=cure,
    )
    # The sample shows that the loss falls for ever; the margin, that no other row is in the way.
    z = problem.predictions(end.w, end.b)
    if sums.margin > 0 and why_endless(problem, end.w, end.b, z) == "separated":
        return replace(found, kind="none", verdict=SEPARATED, no_minimiser="separated")
    return found


def is_ridge(problem: Problem) -> bool:
    """Whether the penalty is quadratic, or none."""
    coordinates = problem.coordinates
    return coordinates is not None and coordinates.is_quadratic()
