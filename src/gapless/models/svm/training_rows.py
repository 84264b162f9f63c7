"""Training rows: read (numbers, kernel values, or texts that only the kernel reads) and merged."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ... import kernels
from ..._ground.design import Design
from ..._ground.distinct_rows import DistinctRows
from ..._ground.validation import Overflow, Training
from ...unseen import by_appearance

Array = np.ndarray


def read_any(read: Any, estimator: Any, X: Any, *args: Any, **options: Any) -> Training:
    """`read` for X that may also be texts, which only the kernel understands."""
    if not compares_texts(estimator, X):
        try:
            return read(estimator, X, *args, **options)
        except Overflow as error:
            raise ValueError(
                f"The dual coefficients or intercepts are not finite. {error}"
            ) from None
    # The rest is checked along with a column of numbers.
    X = np.asarray(X, dtype=object)
    data = read(estimator, np.zeros((len(X), 1)), *args, **options)
    return replace(data, X=X, feature_names=None)


def compares_texts(estimator: Any, X: Any) -> bool:
    """Whether X is a sequence of texts, and the kernel may accept them."""
    if isinstance(estimator.kernel, str) and estimator.kernel not in kernels.OF_STRINGS:
        return False
    if not isinstance(X, (list, tuple)) and getattr(X, "ndim", None) != 1:
        return False
    return len(X) > 0 and isinstance(next(iter(X)), str)


def check_precomputed(X: Any) -> None:
    """Refuse kernel values that cannot be those between the training rows."""
    if sp.issparse(X):
        raise TypeError("Sparse precomputed kernels are not supported; use X.toarray().")
    shape = np.shape(X)
    if len(shape) == 2 and shape[0] != shape[1]:
        raise ValueError(
            f"Precomputed matrix must be a square matrix. Input is a {shape[0]}x{shape[1]} matrix; "
            "give the kernel values between all pairs of training rows."
        )


def counted_weights(sample_weight: Any) -> Any:
    """Weights with negative ones counted as 0, with a warning; an error if none is positive.

    LIBSVM leaves rows of weight ≤ 0 out, so scripts may mark rows this way.
    """
    weights = np.asarray(1.0 if sample_weight is None else sample_weight)
    if weights.dtype.kind not in "fiub" or not weights.size:
        return sample_weight
    if not np.any(weights > 0):
        raise ValueError(
            "Invalid input - all samples have zero or negative weights; sample_weight must have a "
            "non-zero number, above 0, for the rows that count."
        )
    is_negative = weights < 0
    if not is_negative.any():
        return sample_weight
    row = int(np.argmax(is_negative))
    warnings.warn(
        f"rows of negative weight are left out: row {row} has weight {weights.flat[row]:g}; give "
        "such rows weight 0.",
        UserWarning,
        stacklevel=6,
    )
    return np.where(is_negative, 0.0, weights)


@dataclass(frozen=True, eq=False)
class TrainingRows(DistinctRows):
    """The distinct rows by class and content, on which machines are fitted.

    Parameters
    ----------
    first, weights, inverse
        As in `DistinctRows`; the weights include those of the classes.
    sample_weights : ndarray of shape (m,)
        The weights of equal rows, summed, without those of the classes.
    row_shares : ndarray of shape (n,)
        The part of its distinct row's weight that each row has.
    """

    sample_weights: Array
    row_shares: Array

    @classmethod
    def read(cls, data: Training) -> TrainingRows:
        """Rows with the same x and y, sorted by class first."""
        labels = _labels(data.X, data.y)
        if data.classes is not None:
            # By class, then by content: the problems of two classes are on neighbouring rows.
            labels = labels + data.y.astype(np.int64) * (labels.max(initial=0) + 1)
        rows = DistinctRows.by(labels, data.weights)
        sums, shares = rows.sums(data.sample_weight), rows.shares(data.weights)
        return cls(rows.first, rows.weights, rows.inverse, sums, shares)

    def units(self, X: Any) -> Array:
        """The distinct x of each distinct row, by first appearance: rows that leave together.

        If all have the same x, each row is on its own.
        """
        some = X[self.first]
        same = Design(some).equal_x if X.ndim == 2 else _numbered(some)
        if np.all(same == same[:1]):
            return np.arange(len(same))
        return by_appearance(same, np.ones(len(same), dtype=bool))[0]


def _labels(X: Any, y: Array) -> Array:
    """Labels of the rows (x, y), the same for equal ones; objects that are not numbers by order."""
    if X.ndim == 2:
        return Design(X).equal_rows(y.astype(float))
    _, targets = np.unique(y, return_inverse=True)
    return _numbered(X) * (targets.max(initial=0) + 1) + targets


def _numbered(X: Any) -> Array:
    """Labels of objects that are not numbers, by their order."""
    return np.unique(X.astype(str), return_inverse=True)[1]
