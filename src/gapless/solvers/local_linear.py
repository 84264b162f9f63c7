"""Local linear approximation: a penalty concave in |wⱼ|, by a sequence of weighted lassos.

A concave penalty lies below its tangents. Each step replaces it by the tangent at the last
solution, a lasso with a weight for each coefficient, and minimises that: P never rises. Takes any
loss, also one with kinks, since every step is a convex problem. The number of coefficients, ‖w‖₀,
has vertical tangents: what is 0 stays 0, and the others are fitted freely.

References
----------
Zou and Li (2008), One-step sparse estimates in nonconcave penalized likelihood models, Annals of
Statistics 36. Candès, Wakin and Boyd (2008), Enhancing sparsity by reweighted ℓ1 minimization.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import scipy.optimize
import scipy.sparse

from .._ground.interrupt import TimeLimit, check, deadline
from ..penalties import L1, Box
from ..problem import Parameters, Problem
from ._base import Point, solver
from .entrance import ENDS, solve
from .repeated_columns import gathered

Array = np.ndarray
EPS = float(np.finfo(float).eps)

# The tolerance of each convex problem: a loose one would hide that P still falls.
TOLERANCE = 1e-9


def _refuses(problem: Problem) -> str | None:
    if problem.penalty.is_convex or problem.penalty.tangent_slopes(np.zeros(problem.d)) is None:
        return f"needs a penalty that is concave in |w|, got {problem.penalty.name}"
    if problem.outputs is not None and not problem.loss.has_class_box:
        return f"takes one column of predictions, or classes at kinks, got {problem.outputs}"
    return None


@solver("local_linear", refuses=_refuses, max_iter=100)
def local_linear(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Minimise the loss plus the tangents of the penalty, again and again, while P falls.

    A step is the solution of a convex problem, by the solver that `auto` chooses for it; for a
    multi-class hinge of a linear programme with n·K variables.
    """
    at = Parameters(problem.penalty.prox(np.array(start.w, dtype=float), 0.0), start.b)
    primal = problem.primal(at.w, at.b)
    yield Point(at.w, at.b, primal=primal)
    while True:
        slopes = problem.penalty.tangent_slopes(at.w)
        assert slopes is not None
        step = _weighted_lasso if problem.outputs is None else _linear_programme
        found = step(problem, slopes, at)
        if found is None:
            return
        found = gathered(problem, found)
        reached = problem.primal(found.w, found.b)
        # At a fixed point the solution is the same, but only now has it a dual point. It may be
        # higher by the tolerance of its problem; the start is then kept, with that point, as a dual
        # point at a P that is higher by more than its last bits would not be taken.
        if reached <= primal + 4 * EPS * abs(primal):
            at = found
            yield Point(found.w, found.b, theta=found.theta, primal=reached)
        else:
            yield Point(at.w, at.b, theta=found.theta, primal=primal)
        if not reached < primal - 1e-12 * (abs(primal) + problem.scale):
            return
        primal = reached


def _weighted_lasso(problem: Problem, slopes: Array, at: Parameters) -> Parameters:
    """The solution for the tangents by the solver of its kind, from the last solution."""
    penalty: L1 | Box = L1(1.0, np.where(np.isfinite(slopes), slopes, 0.0))
    if not np.all(np.isfinite(slopes)):
        limit = np.where(np.isfinite(slopes), np.inf, 0.0)
        penalty = Box(-limit, limit, penalty)
    return convex_solution(problem.with_penalty(penalty), Parameters(at.w, at.b))


def convex_solution(problem: Problem, start: Parameters | None) -> Parameters:
    """The solution of a convex problem that is a step of another one, or what has stopped it."""
    solution = solve(problem, start=start, tol=TOLERANCE)
    if solution.status == "interrupted":
        raise KeyboardInterrupt
    if solution.status in ENDS:
        raise TimeLimit
    return solution.parameters


def _linear_programme(problem: Problem, slopes: Array, at: Parameters) -> Parameters | None:
    """The same for several scores; None if the programme is not solved.

    The dual: min Σ linear·t over t = −θ in its box, Σₖtᵢₖ = 0 in every row, Σᵢtᵢₖ = 0 for a free
    bias, and |Xᵀt| ≤ slopes. w and b are the multipliers of the last two.
    """
    check()
    n, d, K = problem.n, problem.d, problem.outputs or 1
    box, s = problem.loss.class_box(problem.y, K), problem.row_weights
    eye, X = scipy.sparse.identity, scipy.sparse.csr_matrix(problem.design.dense())
    equal = [scipy.sparse.kron(eye(n), np.ones((1, K)))]
    if problem.fit_bias:
        equal.append(scipy.sparse.kron(np.ones((1, n)), eye(K)))
    finite = np.isfinite(slopes).ravel()
    products = scipy.sparse.kron(X.T, eye(K), format="csr")[np.flatnonzero(finite)]
    limit = slopes.ravel()[finite]
    ends = [np.broadcast_to(s * end, (n, K)).ravel() for end in (box.lower, box.upper)]
    options = {} if deadline() == np.inf else {"time_limit": max(deadline() - time.monotonic(), 0)}
    found = scipy.optimize.linprog(
        np.broadcast_to(box.linear, (n, K)).ravel(),
        A_ub=scipy.sparse.vstack([products, -products], format="csr"),
        b_ub=np.concatenate([limit, limit]),
        A_eq=scipy.sparse.vstack(equal, format="csr"),
        b_eq=np.zeros(n + K * problem.fit_bias),
        bounds=np.stack(ends, axis=1),
        method="highs",
        options=options,
    )
    check()
    if found.status != 0:
        return None
    w = np.zeros(d * K)
    above, below = np.split(found.ineqlin.marginals, 2)
    w[finite] = above - below
    b = found.eqlin.marginals[n:] if problem.fit_bias else np.zeros(K)
    return Parameters(w.reshape(d, K), b - b.mean(), -found.x.reshape(n, K))
