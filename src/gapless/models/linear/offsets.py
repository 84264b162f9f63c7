"""Rows with offsets: what is known of their scores before X, such as the logarithm of an exposure.

An offset is a row with another target and weight (see `Loss.without_offset`), so solvers,
certificates and held-out predictions need to know nothing of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ..._ground.validation import check_values, read_weights
from ...losses import Loss

Array = np.ndarray

# What rows may come with, in addition to X.
OFFSET = """
offset : array-like of shape (n_samples,)
    What is known of the logarithm of the mean before X: log e for an exposure e, such as the years
    a policy ran. None means 0.
"""


def without_offset(loss: Loss, y: Any, sample_weight: Any, offset: Any) -> tuple[Any, Any]:
    """Targets and weights of the same objective without the offset."""
    if not loss.takes_offset:
        raise ValueError(
            f"offset does not go with the {loss.name} loss; leave it out, or take the loss of "
            "counts or amounts: poisson, gamma or tweedie."
        )
    y = column_or_1d(y, dtype=np.float64, warn=True, input_name="y")
    check_values(y, "y", None)
    offset = _read_offset(offset, y)
    with np.errstate(over="ignore", invalid="ignore"):
        targets, factors = loss.without_offset(y, offset)
    is_lost = ~(np.isfinite(targets) & np.isfinite(factors))
    if np.any(is_lost):
        row = int(np.argmax(is_lost))
        raise ValueError(
            f"offset has {offset[row]:g} in row {row}, whose exponential is too large for "
            "float64; of an exposure give the logarithm, np.log(exposure)."
        )
    return targets, factors * read_weights(sample_weight, targets)


def with_offset(loss: Loss, means: Any, X: Any, offset: Any, is_interval: bool = False) -> Any:
    """Predictions, or intervals of them, for rows with offsets, from those without."""
    if not loss.takes_offset:
        raise ValueError(f"offset does not go with the {loss.name} loss; leave it out.")
    offset = _read_offset(offset, X)
    if is_interval and np.any(loss.without_offset(np.ones_like(offset), offset)[1] != 1):
        raise ValueError(
            "interval= does not go with offset= here: counts in a short exposure vary more, "
            "relative to their mean, than those in a long one, so the interval of a rate is "
            "not that of a count; leave out one of the two."
        )

    def moved(part: Array) -> Array:
        # Losses of positive targets predict logarithms of means.
        return part * np.exp(offset) if loss.has_link else part + offset

    return type(means)(*(moved(part) for part in means)) if is_interval else moved(means)


def _read_offset(offset: Any, rows: Any) -> Array:
    """Offsets of these rows, as numbers; an error if some are not finite."""
    offset = column_or_1d(offset, dtype=np.float64, warn=True, input_name="offset")
    check_consistent_length(rows, offset)
    if np.any(np.isneginf(offset)):
        row = int(np.argmax(np.isneginf(offset)))
        raise ValueError(
            f"Input offset contains infinity: offset has -inf in row {row}, the logarithm of an "
            "exposure of 0, in which nothing can happen; drop the row."
        )
    check_values(offset, "offset", None)
    return offset
