"""Strengths of penalties: the largest worth trying, and penalties scaled by a strength."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...penalties import L2, Penalty
from ...problem import Problem
from ...unseen import Fitted, squares_of

Array = np.ndarray
# Smaller slopes count as zero: strengths a few decades weaker would lose their digits.
SMALLEST = 1e-290


def largest_strength(problems: list[Problem], nothing: float = 1.0) -> float:
    """The factor by which the penalties must grow for all coefficients to be (nearly) 0.

    `nothing` if the data require no coefficients at any strength.
    """
    return max(_largest_strength(problem, nothing) for problem in problems)


def falling_alphas(problem: Problem, l1_ratio: float, eps: float, count: Any) -> Array:
    """`count` strengths from where all coefficients are 0 down to the part `eps` of it."""
    if l1_ratio == 0:
        raise ValueError(
            "Automatic alpha grid generation is not supported for l1_ratio=0: no strength makes "
            "all coefficients 0. Please supply a grid by providing `alphas=`."
        )
    largest = largest_strength([problem], nothing=0.0)
    smallest = float(np.finfo(float).resolution)
    if largest <= smallest:
        return np.full(count, smallest)
    return np.geomspace(largest, largest * eps, count)


def _largest_strength(problem: Problem, nothing: float) -> float:
    null = problem.null
    z = np.zeros_like(problem.origin.theta) + null.b
    if is_quadratic(problem):
        share = problem.weights / problem.weights.sum()
        centred = problem.design.shifted(problem.design.transposed_times(share))
        # λ above the sum of all eigenvalues of the Hessian leaves less than half of anything.
        sums = centred.column_square_sums(problem.weights)
        raw = problem.design.column_square_sums(problem.weights)
        # What rounding of the mean leaves of a constant column counts as zero.
        total = float(np.sum(sums[sums > (problem.n * np.finfo(float).eps) ** 2 * raw]))
        return 10 * total * _steepness(problem, z) or nothing
    v = problem.design.transposed_times(problem.orthogonal(-problem.derivative(z)))
    size = float(np.max(np.abs(v), initial=0.0))
    if not size > SMALLEST:
        return nothing
    # The scale at which v/λ is just in the domain of R*: there the last coefficient becomes 0.
    return size / min(problem.penalty.feasible_scales(v / size * 1e6)) / 1e6


def _steepness(problem: Problem, z: Array) -> float:
    """The mean curvature of the loss at z, or 1 if it has none."""
    if not problem.loss.has_curvature:
        return 1.0
    curvature = problem.loss.derivatives(problem.y, z)[2]
    rows = curvature if curvature.ndim == 1 else curvature.mean(axis=1)
    return float(np.sum(problem.weights * rows) / problem.weights.sum()) or 1.0


def is_quadratic(problem: Problem) -> bool:
    """Whether the penalty is ½Σ l2ⱼwⱼ² or none."""
    return squares_of(problem) is not None


def is_ridge(problems: list[Problem]) -> bool:
    """Whether one decomposition serves all strengths: squared loss and ½λ‖w‖²."""
    return (
        len(problems) == 1
        and problems[0].loss.name == "squared"
        and isinstance(problems[0].penalty, L2)
    )


def scaled(penalty: Penalty, strength: float) -> Penalty:
    """The penalty, `strength` times as strong."""
    new = penalty.scaled(strength)
    if new is None:
        raise ValueError(
            f"the {penalty.name} penalty has no strength to tune; give it a field `strength`, or "
            "set the strength by hand."
        )
    return new


def penalty_on(fitted: Fitted, problem: Problem, strength: float, total: float) -> Penalty:
    """The penalty of a problem, `strength` times as strong, for rows of that weight."""
    share = total / float(problem.weights.sum()) if fitted.averages else 1.0
    return scaled(problem.penalty, share * strength)
