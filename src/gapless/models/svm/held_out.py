"""Predictions of support vector machines for unseen rows: by the span rule, by refits.

Leaving out a row that is not a support vector changes nothing. For the others `span_losses` has a
formula (`refits`), exact if support vectors stay what they are, inside their bounds or at them;
else machines are solved again without the row, from their solution. Rows of one x leave together.
Of several problems only those with one of these rows change. `MachineFit` passes both to `unseen`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._ground.design import Design
from ..._ground.interrupt import TimeLimit
from ..._ground.threads import single_blas
from ...problem import Parameters
from ...solvers import BoxProblem, BoxSolution, Solution, solve_box
from ...unseen import (
    LARGEST_SYSTEM,
    Dial,
    Estimate,
    NotAvailable,
    Refittable,
    Version,
    by_formula,
    counted_labels,
    kernel_dial,
)
from .leaving_out import BUDGET, Mates, descend, refit_without, span_losses, statuses_of, warm_start
from .machine import Machine
from .multiclass import Part
from .objectives import ON_MARGIN, Point
from .training_rows import TrainingRows

Array = np.ndarray

# All support vectors are left out by refits if that takes at most CHEAP operations, about a tenth
# of a second. A refit takes about STEPS_OF_REFIT steps, or one per ROWS_PER_STEP rows, each through
# all rows of its problem; where sums change with the rows it takes SLOWER times as long.
CHEAP, STEPS_OF_REFIT, ROWS_PER_STEP, SLOWER = 1e8, 100, 4, 100
# The span rule is not trusted where it leaves less of a score than this share of what it removes.
UNSURE = 0.5
# With more entries in the kernel matrices of all problems, a fit is repeated only a few times.
LARGE_WORK = 2e7


@dataclass(frozen=True, eq=False)
class Fittings:
    """Machines on some of the distinct rows: a function that predicts rows, (rows, P)."""

    fit: MachineFit
    parts: list[Part]
    points: list[Point]

    def __call__(self, design: Design) -> Array:
        """Scores of any rows."""
        matrix = self.fit.machine.matrix
        coef, b = self._coefficients(matrix.n)
        return matrix.scores(design.X, coef) + b

    def on_rows(self, at: Array) -> Array:
        """Scores of some of the distinct rows."""
        matrix = self.fit.machine.matrix
        coef, b = self._coefficients(matrix.n)
        if matrix.whole() is None:
            return matrix.times(coef, at) + b
        used = np.flatnonzero(coef.any(axis=1))
        values = self.fit.block(at, used)
        with single_blas():
            return (values @ coef[used].astype(values.dtype)).astype(float) + b

    def _coefficients(self, count: int) -> tuple[Array, Array]:
        """Coefficients of all distinct rows (m, P), and biases (P,)."""
        coef, b = np.zeros((count, len(self.parts))), np.empty(len(self.parts))
        for k, (part, point) in enumerate(zip(self.parts, self.points)):
            coef[part.rows, k], b[k] = self.fit.machine.objective.stored(point)
        return coef, b


class MachineFit(Refittable):
    """The machines of one estimator and their solution, as far as held-out scores need them.

    Parameters
    ----------
    machine : Machine
        The problems on the distinct rows, and their kernel matrix.
    points : list of Point
        Their solutions, or where another fit may begin.
    rows : TrainingRows
        The rows of the data that those represent.
    of_x : ndarray of int, shape (m,)
        Which distinct x each distinct row has.
    design : Design or None
        The rows of the data; None if they are not numbers.
    y, weights : ndarray of shape (n,)
        Targets, or classes, of all rows, and how much each counts in a score.
    tol : float
        The tolerance of the solver.
    has_classes : bool
        Whether the targets are classes.
    is_solved : bool
        Whether the points are the solution.

    Notes
    -----
    Parameters that were set from the data, such as gamma="scale" and balanced weights of classes,
    stay what they are when rows are left out.
    """

    def __init__(
        self,
        machine: Machine,
        points: list[Point],
        rows: TrainingRows,
        of_x: Array,
        design: Design | None,
        y: Array,
        weights: Array,
        *,
        tol: float,
        has_classes: bool,
        is_solved: bool = True,
    ):
        super().__init__(design, y, weights)  # type: ignore[arg-type]
        self.machine, self.start, self.rows, self.of_x = machine, points, rows, of_x
        self.tol, self.has_classes, self.is_solved = tol, has_classes, is_solved

    @cached_property
    def targets(self) -> Array:
        """The targets as numbers, classes by their order."""
        return np.unique(self.y, return_inverse=True)[1] if self.has_classes else self.y

    @property
    def labels(self) -> Array:
        """The distinct row of each row."""
        return self.rows.inverse

    @cached_property
    def units(self) -> Array:
        """The units to leave out: the rows of each x, in the order of the distinct rows."""
        return counted_labels(self.of_x[self.rows.inverse], self.is_counted)

    @cached_property
    def is_counted(self) -> Array:
        """Which rows have any weight."""
        return (self.weights > 0) & (self.rows.inverse >= 0)

    @property
    def outputs(self) -> int:
        """The number of scores per row."""
        return len(self.machine.parts)

    @cached_property
    def is_large(self) -> bool:
        """Whether another fit takes most of a second."""
        return sum(float(len(part.rows)) ** 2 for part in self.machine.parts) > LARGE_WORK

    @cached_property
    def points(self) -> list[Point]:
        """The solutions; computed on first access."""
        if self.is_solved:
            return self.start
        thetas = [point.theta for point in self.start]
        return self._solve(self.machine.parts, self.machine.weights, thetas)

    @cached_property
    def model(self) -> Fittings:
        """The fitted machines."""
        return Fittings(self, self.machine.parts, self.points)

    @cached_property
    def scores(self) -> Array:
        """Scores of the distinct rows by all machines, (m, P)."""
        return self.model.on_rows(np.arange(self.machine.matrix.n))

    @cached_property
    def predictions(self) -> Array:
        """Scores of all rows; a row without weight gets those of any other."""
        return self.scores[self.rows.inverse]

    # ---- held out --------------------------------------------------------------------------------

    def held_out(self, groups: Array | None) -> Array:
        """Scores of rows by machines refitted without them: (n, P)."""
        if groups is not None:
            raise NotAvailable("rows are left out in groups")
        cases = self._support
        if self.work_of(cases) > CHEAP:
            raise NotAvailable("there are too many support vectors to leave each out")
        z = self.scores.copy()
        if not self._leave_out(z, cases).all():
            raise NotAvailable("leaving out each support vector takes too long")
        return self._spread(z)[self.rows.inverse]

    def by_span(self) -> tuple[Array, Array]:
        """The same by the span rule, and which scores come from refits: (n, P) both.

        Rows for which the rule has no answer are refitted, and of those that it leaves near the
        border of two classes as many as are cheap, the nearest first.
        """
        if not self.machine.objective.has_span:
            raise NotAvailable("the span rule needs a margin of fixed width")
        parts, thetas = self.machine.parts, [point.theta for point in self.points]
        statuses = [statuses_of(theta, box) for theta, box in zip(thetas, self._boxes)]
        if max(np.count_nonzero(status == ON_MARGIN) for status in statuses) > LARGEST_SYSTEM:
            raise NotAvailable("too many support vectors are inside their bounds")
        losses = span_losses(self._gram, parts, thetas, statuses, self._mates)
        z, sureness = self.scores.copy(), []
        for column, (part, lost, status) in enumerate(zip(parts, losses, statuses)):
            has_answer = np.isfinite(lost) & np.any(status == ON_MARGIN)
            z[part.rows, column] -= np.where(has_answer, lost, 0.0)
            left = np.abs(z[part.rows, column]) if self.has_classes else np.inf
            with np.errstate(divide="ignore", invalid="ignore"):
                sure = np.where(has_answer, left / np.abs(lost), -1.0)
            sureness.append(sure[self._support[self._support[:, 0] == column, 1]])
        left_out, has_none = self._unsure(np.concatenate(sureness))
        is_done = self._leave_out(z, left_out)
        is_exact = np.zeros(z.shape, dtype=bool)
        is_exact[self._rows_of(left_out), left_out[:, 0]] = is_done
        if not is_done[has_none].all():
            raise NotAvailable("the span rule does not cover the rows that are slow to leave out")
        return self._spread(z)[self.rows.inverse], self._spread(is_exact)[self.rows.inverse]

    def _unsure(self, sureness: Array) -> tuple[Array, Array]:
        """The support vectors to refit without, and those for which the rule has no answer.

        Given how sure it is of each, −1 for no answer.
        """
        order = np.argsort(sureness, kind="stable")
        order = order[sureness[order] < UNSURE]
        done = np.cumsum([self.work_of(self._support[k : k + 1]) for k in order])
        has_none = sureness[order] < 0
        if np.any(done[has_none] > 10 * CHEAP):
            raise NotAvailable("no support vector is strictly between its bounds")
        is_chosen = has_none | (done <= CHEAP)
        return self._support[order[is_chosen]], has_none[is_chosen]

    def without_each(self, rows: Array) -> tuple[Array, Callable[[Design], Array]]:
        """No formula predicts new rows without each of many."""
        raise NotAvailable("leaving a row out takes refits")

    @cached_property
    def _support(self) -> Array:
        """All support vectors: the machine, and their position among its rows; one of each x.

        All rows if the sums of θ grow with their weight, as for ν.
        """
        thetas = np.concatenate([point.theta for point in self.points])
        found = self._mates.leaders(self.machine.objective.has_share | (thetas != 0))
        machine = self._machine_of[found]
        return np.stack([machine, found - self._begin[machine]], axis=1)

    @cached_property
    def _begin(self) -> Array:
        """The offsets of each machine's variables."""
        sizes = [len(part.rows) for part in self.machine.parts]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(int)

    @property
    def _machine_of(self) -> Array:
        """The machine of each variable."""
        return np.repeat(np.arange(len(self._begin) - 1), np.diff(self._begin))

    @cached_property
    def _mates(self) -> Mates:
        """Which variables leave together."""
        rows = np.concatenate([part.rows for part in self.machine.parts])
        return Mates(self._machine_of, rows, self.of_x)

    def _spread(self, values: Array) -> Array:
        """Values (m, P) of the first row of each x, spread to all its rows.

        A row outside a machine gets the machine's score without the others of the same x.
        """
        if self._mates.units is None:
            return values
        values = values.copy()
        for column, part in enumerate(self.machine.parts):
            leader = self._mates.leader[self._begin[column] : self._begin[column + 1]]
            place = np.full(int(self.of_x.max()) + 1, -1)
            place[self.of_x[part.rows]] = part.rows[leader - self._begin[column]]
            at = place[self.of_x]
            values[:, column] = np.where(at >= 0, values[at, column], values[:, column])
        return values

    def work_of(self, cases: Array) -> float:
        """The operations of refitting without these support vectors."""
        sizes = np.array([len(part.rows) for part in self.machine.parts], dtype=float)
        steps = np.maximum(STEPS_OF_REFIT, sizes / ROWS_PER_STEP)
        each = sizes * steps * (1 if self.machine.objective.has_span else SLOWER)
        return float(each[cases[:, 0]].sum())

    def _rows_of(self, cases: Array) -> Array:
        """The distinct row of each case."""
        parts = self.machine.parts
        return np.array([parts[k].rows[position] for k, position in cases], dtype=int)

    @cached_property
    def _gram(self) -> Array:
        gram = self.machine.matrix.whole()
        if gram is None:
            raise NotAvailable(f"{self.machine.matrix.n} rows are too many for one kernel matrix")
        return gram

    @cached_property
    def _boxes(self) -> list[BoxProblem]:
        """The problems at their solution; each has one sum, and one variable for each row."""
        machine = self.machine
        return [
            replace(
                machine.objective.box(part.y, machine.weights[part.rows]), rows=part.rows, start=at
            )
            for part, at in zip(machine.parts, (point.theta for point in self.points))
        ]

    def _leave_out(self, z: Array, cases: Array) -> Array:
        """Write scores of rows by a machine without them into z; return whether they are exact.

        A case that exceeds the budget leaves z unchanged.
        """
        rows, columns = self._rows_of(cases), cases[:, 0]
        if self.machine.objective.has_span:
            gradients = [
                self.scores[part.rows, k] - point.b + box.linear
                for k, (part, point, box) in enumerate(
                    zip(self.machine.parts, self.points, self._boxes)
                )
            ]
            scores, is_exact = refit_without(
                self._gram, self._boxes, gradients, cases, self._mates.units, self._tolerance
            )
            is_known = np.isfinite(scores) | is_exact
            z[rows[is_known], columns[is_known]] = scores[is_known]
            return is_exact
        is_exact, used = np.zeros(len(cases), dtype=bool), 0.0
        for k, ((column, position), row) in enumerate(zip(cases, rows)):
            if used > BUDGET:
                break
            part, theta = self.machine.parts[column], self.points[column].theta
            kept = self.of_x[part.rows] != self.of_x[part.rows[position]]
            rest = Part(part.rows[kept], part.y[kept])
            [point], found = self._solve_again([rest], self.machine.weights, [theta[kept]])
            used += float(sum(one.steps * len(one.theta) for one in found))
            z[row, column] = Fittings(self, [rest], [point]).on_rows(np.array([row]))[0, 0]
            is_exact[k] = all(one.status != "max_iter" for one in found)
        return is_exact

    # ---- other fits ------------------------------------------------------------------------------

    def fit_to(self, rows: Array) -> Fittings:
        """Machines of some rows of the data alone."""
        place, shares = self.rows.inverse[rows], self.rows.row_shares[rows]
        weights = np.bincount(place, shares, self.machine.matrix.n) * self.machine.weights
        parts, thetas = [], []
        is_same = weights == self.machine.weights
        points: list[Point | None] = []
        for part, point in zip(self.machine.parts, self.points):
            inside = weights[part.rows] > 0
            is_kept = is_same[part.rows] | (point.theta == 0)
            parts.append(Part(part.rows[inside], part.y[inside]))
            thetas.append(point.theta[inside])
            # A problem that has lost no support vector keeps its solution.
            points.append(replace(point, theta=thetas[-1]) if is_kept.all() else None)
        changed = [k for k, point in enumerate(points) if point is None]
        found = self._solve([parts[k] for k in changed], weights, [thetas[k] for k in changed])
        for k, point in zip(changed, found):
            points[k] = point
        return Fittings(self, parts, [point for point in points if point is not None])

    def predict(self, model: Any, rows: Array) -> Array:
        """The machines' scores for some rows of the data, (rows, P)."""
        return model.on_rows(self.rows.inverse[rows])

    # Scores of margins are not probabilities.
    has_probabilities = False

    def simpler(self) -> list[Dial]:
        """A smaller C, or a wider kernel."""
        return [self._of_C(0.1), kernel_dial(self._kernel, self._of_kernel, 0.1)]

    def richer(self) -> list[Dial]:
        """A larger C, or a narrower kernel."""
        return [self._of_C(10.0), kernel_dial(self._kernel, self._of_kernel, 10.0)]

    def _of_C(self, base: float) -> Dial:
        def turned(step: int) -> Version | None:
            other = self.scaled(base**-step)
            if other is None:
                return None
            return Version(other, f"C={other.machine.objective.C:g}")  # type: ignore[attr-defined]

        return turned

    @property
    def is_limited(self) -> bool:  # type: ignore[override]
        """Whether the kernel has a fixed shape."""
        return self._kernel.is_limited

    @property
    def plain_rows(self) -> Design | None:
        """The rows of the data, if they are numbers."""
        return self.design if self._kernel.name != "precomputed" else None

    @property
    def _kernel(self) -> Any:
        return self.machine.matrix.kernel

    def _of_kernel(self, kernel: Any) -> MachineFit:
        machine = replace(self.machine, matrix=self.machine.matrix.with_kernel(kernel))
        return self._with(machine, self.points, self.rows, self.of_x, slice(None))

    def scaled(self, factor: float) -> MachineFit | None:
        """The same with C divided by `factor`; None for machines without a C."""
        C = getattr(self.machine.objective, "C", None)
        if C is None:
            return None
        objective = replace(self.machine.objective, C=C / factor)  # type: ignore[type-var]
        machine = replace(self.machine, objective=objective)
        return self._with(machine, self.points, self.rows, self.of_x, slice(None))

    def sample(self, rows: Array) -> MachineFit:
        """The same on some rows of the data, with weights scaled up to that of all."""
        machine, chosen = self.machine, np.unique(self.rows.inverse[rows])
        position = np.full(machine.matrix.n, -1)
        position[chosen] = np.arange(len(chosen))
        parts, points = [], []
        for part, point in zip(machine.parts, self.points):
            inside = position[part.rows] >= 0
            parts.append(Part(position[part.rows[inside]], part.y[inside]))
            points.append(replace(point, theta=point.theta[inside]))
        weights = machine.weights[chosen]
        smaller = replace(
            machine,
            matrix=machine.matrix.only(chosen),
            parts=parts,
            weights=weights * (machine.weights.sum() / weights.sum()),
        )
        place, shares = position[self.rows.inverse[rows]], self.rows.row_shares[rows]
        distinct = replace(self.rows, inverse=place, row_shares=shares)
        of_x = np.unique(self.of_x[chosen], return_inverse=True)[1]
        return self._with(smaller, points, distinct, of_x, rows)

    def _with(
        self,
        machine: Machine,
        points: list[Point],
        distinct: TrainingRows,
        of_x: Array,
        rows: Array | slice,
    ) -> MachineFit:
        """Other machines on some rows of the data, not yet solved."""
        return type(self)(
            machine,
            points,
            distinct,
            of_x,
            None,
            self.y[rows],
            self.weights[rows],
            tol=self.tol,
            has_classes=self.has_classes,
            is_solved=False,
        )

    def _solve(self, parts: list[Part], weights: Array, thetas: list[Array]) -> list[Point]:
        """Solve problems, given weights of all distinct rows and dual variables to start near."""
        return self._solve_again(parts, weights, thetas)[0]

    def _solve_again(
        self, parts: list[Part], weights: Array, thetas: list[Array]
    ) -> tuple[list[Point], list[BoxSolution]]:
        """The same, and the solver's results for those that have two classes."""
        objective, boxes = self.machine.objective, []
        is_open = [not self.has_classes or len(np.unique(part.y)) > 1 for part in parts]
        for part, theta in itertools.compress(zip(parts, thetas), is_open):
            box = objective.box(part.y, weights[part.rows])
            start = warm_start(_on_variables(theta, box), box)
            rows = part.rows if box.rows is None else part.rows[box.rows]
            boxes.append(replace(box, rows=rows, start=start))
        found = self._descend(boxes)
        solutions = iter(found)
        return [
            objective.point(part.y, weights[part.rows], next(solutions))
            if has_two
            else one_class(part)
            for part, has_two in zip(parts, is_open)
        ], found

    @cached_property
    def _tolerance(self) -> float:
        """The solver's tolerance, in the unit of the model's scores."""
        objective, widths = self.machine.objective, [point.width for point in self.start]
        unit = self.machine.unit
        if objective.divides:
            unit = min((width for width in widths if width > 0), default=unit)
        return self.tol * unit

    def _descend(self, boxes: list[BoxProblem]) -> list[BoxSolution]:
        matrix = self.machine.matrix
        gram = matrix.whole()
        if gram is not None:
            solutions = descend(gram, boxes, self._tolerance)
        else:
            solutions = solve_box(matrix, boxes, tol=self._tolerance)
        statuses = {solution.status for solution in solutions}
        if "interrupted" in statuses:
            raise KeyboardInterrupt
        if "time_limit" in statuses:
            raise TimeLimit
        return solutions

    def block(self, rows: Array, columns: Array) -> Array:
        """Kernel values of some distinct rows with others."""
        gram = self.machine.matrix.whole()
        if gram is None:
            return self.machine.matrix.block(rows, columns)
        return gram[np.ix_(rows, columns)]


