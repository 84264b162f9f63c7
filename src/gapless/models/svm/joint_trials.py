"""Machines with one hinge for all classes at many values of C and γ, held out by folds.

No formula leaves out a row of such a machine, but refits are fast from a solution nearby: along C
every fold begins where it was. Called by `tuning`, for `SVC` with one problem for all classes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..._ground.threads import single_blas
from ...unseen import FOLDS, dealt
from .all_in_one import ClassHinge, JointMachine
from .class_descent import ClassProblem, finished_descent
from .forms import status_of
from .trials import KEPT_BYTES, TOLERANCE, Trials

Array = np.ndarray


class _Folds:
    """Where the machines of all folds stand on one kernel matrix: θ (n, K) and b, or None."""

    def __init__(self, gram: Array, count: int):
        self.gram = gram
        self.starts: list[tuple[Array, Array] | None] = [None] * count
        self.C = 0.0


class JointTrials(Trials):
    """The trials so far of machines that have one problem for all classes."""

    machine: JointMachine

    def _prepare(self, machine: Any) -> None:
        self.machine = machine
        self.fold = dealt(self.of_x, FOLDS, strata=self.y)
        self.states: dict[float | None, _Folds] = {}

    def _judged(self, values):
        folds = self._on(values.get("gamma"))
        form = replace(self.machine.form, C=values["C"])
        grown, folds.C = form.C / (folds.C or form.C), form.C
        z, statuses = np.empty((len(self.y), len(self.machine.parts))), []
        for k, start in enumerate(folds.starts):
            train, test = np.flatnonzero(self.fold != k), np.flatnonzero(self.fold == k)
            problem = self._problem(form, folds.gram, train)
            # Multipliers at their bounds mostly stay there.
            near = None if start is None else (start[0] * grown, start[1])
            found = finished_descent(problem.descend(TOLERANCE, near))
            folds.starts[k] = found.theta, found.b
            with single_blas():
                block = folds.gram[np.ix_(test, train)]
                z[test] = block @ found.theta.astype(block.dtype) + found.b
            own = found.theta[np.arange(len(train)), problem.y]
            statuses.append(status_of(np.maximum(own, 0.0), problem.limit))
        lead = _lead(z, self.y)
        return *self._with_likelihood(lead > 0, lead), np.concatenate(statuses)

    def _problem(self, form: ClassHinge, gram: Array, rows: Array) -> ClassProblem:
        """The problem of some rows."""
        y, s, K = self.y[rows], self.machine.weights[rows], len(self.machine.parts)
        own = gram[np.ix_(rows, rows)]
        return ClassProblem(own, y, form.C * s, form.loss, K, form.scale(y, s, K))

    def _on(self, gamma: float | None) -> _Folds:
        """The machines on the kernel matrix of this γ."""
        if gamma not in self.states:
            gram = self._gram(gamma)
            if len(self.states) * gram.nbytes > KEPT_BYTES:
                self.states.clear()
            self.states[gamma] = _Folds(gram, int(self.fold.max()) + 1)
        return self.states[gamma]


def _lead(z: Array, y: Array) -> Array:
    """By how much the score of each row's class is above those of all others."""
    rivals = z.copy()
    rivals[np.arange(len(y)), y] = -np.inf
    return z[np.arange(len(y)), y] - rivals.max(axis=1)
