"""k-means by batches of rows alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._ground.drawing import pictures
from ..._ground.interrupt import TimeLimit, check
from ..._ground.notebook import ShownInNotebook
from .kmeans_runs import Plan
from .lloyd import ClusterRows, LloydRun, nearest
from .mini_batches import BatchWalk, Progress, drawn_by_weight
from .seeding import first_centers

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class BatchTrace(ShownInNotebook):
    """What the batches of a fit did. Prints as a sentence.

    Attributes
    ----------
    objective : ndarray of shape (batches,)
        The sum of squared distances of all rows as estimated from each batch, before the centres
        move. It rises and falls with the rows that were drawn.
    shifts : ndarray of shape (batches,)
        How far the centres moved in each batch: the sum of their squared moves.
    """

    objective: Array
    shifts: Array

    def __repr__(self) -> str:
        count = len(self.objective)
        if not count:
            return "<BatchTrace of 0 batches>"
        batches = "1 batch" if count == 1 else f"{count} batches"
        ends = f"{self.objective[0]:.6g} to {self.objective[-1]:.6g}"
        return f"<BatchTrace of {batches}: objective about {ends}>"

    def plot(self, *, axes=None):
        """Draw the objective as estimated from each batch.

        Parameters
        ----------
        axes : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        axes : matplotlib Axes
            With the picture.
        """
        return pictures().kmeans_objective(self.objective, step="batch", axes=axes)


@dataclass(frozen=True, eq=False)
class BatchRun(LloydRun):
    """Where batches ended: what each centre has had of them, and how many there were."""

    counts: Array
    batches: int


@dataclass(frozen=True)
class _Batch:
    """What a batch did: its mean square, the move of the centres, why it ends if it does."""

    square: float
    shift: float
    status: str = "max_iter"


@dataclass(frozen=True, eq=False)
class BatchPlan(Plan):
    """How clusters are found by batches alone.

    Parameters
    ----------
    init_size : int, default=None
        The rows of which the first centres are drawn; three batches if None.
    patience : int, default=None
        Batches without progress after which it ends; not for this reason if None.
    ratio : float, default=0.0
        Centres with less than this part of the rows of the largest cluster are drawn again.
    verbose : bool, default=False
        Whether to print why it ends.
    """

    init_size: int | None = None
    patience: int | None = None
    ratio: float = 0.0
    verbose: bool = False

    def sizes(self, count: int, k: int) -> tuple[int, int]:
        """The rows of a batch and of the first sample, of `count` distinct ones."""
        assert self.batch_size is not None
        size = min(self.batch_size, count)
        first = 3 * size if self.init_size is None else self.init_size
        return size, min(first if first >= k else 3 * k, count)

    def first_walk(self, rows: ClusterRows, k: int, random: np.random.RandomState) -> BatchWalk:
        """The first centres."""
        count = len(rows.distinct.first)
        _, first = self.sizes(count, k)
        sample = rows if first >= count else drawn_by_weight(rows, first, random)
        return BatchWalk(first_centers(sample, k, self._init_for(k), random))

    def run(
        self,
        rows: ClusterRows,
        k: int,
        random: np.random.RandomState,
        after_step: Callable[[Any, float], bool] = lambda trace, target: False,
    ) -> BatchRun:
        """One start."""
        count = len(rows.distinct.first)
        size, _ = self.sizes(count, k)
        walk, status = self.first_walk(rows, k, random), "max_iter"
        squares: list[float] = []
        shifts: list[float] = []
        try:
            for step in self._steps(rows, walk, size, random, after_step):
                squares.append(step.square)
                shifts.append(step.shift)
                status = step.status
        except (TimeLimit, KeyboardInterrupt) as stop:
            if not squares:
                raise
            status = "time_limit" if isinstance(stop, TimeLimit) else "interrupted"
        centers = walk.rounded()
        # One pass over all rows, whose time is not limited.
        labels, _ = nearest(rows.design, centers, rows.origin, until=np.inf)
        sums, totals = rows.sums(labels, k)
        return BatchRun(
            centers=centers,
            labels=labels,
            sums=sums,
            totals=totals,
            inertia=rows.sum_of_squares(centers, labels, sums, totals),
            steps=-(-len(squares) * size // count),
            status=status,
            solver="batches",
            trace=BatchTrace(rows.total * np.array(squares), np.array(shifts)),
            counts=walk.counts,
            batches=len(squares),
        )

    def _steps(
        self,
        rows: ClusterRows,
        walk: BatchWalk,
        size: int,
        random: np.random.RandomState,
        after_step: Callable[[Any, float], bool],
    ) -> Iterator[_Batch]:
        """Batches, one after another; the last says why it is the last."""
        count = len(rows.distinct.first)
        progress = Progress(size, count)
        least = self.tol * float(rows.variances.mean())
        for step in range(max(self.max_iter * count // size, 1)):
            check()
            before = walk.centers.copy()
            batch = drawn_by_weight(rows, size, random)
            square = walk.step(batch, rows.origin)
            shift = float(np.sum((walk.centers - before) ** 2))
            if self.ratio:
                walk.renew(batch, self.ratio, random)
            if step == 0:  # of centres that are rows
                yield _Batch(square, shift)
                continue
            progress.add(square)
            why = None
            if self.tol and shift <= least:
                why = "small centers change"
            elif self.patience is not None and progress.since >= self.patience:
                why = "lack of improvement in inertia"
            if why is not None:
                if self.verbose:
                    print(f"Converged ({why}) at step {step + 1}")
                yield _Batch(square, shift, "converged")
                return
            words = f"batch {step + 1}, mean square {progress.mean:.6g}"
            if after_step(words, self.tol):
                yield _Batch(square, shift, "interrupted")
                return
            yield _Batch(square, shift)
