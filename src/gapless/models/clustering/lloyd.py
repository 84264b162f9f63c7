"""Lloyd's algorithm: rows to their nearest centres, centres to the means of their rows, in turn.

The compiled core takes the steps and skips distances that bounds show to be of no interest; here
are the rows as it reads them, the loop around it, and the trace.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._ground import core
from ..._ground.design import Design
from ..._ground.distinct_rows import DistinctRows
from ..._ground.drawing import pictures
from ..._ground.interrupt import TimeLimit, check, deadline
from ..._ground.memory import blocks
from ..._ground.notebook import ShownInNotebook
from ..._ground.threads import thread_count

Array = np.ndarray

# Dense rows of at most this many columns are compared with all centres at once; one bound for each
# row decides which of them. With 196 columns of digits that is faster still, with 784 no more.
FEW_COLUMNS = 300
# Bounds of groups take at most this part of the memory of X, and of so many groups they always may.
PART_OF_X, FEW_GROUPS = 4, 8
# A sum of squares below this part of that around the mean is summed row by row: as a difference of
# the two it would lose too many digits.
SMALL = 1e-6
# Sums of squares whose parts float32 holds.
LEAST_IN_SINGLE, MOST_IN_SINGLE = 1e-28, 1e34
# A trace keeps the centres of its steps if they are at most this many numbers.
MOST_KEPT = 1 << 20


class ClusterRows:
    """The rows of a fit, all of positive weight, as the core reads them.

    Parameters
    ----------
    design : Design
        The rows.
    weights : ndarray of shape (n,)
        Their weights.
    """

    def __init__(self, design: Design, weights: Array):
        self.design, self.weights = design, weights
        self.n, self.d, self.dtype = design.n, design.d, design.dtype
        self._given = None if np.all(weights == 1.0) else np.ascontiguousarray(weights)

    @cached_property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.weights.sum())

    @cached_property
    def mean(self) -> Array:
        """The mean of the rows, (d,)."""
        return self.design.transposed_times(self.weights) / self.total

    @cached_property
    def origin(self) -> Array:
        """Where sums start: at the mean, so that they lose no digits; at 0 for sparse rows."""
        return np.zeros(self.d) if self.design.is_sparse else self.mean

    @cached_property
    def variances(self) -> Array:
        """The variance of each column, (d,)."""
        moved = self.design.shifted(self.mean)
        return np.maximum(moved.column_square_sums(self._given), 0.0) / self.total

    @cached_property
    def scatter(self) -> float:
        """The sum of squared distances to the mean: that of a single cluster."""
        return float(self.variances.sum() * self.total)

    @cached_property
    def _around_origin(self) -> float:
        """The sum of squared distances to the origin."""
        if not self.design.is_sparse:
            return self.scatter
        return float(self.design.column_square_sums(self._given).sum())

    @cached_property
    def distinct(self) -> DistinctRows:
        """Equal rows as one, in the order of their content."""
        return DistinctRows.by(self.design.equal_x, self.weights)

    def nearest(self, centers: Array, with_squares: bool = False) -> tuple[Array, Array | None]:
        """The nearest centre of each row, (n,), and the squared distances to them."""
        return nearest(self.design, centers, self.origin, with_squares)

    def distances(self, centers: Array) -> Array:
        """Squared distances (n, k), float64."""
        return distances(self.design, centers, self.origin)

    def step(self, state: LloydState, is_first: bool) -> int:
        """Every row to its nearest centre; returns how many have changed theirs."""
        check()  # the core looks at the clock every few milliseconds, which may be many small steps
        return core.lloyd_step(
            self.design.rows_view(),
            state.centers,
            self.origin,
            self._given,
            is_first,
            state.labels,
            state.room,
            state.low,
            state.ways,
            state.group_ways,
            state.sums,
            state.totals,
            state.counts,
            thread_count(),
            deadline(),
        )

    def sums(self, labels: Array, k: int) -> tuple[Array, Array]:
        """Sums (k, d) of the rows of each label, less the origin, and their weights (k,)."""
        return center_sums(self.design, self.origin, self._given, labels, k)

    def sum_of_squares(
        self, centers: Array, labels: Array, sums: Array | None = None, totals: Array | None = None
    ) -> float:
        """Σ sᵢ‖xᵢ − c‖² with the centre of each row's label; sums are those of the labels."""
        if sums is None or totals is None:
            sums, totals = self.sums(labels, len(centers))
        off = centers.astype(float) - self.origin
        found = self._around_origin + float(
            np.sum(totals[:, None] * off**2) - 2 * np.sum(off * sums)
        )
        if found > SMALL * self._around_origin:
            return found
        return float(self.weights @ self._own_squares(centers, labels))

    def partition_sum(self, sums: Array, totals: Array) -> float:
        """The sum of squares around the means of clusters, from their sums."""
        return partition_sum(self._around_origin, sums, totals)

    def _own_squares(self, centers: Array, labels: Array) -> Array:
        """Squared distances to the centres of the rows' labels, row by row."""
        out = np.empty(self.n)
        for part in blocks(self.n, self.d):
            rows = self.design.rows(part).dense()
            rows -= centers[labels[part]]
            out[part] = np.einsum("ij,ij->i", rows, rows)
        return out


