"""Rows that share their x but not their target: what the others say of one.

A table of categories has few distinct x, and new rows are likely to have one of them. No x can be
left out there without tilting the rest: of all combinations of three bits, those without one are
against it. But what to say of an x that is known needs no model: the mean of its rows. That mean
without the row itself is a prediction of most freedom, held out exactly; a model that loses more
on its own rows lacks fit (Fisher 1922).
"""

from __future__ import annotations

import numpy as np

from .leave_one_out.distinct import sums_by

Array = np.ndarray

# Rows of one class and one x are no copies where, of all x that come again, so many by weight come
# with several classes.
SEVERAL = 0.1


def by_same_x(targets: Array, weights: Array, units: Array, distinct: Array | None) -> Array:
    """Means of targets (n, K) over other rows of the same x; NaN where there are none.

    Parameters
    ----------
    targets : ndarray of shape (n, K)
        Numbers, or 1 for the class that came.
    weights : ndarray of shape (n,)
        How much each row counts.
    units : ndarray of int, shape (n,)
        Which x each row has: 0, 1, …, or −1 for rows that do not count.
    distinct : ndarray of int, shape (n,), or None
        Which row (x, y) each is. Equal ones may be copies, and are left out together; None leaves
        out one of them, as classes ask for: all rows of a class are equal.

    Notes
    -----
    Rows of one x that all have one target may be copies, and weight 2 is a row twice: they speak
    for each other only where x that come again often have several targets.
    """
    kept = np.flatnonzero(units >= 0)
    of_x, w, y = units[kept], weights[kept], targets[kept]
    total, sums = np.bincount(of_x, w)[of_x], sums_by(of_x, w[:, None] * y)[of_x]
    if distinct is None:
        # One row, or what there is of its class at its x where weights are below 1.
        left_out = np.minimum(np.sum(sums * y, axis=1), 1.0)
        several = np.max(sums, axis=1) < total * (1 - 1e-9)
        again = total - left_out > 1e-9 * total
        is_enough = np.sum(w[several & again]) >= SEVERAL * np.sum(w[again])
        known = again & is_enough
    else:
        left_out = np.bincount(distinct[kept], w)[distinct[kept]]
        known = total - left_out > 1e-9 * total
    out = np.full(targets.shape, np.nan)
    rest = (total - left_out)[known, None]
    out[kept[known]] = (sums - left_out[:, None] * y)[known] / rest
    return out
