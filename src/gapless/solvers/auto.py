"""Which solver takes which problem: the table of the design, as one readable function."""

from __future__ import annotations

import numpy as np

from ..problem import Problem


def choose(problem: Problem) -> str:
    """The name of the solver that `solver="auto"` means for this problem."""
    loss, penalty, d = problem.loss, problem.penalty, problem.d
    coordinates = penalty.coordinates(d)
    quadratic = coordinates is not None and coordinates.is_quadratic()
    compiled = coordinates is not None or penalty.blocks(d) is not None
    if quadratic and loss.name == "squared":
        return "closed_form"
    if loss.has_curvature:
        return "newton" if quadratic else "prox_newton" if compiled else "proximal_gradient"
    if not loss.is_piecewise_linear:
        return "proximal_gradient"
    if quadratic and np.all(coordinates.l2 > 0) and problem.outputs is None:
        return "dual"
    if coordinates is not None and min(problem.n, d) <= 3000:
        return "interior_point"
    return "augmented_lagrangian"
