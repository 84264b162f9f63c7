"""The widest margin between classes that can be separated: the machine of C = ∞.

The hinge is an exact penalty: beyond the largest multiplier of the hard margin, every C has the
same machine, without any loss. Whether there is one is a linear programme, solved by the interior
point as the hinge without a penalty; its w bounds the multipliers, whose sum is 2R(w) for
R = ½‖w‖², and R(w) for ‖w‖₁. Called by `support_vectors`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..._ground.interrupt import TimeLimit
from ...losses import Hinge
from ...penalties import L2
from ...problem import Problem
from ...solvers import Solution, solve, solve_many

# The gap of the linear programme, relative to P₀.
SHARP = 1e-9
# The first C, as a part of what is certainly enough, the factor of the next one, and how much
# smaller than C multipliers are that are not at their bound.
FIRST, NEXT, BELOW = 1e-4, 10.0, 0.99
# The C of the model, in units of the largest multiplier.
ROOM = 2.0


class NotSeparable(ValueError):
    """A problem without a plane that leaves no loss; `place` is its number."""

    def __init__(self, place: int):
        super().__init__("the classes are not separable")
        self.place = place


def enough(problems_at: Callable[[float], Sequence[Problem]], tol: float) -> float:
    """A C beyond which nothing changes, from the problems at any C.

    Raises NotSeparable if there is none.
    """
    most = 0.0
    for place, problem in enumerate(problems_at(1.0)):
        plain = replace(problem, loss=Hinge(), penalty=L2(0.0))
        w = _finished(solve(plain, "interior_point", tol=SHARP, polish=False))
        margins = (plain.y * plain.predictions(w.parameters.w, w.parameters.b))[plain.weights > 0]
        if not margins.min() > 0:
            raise NotSeparable(place)
        size = 2 * problem.penalty.value(w.parameters.w / margins.min())
        most = max(most, size / float(plain.weights[plain.weights > 0].min()))
    C = FIRST * most
    while True:
        problems = problems_at(C)
        solutions = [_finished(one) for one in solve_many(problems, tol=tol)]
        largest = max(_largest(p, one) for p, one in zip(problems, solutions))
        if largest < BELOW or most <= C:
            return ROOM * C * min(largest, BELOW) if largest > 0 else C
        C *= NEXT


def _largest(problem: Problem, solution: Solution) -> float:
    """The largest multiplier, in units of its bound."""
    theta, is_counted = solution.parameters.theta, problem.weights > 0
    if theta is None:
        return 1.0
    return float(np.max(np.abs(theta[is_counted]) / problem.weights[is_counted], initial=0.0))


def _finished(solution: Solution) -> Solution:
    """The solution, unless Ctrl-C or the time limit came first."""
    if solution.status == "interrupted":
        raise KeyboardInterrupt
    if solution.status == "time_limit":
        raise TimeLimit
    return solution
