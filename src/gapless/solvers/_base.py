"""What all solvers share: how they hand over iterates, when they stop, what is kept.

A solver is a generator function: it yields a `Point` wherever it may stop, and contains nothing but
its mathematics. `run` drives it: it computes the duality gap, keeps the best primal and dual points
and the trace, and handles the time limit and Ctrl-C.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from .._ground.interrupt import TimeLimit, deadline
from .._ground.threads import single_blas
from ..problem import Bound, Parameters, Problem
from .trace import Trace

Array = np.ndarray
EPS = float(np.finfo(float).eps)
# Coefficients have settled when a step changes them by at most the part 1e-10, or if the tolerance
# is looser than the usual 1e-6, by DIGITS·tol².
SETTLED, DIGITS = 1e-10, 100.0


@dataclass(frozen=True, eq=False)
class Point:
    """An iterate. Fields the solver already has (z = Xw + b, a dual point θ, P, Xᵀθ) save work.

    `estimate` is the solver's own estimate of P − P*: while it is far above the tolerance, the gap
    is not computed. `solver` is the name of the solver that made the point, if another one chose
    it. `within` is more than 0 inside an iteration: the part of an epoch that is done. `unsettled`
    is the part of the coefficients by which the next step would change them: while that is more
    than the tolerance allows, the gap is not computed either. `distance` is that of a gradient to
    the subdifferential of a penalty without convexity, if it shows how near the end is; `dual` is a
    lower bound of P from the solver itself.
    """

    w: Array
    b: Array
    z: Array | None = None
    theta: Array | None = None
    estimate: float | None = None
    primal: float | None = None
    product: Array | None = None
    solver: str | None = None
    within: float = 0.0
    distance: float | None = None
    dual: float = -math.inf
    unsettled: float | None = None


class Diverged(ArithmeticError):
    """Raised by a solver whose iterates move away from every solution; the message is the cure."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The best parameters found, the trace, and why the solver stopped.

    status: "optimal" (gap ≤ tol·P₀), "stalled" (the solver could not improve), "diverged" (it got
    worse, and `cure` says why), "max_iter", "time_limit", "callback" (it requested a stop),
    "interrupted" (Ctrl-C); "stationary" is the end of a solver if the penalty is not convex.
    `is_settled` if its last steps have shown that the coefficients have their digits.
    """

    parameters: Parameters
    trace: Trace
    status: str
    primal: float
    dual: float
    solver: str = ""
    cure: str = ""
    is_settled: bool = False

    @property
    def gap(self) -> float:
        return self.primal - self.dual


Method = Callable[[Problem, Parameters], Iterator[Point]]
# Called after each step with the trace and the gap to reach; returns True to stop the solver.
Callback = Callable[[Trace, float], bool]


class Solver(ABC):
    """A solver as a value: its name, its options, and its generator."""

    name: str
    max_iter: int
    # Whether the trace keeps the parameters of each step, for pictures.
    keep_iterates: bool = False
    # Whether it is meant to reach the gap, and may end with the polish, which gives the last
    # digits; a textbook algorithm returns what it found itself.
    is_exact: bool = True

    @abstractmethod
    def method(self, problem: Problem, start: Parameters) -> Iterator[Point]:
        """The iterates, beginning with the start."""

    def limit(self, max_iter: int | None) -> int:
        """The largest number of steps where the caller allows `max_iter`; None leaves it open."""
        return self.max_iter if max_iter is None else max_iter

    @abstractmethod
    def refuses(self, problem: Problem) -> str | None:
        """Why it cannot take the problem; None if it can."""


@dataclass(frozen=True)
class Registered(Solver):
    """A solver that is a function, without options."""

    name: str
    generator: Method
    reason: Callable[[Problem], str | None]
    max_iter: int

    def method(self, problem: Problem, start: Parameters) -> Iterator[Point]:
        """The iterates."""
        return self.generator(problem, start)

    def refuses(self, problem: Problem) -> str | None:
        """Why it cannot take the problem; None if it can."""
        return self.reason(problem)


@dataclass(frozen=True)
class Named(Solver):
    """The solver of that name, with its iterates kept.

    Parameters
    ----------
    name : str
        A name that `solver=` accepts, such as "newton".
    keep_iterates : bool, default=True
        Whether `trace_.iterates` has the coefficients of every step.
    """

    name: str
    keep_iterates: bool = True

    def __post_init__(self):
        registered(self.name)

    @property
    def max_iter(self) -> int:
        """The largest number of steps, if none is given."""
        return registry[self.name].max_iter

    def limit(self, max_iter: int | None) -> int:
        """The largest number of steps where the caller allows `max_iter`; None leaves it open."""
        return registry[self.name].limit(max_iter)

    @property
    def is_exact(self) -> bool:
        """Whether it is meant to reach the gap."""
        return registry[self.name].is_exact

    def method(self, problem: Problem, start: Parameters) -> Iterator[Point]:
        """The iterates."""
        return registry[self.name].method(problem, start)

    def refuses(self, problem: Problem) -> str | None:
        """Why it cannot take the problem; None if it can."""
        return registry[self.name].refuses(problem)


registry: dict[str, Solver] = {}


def solver(name: str, *, refuses: Callable[[Problem], str | None], max_iter: int = 1000):
    """Register a generator function as the solver `name`."""

    def register(method: Method) -> Method:
        registry[name] = Registered(name, method, refuses, max_iter)
        return method

    return register


def registered(name: str) -> Solver:
    """The solver of that name."""
    if name not in registry:
        known = ", ".join(sorted(registry))
        raise ValueError(f'solver={name!r} is not known; use "auto" or one of {known}.')
    return registry[name]


def made_by(name: str, points: Iterator[Point]) -> Iterator[Point]:
    """Points that say which solver made them."""
    return (replace(point, solver=name) for point in points)


class Monitor:
    """Follows the iterates: the best primal and dual points, the gap between them, the trace."""

    def __init__(self, problem: Problem, tol: float, keep_iterates: bool = False):
        self.problem = problem
        self.tol, self.target = tol, tol * problem.scale
        self.settled = max(SETTLED, DIGITS * tol**2)
        self.keep_iterates, self.solver = keep_iterates, ""
        self.trace = Trace()
        self.began = time.monotonic()
        self.best: tuple[float, Array, Array] | None = None
        self.bound: Bound | None = None
        # Without convexity: the dual point of the best iterate, and a bound the solver has proved.
        self.theta: Array | None = None
        self.proved = -math.inf
        self.is_stationary = self.is_settled = False

    def observe(self, point: Point) -> bool:
        """Record an iterate; True when the gap, or the distance, has reached the target."""
        problem = self.problem
        z, primal = point.z, point.primal
        if primal is None:
            z = problem.predictions(point.w, point.b) if z is None else z
            primal = problem.primal(point.w, point.b, z)
        # Among iterates that rounding cannot tell apart, the latest is nearest to the solution.
        if self.best is None or primal <= self.best[0] + 4 * EPS * abs(self.best[0]):
            self.best = (primal, point.w.copy(), np.array(point.b))
            self.theta = point.theta
        self.proved = max(self.proved, point.dual)
        if not problem.penalty.is_convex and point.distance is not None:
            self.is_stationary = point.distance <= 0.1 * self.tol * problem.steepness
        gap = math.nan
        far = point.estimate is not None and point.estimate > 10 * self.target + self.rounding
        far |= point.unsettled is not None and point.unsettled > self.settled
        if not far:
            theta = point.theta
            if theta is None:
                z = problem.predictions(point.w, point.b) if z is None else z
                theta = -problem.derivative(z)
            self._improve_bound(theta, point.product)
            gap = self.gap
        seconds = time.monotonic() - self.began
        self.trace.record(primal, gap, seconds, self.trace.steps + point.within)
        if self.keep_iterates:
            self.trace.iterates.append((point.w.copy(), np.array(point.b)))
        self.solver = point.solver or self.solver
        self.is_settled = point.unsettled is not None and point.unsettled <= self.settled
        return gap <= self.target + self.rounding or self.is_stationary

    def _improve_bound(self, theta: Array, product: Array | None) -> None:
        bound = self.problem.bound(theta, product)
        if self.bound is None or bound.dual > self.bound.dual:
            self.bound = bound

    @property
    def gap(self) -> float:
        if self.best is None or self.bound is None:
            return math.inf
        return self.best[0] - max(self.bound.dual, self.proved)

    @property
    def rounding(self) -> float:
        """The part of the gap that may be rounding: no solver can get below it."""
        if self.best is None or not math.isfinite(self.best[0]):
            return 0.0
        return 8 * EPS * (abs(self.best[0]) + self.problem.scale)

    def solution(self, status: str, name: str) -> Solution:
        """The best point found; the model without features if there is none, or a worse one."""
        problem, null = self.problem, self.problem.null
        if self.best is None or (status == "stalled" and problem.penalty.is_convex):
            primal = problem.primal(null.w, null.b)
            if self.best is None or not self.best[0] <= primal:
                self.best = (primal, null.w, null.b)
        primal, w, b = self.best
        theta = self.bound.theta if self.bound is not None else None
        dual = self.bound.dual if self.bound is not None else -math.inf
        if not problem.penalty.is_convex:
            theta, dual = self.theta, self.proved
        name = self.solver or name
        found = Parameters(w, b, theta)
        return Solution(found, self.trace, status, primal, dual, name, is_settled=self.is_settled)


def run(
    chosen: Solver,
    problem: Problem,
    start: Parameters | None = None,
    *,
    tol: float = 1e-6,
    max_iter: int | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Drive a solver from `start` until the gap is at most tol·P₀ or it cannot continue."""
    monitor = Monitor(problem, tol, chosen.keep_iterates)
    status, cure = "stalled" if problem.penalty.is_convex else "stationary", ""
    limit = chosen.limit(max_iter)
    try:
        # Entered once: otherwise each product would switch all BLAS libraries to one thread and
        # back. An iterate that overflows is judged by its objective.
        with single_blas(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            begin = problem.null if start is None else start
            if _is_solution(monitor, start):
                return monitor.solution("optimal", chosen.name)
            for point in _iterates(chosen, problem, begin):
                is_new = monitor.trace.steps > 0 or not _is_start(point, begin)
                monitor.trace.steps += is_new and point.within == 0
                done = monitor.observe(point)
                # Also after the last step, so that a callback sees every step.
                asked = callback is not None and callback(monitor.trace, monitor.target)
                if done:
                    status = "stationary" if monitor.is_stationary else "optimal"
                    break
                if monitor.trace.steps >= limit:
                    status = "max_iter"
                    break
                if asked:
                    status = "callback"
                    break
                if time.monotonic() >= deadline():
                    raise TimeLimit
    except TimeLimit:
        status = "time_limit"
    except KeyboardInterrupt:
        status = "interrupted"
    except Diverged as reason:
        status, cure = "diverged", str(reason)
    return replace(monitor.solution(status, chosen.name), cure=cure)


def _is_solution(monitor: Monitor, start: Parameters | None) -> bool:
    """Whether a start with a dual point of this problem is already optimal, for any solver."""
    problem = monitor.problem
    shape = (problem.n,) if problem.outputs is None else (problem.n, problem.outputs)
    if start is None or np.shape(start.theta) != shape:
        return False
    if monitor.observe(Point(start.w, start.b, theta=start.theta)):
        return True
    monitor.trace = Trace()  # the solver begins with the same point
    return False


def _is_start(point: Point, begin: Parameters) -> bool:
    return np.array_equal(point.w, begin.w) and np.array_equal(point.b, begin.b)


def _iterates(chosen: Solver, problem: Problem, begin: Parameters) -> Iterator[Point]:
    """The solver's iterates; where there is nothing to solve, the known solution."""
    if problem.scale == 0:  # P₀ is as low as P can be, as for a constant target
        null = problem.null
        return iter([Point(null.w, null.b, theta=problem.origin.theta)])
    # With classes at kinks, the best biases do not determine the slopes.
    if problem.d or (problem.loss.is_piecewise_linear and problem.loss.has_class_box):
        return chosen.method(problem, begin)
    return _null_point(problem)


def _null_point(problem: Problem) -> Iterator[Point]:
    """The solution without features: the best bias, known from the null model.

    If it lies at a kink of some rows, their θ lie between the slopes on both sides, so that Σθ = 0.
    """
    w, b = problem.null.w, problem.null.b
    z = problem.predictions(w, b)
    reach = 1e-9 * (1 + np.abs(z))
    before, after = problem.derivative(z - reach), problem.derivative(z + reach)
    low, high = before.sum(axis=0), after.sum(axis=0)
    share = np.divide(-low, high - low, out=np.zeros_like(low), where=high > low)
    yield Point(w, b, z=z, theta=-(before + np.clip(share, 0.0, 1.0) * (after - before)))
