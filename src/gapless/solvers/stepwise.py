"""Stepwise selection: a good subset of the features for any loss, one feature at a time.

The number of coefficients, as a price or as a limit, leaves a convex problem for each subset of the
features. From one subset to the next a feature is dropped, added, or exchanged for another, as long
as that lowers P. For a loss with kinks there are no tangents to follow (see `local_linear`), and
with a limit alone even 0 is stationary.

References
----------
Efroymson (1960), Multiple regression analysis. Hazimeh and Mazumder (2020), Fast best subset
selection: coordinate descent and local combinatorial optimization, Operations Research 68.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..penalties import L2
from ..problem import Parameters, Problem
from ._base import Point, solver
from .local_linear import convex_solution

Array = np.ndarray

# The features that are tried in each way, those that promise most: all pairs of them are exchanged.
CANDIDATES = 4
# P must fall by more than this part, which the solution of a convex problem does not resolve.
FALL = 1e-8


def _refuses(problem: Problem) -> str | None:
    if problem.penalty.subset(problem.d) is None:
        return f"needs a penalty on the number of coefficients, got {problem.penalty.name}"
    if problem.outputs is not None:
        return f"takes one column of predictions, got {problem.outputs}"
    return None


@dataclass(frozen=True, eq=False)
class Subset:
    """A subset of the features, the best fit to it, and the objective of that."""

    chosen: Array
    at: Parameters
    primal: float

    @property
    def point(self) -> Point:
        """The fit as an iterate."""
        return Point(self.at.w, self.at.b, theta=self.at.theta, primal=self.primal)


@solver("stepwise", refuses=_refuses, max_iter=1000)
def stepwise(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Drop, add or exchange one feature at a time while P falls.

    A step solves up to 24 convex problems on the chosen features, each by the solver that `auto`
    chooses for it.
    """
    known = start if np.isfinite(problem.primal(start.w, start.b)) else problem.null
    # Known at once, so that a fit that is interrupted has something to return.
    yield Point(known.w, known.b)
    best = None
    for chosen in _guesses(problem, np.asarray(start.w)):
        found = _fitted(problem, chosen)
        if best is None or found.primal < best.primal:
            best = found
            yield best.point
    while best is not None:
        enough = best.primal - FALL * (abs(best.primal) + problem.scale)
        tried = (_fitted(problem, chosen) for chosen in _neighbours(problem, best))
        best = next((subset for subset in tried if subset.primal < enough), None)
        if best is not None:
            yield best.point


def _guesses(problem: Problem, w: Array) -> Iterator[Array]:
    """No features; then those of the start, the largest first: one, two, four … as allowed."""
    _, most = _limits(problem)
    free = problem.penalty.free(problem.d)
    sizes = np.abs(w) * _units(problem) * ~free
    order = np.argsort(-sizes, kind="stable")
    counts = [min(most, int(np.count_nonzero(sizes)))]
    while counts[-1]:
        counts.append(counts[-1] // 2)
    for count in reversed(counts):
        chosen = free.copy()
        chosen[order[:count]] = True
        yield chosen


def _neighbours(problem: Problem, subset: Subset) -> Iterator[Array]:
    """Subsets with a feature less, with one more, and with one exchanged for another."""
    _, most = _limits(problem)
    free, units, at = problem.penalty.free(problem.d), _units(problem), subset.at
    inside = np.flatnonzero(subset.chosen & ~free)
    outside = np.flatnonzero(~subset.chosen)
    sizes = np.abs(at.w) * units
    theta = -problem.derivative(problem.predictions(at.w, at.b)) if at.theta is None else at.theta
    slopes = np.abs(problem.design.transposed_times(theta)) / np.where(units > 0, units, 1.0)
    out = inside[np.argsort(sizes[inside], kind="stable")][:CANDIDATES]
    new = outside[np.argsort(-slopes[outside], kind="stable")][:CANDIDATES]
    for j in out:
        yield _changed(subset.chosen, out=j)
    if len(inside) < most:
        for k in new:
            yield _changed(subset.chosen, new=k)
    for j in out:
        for k in new:
            yield _changed(subset.chosen, out=j, new=k)


def _changed(chosen: Array, out: int | None = None, new: int | None = None) -> Array:
    other = chosen.copy()
    if out is not None:
        other[out] = False
    if new is not None:
        other[new] = True
    return other


def _fitted(problem: Problem, chosen: Array) -> Subset:
    """The best fit with these features alone."""
    columns = np.flatnonzero(chosen)
    part = replace(problem, design=problem.design.columns(columns), penalty=L2(0.0))
    found = convex_solution(part, None)
    w = np.zeros(problem.d)
    w[columns] = found.w
    at = Parameters(w, found.b, found.theta)
    return Subset(chosen, at, problem.primal(at.w, at.b))


def _limits(problem: Problem) -> tuple[Array, int]:
    subset = problem.penalty.subset(problem.d)
    assert subset is not None
    return subset


def _units(problem: Problem) -> Array:
    """The spread of each column, over the rows that count."""
    design, s = problem.design, problem.weights
    total = float(np.sum(s))
    if problem.fit_bias and total > 0:
        design = design.shifted(design.transposed_times(s) / total)
    return np.sqrt(np.maximum(design.column_square_sums(s), 0.0))
