"""Dual coordinate descent: losses with a dual box, the penalty ½Σ l2ⱼwⱼ² with every l2ⱼ > 0."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

import numpy as np

from .._ground import core
from .._ground.design import Design
from .._ground.interrupt import TimeLimit, check, deadline
from .._ground.threads import thread_count
from ..problem import Parameters, Problem
from ._base import Callback, Method, Monitor, Point, Solution, solver
from .newton_steps import inner, strengths
from .polish import polish

Array = np.ndarray
EPS = float(np.finfo(float).eps)

MAX_ITER = 1000
FIRST_GAP = 1e-4  # relative to P₀: target of the first round of epochs
FIRST_EPOCHS, MOST_EPOCHS = 16, 1024  # of one round
SLOW = 5  # rounds, after which the polish may help
TOGETHER = 32  # at most, problems that share the threads
# A brief descent ends at this gap relative to P₀, or after a few milliseconds.
SMALL_GAP, FEW_PRODUCTS = 1e-11, 1e7
# A descent that starts another solver aims at this part of the requested gap, and may visit each
# row this often on average: a usual one visits it seven to seventeen times.
PART, FEW_EPOCHS, FEW_VISITS = 0.5, 1024, 24


def _refuses(problem: Problem) -> str | None:
    if not problem.loss.has_dual_box:
        return f"needs a loss with a dual box, such as the hinge, got {problem.loss.name}"
    if problem.outputs is not None:
        return f"takes one column of predictions, got {problem.outputs}"
    coordinates = problem.coordinates
    if coordinates is None or not coordinates.is_quadratic() or np.any(coordinates.l2 == 0):
        return f"needs the penalty ½Σ l2·w² with every l2 > 0, got {problem.penalty.name}"
    if problem.design.center is not None and not problem.fit_bias:
        return "takes a centred X only together with a bias"
    return None


@solver("dual", refuses=_refuses, max_iter=MAX_ITER)
def dual(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Update one θᵢ at a time, in random order, with shrinking; w = Xᵀθ/l2 throughout.

    An epoch costs at most two products with X: only rows still in play are visited. A strong
    penalty needs few epochs. With a weak penalty and few features the augmented Lagrangian is
    faster.

    References
    ----------
    Hsieh, Chang, Lin, Keerthi and Sundararajan (2008), A dual coordinate descent method for
    large-scale linear SVM. Ho and Lin (2012), Large-scale linear support vector regression.
    """
    descent = Descent(problem, start)
    while not descent.is_done:
        advance(problem.design, [descent])
        yield from descent.points()


class Descent:
    """The state of the descent on one problem, between rounds of epochs in the core."""

    def __init__(self, problem: Problem, start: Parameters, squares: Array | None = None):
        design, s = problem.design, problem.weights
        box = problem.loss.dual_box(problem.y)
        lower, upper = problem.box()
        quadratic = np.divide(box.quadratic, s, out=np.zeros(problem.n), where=s > 0)
        terms = (-box.linear, quadratic, lower, upper)
        self.box = tuple(np.ascontiguousarray(v, dtype=float) for v in terms)
        self.absolute = float(box.absolute)
        self.inverse = 1 / strengths(problem)
        given = np.zeros(problem.n) if start.theta is None else start.theta
        self.theta = np.clip(given, lower, upper).astype(float)
        self.w = np.zeros(problem.d)
        if np.any(self.theta):
            self.w = self.inverse * design.transposed_times(self.theta)
        # With a free bias the centre of X only shifts the bias, so the rows are used as they are.
        self.center = np.zeros(problem.d) if design.center is None else design.center
        self.b = float(start.b) - inner(self.center, self.w)
        self.sigma = 0.0
        if problem.fit_bias:
            squares = design.column_square_sums() if squares is None else squares
            mean = (inner(squares, self.inverse) + float(quadratic.sum())) / max(problem.n, 1)
            self.sigma = _bias_curvature(mean, problem.n)
        self.threshold = math.inf
        self.target, self.smallest = FIRST_GAP * float(problem.scale), EPS * float(problem.scale)
        self.gap, self.epochs, self.rounds = math.inf, FIRST_EPOCHS, 0
        self.visits = MOST_EPOCHS * problem.n  # of rows in one round
        self.is_done, self.problem = False, problem

    @property
    def task(self) -> tuple:
        """The core's task for the next round."""
        moving = (self.theta, self.w, self.b, self.sigma, self.threshold)
        limits = (self.target, self.epochs, self.rounds, self.visits)
        return (self.inverse, self.box, self.absolute, *moving, *limits)

    def take(self, result: tuple) -> None:
        """Take over the core's result and plan the next round."""
        self.gap, _, self.b, self.sigma, self.threshold = result
        self.rounds += 1
        if self.gap > self.target:
            self.epochs = min(2 * self.epochs, MOST_EPOCHS)
        elif self.target <= self.smallest:
            self.is_done = True
        else:
            self.target = max(0.1 * self.target, self.smallest)

    @property
    def bias(self) -> Array:
        """The bias for the centred X."""
        return np.array(self.b + inner(self.center, self.w))

    def points(self, z: Array | None = None) -> Iterator[Point]:
        """The iterate, and the polished one if progress is slow."""
        yield Point(self.w, self.bias, z=z, theta=self.theta, estimate=self.gap)
        if self.rounds >= SLOW and self.gap > self.target:
            refined = polish(self.problem, Parameters(self.w, self.bias, self.theta))
            if refined is not None:
                yield Point(refined.w, refined.b, theta=refined.theta)


