"""How stable a clustering is: the same rows clustered again within random parts of the data.

A clustering without targets has no score on unseen rows, but its clusters can be found again, or
not, in other samples. Rows are drawn without replacement, clustered again, and both clusterings of
the drawn rows are compared: by the adjusted Rand index of all pairs (Ben-Hur, Elisseeff and Guyon
2002, PSB; Hubert and Arabie 1985), and cluster by cluster by Jaccard's index of the best match
(Hennig 2007, CSDA 52).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .._ground.interrupt import check
from .._ground.partitions import Agreement
from .paired import SURE
from .result import Generalization

Array = np.ndarray

METRIC = "adjusted Rand index"
# Half of the rows are drawn, as Hennig (2007) proposes: fewer would be another problem, more would
# agree because they are nearly the same rows.
SHARE = 0.5
DRAWS = 20
# Rows of a draw that there must be for each cluster.
PER_CLUSTER = 2
# Agglomeration takes the square of this many distances.
MOST_ROWS = 2000
# An adjusted Rand index that people call agreement (Steinley 2004, Psychological Methods 9), and
# a Jaccard index below which Hennig (2007) calls a cluster dissolved, or nearly.
STABLE = 0.75
DISSOLVED = 0.6


@dataclass(frozen=True, eq=False)
class Stability:
    """How well a clustering is found again in random parts of its rows. Prints as a sentence.

    Attributes
    ----------
    agreements : ndarray of shape (draws,)
        The adjusted Rand index between the clusters of all rows and those found again in each
        draw: 1 if they are the same, about 0 if they agree by chance only.
    clusters : ndarray of shape (k,)
        For each cluster, by its label, the mean over the draws of the largest Jaccard index with a
        cluster found again; NaN if none of its rows was ever drawn.
    share : float
        The share of the rows in a draw.
    """

    agreements: Array
    clusters: Array
    share: float

    @property
    def mean(self) -> float:
        """The mean agreement over the draws."""
        return float(self.agreements.mean())

    @property
    def standard_error(self) -> float:
        """Of the mean, over the draws."""
        draws = len(self.agreements)
        return float(self.agreements.std(ddof=1) / math.sqrt(draws)) if draws > 1 else math.nan

    def __str__(self) -> str:
        lost = int(np.sum(self.clusters < DISSOLVED))
        verb = "dissolves" if lost == 1 else "dissolve"
        parts = f"{lost} of {len(self.clusters)} clusters {verb}" if lost else "none dissolves"
        return (
            f"{METRIC} {self.mean:.2f} ± {self.standard_error:.2f} with the clusters found in "
            f"{len(self.agreements)} random parts of {100 * self.share:.0f} % of the rows, and "
            f"{parts}"
        )


def stability(
    labels_of: Callable[[Array], Array],
    labels: Array,
    weights: Array | None = None,
    units: Array | None = None,
    *,
    draws: int = DRAWS,
    share: float = SHARE,
    most_rows: int = MOST_ROWS,
    seed: int = 0,
) -> list[Stability]:
    """How well clusterings are found again in random parts of their rows.

    Parameters
    ----------
    labels_of : callable
        Clusters some of the rows: takes their positions, (r,), and returns their labels, (r, K),
        a column for each clustering compared, or (r,) if there is one. Called once for each draw.
    labels : ndarray of int, shape (n,) or (n, K)
        The clusters of all rows, from 0 on, a column for each clustering; −1 for rows in none.
    weights : ndarray of shape (n,), optional
        How often each row counts; rows of weight 0 are never drawn.
    units : ndarray of int, shape (n,), optional
        Rows of equal unit are drawn together: equal rows, whose units should be in the order of
        their content. By default every row is a unit.
    draws : int, default=20
        How many parts are drawn.
    share : float, default=0.5
        The share of the units in each.
    most_rows : int, default=2000
        The largest number of units in a draw.
    seed : int, default=0
        Of the draws.

    Returns
    -------
    list of Stability
        One for each column of the labels.
    """
    labels = labels[:, None] if labels.ndim == 1 else labels
    n = len(labels)
    weights = np.ones(n) if weights is None else weights
    counted = np.flatnonzero((weights > 0) & (labels >= 0).all(axis=1))
    units = np.arange(n) if units is None else units
    _, unit = np.unique(units[counted], return_inverse=True)
    total = int(unit.max(initial=-1)) + 1
    size = min(max(round(share * total), 1), most_rows)
    rng = np.random.default_rng(seed)
    agreements = np.empty((draws, labels.shape[1]))
    overlaps: list[list[Array]] = [[] for _ in range(labels.shape[1])]
    for draw in range(draws):
        check()
        is_drawn = np.zeros(total, dtype=bool)
        is_drawn[rng.choice(total, size, replace=False)] = True
        rows = counted[is_drawn[unit]]
        again = np.asarray(labels_of(rows))
        again = again[:, None] if again.ndim == 1 else again
        for k in range(labels.shape[1]):
            agreed = Agreement(labels[rows, k], again[:, k], weights[rows])
            agreements[draw, k] = agreed.index
            table = _shared_weights(labels[rows, k], again[:, k], weights[rows])
            count = int(labels[:, k].max(initial=-1)) + 1
            overlaps[k].append(_best_overlaps(table, count))
    return [
        Stability(agreements[:, k], _means(np.stack(overlaps[k])), size / max(total, 1))
        for k in range(labels.shape[1])
    ]


def _shared_weights(labels: Array, again: Array, weights: Array) -> Array:
    """The weight of the rows in cluster i of one clustering and j of the other, at [i, j]."""
    columns = int(again.max(initial=0)) + 1
    table = np.zeros((int(labels.max(initial=0)) + 1, columns))
    np.add.at(table, (labels, again), weights)
    return table


def _best_overlaps(table: Array, count: int) -> Array:
    """For each of `count` clusters the largest Jaccard index with one found again."""
    one, other = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
    union = one + other - table
    best = np.max(np.divide(table, union, out=np.zeros_like(table), where=union > 0), axis=1)
    found = np.full(count, np.nan)
    found[: len(best)] = np.where(one[:, 0] > 0, best, np.nan)
    return found


def _means(values: Array) -> Array:
    """The mean of each column over what is not NaN."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    sums = np.where(known, values, 0.0).sum(axis=0)
    return np.where(count > 0, sums / np.maximum(count, 1), np.nan)


