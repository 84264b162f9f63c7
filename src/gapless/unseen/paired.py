"""Whether one model predicts unseen rows clearly better than another: row by row, in pairs.

The mean of the differences alone would be blind: one error of 10⁵ makes its standard error larger
than any difference. So unbounded errors are also compared by ranks (Wilcoxon 1945), among which
such a row is one of many. The size of a gain is then a mean of logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtr

from .leave_one_out.distinct import mean_and_error, sums_by

Array = np.ndarray

# How surprising a lead must be, as a standard normal number: a chance of 0.5 %.
SURE = 2.58
# The smallest gain worth mentioning: this part of the loss, and this part of a constant's loss, for
# numbers and for classes.
PART, PART_OF_CONSTANT, PART_OF_CLASSES = 0.08, 0.01, 0.04
# A mean loss that falls by this part is not chance, even if a single row decides it: the other
# model does not miss that row.
DECISIVE = 0.8
# One test alone decides only if the other does not contradict it by this many standard errors.
AGAINST = 1.0
# A row counts for at most a change of its loss by this power of e.
LARGEST = 3.0


@dataclass(frozen=True)
class Lead:
    """How much better another model is than a model on unseen rows.

    Parameters
    ----------
    gain : float
        How much lower its loss is: a part of the model's, or a logarithm if losses are unbounded
        and the mean is blind.
    change : float
        The same, in the form least sensitive to single rows.
    is_large : bool
        Whether the gain is worth mentioning.
    surprise : float
        The standard normal number with the same probability by chance.
    of_constant : float
        The gain as a part of a constant's loss.
    """

    gain: float
    change: float
    is_large: bool
    surprise: float
    of_constant: float = 0.0

    def is_clear(self, enough: float = SURE) -> bool:
        """Whether it is more than chance explains, and worth mentioning."""
        return self.is_large and self.surprise > enough


def lead(
    losses: Array,
    others: Array,
    constant: Array,
    weights: Array,
    units: Array,
    *,
    is_bounded: bool,
) -> Lead:
    """The lead of another model, from the losses of both, and of a constant, on each row.

    Rows of one unit 0, 1, … are not independent trials; rows without a finite loss are ignored.
    """
    weights = np.where(np.isfinite(losses) & np.isfinite(others), weights, 0.0)
    kept = weights > 0
    units = np.unique(units[kept], return_inverse=True)[1]
    losses, others, constant, weights = (a[kept] for a in (losses, others, constant, weights))
    count = int(units.max(initial=-1)) + 1
    if count < 2:
        return Lead(0.0, 0.0, False, 0.0)
    mean, error = mean_and_error(losses - others, weights, units)
    before, of_constant = (float(np.average(a, weights=weights)) for a in (losses, constant))
    part = float(mean) / before if before > 0 else 0.0
    share = float(mean) / of_constant if of_constant > 0 else 0.0
    is_large = part > PART and share > (PART_OF_CLASSES if is_bounded else PART_OF_CONSTANT)
    plain = _normal(float(mean) / float(error), count) if error > 0 else 0.0
    if is_bounded:
        return Lead(part, part, is_large, plain, share)
    typical = _typical(others, constant, weights)
    logs = np.clip(np.log((typical + losses) / (typical + others)), -LARGEST, LARGEST)
    change = float(np.average(logs, weights=weights))
    ranks = _signed_ranks(np.sqrt(losses) - np.sqrt(others), weights, units)
    found = [(plain, is_large, part), (ranks, change > 0.5 * PART, change)]
    if part > DECISIVE and is_large and change > -PART:
        return Lead(part, change, True, np.inf, share)
    found = [one for one, other in zip(found, reversed(found)) if other[0] > -AGAINST and one[1]]
    if not found:
        return Lead(max(part, change), change, False, min(plain, ranks), share)
    surprise = max(one[0] for one in found)
    return Lead(max(one[2] for one in found), change, True, surprise, share)


def _normal(t: float, count: int) -> float:
    """The standard normal number as surprising as a t of `count` trials."""
    return float(np.clip(ndtri(stdtr(count - 1, t)), -40.0, 40.0))


def _signed_ranks(differences: Array, weights: Array, units: Array) -> float:
    """Wilcoxon's signed ranks of the differences of units, as a standard normal number.

    The rank of a unit is the weight of those with smaller differences and half of its own.
    """
    weight = np.bincount(units, weights)
    difference = sums_by(units, weights * differences) / weight
    size = np.abs(difference)
    place = np.unique(size, return_inverse=True)[1]
    of_value = np.bincount(place, weight)
    rank = (np.cumsum(of_value) - 0.5 * of_value)[place]
    parts = weight * rank * (size > 0)
    spread = float(np.sqrt(np.sum(parts**2)))
    return float(np.sum(parts * np.sign(difference))) / spread if spread > 0 else 0.0


def _typical(others: Array, constant: Array, weights: Array) -> float:
    """A typical loss of the better model, at least a small part of a constant's loss."""
    floor = 1e-3 * weighted_median(constant, weights)
    return max(weighted_median(others, weights), floor, float(np.finfo(float).tiny))


def weighted_median(values: Array, weights: Array) -> float:
    """The least value with half of the weight at or below it."""
    order = np.argsort(values, kind="stable")
    at = np.searchsorted(np.cumsum(weights[order]), 0.5 * weights.sum() * (1 - 1e-9))
    return float(values[order[min(at, len(order) - 1)]])
