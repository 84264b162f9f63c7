"""Machines on features of a kernel, for more rows than a kernel matrix allows.

With features Φ of landmarks, or random ones, in place of the kernel, the machine is that of the
kernel matrix ΦΦᵀ, which is never formed: the solvers of linear models solve it (`FeatureMachine`),
and products go through the features (`FeatureMatrix`). Everything about θ and scores holds
unchanged. Least squares, whose leave-one-out is exact, determine the number of features. `SVC` and
`SVR` inherit `WithApproximation`: it makes features once in a fit, and stores their map with the
coefficients w = Φᵀθ that score new rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..._ground.design import Design
from ..._ground.distinct_rows import DistinctRows
from ..._ground.interrupt import TimeLimit, time_limit
from ..._ground.stored import Declaration, Maybe, Numbers
from ..._ground.validation import Training
from ...certificates import Certificate
from ...kernels import Kernel, Linear
from ...penalties import L2
from ...problem import (
    EXACT,
    FEATURES,
    KernelFeatures,
    KernelMatrix,
    Parameters,
    Problem,
    one_landmark,
)
from ...solvers import Trace, solve
from ...unseen import Dial
from ..kernel_machines import RidgeOnFeatures
from ..risk import AUTO, KERNEL_CONSTRAINTS, chosen_kind, concerning, features_of, of_kernel
from ._base import SupportVectorMachine
from .held_out import MachineFit, finished, one_class
from .machine import Machine, Solved, traced
from .multiclass import Part
from .objectives import Judgement, Point
from .training_rows import TrainingRows

Array = np.ndarray

# Up to this many distinct rows a machine works with the kernel itself: its float32 values take 10
# GB, of which only those of support vectors and their rivals are ever computed.
EXACT_ROWS = 50_000
# Up to this many rows the whole matrix is made after all, where pairs of rows are needed.
WHOLE_ROWS = 4000
# The strength of the least squares that decide how many features are enough, where C is infinite.
LEAST_STRENGTH = 1e-3
# How often the solver runs at most while P − D of w = Φᵀθ is above the tolerance, and the factor of
# its next tolerance.
ROUNDS, SHARPER = 8, 0.1
# What machines share that may work on features of their kernel, for `described`.
APPROXIMATED = """
approximation : {"auto", "nystroem", "random_features"} or None
    What replaces the kernel: itself (None), landmarks among the rows, or random features; "auto"
    takes the kernel itself up to 50,000 distinct rows, and landmarks beyond. The certificate says
    which objective it concerns.
n_components : int
    How many landmarks or random features. None doubles them until leave-one-out of least squares on
    them no longer improves by half its standard error.
random_state : int, RandomState instance or None
    Seed of landmarks or random features, 0 for None; nothing else here is random.
features_ : KernelFeatures
    The features of landmarks, or random ones, if they replace the kernel.
feature_coef_ : ndarray of shape (n_problems, n_components)
    Their coefficients w, by which rows are then scored; `dual_coef_` are the multipliers of the
    training rows, of which w is the sum over features.
