"""Which solver `auto` chooses: the table of docs/guide/solvers.md, as a function."""

from __future__ import annotations

import numpy as np

from ..problem import Problem

# With at most this many features, or rows, second-order methods solve their equations directly and
# the augmented Lagrangian is faster: on 32,561 × 123 and on 60,000 × 784; its speed does not depend
# on the conditioning. Beyond, dual coordinate descent is faster if there is a dual box: on 11,314 ×
# 130,107 words five times faster than Newton's method for the squared hinge.
FEW_FEATURES, FEW_ROWS = 2000, 500
# The largest matrix that the interior point method may factorise at every step.
LARGEST_FACTOR = 3000
# With at most this many features the best subset of them is found within seconds, mostly.
FEW_TO_COUNT = 30
# Operations for one factor: a second try then stays within about a second.
CHEAP = 1e8


def in_simplest_form(problem: Problem) -> Problem:
    """The problem with the same penalty in the form that most solvers take."""
    penalty = problem.penalty.simplest(problem.d, problem.outputs)
    return problem if penalty is problem.penalty else problem.with_penalty(penalty)


def choose(problem: Problem) -> str:
    """The name of the solver that `solver="auto"` means for this problem."""
    problem = in_simplest_form(problem)
    loss, penalty, d = problem.loss, problem.penalty, problem.d
    coordinates = problem.coordinates
    quadratic = coordinates is not None and coordinates.is_quadratic()
    compiled = coordinates is not None or penalty.blocks(d) is not None
    ridge = quadratic and bool(np.all(coordinates.l2 > 0)) and problem.outputs is None
    large_dual = ridge and loss.has_dual_box and d > FEW_FEATURES and problem.n > FEW_ROWS
    if not penalty.is_convex:
        return _choose_not_convex(problem)
    if quadratic and loss.name == "squared":
        return "closed_form"
    if large_dual and (problem.fit_bias or problem.design.center is None):
        return "dual"
    if loss.has_curvature:
        return "newton" if quadratic else "prox_newton" if compiled else "proximal_gradient"
    if not loss.is_piecewise_linear:
        return "proximal_gradient"
    by_rows = loss.has_dual_box and has_small_factor(problem) and not ridge
    return "interior_point" if by_rows else "augmented_lagrangian"


def _choose_not_convex(problem: Problem) -> str:
    """The same for a penalty with local minima."""
    loss, penalty, d = problem.loss, problem.penalty, problem.d
    is_counted = penalty.subset(d) is not None and d <= FEW_TO_COUNT
    if is_counted and loss.name == "squared" and problem.outputs is None:
        return "branch_and_bound"
    has_no_slopes = loss.is_piecewise_linear or penalty.concave(d) is None
    if penalty.subset(d) is not None and has_no_slopes and problem.outputs is None:
        return "stepwise"
    if loss.is_piecewise_linear:
        return "local_linear"
    is_compiled = loss.has_curvature and penalty.concave(d) is not None
    return "prox_newton" if is_compiled else "proximal_gradient"


def alternative(problem: Problem, name: str) -> str | None:
    """The solver to try when the chosen one, `name`, made no progress; None without one."""
    if problem.n * problem.d * min(problem.n, problem.d) > CHEAP:
        return None
    if not problem.penalty.is_convex:
        return None
    if name == "interior_point":
        return "augmented_lagrangian" if problem.loss.is_piecewise_linear else None
    is_taken = problem.loss.has_dual_box and has_small_factor(problem)
    return "interior_point" if is_taken else None


def has_small_factor(problem: Problem) -> bool:
    """Whether the interior point method takes the penalty and its equations are small."""
    coordinates = problem.coordinates
    if coordinates is None:
        return False
    size = min(problem.n, problem.d) if np.all(coordinates.l2 > 0) else problem.d
    return size <= LARGEST_FACTOR
