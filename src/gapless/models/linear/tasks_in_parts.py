"""What a linear model asks of each part of a table: see `in_parts`.

Tasks are sent to where the rows are. A part becomes the problems that the estimator would make of
its rows; what the parts answer is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._ground.design import Design
from ..._ground.validation import Training as Memory
from ...problem import Parameters, Problem, dual_sums, quadratic_at
from ...streaming import (
    FOLDS,
    Folds,
    Rows,
    applied,
    checked_labels,
    checked_numbers,
    checked_weights,
    fold_of,
)
from ...unseen import ScoreSums
from .problems import dense

Array = np.ndarray


class Listed(list):
    """Answers to several questions, added one by one; None where nothing was asked."""

    def __add__(self, other):
        return Listed(b if a is None else a if b is None else a + b for a, b in zip(self, other))


@dataclass(frozen=True, eq=False)
class OfPart:
    """How the rows of a part become the problems of an estimator; sent to where the rows are."""

    model: Any
    rows: int
    center: Array | None
    classes: Array | None = None
    factors: Array | None = None

    def memory(self, rows: Rows) -> Memory:
        """The rows as training data in memory."""
        weights = checked_weights(rows)
        if self.classes is None:
            return Memory(rows.X, checked_numbers(rows), weights, weights)
        labels = checked_labels(rows)
        codes = np.minimum(np.searchsorted(self.classes, labels), len(self.classes) - 1)
        codes = codes.astype(np.int64)
        of_fit = weights if self.factors is None else weights * self.factors[codes]
        return Memory(rows.X, codes, weights, of_fit, self.classes)

    def problems(self, data: Memory) -> list[Problem]:
        """The problems of these rows, around the center; one for each column of scores."""
        made = self.model._problems(data)
        if len(made) == 1 and made[0].outputs is not None and made[0].loss.task == "regression":
            whole = made[0]
            made = [
                replace(whole, y=np.ascontiguousarray(whole.y[:, k]), outputs=None)
                for k in range(whole.outputs or 0)
            ]
        if self.center is None:
            return made
        design = made[0].design.shifted(self.center)
        return [replace(problem, design=design) for problem in made]

    def fold(self, rows: Rows) -> int:
        """The fold that a part belongs to."""
        return fold_of(rows, self.rows)

    def in_fold(self, rows: Rows, answer: Any) -> Folds:
        """An answer for a part, in its fold."""
        return Folds(answer if fold == self.fold(rows) else None for fold in range(FOLDS))


@dataclass(frozen=True, eq=False)
class Evaluate:
    """The task of a Newton step: the sums of every problem at its point, by folds.

    Without points they are taken at w = 0, which says all of the squared loss.
    """

    of_part: OfPart
    points: Sequence[Parameters | None] | None = None

    def __call__(self, rows: Rows) -> Folds:
        """In the fold of the part, a list with an entry for each problem."""
        problems = self.of_part.problems(self.of_part.memory(rows))
        zero = Parameters(np.zeros(rows.X.shape[1]), np.zeros(()))
        points = [zero] * len(problems) if self.points is None else self.points
        found = Listed(
            None if point is None else quadratic_at(problem, point.w, point.b)
            for problem, point in zip(problems, points)
        )
        return self.of_part.in_fold(rows, found)


@dataclass(frozen=True, eq=False)
class Prove:
    """The task of the certificate: P at the end, and D at a dual point, of every problem.

    The slopes at the null models, by fold, give those of the other folds.
    """

    of_part: OfPart
    each: Sequence[tuple[Any, ...]]
    nulls: Sequence[Parameters]

    def __call__(self, rows: Rows) -> Listed:
        """The sums of each problem, what its null model loses there, and slopes by fold."""
        problems = self.of_part.problems(self.of_part.memory(rows))
        sums = [dual_sums(problem, *how) for problem, how in zip(problems, self.each)]
        losses = [
            problem.weighted_sum(_at_null(problem, null) - problem.loss.smallest(problem.y))
            for problem, null in zip(problems, self.nulls)
        ]
        slopes = [_slopes_at_null(problem, null) for problem, null in zip(problems, self.nulls)]
        return Listed([*sums, *losses, self.of_part.in_fold(rows, Listed(slopes))])


def _at_null(problem: Problem, null: Parameters) -> Array:
    return problem.row_losses(_scores_of_null(problem, null))


def _scores_of_null(problem: Problem, null: Parameters) -> Array:
    shape = (problem.n,) if problem.outputs is None else (problem.n, problem.outputs)
    return np.zeros(shape) + null.b


def _slopes_at_null(problem: Problem, null: Parameters) -> Array:
    """Gradient and Hessian of the losses in the biases at the null model, side by side."""
    z, y, s = _scores_of_null(problem, null), problem.y, problem.weights
    slope = problem.loss.gradient(y, z)
    if problem.outputs is None:
        return np.array([[s @ slope, s @ problem.loss.curvature(y, z)]])
    a, f = problem.loss.hessian_factors(y, z, slope)
    H = np.diag(s @ a)
    if f is not None:
        H -= (s[:, None] * f).T @ f
    return np.column_stack([s @ slope, H])


@dataclass(frozen=True, eq=False)
class Judge:
    """The task that scores rows: by the fit, by the models of the other folds, by a constant.

    `held` has the models of each fold, `rivals` those of other versions, by folds too.
    """

    of_part: OfPart
    fit: Sequence[Parameters]
    held: Sequence[Sequence[Parameters]]
    nulls: Sequence[Parameters]
    rivals: Sequence[Sequence[Sequence[Parameters]]]

    def __call__(self, rows: Rows) -> ScoreSums:
        """The sums of one part."""
        data = self.of_part.memory(rows)
        problems = self.of_part.problems(data)
        fold = self.of_part.fold(rows)
        models = [self.fit, self.held[fold], self.nulls, *(each[fold] for each in self.rivals)]
        losses, wrong = [], []
        for k, model in enumerate(models):
            scores = [p.predictions(q.w, q.b) for p, q in zip(problems, model)]
            losses.append(sum(_excess(p, z) for p, z in zip(problems, scores)))
            if k < 2:
                wrong.append(_mistakes(scores, data))
        values = np.column_stack([*losses[:3], *wrong, *losses[3:]])
        counted = data.weights > 0
        return ScoreSums.of_rows(np.where(counted[:, None], values, 0.0), data.sample_weight)


def _excess(problem: Problem, z: Array) -> Array:
    """The loss of each row above the least possible."""
    with np.errstate(over="ignore"):
        return problem.row_losses(z) - problem.loss.smallest(problem.y)


def _mistakes(scores: list[Array], data: Memory) -> Array:
    """Whether the class of each row is mistaken; 0 for numbers."""
    if data.classes is None:
        return np.zeros(len(data.y))
    z = scores[0] if len(scores) == 1 else np.column_stack(scores)
    found = (z > 0).astype(np.int64) if z.ndim == 1 else z.argmax(axis=1)
    return (found != data.y).astype(float)


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores Xw + b of some rows."""

    w: Array
    b: Any

    def __call__(self, X: Array) -> Array:
        """Xw + b."""
        return Design(X).times(self.w) + self.b


def scores_in_parts(X: Any, model: Any) -> Array:
    """The scores of all rows of a table in parts by a fitted model."""
    w = np.ascontiguousarray(dense(model.coef_).T, dtype=float)
    names = getattr(model, "feature_names_in_", None)
    return applied(X, Scores(w, model.intercept_), len(w), names, name=type(model).__name__)
