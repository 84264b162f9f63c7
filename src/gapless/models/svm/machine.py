"""The problems of one fit on one kernel matrix: solve them, and certify the result.

The solver stops by the violation of the optimality conditions, as LIBSVM does. What is promised is
a gap: if that is still above its tolerance, the solver continues with a smaller one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...certificates import CURE, Certificate, Conditions, Violation, judged
from ...kernels import mercer_check
from ...problem import KernelMatrix
from ...solvers import BoxProblem, BoxSolution, Trace, solve_box
from .factored import solve_factored
from .free_set import FEW_VARIABLES, in_turns, polished
from .multiclass import Part
from .objectives import Judgement, Objective, Point

Array = np.ndarray
EPS = np.finfo(float).eps
# Up to this many problems are polished; with more, the small systems take too long.
MOST_PROBLEMS = 10
# How often the solver runs at most, each time with a smaller tolerance.
ROUNDS = 8
# A violation below this part of the largest kᵢᵢ is rounding.
RESOLVED = 1e-12
# Up to this many rows, the eigenvalues of a kernel that may be indefinite are computed.
CHECKED_ROWS = 1000
# A lower bound holds for biases up to FAR times the size of this one, since Σθ = 0 except for
# rounding; a Σθ beyond the share BALANCED of Σ|θ| is not rounding, and such a θ proves nothing.
FAR, BALANCED = 1e3, 1e-9
# Kernel values beyond this are divided by their largest one: pairs of variables are in float32.
FLOAT32 = 1e30
# The bias is in the middle of what KKT allows: a row misses its own condition by up to this.
ROOM = 1.0 + 1e-6


@dataclass(frozen=True, eq=False)
class Solved:
    """One problem's solution, its value, why the solver stopped, and how it got there."""

    point: Point
    judgement: Judgement
    steps: int
    status: str
    trace: Trace = field(default_factory=Trace)


