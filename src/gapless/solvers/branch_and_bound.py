"""Branch and bound: the proven best subset of few features, with a price or a limit on them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..problem import Parameters, Problem
from ._base import Point, solver

# Far below any tolerance that is asked for: `run` stops at the gap that is requested.
SMALLEST = 1e-12
# With more features a node's system takes long, and there are too many nodes.
MOST_FEATURES = 60


def _refuses(problem: Problem) -> str | None:
    if problem.penalty.subset(problem.d) is None:
        return f"needs a penalty on the number of coefficients, got {problem.penalty.name}"
    if problem.loss.name != "squared":
        return f"needs the squared loss, got {problem.loss.name}"
    if problem.outputs is not None:
        return f"takes one column of predictions, got {problem.outputs}"
    if problem.d > MOST_FEATURES:
        return f"takes at most {MOST_FEATURES} features, got {problem.d}"
    return None


@solver("branch_and_bound", refuses=_refuses, max_iter=10_000_000)
def branch_and_bound(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Split the most promising sets of subsets until none can contain a better one.

    A step solves 128 least-squares problems of d features; how many steps it takes depends on the
    data, from a few to 2^d. The gap is that of the whole search, also if time ends it.
    """
    search = problem.best_subset
    search.suggest(np.asarray(start.w))
    while True:
        w = search.coefficients
        b = np.array(search.middle - np.sum(search.mean * w)) if problem.fit_bias else np.zeros(())
        yield Point(w, b, dual=search.lower)
        if search.is_done(SMALLEST * problem.scale):
            return
        search.split(SMALLEST * problem.scale)