def judge_stability(
    found: Sequence[Stability],
    counts: Sequence[int],
    separations: Sequence[float],
    own: int,
    most: float = math.inf,
) -> Generalization:
    """Whether a clustering has more or fewer clusters than the data supports.

    Parameters
    ----------
    found : sequence of Stability
        Of clusterings with several numbers of clusters, compared on the same draws.
    counts : sequence of int
        Their numbers of clusters.
    separations : sequence of float
        How well their clusters are separated, e.g. by the mean silhouette, from −1 to 1.
    own : int
        Which of them is judged.
    most : float, default=inf
        The largest number of clusters that can be judged: clusters of single rows are found again
        in any sample.

    Returns
    -------
    Generalization
        With the agreement in place of a score on unseen rows. "Over-fitted": a smaller number of
        clusters is clearly more stable. "Under-fitted": a larger one is as stable and clearly
        better separated. "Balanced": neither, and the clusters are stable. Otherwise "unknown".
    """
    mine, k = found[own], counts[own]
    if k < 2:
        return _without_score("one cluster is found again in any sample, so this says nothing")
    if k > most:
        return _without_score(
            f"{k} clusters have fewer than {PER_CLUSTER} rows each in a random part of the rows, "
            "and single rows are found again in any sample, so this says nothing"
        )
    kept = [i for i in range(len(counts)) if counts[i] <= most]
    kind, advice = _compared(
        [found[i] for i in kept],
        [counts[i] for i in kept],
        [separations[i] for i in kept],
        kept.index(own),
    )
    verdict = f"{kind}: {mine}; {advice}."
    how = f"{len(mine.agreements)} random parts of {100 * mine.share:.0f} % of the rows"
    return Generalization(
        METRIC, 1.0, mine.mean, mine.standard_error, 1.0 - mine.mean, how, None, verdict
    )


