"""Models of all rows and of each fold, one penalty strength at a time.

`solve_folds` follows whole paths, which suits penalties with a path solver. Here a search tries one
strength at a time and may stop early: each fold is cut out once, and its models start from the
previous ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._ground.interrupt import TimeLimit
from ..penalties import Penalty
from ..problem import Parameters, Problem
from ._base import Callback, Solution
from .entrance import solve_many

Array = np.ndarray
Fold = tuple[Array, Array]  # positions of the training rows and of the held-out rows
# The penalty of a problem at a strength, given the total weight of its rows.
PenaltyAt = Callable[[Problem, float, float], Penalty]


@dataclass(eq=False)
class _Part:
    """Problems on the same rows, the rows they predict, and their starting points."""

    problems: list[Problem]
    test: Array
    starts: list[Parameters] | None = None


class FoldModels:
    """The models of all rows and of each fold, at any strength.

    Parameters
    ----------
    problems : sequence of Problem
        On one design, such as one class against the rest for each class.
    folds : sequence of (train, test)
        Positions of rows. No row is held out by two folds.
    penalty_at : callable
        `penalty_at(problem, strength, total)` is the penalty of a problem whose rows have the
        summed weight `total`.
    tol : float
        The gap that models must reach, relative to the objective at w = 0.
    callback : callable or None
        As in `solve`.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        folds: Sequence[Fold],
        penalty_at: PenaltyAt,
        *,
        tol: float,
        callback: Callback | None = None,
    ):
        self._problems, self._penalty_at = list(problems), penalty_at
        # Scores need no more digits than the gap requires.
        self._options: dict[str, Any] = {"tol": tol, "callback": callback, "polish": False}
        nothing = np.zeros(0, dtype=int)
        self._whole = _Part(self._problems, nothing) if len(folds) > 1 else None
        self._parts = [_Part(_on_rows(self._problems, train), test) for train, test in folds]

    def at(self, strength: float) -> tuple[list[Solution], Array]:
        """The solutions on all rows, and predictions (n, K) of rows by models fitted without them.

        With a single fold, its own solutions. Rows that no fold holds out are nan. A time limit, or
        a callback that stops, raises TimeLimit; Ctrl-C raises KeyboardInterrupt.
        """
        solutions = [] if self._whole is None else self._solve(self._whole, strength)
        outputs = sum(problem.outputs or 1 for problem in self._problems)
        z = np.full((self._problems[0].n, outputs), np.nan)
        for part in self._parts:
            found = self._solve(part, strength)
            design = self._problems[0].design.rows(part.test)
            w = [_as_columns(solution.parameters.w) for solution in found]
            b = [np.atleast_1d(solution.parameters.b) for solution in found]
            z[part.test] = design.times(np.hstack(w)) + np.concatenate(b)
        return solutions or found, z

    def _solve(self, part: _Part, strength: float) -> list[Solution]:
        """Solve the problems of a part and remember their solutions."""
        total = float(part.problems[0].weights.sum())
        problems = [
            problem.with_penalty(self._penalty_at(whole, strength, total))
            for problem, whole in zip(part.problems, self._problems)
        ]
        solutions = solve_many(problems, starts=part.starts, **self._options)
        status = solutions[-1].status if solutions else "time_limit"
        if status == "interrupted":
            raise KeyboardInterrupt
        if status in ("time_limit", "callback") or len(solutions) < len(problems):
            raise TimeLimit
        # Dual points stay in the domain of the loss, which does not depend on the penalty.
        part.starts = [solution.parameters for solution in solutions]
        return solutions


def _on_rows(problems: Sequence[Problem], rows: Array) -> list[Problem]:
    """The problems on some of their rows, which are cut out once for all of them."""
    design = problems[0].design.rows(rows)
    return [
        replace(problem, design=design, y=problem.y[rows], weights=problem.weights[rows])
        for problem in problems
    ]


def _as_columns(w: Array) -> Array:
    return w[:, None] if w.ndim == 1 else w
