"""The epochs of one fit: which rows they visit, what is recorded, and when they end.

Equal rows are one row with their joint weight, rows are in the order of their content before they
are shuffled, and weights count relative to their mean: weight 2 is the row repeated, and the order
of the rows does not matter. With shuffle=False rows come in their own order, each by itself.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._ground.distinct_rows import DistinctRows
from ..._ground.interrupt import TimeLimit, check
from ..._ground.validation import Training
from ...problem import Parameters, Problem
from ...solvers import Trace
from .descent import Descent, Shrinkage, State

Array = np.ndarray

# scikit-learn's words.
OVERFLOW = (
    "Floating-point under-/overflow occurred at epoch #{}. Scaling input data with StandardScaler "
    "or MinMaxScaler might help: rescale X, or shorten the steps, eta0."
)


@dataclass(frozen=True, eq=False)
class Visits:
    """The rows to visit: their positions, the weight of each row (n,), and which rows each is for.

    `stands_for` is the visited row of every row, −1 for rows without weight.
    """

    positions: Array
    weights: Array
    stands_for: Array

    @classmethod
    def of(cls, problem: Problem, y: Array, *, in_order: bool, is_relative: bool) -> Visits:
        """All rows with a weight; equal ones are one unless `in_order`."""
        weights = problem.weights
        if in_order:
            positions = np.flatnonzero(weights > 0)
            stands_for = np.where(weights > 0, np.arange(len(weights)), -1)
            merged = weights
        else:
            distinct = DistinctRows.by(problem.design.equal_rows(y), weights)
            positions = distinct.first
            stands_for = np.where(distinct.inverse >= 0, positions[distinct.inverse], -1)
            merged = np.zeros(len(weights))
            merged[positions] = distinct.weights
        mean = float(np.mean(merged[positions])) if is_relative and len(positions) else 1.0
        return cls(positions, merged / mean, stands_for)

    def together(self, values: Array) -> Array:
        """Sums of values (n,) over the rows that each visited row stands for, 0 elsewhere."""
        counts = self.stands_for >= 0
        return np.bincount(self.stands_for[counts], values[counts], minlength=len(values))

    def everywhere(self, values: Array) -> Array:
        """Values of visited rows at all rows that they stand for, 0 elsewhere."""
        return np.where(self.stands_for[:, None] >= 0, values[self.stands_for], 0.0)


@dataclass(frozen=True, eq=False)
class Run:
    """What a fit has done: where it is, its trace, why it ended, and the mean slopes (n, K).

    status: "settled" (no more progress), "max_iter", "time_limit", "callback", "interrupted".
    """

    state: State
    descent: Descent
    trace: Trace
    status: str
    slopes: Array


class Passes:
    """The epochs of one fit: the best one so far, and whether there is still progress."""

    def __init__(
        self,
        model: Any,
        data: Training,
        problems: list[Problem],
        descent: Descent,
        state: State,
        held_out: Array | None,
    ):
        self.model, self.data, self.problems = model, data, problems
        self.descent, self.state, self.held_out = descent, state, held_out
        self.trace, self.slopes = Trace(), np.zeros_like(descent.slopes)
        self.best: State | None = None
        self.lowest_primal = np.inf
        self.penalty = Shrinkage.of(problems[0].penalty, problems[0].d)
        self.lowest, self.highest, self.without_progress = np.inf, -np.inf, 0
        self.began = time.monotonic()

    def through(self, rows: Array, random: Any, epochs: int, callback: Any) -> str:
        """Pass over the rows up to `epochs` times; why it ended."""
        try:
            for epoch in range(1, epochs + 1):
                check()
                order = rows if random is None else random.permutation(rows)
                self.descent.epoch(self.state, order)
                self._record(epoch)
                sums = float(self.state.w.sum()), float(self.state.b.sum()), self.trace.primal[-1]
                if not all(map(math.isfinite, sums)):
                    raise ValueError(OVERFLOW.format(epoch))
                requested = callback(self.trace, self.model._gap_tolerance)
                if self._has_settled():
                    return "settled"
                if requested:
                    return "callback"
        except TimeLimit:
            return "time_limit"
        except KeyboardInterrupt:
            return "interrupted"
        return "max_iter"

    def kept(self, status: str) -> State:
        """The state to keep: the best of a fit that was cut short, else the last."""
        is_short = status in ("time_limit", "interrupted")
        return self.best if is_short and self.best is not None else self.state

    def _record(self, epoch: int) -> None:
        # Later slopes count more, each by its epoch: the first ones are those of a poor model.
        self.slopes += (2 / (epoch + 1)) * (self.descent.slopes - self.slopes)
        primal = self._objective(*self.state.reported)
        trace = self.trace
        trace.record(primal, np.nan, time.monotonic() - self.began, epoch)
        trace.steps = epoch
        if self.best is None or primal <= self.lowest_primal:
            self.best, self.lowest_primal = self.state.copy(), primal

    def _objective(self, w: Array, b: Array) -> float:
        """P of coefficients (K, d) and biases (K,): one product with X for all problems."""
        problems, penalty = self.problems, self.penalty
        if problems[0].outputs is not None:
            return problems[0].primal(np.ascontiguousarray(w.T), b)
        z = problems[0].design.times(w[0] if len(w) == 1 else np.ascontiguousarray(w.T)) + b
        scores = [z] if len(w) == 1 else z.T
        loss = sum(problem.loss_sum(each) for problem, each in zip(problems, scores))
        if penalty is not None:
            return loss + penalty.value(w)
        return loss + sum(problem.penalty.value(each) for problem, each in zip(problems, w))

    def _has_settled(self) -> bool:
        """Whether several epochs in a row made no progress, and steps cannot be shortened."""
        model = self.model
        if model._is_done(self.descent):
            return True
        if model.tol is None:
            return False
        if self._is_progress():
            self.without_progress = 0
            return False
        self.without_progress += 1
        if self.without_progress < model.n_iter_no_change:
            return False
        shorter = self.descent.schedule.shortened(self.state.length)
        if shorter is None:
            return True
        self.state.length, self.without_progress = shorter, 0
        return False

    def _is_progress(self) -> bool:
        tol = self.model.tol
        if self.held_out is not None:
            w, b = self.state.reported
            scores = self.problems[0].design.rows(self.held_out).times(w.T) + b
            score = self.model._validation_score(self.data, self.held_out, scores)
            is_better = score >= self.highest + tol
            self.highest = max(self.highest, score)
            return is_better
        level = self.model._level(self.descent, self.state)
        is_better = level <= self.lowest - tol
        self.lowest = min(self.lowest, level)
        return is_better


def as_parameters(
    problems: list[Problem], w: Array, b: Array, theta: Array | None
) -> list[Parameters]:
    """Coefficients (K, d), biases (K,) and dual points (n, K) as the parameters of each problem."""
    if problems[0].outputs is not None:
        return [Parameters(np.ascontiguousarray(w.T), b.copy(), theta)]
    return [
        Parameters(w[k], np.array(b[k]), None if theta is None else theta[:, k].copy())
        for k in range(len(problems))
    ]