def _compared(
    found: Sequence[Stability], counts: Sequence[int], separations: Sequence[float], own: int
) -> tuple[str, str]:
    """The kind of verdict, and its reason."""
    mine, k = found[own], counts[own]
    others = [i for i in range(len(counts)) if i != own and counts[i] > 1]
    fewer = [i for i in others if counts[i] < k and _is_clearly_higher(found[i], mine)]
    if fewer:
        best = max(fewer, key=lambda i: found[i].mean)
        return "over-fitted", (
            f"{counts[best]} clusters are clearly more stable, at {found[best].mean:.2f}"
        )
    more = [
        i
        for i in others
        if counts[i] > k
        and found[i].mean >= STABLE
        and not _is_clearly_higher(mine, found[i])
        and separations[i] > separations[own] + 0.05
    ]
    if more:
        best = max(more, key=lambda i: separations[i])
        return "under-fitted", (
            f"{counts[best]} clusters are as stable, at {found[best].mean:.2f}, and better "
            f"separated: their mean silhouette is {separations[best]:.2f}, not "
            f"{separations[own]:.2f}"
        )
    if mine.mean >= STABLE:
        return "balanced", "no smaller number of clusters is clearly more stable"
    return "unknown", "no number of clusters that was tried is stable"


def _is_clearly_higher(one: Stability, other: Stability) -> bool:
    """Whether one agrees more on the same draws, by far more than draws vary."""
    lead = one.agreements - other.agreements
    error = lead.std(ddof=1) / math.sqrt(len(lead)) if len(lead) > 1 else math.inf
    return bool(lead.mean() > max(SURE * error, 0.05))


class ResampledClusters(ABC):
    """A clustering that can be repeated on some of the rows, with several numbers of clusters.

    Parameters
    ----------
    weights : ndarray of shape (n,)
        Weights ≥ 0; rows of weight 0 are in no cluster.
    units : ndarray of int, shape (n,)
        Which rows are equal, in the order of their content.
    """

    metric = METRIC
    has_classes = False
    # The clusters of all rows, (n, K), a column for each number of clusters; which is judged.
    labels: Array
    counts: list[int]
    own: int

    def __init__(self, weights: Array, units: Array):
        self.weights, self.units = weights, units
        self.is_counted = weights > 0

    @abstractmethod
    def labels_of(self, rows: Array) -> Array:
        """The clusters of some rows alone, (r, K)."""

    @property
    @abstractmethod
    def separations(self) -> Sequence[float]:
        """How well the clusters of each column are separated."""

    def judged(self, groups: Array | None = None) -> Generalization:
        """The stability of the clusters, and a verdict; groups are drawn as a whole."""
        units = self.units if groups is None else groups
        if len(np.unique(units[self.is_counted])) < 4:
            return _without_score("there are fewer than four distinct rows to draw from")
        found = stability(self.labels_of, self.labels, self.weights, units)
        drawn = min(SHARE * len(np.unique(units[self.is_counted])), MOST_ROWS)
        return judge_stability(found, self.counts, self.separations, self.own, drawn / PER_CLUSTER)

    def sampled(self, most: int, seed: int = 0) -> Array:
        """Some of the rows, at most so many distinct ones, each once."""
        kept = np.flatnonzero(self.is_counted)
        _, first = np.unique(self.units[kept], return_index=True)
        rows = kept[first]
        if len(rows) <= most:
            return rows
        chosen = np.random.default_rng(seed).choice(len(rows), most, replace=False)
        return rows[np.sort(chosen)]


def _without_score(reason: str) -> Generalization:
    nan = math.nan
    return Generalization(METRIC, 1.0, nan, nan, nan, "none", None, f"unknown: {reason}.")
