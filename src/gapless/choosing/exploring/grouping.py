"""How many groups of rows there are: those with a gap between them that come back.

Halves of the rows are drawn, and k groups found in each. Two groups are apart if rows that were
*not* drawn are clearly rarer midway between the two centres than near either of them: a single
cloud of any shape, long, skewed or heavy-tailed, has no such gap. And groups must come back in the
halves (Hennig 2007, Computational Statistics and Data Analysis 52). The answer is the largest
number of groups that pass. Components that vary for other reasons may hide groups: if no number
passes on all of them, it is tried on the real ones, and along those single ones that show a gap.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy.optimize import linear_sum_assignment
from scipy.stats import binom

from ..._ground.interrupt import TimeLimit, check, deadline
from ...data import Column, LevelContrasts
from ...models.clustering import KMeans
from ...unseen import stability

Array = np.ndarray

MOST_GROUPS = 10
# The largest number of groups along a single component.
MOST_ALONG_ONE = 5
# Halves drawn, at least and at most, the rows they are drawn from, and the starts of each fit.
FEWEST_DRAWS, DRAWS, MOST_ROWS, STARTS = 4, 10, 6_000, 2
# The p-value below which a gap is there.
SURE = 0.05
# A group of which less comes back is not a stable one (Hennig 2007).
LEAST_AGREEMENT = 0.75
# Half the width of the places where rows are counted, in distances between two centres.
REACH = 1 / 6
# How far a level is spread out, relative to its distance from the mean: two levels of a single
# category then have no gap between them.
BLUR = 0.75


@dataclass(frozen=True, slots=True)
class Tried:
    """A number of groups that was tried.

    Attributes
    ----------
    count : int
        The number of groups.
    doubt : float
        The p-value of the least visible gap between two neighbouring groups.
    agreements : tuple of float
        How much of each group comes back in the halves drawn, from 0 to 1; the largest group first.
    draws : int
        The number of halves drawn.
    """

    count: int
    doubt: float
    agreements: tuple[float, ...]
    draws: int

    @property
    def agreement(self) -> float:
        """How much of the least stable group comes back."""
        return min(self.agreements)

    @property
    def is_apart(self) -> bool:
        """Whether there is a gap between any two neighbours."""
        return self.doubt < SURE

    @property
    def comes_back(self) -> bool:
        """Whether every group comes back."""
        return self.agreement >= LEAST_AGREEMENT


@dataclass(frozen=True, slots=True)
class Looked:
    """What was tried in the first space in which a number of groups passes, or in the whole one.

    Attributes
    ----------
    tried : list of Tried
        The numbers of groups; empty if the rows are too few, or the time limit passed.
    used : tuple of int or None
        The components that the groups were found on; None for all.
    """

    tried: list[Tried]
    used: tuple[int, ...] | None = None

    def masked(self, scores: Array) -> Array:
        """Scores with 0 in place of components that were not used."""
        if self.used is None:
            return scores
        kept = np.zeros_like(scores)
        kept[:, self.used] = scores[:, self.used]
        return kept


def look_for_groups(
    scores: Array,
    blurred: Array,
    units: Array,
    counts: Sequence[int],
    real: int,
    seed: int,
    tell: Callable[[str], None],
) -> Looked:
    """Try numbers of groups on all components, then on the first `real` ones, then along each."""
    everywhere = Looked(try_groups(scores, blurred, units, counts, seed, tell))
    if not everywhere.tried or best_of(everywhere.tried):
        return everywhere
    width = scores.shape[1]
    few = [k for k in counts if k <= MOST_ALONG_ONE]
    parts = [(tuple(range(real)), list(counts))] if 0 < real < width else []
    if width > 1:
        parts += [((j,), few) for j in range(width) if (j,) != tuple(range(real))]
    for used, numbers in parts:
        columns = list(used)
        some, spread = scores[:, columns], blurred[:, columns]
        try:
            if len(used) == 1 and not _shows_gap(some, spread, numbers, seed):
                continue
        except TimeLimit:
            break
        tried = try_groups(some, spread, units, numbers, seed, tell)
        # One of many parts may show a gap by chance.
        sure = [replace(one, doubt=min(one.doubt * len(parts), 1.0)) for one in tried]
        if best_of(sure):
            return Looked(sure, used)
    return everywhere


def _shows_gap(scores: Array, blurred: Array, counts: Sequence[int], seed: int) -> bool:
    """Whether all rows, without halves, show a gap between some number of groups."""
    for k in counts:
        check()
        if 2 * k > len(scores):
            break
        model = KMeans(n_clusters=k, n_init=STARTS, random_state=seed).fit(scores[:MOST_ROWS])
        centres = np.asarray(model.cluster_centers_)
        nearest = _nearest(blurred, centres)
        doubts = [
            _doubt(
                _counts_between(blurred[(nearest == a) | (nearest == b)], centres[a], centres[b])
            )
            for a, b in _neighbours(centres)
        ]
        if max(doubts) < SURE:
            return True
    return False


def try_groups(
    scores: Array,
    blurred: Array,
    units: Array,
    counts: Sequence[int],
    seed: int,
    tell: Callable[[str], None],
) -> list[Tried]:
    """Try numbers of groups.

    Parameters
    ----------
    scores : ndarray of shape (n, m)
        Rows in the space of the components, in canonical order.
    blurred : ndarray of shape (n, m)
        The same rows with values spread out between neighbouring ones, to look for gaps in.
    units : ndarray of int, shape (n,)
        Equal rows have equal numbers, and are drawn together.
    counts : sequence of int
        The numbers of groups.
    seed : int
        Seed of the draws and of the starts.
    tell : callable
        Called with words about the work.

    Returns
    -------
    list of Tried
        Empty if the rows are too few, or the time limit passes.
    """
    keep = np.arange(len(scores))
    if len(keep) > MOST_ROWS:
        keep = np.sort(np.random.default_rng(seed).permutation(len(scores))[:MOST_ROWS])
    possible = [k for k in counts if 2 * k <= len(np.unique(units[keep])) // 2]
    if not possible:
        return []
    try:
        tell(f"looking for {possible[0]} to {possible[-1]} groups")
        halves = _Halves(scores[keep], blurred[keep], possible, seed, tell)
        found = stability(
            halves.labels_of,
            halves.labels,
            units=units[keep],
            draws=halves.draws,
            most_rows=MOST_ROWS,
            seed=seed,
        )
    except TimeLimit:
        return []
    return [halves.summary(k, one.clusters) for k, one in enumerate(found)]


class _Halves:
    """Groups found in halves of the rows, and how many of the other rows are between them."""

    def __init__(
        self, scores: Array, blurred: Array, counts: Sequence[int], seed: int, tell: Callable
    ):
        self.scores, self.blurred, self.counts, self.seed = scores, blurred, counts, seed
        self.tell, self.drawn = tell, 0
        began = time.monotonic()
        self.centres = [self._centres(scores, k) for k in counts]
        labels = [_nearest(scores, each) for each in self.centres]
        # Groups are in the order of their sizes, the largest first.
        orders = [
            np.argsort(-np.bincount(of, minlength=k), kind="stable")
            for of, k in zip(labels, counts)
        ]
        self.centres = [each[order] for each, order in zip(self.centres, orders)]
        self.labels = np.column_stack([_nearest(scores, each) for each in self.centres])
        self.pairs = [list(_neighbours(each)) for each in self.centres]
        self.between = [np.zeros((len(pairs), 3)) for pairs in self.pairs]
        left, spent = deadline() - time.monotonic(), time.monotonic() - began
        self.draws = int(np.clip(left / max(spent, 1e-9), FEWEST_DRAWS, DRAWS))

    def _centres(self, rows: Array, count: int) -> Array:
        check()
        model = KMeans(n_clusters=count, n_init=STARTS, random_state=self.seed).fit(rows)
        return np.asarray(model.cluster_centers_)

    def labels_of(self, drawn: Array) -> Array:
        """The groups found in some rows; the other rows show whether there are gaps."""
        self.drawn += 1
        self.tell(f"looking for groups in {self.drawn} of {self.draws} halves of the rows")
        is_drawn = np.zeros(len(self.scores), dtype=bool)
        is_drawn[drawn] = True
        rows, others = self.scores[drawn], self.blurred[~is_drawn]
        labels = []
        for k, count in enumerate(self.counts):
            centres = _in_order_of(self._centres(rows, count), self.centres[k])
            nearest = _nearest(others, centres)
            for pair, (a, b) in enumerate(self.pairs[k]):
                own = others[(nearest == a) | (nearest == b)]
                self.between[k][pair] += _counts_between(own, centres[a], centres[b])
            labels.append(_nearest(rows, centres))
        return np.column_stack(labels)

    def summary(self, k: int, agreements: Array) -> Tried:
        """What the halves say of a number of groups."""
        # Each row was among the others in about half of the draws, and counts once.
        counts = np.round(self.between[k] / (0.5 * self.draws)).astype(int)
        return Tried(
            count=self.counts[k],
            doubt=max(_doubt(each) for each in counts),
            agreements=tuple(np.nan_to_num(agreements).tolist()),
            draws=self.draws,
        )


def _in_order_of(centres: Array, others: Array) -> Array:
    """Centres in the order of those that they are nearest to, one each."""
    apart = ((centres[:, None] - others[None]) ** 2).sum(axis=2)
    own, place = linear_sum_assignment(apart)
    return centres[own[np.argsort(place)]]


def _nearest(scores: Array, centres: Array) -> Array:
    """The centre nearest to each row."""
    return np.argmin((centres**2).sum(axis=1) - 2 * scores @ centres.T, axis=1)


def _neighbours(centres: Array) -> Iterator[tuple[int, int]]:
    """Pairs without a third centre in the ball between them (the graph of Gabriel and Sokal)."""
    count = len(centres)
    for a in range(count):
        for b in range(a + 1, count):
            middle = (centres[a] + centres[b]) / 2
            reach = np.sum((centres[a] - middle) ** 2)
            others = np.delete(np.sum((centres - middle) ** 2, axis=1), [a, b])
            if np.all(others >= reach):
                yield a, b


def _counts_between(rows: Array, first: Array, second: Array) -> Array:
    """Rows near the first centre, midway, and near the second, along the line between them."""
    line = second - first
    along = (rows - first) @ line / max(line @ line, np.finfo(float).tiny)
    return np.array([np.sum(np.abs(along - place) < REACH) for place in (0.0, 0.5, 1.0)])


def _doubt(counts: Array) -> float:
    """The p-value of a gap: a density with one peak is at least as high midway as at one end."""
    near, midway, far = counts
    return float(max(binom.cdf(midway, midway + end, 0.5) for end in (near, far)))


def best_of(tried: Sequence[Tried]) -> Tried | None:
    """The largest number of groups that are apart and come back; None for one cloud."""
    good = [one for one in tried if one.is_apart and one.comes_back]
    return max(good, key=lambda one: one.count, default=None)


# ---- values spread out ---------------------------------------------------------------------------


def blurred_frame(frame: pl.DataFrame, columns: Sequence[Column], seed: int) -> pl.DataFrame:
    """Numbers and dates spread between neighbouring values, so that whole numbers have no gaps.

    Each value is drawn evenly from between the midpoints to the next smaller and the next larger
    value of its column.
    """
    draws = np.random.default_rng(seed)
    changed = []
    for column in columns:
        series = frame[column.name]
        if column.given_as == "date":
            days = series.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()
            moved = pl.Series(column.name, _blurred(days, draws), nan_to_null=True)
            changed.append(moved.cast(pl.Int64).cast(pl.Datetime("us")))
        elif column.role == "number":
            values = series.fill_null(np.nan).to_numpy()
            changed.append(pl.Series(column.name, _blurred(values, draws), nan_to_null=True))
    return frame.with_columns(changed)


def _blurred(values: Array, draws: np.random.Generator) -> Array:
    distinct, places = np.unique(values[np.isfinite(values)], return_inverse=True)
    if len(distinct) < 2:
        return values
    middles = (distinct[1:] + distinct[:-1]) / 2
    # The outermost values reach as far outwards as inwards.
    edges = np.concatenate(
        [[2 * distinct[0] - middles[0]], middles, [2 * distinct[-1] - middles[-1]]]
    )
    spread = values.copy()
    low, high = edges[places], edges[places + 1]
    spread[np.isfinite(values)] = low + (high - low) * draws.random(len(places))
    return spread


def blur_levels(prepared: Array, contrasts: LevelContrasts | None, seed: int) -> Array:
    """Prepared rows whose categories, the last columns, are spread around their levels."""
    if contrasts is None:
        return prepared
    draws = np.random.default_rng(seed + 1)
    blurred = prepared.copy()
    first = prepared.shape[1] - sum(max(len(s) - 1, 0) for s in contrasts.shares_.values())
    for shares in contrasts.shares_.values():
        width = max(len(shares) - 1, 0)
        part = prepared[:, first : first + width]
        # A level of share p is at the squared distance 1/p − 1 from the mean.
        size = BLUR * np.sqrt(1.0 + np.sum(part**2, axis=1))
        blurred[:, first : first + width] += size[:, None] * draws.standard_normal(part.shape)
        first += width
    return blurred
