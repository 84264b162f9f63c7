"""From data to the problems of a linear model, and from their solution to its attributes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._ground.design import Design, drop_empty_columns
from ..._ground.validation import Training
from ...losses import Loss
from ...penalties import Box, Penalty, Separable
from ...problem import Parameters, Problem
from ...unseen import Fitted

Array = np.ndarray

# Columns smaller than this part of the largest one count as so large.
SMALLEST_UNIT = 0.1


@dataclass(frozen=True, eq=False)
class Objective:
    """P/Σs of some problems as a function of [w, b, …], each column in units of its own size.

    In these units a step means the same for every coefficient, so that differences are accurate.
    Constraints and penalties without a gradient are left out.
    """

    problems: list[Problem]
    parameters: list[Parameters]

    @property
    def sizes(self) -> list[Array]:
        """Arrays in the shape of the point, each filled with the size of the fitted one."""
        return [
            np.full(np.shape(part), max(1.0, float(np.max(np.abs(part), initial=0.0))))
            for part in self.point
        ]

    @property
    def point(self) -> list[Array]:
        """The fitted one."""
        point = []
        for problem, q in zip(self.problems, self.parameters):
            point.append((q.w.T * self._units).T)
            if problem.fit_bias:
                point.append(q.b)
        return point

    @cached_property
    def _units(self) -> Array:
        """The root mean square of each column, not far below the largest."""
        design = self.problems[0].design
        sizes = np.sqrt(design.column_square_sums() / max(design.n, 1))
        largest = float(np.max(sizes, initial=0.0))
        # The last features of a kernel are next to 0, and their coefficients would be huge.
        return np.maximum(sizes, SMALLEST_UNIT * largest) if largest > 0 else np.ones_like(sizes)

    def _taken_apart(self, point: list[Array]) -> Iterator[tuple[Problem, Array, Array]]:
        parts = iter(point)
        for problem, q in zip(self.problems, self.parameters):
            w = (np.asarray(next(parts), dtype=float).T / self._units).T
            yield problem, w, np.asarray(next(parts)) if problem.fit_bias else np.zeros_like(q.b)

    def value(self, point: list[Array]) -> float:
        """The sum of the objectives, divided by the weight of the rows."""
        total = 0.0
        for problem, w, b in self._taken_apart(point):
            total += problem.loss_sum(problem.predictions(w, b)) / problem.weights.sum()
            if _has_gradient(problem):
                total += problem.penalty.value(w) / problem.weights.sum()
        return total

    def gradient(self, point: list[Array]) -> list[Array]:
        """Its gradient, as the solvers compute it."""
        found = []
        for problem, w, b in self._taken_apart(point):
            slopes = problem.derivative(problem.predictions(w, b)) / problem.weights.sum()
            of_w = problem.design.transposed_times(slopes)
            if _has_gradient(problem):
                of_w = of_w + problem.penalty.gradient(w) / problem.weights.sum()
            found.append((of_w.T / self._units).T)
            if problem.fit_bias:
                found.append(slopes.sum(axis=0))
        return found


def _has_gradient(problem: Problem) -> bool:
    """Whether the penalty has slopes everywhere: constraints have none where they are violated."""
    has_bounds = problem.coordinates is not None and problem.coordinates.has_bounds
    return type(problem.penalty).gradient is not Penalty.gradient and not has_bounds


def regression_problems(
    data: Training, loss: Loss, penalty: Penalty, fit_bias: bool, *, joint: bool
) -> list[Problem]:
    """One problem for y (n,); for y (n, K) one over all outputs if `joint`, else one for each."""
    loss.check_targets(data.y)
    design = Design(data.X)
    if data.y.ndim == 1:
        return [Problem(design, data.y, loss, penalty, data.weights, fit_bias)]
    if joint:
        return [Problem(design, data.y, loss, penalty, data.weights, fit_bias, data.y.shape[1])]
    columns = np.asfortranarray(data.y).T
    return [Problem(design, column, loss, penalty, data.weights, fit_bias) for column in columns]


def classification_problems(
    data: Training, loss: Loss, penalty: Penalty, fit_bias: bool
) -> list[Problem]:
    """One problem for a multi-class loss or two classes, else one per class against the rest."""
    if loss.task == "regression" and loss.targets != "real":
        raise ValueError(
            f"the {loss.name} loss is for {loss.targets} numbers, not for classes, which are ±1; "
            'use a regressor, or a loss such as "logistic".'
        )
    design = Design(data.X)
    n_classes = len(data.classes) if data.classes is not None else 0
    if loss.task == "multiclass":
        return [Problem(design, data.y, loss, penalty, data.weights, fit_bias, n_classes)]
    positive = [1] if n_classes == 2 else range(n_classes)
    return [
        Problem(design, np.where(data.y == k, 1.0, -1.0), loss, penalty, data.weights, fit_bias)
        for k in positive
    ]


def fitted_of(
    model: Any, data: Any, solved: tuple[list[Problem], list[Parameters]] | None = None
) -> Fitted:
    """The problems of an estimator on its data, for held-out predictions.

    `solved` are its problems and their solution; without it null models are used.
    """
    problems = model._problems(data) if solved is None else solved[0]
    has_classes = data.classes is not None and data.y.ndim == 1
    return Fitted(
        problems,
        [problem.null for problem in problems] if solved is None else solved[1],
        targets=data.y,
        y=data.classes[data.y] if has_classes else data.y,
        weights=data.sample_weight,
        has_classes=has_classes,
        averages=model._averages,
        tol=model.tol,
        columns=data.columns,
    )


def without_empty_columns(data: Training) -> Training:
    """The data without the empty columns of a sparse X, if most are empty.

    Their coefficients are 0: they change no prediction, and every penalty is least there.
    """
    found = drop_empty_columns(data.X)
    return data if found is None else replace(data, X=found[0], columns=found[1])


def narrowed(coef: Any, columns: Array | None) -> Any:
    """The coefficients of some columns; of all of them for None."""
    return coef if columns is None else dense(coef)[..., columns]


def widened(coef: Array, columns: Array | None, d: int) -> Array:
    """Coefficients of all d columns, 0 for those left out."""
    if columns is None:
        return coef
    wide = np.zeros((*coef.shape[:-1], d), coef.dtype)
    wide[..., columns] = coef
    return wide


def with_sign(penalty: Separable, positive: bool) -> Separable:
    """The penalty, with all coefficients kept ≥ 0 if wanted."""
    return Box(lower=0.0, penalty=penalty) if positive else penalty


def pack(problems: list[Problem], parameters: list[Parameters]) -> tuple[Array, Array, Array]:
    """Coefficients (K, d), biases (K,) and dual points, (n,) for K = 1 and (n, K) otherwise."""
    coefs, intercepts, thetas = [], [], []
    for problem, p in zip(problems, parameters):
        w, b = p.w, p.b
        if problem.loss.task == "multiclass":
            # Only differences of scores count: of all equal models, keep the one of smallest norm.
            b = b - b.mean()
            w = w.copy()
            w[problem.free] -= w[problem.free].mean(axis=1, keepdims=True)
        # θ = 0 is always a dual point, if a weak one.
        theta = problem.origin.theta if p.theta is None else p.theta
        coefs.append(w.T)
        intercepts.append(np.atleast_1d(b))
        thetas.append(theta.reshape(problem.n, -1))
    dual = np.hstack(thetas)
    return np.vstack(coefs), np.concatenate(intercepts), dual[:, 0] if dual.shape[1] == 1 else dual


def unpack(problems: list[Problem], coef: Any, intercept: Any, dual: Any) -> list[Parameters]:
    """The parameters of each problem, in float64; the dual point only if it has as many rows."""
    coef = np.atleast_2d(dense(coef)).astype(np.float64)
    intercept = np.broadcast_to(np.asarray(intercept, dtype=np.float64), len(coef))
    theta = None
    if dual is not None and len(dual) == problems[0].n:
        theta = dual.reshape(len(dual), -1)
    if problems[0].outputs is not None:
        return [Parameters(np.ascontiguousarray(coef.T), intercept.copy(), theta)]
    return [
        Parameters(coef[k], np.array(intercept[k]), None if theta is None else theta[:, k].copy())
        for k in range(len(problems))
    ]


def stored_coefficients(problems: list[Problem], coef: Array, dtype: np.dtype) -> Array:
    """Coefficients (K, d) in the precision of the data."""
    if problems[0].outputs is not None:
        return np.ascontiguousarray(_cast(problems[0].penalty, coef.T, dtype).T)
    return np.stack([_cast(problem.penalty, w, dtype) for problem, w in zip(problems, coef)])


def _cast(penalty: Penalty, w: Array, dtype: np.dtype) -> Array:
    """w in that precision; a coefficient that rounding moves out of bounds is moved back."""
    cast = w.astype(dtype)
    found = cast.astype(np.float64)
    if np.isfinite(penalty.value(found)):
        return cast
    # A step of length zero changes nothing except for the constraints.
    allowed = penalty.prox(found, np.finfo(float).tiny)
    inwards = np.where(allowed > found, np.inf, -np.inf).astype(dtype)
    return np.where(allowed != found, np.nextafter(cast, inwards), cast)


def dense(coef: Any) -> Array:
    """Coefficients as an ordinary array."""
    return coef.toarray() if sp.issparse(coef) else coef
