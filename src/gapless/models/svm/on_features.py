"""Machines on features of a kernel, for more rows than a kernel matrix allows.

With features Φ of landmarks, or random ones, in place of the kernel, the machine is that of the
kernel matrix ΦΦᵀ, which is never made: the solvers of linear models take it (`FeatureMachine`), and
products go through the features (`FeatureMatrix`). What a form says of θ and of scores holds as it
is. How many features there are, least squares tell, whose leave-one-out is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..._ground.design import Design
from ..._ground.interrupt import TimeLimit, time_limit
from ..._ground.validation import Training
from ...kernels import Kernel, Linear
from ...penalties import L2
from ...problem import KernelFeatures, KernelMatrix, Parameters, Problem, one_landmark
from ...solvers import solve
from ...unseen import Dial
from ..kernel_machines import RidgeOnFeatures
from .forms import Judgement, Point
from .held_out import MachineFit, finished, one_class
from .machine import Machine, Solved
from .multiclass import Part

Array = np.ndarray

# Up to so many distinct rows a machine works with the kernel itself: its float32 values take 10 GB,
# of which only those of support vectors and their rivals are ever asked for.
EXACT_ROWS = 50_000
# Of no more rows the matrix is made whole after all, for what pairs of rows are needed.
WHOLE_ROWS = 4000
# The strength of least squares that tell how many features are enough, where C is infinite.
LEAST_STRENGTH = 1e-3
# How often the solver is asked again where P − D of w = Φᵀθ is above the tolerance, and by how much
# it then is sharper.
ROUNDS, SHARPER = 8, 0.1


class FeatureMatrix(KernelMatrix):
    """ΦΦᵀ for the features Φ (n, r) of training rows; products cost n·r, not n².

    Parameters
    ----------
    features : KernelFeatures
        What has made them, with `train` those of the rows.
    memory_limit : float, optional
        As of KernelMatrix.
    """

    def __init__(self, features: KernelFeatures, memory_limit: float | None = None):
        train = features.train
        assert train is not None
        super().__init__(Linear(), train, dtype=train.dtype, memory_limit=memory_limit)
        self.features, self.kernel = features.without_training(), features.kernel
        self.design = Design(train)

    @property
    def is_mercer(self) -> bool:
        """Whatever the kernel is, its features have inner products."""
        return True

    def whole(self) -> Array | None:
        """The matrix itself for few rows."""
        return super().whole() if self.n <= WHOLE_ROWS else None

    @cached_property
    def diagonal(self) -> Array:
        """‖φᵢ‖², float64."""
        return self.design.row_square_sums(np.ones(self.design.d))

    def times(self, coef: Array, rows: Array | None = None) -> Array:
        """ΦΦᵀ coef of all rows or some, float64."""
        design = self.design if rows is None else self.design.rows(rows)
        return design.times(self.weights(coef))

    def times_each(self, products: Sequence[tuple[Array, Array]]) -> list[Array]:
        """The same among the rows of each (rows, coef)."""
        return [self.only(rows).times(coef) for rows, coef in products]

    def scores(self, X: Any, coef: Array) -> Array:
        """What coefficients of the training rows give other rows, whose features are made."""
        return self.features.scores(X, self.weights(coef))

    def weights(self, coef: Array) -> Array:
        """w = Φᵀθ, float64."""
        return self.design.transposed_times(np.asarray(coef, dtype=np.float64))

    def only(self, rows: Array) -> FeatureMatrix:
        """The matrix of some of the rows."""
        part = FeatureMatrix(replace(self.features, train=self.X[rows]), self.memory_limit)
        part._whole = None if self._whole is None else self._whole[np.ix_(rows, rows)]
        return part


class FeatureMachine(Machine):
    """Problems on features, solved as linear ones."""

    matrix: FeatureMatrix

    def problem(self, part: Part, weights: Array) -> Problem:
        """One of them, divided by C: the loss of a linear model with ½‖w‖²/C and a free bias."""
        loss, strength = self.form.linear_loss, 1 / self.form.C  # type: ignore[attr-defined]
        assert loss is not None
        is_all = len(part.rows) == self.matrix.n
        design = self.matrix.design if is_all else self.matrix.design.rows(part.rows)
        return Problem(design, part.y, loss, L2(strength), weights[part.rows], True)

    def solve(
        self, tol: float, max_iter: int | None = None, callback: Callable | None = None
    ) -> list[Solved]:
        """Solve all problems to the tolerance, or as far as the limits allow."""
        if self.form.linear_loss is None:
            return super().solve(tol, max_iter, callback)
        solved: list[Solved] = []
        for part in self.parts:
            going = not solved or solved[-1].status not in ("interrupted", "time_limit", "callback")
            ending = "optimal" if going else solved[-1].status
            solved.append(self._solve(part, ending, tol, max_iter, callback))
        return solved

    def _solve(
        self, part: Part, ending: str, tol: float, max_iter: int | None, callback: Callable | None
    ) -> Solved:
        """Solve one problem, unless the work has ended; what it is worth with w = Φᵀθ."""
        point, steps, sharper = Point(np.zeros(len(part.y)), 0.0), 0, tol
        worth = self._look_at(part, point)
        problem, start = self.problem(part, self.weights), None
        for _ in range(ROUNDS):
            if ending != "optimal":
                break
            try:
                found = solve(
                    problem, "auto", start, tol=sharper, max_iter=max_iter, callback=callback
                )
            except TimeLimit:
                ending = "time_limit"
                break
            start, steps, ending = found.parameters, steps + found.trace.steps, found.status
            point = self.point_of(problem, start)
            worth = self._look_at(part, point)
            if worth.primal - worth.dual <= tol * worth.scale:
                break
            sharper *= SHARPER
        return Solved(point, worth, steps, ending)

    def point_of(self, problem: Problem, parameters: Parameters) -> Point:
        """The solution as machines know it: θ is C times that of the problem."""
        theta = np.zeros(problem.n) if parameters.theta is None else parameters.theta
        C = self.form.C  # type: ignore[attr-defined]
        return Point(C * problem.orthogonal(theta), float(parameters.b))

    def _look_at(self, part: Part, point: Point) -> Judgement:
        of_all = np.zeros(self.matrix.n)
        of_all[part.rows] = point.theta
        z = self.matrix.times(of_all, None if len(part.rows) == len(of_all) else part.rows)
        return self.form.judge(part.y, self.weights[part.rows], point, z + point.b, self.norm)


class FeatureFit(MachineFit):
    """The fit of machines on features: many rows are fitted again as linear models are."""

    machine: FeatureMachine

    def simpler(self) -> list[Dial]:
        """A smaller C; another kernel would need other features."""
        return super().simpler()[:1]

    def richer(self) -> list[Dial]:
        """A larger C."""
        return super().richer()[:1]

    def _solve(self, parts: list[Part], weights: Array, thetas: list[Array]) -> list[Point]:
        if self.machine.form.linear_loss is None or self.machine.matrix.n <= WHOLE_ROWS:
            return super()._solve(parts, weights, thetas)
        return [self._solve_one(part, weights) for part in parts]

    def _solve_one(self, part: Part, weights: Array) -> Point:
        if self.has_classes and len(np.unique(part.y)) < 2:
            return one_class(part)
        problem = self.machine.problem(part, weights)
        return self.machine.point_of(problem, finished(solve(problem, tol=self.tol, polish=False)))


def features_for(
    model: Any, kernel: Kernel, kind: str, data: Training, seconds: float | None
) -> KernelFeatures:
    """Features of the kernel for the distinct rows of a machine, as many as are enough.

    Without time for any, one landmark stands for all.
    """
    ridge = RidgeOnFeatures(
        1 / model.C if np.isfinite(model.C) else LEAST_STRENGTH,
        kernel,
        kind,
        model.n_components,
        _seed_of(model),
    )
    try:
        with time_limit(seconds):
            mapped = ridge._map(replace(data, y=_numbers(data), classes=None), None)
    except TimeLimit:
        return one_landmark(kernel, data.X, data.weights)
    if mapped.status == "interrupted":
        raise KeyboardInterrupt
    return mapped.features


def _seed_of(model: Any) -> int:
    state = getattr(model, "random_state", None)
    if state is None or isinstance(state, Integral):
        return int(state or 0)
    return int(check_random_state(state).randint(2**31 - 1))


def _numbers(data: Training) -> Array:
    """Targets for least squares: y, or ±1 for each class, for two classes once."""
    if data.classes is None:
        return data.y
    y = np.where(data.y[:, None] == np.arange(len(data.classes)), 1.0, -1.0)
    return np.ascontiguousarray(y[:, 1]) if len(data.classes) == 2 else y