@dataclass(frozen=True, eq=False)
class Machine:
    """Problems on one kernel matrix.

    Parameters
    ----------
    matrix : KernelMatrix
        Kernel values of the distinct rows, sorted by class.
    objective : Objective
        What is minimised.
    parts : list of Part
        The problems.
    weights : ndarray of shape (matrix.n,)
        Weights of the rows.
    blocks : sequence of slice
        The rows of each class: two rows of a block are in the same problems.
    """

    matrix: KernelMatrix
    objective: Objective
    parts: list[Part]
    weights: Array
    blocks: Sequence[slice]

    @cached_property
    def fault(self) -> str:
        """Why K is not positive semi-definite, or not known to be; nothing if it is.

        The eigenvalues of few rows are computed.
        """
        if self.matrix.is_mercer:
            return ""
        if self.matrix.n > CHECKED_ROWS:
            return "the kernel is not known to be positive semi-definite"
        check = mercer_check(self.matrix.block(np.arange(self.matrix.n)))
        return "" if check.holds else str(check).rstrip(".")

    @cached_property
    def norm(self) -> float:
        """The largest k(x, x)."""
        return float(np.max(np.abs(self.matrix.diagonal), initial=0.0))

    @cached_property
    def unit(self) -> float:
        """The size of scores, in the problem where they are smallest."""
        units = [self.objective.unit(p.y, self.weights[p.rows], self.norm) for p in self.parts]
        return min((unit for unit in units if unit > 0), default=1.0)

    @property
    def score_unit(self) -> float:
        """The same for a model's stored scores, whose margin is 1 if they are divided by it."""
        return 1.0 if self.objective.divides else self.unit

    def solve(
        self, tol: float, max_iter: int | None = None, callback: Callable | None = None
    ) -> list[Solved]:
        """Solve all problems to the tolerance, or as far as the limits allow."""
        boxes = [self._box(part) for part in self.parts]
        solved: dict[int, Solved] = {}
        traces, began = [self._begun(part) for part in self.parts], time.monotonic()
        todo, sharper, left = list(range(len(boxes))), tol * min(1.0, self.unit), max_iter
        for _ in range(ROUNDS):
            solutions = self._descend([boxes[k] for k in todo], sharper, left, callback)
            excesses = {}
            for k, solution in zip(todo, solutions):
                before = solved[k].steps if k in solved else 0
                solved[k] = self._look(self.parts[k], boxes[k], solution, before)
                if len(boxes) <= MOST_PROBLEMS:
                    solved[k] = self._polished(self.parts[k], boxes[k], solution, solved[k])
                [solved[k]] = traced([solved[k]], traces[k], began)
                excess = _excess(solved[k].judgement, tol)
                if excess > 1 and solution.status == "optimal":
                    excesses[k] = excess
                    boxes[k] = replace(boxes[k], start=solution.theta)
            if not excesses or sharper < RESOLVED * min(self.norm, self.unit):
                break
            if max_iter is not None:
                left = max(max_iter - max(solved[k].steps for k in excesses), 0)
            todo, sharper = list(excesses), sharper * _factor(max(excesses.values()))
        return [solved[k] for k in range(len(boxes))]

    def _begun(self, part: Part) -> Trace:
        """The trace of a problem, with its value at θ = 0 if that is a start."""
        trace, n = Trace(), len(part.rows)
        if self.objective.linear_loss is not None:
            point = Point(np.zeros(n), 0.0)
            worth = self.judge_one(part, point, np.zeros(n))
            traced([Solved(point, worth, 0, "optimal")], trace, time.monotonic())
        return trace

    def _polished(
        self, part: Part, box: BoxProblem, solution: BoxSolution, rough: Solved
    ) -> Solved:
        """The solution after a last step in all free variables, if the gap is no larger."""
        is_open = rough.status == "optimal" and self.objective.is_polished
        is_small = len(box.linear) <= FEW_VARIABLES and self.matrix.dtype == np.float64
        if not (is_open and is_small) or self.fault:
            return rough
        sharp = polished(self.matrix.block, box, solution)
        if sharp is solution:
            return rough
        found = self._look(part, box, sharp, rough.steps - solution.steps)
        gaps = [one.judgement.primal - one.judgement.dual for one in (rough, found)]
        return found if gaps[1] <= gaps[0] else rough

    def flat(self, k: int) -> Point:
        """A solution w = 0 of problem k, with the bias of the class that has more weight."""
        part = self.parts[k]
        lead = float(self.weights[part.rows] @ part.y)
        return Point(np.zeros(len(part.y)), 1.0 if lead >= 0 else -1.0, 1.0)

    def judge(self, points: Sequence[Point], scores: Sequence[Array]) -> list[Judgement]:
        """The value of solutions, from the scores of each problem on its rows."""
        return [self.judge_one(*one) for one in zip(self.parts, points, scores)]

    def judge_one(self, part: Part, point: Point, scores: Array) -> Judgement:
        """The value of a solution of one problem, from its scores on the rows."""
        return self.objective.judge(part.y, self.weights[part.rows], point, scores, self.norm)

    def _descend(
        self, boxes: list[BoxProblem], tol: float, max_iter: int | None, callback: Callable | None
    ) -> list[BoxSolution]:
        """Solve problems; those of few variables with Newton steps if pairs take long."""
        matrix, unit = self.matrix_in_range
        boxes = [_rescaled(box, unit) for box in boxes]

        def solve(some: list[BoxProblem], most: int | None) -> list[BoxSolution]:
            return solve_box(matrix, some, tol=tol, max_iter=most, callback=callback)

        def otherwise(box: BoxProblem, rough: BoxSolution) -> BoxSolution:
            loss = self.objective.linear_loss
            if loss is None or not self.matrix.is_mercer or max_iter is not None:
                return rough
            return solve_factored(matrix, box, loss, rough, tol, self.unit)

        if max(len(box.linear) for box in boxes) <= FEW_VARIABLES:
            found = in_turns(solve, matrix.exact, boxes, max_iter, otherwise)
        else:
            found = solve(boxes, max_iter)
        found = [replace(f, theta=f.theta / unit) for f in found]
        if max_iter is not None:
            return found
        # There was no limit, so the problem takes too long.
        return [replace(f, status="stalled") if f.status == "max_iter" else f for f in found]

    @cached_property
    def matrix_in_range(self) -> tuple[KernelMatrix, float]:
        """The kernel matrix divided by a number, so that float32 holds its squares, and the number.

        With K/c and θ·c instead of K and θ, a problem and its slopes stay as they are.
        """
        if not FLOAT32 < self.norm < np.inf:
            return self.matrix, 1.0
        return self.matrix.with_kernel((1 / self.norm) * self.matrix.kernel), self.norm

    def _box(self, part: Part) -> BoxProblem:
        """The problem of a part, on the rows of the matrix."""
        box = self.objective.box(part.y, self.weights[part.rows])
        return replace(box, rows=part.rows if box.rows is None else part.rows[box.rows])

    def _look(self, part: Part, box: BoxProblem, solution: BoxSolution, before: int) -> Solved:
        """The value of a solution, by its scores Kθ + b, which are its gradient minus q."""
        s = self.weights[part.rows]
        point = self.objective.point(part.y, s, solution)
        z = (solution.gradient - box.linear)[: len(part.rows)] + point.b
        judgement = self.objective.judge(part.y, s, point, z, self.norm)
        return Solved(point, judgement, before + solution.steps, solution.status)


def traced(solved: list[Solved], trace: Trace, began: float) -> list[Solved]:
    """The solutions of one problem, or of all classes of one, with their value in its trace."""
    primal = float(sum(one.judgement.primal for one in solved))
    dual = float(sum(one.judgement.dual for one in solved))
    steps = max(one.steps for one in solved)
    gap = min([*trace.primal, primal]) - max(trace.lower_bound, dual)
    trace.record(primal, gap, time.monotonic() - began, steps)
    trace.steps = steps
    return [replace(one, trace=trace) for one in solved]