def advance(design: Design, descents: Sequence[Descent]) -> None:
    """Run one round of epochs for each descent, on all threads."""
    tasks = [descent.task for descent in descents]
    results = core.box_descent(design.rows_view(), design.d, tasks, thread_count(), deadline())
    for descent, result in zip(descents, results):
        descent.take(result)


def descend_briefly(problem: Problem, most: int | None = None) -> tuple[Parameters, int]:
    """Epochs that cost next to nothing, as a start for other solvers; and their number of rounds.

    Runs at most `most` rounds. On few rows that are (nearly) separable, Newton's method takes
    dozens of steps and the augmented Lagrangian as many factors, but the descent only a few hundred
    cheap epochs.
    """
    descent, spent = Descent(problem, problem.null), 0.0
    most = MAX_ITER if most is None else most
    while not descent.is_done and spent < FEW_PRODUCTS and descent.rounds < most:
        spent += descent.epochs * problem.n * problem.d
        try:
            advance(problem.design, [descent])
        except TimeLimit:  # the solver that starts here will report it
            break
        if descent.gap <= SMALL_GAP * problem.scale:
            break
    return Parameters(descent.w, descent.bias, descent.theta), descent.rounds


def is_quick(problem: Problem) -> bool:
    """Whether few epochs are enough because the penalty is strong against the data.

    True if θᵢ, going from one end of its box to the other, moves its own zᵢ by no more than the
    distance from z to the kinks in the model without features: then most θᵢ soon reach an end and
    stay there.
    """
    if _refuses(problem) is not None or not problem.loss.is_piecewise_linear:
        return False
    lower, upper = problem.box()
    width = float(np.sum(upper - lower))
    is_counted = (problem.weights > 0).astype(float) if problem.has_zero_weights else None
    rows = problem.n if is_counted is None else is_counted.sum()
    squares = inner(problem.design.column_square_sums(is_counted), 1 / strengths(problem))
    return squares * (width / rows) ** 2 <= problem.scale


def begun_by_descent(method: Method, tol: float) -> Method:
    """Run the method from the end of one round of epochs, which may be all it takes."""

    def both(problem: Problem, start: Parameters) -> Iterator[Point]:
        check()  # the descent may end before it checks the clock
        descent = Descent(problem, start)
        descent.target = max(PART * tol * problem.scale, descent.smallest)
        descent.epochs, descent.visits = FEW_EPOCHS, FEW_VISITS * problem.n
        advance(problem.design, [descent])
        at = Parameters(descent.w, descent.bias, descent.theta)
        yield Point(at.w, at.b, theta=at.theta)
        yield from method(problem, at)

    return both


def _bias_curvature(mean: float, rows: int) -> float:
    """σ of the augmented Lagrangian for Σθ = 0, given the mean curvature in a θᵢ.

    With thousands of rows a tenth is enough and does not couple them; with few rows the bias needs
    more to settle, and epochs cost nothing.
    """
    return float(max(0.1, 10 / math.sqrt(rows)) * mean) if mean > 0 else 1.0


# ---- several problems on one design --------------------------------------------------------------


def descend_together(
    problems: Sequence[Problem],
    starts: Sequence[Parameters | None],
    *,
    tol: float,
    max_iter: int | None = None,
    callback: Callback | None = None,
) -> list[Solution]:
    """Solve problems that share a design, such as one against the rest, a thread for each.

    The solutions equal those of `dual` on one problem after the other, to the last bit.
    """
    solutions: list[Solution] = []
    for first in range(0, len(problems), TOGETHER):
        some = slice(first, first + TOGETHER)
        solutions += _descend_some(problems[some], starts[some], tol, max_iter, callback)
        if solutions[-1].status in ("interrupted", "time_limit", "callback"):
            break
    return solutions


def _descend_some(problems, starts, tol: float, max_iter: int | None, callback) -> list[Solution]:
    limit = MAX_ITER if max_iter is None else max_iter
    monitors = [Monitor(problem, tol) for problem in problems]
    left, status = list(range(len(problems))), ["stalled"] * len(problems)
    design = problems[0].design
    try:
        begin = [p.null if start is None else start for p, start in zip(problems, starts)]
        squares = design.column_square_sums()
        descents = [Descent(problem, start, squares) for problem, start in zip(problems, begin)]
        while left:
            advance(design, [descents[k] for k in left])
            scores = design.times(np.stack([descents[k].w for k in left], axis=1))
            for column, k in enumerate(list(left)):
                status[k] = _watch(monitors[k], descents[k], scores[:, column], limit)
                if status[k] != "going on":
                    left.remove(k)
            first = monitors[left[0]] if left else None
            if first and callback is not None and callback(first.trace, first.target):
                return _solutions(monitors, status, left, "callback")
            if left and time.monotonic() >= deadline():
                raise TimeLimit
    except TimeLimit:
        return _solutions(monitors, status, left, "time_limit")
    except KeyboardInterrupt:
        return _solutions(monitors, status, left, "interrupted")
    return _solutions(monitors, status, left, "stalled")


def _watch(monitor: Monitor, descent: Descent, scores: Array, limit: int) -> str:
    """Show the monitor the current point; return the status."""
    for point in descent.points(scores + descent.bias):
        monitor.trace.steps += 1
        if monitor.observe(point):
            return "optimal"
        if monitor.trace.steps >= limit:
            return "max_iter"
    return "stalled" if descent.is_done else "going on"


def _solutions(monitors, status: list[str], left: list[int], ending: str) -> list[Solution]:
    reached = [ending if k in left else status[k] for k in range(len(status))]
    return [monitor.solution(s, "dual") for monitor, s in zip(monitors, reached)]
