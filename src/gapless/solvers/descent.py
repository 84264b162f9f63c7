"""Gradient descent by the book: any update rule, step size and batch size, with its trace.

Steps follow the gradient of P/Σs, the objective per unit of weight, so that the same step size
suits ten rows and a million. They start from the model without features, in w and b as they are:
the path is the one that a textbook draws. What is returned is the best point found, certified like
any other; whether the gap was reached depends on the step size and the conditioning.

References
----------
Bottou, Curtis and Nocedal (2018), Optimization methods for large-scale machine learning, SIAM
Review 60: theorem 4.7 for the steps 1/(μ(t₀ + t)). Shalev-Shwartz, Singer, Srebro and Cotter
(2011), Pegasos: primal estimated sub-gradient solver for SVM, Math. Programming 127. O'Donoghue and
Candès (2015), Adaptive restart for accelerated gradient schemes, Found. Comput. Math. 15.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import ClassVar

import numpy as np

from .._ground import core
from .._ground.interrupt import check, deadline
from ..problem import Parameters, Problem
from ._base import Diverged, Point, Solver, registry
from .row_slopes import RowSlopes
from .updates import (
    Adam,
    AveragedMomentum,
    Backtracking,
    InverseTime,
    Momentum,
    Nesterov,
    Plain,
    StepSize,
    Update,
    as_step_size,
    check_whole,
)

Array = np.ndarray
EPS = float(np.finfo(float).eps)

# A gap costs as much as a step or more, so it is computed ever more rarely: after this many steps,
# or a tenth of those taken.
STEPS_PER_GAP = 10
# An objective this many times that of the start has diverged.
GROWN = 1e4
# After this many steps in a row that gain only rounding, there is no point in continuing.
SETTLED_STEPS = 50
# Without a penalty, the steps of batches stay long for this many epochs.
LONG_EPOCHS = 10
STEPS, EPOCHS = 20_000, 200
PLAIN = Plain()


@dataclass(frozen=True)
class GradientDescent(Solver):
    """Follow the gradient of the objective, or of a part of it in turn.

    Parameters
    ----------
    step : StepSize or float, default=None
        How long steps are, for the gradient of P/Σs; a number is a constant. None chooses
        `Backtracking()` for all rows at once, η = 1/(μ(t₀ + t)) for batches, where μ is the
        strength of the penalty and 1/(μt₀) the longest safe step, and 10/(100 + t) for `Adam`.
        Where the step is searched, momentum begins anew whenever the objective has risen.
    update : Update, default=Plain()
        The rule: `Plain()`, `Momentum()`, `AveragedMomentum()`, `Nesterov()` or `Adam()`.
    batch_size : int, default=None
        Rows per step; None takes all, 1 is stochastic gradient descent. An iteration is then a
        pass over the rows.
    shuffle : bool, default=True
        Whether each pass draws a new order; else rows come in theirs.
    passes : int, default=None
        The most passes over batches, even if `max_iter` allows more; None: `max_iter`, or 200.
    random_state : int, default=0
        Seed of the order.
    keep_iterates : bool, default=False
        Whether `trace_.iterates` has the coefficients of every step, also of those within a pass.

    Notes
    -----
    Equal rows are merged, so that a row of weight 2 and a repeated row are the same; batches are
    drawn from the distinct rows and weigh them, which makes their gradients right on average.
    Without `shuffle` a repeated row comes once, with its whole weight, where it appears first.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from gapless import LogisticRegression
    >>> from gapless.solvers import GradientDescent, Momentum
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> solver = GradientDescent(step=0.5, update=Momentum(0.9))
    >>> model = LogisticRegression(solver=solver, tol=1e-4, max_iter=1000).fit(scale(X), y)
    >>> model.solver_, model.certificate_.kind
    ('momentum', 'optimal')
    """

    step: StepSize | float | None = None
    update: Update = PLAIN
    batch_size: int | None = None
    shuffle: bool = True
    passes: int | None = None
    random_state: int = 0
    keep_iterates: bool = False
    is_exact: ClassVar[bool] = False

    def __post_init__(self):
        if not isinstance(self.update, Update):
            raise TypeError(f"update must be a rule such as Momentum(), got {self.update!r}.")
        step = None if self.step is None else as_step_size(self.step)
        if isinstance(step, Backtracking):
            if not self.update.is_searched:
                name = type(self.update).__name__
                raise ValueError(
                    f"{name} does not step along the gradient, so Backtracking() cannot find its "
                    "step size; give a number or InverseTime()."
                )
            if self.batch_size is not None:
                raise ValueError(
                    "Backtracking() needs the objective of all rows in every step; with "
                    "batch_size= give a number or InverseTime()."
                )
        check_whole(self.batch_size, "batch_size")
        check_whole(self.passes, "passes")
        check_whole(self.random_state, "random_state", 0)

    @property
    def name(self) -> str:  # type: ignore[override]
        """What `solver_` calls it."""
        rule = self.update.name
        if self.batch_size is None:
            return "gradient_descent" if rule == "plain" else rule
        kind = "mini_batch" if self.batch_size > 1 else "stochastic"
        kind = kind if self.shuffle or self.batch_size > 1 else "online"
        return kind if rule == "plain" else f"{kind}_{rule}"

    @property
    def max_iter(self) -> int:  # type: ignore[override]
        """The most steps, or passes over batches."""
        return STEPS if self.batch_size is None else self.passes or EPOCHS

    def limit(self, max_iter: int | None) -> int:
        """The largest number of steps, or of passes, where the caller allows `max_iter`."""
        if max_iter is None or (self.batch_size is not None and self.passes is not None):
            return self.max_iter if max_iter is None else min(max_iter, self.max_iter)
        return max_iter

    def refuses(self, problem: Problem) -> str | None:
        """Why it cannot take the problem; None if it can."""
        if self.batch_size is not None:
            return _refuses_without_slope(problem)
        if problem.loss.is_piecewise_linear:
            return f"needs a loss with a continuous derivative, got {problem.loss.name}"
        coordinates = problem.coordinates
        if coordinates is None or not coordinates.is_quadratic():
            return f"needs a penalty ½Σ l2ⱼwⱼ² or none, got {problem.penalty.name}"
        return None

    def method(self, problem: Problem, start: Parameters) -> Iterator[Point]:
        """The iterates."""
        if self.batch_size is not None:
            return self._by_batches(problem, start)
        return self._by_all_rows(problem, start)

    def _by_all_rows(self, problem: Problem, start: Parameters) -> Iterator[Point]:
        rule = self.update
        step = rule.usual_step if self.step is None else as_step_size(self.step)
        objective, watch = Objective(problem), Watch(problem, step)
        at = np.array(start.w, dtype=float), np.array(start.b, dtype=float)
        z = problem.predictions(*at)
        memory, begin, settled = rule.begin(at), step.length(0), 0
        is_searched, before = isinstance(step, Backtracking), math.inf
        for t in count():
            primal = problem.primal(*at, z)
            if is_searched and primal > before:
                memory = rule.begin(at)  # it ran past the bottom (O'Donoghue and Candès 2015)
            before = primal
            watch(t, primal)
            is_last = settled >= SETTLED_STEPS
            yield Point(*at, z, estimate=None if is_last else watch.estimate(t), primal=primal)
            if is_last:
                return
            ahead = rule.look_ahead(at, memory)
            z_ahead = z if ahead[0] is at[0] else problem.predictions(*ahead)
            gradient = objective.gradient(ahead, z_ahead)
            length: float | None = step.length(t)
            if isinstance(step, Backtracking):
                found = objective.search(step, ahead, z_ahead, gradient, begin)
                if found is None:
                    settled = SETTLED_STEPS
                    continue
                length, begin = rule.lengthening * found, step.growth * found
            assert length is not None
            gain = length * sum(float(np.sum(part**2)) for part in gradient)
            settled = settled + 1 if gain * objective.total <= EPS * abs(primal) else 0
            at, memory = rule.step(at, gradient, length, memory)
            z = problem.predictions(*at)

    def _by_batches(self, problem: Problem, start: Parameters) -> Iterator[Point]:
        batches = Batches(problem, self.batch_size or 1, self.shuffle, self.random_state)
        step = batches.usual_step if self.step is None else as_step_size(self.step)
        if self.step is None and not self.update.is_searched:
            step = self.update.usual_step
        rule, watch, means = self.update, Watch(problem, step), SlopeMeans(problem)
        at = _allowed(problem, np.array(start.w, dtype=float)), np.array(start.b, dtype=float)
        memory, t = rule.begin(at), 0
        is_single = isinstance(rule, Plain) and self.batch_size == 1 and len(batches.index) > 0
        by_core = SingleRows.of(batches) if is_single else None
        for epoch in count():
            z = problem.predictions(*at)
            primal = problem.primal(*at, z)
            watch(epoch, primal)
            yield Point(*at, z, means.add(z, batches.count * step.length(t)), primal=primal)
            if by_core is not None:
                order = np.concatenate([rows for rows, _ in batches.epoch()])
                parts = np.array_split(order, len(order) if self.keep_iterates else 1)
                for done, part in enumerate(parts, start=1):
                    at, t = by_core.steps(at, part, step, t), t + len(part)
                    if done < len(parts):
                        yield Point(*at, estimate=math.inf, within=done / len(parts))
                continue
            for rows, within in batches.epoch():
                check()
                ahead = rule.look_ahead(at, memory)
                gradient = batches.gradient(rows, ahead)
                at, memory = rule.step(at, gradient, step.length(t), memory)
                at, t = (_allowed(problem, at[0]), at[1]), t + 1
                if self.keep_iterates and within < 1:
                    yield Point(*at, estimate=math.inf, within=within)


@dataclass(frozen=True)
class Subgradient(Solver):
    """Step down a subgradient of all rows at once: for the hinge and other losses with kinks.

    Parameters
    ----------
    step : StepSize or float, default=None
        How long steps are, for the subgradient of P/Σs; they must get shorter, since near a kink
        subgradients do not. None chooses 1/(μ(t₀ + t)) under a penalty ½λ‖w‖², where μ = λ/Σs, and
        η₀/√(1 + t) without one.
    keep_iterates : bool, default=False
        Whether `trace_.iterates` has the coefficients of every step.

    Notes
    -----
    A subgradient at one point proves nothing about the optimum, but the running mean of them does:
    with these steps w is the point that belongs to it, and the gap falls as 1/t, up to a logarithm;
    a bias, which no penalty holds, makes it slower.
    """

    step: StepSize | float | None = None
    keep_iterates: bool = False
    name: ClassVar[str] = "subgradient"
    max_iter: ClassVar[int] = STEPS
    is_exact: ClassVar[bool] = False

    def __post_init__(self):
        if isinstance(self.step, Backtracking):
            raise ValueError(
                "a step down a subgradient may go uphill, so Backtracking() cannot find its "
                "length; give a number or InverseTime()."
            )

    def refuses(self, problem: Problem) -> str | None:
        """Why it cannot take the problem; None if it can."""
        return _refuses_without_slope(problem)

    def method(self, problem: Problem, start: Parameters) -> Iterator[Point]:
        """The iterates."""
        objective, means = Objective(problem), SlopeMeans(problem)
        step = objective.usual_step if self.step is None else as_step_size(self.step)
        watch = Watch(problem, step)
        w, b = _allowed(problem, np.array(start.w, dtype=float)), np.array(start.b, dtype=float)
        for t in count():
            z = problem.predictions(w, b)
            primal = problem.primal(w, b, z)
            watch(t, primal)
            yield Point(w, b, z, means.add(z, step.length(t)), watch.estimate(t), primal)
            g_w, g_b = objective.gradient((w, b), z)
            w = _allowed(problem, w - step.length(t) * g_w)
            b = b - step.length(t) * g_b


def _refuses_without_slope(problem: Problem) -> str | None:
    if not problem.penalty.has_curvature:
        return f"needs a penalty with a derivative, got {problem.penalty.name}"
    return None


def _allowed(problem: Problem, w: Array) -> Array:
    """The nearest coefficients within the constraints."""
    return problem.penalty.prox(w, 0.0)


# ---- what steps need to know of the objective ----------------------------------------------------


class Objective:
    """P/Σs, its gradient in w and b, and how steep and curved it is at most."""

    def __init__(self, problem: Problem):
        self.problem, self.total = problem, float(np.sum(problem.weights)) or 1.0

    def gradient(self, at: tuple[Array, Array], z: Array) -> tuple[Array, Array]:
        """The gradient where z = Xw + b is known, or a subgradient."""
        problem = self.problem
        slope = problem.derivative(z) / self.total
        g = problem.design.transposed_times(slope) + problem.penalty.gradient(at[0]) / self.total
        return g, np.sum(slope, axis=0) if problem.fit_bias else np.zeros_like(at[1])

    def search(
        self,
        step: Backtracking,
        at: tuple[Array, Array],
        z: Array,
        gradient: tuple[Array, Array],
        begin: float,
    ) -> float | None:
        """The step size down the gradient; trials cost no product with X."""
        problem, w, (g_w, g_b) = self.problem, at[0], gradient
        along = problem.design.times(g_w) + g_b

        def value(length: float) -> float:
            penalty = problem.penalty.value(w - length * g_w)
            return (problem.loss_sum(z - length * along) + penalty) / self.total

        slope = -float(np.sum(g_w**2)) - float(np.sum(g_b**2))
        return step.search(value, value(0.0), slope, begin)

    @cached_property
    def convexity(self) -> float:
        """μ: the penalty's smallest curvature; 0 if some feature is not penalised by a square."""
        coordinates = self.problem.coordinates
        l2 = np.zeros(1) if coordinates is None else coordinates.l2
        return float(np.min(l2, initial=np.inf)) / self.total if len(l2) else 0.0

    @cached_property
    def usual_step(self) -> StepSize:
        """1/(μ(t₀ + t)), no longer than for a loss of curvature 1; by roots without a penalty."""
        problem = self.problem
        squares = problem.design.column_square_sums(problem.weights) / self.total
        size = float(np.sum(squares)) + problem.fit_bias or 1.0
        if self.convexity <= EPS * size:
            return InverseTime(1 / math.sqrt(size), power=0.5)
        return InverseTime(1 / self.convexity, max(size / self.convexity, 1.0))