def center_sums(
    design: Design, origin: Array, weights: Array | None, labels: Array, k: int
) -> tuple[Array, Array]:
    """Sums (k, d) of the rows of each label, less the origin, and their weights (k,)."""
    sums, totals = np.empty((k, design.d)), np.empty(k)
    counts = np.empty(k, dtype=np.int64)
    call = core.center_sums
    rows, until = design.rows_view(), deadline()
    call(rows, origin, weights, labels, sums, totals, counts, thread_count(), until)
    return sums, totals


def partition_sum(around_origin: float, sums: Array, totals: Array) -> float:
    """The sum of squares around the means of clusters, from that around the origin of the sums."""
    if np.count_nonzero(totals) < len(totals):
        sums, totals = sums[totals > 0], totals[totals > 0]
    explained = np.vdot(sums, sums / totals[:, None])
    return max(around_origin - float(explained), 0.0)


def with_rows_for_empty(
    sums: Array,
    totals: Array,
    empty: Array,
    moved: Array,
    weights: Array,
    labels: Array,
    total: float,
) -> tuple[Array, Array]:
    """Sums and weights with a row for each empty cluster, taken from where it is.

    `moved` (m, d) are rows less the origin, `weights` theirs, and `labels` their clusters; `total`
    is the weight of all rows.
    """
    sums, totals = sums.copy(), totals.copy()
    for cluster, row, weight, label in zip(empty, moved, weights, labels):
        sums[label] -= weight * row
        totals[label] -= weight
        sums[cluster], totals[cluster] = weight * row, weight
    # A cluster that has lost all its rows stays where it is.
    totals[totals < 1e-12 * total] = 0.0
    return sums, totals


def nearest(
    design: Design,
    centers: Array,
    origin: Array,
    with_squares: bool = False,
    until: float | None = None,
) -> tuple[Array, Array | None]:
    """The nearest centre of each row, (n,) int32, and the squared distances to them if wanted.

    `until` is the time at which it ends unfinished, that of the current limit if None.
    """
    until = deadline() if until is None else until
    labels = np.empty(design.n, dtype=np.int32)
    squares = np.empty(design.n) if with_squares else None
    call = core.nearest_centers
    call(design.rows_view(), centers, origin, labels, squares, thread_count(), until)
    return labels, squares


def distances(design: Design, centers: Array, origin: Array) -> Array:
    """Squared distances (n, k) of rows to centres, float64."""
    out = np.empty((design.n, len(centers)))
    call = core.center_distances
    call(design.rows_view(), centers, origin, out, thread_count(), deadline())
    return out


@dataclass(frozen=True, eq=False)
class LloydTrace(ShownInNotebook):
    """What the steps of a fit did. Prints as a sentence.

    Attributes
    ----------
    objective : ndarray of shape (steps,)
        The sum of squared distances to the means of the clusters, after each step. It never rises,
        but for rounding in the last one.
    moved : ndarray of int, shape (steps,), or None
        How many rows changed their cluster in each step; all of them in the first. None for a table
        in parts.
    shifts : ndarray of shape (steps,)
        How far the centres moved in each step: the sum of their squared moves; 0 in a last step
        that changed nothing.
    centers : ndarray of shape (steps, clusters, features), or None
        The centres that each step starts from; None where they would take too much memory.
    """

    objective: Array
    moved: Array | None
    shifts: Array
    centers: Array | None = None

    def __repr__(self) -> str:
        if not len(self.objective):
            return "<LloydTrace of 0 steps>"
        ends = f"{self.objective[0]:.6g} to {self.objective[-1]:.6g}"
        return f"<LloydTrace of {len(self.objective)} steps: objective {ends}>"

    def plot(self, X=None, *, axes=None):
        """Draw the objective against the steps, or with X the way of the centres among the rows.

        Parameters
        ----------
        X : array-like of shape (n, features), default=None
            Rows to draw. Of more than two columns, the two that vary most along the way of the
            centres are drawn.
        axes : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        axes : matplotlib Axes
            With the picture.
        """
        if X is None:
            return pictures().kmeans_objective(self.objective, self.moved, axes=axes)
        if self.centers is None:
            raise ValueError(
                "the centres of the steps were not kept, since they would take too much memory; "
                "call plot() without X for the objective."
            )
        return pictures().kmeans_steps(np.asarray(X, dtype=float), self.centers, axes=axes)


