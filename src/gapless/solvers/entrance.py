"""`solve` and `solve_many`: choose the solver, run it, polish, and try another if it stalls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from .._ground.design import Design
from .._ground.threads import single_blas
from ..problem import Parameters, Problem
from ._base import Registered, Solution, Solver, registered, registry, run
from .auto import alternative, choose, in_simplest_form
from .distant_columns import distant_mean, solve_centred
from .dual import begun_by_descent, descend_briefly, descend_together, is_quick
from .joint_gram import KeptGram
from .polish import finish
from .repeated_columns import gathered
from .row_space import RowSpace, is_wide

# The status of a solution after which nothing else is begun.
ENDS = ("interrupted", "time_limit", "callback")
# The row space must have this many times fewer coordinates to be worth the detour.
NARROWER = 4
# How often equal columns may be gathered again after a solver without convexity.
MOST_GATHERED = 3
# The tolerance for easier losses, whose solutions are only starts.
EASED = 1e-3


def solve(
    problem: Problem,
    solver: str | Solver = "auto",
    start: Parameters | None = None,
    *,
    tol: float = 1e-6,
    max_iter: int | None = None,
    callback=None,
    polish: bool = True,
    kept: KeptGram | None = None,
) -> Solution:
    """Minimise the problem until the gap is at most tol·P₀, by a solver or the one of that name.

    Without `polish`, stop at the digits that the gap requires. A Gram matrix `kept` between calls
    serves similar problems, such as those along a path.
    """
    chosen = _look_up(solver, problem)
    problem = in_simplest_form(problem)
    if kept is not None and chosen.name == "prox_newton" and isinstance(chosen, Registered):
        chosen = replace(chosen, generator=partial(chosen.generator, kept=kept))
    options = {"tol": tol, "max_iter": max_iter, "callback": callback}
    return _solved(chosen, problem, start, options, polish, solver == "auto", {})


def solve_many(
    problems: Sequence[Problem],
    solver: str | Solver = "auto",
    starts: Sequence[Parameters | None] | None = None,
    *,
    tol: float = 1e-6,
    max_iter: int | None = None,
    callback=None,
    polish: bool = True,
) -> list[Solution]:
    """Minimise several problems, such as one class against the rest for each class.

    The same as `solve` on each in turn. Problems on one design that go to dual coordinate descent
    run side by side, each on a thread. After Ctrl-C, a time limit or a callback that stops, the
    problems not yet begun are missing from the list. Without `polish` the gap is reached, but not
    the last digits.
    """
    starts = [None] * len(problems) if starts is None else starts
    chosen = [_look_up(solver, problem) for problem in problems]
    problems = [in_simplest_form(problem) for problem in problems]
    options = {"tol": tol, "max_iter": max_iter, "callback": callback}
    is_shared = all(problem.design is problems[0].design for problem in problems)
    if is_shared and all(c.name == "dual" and not c.keep_iterates for c in chosen):
        together = descend_together(problems, starts, **options)
        return [
            _finished(p, solution, tol) if polish else solution
            for p, solution in zip(problems, together)
        ]
    solutions: list[Solution] = []
    spaces: dict[Design, RowSpace] = {}
    for c, problem, start in zip(chosen, problems, starts):
        how = (options, polish, solver == "auto", spaces)
        solutions.append(_solved(c, problem, start, *how))
        if solutions[-1].status in ENDS:
            break
    return solutions


def _solved(
    chosen: Solver,
    problem: Problem,
    start: Parameters | None,
    options: dict,
    polish: bool,
    again: bool,
    spaces: dict[Design, RowSpace],
) -> Solution:
    """The polished solution by one solver, or by another if `again` allows a second try.

    `spaces` keeps the row spaces of designs, which problems on the same rows share.
    """
    mean = distant_mean(problem) if chosen.is_exact else None
    if mean is not None:
        how = {"options": options, "polish": polish, "again": again, "spaces": spaces}
        return solve_centred(mean, problem, start, partial(_solved, chosen, **how))
    if _is_moved(chosen, problem):
        if problem.design not in spaces:
            spaces[problem.design] = RowSpace.of(problem.design)
        space = spaces[problem.design]
        moved = space.problem(problem)
        begin, rounds = None if start is None else space.enter(start), 0
        if again and start is None and registry["dual"].refuses(moved) is None:
            try:
                begin, rounds = descend_briefly(moved, options["max_iter"])
            except KeyboardInterrupt:  # only the model without features is known
                known = run(chosen, problem, start, **{**options, "max_iter": 0})
                return replace(known, status="interrupted")
        left = {"max_iter": _left(options["max_iter"], rounds)}
        how = ({**options, **left}, polish, again, spaces)
        solution = _solved(chosen, moved, begin, *how)
        trace, found = solution.trace, solution.parameters
        trace.steps += rounds
        trace.iterates = [(space.leave(w), b) for w, b in trace.iterates]
        return replace(solution, parameters=replace(found, w=space.leave(found.w)))
    steps = 0
    if not problem.penalty.is_convex and (start is None or not np.any(start.w)):
        convex = _convex_start(problem, options)
        if convex is not None and convex.status in ENDS:
            known = run(chosen, problem, convex.parameters, **{**options, "max_iter": 0})
            return replace(known, status=convex.status)
        if convex is not None:
            start, steps = convex.parameters, convex.trace.steps
    if not problem.penalty.is_convex and start is not None:
        start = gathered(problem, start)
    if chosen.is_exact and start is None:
        eased = _eased_start(chosen, problem, options)
        if eased is not None and eased.status in ENDS:
            known = run(chosen, problem, eased.parameters, **{**options, "max_iter": 0})
            return replace(known, status=eased.status)
        if eased is not None:
            start, steps = eased.parameters, steps + eased.trace.steps
            options = {**options, "max_iter": _left(options["max_iter"], eased.trace.steps)}
    is_begun = again and start is None and isinstance(chosen, Registered)
    if is_begun and chosen.name == "augmented_lagrangian" and is_quick(problem):
        chosen = replace(chosen, generator=begun_by_descent(chosen.method, options["tol"]))
    solution = run(chosen, problem, start, **options)
    if not problem.penalty.is_convex:
        solution = _gathered_again(chosen, problem, solution, options)
    solution.trace.steps += steps
    if not (polish and chosen.is_exact):
        return solution
    solution = _finished(problem, solution, options["tol"])
    return _second_try(problem, solution, options) if again else solution


def _gathered_again(
    chosen: Solver, problem: Problem, solution: Solution, options: dict
) -> Solution:
    """The solution from where one of several equal columns has taken what a solver split."""
    for _ in range(MOST_GATHERED):
        left = _left(options["max_iter"], solution.trace.steps)
        if solution.status in (*ENDS, "max_iter", "diverged") or left == 0:
            break
        found = gathered(problem, solution.parameters)
        if found is solution.parameters:
            break
        again = run(chosen, problem, found, **{**options, "max_iter": left})
        if not again.primal < solution.primal:
            break
        again.trace.follow(solution.trace)
        solution = again
    return solution


def _left(max_iter: int | None, steps: int) -> int | None:
    """The steps that are left of a limit; None if there is none."""
    return None if max_iter is None else max(max_iter - steps, 0)


def _eased_start(chosen: Solver, problem: Problem, options: dict) -> Solution | None:
    """The last solution for easier losses, each started from the one before; None if none is."""
    if problem.loss.task != "regression":
        return None
    null, start, steps, solution = problem.null, None, 0, None
    for loss, factor in problem.loss.easier(problem.y, problem.predictions(null.w, null.b)):
        easier = replace(problem, loss=loss, weights=problem.weights * factor)
        loose = {"tol": max(options["tol"], EASED), "max_iter": _left(options["max_iter"], steps)}
        solution = run(chosen, easier, start, **{**options, **loose})
        start = replace(solution.parameters, theta=None)
        steps += solution.trace.steps
        if solution.status in ENDS:
            break
    if solution is None or start is None:
        return None
    solution.trace.steps = steps
    return replace(solution, parameters=start)


def _convex_start(problem: Problem, options: dict) -> Solution | None:
    """The solution for the convex penalty that one with local minima starts from, if it has one."""
    null = problem.null
    z = problem.predictions(null.w, null.b)
    weights = problem.weights
    if problem.loss.has_curvature and problem.loss.task != "multiclass":
        curved = problem.weighted(problem.loss.curvature(problem.y, z))
        weights = curved if curved.ndim == 1 else curved.max(axis=1)
    design, total = problem.design, float(np.sum(weights))
    if problem.fit_bias and total > 0:
        design = design.shifted(design.transposed_times(weights) / total)
    penalty = problem.penalty.convex(design.column_square_sums(weights))
    if penalty is None:
        return None
    return solve(problem.with_penalty(penalty), polish=False, **options)


def _is_moved(chosen: Solver, problem: Problem) -> bool:
    """Whether steps and polish are faster in the row space: each forms a Gram matrix of X."""
    is_ridge = problem.coordinates is not None and bool(np.all(problem.coordinates.l2 > 0))
    takes_gram = chosen.name in ("augmented_lagrangian", "interior_point")
    # Newton's method goes there by itself, unless another solver starts it.
    takes_gram |= chosen.name == "newton" and problem.loss.has_dual_box
    return takes_gram and is_ridge and NARROWER * problem.n <= problem.d and is_wide(problem)


def _look_up(solver: str | Solver, problem: Problem) -> Solver:
    """The solver, if it takes the problem: a named one as it is stated."""
    if solver == "auto":
        problem = in_simplest_form(problem)
    if problem.loss.refusal is not None:
        raise ValueError(f"{problem.loss.refusal}.")
    if isinstance(solver, Solver):
        chosen = solver
    else:
        chosen = registered(choose(problem) if solver == "auto" else solver)
    reason = chosen.refuses(problem)
    if reason is not None:
        raise ValueError(f'solver="{chosen.name}" {reason}; use "{choose(problem)}" or "auto".')
    return chosen


def _second_try(problem: Problem, solution: Solution, options: dict) -> Solution:
    """Another solver's solution of a problem on which the first stalled, if it is better.

    Rounding stops different solvers on different problems.
    """
    other = alternative(problem, solution.solver) if solution.status == "stalled" else None
    if other is None:
        return solution
    with np.errstate(all="ignore"):  # overflow shows in the gap
        second = _finished(problem, run(registry[other], problem, **options), options["tol"])
    if second.status == "interrupted":
        return replace(solution, status="interrupted")
    return second if second.gap < solution.gap else solution


def _finished(problem: Problem, solution: Solution, tol: float) -> Solution:
    if solution.status in ("optimal", "stalled", "stationary"):
        # Entered once, as while a solver runs: otherwise each of many small factors would switch
        # BLAS.
        with single_blas(), np.errstate(over="ignore", invalid="ignore"):
            return finish(problem, solution, tol)
    return solution
