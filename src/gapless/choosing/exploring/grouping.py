"""How many groups of rows there are: those with a gap between them that come back.

Halves of the rows are drawn, and k groups found in each. Two groups are apart if rows that were
*not* drawn are clearly rarer midway between the two centres than near either of them: a single
cloud of any shape, long, skewed or heavy-tailed, has no such gap. And groups must come back in the
halves (Hennig 2007, Computational Statistics and Data Analysis 52). The answer is the largest
number of groups that pass, or one cloud if none does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from ..._ground.interrupt import TimeLimit, check, deadline
from ...data import Column, LevelContrasts
from ...models.clustering import (
    KMeans,
    counts_between,
    doubt,
    in_order_of,
    line_between,
    neighbours,
    part_midway,
)
from ...unseen import stability

Array = np.ndarray

MOST_GROUPS = 10
# Halves drawn, at least and at most, the rows they are drawn from, and the starts of each fit.
FEWEST_DRAWS, DRAWS, MOST_ROWS, STARTS = 4, 10, 6_000, 2
# The p-value below which a gap is there, and how many rows may be midway for each near a centre: a
# slight dip of many rows, such as that of an arc, is no gap.
SURE, MOST_BETWEEN = 0.05, 0.5
# From this p-value of all rows on, no halves are drawn.
HOPELESS = 0.5
# A group of which less comes back is not a stable one (Hennig 2007).
LEAST_AGREEMENT = 0.75
# How far a level is spread out, relative to its distance from the mean: two levels of a single
# category then have no gap between them.
BLUR = 0.75
# How far a number is spread out at most, in parts of the range, for all rows.
SPREAD = 4.0


@dataclass(frozen=True, slots=True)
class Tried:
    """A number of groups that was tried.

    Attributes
    ----------
    count : int
        The number of groups.
    doubt : float
        The p-value of the least visible gap between two neighbouring groups.
    between : float
        The largest number of rows midway between two neighbouring groups, for each near the
        centre with fewer of them.
    agreements : tuple of float
        How much of each group comes back in the halves drawn, from 0 to 1; the largest group first.
        Empty if no halves were drawn, since even all rows together show no gap.
    draws : int
        The number of halves drawn.
    """

    count: int
    doubt: float
    between: float
    agreements: tuple[float, ...]
    draws: int

    def among(self, others: int) -> Tried:
        """The same, one of several chances to find a gap where there is none (Bonferroni)."""
        return replace(self, doubt=min(others * self.doubt, 1.0))

    @property
    def agreement(self) -> float | None:
        """How much of the least stable group comes back; None if no halves were drawn."""
        return min(self.agreements, default=None)

    @property
    def is_apart(self) -> bool:
        """Whether there is a gap between any two neighbours."""
        return self.doubt < SURE and self.between <= MOST_BETWEEN

    @property
    def comes_back(self) -> bool:
        """Whether every group comes back."""
        return (self.agreement or 0.0) >= LEAST_AGREEMENT


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
    scores : ndarray of shape (n, q)
        Rows in the space in which to group them, in canonical order.
    blurred : ndarray of shape (n, m)
        The same rows in a space that contains it, with values spread out between neighbouring
        ones, to look for gaps in.
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
    keep = _some_rows(len(scores), seed)
    possible = [k for k in counts if 2 * k <= len(np.unique(units[keep])) // 2]
    if not possible:
        return []
    began = time.monotonic()
    rows, spread = scores[keep], blurred[keep]
    try:
        tell(f"looking for {possible[0]} to {possible[-1]} groups")
        whole = [_Whole.of(rows, spread, k, seed) for k in possible]
        likely = [one for one in whole if len(whole) == 1 or one.tried.doubt < HOPELESS]
        spent = (time.monotonic() - began) * len(likely) / len(whole)
        halves = _Halves(rows, spread, likely, spent, seed, tell)
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
    judged = {
        one.count: halves.summary(k, back.clusters)
        for k, (one, back) in enumerate(zip(likely, found))
    }
    return [judged.get(one.count, one.tried) for one in whole]


@dataclass(frozen=True, eq=False)
class _Whole:
    """The groups of all rows, the largest first."""

    count: int
    centres: Array
    labels: Array
    pairs: list[tuple[int, int]]
    tried: Tried

    @classmethod
    def of(cls, rows: Array, blurred: Array, count: int, seed: int) -> _Whole:
        centres = _centres(rows, count, seed)
        sizes = np.bincount(_nearest(rows, centres), minlength=count)
        centres = centres[np.argsort(-sizes, kind="stable")]
        labels, pairs = _nearest(rows, centres), list(neighbours(centres))
        # The rows that found the groups show gaps rather too often, never too rarely.
        counts = np.zeros((len(pairs), 3))
        for pair, groups in enumerate(pairs):
            own = [blurred[labels == group] for group in groups]
            counts[pair] = counts_between(np.vstack(own), line_between(*own))
        return cls(count, centres, labels, pairs, _summary(count, counts, (), 0))


class _Halves:
    """Groups found in halves of the rows, and how many of the other rows are between them."""

    def __init__(
        self,
        scores: Array,
        blurred: Array,
        whole: Sequence[_Whole],
        seconds: float,
        seed: int,
        tell: Callable[[str], None],
    ):
        self.scores, self.blurred, self.whole, self.seed = scores, blurred, whole, seed
        self.tell, self.drawn = tell, 0
        self.labels = np.array([one.labels for one in whole]).reshape(len(whole), len(scores)).T
        self.between = [np.zeros((len(one.pairs), 3)) for one in whole]
        left = deadline() - time.monotonic()
        self.draws = int(np.clip(left / max(seconds, 1e-9), FEWEST_DRAWS, DRAWS)) if whole else 0

    def labels_of(self, drawn: Array) -> Array:
        """The groups found in some rows; the other rows show whether there are gaps."""
        self.drawn += 1
        self.tell(f"looking for groups in {self.drawn} of {self.draws} halves of the rows")
        is_drawn = np.zeros(len(self.scores), dtype=bool)
        is_drawn[drawn] = True
        rows, blurred = self.scores[drawn], self.blurred[drawn]
        others, other_blurred = self.scores[~is_drawn], self.blurred[~is_drawn]
        labels = []
        for one, between in zip(self.whole, self.between):
            centres = in_order_of(_centres(rows, one.count, self.seed), one.centres)
            nearest, found = _nearest(others, centres), _nearest(rows, centres)
            for pair, (a, b) in enumerate(one.pairs):
                line = line_between(blurred[found == a], blurred[found == b])
                own = other_blurred[(nearest == a) | (nearest == b)]
                between[pair] += counts_between(own, line)
            labels.append(found)
        return np.column_stack(labels)

    def summary(self, k: int, agreements: Array) -> Tried:
        """What the halves say of a number of groups."""
        # Each row was among the others in about half of the draws, and counts once.
        counts = np.round(self.between[k] / (0.5 * self.draws))
        back = tuple(np.nan_to_num(agreements).tolist())
        return _summary(self.whole[k].count, counts, back, self.draws)


def _some_rows(rows: int, seed: int) -> Array:
    """The places of the rows that are used: all, or a draw of many."""
    if rows <= MOST_ROWS:
        return np.arange(rows)
    return np.sort(np.random.default_rng(seed).permutation(rows)[:MOST_ROWS])


def _centres(rows: Array, count: int, seed: int) -> Array:
    check()
    model = KMeans(n_clusters=count, n_init=STARTS, random_state=seed).fit(rows)
    return np.asarray(model.cluster_centers_)


def _nearest(scores: Array, centres: Array) -> Array:
    """The centre nearest to each row."""
    return np.argmin((centres**2).sum(axis=1) - 2 * scores @ centres.T, axis=1)


def _summary(count: int, counts: Array, agreements: tuple[float, ...], draws: int) -> Tried:
    """A number of groups, from the rows between each pair of neighbours."""
    return Tried(
        count=count,
        doubt=max(doubt(each) for each in counts),
        between=max(part_midway(each) for each in counts),
        agreements=agreements,
        draws=draws,
    )


# ---- values spread out ---------------------------------------------------------------------------


def blurred_frame(frame: pl.DataFrame, columns: Sequence[Column], seed: int) -> pl.DataFrame:
    """Numbers and dates spread between neighbouring values, so that whole numbers have no gaps.

    Each value is drawn evenly from between the midpoints to the next smaller and the next larger
    value of its column, but no further than its share of the rows allows: a single row at the edge
    of a gap does not close it.
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
    known = values[np.isfinite(values)]
    distinct, places, rows = np.unique(known, return_inverse=True, return_counts=True)
    if len(distinct) < 2:
        return values
    # In units of the largest: the sum of two numbers need not be one.
    size = float(np.abs(distinct).max()) or 1.0
    steps = np.diff(distinct / size)
    most = SPREAD * rows / len(known) * steps.sum()
    # The outermost values reach as far outwards as inwards.
    below = np.minimum(np.concatenate([steps[:1], steps]) / 2, most)
    above = np.minimum(np.concatenate([steps, steps[-1:]]) / 2, most)
    moves = (below + above)[places] * draws.random(len(places)) - below[places]
    spread = values.copy()
    spread[np.isfinite(values)] = (known / size + moves) * size
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