class LloydState:
    """Where a run is: centres, labels, sums of the clusters, and bounds of distances.

    A way is what a centre has moved since the start. A bound that a row has kept since some step
    holds less the ways since then, so that it need not be changed.
    """

    def __init__(self, rows: ClusterRows, centers: Array, by_groups: bool | None = None):
        k, n = len(centers), rows.n
        self.rows = rows
        self.centers = np.ascontiguousarray(centers, dtype=rows.dtype)
        self.labels = np.zeros(n, dtype=np.int32)
        self.sums, self.totals = np.zeros((k, rows.d)), np.zeros(k)
        self.counts = np.zeros(k, dtype=np.int64)
        self.room = np.empty(n, dtype=np.float32)
        if by_groups is None:
            by_groups = rows.design.is_sparse or rows.d > FEW_COLUMNS
        self.size = 1
        self.low = None
        if by_groups:
            entries = rows.design.X.nnz / n if rows.design.is_sparse else rows.d
            most = max(FEW_GROUPS, int(entries) // PART_OF_X)
            self.size = -(-k // min(k, most))
            self.low = np.empty((n, -(-k // self.size)), dtype=np.float32)
        # How far each centre has moved, and with it the one of the others that moved farthest.
        self._of_centers = np.zeros(k)
        self._of_groups = np.zeros(-(-k // self.size) if by_groups else 0)
        self.group_ways = _rounded_up(self._of_groups)
        self.ways = _rounded_up(self._of_centers)

    @property
    def solver(self) -> str:
        """Which bounds save distances."""
        if self.low is None:
            return "hamerly"
        return "elkan" if self.size == 1 else "yinyang"

    def move_to(self, centers: Array) -> float:
        """Go on from other centres; returns the sum of the squares of their moves."""
        centers = np.ascontiguousarray(centers, dtype=self.rows.dtype)
        apart = np.subtract(centers, self.centers, dtype=float)
        squares = np.einsum("ij,ij->i", apart, apart)
        moves = np.sqrt(squares)
        self.centers = centers
        self._of_centers += moves
        if len(moves) > 1:
            # The longest way of another centre: of the one that moved most, the second longest.
            first = int(moves.argmax())
            longest = moves[first]
            moves[first] = 0.0
            second = moves.max()
            moves[first] = longest
            self._of_centers += longest
            self._of_centers[first] += second - longest
        if self.low is not None:
            starts = np.arange(0, len(moves), self.size)
            self._of_groups += np.maximum.reduceat(moves, starts)
            self.group_ways = _rounded_up(self._of_groups)
        self.ways = _rounded_up(self._of_centers)
        return float(squares.sum())

    def means(self) -> Array:
        """The means of the clusters; an empty one gets the row farthest from its centre."""
        if np.count_nonzero(self.counts) == len(self.counts):
            return self.rows.origin + self.sums / self.totals[:, None]
        sums, totals = self._relocated()
        filled = totals > 0
        means = self.centers.astype(float)
        means[filled] = self.rows.origin + sums[filled] / totals[filled, None]
        return means

    def _relocated(self) -> tuple[Array, Array]:
        """Sums and weights with a row for each empty cluster, taken from where it is."""
        rows, distinct = self.rows, self.rows.distinct
        _, squares = rows.nearest(self.centers, with_squares=True)
        assert squares is not None
        if not squares.max() > 0:  # fewer distinct rows than clusters: none is far from its centre
            return self.sums.copy(), self.totals.copy()
        # Equal rows are one, and of equally far ones the first by content comes first.
        empty = np.flatnonzero(self.counts == 0)
        farthest = np.argsort(-squares[distinct.first], kind="stable")[: len(empty)]
        chosen = distinct.first[farthest]
        return with_rows_for_empty(
            self.sums,
            self.totals,
            empty,
            rows.design.rows(chosen).dense() - rows.origin,
            distinct.weights[farthest],
            self.labels[chosen],
            rows.total,
        )


def _rounded_up(ways: Array) -> Array:
    return np.nextafter((ways * (1 + 1e-9)).astype(np.float32), np.float32(np.inf))


@dataclass(frozen=True, eq=False)
class LloydRun:
    """Where a run ended: `status` is "converged", "max_iter", "time_limit" or "interrupted"."""

    centers: Array
    labels: Array
    sums: Array
    totals: Array
    inertia: float
    steps: int
    status: str
    solver: str
    trace: Any  # LloydTrace, or BatchTrace where batches alone ran


@dataclass(frozen=True, eq=False)
class _Partition:
    """The result of a whole step: the centres it started from, and the sums of their rows."""

    centers: Array
    sums: Array
    totals: Array


class _Walk:
    """The steps of a run, as far as they have gone."""

    def __init__(self, rows: ClusterRows, state: LloydState):
        self.rows, self.state = rows, state
        self.objective: list[float] = []
        self.moved: list[int] = []
        self.shifts: list[float] = []
        self.centers: list[Array] = []
        self.last: _Partition | None = None

    def assign(self) -> int:
        """Every row to its nearest centre; how many rows have moved."""
        state = self.state
        moved = self.rows.step(state, is_first=self.last is None)
        self.last = _Partition(state.centers, state.sums.copy(), state.totals.copy())
        return moved

    def step(self) -> bool:
        """The same as a step of the trace; returns whether it was the last: nothing improves."""
        moved = self.assign()
        objective = self.rows.partition_sum(self.state.sums, self.state.totals)
        # In exact arithmetic every move lowers the objective; moves that do not are rounding.
        is_level = bool(self.objective) and not objective < self.objective[-1]
        self.objective.append(objective)
        self.moved.append(moved)
        if len(self.objective) * self.state.centers.size <= MOST_KEPT:
            self.centers.append(self.state.centers)
        is_settled = len(self.moved) > 1 and moved == 0
        return is_settled or (is_level and not np.any(self.state.counts == 0))

    def trace(self) -> LloydTrace:
        """What the steps did."""
        is_whole = len(self.centers) == len(self.objective) > 0
        centers = np.stack(self.centers) if is_whole else None
        shifts = [*self.shifts, 0.0][: len(self.objective)]
        return LloydTrace(
            np.array(self.objective), np.array(self.moved, np.int64), np.array(shifts), centers
        )


def lloyd(
    rows: ClusterRows,
    centers: Array,
    *,
    max_iter: int,
    tol: float,
    by_groups: bool | None = None,
    after_step: Callable[[Any, float], bool] = lambda trace, target: False,
) -> LloydRun:
    """Take Lloyd's steps until no row changes its cluster, or the centres hardly move.

    Parameters
    ----------
    rows : ClusterRows
        The rows.
    centers : ndarray of shape (k, d)
        The first centres.
    max_iter : int
        The most steps.
    tol : float
        Stop when the squares of the moves of all centres sum to at most this.
    by_groups : bool, default=None
        Whether bounds are kept for each row and group of centres; by the shape of X if None.
    after_step : callable
        Called with a text about the progress; returns True to stop.

    Returns
    -------
    LloydRun
        If it is stopped early, where the last whole step ended.
    """
    state = LloydState(rows, centers, by_groups)
    walk = _Walk(rows, state)
    try:
        status = _steps(walk, max_iter, tol, after_step)
        if walk.last is not None and walk.last.centers is not state.centers:
            walk.assign()
    except TimeLimit:
        status = "time_limit"
    except KeyboardInterrupt:
        status = "interrupted"
    last = walk.last
    if last is None:
        raise TimeLimit if status == "time_limit" else KeyboardInterrupt
    labels = state.labels
    if not np.array_equal(state.sums, last.sums):
        # Stopped between a step and its record, or in the sums: the labels may be newer. The time
        # for this is not limited; it is one step.
        labels, _ = nearest(rows.design, last.centers, rows.origin, until=math.inf)
    return LloydRun(
        last.centers,
        labels,
        last.sums,
        last.totals,
        rows.sum_of_squares(last.centers, labels, last.sums, last.totals),
        len(walk.objective),
        status,
        state.solver,
        walk.trace(),
    )


def _steps(walk: _Walk, max_iter: int, tol: float, after_step: Callable[[Any, float], bool]) -> str:
    """Steps until one of the conditions to stop holds; returns which."""
    state = walk.state
    for step in range(max_iter):
        if walk.step():
            return "converged"
        walk.shifts.append(state.move_to(state.means()))
        if walk.shifts[-1] <= tol:
            return "converged"
        objective, moved = walk.objective[-1], walk.moved[-1]
        words = f"step {step + 1}, objective {objective:.6g}, {moved} rows have moved"
        if after_step(words, tol):
            return "interrupted"
    return "max_iter"
