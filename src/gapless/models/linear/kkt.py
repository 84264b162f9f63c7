"""The conditions of optimality, row by row, of losses with a margin.

A row's slope u = −θ/s is where ℓ* has the slope z: at an end of its interval z may lie beyond, in
between it may not. Called by `support_vectors`; kernel machines use the same words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...losses import DualBox
from ...problem import Parameters, Problem

Array = np.ndarray

# The state of a row in words: its multiplier is 0, between 0 and its bound, or at the bound; for a
# row without weight there is none. The squared hinge has no bound, nor are its rows on the margin:
# they are short of it in proportion to their multiplier.
KKT_STATUS = ("inactive", "on margin", "bounded")
ACTIVE, ABSENT = "active", "absent"
# Multipliers below this part of the largest one are rounding, as are distances to their bounds.
ROUNDING = 1e-8


def without_rounding(theta: Array) -> Array:
    """θ with what is rounding set to 0."""
    size = np.abs(theta)
    return np.where(size <= ROUNDING * np.max(size, initial=0.0), 0.0, theta)


def row_conditions(
    problems: Sequence[Problem], parameters: Sequence[Parameters]
) -> tuple[Array, Array]:
    """The status of each row in words and by how much it is violated, the worst of all problems."""
    status = np.zeros(problems[0].n, dtype=int)
    violations = np.zeros(problems[0].n)
    words = KKT_STATUS
    for problem, at in zip(problems, parameters):
        found = _of_classes(problem, at) if problem.outputs else _of_one_score(problem, at)
        status, violations = np.maximum(status, found[0]), np.maximum(violations, found[1])
        if not problem.outputs and problem.loss.dual_box(problem.y).quadratic > 0:
            words = (KKT_STATUS[0], ACTIVE, KKT_STATUS[2])
    is_counted = problems[0].weights > 0
    return np.where(is_counted, np.array(words)[status], ABSENT), violations * is_counted


def _of_one_score(problem: Problem, at: Parameters) -> tuple[Array, Array]:
    """The place of each row's status in KKT_STATUS, and its violation, for one score."""
    box = problem.loss.dual_box(problem.y)
    u, grows, falls = _slopes(problem, at, box)
    pull = problem.predictions(at.w, at.b) - box.linear - box.quadratic * u
    violations = np.maximum(np.where(grows, pull, 0.0), np.where(falls, -pull, 0.0))
    return np.where(u != 0, np.where(grows & falls, 1, 2), 0), violations


def _of_classes(problem: Problem, at: Parameters) -> tuple[Array, Array]:
    """The same for a score of each class, where one slope grows at the cost of another."""
    assert problem.outputs is not None
    box = problem.loss.class_box(problem.y, problem.outputs)
    u, grows, falls = _slopes(problem, at, box)
    pull = problem.predictions(at.w, at.b) - box.linear
    most = np.max(np.where(grows, pull, -np.inf), axis=1)
    least = np.min(np.where(falls, pull, np.inf), axis=1)
    own = np.arange(len(u)), problem.y
    violations = np.where(np.isfinite(most - least), most - least, 0.0)
    return np.where(u.any(axis=1), np.where(falls[own], 1, 2), 0), violations


def _slopes(problem: Problem, at: Parameters, box: DualBox) -> tuple[Array, Array, Array]:
    """u = −θ/s, and whether it may grow and fall inside its interval."""
    assert at.theta is not None
    s = np.where(problem.weights > 0, problem.weights, 1.0)
    u = -(without_rounding(at.theta).T / s).T
    width = np.asarray(box.upper - box.lower, dtype=float)
    near = ROUNDING * np.where(np.isfinite(width), width, 0.0)
    return u, u < box.upper - near, u > box.lower + near