def one_class(part: Part) -> Point:
    """The solution for rows of one class, or none: it needs no machine."""
    return Point(np.zeros(len(part.y)), float(part.y[0]) if len(part.y) else 0.0)


def finished(solution: Solution) -> Parameters:
    """The parameters of a linear model, unless Ctrl-C or the time limit came first."""
    if solution.status == "interrupted":
        raise KeyboardInterrupt
    if solution.status == "time_limit":
        raise TimeLimit
    return solution.parameters


def _on_variables(theta: Array, box: BoxProblem) -> Array:
    """Dual variables of rows as those of a box, which may have two for each: above and below 0."""
    if len(box.linear) == len(theta):
        return theta
    return np.concatenate([np.maximum(theta, 0.0), np.minimum(theta, 0.0)])


@by_formula.register
def _by_formula(fitted: MachineFit, groups: Array | None = None) -> Estimate:
    """Refit without all support vectors if that is cheap, else use the span rule.

    Other penalties, which the verdict tries, use the rule first.
    """
    if groups is not None or not fitted.machine.objective.has_span:
        return Estimate(fitted.held_out(groups), "loo", True)
    if fitted.is_solved and fitted.work_of(fitted._support) <= CHEAP:
        # Refits that take longer than expected are left to the rule.
        with suppress(NotAvailable):
            return Estimate(fitted.held_out(groups), "loo", True)
    z, is_refitted = fitted.by_span()
    return Estimate(z, "span", False, is_refitted)
