"""A fit, as far as held-out predictions need it: what was minimised, and how to refit it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from .._ground.design import Design
from .._ground.interrupt import TimeLimit
from ..losses import Loss
from ..penalties import L1, L2, Penalty
from ..problem import Parameters, Problem
from ..solvers import solve_many
from .folds import FEW_UNITS, Fold, dealt, splits
from .leave_one_out import keep_shares
from .leave_one_out._base import squares_of
from .leave_one_out.distinct import MergedRows, counted_labels, units_of
from .leave_one_out.row_space import Narrow
from .versions import Dial, Version, scaling

Array = np.ndarray

# With more rows, or operations for a pass over the data, a fit takes most of a second. Losses with
# kinks take about FOR_KINKS times as many passes, and more if the penalty is weak. With few rows,
# however wide, a part would say too little.
LARGE_ROWS, LARGE_WORK, FOR_KINKS, FEW_ROWS = 10_000, 2e6, 5, 200
# In units of the variances: the weakest ridge that a model with (almost) none is compared with, and
# one that has no effect.
FIRST_RIDGE, LAST_RIDGE = 1e-2, 1e-7
# With fewer rows per feature a lasso may do better; its first strength is this part of the one that
# removes every feature.
MANY_ROWS, FIRST_LASSO = 20, 0.05


@dataclass(frozen=True, eq=False)
class Fitted:
    """The problems of an estimator, on the same rows, and their solution.

    Parameters
    ----------
    problems : list of Problem
        One, or one per class or target.
    start : list of Parameters
        Their solution, or, if not `is_solved`, a starting point.
    targets : ndarray of shape (n,) or (n, K)
        The targets as numbers, classes by position: equal rows have equal ones.
    y : ndarray of shape (n,) or (n, K)
        The targets with which predictions are compared.
    weights : ndarray of shape (n,)
        The weight of each row in a score, without class weights.
    has_classes : bool
        Whether the targets are classes.
    averages : bool
        Whether the objective is a mean, so that the penalty of the sum grows with Σsᵢ.
    tol : float
        The tolerance of the solver.
    is_solved : bool
        Whether `start` is the solution.
    columns : ndarray of int or None
        The columns of the model that the problems have; None for all.
    """

    problems: list[Problem]
    start: list[Parameters]
    targets: Array
    y: Array
    weights: Array
    has_classes: bool = False
    averages: bool = False
    tol: float = 1e-6
    is_solved: bool = True
    columns: Array | None = None

    # The requested score of the model: none.
    expected: ClassVar[float | None] = None
    # What `scaled` strengthens, in words.
    strength: ClassVar[str] = "the penalty"
    # Whether it predicts classes alone, never probabilities.
    is_plain: ClassVar[bool] = False
    # Whether the model keeps its shape however weak its penalty is.
    is_limited: ClassVar[bool] = True
    # Whether a refit ends as far from the optimum as the fit; it ends at it.
    refits_alike: ClassVar[bool] = False
    # Up to so many units are left out one at a time.
    few_units: ClassVar[int] = FEW_UNITS
    # Whether it reproduces the targets of its training rows, whatever its penalty.
    interpolates: ClassVar[bool] = False

    @cached_property
    def parameters(self) -> list[Parameters]:
        """The solution; computed on first use."""
        return self.start if self.is_solved else self.solve(self.problems, self.start)

    @cached_property
    def predictions(self) -> Array:
        """Xw + b of all outputs, (n, K)."""
        return self.predict(self.parameters, slice(None))

    def predict(self, parameters: list[Parameters], rows: Array | slice) -> Array:
        """Xw + b of some rows by these parameters, (rows, K)."""
        # In one product, as estimators predict: scores of classes may tie, and rounding decides.
        w = np.column_stack([p.w for p in parameters])
        b = np.hstack([p.b for p in parameters])
        return self.problems[0].design.rows(rows).times(w) + b

    @property
    def objective(self) -> float:
        """P at the parameters, summed over the problems."""
        return sum(p.primal(q.w, q.b) for p, q in zip(self.problems, self.parameters))

    @property
    def design(self) -> Design:
        """The rows."""
        return self.problems[0].design

    @property
    def fit_weights(self) -> Array:
        """The weight of each row in the fit."""
        return self.problems[0].weights

    @cached_property
    def is_counted(self) -> Array:
        """Which rows have any weight, in the fit and in the score."""
        return (self.problems[0].weights > 0) & (self.weights > 0)

    @cached_property
    def distinct(self) -> Array:
        """Which distinct row (x, y) each row is: 0, 1, … by content, −1 for rows without weight."""
        return counted_labels(self._labels, self.is_counted)

    @cached_property
    def units(self) -> Array:
        """The units to leave out: the rows of each x, numbered 0, 1, … by content, else −1."""
        return units_of(self.design.equal_x, self._labels, self.is_counted)

    @cached_property
    def _labels(self) -> Array:
        return self.design.equal_rows(self.targets)

    @property
    def is_large(self) -> bool:
        """Whether many refits would take long."""
        design = self.problems[0].design
        outputs = sum(p.outputs or 1 for p in self.problems)
        work = design.density * design.n * design.d * outputs
        work *= 1 if self.problems[0].loss.has_curvature else FOR_KINKS
        return design.n > LARGE_ROWS or (design.n > FEW_ROWS and work > LARGE_WORK)

    @property
    def ignores_shifts(self) -> bool:
        """Whether adding the same number to all scores of a row changes nothing, as for softmax."""
        return self.problems[0].loss.task == "multiclass"

    @cached_property
    def narrow(self) -> Narrow | None:
        """Coordinates in which refits of few wide rows take no time; None for other rows."""
        return Narrow.of(self.problems)

    @property
    def plain_rows(self) -> Design | None:
        """The features from which errors may be predicted; None if they are not features."""
        return self.design

    @property
    def has_probabilities(self) -> bool:
        """Whether scores are meant as probabilities of classes."""
        return self.problems[0].loss.has_probabilities

    @property
    def asymmetric_loss(self) -> Loss | None:
        """The loss of a regression that does not aim at a mean, such as a quantile's."""
        return asymmetric(self.problems[0].loss)

    # ---- other fits ------------------------------------------------------------------------------

    def simpler(self) -> list[Dial]:
        """A stronger penalty; a ridge or a lasso if there is none to speak of."""
        ridge = self._ridge
        if ridge is None:
            return [scaling(self, 10.0)]
        is_free = ridge < 0.1 * FIRST_RIDGE and self._has_many_features
        lasso: list[Dial] = [self._with_lasso] if is_free else []
        if ridge == 0.0:
            return [self._with_ridge, *lasso]
        # A ridge that is far too weak has no effect for many steps.
        return [scaling(self, 10.0, max(1.0, 0.1 * FIRST_RIDGE / ridge)), *lasso]

    @property
    def _has_many_features(self) -> bool:
        """Whether some features may be superfluous, and leaving them out takes no time."""
        design, loss = self.design, self.problems[0].loss
        return design.n < MANY_ROWS * design.d and loss.has_curvature and not self.is_large

    def _with_lasso(self, step: int) -> Version | None:
        """The same with the penalty Σ sdⱼ|wⱼ|, a part of the one that removes every feature."""
        part = FIRST_LASSO * 2.0 ** (step - 1)
        if part > 0.5:
            return None
        sizes = np.sqrt(self._square_sums)
        problems = []
        for problem in self.problems:
            null = problem.null
            z = problem.predictions(null.w, null.b)
            slope = problem.weighted(problem.loss.gradient(problem.y, z))
            pull = np.abs(problem.design.transposed_times(slope)).reshape(problem.d, -1).max(axis=1)
            largest = float(np.max(pull[sizes > 0] / sizes[sizes > 0], initial=0.0))
            problems.append(replace(problem, penalty=L1(part * largest, sizes)))
        start = [problem.null for problem in problems]
        other = replace(self, problems=problems, start=start, is_solved=False)
        return Version(other, "a lasso penalty")

    def richer(self) -> list[Dial]:
        """A weaker penalty."""
        ridge, weaker = self._ridge, scaling(self, 0.1)
        if ridge is None:
            return [weaker]
        # An even weaker one has no effect, and takes solvers long.
        return [lambda step: weaker(step) if ridge * 0.1**step > LAST_RIDGE else None]

    @cached_property
    def _ridge(self) -> float | None:
        """The strength of ½Σ l2ⱼwⱼ², in units of the variances; None for another penalty."""
        squares = [squares_of(problem) for problem in self.problems]
        if any(l2 is None for l2 in squares):
            return None
        size = float(np.mean(self._square_sums))
        return min(float(np.mean(l2)) for l2 in squares if l2 is not None) / max(size, 1e-300)

    @cached_property
    def _square_sums(self) -> Array:
        """Σsᵢxᵢⱼ² of each feature, centred if there is a bias."""
        design, weights = self.design, self.fit_weights
        if self.problems[0].fit_bias:
            design = design.shifted(design.transposed_times(weights / weights.sum()))
        return design.column_square_sums(weights)

    def _with_ridge(self, step: int) -> Version | None:
        """The same with a ridge in units of the variances of the features."""
        ridge = FIRST_RIDGE * 10.0 ** (step - 1)
        problems = [replace(p, penalty=L2(ridge, self._square_sums)) for p in self.problems]
        other = replace(self, problems=problems, start=self._starts(), is_solved=False)
        return Version(other, f"a ridge penalty of {ridge:g}·Var(x) a row")

    def scaled(self, factor: float) -> Fitted | None:
        """The same with a penalty `factor` times as strong; None if it has no strength."""
        problems = []
        for problem in self.problems:
            penalty = problem.penalty.scaled(factor)
            if penalty is None or penalty is problem.penalty:
                return None
            problems.append(replace(problem, penalty=penalty))
        return replace(self, problems=problems, start=self._starts(), is_solved=False)

    def with_shares(self, z: Array) -> Array:
        """Held-out scores (n, K) of classes, with the biases at the shares of all rows."""
        parts, start = [], 0
        for problem in self.problems:
            columns = slice(start, start + (problem.outputs or 1))
            part = z[:, columns]
            held = part if problem.outputs is not None else part[:, 0]
            parts.append(keep_shares(problem, held, self.targets).reshape(part.shape))
            start = columns.stop
        return np.hstack(parts)

    def only(self, rows: Array) -> Fitted:
        """The same on some of the rows."""
        design = self.problems[0].design.rows(rows)
        problems = [
            replace(p, design=design, y=p.y[rows], weights=p.weights[rows], penalty=penalty)
            for p, penalty in zip(self.problems, self._penalties(rows))
        ]
        return replace(
            self,
            problems=problems,
            start=self._starts(),
            targets=self.targets[rows],
            y=self.y[rows],
            weights=self.weights[rows],
            is_solved=False,
        )

    def part(self, rows: Array) -> Fitted:
        """Some of the rows with the penalties of all, and null models in place of the solution."""
        design = self.design.rows(rows)
        problems = [
            replace(p, design=design, y=p.y[rows], weights=p.weights[rows]) for p in self.problems
        ]
        return replace(
            self,
            problems=problems,
            start=[problem.null for problem in problems],
            targets=self.targets[rows],
            y=self.y[rows],
            weights=self.weights[rows],
        )

    def merged(self, *, in_order: bool = False) -> tuple[Fitted, Array, Array]:
        """One row for equal ones (x, y), none without weight; which they are, and their weights.

        They are in the order of their content, unless nothing is merged, which avoids a copy of X;
        with `in_order` they always are.
        """
        distinct = MergedRows.of(self.distinct, self.fit_weights)
        if distinct.is_everything and not in_order:
            return self, distinct.first, distinct.weights
        order = np.argsort(self.distinct) if distinct.is_everything else slice(None)
        part, weights = self.part(distinct.first[order]), distinct.weights[order]
        problems = [replace(problem, weights=weights) for problem in part.problems]
        start = [problem.null for problem in problems]
        counts = distinct.sums(self.weights)[order]
        merged = replace(part, problems=problems, start=start, weights=counts)
        return merged, distinct.first[order], weights

    def folds(self) -> list[Fold]:
        """Folds (train, test) of the units, drawn by content, with a share of each class."""
        strata = self.targets if self.has_classes else None
        return splits(dealt(self.units, strata=strata, in_turn=True))

    def row_scores(self, z: Array) -> Array:
        """Minus the loss of each row, or its squared error, for predictions (n, K)."""
        return row_scores(self.problems, z)

    def sample(self, rows: Array) -> Fitted:
        """The same on some of the rows, with the same ratio of penalty to weight."""
        return replace(replace(self, averages=True).only(rows), averages=self.averages)

    def without(self, rows: Array) -> list[Parameters]:
        """The solution without some of the rows, started from the fit."""
        rest = np.delete(np.arange(len(self.weights)), rows)
        weights = self.problems[0].weights.copy()
        # Weight 0 means no row, and avoids a copy of X.
        weights[rows] = 0.0
        problems = [
            replace(p, weights=weights, penalty=penalty)
            for p, penalty in zip(self.problems, self._penalties(rest))
        ]
        return self.solve(problems, self._starts())

    def penalty_for(self, problem: Problem, total: float) -> Penalty:
        """The penalty of a problem on rows of the summed weight `total`."""
        if not self.averages:
            return problem.penalty
        # A penalty that cannot be scaled has no strength that could grow.
        scaled = problem.penalty.scaled(total / problem.weights.sum())
        return problem.penalty if scaled is None else scaled

    def _penalties(self, rows: Array) -> list[Penalty]:
        total = float(self.problems[0].weights[rows].sum())
        return [self.penalty_for(problem, total) for problem in self.problems]

    def _starts(self) -> list[Parameters]:
        """The start of another fit; the dual point depends on the rows and the penalty."""
        return [Parameters(p.w, p.b) for p in self.parameters]

    def solve(self, problems: list[Problem], starts: list[Parameters]) -> list[Parameters]:
        """Minimise other problems, to slightly more than the tolerance of the fit."""
        starts = [Parameters(p.penalty.prox(s.w, 0.0), s.b) for p, s in zip(problems, starts)]
        narrow = self.narrow
        if narrow is None or not all(narrow.takes(problem) for problem in problems):
            return self._solve(problems, starts)
        inside = [narrow.problem(p) for p in problems], [narrow.start(s) for s in starts]
        return [narrow.back(found) for found in self._solve(*inside)]

    def _solve(self, problems: list[Problem], starts: list[Parameters]) -> list[Parameters]:
        # Predictions need only a few digits; the polish takes longer than the fit.
        solutions = solve_many(problems, starts=starts, tol=0.01 * self.tol, polish=False)
        statuses = [solution.status for solution in solutions]
        if "interrupted" in statuses:
            raise KeyboardInterrupt
        if "time_limit" in statuses:
            raise TimeLimit
        return [solution.parameters for solution in solutions]


def row_scores(problems: list[Problem], z: Array) -> Array:
    """Minus the loss of each row in all problems, or its squared error, for predictions (n, K)."""
    total, column = np.zeros(len(z)), 0
    for problem in problems:
        K = problem.outputs or 1
        part = z[:, column : column + K]
        value = problem.loss.value(problem.y, part if problem.outputs is not None else part[:, 0])
        total -= value if value.ndim == 1 else value.sum(axis=1)
        column += K
    # ℓ = ½(y − z)², summed over the outputs, and the mean squared error is the mean over both.
    return total * (2 / column) if problems[0].loss.name == "squared" else total


def asymmetric(loss: Loss) -> Loss | None:
    """The loss, if errors above and below the target cost differently, on the target's scale."""
    if loss.task != "regression":
        return None
    zeros, ones = np.zeros(1), np.ones(1)
    if np.any(loss.inverse_link(ones) != ones):
        return None
    is_even = np.isclose(loss.value(zeros, ones), loss.value(zeros, -ones)).all()
    return None if is_even else loss
