"""The span rule for piecewise-linear losses with ½Σ l2ⱼwⱼ²: support vector machines.

Leaving out a row that is not a support vector changes nothing. Without a support vector i, those at
a kink of their loss keep their predictions, those beyond keep their θ, and

    z₍₋ᵢ₎ = zᵢ − θᵢSᵢ²,   Sᵢ the distance of xᵢ from the span of the others at a kink,

if no row changes from one kind to another (Vapnik and Chapelle 2000, Neural Computation 12). With
few features most do, and the rule is refused: for n = 60, d = 5 its error was four times the
movement of the predictions, for d = 40 a twentieth. Rows of one x leave together: θᵢ is their sum,
and they are at a kink if one of them is.
"""

from __future__ import annotations

import numpy as np

from ...problem import Parameters, Problem
from ._base import LARGEST_ACTIVE_SHARE, Array, NotAvailable, refuse_large_system, squares_of
from .distinct import MergedRows, sums_by
from .rows import InRows, kernel_of

# A dual variable is at an end of its interval if it is this near, relative to the length.
AT_END = 1e-8


def hold_out(
    problem: Problem, parameters: Parameters, units: MergedRows, groups: Array | None
) -> tuple[Array, Array]:
    """Held-out predictions of the units (m,) and leverages (1 at a kink) of one output."""
    l2 = squares_of(problem)
    if l2 is None or np.any(l2 == 0):
        raise NotAvailable("the span rule needs a penalty ½Σ l2ⱼwⱼ² on every feature")
    if parameters.theta is None:
        raise NotAvailable("the span rule needs the dual point of the fit")
    theta = units.sums(parameters.theta)
    z = units.firsts(problem.predictions(parameters.w, parameters.b))
    is_at_kink = units.sums(_is_at_kink(problem, parameters.theta).astype(float)) > 0
    count = int(np.count_nonzero(is_at_kink))
    if not count:
        raise NotAvailable("no support vector is strictly between its bounds")
    if count > LARGEST_ACTIVE_SHARE * (problem.d + problem.fit_bias):
        raise NotAvailable(
            f"{count} support vectors between their bounds are more than half of the {problem.d} "
            "coefficients, so leaving a row out would change which they are"
        )
    refuse_large_system(count, problem)
    softness = np.where(is_at_kink, 0.0, np.inf)
    kernel = kernel_of(units.merged(problem), l2)
    system = InRows(kernel, z[:, None], theta[:, None], softness, resolve=False)
    held, leverage = system.leave(groups)
    return held[:, 0], leverage


def _is_at_kink(problem: Problem, theta: Array) -> Array:
    """Which θ are strictly inside an interval in which ℓ* is linear, those of equal rows summed.

    How equal rows (x, y) share their θ, up to all for one of them, is arbitrary.
    """
    labels = problem.equal_rows
    lower, upper, theta = (sums_by(labels, part)[labels] for part in (*problem.box(), theta))
    room = AT_END * (upper - lower)
    inside = (theta > lower + room) & (theta < upper - room)
    if problem.loss.dual_box(problem.y).absolute:
        # ε|u| bends ℓ* at 0, between the kinks at y − ε and y + ε.
        inside &= np.abs(theta) > room
    return inside
