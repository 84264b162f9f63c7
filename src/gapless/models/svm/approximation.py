"""What machines do where features stand for their kernel: parameters, attributes, certificates.

A base of `SVC` and `SVR`. A fit makes features once (`on_features`), works on them, and keeps what
has made them with the coefficients w = Φᵀθ by which new rows are scored.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._ground.stored import Declaration, Maybe, Numbers
from ..._ground.validation import Training
from ...certificates import Certificate
from ...kernels import Kernel
from ...problem import EXACT, FEATURES, Distinct, KernelFeatures
from ..linear import AUTO, KERNEL_CONSTRAINTS, chosen_kind, concerning, features_of, of_kernel
from ._base import SupportVectorMachine
from .forms import Judgement
from .machine import Machine, Solved
from .multiclass import Part
from .on_features import EXACT_ROWS, FeatureFit, FeatureMachine, FeatureMatrix, features_for
from .rows import DistinctRows

Array = np.ndarray

# The constraints of the parameters that every such machine has.
CONSTRAINTS = {name: KERNEL_CONSTRAINTS[name] for name in ("approximation", "n_components")}


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
        # A search looks at so few rows that it can take the kernel itself.
        exact = self._at(approximation=None)
        return super(WithApproximation, exact)._choose(data, rows)

    def _machine(self, data, rows, kernel=None) -> Machine:
        features = self._features(data, rows, kernel)
        machine = super()._machine(data, rows, kernel)
        if features is None:
            return machine
        matrix = FeatureMatrix(features, machine.matrix.memory_limit)
        return FeatureMachine(matrix, machine.form, machine.parts, machine.weights, machine.blocks)

    def _features(
        self, data: Training, rows: DistinctRows, kernel: Kernel | None
    ) -> KernelFeatures | None:
        """Features of the distinct rows; those of the fit where its kernel is given."""
        if kernel is not None:
            known = vars(self).get("features_")
            if known is None:
                return None
            X = data.X[rows.first]
            distinct = Distinct.of(X, rows.weights)
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
        """What stands for the kernel of so many distinct rows."""
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
            stored = [machine.form.stored(one.point)[0] for one in solved]
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
        """The certificate for the kernel itself, whatever stood for it.

        A machine on landmarks is a function of the kernel's space too, and its P is that of it;
        only the dual changes, in which θᵀKθ takes the place of ‖Φᵀθ‖²: n² kernel values.
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
        """Coefficients w of the features, one row for each problem; linear kernels alone."""
        check_is_fitted(self)
        if "features_" not in vars(self) or not self._is_linear:
            return super().coef_
        # Only landmarks stand for a linear kernel: it has no random features.
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
    """By what the model has divided its solution."""
    return solved.point.width if machine.form.divides else 1.0


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
    # P and D are then in proportion to ‖w‖² and 1/‖v‖².
    if not (both > 0 and own > 0):
        return judgement
    primal, dual = judgement.primal * (stored / both), judgement.dual * (both / own)
    return replace(judgement, primal=primal, dual=dual, square=own)


def _with_squares(judgements: list[Judgement], squares: Array) -> list[Judgement]:
    """The best D(cθ) for 0 ≤ c ≤ 1, the same c for all problems, with other values of ‖w‖²."""
    if not judgements[0].has_origin:
        # Without a loss the sums of θ are fixed, and D is in proportion to 1/‖w‖².
        return [replace(j, dual=j.dual * j.square / q) for j, q in zip(judgements, squares)]
    gains = [j.dual + 0.5 * j.square for j in judgements]
    total = float(squares.sum())
    c = min(max(sum(gains) / total, 0.0), 1.0) if total > 0 else 1.0
    return [
        replace(j, dual=c * gain - 0.5 * c**2 * float(q))
        for j, gain, q in zip(judgements, gains, squares)
    ]
