"""Solvers: how an objective is minimised. Each file is one generator function, or a small family.

`solve(problem, solver="auto")` is the one entrance; estimators call it. A solver knows `Problem`
and the compiled core, never estimators or certificates. All stop by the same rule, gap ≤ tol·P₀,
and end with the active-set polish. The contract is in `_base`.
"""

from __future__ import annotations

from ..problem import Parameters, Problem
from . import (  # noqa: F401 - they register themselves
    augmented_lagrangian,
    closed_form,
    dual,
    interior_point,
    newton,
    prox_newton,
    proximal_gradient,
)
from ._base import Point, Solution, Solver, Trace, registry, run, solver
from .auto import choose
from .polish import finish

__all__ = ["Point", "Solution", "Solver", "Trace", "choose", "registry", "solve", "solver"]


def solve(
    problem: Problem,
    solver: str = "auto",
    start: Parameters | None = None,
    *,
    tol: float = 1e-6,
    max_iter: int | None = None,
    callback=None,
) -> Solution:
    """Minimise the problem by the named solver until the gap is at most tol·P₀."""
    name = choose(problem) if solver == "auto" else solver
    if name not in registry:
        known = ", ".join(sorted(registry))
        raise ValueError(f'solver={name!r} is not known; use "auto" or one of {known}.')
    reason = registry[name].refuses(problem)
    if reason is not None:
        raise ValueError(f'solver="{name}" {reason}; use "{choose(problem)}" or "auto".')
    solution = run(registry[name], problem, start, tol=tol, max_iter=max_iter, callback=callback)
    if solution.status in ("optimal", "stalled"):
        return finish(problem, solution, tol)
    return solution
