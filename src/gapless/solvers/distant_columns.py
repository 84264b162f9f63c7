"""Columns far from 0 for their spread, which are centred while a solver runs.

Uncentred, the rounding of Xw would hide the gradients. Called by `entrance` and by
`newton_with_scale`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from ..problem import Parameters, Problem
from ._base import Solution

Array = np.ndarray
P = TypeVar("P", bound=Problem)

# Columns farther from 0 than this multiple of their spread are centred; looked at in a few rows.
DISTANT, FEW_ROWS = 1e4, 64


def distant_mean(problem: Problem) -> Array | None:
    """The mean of dense columns that lie far from 0 for their spread; None if none does.

    Judged by a few rows, so that it costs nothing where it is not needed; None without a bias.
    """
    design = problem.design
    if not problem.fit_bias or design.is_sparse or design.center is not None or not problem.n:
        return None
    rows = design.rows(slice(None, None, max(problem.n // FEW_ROWS, 1))).dense()
    spread = np.ptp(rows, axis=0)
    if not np.any((spread > 0) & (np.abs(rows[0]) > DISTANT * spread)):
        return None
    mean = design.transposed_times(problem.weights) / problem.weights.sum()
    return mean if np.all(np.isfinite(mean)) else None


def solve_centred(
    mean: Array,
    problem: P,
    start: Parameters | None,
    solve: Callable[[P, Parameters | None], Solution],
) -> Solution:
    """The solution of a problem by that of the same one with centred columns."""
    moved = replace(problem, design=problem.design.shifted(mean))
    if start is not None:
        start = replace(start, b=start.b + mean @ start.w)
    solution = solve(moved, start)
    trace, found = solution.trace, solution.parameters
    trace.iterates = [(w, b - mean @ w) for w, b in trace.iterates]
    return replace(solution, parameters=replace(found, b=np.asarray(found.b - mean @ found.w)))
