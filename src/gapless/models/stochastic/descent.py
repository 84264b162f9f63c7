"""Passes over the rows, each with a step for every row or batch of rows.

Rows one at a time are the work of the compiled core, for losses whose slopes it knows (`RowSlopes`)
and elastic-net penalties. All else, batches, other update rules, any loss and any penalty, is done
here, by two products with the rows of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._ground import core
from ..._ground.interrupt import TimeLimit, check, deadline
from ...penalties import Penalty
from ...problem import Problem
from ...solvers import Memory, Plain, RowSlopes, Update
from .steps import Schedule

Array = np.ndarray

# About this many numbers are read in one compiled call; the steps of an interrupted one are lost.
PER_CALL = 1 << 25


@dataclass(eq=False)
class State:
    """What the steps change.

    w is (outputs, features) and b (outputs,), both in multiples of `unit`; `steps` counts the
    steps, from 1. The sums are those of the iterates after `averaged` steps. `owed` is the L1
    penalty that each coefficient could have received so far, `received` what it did (Tsuruoka,
    Tsujii and Ananiadou 2009).
    """

    w: Array
    b: Array
    steps: float = 1.0
    length: float = 0.0
    unit: float = 1.0
    w_sum: Array | None = None
    b_sum: Array | None = None
    averaged: int = 0
    owed: Array = field(default_factory=lambda: np.zeros(1))
    received: Array | None = None
    memory: Memory | None = None

    def copy(self) -> State:
        """The same, on arrays of its own."""
        twin = object.__new__(State)
        known = vars(twin)
        for name, value in vars(self).items():
            known[name] = value.copy() if type(value) is np.ndarray else value
        return twin

    def average_from_here(self) -> None:
        """Begin to sum the iterates."""
        if self.w_sum is None:
            self.w_sum, self.b_sum = np.zeros_like(self.w), np.zeros_like(self.b)

    @property
    def reported(self) -> tuple[Array, Array]:
        """The coefficients and biases of the model: averaged, if any step was."""
        if self.averaged and self.w_sum is not None and self.b_sum is not None:
            return np.divide(self.w_sum, self.averaged), np.divide(self.b_sum, self.averaged)
        return self.unit * self.w, self.unit * self.b


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """An elastic-net penalty l1‖w‖₁ + ½·l2‖w‖², the same for all coefficients."""

    l1: float
    l2: float

    @classmethod
    def of(cls, penalty: Penalty, d: int) -> Shrinkage | None:
        """None for another penalty."""
        parts = penalty.coordinates(d)
        if parts is None or parts.has_bounds:
            return None
        if not d:
            return cls(0.0, 0.0)
        is_same = np.all(parts.l1 == parts.l1[0]) and np.all(parts.l2 == parts.l2[0])
        return cls(float(parts.l1[0]), float(parts.l2[0])) if is_same else None

    def value(self, w: Array) -> float:
        """The penalty of coefficients of any shape."""
        flat = w.ravel()
        value = 0.5 * self.l2 * float(flat @ flat)
        return value + self.l1 * float(np.abs(flat).sum()) if self.l1 else value


class Descent:
    """Stochastic gradient steps on the mean loss of some problems on the same rows, plus a penalty.

    Parameters
    ----------
    problems : sequence of Problem
        One, or one for each class or target.
    penalty : Penalty
        The penalty beside the mean loss.
    weights : ndarray of shape (n,)
        The weight of each row, 1 on average.
    schedule : Schedule
        The lengths of the steps.
    batch_size : int
        Rows per step.
    update : Update
        What a step makes of the gradient.
    average : int
        The first step whose iterate is averaged; 0 for none.
    upper_at_ties : bool
        Which slope to take at a kink: the upper one, or the steeper.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        penalty: Penalty,
        weights: Array,
        schedule: Schedule,
        *,
        batch_size: int = 1,
        update: Update | None = None,
        average: int = 0,
        upper_at_ties: bool = False,
    ):
        first = problems[0]
        self.design, self.loss, self.penalty = first.design, first.loss, penalty
        self.has_bias, self.outputs = first.fit_bias, sum(p.outputs or 1 for p in problems)
        self.is_joint = first.loss.task == "multiclass"
        self.targets = first.y if self.is_joint else np.column_stack([p.y for p in problems])
        self.weights, self.schedule, self.batch_size = weights, schedule, batch_size
        self.update = Plain() if update is None else update
        self.average, self.upper_at_ties = average, upper_at_ties
        self.shrinkage = Shrinkage.of(penalty, first.d)
        # The slopes at the last visit of each row: what a dual point is made of.
        self.slopes = np.zeros((first.n, self.outputs))
        # The sum of the losses of all rows when their turn came, in the present epoch.
        self.losses = np.zeros(1)
        self.total = float(np.sum(weights)) * self.outputs
        self.row_slopes = None if self.is_joint else RowSlopes.of(first.loss, self.targets)
        is_plain = batch_size == 1 and self.update == Plain() and self.shrinkage is not None
        self.is_compiled = is_plain and self.row_slopes is not None

    def begin(self, w: Array, b: Array, steps: float = 1.0) -> State:
        """The state before the first step, or after others."""
        w, b = np.array(w, dtype=float), np.array(b, dtype=float)
        return State(w, b, steps, self.schedule.eta0)

    def epoch(self, state: State, order: Array) -> None:
        """One pass over the rows in this order, which changes the state."""
        self.losses[:] = 0.0
        if self.is_compiled:
            self._by_rows(state, order)
        else:
            self._by_batches(state, order)

    # ---- row by row ------------------------------------------------------------------------------

    def _by_rows(self, state: State, order: Array) -> None:
        X = self.design.rows_view()
        slopes, penalty = self.row_slopes, self.shrinkage
        assert slopes is not None and penalty is not None
        if penalty.l1 and state.received is None:
            state.received = np.zeros_like(state.w)
        entries = self.design.density * self.design.d * self.outputs
        count = max(int(PER_CALL / max(entries, 1.0)), 1)
        for start in range(0, len(order), count):
            rows = order[start : start + count]
            lengths = self.schedule.lengths(state.steps, len(rows), state.length)
            skipped = self._skipped(state, len(rows))
            sums = None if state.w_sum is None else (state.w_sum, state.b_sum)
            before = state.copy()
            try:
                core.row_steps(
                    X,
                    slopes.boxes,
                    slopes.shape,
                    self.upper_at_ties,
                    (rows, lengths, self.weights[rows]),
                    self.schedule.passive,
                    (penalty.l1, penalty.l2),
                    self.has_bias,
                    (state.w, state.b),
                    sums,
                    skipped,
                    (state.received, state.owed) if penalty.l1 else None,
                    self.slopes,
                    self.losses,
                    deadline(),
                )
            except (KeyboardInterrupt, TimeLimit):
                vars(state).update(vars(before))  # an interrupted call leaves nothing of use
                raise
            state.steps += len(rows)
            state.averaged += len(rows) - skipped if sums is not None else 0

    def _skipped(self, state: State, count: int) -> int:
        """How many of the next steps come before those that are averaged."""
        if not self.average:
            return count
        skipped = int(min(max(self.average - state.steps, 0), count))
        if skipped < count:
            state.average_from_here()
        return skipped

    # ---- batch by batch --------------------------------------------------------------------------

    def _by_batches(self, state: State, order: Array) -> None:
        if state.memory is None:
            state.memory = self.update.begin([state.w, state.b])
        starts = range(0, len(order), self.batch_size)
        lengths = self.schedule.lengths(state.steps, len(starts), state.length)
        X = self.design.X if not self.design.is_sparse else self.design.X.tocsr()
        for start, length in zip(starts, lengths):
            check()
            rows = order[start : start + self.batch_size]
            skipped = self._skipped(state, 1)
            self._step(state, X[rows], rows, length)
            state.steps += 1
            if state.w_sum is not None and not skipped:
                state.w_sum += state.w
                state.b_sum += state.b
                state.averaged += 1

    def _step(self, state: State, X: Any, rows: Array, length: float) -> None:
        assert state.memory is not None
        w, b = self.update.look_ahead([state.w, state.b], state.memory)
        z = X @ w.T + b
        slopes, values = self._slopes_at(rows, z), self._values_at(rows, z)
        self.slopes[rows] = slopes
        self.losses += np.sum(self.weights[rows] @ values)
        passive = self.schedule.passive
        if passive is not None:
            slopes = slopes * _passive_lengths(X, values, *passive)
            length = 1.0
        slopes = slopes * (self.weights[rows] / len(rows))[:, None]
        gradient = np.asarray((X.T @ slopes).T)
        bias_gradient = slopes.sum(axis=0) if self.has_bias else np.zeros_like(b)
        if self.update != Plain():
            self._follow(state, w, [gradient, bias_gradient], length)
            return
        if self.shrinkage is None:
            state.w = self.penalty.prox((state.w - length * gradient).T, length).T
        else:
            # As the core does: shrink, step, then take the L1 penalty that is still owed.
            factor = max(1 - length * self.shrinkage.l2, 0.0)
            state.w = factor * state.w - length * gradient
            if self.shrinkage.l1:
                self._penalise(state, length, factor)
        state.b = state.b - length * bias_gradient

    def _slopes_at(self, rows: Array, z: Array) -> Array:
        if self.row_slopes is not None:
            return self.row_slopes.at(rows, z, self.upper_at_ties)
        y = self.targets[rows]
        if self.is_joint:
            return self.loss.gradient(y, z)
        return self.loss.gradient(y.ravel(), z.ravel()).reshape(z.shape)

    def _values_at(self, rows: Array, z: Array) -> Array:
        """The losses, (rows, outputs), or (rows, 1) for a loss of all outputs together."""
        y = self.targets[rows]
        if self.is_joint:
            return self.loss.value(y, z)[:, None]
        return self.loss.value(y.ravel(), z.ravel()).reshape(z.shape)

    def _follow(self, state: State, at: Array, gradients: list[Array], length: float) -> None:
        """A step of an update rule, to which the penalty is a part of the gradient.

        Shrinking beside the step would weigh the penalty differently from the loss wherever a rule
        lengthens its steps.
        """
        gradients[0] = gradients[0] + self.penalty.gradient(at.T).T
        assert state.memory is not None
        (w, state.b), state.memory = self.update.step(
            [state.w, state.b], gradients, length, state.memory
        )
        state.w = self.penalty.prox(w.T, 0.0).T  # into the constraints, if there are any

    def _penalise(self, state: State, length: float, factor: float) -> None:
        assert self.shrinkage is not None
        received = np.zeros_like(state.w) if state.received is None else factor * state.received
        state.owed = factor * state.owed + length * self.shrinkage.l1
        w = state.w
        down = np.minimum(w, np.maximum(state.owed + received, 0.0))
        up = np.minimum(-w, np.maximum(state.owed - received, 0.0))
        change = np.where(w > 0, -down, np.where(w < 0, up, 0.0))
        state.w, state.received = w + change, received + change


def _passive_lengths(X: Any, values: Array, longest: float, slack: float) -> Array:
    """As far as each row needs to make its loss 0, or less."""
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.sum(X * X, axis=1)
    size = np.asarray(squares, dtype=float).reshape(-1, 1) + slack
    needed = np.divide(values, size, out=np.zeros_like(values), where=size > 0)
    return np.minimum(longest, needed)
