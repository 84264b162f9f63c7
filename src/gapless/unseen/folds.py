"""Folds: which rows are held out together, drawn by content whatever the order of the rows."""

from __future__ import annotations

import numpy as np

Array = np.ndarray
Fold = tuple[Array, Array]

FOLDS = 5
# With at most this many units, refit without each one: it costs no more than checking a formula.
FEW_UNITS = 40


def drawn(units: Array, count: int, strata: Array | None = None) -> Array:
    """Units 0, 1, … in a random order, of which any first `count` serve as a sample.

    Seeded, and drawn by number: units numbered by content do not depend on the order of the rows.
    With `strata` every slice has a fair share of each stratum; a unit with rows in several belongs
    to the first of them.
    """
    order = np.random.default_rng(0).permutation(units.max() + 1)
    if strata is not None:
        counted = units[units >= 0]
        stratum = np.unique(strata[units >= 0], return_inverse=True)[1]
        of_unit = np.full(len(order), len(stratum))
        np.minimum.at(of_unit, counted, stratum)
        of_unit = np.unique(of_unit, return_inverse=True)[1][order]
        # The k-th unit of a stratum of size c goes to (k + ½)/c of the way.
        by_stratum = np.argsort(of_unit, kind="stable")
        sizes = np.bincount(of_unit)
        rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        place = (rank + 0.5) / np.repeat(sizes, sizes)
        order = order[by_stratum][np.argsort(place, kind="stable")]
    return order[:count]


def dealt(
    units: Array,
    folds: int = FOLDS,
    *,
    strata: Array | None = None,
    order: Array | None = None,
    in_turn: bool = False,
) -> Array:
    """The fold of each row; there are `folds` of them, or fewer with fewer units.

    Rows of one unit 0, 1, … stay together; −1 is not a unit, and in no fold. Units are drawn so
    that each fold has its share of every stratum, unless they are given in an `order`. A fold is a
    slice of them, or they are dealt out in turn.
    """
    count = int(units.max()) + 1
    folds, place = min(folds, count), np.arange(count)
    fold = np.empty(count, dtype=int)
    fold[drawn(units, count, strata) if order is None else order] = (
        place % folds if in_turn else place * folds // count
    )
    return np.where(units >= 0, fold[units], -1)


def splits(of_row: Array) -> list[Fold]:
    """The rows of all other folds and those of a fold, for each fold 0, 1, …; −1 is none."""
    return [
        (np.flatnonzero((of_row >= 0) & (of_row != k)), np.flatnonzero(of_row == k))
        for k in range(int(of_row.max()) + 1)
    ]


def mean_losses(sums: Array, weights: Array) -> tuple[Array, Array]:
    """Mean losses and their standard errors, from Σwℓ, Σw²ℓ and Σw²ℓ² over all held-out rows."""
    total, count = float(weights.sum()), len(weights)
    loss = sums[:, 0] / total
    spread = sums[:, 2] - 2 * loss * sums[:, 1] + loss**2 * float(np.sum(weights**2))
    return loss, np.sqrt(np.maximum(spread, 0.0) * count / max(count - 1, 1)) / total
