"""The bound (R/γ)² on a perceptron's mistakes, from the largest geometric margin of any plane.

References
----------
Novikoff (1962), On convergence proofs for perceptrons, Symposium on the Mathematical Theory of
Automata 12.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ..._ground.design import Design
from ..._ground.notebook import ShownInNotebook
from ...losses import Hinge
from ...penalties import L2
from ...problem import Problem
from ...solvers import solve

Array = np.ndarray

# Penalties of the support vector machine, each a better approximation of the one without slack, on
# rows within 1 of the origin.
STRENGTHS = (1e-3, 1e-5, 1e-7)
# No plane is looked for whose margin is a smaller part of the radius: the bound would be a million.
SMALLEST = 1e-3
# A margin this near to the largest possible one counts as it.
NEAR = 1e-3


@dataclass(frozen=True)
class MistakeBound(ShownInNotebook):
    """The largest number of mistakes that a perceptron can make, in any number of epochs.

    Attributes
    ----------
    radius : float
        R, the largest norm of a row (x, 1), or of x in a model without a bias.
    geometric_margin : float
        γ, the smallest distance of a row (x, 1) to a plane through the origin that separates the
        classes; 0 if none is known.
    plane : {"best", "found", "none"}
        Whose it is: that of the plane with the largest one, of the one that the perceptron
        has found, or of none.
    largest_weight : float
        The largest weight of a row, which is the length of its step, and what its mistake counts.
    """

    radius: float
    geometric_margin: float
    plane: str
    largest_weight: float = 1.0

    @property
    def mistakes(self) -> float:
        """s(R/γ)², s the largest weight, from a start at 0; ∞ without a separating plane.

        After steps of lengths sₖ, γΣsₖ ≤ ‖w‖ ≤ R√Σsₖ², and Σsₖ² ≤ sΣsₖ.
        """
        if not self.geometric_margin > 0:
            return math.inf
        return self.largest_weight * (self.radius / self.geometric_margin) ** 2

    def __str__(self) -> str:
        if self.plane == "none":
            return "no bound: no plane is known that separates the classes by more than R/1000."
        whose = {
            "best": "the largest geometric margin of any plane",
            "found": "the geometric margin of the plane found; a larger one would give fewer",
        }[self.plane]
        factor, weight = "", ""
        if self.largest_weight != 1:
            factor, weight = "s", f"s = {self.largest_weight:.4g}, the largest weight of a row, "
        return (
            f"at most {math.floor(self.mistakes * (1 + 1e-12)):,} mistakes: {factor}(R/γ)² with "
            f"{weight}R = {self.radius:.4g} and γ = {self.geometric_margin:.4g}, {whose}."
        )


def mistake_bound(problem: Problem, w: Array, b: float, largest_weight: float) -> MistakeBound:
    """The bound for the rows of a problem of two classes, with the plane w, b as a candidate."""
    rows = np.flatnonzero(problem.weights > 0)
    design, y = problem.design.rows(rows), problem.y[rows]
    if problem.fit_bias:
        design = _with_ones(design)
    radius = float(np.sqrt(np.max(design.row_square_sums(np.ones(design.d)), initial=0.0)))
    found = MistakeBound(radius, 0.0, "none", largest_weight)
    plane = np.append(w, b) if problem.fit_bias else w
    margin = _margin(design, y, plane)
    if margin > 0:
        found = replace(found, geometric_margin=margin, plane="found")
    for strength in STRENGTHS:
        machine = Problem(
            design, y, Hinge(), L2(strength * radius**2), np.ones(len(y)), fit_bias=False
        )
        solution = solve(machine, tol=1e-8).parameters
        margin = _margin(design, y, solution.w)
        if margin > found.geometric_margin:
            found = replace(found, geometric_margin=margin, plane="found")
        largest = _largest(design, solution.theta)
        if found.geometric_margin > 0 and found.geometric_margin >= (1 - NEAR) * largest:
            return replace(found, plane="best")
        if largest < SMALLEST * radius:
            break
    return found


def _margin(design: Design, y: Array, plane: Array) -> float:
    """The smallest signed distance of a row to the plane; not positive unless it separates."""
    norm = float(np.linalg.norm(plane))
    return float(np.min(y * design.times(plane.astype(float)))) / norm if norm > 0 else 0.0


def _largest(design: Design, theta: Array | None) -> float:
    """A bound on the margin of every plane: the norm of any mean of the rows, each times its y.

    θ has the signs of y; its shares are the weights of the mean.
    """
    if theta is None or not np.any(theta):
        return math.inf
    return float(np.linalg.norm(design.transposed_times(theta)) / np.sum(np.abs(theta)))


def _with_ones(design: Design) -> Design:
    """The rows (x, 1)."""
    ones = np.ones((design.n, 1))
    if design.is_sparse:
        return Design(sp.hstack([design.X, ones], format="csr").astype(float))
    return Design(np.hstack([design.X.astype(float), ones]))