class Batches:
    """The distinct rows of a problem in batches, in a new order for each epoch or in their own."""

    def __init__(self, problem: Problem, size: int, shuffle: bool, seed: int):
        labels = problem.equal_rows
        _, first = np.unique(labels, return_index=True)  # by content, whatever the order of rows
        weights = np.bincount(labels, problem.weights)
        first, weights = first[weights > 0], weights[weights > 0]
        if not shuffle:
            order = np.argsort(first)
            first, weights = first[order], weights[order]
        self.problem, self.index, self.weights = problem, first, weights
        self.size, self.shuffle = min(size, max(len(first), 1)), shuffle
        self.random = np.random.default_rng(seed)
        self.objective = Objective(problem)

    @property
    def count(self) -> int:
        """The number of batches in an epoch."""
        return max(-(-len(self.index) // self.size), 1)

    def epoch(self) -> Iterator[tuple[Array, float]]:
        """The places of each batch's rows, and the part of the epoch done after it."""
        m = len(self.index)
        order = self.random.permutation(m) if self.shuffle else np.arange(m)
        for begin in range(0, m, self.size):
            yield order[begin : begin + self.size], min(begin + self.size, m) / m

    def gradient(self, rows: Array, at: tuple[Array, Array]) -> tuple[Array, Array]:
        """The gradient of P/Σs as these rows estimate it."""
        share = len(self.index) / len(rows)
        index, problem = self.index[rows], self.problem
        batch = replace(
            problem,
            design=problem.design.rows(index),
            y=problem.y[index],
            weights=share * self.weights[rows],
        )
        slope = batch.derivative(batch.predictions(*at)) / self.objective.total
        penalty = problem.penalty.gradient(at[0]) / self.objective.total
        g = batch.design.transposed_times(slope) + penalty
        return g, np.sum(slope, axis=0) if problem.fit_bias else np.zeros_like(at[1])

    @cached_property
    def usual_step(self) -> StepSize:
        """1/(μ(t₀ + t)), which begins with the longest step that is safe for every batch."""
        problem, m = self.problem, len(self.index)
        rows = problem.design.rows(self.index)
        squares = rows.row_square_sums(np.ones(problem.d)) + problem.fit_bias
        sizes = self.weights * m / self.objective.total * squares
        mean, most = float(np.sum(sizes)) / max(m, 1), float(np.max(sizes, initial=0.0))
        # The mean of a batch varies less than its rows do.
        largest = mean + (most - mean) / self.size or 1.0
        convexity = max(self.objective.convexity, largest / (LONG_EPOCHS * self.count))
        return InverseTime(1 / convexity, max(largest / convexity, 1.0))


class SingleRows:
    """The same steps by single rows in the compiled core, where it knows the loss and penalty."""

    def __init__(self, batches: Batches, slopes: RowSlopes, l2: float):
        self.batches, self.slopes, self.l2 = batches, slopes, l2
        problem, total = batches.problem, batches.objective.total
        self.X = problem.design.rows_view()
        self.weights = batches.weights * (len(batches.weights) / total)
        self.last, self.losses = np.zeros((problem.n, 1)), np.zeros(1)

    @classmethod
    def of(cls, batches: Batches) -> SingleRows | None:
        """None if the core does not know the loss, or the penalty is no plain ½λ‖w‖²."""
        problem, coordinates = batches.problem, batches.problem.coordinates
        is_alone = problem.outputs is None and problem.design.center is None
        if not is_alone or coordinates is None or not coordinates.is_quadratic():
            return None
        strength = float(coordinates.l2[0]) if problem.d else 0.0
        if problem.loss.task == "multiclass" or np.any(coordinates.l2 != strength):
            return None
        slopes = RowSlopes.of(problem.loss, np.asarray(problem.y, dtype=float)[:, None])
        return None if slopes is None else cls(batches, slopes, strength / batches.objective.total)

    def steps(
        self, at: tuple[Array, Array], order: Array, step: StepSize, t: int
    ) -> tuple[Array, Array]:
        """The parameters after a step, the first of number t, for each row of the order."""
        w, b = at[0][None, :].copy(), np.reshape(at[1], 1).copy()
        lengths = np.array([step.length(each) for each in range(t, t + len(order))])
        rows = self.batches.index[order]
        core.row_steps(
            self.X,
            self.slopes.boxes,
            self.slopes.shape,
            False,
            (rows, lengths, self.weights[order]),
            None,
            (0.0, self.l2),
            self.batches.problem.fit_bias,
            (w, b),
            None,
            len(order),
            None,
            self.last,
            self.losses,
            deadline(),
        )
        return w[0], b.reshape(())


class SlopeMeans:
    """Dual points: for a loss with kinks the mean of all slopes so far, weighted by the steps.

    Where a step of length η keeps the part 1 − ημ of w, it keeps as much of the mean, so that both
    belong together (Shalev-Shwartz et al. 2011). A smooth loss needs no mean.
    """

    def __init__(self, problem: Problem):
        self.problem, self.sum = problem, 0.0
        self.mean: Array | None = None
        self.convexity = Objective(problem).convexity

    def add(self, z: Array, length: float) -> Array | None:
        """Add the slopes at z; the dual point, None to take −s·ℓ′ there."""
        if not self.problem.loss.is_piecewise_linear:
            return None
        theta = -self.problem.derivative(z)
        self.sum += length
        share = self.convexity * length if self.convexity > 0 else length / self.sum
        if self.mean is None:
            self.mean = theta
        else:
            self.mean = self.mean + min(share, 1.0) * (theta - self.mean)
        return self.mean


class Watch:
    """Decides when the gap is worth computing, and notices when steps lead nowhere."""

    def __init__(self, problem: Problem, step: StepSize):
        self.problem, self.step = problem, step
        self.first: float | None = None
        self.next_gap = 0

    def estimate(self, t: int) -> float | None:
        """None to compute the gap after step t, ∞ to leave it out."""
        if t < self.next_gap:
            return math.inf
        self.next_gap = t + max(STEPS_PER_GAP, t // 10)
        return None

    def __call__(self, t: int, primal: float) -> None:
        """Raise `Diverged` if the objective after step t is out of all proportion."""
        if self.first is None:
            self.first = primal
        if primal <= GROWN * (abs(self.first) + self.problem.scale):
            return
        raise Diverged(
            f"the objective grew from {self.first:.3g} to {primal:.3g} in {t} steps of size "
            f"{self.step.length(0):.3g} at first, which are too long for this X and y: begin with "
            f"{self._safe_length():.2g} or less, scale the features, or leave step= out"
        )

    def _safe_length(self) -> float:
        """What a search finds where the descent began."""
        problem, objective = self.problem, Objective(self.problem)
        at = problem.null.w, problem.null.b
        z = problem.predictions(*at)
        gradient = objective.gradient(at, z)
        begin = self.step.length(0)
        return objective.search(Backtracking(), at, z, gradient, begin) or begin


registry["gradient_descent"] = GradientDescent()
registry["momentum"] = GradientDescent(update=Momentum())
registry["momentum_averaged"] = GradientDescent(update=AveragedMomentum())
registry["nesterov"] = GradientDescent(update=Nesterov())
registry["adam"] = GradientDescent(update=Adam())
registry["mini_batch"] = GradientDescent(batch_size=32)
registry["stochastic"] = GradientDescent(batch_size=1)
registry["online"] = GradientDescent(batch_size=1, shuffle=False, passes=1)
registry["subgradient"] = Subgradient()
