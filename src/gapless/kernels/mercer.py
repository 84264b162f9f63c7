"""Mercer's condition, checked on rows: is the Gram matrix symmetric and positive semi-definite?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from .._ground.interrupt import in_worker
from .._ground.notebook import ShownInNotebook
from .._ground.threads import single_blas
from ._by_name import by_name


@dataclass(frozen=True)
class MercerCheck(ShownInNotebook):
    """The result of `mercer_check`; prints as a sentence.

    Attributes
    ----------
    of : str
        What was checked.
    is_symmetric : bool
        Whether K equals its transpose, up to rounding.
    worst_pair : (int, int)
        The rows i, j for which K[i, j] and K[j, i] differ most.
    asymmetry : float
        That difference, relative to the largest entry of K.
    smallest, largest : float
        The smallest and the largest eigenvalue of (K + Kᵀ)/2.
    tolerance : float
        The rounding allowed, relative to the largest entry or eigenvalue.
    """

    of: str
    worst_pair: tuple[int, int]
    asymmetry: float
    smallest: float
    largest: float
    tolerance: float

    @property
    def is_symmetric(self) -> bool:
        """Whether K equals its transpose, up to rounding."""
        return self.asymmetry <= self.tolerance

    @property
    def is_positive(self) -> bool:
        """Whether no eigenvalue is negative, up to rounding."""
        size = max(abs(self.smallest), abs(self.largest))
        return self.smallest >= -self.tolerance * size

    @property
    def holds(self) -> bool:
        """Whether K can be a matrix of inner products: symmetric and positive semi-definite."""
        return self.is_symmetric and self.is_positive

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            return (
                f"{self.of} is symmetric and positive semi-definite: its eigenvalues range from "
                f"{self.smallest:.3g} to {self.largest:.3g}."
            )
        i, j = self.worst_pair
        faults = []
        if not self.is_symmetric:
            faults.append(
                f"not symmetric: K[{i}, {j}] and K[{j}, {i}] differ by {self.asymmetry:.3g} times "
                "the largest entry"
            )
        if not self.is_positive:
            share = abs(self.smallest) / max(abs(self.largest), np.finfo(float).tiny)
            faults.append(
                f"not positive semi-definite: its smallest eigenvalue is {self.smallest:.3g}, "
                f"{share:.2g} times the largest, {self.largest:.3g}"
            )
        return f"{self.of} is not a matrix of inner products; it is {', and '.join(faults)}."


def mercer_check(kernel: Any, X: Any = None) -> MercerCheck:
    """Check Mercer's condition on a Gram matrix: symmetric, with no negative eigenvalue.

    Parameters
    ----------
    kernel : ndarray of shape (n, n), Kernel, str or callable
        The matrix K, or a kernel, whose values on X are checked.
    X : {array-like, sparse matrix} of shape (n, d), optional
        Rows, if a kernel is given. What fails on some rows is not a kernel; what holds on them may
        fail on others.

    Returns
    -------
    check : MercerCheck
        True if the condition holds; prints what fails and where.

    Notes
    -----
    Costs an eigenvalue decomposition, O(n³): a few thousand rows at most.

    Examples
    --------
    >>> from gapless.kernels import mercer_check
    >>> print(mercer_check([[1.0, 2.0], [2.0, 1.0]]))
    The given matrix is not a matrix of inner products; it is not positive semi-definite: its
    smallest eigenvalue is -1, 0.33 times the largest, 3.
    """
    if X is None:
        K = np.asarray(kernel.toarray() if sp.issparse(kernel) else kernel)
        name = "The given matrix"
    else:
        part = by_name(kernel).resolve(X)
        # Computed between X and itself, so that an asymmetric function shows.
        rows = part.rows(X)
        K = rows.gram(rows)
        K[np.diag_indices(len(K))] += part.noise
        name = f"The Gram matrix of {part!r}"
    K = _check_matrix(K, kernel)
    difference = np.abs(K - K.T)
    largest_entry = max(float(np.abs(K).max(initial=0)), np.finfo(float).tiny)
    worst = int(np.argmax(difference)) if K.size else 0
    asymmetry = float(difference.max(initial=0)) / largest_entry
    values = _eigenvalues((K + K.T) / 2) if K.size else np.zeros(1)
    # Entries may be float32, computed by sums: some tens of roundings each, √n of them in a row.
    given = K.dtype if K.dtype == np.float32 else np.dtype(np.float64)
    tolerance = 100 * float(np.finfo(given).eps) * max(len(K), 1) ** 0.5
    pair = divmod(worst, max(len(K), 1))
    return MercerCheck(name, pair, asymmetry, float(values[0]), float(values[-1]), tolerance)


def _check_matrix(K: Any, given: Any) -> np.ndarray:
    if K.dtype.kind not in "fiub" or K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(
            "mercer_check needs a square matrix of numbers, or a kernel and X: "
            f"mercer_check(kernel, X); got {type(given).__name__} of shape {K.shape}."
        )
    if not np.all(np.isfinite(K)):
        i, j = np.argwhere(~np.isfinite(K))[0]
        raise ValueError(f"the matrix has {K[i, j]} in row {i}, column {j}; it must be finite.")
    return K


def _eigenvalues(K: np.ndarray) -> np.ndarray:
    with single_blas():
        return in_worker(scipy.linalg.eigvalsh, K.astype(np.float64))
