"""Several starts of Lloyd's algorithm, of which the best counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .lloyd import ClusterRows, LloydRun, lloyd
from .mini_batches import moved_by_batches
from .seeding import PLUS_PLUS, first_centers


@dataclass(frozen=True, eq=False)
class Plan:
    """How clusters are found, whatever their number and the rows.

    Parameters
    ----------
    init : str, callable or ndarray of shape (k, d)
        The first centres.
    starts : int
        How many starts there are.
    max_iter : int
        The most steps of a start.
    tol : float
        Stop when the squares of the moves of all centres sum to at most this times the mean
        variance of the features.
    by_groups : bool, default=None
        Whether bounds are kept for each row and group of centres; by the shape of X if None.
    batch_size : int, default=None
        Rows of the random parts on which each start begins; none if None.
    """

    init: Any
    starts: int
    max_iter: int
    tol: float
    by_groups: bool | None = None
    batch_size: int | None = None

    def run(
        self,
        rows: ClusterRows,
        k: int,
        random: np.random.RandomState,
        after_step: Callable[[Any, float], bool] = lambda trace, target: False,
    ) -> LloydRun:
        """One start."""
        return self.from_centers(rows, self.first_centers(rows, k, random), after_step)

    def first_centers(self, rows: ClusterRows, k: int, random: np.random.RandomState) -> Any:
        """The centres at which Lloyd's steps begin."""
        centers = first_centers(rows, k, self._init_for(k), random)
        if self.batch_size is not None:
            centers = moved_by_batches(rows, centers, self.batch_size, random)
        return centers

    def from_centers(
        self,
        rows: ClusterRows,
        centers: Any,
        after_step: Callable[[Any, float], bool] = lambda trace, target: False,
    ) -> LloydRun:
        """The steps from there."""
        return lloyd(
            rows,
            centers,
            max_iter=self.max_iter,
            tol=self.tol * float(rows.variances.mean()) if self.tol else 0.0,
            by_groups=self.by_groups,
            after_step=after_step,
        )

    def best(self, rows: ClusterRows, k: int, seed: int) -> LloydRun:
        """The best of all starts; as many clusters as there are rows at most."""
        random = np.random.RandomState(seed)
        k = min(k, rows.n)
        runs = [self.run(rows, k, random) for _ in range(self.starts)]
        return min(runs, key=lambda run: run.inertia)

    def _init_for(self, k: int) -> Any:
        """Centres that are given serve for their own number of clusters alone."""
        is_given = isinstance(self.init, np.ndarray)
        return PLUS_PLUS if is_given and len(self.init) != k else self.init