def _rescaled(box: BoxProblem, unit: float) -> BoxProblem:
    """The problem in θ times a number."""
    if unit == 1.0:
        return box
    start = None if box.start is None else box.start * unit
    return replace(box, lower=box.lower * unit, upper=box.upper * unit, start=start)


def certificate_of(
    judgements: Sequence[Judgement],
    parts: Sequence[Part],
    points: Sequence[Point],
    tol: float,
    fault: str = "",
    cure: str = CURE,
    unit: float = 1.0,
) -> Certificate:
    """One certificate for all problems: their values add up, and the worst conditions count.

    `fault` says why the kernel proves nothing, if so; `cure` what to do about a gap; `unit` is the
    size of scores, to which violations are compared if there is no gap.
    """
    if not all(np.isfinite(j.primal) for j in judgements):
        return _without_value(tol, "the model has no margin")
    proofs = [_is_proof(j, q) for j, q in zip(judgements, points)]
    # θ = 0 is what is left where θ is not a dual point; its value is 0 if it is one itself.
    dual = sum(j.dual if holds else _without(j) for j, holds in zip(judgements, proofs))
    kkt = Conditions()
    for j, part in zip(judgements, parts):
        kkt = kkt.worst_of(
            Conditions(
                feasibility=Violation(j.imbalance) if j.imbalance > 0 else Violation(),
                complementarity=Violation.largest(j.gaps, part.rows),
            )
        )
    if fault:
        return _stationary(judgements, kkt, tol, unit, fault)
    if not np.isfinite(dual):
        return _without_value(tol, "the multipliers do not have the required sums")
    return judged(
        sum(j.primal for j in judgements),
        dual,
        scale=sum(j.scale for j in judgements),
        tol=tol,
        rounding=sum(_rounding(j, q) for j, q in zip(judgements, points)),
        kkt=kkt,
        method="stored" if all(proofs) else "zero",
        cure=cure,
    )


def _without_value(tol: float, why: str) -> Certificate:
    """The certificate of a model about which nothing can be proved."""
    return Certificate(
        kind="stopped",
        verdict=f"stopped: the gap is not finite: {why}; fit again.",
        primal=np.inf,
        dual=-np.inf,
        gap=np.inf,
        relative_gap=np.inf,
        tolerance=tol,
        scale=np.inf,
    )


def _stationary(
    judgements: Sequence[Judgement], kkt: Conditions, tol: float, unit: float, fault: str
) -> Certificate:
    """The certificate for an indefinite kernel, where the problem is not convex."""
    worst = max(float(np.max(j.violations, initial=0.0)) for j in judgements)
    kind = "stationary" if worst <= ROOM * tol * unit else "stopped"
    said = (
        "no pair of multipliers improves the objective" if kind == "stationary" else "not finished"
    )
    scale = sum(j.scale for j in judgements)
    return Certificate(
        kind=kind,
        verdict=f"{kind}: {said} at first order (largest violation {worst:.2g}, tolerance "
        f"{tol * unit:.2g}); no bound is known, since {fault[0].lower()}{fault[1:]}.",
        primal=sum(j.primal for j in judgements),
        dual=-np.inf,
        gap=np.inf,
        relative_gap=np.inf,
        tolerance=tol * scale,
        scale=scale,
        kkt=kkt,
    )


def _is_proof(judgement: Judgement, point: Point) -> bool:
    """Whether θ is a dual point except for rounding."""
    size = float(np.abs(point.theta).sum())
    return judgement.outside <= BALANCED and judgement.imbalance <= BALANCED * size


def _without(judgement: Judgement) -> float:
    """The dual value of θ = 0: 0, or nothing if sums of θ must not vanish."""
    return 0.0 if judgement.has_origin else -np.inf


def _rounding(judgement: Judgement, point: Point) -> float:
    """How much rounding may change P − D, and what the bias may gain if Σθ is not quite 0."""
    terms = abs(judgement.primal) + abs(judgement.dual) + float(np.abs(judgement.gaps).sum())
    reach = FAR * (abs(point.b) + 1.0)
    return 16 * EPS * terms + min(judgement.imbalance * reach, EPS * len(point.theta) * terms * FAR)


def _excess(judgement: Judgement, tol: float) -> float:
    """The gap, in units of what is allowed; 0 if nothing better can be expected."""
    if not np.isfinite(judgement.primal):
        return 0.0 if judgement.is_void else np.inf
    gap, allowed = judgement.primal - judgement.dual, tol * judgement.scale
    return gap / allowed if allowed > 0 else 0.0


def _factor(excess: float) -> float:
    """How much smaller the next tolerance of the solver is."""
    return min(max(0.5 / excess, 0.1), 0.5)
