"""Machines at many values of their parameters, solved and held out side by side.

`Batch` has all problems of a machine in one set of arrays, which the core updates in place: along C
each starts from the last solution. `Candidates` computes kernel matrices, each once, and scores the
machines on unseen rows, by the span rule, or by refits if these are few. Called by `tuning`.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.special import log_expit

from ..._ground import core
from ..._ground.interrupt import check, deadline
from ..._ground.threads import thread_count
from ...problem import KernelMatrix
from ...solvers import BoxProblem
from ...unseen import MergedRows, fit_slopes, mean_and_error
from .held_out import STEPS_OF_REFIT
from .leaving_out import Mates, statuses_of
from .machine import Machine
from .multiclass import Arrangement
from .objectives import BOUNDED, INACTIVE, ON_MARGIN

Array = np.ndarray

# A search needs no more digits than this, in the unit of the scores, nor more steps per variable.
TOLERANCE, STEPS = 3e-2, 200
# Support vectors are left out by refits up to this many operations, about ten milliseconds.
FEW_REFITS = 3e6
# A row is refitted if the span rule moves it across the border by less than the share UNSURE of its
# way, or leaves it before by less than STILL; of such refits little more than the sign counts, so
# ROUGHLY is their tolerance.
UNSURE, STILL, ROUGHLY = 0.5, 0.05, 0.15
# Problems of at most this many rows are solved on their own kernel values, which fit the cache.
SMALL = 500
# Kernel matrices are kept up to this many bytes.
KEPT_BYTES = 3e8
# The weight of a row's log-likelihood compared with whether it is right, which decides little more
# than ties, and the least log-likelihood that counts.
LIGHT, UNLIKELY = 0.005, -5.0
ONE_AGAINST_NONE = np.array([[0, 1]])


class Batch:
    """The problems of a machine, one after the other in the same arrays.

    Parameters
    ----------
    machine : Machine
        The problems: each with one sum, one variable for each row, and bounds that grow with C.
    of_x : ndarray of int, shape (m,)
        Which distinct x each row has.
    """

    def __init__(self, machine: Machine, of_x: Array):
        objective, parts = replace(machine.objective, C=1.0), machine.parts  # type: ignore[type-var]
        boxes = [objective.box(part.y, machine.weights[part.rows]) for part in parts]
        sizes = [len(part.rows) for part in parts]
        self.start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.part = np.repeat(np.arange(len(parts)), sizes)
        self.rows = np.concatenate([part.rows for part in parts]).astype(np.int64)
        self.y = np.concatenate([part.y for part in parts])
        self.linear = np.concatenate([box.linear for box in boxes])
        self.unit_lower = np.concatenate([box.lower for box in boxes])
        self.unit_upper = np.concatenate([box.upper for box in boxes])
        self.mates = Mates(self.part, self.rows, of_x)
        self.unit = machine.unit
        self.has_kink = any(np.any(box.absolute) for box in boxes)

    def on(self, gram: Array) -> Batch:
        """The same problems on a kernel matrix, at θ = 0."""
        twin = copy.copy(self)
        twin._begin(gram)
        return twin

    def _begin(self, gram: Array) -> None:
        self.gram, self.C = gram, 0.0
        self.diagonal = np.diagonal(gram)[self.rows].astype(float)
        self.lower, self.upper, self.absolute, self.theta = np.zeros((4, len(self.rows)))
        self.gradient = self.linear.copy()
        cuts = [slice(a, b) for a, b in pairwise(self.start.tolist())]
        self.tasks = [
            (
                self.rows[cut],
                self.diagonal[cut],
                self.linear[cut],
                self.absolute[cut] if self.has_kink else None,
                self.lower[cut],
                self.upper[cut],
                None,
                self.theta[cut],
                self.gradient[cut],
                TOLERANCE * self.unit,
                STEPS * (cut.stop - cut.start),
            )
            for cut in cuts
        ]

    def move_to(self, C: float, epsilon: float = 0.0) -> None:
        """Solve at this C, from the solution at the last one."""
        if C < self.C:
            # θ must shrink with its bounds; then Kθ does as well.
            self.gradient[:] = (self.gradient - self.linear) * (C / self.C) + self.linear
            self.theta *= C / self.C
        self.C, self.absolute[:] = C, epsilon
        self.lower[:], self.upper[:] = C * self.unit_lower, C * self.unit_upper
        np.clip(self.theta, self.lower, self.upper, out=self.theta)
        if max(np.diff(self.start)) <= SMALL:
            core.small_sum_descent(self.gram, self.tasks, thread_count(), deadline())
        else:
            core.sum_descent(self.gram, None, self.tasks, thread_count(), deadline())

    @property
    def status(self) -> Array:
        """INACTIVE, ON_MARGIN or BOUNDED for each variable."""
        return statuses_of(self.theta, self.box)

    def biases(self) -> Array:
        """b of each problem."""
        return self.box.biases(self.theta, self.gradient)

    @property
    def box(self) -> BoxProblem:
        """All problems as one, a group for each."""
        return BoxProblem(self.linear, self.lower, self.upper, self.absolute, groups=self.part)

    def held_out(self, biases: Array, *, has_classes: bool) -> Array:
        """The score of each variable's row by its problem without all rows of its x.

        By refits if they are few, else by the span rule; if that has no answer, a row takes all its
        contribution with it. The rule ignores that other rows may become support vectors in place
        of the one that leaves, so it errs against the row: with two classes, those that it moves a
        little beyond the border are refitted.
        """
        support, plain = self.status, self.gradient - self.linear + biases[self.part]
        moved = self.mates.leaders(support != INACTIVE)
        sizes = np.diff(self.start)
        if STEPS_OF_REFIT * float(sizes[self.part[moved]].sum()) <= FEW_REFITS:
            return self._refitted(plain, moved, TOLERANCE)
        squares, noise = np.empty(len(self.rows)), float(np.finfo(self.gram.dtype).eps)
        core.span_squares(
            self.gram, self.start, self.rows, support, noise, squares, thread_count(), deadline()
        )
        squares = self.mates.squares(squares, support)
        lost = self.mates.sums(self.theta) * np.where(np.isfinite(squares), squares, self.diagonal)
        held = plain - lost
        if not has_classes:
            return held
        lead = self.y * held / np.where(lost == 0, np.inf, np.abs(lost))
        is_near = (lead > -UNSURE) & (lead < STILL) & (lost != 0)
        return self._refitted(held, self.mates.leaders(is_near), ROUGHLY)

    def _refitted(self, scores: Array, variables: Array, tol: float) -> Array:
        """The scores, recomputed by refits for the rows that leave with these variables."""
        found, which = np.empty(len(variables)), self.part[variables]
        places = variables - self.start[which]
        tasks = [(*task[:9], tol * self.unit, task[10]) for task in self.tasks]
        core.sum_leave_out(
            self.gram, tasks, which, places, found, thread_count(), deadline(), self.mates.units
        )
        scores = scores.copy()
        scores[variables] = found
        return scores if self.mates.units is None else scores[self.mates.leader]


@dataclass(frozen=True, eq=False)
class Candidate:
    """Machines at one set of values, judged by rows that they have not seen.

    Attributes
    ----------
    values : dict
        The parameters by name.
    shown, by : ndarray of shape (u,)
        Mean scores of the rows of each x: those that are reported, and those that decide.
    unseen, standard_error : float
        Mean of `shown`.
    merit : float
        Mean of `by`.
    freedom : int
        Support vectors inside their bounds, the degrees of freedom of a machine (Gunter and Zhu
        2007): of machines that do equally well, the one with the fewest is the simplest.
    is_final : bool
        Whether no variable is at its bound, so that a larger C changes nothing.
    """

    values: dict[str, float]
    shown: Array
    by: Array
    unseen: float
    standard_error: float
    merit: float
    freedom: int
    is_final: bool


class Candidates:
    """The candidates so far, and how to make another one.

    Parameters
    ----------
    machine : Machine
        The problems, and the kernel with any γ.
    arrangement : Arrangement
        How the scores of several problems are read.
    y : ndarray of shape (m,)
        The targets of the distinct rows; classes by their position.
    weights : ndarray of shape (m,)
        How much each counts in the score.
    of_x : ndarray of int, shape (m,)
        Which distinct x each has: 0, 1, …
    has_classes : bool
        Whether the targets are classes.
    """

    def __init__(
        self,
        machine: Machine,
        arrangement: Arrangement,
        y: Array,
        weights: Array,
        of_x: Array,
        *,
        has_classes: bool,
    ):
        self.of_x, self.units = of_x, MergedRows.by(of_x, weights)
        self.kernel, self.X, self.blocks = machine.matrix.kernel, machine.matrix.X, machine.blocks
        self.arrangement, self.y, self.weights = arrangement, y, weights
        self.has_classes = has_classes
        self.found: dict[tuple, Candidate] = {}
        self._prepare(machine)

    def _prepare(self, machine: Machine) -> None:
        """What all candidates have in common."""
        self.batch = Batch(machine, self.of_x)
        # Where each variable's θ is among those of all machines, as the model packs them.
        places = np.split(np.arange(1, len(self.batch.rows) + 1), self.batch.start[1:-1])
        self.layout = self.arrangement.pack(machine.blocks, places).astype(int)
        self.batches: dict[float | None, Batch] = {}

    def at(self, values: dict[str, float]) -> Candidate:
        """The candidate for these values of C and, if open, of gamma and epsilon."""
        C, gamma, epsilon = key = tuple(values.get(name) for name in ("C", "gamma", "epsilon"))
        if key not in self.found:
            same = next(
                (
                    one
                    for (smaller, *others), one in self.found.items()
                    if one.is_final and smaller <= C and others == [gamma, epsilon]
                ),
                None,
            )
            self.found[key] = (
                self._new(values) if same is None else replace(same, values=dict(values))
            )
        return self.found[key]

    def _new(self, values: dict[str, float]) -> Candidate:
        check()
        *scores, status = self._judged(values)
        shown, by = (self.units.means(of_rows, self.weights) for of_rows in scores)
        weights = self.units.weights
        unseen, error = mean_and_error(shown, weights)
        return Candidate(
            dict(values),
            shown,
            by,
            unseen,
            error,
            float(np.average(by, weights=weights)),
            int(np.count_nonzero(status == ON_MARGIN)),
            not np.any(status == BOUNDED),
        )

    def _judged(self, values: dict[str, float]) -> tuple[Array, Array, Array]:
        """Scores of held-out rows, those that are shown and those that decide, and statuses."""
        batch = self._loaded(values.get("gamma"))
        batch.move_to(values["C"], values.get("epsilon", 0.0))
        biases = batch.biases()
        held, status = batch.held_out(biases, has_classes=self.has_classes), batch.status
        if self.has_classes:
            return *self._of_classes(batch, held, biases), status
        shown = self._of_numbers(held)
        return shown, shown, status

    def _loaded(self, gamma: float | None) -> Batch:
        """The problems on the kernel matrix of this γ."""
        if gamma not in self.batches:
            gram = self._gram(gamma)
            if len(self.batches) * gram.nbytes > KEPT_BYTES:
                self.batches.clear()
            self.batches[gamma] = self.batch.on(gram)
        return self.batches[gamma]

    def _gram(self, gamma: float | None) -> Array:
        """The kernel matrix of this γ."""
        kernel = self.kernel if gamma is None else self.kernel.replace(gamma=gamma)
        return KernelMatrix(kernel, self.X, dtype=np.float32).required(
            "set the parameters, which takes no search"
        )

    def _of_numbers(self, held: Array) -> Array:
        """Each row's part of R², which is their mean."""
        mean = np.average(self.y, weights=self.weights)
        spread = np.average((self.y - mean) ** 2, weights=self.weights)
        return 1 - (self.y - held) ** 2 / (spread if spread > 0 else 1.0)

    def _of_classes(self, batch: Batch, held: Array, biases: Array) -> tuple[Array, Array]:
        """Whether each row is right, and how likely its class is by its closest problem."""
        lead = np.full(len(self.y), np.inf)
        np.minimum.at(lead, batch.rows, held * batch.y)
        right = lead > 0
        # A row that wins all its problems is right. Others may win by votes, or by sums.
        others = np.flatnonzero(~right)
        if len(batch.tasks) > 1 and len(others):
            right[others] = self._predicted(batch, others, held, biases) == self.y[others]
        return self._with_likelihood(right, lead)

    def _with_likelihood(self, right: Array, lead: Array) -> tuple[Array, Array]:
        """Whether rows are right, and the same combined with their likelihood, by their lead.

        Correct rows differ in how near they are to being wrong, and a likelihood, with one slope
        for all, varies less from one set of rows to the next than the number of errors.
        """
        slope = fit_slopes(lead[:, None], np.zeros(len(lead), int), self.weights, ONE_AGAINST_NONE)
        likelihood = np.maximum(log_expit(slope[0] * lead), UNLIKELY)
        return right.astype(float), right + LIGHT * likelihood

    def _predicted(self, batch: Batch, rows: Array, held: Array, biases: Array) -> Array:
        """The classes of some rows, by machines without them."""
        coef = np.append(0.0, batch.theta).astype(batch.gram.dtype)[self.layout]
        some = batch.gram[rows]

        def times(block: slice, of_block: Array) -> Array:
            return some[:, block] @ of_block.T

        scores = self.arrangement.scores(self.blocks, coef, times) + biases
        # The problems' scores without the x of a row, including those of its mates' classes.
        without = np.full((int(self.of_x.max()) + 1, scores.shape[1]), np.nan)
        without[self.of_x[batch.rows], batch.part] = held
        without = without[self.of_x[rows]]
        scores = np.where(np.isnan(without), scores, without)
        return self.arrangement.by_class(scores).argmax(axis=1)
