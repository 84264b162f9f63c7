"""X of a support vector machine: numbers, kernel values, or texts that only the kernel reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import kernels
from .._validation import Training


def read_any(read: Any, estimator: Any, X: Any, *args: Any, **options: Any) -> Training:
    """`read` for X that may also be texts, which only the kernel understands."""
    if not compares_texts(estimator, X):
        return read(estimator, X, *args, **options)
    # The rest is checked beside a column of numbers.
    X = np.asarray(X, dtype=object)
    data = read(estimator, np.zeros((len(X), 1)), *args, **options)
    return replace(data, X=X, feature_names=None)


def compares_texts(estimator: Any, X: Any) -> bool:
    """Whether X is a sequence of texts, and the kernel may be one of those that take them."""
    if isinstance(estimator.kernel, str) and estimator.kernel not in kernels.OF_STRINGS:
        return False
    if not isinstance(X, (list, tuple)) and getattr(X, "ndim", None) != 1:
        return False
    return len(X) > 0 and isinstance(next(iter(X)), str)


def check_precomputed(X: Any) -> None:
    """Refuse kernel values that cannot be those between the rows of the training data."""
    if sp.issparse(X):
        raise TypeError("Sparse precomputed kernels are not supported; use X.toarray().")
    shape = np.shape(X)
    if len(shape) == 2 and shape[0] != shape[1]:
        raise ValueError(
            f"Precomputed matrix must be a square matrix. Input is a {shape[0]}x{shape[1]} matrix; "
            "give the kernel values between all pairs of training rows."
        )


def check_some_weight(sample_weight: Any) -> None:
    """Refuse weights none of which is positive, in the words of scikit-learn."""
    weights = np.asarray(1.0 if sample_weight is None else sample_weight)
    if weights.dtype.kind in "fiub" and weights.size and not np.any(weights > 0):
        raise ValueError(
            "Invalid input - all samples have zero or negative weights; sample_weight must have a "
            "non-zero number, above 0, for the rows that count."
        )