"""
# The constraints of the parameters that every such machine has.
CONSTRAINTS = {name: KERNEL_CONSTRAINTS[name] for name in ("approximation", "n_components")}


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
        """Scores of other rows, by their features and coefficients of the training rows."""
        return self.features.scores(X, self.weights(coef))

    def weights(self, coef: Array) -> Array:
        """w = Φᵀθ, float64."""
        return self.design.transposed_times(np.asarray(coef, dtype=np.float64))

    def only(self, rows: Array) -> FeatureMatrix:
        """The matrix of some of the rows."""
        part = FeatureMatrix(replace(self.features, train=self.X[rows]), self._given_limit)
        part._whole = None if self._whole is None else self._whole[np.ix_(rows, rows)]
        return part


class FeatureMachine(Machine):
    """Problems on features, solved as linear ones."""

    matrix: FeatureMatrix

    def problem(self, part: Part, weights: Array) -> Problem:
        """One of them, divided by C: the loss of a linear model with ½‖w‖²/C and a free bias."""
        loss, strength = self.objective.linear_loss, 1 / self.objective.C  # type: ignore[attr-defined]
        assert loss is not None
        is_all = len(part.rows) == self.matrix.n
        design = self.matrix.design if is_all else self.matrix.design.rows(part.rows)
        return Problem(design, part.y, loss, L2(strength), weights[part.rows], True)

    def solve(
        self, tol: float, max_iter: int | None = None, callback: Callable | None = None
    ) -> list[Solved]:
        """Solve all problems to the tolerance, or as far as the limits allow."""
        if self.objective.linear_loss is None:
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
        """Solve one problem, unless the work has ended; return its value with w = Φᵀθ."""
        point, steps, sharper = Point(np.zeros(len(part.y)), 0.0), 0, tol
        worth, trace, began = self._look_at(part, point), Trace(), time.monotonic()
        traced([Solved(point, worth, steps, ending)], trace, began)
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
            traced([Solved(point, worth, steps, ending)], trace, began)
            if worth.primal - worth.dual <= tol * worth.scale:
                break
            sharper *= SHARPER
        return Solved(point, worth, steps, ending, trace)

    def point_of(self, problem: Problem, parameters: Parameters) -> Point:
        """The solution as machines store it: θ is C times that of the problem."""
        theta = np.zeros(problem.n) if parameters.theta is None else parameters.theta
        C = self.objective.C  # type: ignore[attr-defined]
        return Point(C * problem.orthogonal(theta), float(parameters.b))

    def _look_at(self, part: Part, point: Point) -> Judgement:
        of_all = np.zeros(self.matrix.n)
        of_all[part.rows] = point.theta
        z = self.matrix.times(of_all, None if len(part.rows) == len(of_all) else part.rows)
        return self.objective.judge(part.y, self.weights[part.rows], point, z + point.b, self.norm)


class FeatureFit(MachineFit):
    """The fit of machines on features: many rows are refitted like linear models."""

    machine: FeatureMachine

    def simpler(self) -> list[Dial]:
        """A smaller C; another kernel would need other features."""
        return super().simpler()[:1]

    def richer(self) -> list[Dial]:
        """A larger C."""
        return super().richer()[:1]

    def _solve(self, parts: list[Part], weights: Array, thetas: list[Array]) -> list[Point]:
        if self.machine.objective.linear_loss is None or self.machine.matrix.n <= WHOLE_ROWS:
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

    Without time for any, one landmark replaces all.
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


class WithApproximation(SupportVectorMachine):
    """Base of machines with the parameters `approximation`, `n_components` and `random_state`.

    Goes before the other bases in a class statement.
    """

    approximation: str | None
    features_: KernelFeatures
    feature_coef_: Array

    _feature_attributes: ClassVar[Declaration] = {
        **FEATURES,
        "feature_coef_": Maybe(Numbers("problems", "columns")),
    }

    def _misfit(self) -> str | None:
        if ("features_" in vars(self)) != ("feature_coef_" in vars(self)):
            return "features_ and feature_coef_ go together, and one of them is missing"
        return super()._misfit()

    # ---- the problems ----------------------------------------------------------------------------

    def _choose(self, data, rows):
        # A search uses so few rows that it can take the kernel itself.
        exact = self._at(approximation=None)
        return super(WithApproximation, exact)._choose(data, rows)

    def _machine(self, data, rows, kernel=None) -> Machine:
        features = self._features(data, rows, kernel)
        machine = super()._machine(data, rows, kernel)
        if features is None:
            return machine
        matrix = FeatureMatrix(features, machine.matrix.memory_limit)
        return FeatureMachine(
            matrix, machine.objective, machine.parts, machine.weights, machine.blocks
        )

    def _features(
        self, data: Training, rows: TrainingRows, kernel: Kernel | None
    ) -> KernelFeatures | None:
        """Features of the distinct rows; those of the fit where its kernel is given."""
        if kernel is not None:
            known = vars(self).get("features_")
            if known is None:
                return None
            X = data.X[rows.first]
            distinct = DistinctRows.of(X, rows.weights)
            return replace(known, train=known.transform_training(X, distinct))
        kind = self._kind(data, len(rows.first))
        if kind == EXACT:
            return None
        X = data.X[rows.first]
        some = replace(
            data,
            X=X,
            y=data.y[rows.first],
            weights=rows.weights,
            sample_weight=rows.sample_weights,
        )
        kernel = self._kernel().resolve(X, rows.sample_weights)
        return features_for(self, kernel, kind, some, self.time_limit)

    def _kind(self, data: Training, count: int) -> str:
        """What replaces the kernel for `count` distinct rows."""
        is_given = self._is_precomputed or data.X.ndim != 2
        if is_given and self.approximation not in (AUTO, None):
            raise ValueError(
                f'approximation="{self.approximation}" needs rows of numbers, and X holds '
                f"{'kernel values' if self._is_precomputed else 'texts'}; use approximation=None."
            )
        return EXACT if is_given else chosen_kind(self.approximation, count, EXACT_ROWS)

    def _fit_type(self, machine):
        return FeatureFit if isinstance(machine, FeatureMachine) else super()._fit_type(machine)

    # ---- what is learned -------------------------------------------------------------------------

    def _learned(self, data, rows, machine, solved):
        learned = super()._learned(data, rows, machine, solved)
        if isinstance(machine.matrix, FeatureMatrix):
            learned["features_"] = machine.matrix.features
            stored = [machine.objective.stored(one.point)[0] for one in solved]
            learned["feature_coef_"] = _weights(machine.matrix, machine.parts, stored)
        return learned

    def _certificate(self, machine, solved, rows, *cure) -> Certificate:
        found = super()._certificate(machine, solved, rows, *cure)
        matrix = machine.matrix
        return concerning(found, matrix.features) if isinstance(matrix, FeatureMatrix) else found

    def _rebuilt(self, X, y, sample_weight):
        data, rows, machine, solved = super()._rebuilt(X, y, sample_weight)
        if isinstance(machine.matrix, FeatureMatrix):
            of_theta = _weights(machine.matrix, machine.parts, [one.point.theta for one in solved])
            solved = [
                replace(one, judgement=_of_both(one.judgement, v, w * _width(machine, one)))
                for one, v, w in zip(solved, of_theta, self.feature_coef_)
            ]
        return data, rows, machine, solved

    def _scores_of_fit(self, data, rows, machine) -> Array:
        if not isinstance(machine.matrix, FeatureMatrix):
            return super()._scores_of_fit(data, rows, machine)
        coef = np.ascontiguousarray(self.feature_coef_.T)
        return machine.matrix.design.times(coef) + self.intercept_

    def _certified_exactly(self, X, y=None, sample_weight=None) -> Certificate:
        """The certificate for the kernel itself, whatever replaced it.

        A machine on landmarks is also a function in the kernel's space, and its P is that of it;
        only the dual changes: θᵀKθ replaces ‖Φᵀθ‖², with n² kernel values.
        """
        check_is_fitted(self)
        if "features_" not in vars(self):
            return self._certified(X, y, sample_weight)
        features = features_of(self)
        data, rows, machine, solved = self._rebuilt(X, y, sample_weight)
        own = data.X[rows.first]
        theta = np.zeros((machine.matrix.n, len(solved)))
        for k, (part, one) in enumerate(zip(machine.parts, solved)):
            theta[part.rows, k] = one.point.theta
        squares = np.einsum("nk,nk->k", theta, features.kernel.times(own, own, theta))
        judgements = _with_squares([one.judgement for one in solved], squares)
        exact = [replace(one, judgement=j) for one, j in zip(solved, judgements)]
        return of_kernel(super()._certificate(machine, exact, rows), features)

    # ---- predicting ------------------------------------------------------------------------------

    def _problem_scores(self, X: Any) -> Array:
        features = vars(self).get("features_")
        if features is None:
            return super()._problem_scores(X)
        return features.scores(X, np.ascontiguousarray(self.feature_coef_.T)) + self.intercept_

    @property
    def coef_(self):
        """Coefficients w of the features, one row for each problem; linear kernels only."""
        check_is_fitted(self)
        if "features_" not in vars(self) or not self._is_linear:
            return super().coef_
        # Only landmarks can replace a linear kernel: it has no random features.
        features: Any = self.features_
        coef = (features.landmarks.T @ features.dual_coef(self.feature_coef_.T)).T
        coef.flags.writeable = False
        return coef


def _weights(matrix: FeatureMatrix, parts: list[Part], thetas: list[Array]) -> Array:
    """w = Φᵀθ of each problem, (problems, features)."""
    found = []
    for part, theta in zip(parts, thetas):
        of_all = np.zeros(matrix.n)
        of_all[part.rows] = theta
        found.append(matrix.weights(of_all))
    return np.stack(found)


def _width(machine: Machine, solved: Solved) -> float:
    """The divisor of the stored solution."""
    return solved.point.width if machine.objective.divides else 1.0


def _of_both(judgement: Judgement, v: Array, w: Array) -> Judgement:
    """P of the stored w and D of v = Φᵀθ, which are one vector unless the model was changed.

    `square`, by which they were judged, is ⟨v, w⟩.
    """
    own, stored, both = float(v @ v), float(w @ w), judgement.square
    if judgement.has_origin:
        primal = judgement.primal + 0.5 * (stored - both)
        return replace(
            judgement, primal=primal, dual=judgement.dual + 0.5 * (both - own), square=own
        )
    # P and D are then proportional to ‖w‖² and 1/‖v‖².
    if not (both > 0 and own > 0):
        return judgement
    primal, dual = judgement.primal * (stored / both), judgement.dual * (both / own)
    return replace(judgement, primal=primal, dual=dual, square=own)


def _with_squares(judgements: list[Judgement], squares: Array) -> list[Judgement]:
    """The best D(cθ) for 0 ≤ c ≤ 1, the same c for all problems, with other values of ‖w‖²."""
    if not judgements[0].has_origin:
        # Without a loss the sums of θ are fixed, and D is proportional to 1/‖w‖².
        return [replace(j, dual=j.dual * j.square / q) for j, q in zip(judgements, squares)]
    gains = [j.dual + 0.5 * j.square for j in judgements]
    total = float(squares.sum())
    c = min(max(sum(gains) / total, 0.0), 1.0) if total > 0 else 1.0
    return [
        replace(j, dual=c * gain - 0.5 * c**2 * float(q))
        for j, gain, q in zip(judgements, gains, squares)
    ]
