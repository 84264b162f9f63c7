"""k-means on unseen rows: their distance to the nearest centre, and how surprising they are.

Clusters define a density, a mixture of spherical Gaussians of one width around the centres. With
every cluster the distance of unseen rows falls, but from some number on they become more surprising
under that density: this tells too many clusters from too few, and chooses their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from ..._ground.design import Design
from ..._ground.memory import blocks
from ...unseen import (
    FOLDS,
    Dial,
    ScoredChoice,
    Version,
    WithoutTargets,
    dealt,
    drawn,
    mean_and_error,
    splits,
)
from .kmeans_runs import Plan
from .lloyd import ClusterRows, LloydRun, distances

Array = np.ndarray

METRIC = "explained variance"
# Starts of a refit: of a single one the local minimum would decide, not the number of clusters.
LEAST_STARTS = 3
# A fall of the mean surprise by less than this, in nats a row, is not worth another cluster.
SMALLEST_GAIN = 0.01
# The number of clusters is chosen on at most this many distinct rows, and among at most this many.
CHOICE_ROWS, MOST_CLUSTERS = 20_000, 100
# Numbers of clusters that are tried after the best so far.
PATIENCE = 5
# A dial changes the number of clusters by this part.
TURN = 1.25
# The least width of a Gaussian, as a part of that of all rows together.
NARROWEST = 1e-9


@dataclass(frozen=True, eq=False)
class Mixture:
    """Spherical Gaussians of one variance around the centres, with shares of the weight."""

    centers: Array
    shares: Array
    variance: float

    @classmethod
    def of(cls, rows: ClusterRows, run: LloydRun) -> Mixture:
        """The density that the clusters of a run define."""
        return cls.around(rows, run.centers, run.totals, run.inertia)

    @classmethod
    def around(cls, rows: ClusterRows, centers: Array, totals: Array, inertia: float) -> Mixture:
        """Shares by the weights of the clusters, and the variance around the centres."""
        filled = totals > 0
        # k centres have taken the freedom of k rows.
        free = max(rows.total - int(filled.sum()), 0.5 * rows.total)
        least = NARROWEST**2 * rows.scatter / max(rows.total * rows.d, 1.0)
        variance = max(inertia / (free * rows.d), least, np.finfo(float).tiny)
        return cls(centers[filled], totals[filled] / rows.total, variance)

    def describe(self, design: Design) -> Array:
        """Squared distance to the nearest centre, and −log density; (r, 2)."""
        centers = np.ascontiguousarray(self.centers, dtype=design.dtype)
        origin = centers.mean(axis=0, dtype=float)
        out = np.empty((design.n, 2))
        level = 0.5 * design.d * math.log(2 * math.pi * self.variance)
        for part in blocks(design.n, len(centers)):
            squares = distances(design.rows(part), centers, origin)
            out[part, 0] = squares.min(axis=1)
            powers = np.log(self.shares) - squares / (2 * self.variance)
            out[part, 1] = level - logsumexp(powers, axis=1)
        return out


class KMeansFit(WithoutTargets):
    """k clusters, and how to find them again in some of the rows."""

    advantage = "would make unseen rows more likely"

    def __init__(
        self, design: Design, weights: Array, k: int, plan: Plan, seed: int, mixture: Mixture
    ):
        super().__init__(design, weights)
        self.k, self.plan, self.seed, self._mixture = k, plan, seed, mixture

    @property
    def model(self) -> Callable[[Design], Array]:
        """The model of all rows."""
        return self._mixture.describe

    def fit_to(self, rows: Array) -> Callable[[Design], Array]:
        """The clusters of some rows."""
        return self._found(rows, self.k)

    def constant(self, rows: Array) -> Callable[[Design], Array]:
        """One cluster."""
        return self._found(rows, 1)

    def smallest_gain(self, before: float) -> float:
        """A hundredth of a nat."""
        return SMALLEST_GAIN

    def simpler(self) -> list[Dial]:
        """Fewer clusters."""
        return [lambda step: self._at(min(self.k - step, math.floor(self.k / TURN**step)))]

    def richer(self) -> list[Dial]:
        """More clusters."""
        return [lambda step: self._at(max(self.k + step, math.ceil(self.k * TURN**step)))]

    def _at(self, k: int) -> Version | None:
        if k < 2 or 2 * k > self.units.max() + 1:
            return None
        other = KMeansFit(self.design, self.weights, k, self.plan, self.seed, self._mixture)
        return Version(other, f"{k} clusters")

    def _found(self, rows: Array, k: int) -> Callable[[Design], Array]:
        part = ClusterRows(self.design.rows(rows), self.weights[rows])
        starts = 1 if k == 1 or self.is_large else max(self.plan.starts, LEAST_STARTS)
        if isinstance(self.plan.init, np.ndarray) and len(self.plan.init) == k:
            starts = 1
        return Mixture.of(part, replace(self.plan, starts=starts).best(part, k, self.seed)).describe


# ---- the number of clusters ----------------------------------------------------------------------


def choose_clusters(rows: ClusterRows, plan: Plan, seed: int) -> ScoredChoice | None:
    """The number of clusters under which unseen rows are least surprising.

    Of the numbers whose mean surprise is within one standard error of the least, row by row, the
    smallest is taken. Large tables are judged by a sample. None if there are too few distinct rows
    to leave some out.
    """
    distinct = rows.distinct
    if len(distinct.first) < FOLDS:
        return None
    chosen = np.sort(drawn(np.arange(len(distinct.first)), CHOICE_ROWS))
    is_whole = len(chosen) == len(distinct.first)
    part = ClusterRows(rows.design.rows(distinct.first[chosen]), distinct.weights[chosen])
    folds = splits(dealt(np.arange(part.n), FOLDS))
    plan = replace(plan, starts=max(plan.starts, LEAST_STARTS))
    tried, found = list[int](), list[Array]()
    for k in _numbers(part.n * (FOLDS - 1) // FOLDS):
        tried.append(k)
        found.append(_held_out(part, folds, plan, k, seed))
        means = [float(np.average(each[:, 1], weights=part.weights)) for each in found]
        if len(means) - 1 - int(np.argmin(means)) >= PATIENCE:
            break
    plain = float(np.average(found[0][:, 0], weights=part.weights))
    shown = np.stack([1 - each[:, 0] / max(plain, np.finfo(float).tiny) for each in found], axis=1)
    by = -np.stack([each[:, 1] for each in found], axis=1)
    choice = ScoredChoice.of(
        {"n_clusters": np.array(tried)},
        shown,
        by,
        part.weights,
        metric="log density",
        select="1se",
        chosen=_simplest(by, part.weights),
        is_whole=is_whole,
    )
    return replace(choice, method=f"{FOLDS}-fold")


def _numbers(most: int) -> Iterator[int]:
    """1, 2, …, and from 10 on a fifth more each time; at most a third of the rows."""
    k = 1
    while k == 1 or k <= min(MOST_CLUSTERS, most // 3):
        yield k
        k += max(1, k // 5 if k >= 10 else 1)


def _held_out(rows: ClusterRows, folds: list, plan: Plan, k: int, seed: int) -> Array:
    """Distortion and surprise of each row under the clusters of the other folds, (n, 2)."""
    out = np.empty((rows.n, 2))
    for train, test in folds:
        part = ClusterRows(rows.design.rows(train), rows.weights[train])
        mixture = Mixture.of(part, plan.best(part, k, seed))
        out[test] = mixture.describe(rows.design.rows(test))
    return out


def _simplest(by: Array, weights: Array) -> int:
    """The first column within one standard error, of the paired difference, of the best."""
    best = int(np.argmax(np.average(by, axis=0, weights=weights)))
    behind, errors = mean_and_error(by[:, [best]] - by, weights)
    return int(np.flatnonzero(behind <= errors)[0])
