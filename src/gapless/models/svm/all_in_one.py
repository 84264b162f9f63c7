"""One hinge for all classes: its objective, its solution, and its score on unseen rows.

On a kernel matrix the core descends row by row (`class_descent`). With features Φ of the rows such
that ΦΦᵀ is that matrix, it is also a linear problem, which the solvers of `gapless.solvers` solve
if all digits are wanted, or if features replace the kernel. It is stored as one problem for each
class: the multipliers θₖ of a class give its score ⟨wₖ, φ(x)⟩ + bₖ, and a row's loss counts in the
problem of its own class. No formula leaves out a row, but refits from a nearby solution are fast:
in a search along C every fold starts where it was (`JointCandidates`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._ground.design import Design
from ..._ground.interrupt import TimeLimit
from ..._ground.memory import GIGABYTE
from ..._ground.threads import single_blas
from ...losses import CrammerSinger, DualBox, Loss, WestonWatkins
from ...penalties import L2
from ...problem import Parameters, Problem, minimise_biases, pivoted_cholesky
from ...solvers import Trace, solve
from ...unseen import FOLDS, NotAvailable, dealt
from .class_descent import ClassProblem, finished_descent
from .held_out import Fittings, MachineFit, finished
from .machine import Machine, Solved, traced
from .multiclass import Part
from .objectives import Judgement, Objective, Point, outside, status_of
from .on_features import ROUNDS, FeatureMatrix
from .tuning_scores import KEPT_BYTES, TOLERANCE, Candidates

Array = np.ndarray

HINGES: dict[str, Callable[[float], Loss]] = {
    "crammer_singer": CrammerSinger,
    "weston_watkins": WestonWatkins,
}
# The smallest violation to which single rows are solved; and how much smaller the next one is if
# the gap is still too large.
ROUGH = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-9}
SHARPER = 0.1


@dataclass(frozen=True)
class ClassHinge(Objective):
    """½Σₖ‖wₖ‖² + C Σ sᵢ ℓ(yᵢ, zᵢ);   D = −C Σ sᵢ ℓ*(yᵢ, −θᵢ/Csᵢ) − ½Σₖ θₖᵀKθₖ, Σᵢθᵢₖ = 0."""

    C: float
    loss: Loss
    margin: float = 1.0

    def unit(self, y: Array, s: Array, norm: float) -> float:
        """The margin Δ."""
        return self.margin

    def problem(self, gram: Array, y: Array, s: Array, K: int) -> ClassProblem:
        """The problem of rows of K classes y and weights s, on their kernel values."""
        return ClassProblem(
            gram, y, self.C * s, self.loss, K, self.scale(y, s, K), margin=self.margin
        )

    def judge_all(self, y: Array, s: Array, points: Sequence[Point], z: Array) -> list[Judgement]:
        """Primal, dual and conditions, class by class; y are the classes, z (n, K) the scores."""
        theta, b = np.stack([p.theta for p in points], axis=1), np.array([p.b for p in points])
        n, K = theta.shape
        limit, rows = self.C * s, np.arange(n)
        box = self.loss.class_box(y, K)
        losses = limit * self.loss.value(y, z)
        gains = (box.linear * theta).sum(axis=1)
        gaps = losses - gains + (theta * z).sum(axis=1)
        violations = _exchange(-theta / limit[:, None], z - box.linear, box)
        squares = np.einsum("nk,nk->k", theta, z - b)
        scale = self.scale(y, s, K)
        # θ is positive for the own class and negative for its rivals, both up to an end.
        ends, signed = limit[:, None] * (box.upper - box.lower), -theta
        signed[rows, y] *= -1
        uneven = float(np.max(np.abs(theta.sum(axis=1)) / limit))
        return [
            Judgement(
                primal=0.5 * float(squares[k]) + float(losses[y == k].sum()),
                dual=float(gains[y == k].sum()) - 0.5 * float(squares[k]),
                scale=scale / K,
                gaps=np.where(y == k, gaps, 0.0),
                violations=np.where(y == k, violations, 0.0),
                status=status_of(np.abs(theta[:, k]), ends[:, k]),
                outside=max(outside(signed[:, k], ends[:, k]), uneven),
                imbalance=abs(float(theta[:, k].sum())),
                square=float(squares[k]),
            )
            for k in range(K)
        ]

    def scale(self, y: Array, s: Array, K: int) -> float:
        """The objective at w = 0 with the best biases."""
        classes, totals = np.arange(K), np.bincount(y, s, minlength=K)
        b = minimise_biases(self.loss, classes, np.zeros((K, K)), totals)
        return self.C * float(totals @ self.loss.value(classes, np.tile(b, (K, 1))))


def _exchange(u: Array, pull: Array, box: DualBox) -> Array:
    """By how much the scores of each row violate what its slopes u require.

    A slope may grow at the cost of another: at the optimum none that can grow has a larger pull
    than one that can shrink.
    """
    room = 1e-9 * (box.upper - box.lower)
    most = np.max(np.where(u < box.upper - room, pull, -np.inf), axis=1)
    least = np.min(np.where(u > box.lower + room, pull, np.inf), axis=1)
    return np.maximum(np.where(np.isfinite(most - least), most - least, 0.0), 0.0)


@dataclass(frozen=True, eq=False)
class JointMachine(Machine):
    """One problem for all classes, in parts with all rows, one for each class."""

    objective: ClassHinge

    @cached_property
    def classes(self) -> Array:
        """The class of each row."""
        return np.argmax([part.y for part in self.parts], axis=0)

    @cached_property
    def features(self) -> Array:
        """Φ (n, r) with ΦΦᵀ = K, float64, or the features that replace the kernel."""
        if isinstance(self.matrix, FeatureMatrix):
            return self.matrix.X
        needed, limit = 16.0 * self.matrix.n**2, self.matrix.memory_limit
        if needed > limit:
            raise MemoryError(
                f"the kernel matrix of {self.matrix.n:,} rows and its factor take "
                f"{needed / GIGABYTE:.2g} GB, and the limit is {limit / GIGABYTE:.2g} GB; use "
                'multi_class="ovo", fewer rows, or approximation="nystroem".'
            )
        K = self.matrix.kernel.rows(self.matrix.X, np.float64).gram()
        return pivoted_cholesky(K, self.norm)[0]

    def problem(self, rows: Array, weights: Array) -> Problem:
        """The problem on some rows, with the objective divided by C."""
        objective = self.objective
        design, y = Design(self.features[rows]), self.classes[rows]
        return Problem(
            design, y, objective.loss, L2(1 / objective.C), weights[rows], True, len(self.parts)
        )

    def solve(
        self, tol: float, max_iter: int | None = None, callback: Callable | None = None
    ) -> list[Solved]:
        """Solve the problem to the tolerance, or as far as the limits allow."""
        points = [Point(np.zeros(self.matrix.n), 0.0) for _ in self.parts]
        trace, began = Trace(), time.monotonic()
        solved = traced(self._solved(points, 0, "time_limit"), trace, began)
        with suppress(TimeLimit):
            if self.is_whole:
                solved = traced(self._descend_to(tol, max_iter, callback), trace, began)
            if not self.is_whole or _goes_on(solved, tol):
                solved = traced(self._sharpened(solved, tol, max_iter, callback), trace, began)
        return solved

    @property
    def is_whole(self) -> bool:
        """Whether there is a kernel matrix to descend on; otherwise features are used."""
        return self.matrix.is_mercer and self.matrix.whole() is not None

    def class_problem(self, rows: Array, weights: Array) -> ClassProblem:
        """The problem on some rows of the kernel matrix."""
        gram, objective, K = self.matrix.whole(), self.objective, len(self.parts)
        assert gram is not None
        y, s = self.classes[rows], weights[rows]
        some = gram if len(rows) == self.matrix.n else gram[np.ix_(rows, rows)]
        return objective.problem(some, y, s, K)

    def _descend_to(
        self, tol: float, max_iter: int | None, callback: Callable | None
    ) -> list[Solved]:
        """Row by row on the kernel matrix, again with a smaller tolerance while the gap is large.

        A small gap takes long this way, and is left to Newton's method.
        """
        problem = self.class_problem(np.arange(self.matrix.n), self.weights)
        least = ROUGH[problem.gram.dtype]
        start, steps, sharper = None, 0, max(tol, least)
        while True:
            left = None if max_iter is None else max(max_iter - steps, 0)
            found = problem.descend(sharper, start, left, callback)
            start, steps = (found.theta, found.b), steps + found.steps
            solved = self._solved(self.points_of(*start), steps, found.status)
            if not _goes_on(solved, tol) or found.status == "stalled" or sharper == least:
                return solved
            sharper = max(SHARPER * sharper, least)

    def _sharpened(
        self, solved: list[Solved], tol: float, max_iter: int | None, callback: Callable | None
    ) -> list[Solved]:
        """The same as a linear problem on features, from the current solution."""
        problem = self.problem(np.arange(self.matrix.n), self.weights)
        theta = np.stack([one.point.theta for one in solved], axis=1)
        start = None
        if theta.any():
            b = np.array([one.point.b for one in solved])
            w = problem.design.transposed_times(theta)
            start = Parameters(w, b, theta / self.objective.C)
        steps, sharper = solved[0].steps, tol
        for _ in range(ROUNDS):
            try:
                found = solve(
                    problem, "auto", start, tol=sharper, max_iter=max_iter, callback=callback
                )
            except TimeLimit:
                return [replace(one, status="time_limit") for one in solved]
            start, steps = found.parameters, steps + found.trace.steps
            solved = _better(solved, self._solved(self.points(start), steps, found.status))
            if found.status != "optimal" or not _goes_on(solved, tol):
                break
            # The solver's own w is better than w = Φᵀθ, which the model stores.
            sharper = SHARPER * min(sharper, (found.primal - found.dual) / problem.scale)
            if not sharper > 0:
                break
        return solved

    def _solved(self, points: list[Point], steps: int, status: str) -> list[Solved]:
        """The value of points, by the values of the kernel itself."""
        z = self.matrix.times(np.stack([p.theta for p in points], axis=1))
        z += np.array([p.b for p in points])
        judgements = self.judge(points, list(z.T))
        return [Solved(p, j, steps, status) for p, j in zip(points, judgements)]

    def points(self, parameters: Parameters) -> list[Point]:
        """The solution class by class; θ is C times that of the problem."""
        b, theta = parameters.b, parameters.theta
        return self.points_of(
            np.zeros((self.matrix.n, len(b))) if theta is None else self.objective.C * theta, b
        )

    def points_of(self, theta: Array, b: Array) -> list[Point]:
        """The same for θ itself; only differences of the biases count."""
        b = b - b.mean()
        return [Point(np.ascontiguousarray(theta[:, k]), float(b[k])) for k in range(len(b))]

    def judge(self, points: Sequence[Point], scores: Sequence[Array]) -> list[Judgement]:
        """The value of the solution, from the scores of each class."""
        z = np.stack(scores, axis=1)
        return self.objective.judge_all(self.classes, self.weights, points, z)


def _goes_on(solved: list[Solved], tol: float) -> bool:
    """Whether the gap is too large, and nothing has ended the work."""
    allowed = tol * sum(one.judgement.scale for one in solved)
    return solved[0].status in ("optimal", "stalled") and not _gap(solved) <= allowed


def _gap(solved: list[Solved]) -> float:
    """P − D of all classes together."""
    return sum(one.judgement.primal - one.judgement.dual for one in solved)


def _better(before: list[Solved], after: list[Solved]) -> list[Solved]:
    """The solution with the smaller gap: a solver that ends early may have moved away."""
    if not _gap(after) > _gap(before):
        return after
    return [replace(b, steps=a.steps, status=a.status) for b, a in zip(before, after)]


class JointFit(MachineFit):
    """The fit of one problem for all classes: rows are left out by refits alone."""

    machine: JointMachine

    def held_out(self, groups: Array | None) -> Array:
        """No formula."""
        raise NotAvailable(f"the {self.machine.objective.loss.name} loss has no curvature")

    def fit_to(self, rows: Array) -> Fittings:
        """Machines of some rows of the data alone."""
        place, shares = self.rows.inverse[rows], self.rows.row_shares[rows]
        weights = np.bincount(place, shares, self.machine.matrix.n) * self.machine.weights
        kept = np.flatnonzero(weights > 0)
        parts = [Part(kept, part.y[kept]) for part in self.machine.parts]
        thetas = [point.theta[kept] for point in self.points]
        return Fittings(self, parts, self._solve(parts, weights, thetas))

    def _solve(self, parts: list[Part], weights: Array, thetas: list[Array]) -> list[Point]:
        machine, rows = self.machine, parts[0].rows
        if machine.is_whole:
            start = np.stack(thetas, axis=1), np.array([point.b for point in self.start])
            problem = machine.class_problem(rows, weights)
            tol = max(self.tol, ROUGH[problem.gram.dtype])
            found = finished_descent(problem.descend(tol, start))
            if found.status == "optimal":
                return machine.points_of(found.theta, found.b)
        solution = solve(machine.problem(rows, weights), tol=self.tol, polish=False)
        return machine.points(finished(solution))


class _Folds:
    """The state of the machines of all folds on one kernel matrix: θ (n, K) and b, or None."""

    def __init__(self, gram: Array, count: int):
        self.gram = gram
        self.starts: list[tuple[Array, Array] | None] = [None] * count
        self.C = 0.0


class JointCandidates(Candidates):
    """The candidates so far that have one problem for all classes."""

    machine: JointMachine

    def _prepare(self, machine: Any) -> None:
        self.machine = machine
        self.fold = dealt(self.of_x, FOLDS, strata=self.y)
        self.states: dict[float | None, _Folds] = {}

    def _judged(self, values):
        folds = self._on(values.get("gamma"))
        objective = replace(self.machine.objective, C=values["C"])
        grown, folds.C = objective.C / (folds.C or objective.C), objective.C
        z, statuses = np.empty((len(self.y), len(self.machine.parts))), []
        for k, start in enumerate(folds.starts):
            train, test = np.flatnonzero(self.fold != k), np.flatnonzero(self.fold == k)
            problem = self._problem(objective, folds.gram, train)
            # Multipliers at their bounds mostly stay there.
            near = None if start is None else (start[0] * grown, start[1])
            found = finished_descent(problem.descend(TOLERANCE, near))
            folds.starts[k] = found.theta, found.b
            with single_blas():
                block = folds.gram[np.ix_(test, train)]
                z[test] = block @ found.theta.astype(block.dtype) + found.b
            own = found.theta[np.arange(len(train)), problem.y]
            statuses.append(status_of(np.maximum(own, 0.0), problem.limit))
        lead = _lead(z, self.y)
        return *self._with_likelihood(lead > 0, lead), np.concatenate(statuses)

    def _problem(self, objective: ClassHinge, gram: Array, rows: Array) -> ClassProblem:
        """The problem of some rows."""
        y, s, K = self.y[rows], self.machine.weights[rows], len(self.machine.parts)
        own = gram[np.ix_(rows, rows)]
        return objective.problem(own, y, s, K)

    def _on(self, gamma: float | None) -> _Folds:
        """The machines on the kernel matrix of this γ."""
        if gamma not in self.states:
            gram = self._gram(gamma)
            if len(self.states) * gram.nbytes > KEPT_BYTES:
                self.states.clear()
            self.states[gamma] = _Folds(gram, int(self.fold.max()) + 1)
        return self.states[gamma]


def _lead(z: Array, y: Array) -> Array:
    """By how much the score of each row's class exceeds those of all others."""
    rivals = z.copy()
    rivals[np.arange(len(y)), y] = -np.inf
    return z[np.arange(len(y)), y] - rivals.max(axis=1)
