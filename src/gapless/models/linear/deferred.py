"""Certificates that are computed when they are first read.

A certificate costs a few passes over the data, which for a model that fits in a few passes is as
much as the fit. If a solver has reached its gap and nothing is left to warn of, the fit leaves the
certificate to its first reader. Called by `_base`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...certificates import Certificate, certify_all, why_endless
from ...problem import EPS, Parameters, Problem, column_norms
from ...solvers import Solution
from ...unseen import refuse_other_data

Array = np.ndarray

# Rounding may take this many times EPS of the product of ‖θ‖ and the sizes of all terms in a score,
# and up to this part of P₀ no certificate complains about it.
ROUNDED, TOLERATED = 1e5, 1e-5
# Rounding may take this many times EPS of the terms of Xᵀθ, whose squares a weak penalty divides,
# and the gap may grow by this part of P₀, which is less than any usual tolerance.
SLOPES, UNNOTICED = 10.0, 1e-9
# Rows that show how large the terms of a score are.
FEW_ROWS = 64
CLOSED_FORMS = ("closed_form", "cholesky", "eigen", "svd")
# The certificate of a copy, made too late to compute one.
CHANGED = (
    "no bound is known: X, y or the weights had changed since the fit when the model was copied; "
    "gapless.certify(model, X, y) computes one."
)


@dataclass(frozen=True, eq=False)
class Deferred:
    """All that a certificate needs, which refers to the data of the fit and does not copy them.

    `parameters` are those of the fit, whatever happens to the model, and `objective` is what the
    solver says of them.
    """

    name: str
    problems: list[Problem]
    parameters: list[Parameters]
    tol: float
    exact: list[bool]
    objective: float

    @classmethod
    def of(cls, model: Any, problems: list[Problem], solutions: list[Solution]) -> Deferred:
        """The certificate of a fit by its problems and their solutions."""
        parameters, objective = [s.parameters for s in solutions], sum(s.primal for s in solutions)
        known = model.tol, are_exact(solutions), objective
        return cls(type(model).__name__, problems, parameters, *known)

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate; an error if the data have changed since the fit."""
        first, *others = certify_all(self.problems, self.parameters, self.tol, self.exact)
        found = sum(others, start=first)
        refuse_other_data(self.name, found.primal, self.objective, found.scale)
        return found


def are_exact(solutions: Sequence[Solution]) -> list[bool]:
    """Which solutions are from a closed form."""
    return [solution.solver in CLOSED_FORMS for solution in solutions]


def changed() -> Certificate:
    """The certificate of a copy whose data had changed before it was computed."""
    nothing = float("nan")
    return Certificate("none", CHANGED, nothing, -np.inf, np.inf, np.inf, nothing, nothing)


def may_wait(
    problems: Sequence[Problem], stored: Sequence[Parameters], solutions: Sequence[Solution]
) -> bool:
    """Whether all certificates will certainly say "optimal", so that nobody needs to be warned."""
    return all(_will_pass(*each) for each in zip(problems, stored, solutions))


def _will_pass(problem: Problem, stored: Parameters, solution: Solution) -> bool:
    """Whether the gap is known to be small, the minimiser exists, and rounding cannot matter."""
    coordinates, theta = problem.coordinates, solution.parameters.theta
    if solution.status != "optimal" or theta is None or problem.scale == 0:
        return False
    # A coefficient without a penalty may have no best value, which takes time to find out.
    if coordinates is None or not np.all(coordinates.l2 > 0) or not problem.loss.is_convex:
        return False
    if not np.array_equal(stored.w, solution.parameters.w):  # rounded to float32
        return False
    if why_endless(problem, stored.w, stored.b, theta):
        return False
    entries = np.abs(problem.design.rows(slice(None, None, max(problem.n // FEW_ROWS, 1))).dense())
    rounding = ROUNDED * EPS * np.sqrt(problem.n) * np.sum(column_norms(theta))
    if not rounding * _size_of_terms(problem, stored, entries) <= TOLERATED * problem.scale:
        return False
    # ‖Xᵀθ − λw‖²/2λ is part of the gap.
    slopes = SLOPES * EPS * entries.max(axis=0, initial=0.0) * np.sum(np.abs(theta))
    least = float(np.min(coordinates.l2, initial=np.inf))
    return bool(np.sum(slopes**2) <= 2 * least * UNNOTICED * problem.scale)


def _size_of_terms(problem: Problem, at: Parameters, entries: Array) -> float:
    """About the largest sum of |wⱼxᵢⱼ|, |b| and |yᵢ| of a row; `entries` |xᵢⱼ| of some rows."""
    terms = entries @ np.abs(at.w)
    size = float(np.max(terms, initial=0.0)) + float(np.max(np.abs(at.b)))
    if problem.loss.task != "regression":
        return size + 1.0
    return size + max(float(problem.y.max()), -float(problem.y.min()))
