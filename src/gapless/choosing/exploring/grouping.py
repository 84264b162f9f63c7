"""How many groups of rows there are: those with a gap between them that come back.

Each trial splits the rows into halves and looks for k groups in both. Two groups are apart if rows
of the *other* half are clearly rarer midway between the two centres than near either of them: a
single cloud of any shape, long, skewed or heavy-tailed, has no such gap. And groups must come back:
both halves must find the same ones (Hennig 2007, Computational Statistics and Data Analysis 52).
The answer is the largest number of groups that pass, or one cloud if none does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.optimize import linear_sum_assignment
from scipy.stats import binom

from ..._ground.interrupt import TimeLimit, check
from ...data import Column, LevelContrasts
from .components import KMeans

Array = np.ndarray

MOST_GROUPS = 10
# Halves drawn, the rows they are drawn from, and the starts of each fit.
TRIALS, MOST_ROWS, STARTS = 5, 6_000, 4
# A gap is there if twice the median p-value of the trials is below this: such a median is valid
# however the trials depend on each other (Meinshausen, Meier and Bühlmann 2009, JASA 104).
SURE = 0.05
# A group that finds at most this much of itself again is not one (Hennig 2007).
LEAST_AGREEMENT = 0.6
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
    agreement : float
        How much of itself the least stable group finds again in the other half, from 0 to 1.
    agreements : tuple of float
        The same for each group, the largest first.
    trials : int
        The number of halves drawn.
    """

    count: int
    doubt: float
    agreement: float
    agreements: tuple[float, ...]
    trials: int

    @property
    def is_apart(self) -> bool:
        """Whether there is a gap between any two neighbours."""
        return self.doubt < SURE

    @property
    def comes_back(self) -> bool:
        """Whether every group comes back."""
        return self.agreement >= LEAST_AGREEMENT


def try_groups(
    scores: Array,
    blurred: Array,
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
    counts : sequence of int
        The numbers of groups.
    seed : int
        Seed of the halves and of the starts.
    tell : callable
        Called with words about the work.

    Returns
    -------
    list of Tried
        Empty if the rows are too few, or the time limit passes before the first trial ends.
    """
    draws = np.random.default_rng(seed)
    keep = np.sort(draws.permutation(len(scores))[:MOST_ROWS])
    scores, blurred = scores[keep], blurred[keep]
    possible = [k for k in counts if 2 * k <= len(scores) // 2]
    results: dict[int, list[tuple[float, Array]]] = {k: [] for k in possible}
    try:
        for trial in range(TRIALS):
            tell(f"looking for groups, trial {trial + 1} of {TRIALS}")
            order = draws.permutation(len(scores))
            halves = order[: len(order) // 2], order[len(order) // 2 :]
            seeds = [int(one) for one in draws.integers(2**31, size=2)]
            found = {}
            for k in possible:
                check()
                centres = [_centres(scores[half], k, at) for half, at in zip(halves, seeds)]
                found[k] = _judged(scores, blurred, halves, centres)
            for k, one in found.items():
                results[k].append(one)
    except TimeLimit:
        pass
    return [_summary(k, found) for k, found in results.items() if found]


def _centres(scores: Array, count: int, seed: int) -> Array:
    model = KMeans(n_clusters=count, n_init=STARTS, random_state=seed).fit(scores)
    return np.asarray(model.cluster_centers_)


def _judged(
    scores: Array, blurred: Array, halves: tuple[Array, Array], centres: list[Array]
) -> tuple[float, Array]:
    """The least visible gap of two solutions, and how much of each group both agree on."""
    first, second = centres
    labels = [_nearest(scores, each) for each in centres]
    overlap = _overlaps(*labels, len(first))
    mine, other = linear_sum_assignment(-overlap)
    second = second[other[np.argsort(mine)]]
    # Each solution is judged by the rows of the other half.
    rows = [blurred[halves[1]], blurred[halves[0]]]
    doubts = [
        _doubt(_counts_between(rows[0], first, a, b) + _counts_between(rows[1], second, a, b))
        for a, b in _neighbours(first)
    ]
    sizes = np.bincount(labels[0], minlength=len(first))
    agreements = overlap[mine, other][np.argsort(-sizes[mine], kind="stable")]
    return max(doubts), agreements


def _nearest(scores: Array, centres: Array) -> Array:
    """The centre nearest to each row."""
    return np.argmin((centres**2).sum(axis=1) - 2 * scores @ centres.T, axis=1)


def _overlaps(first: Array, second: Array, count: int) -> Array:
    """Jaccard's index of every two groups: what they share, of what either has."""
    together = np.bincount(first * count + second, minlength=count**2).reshape(count, count)
    either = together.sum(axis=1)[:, None] + together.sum(axis=0)[None] - together
    return together / np.maximum(either, 1)


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


def _counts_between(rows: Array, centres: Array, a: int, b: int) -> Array:
    """Rows of two groups near the first centre, midway, and near the second, along their line."""
    own = np.isin(_nearest(rows, centres), (a, b))
    line = centres[b] - centres[a]
    along = (rows[own] - centres[a]) @ line / max(line @ line, np.finfo(float).tiny)
    return np.array([np.sum(np.abs(along - place) < REACH) for place in (0.0, 0.5, 1.0)])


def _doubt(counts: Array) -> float:
    """The p-value of a gap: a density with one peak is at least as high midway as at one end."""
    near, midway, far = counts
    return float(max(binom.cdf(midway, midway + end, 0.5) for end in (near, far)))


def _summary(count: int, found: list[tuple[float, Array]]) -> Tried:
    agreements = np.mean([each for _, each in found], axis=0)
    return Tried(
        count=count,
        doubt=min(2 * float(np.median([doubt for doubt, _ in found])), 1.0),
        agreement=float(agreements.min()),
        agreements=tuple(agreements.tolist()),
        trials=len(found),
    )


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
