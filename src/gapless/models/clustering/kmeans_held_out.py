"""k-means on unseen rows: their distance to the nearest centre, and how surprising they are.

Clusters define a density, a mixture of Gaussians around the centres. With every cluster the
distance of unseen rows falls, but from some number on they become more surprising under that
density: this tells too many clusters from too few. Their number is chosen by it as well, provided
that there are gaps between the clusters, and that other rows give the same ones: a skewed cloud is
no Gaussian, and yet but one cluster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from ..._ground.design import Design
from ..._ground.memory import blocks
from ..._ground.threads import single_blas
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
from .gaps_between import (
    Line,
    are_the_same,
    counts_between,
    doubt,
    in_order_of,
    line_between,
    neighbours,
    part_midway,
)
from .kmeans_runs import Plan
from .lloyd import ClusterRows, distances

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
# Rows held out midway between two clusters, for each near the centre with fewer, that still leave
# a gap there: a flat density has 1, and one with a single peak more at one of the centres. And the
# largest p-value of so few of them, if there were as many as near each centre.
MOST_MIDWAY, MOST_DOUBT = 0.75, 0.1
# Columns up to which each cluster has a covariance of its own.
WIDE = 50


@dataclass(frozen=True, eq=False)
class Mixture:
    """Gaussians around the centres, with shares of the weight.

    Parameters
    ----------
    centers : ndarray of shape (k, d)
        The centres.
    shares : ndarray of shape (k,)
        Their parts of the weight.
    variance : float
        The mean variance around the centres, of all clusters and columns.
    whitening : ndarray of shape (k, d, d), or None
        Inverse Cholesky factors of the covariances; None if all are `variance` times I.
    """

    centers: Array
    shares: Array
    variance: float
    whitening: Array | None

    @classmethod
    def around(cls, rows: ClusterRows, centers: Array, labels: Array) -> Mixture:
        """The density that clusters of rows define.

        Each has a covariance of its own, as far as its rows determine it: it is drawn towards that
        of all clusters, and that one towards a sphere (Ledoit and Wolf 2004). With many columns all
        clusters are spheres of one width.
        """
        totals = np.bincount(labels, rows.weights, minlength=len(centers))
        filled = np.flatnonzero(totals > 0)
        parts = [_Spread.of(rows, labels == j, centers[j]) for j in filled]
        squares = sum(part.squares for part in parts)
        # k centres have taken the freedom of k rows.
        free = max(rows.total - len(filled), 0.5 * rows.total)
        least = NARROWEST**2 * rows.scatter / max(rows.total * rows.d, 1.0)
        variance = max(squares / (free * rows.d), least, np.finfo(float).tiny)
        whitening = _whitening(parts, variance, rows.total / free) if rows.d <= WIDE else None
        shares = totals[filled] / rows.total
        return cls(np.asarray(centers, dtype=np.float64)[filled], shares, variance, whitening)

    def describe(self, design: Design) -> Array:
        """Squared distance to the nearest centre, and −log density; (r, 2)."""
        centers = np.ascontiguousarray(self.centers, dtype=design.dtype)
        origin = centers.mean(axis=0, dtype=float)
        out = np.empty((design.n, 2))
        level = 0.5 * design.d * math.log(2 * math.pi)
        for part in blocks(design.n, max(len(centers), design.d)):
            rows = design.rows(part)
            squares = distances(rows, centers, origin)
            out[part, 0] = squares.min(axis=1)
            powers = np.log(self.shares) + self._exponents(rows, squares)
            out[part, 1] = level - logsumexp(powers, axis=1)
        return out

    def _exponents(self, rows: Design, squares: Array) -> Array:
        """log of each Gaussian at each row, but for a constant; (r, k)."""
        if self.whitening is None:
            return -0.5 * (squares / self.variance + rows.d * math.log(self.variance))
        X = rows.dense().astype(np.float64, copy=False)
        found = np.empty((len(X), len(self.centers)))
        with single_blas():
            for j, (center, whitening) in enumerate(zip(self.centers, self.whitening)):
                Z = (X - center) @ whitening.T
                found[:, j] = np.log(np.diag(whitening)).sum() - 0.5 * np.einsum("ij,ij->i", Z, Z)
        return found


@dataclass(frozen=True, eq=False)
class _Spread:
    """The rows of a cluster around its centre x: Σs, Σs‖x‖², and for few columns Σsxxᵀ, Σs‖x‖⁴."""

    total: float
    squares: float
    scatter: Array | None = None
    fourth: float = 0.0

    @classmethod
    def of(cls, rows: ClusterRows, is_own: Array, center: Array) -> _Spread:
        own = np.flatnonzero(is_own)
        weights = rows.weights[own]
        part = rows.design.rows(own).shifted(center.astype(np.float64))
        total = float(weights.sum())
        if rows.d > WIDE:
            return cls(total, float(part.column_square_sums(weights).sum()))
        X = part.dense()
        lengths = np.einsum("ij,ij->i", X, X)
        with single_blas():
            scatter = (X.T * weights) @ X
        return cls(total, float(weights @ lengths), scatter, float(weights @ lengths**2))

    def drawn_towards(self, target: Array) -> Array:
        """The covariance Σsxxᵀ/Σs, drawn towards another as far as its error requires.

        Ledoit and Wolf (2004), A well-conditioned estimator for large-dimensional covariance
        matrices, lemma 3.4: the part is the mean squared error of the covariance over its squared
        distance from the target.
        """
        assert self.scatter is not None
        covariance = self.scatter / self.total
        size = float(np.sum(covariance**2))
        error = max(self.fourth / self.total - size, 0.0) / self.total
        apart = float(np.sum((covariance - target) ** 2))
        part = min(error / apart, 1.0) if apart > 0 else 1.0
        return (1 - part) * covariance + part * target


def _whitening(parts: list[_Spread], variance: float, scale: float) -> Array:
    """Inverse Cholesky factors of the covariances of clusters; `scale` makes up for the centres."""
    scatter = sum(part.scatter for part in parts if part.scatter is not None)
    together = _Spread(
        sum(part.total for part in parts),
        sum(part.squares for part in parts),
        np.asarray(scatter),
        sum(part.fourth for part in parts),
    )
    sphere = variance / scale * np.eye(len(np.asarray(scatter)))
    pooled = together.drawn_towards(sphere)
    own = scale * np.stack([part.drawn_towards(pooled) for part in parts])
    # Columns that do not vary within clusters leave no factor.
    return np.linalg.inv(np.linalg.cholesky(own + 1e-9 * variance * np.eye(own.shape[1])))


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
        run = replace(self.plan, starts=starts).best(part, k, self.seed)
        return Mixture.around(part, run.centers, run.labels).describe


# ---- the number of clusters ----------------------------------------------------------------------


def choose_clusters(rows: ClusterRows, plan: Plan, seed: int) -> ScoredChoice | None:
    """The number of clusters under which unseen rows are least surprising, if there are gaps.

    Of the numbers whose mean surprise is within one standard error of the least, row by row, the
    smallest is taken, and of those up to it the largest whose clusters each fold finds, with a gap
    between any two neighbouring ones. Large tables are judged by a sample. None if there are too
    few distinct rows to leave some out.
    """
    distinct = rows.distinct
    if len(distinct.first) < FOLDS:
        return None
    chosen = np.sort(drawn(np.arange(len(distinct.first)), CHOICE_ROWS))
    is_whole = len(chosen) == len(distinct.first)
    part = ClusterRows(rows.design.rows(distinct.first[chosen]), distinct.weights[chosen])
    trials = _Trials(part, replace(plan, starts=max(plan.starts, LEAST_STARTS)), seed)
    tried = trials.search()
    found = [trials.of(k).described for k in tried]
    plain = float(np.average(found[0][:, 0], weights=part.weights))
    shown = np.stack([1 - each[:, 0] / max(plain, np.finfo(float).tiny) for each in found], axis=1)
    by = -np.stack([each[:, 1] for each in found], axis=1)
    likely = _simplest(by, part.weights)
    choice = ScoredChoice.of(
        {"n_clusters": np.array(tried)},
        shown,
        by,
        part.weights,
        metric="log density",
        select="1se",
        chosen=next(place for place in range(likely, -1, -1) if trials.are_apart(tried[place])),
        is_whole=is_whole,
    )
    return replace(choice, method=f"{FOLDS}-fold")


@dataclass(frozen=True, eq=False)
class _Trial:
    """Clusters of all folds but one, for each: their centres, and what they say of the other rows.

    `described` has distortion and surprise of each row, (n, 2).
    """

    centers: list[Array]
    described: Array


class _Trials:
    """Numbers of clusters that are tried on the same folds."""

    def __init__(self, rows: ClusterRows, plan: Plan, seed: int):
        self.rows, self.plan, self.seed = rows, plan, seed
        self.folds = splits(dealt(np.arange(rows.n), FOLDS))
        self._done: dict[int, _Trial] = {}

    def search(self) -> list[int]:
        """The numbers tried, in order: on from 1, until several have brought nothing."""
        numbers = _numbers(self.rows.n * (FOLDS - 1) // FOLDS)
        tried = list[int]()
        best = 0
        for k in numbers:
            tried.append(k)
            best = int(np.argmin([self._surprise(j) for j in tried]))
            if len(tried) - 1 - best >= PATIENCE:
                break
        # Between the neighbours of the best, no number is left out.
        around = range(tried[max(best - 1, 0)], tried[min(best + 1, len(tried) - 1)] + 1)
        return sorted({*tried, *around})

    def of(self, k: int) -> _Trial:
        """The clusters of each fold's other rows."""
        if k not in self._done:
            self._done[k] = self._tried(k)
        return self._done[k]

    def _tried(self, k: int) -> _Trial:
        centers, out = [], np.empty((self.rows.n, 2))
        for train, test in self.folds:
            part = self._part(train)
            run = self.plan.best(part, k, self.seed)
            mixture = Mixture.around(part, run.centers, run.labels)
            out[test] = mixture.describe(self.rows.design.rows(test))
            centers.append(run.centers)
        return _Trial(centers, out)

    def _surprise(self, k: int) -> float:
        return float(np.average(self.of(k).described[:, 1], weights=self.rows.weights))

    def _part(self, rows: Array) -> ClusterRows:
        return ClusterRows(self.rows.design.rows(rows), self.rows.weights[rows])

    def are_apart(self, k: int) -> bool:
        """Whether the clusters of each fold are those of all rows, with gaps between neighbours.

        In a gap, rows that are held out are rarer than near the centres on both sides.
        """
        if k == 1:
            return True
        whole = self.plan.best(self.rows, k, self.seed).centers.astype(np.float64)
        pairs = list(neighbours(whole))
        counts = np.zeros((len(pairs), 3))
        for (train, test), found in zip(self.folds, self.of(k).centers):
            centers = found.astype(np.float64)
            if not are_the_same(centers, whole):
                return False
            own = in_order_of(centers, whole)
            counts += self._counts(self._part(train), self._part(test), own, pairs)
        return all(
            part_midway(each) <= MOST_MIDWAY and doubt(each) <= MOST_DOUBT for each in counts
        )

    @staticmethod
    def _counts(train: ClusterRows, test: ClusterRows, centers: Array, pairs: list) -> Array:
        """The rows held out at both ends and midway, for each pair of clusters of the others."""
        in_rows = np.ascontiguousarray(centers, dtype=train.dtype)
        found, nearest = (part.nearest(in_rows)[0] for part in (train, test))
        counts = np.zeros((len(pairs), 3))
        # With many columns nothing but the direction of the centres is known.
        is_wide = train.d > WIDE
        dense = None if is_wide else train.design.dense()
        for place, (a, b) in enumerate(pairs):
            own = np.flatnonzero((nearest == a) | (nearest == b))
            if dense is None:
                direction = centers[b] - centers[a]
                line = Line(direction, float(centers[a] @ direction), float(centers[b] @ direction))
                along = test.design.rows(own).times(direction[:, None].astype(test.dtype))
                line = line._replace(direction=np.ones(1))
                counts[place] = counts_between(along, line, test.weights[own])
                continue
            ends = [np.flatnonzero(found == end) for end in (a, b)]
            line_found = line_between(
                dense[ends[0]], dense[ends[1]], (train.weights[ends[0]], train.weights[ends[1]])
            )
            rows = test.design.rows(own).dense()
            counts[place] = counts_between(rows, line_found, test.weights[own])
        return counts


def _numbers(most: int) -> Iterator[int]:
    """1, 2, …, and from 10 on a fifth more each time; at most a third of the rows."""
    k = 1
    while k == 1 or k <= min(MOST_CLUSTERS, most // 3):
        yield k
        k += max(1, k // 5 if k >= 10 else 1)


def _simplest(by: Array, weights: Array) -> int:
    """The first column within one standard error, of the paired difference, of the best."""
    best = int(np.argmax(np.average(by, axis=0, weights=weights)))
    behind, errors = mean_and_error(by[:, [best]] - by, weights)
    return int(np.flatnonzero(behind <= errors)[0])
