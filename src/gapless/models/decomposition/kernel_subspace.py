"""Principal components in the feature space of a kernel: the centred Gram matrix, and its span."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..._ground.design import Design
from ..._ground.distinct_rows import DistinctRows
from ..._ground.lapack import call_lapack, eigh
from ..._ground.memory import blocks
from ..._ground.stored import Declaration, Numbers, Value
from ..._ground.threads import single_blas
from ...kernels import Kernel, Linear
from ...problem import PRECOMPUTED, KernelMatrix
from .eigenpairs import EigenPairs, top_eigenpairs

Array = np.ndarray

# Up to this many distinct rows, values are computed in float64 whatever the precision of X: they
# take no time, and float32 would lose small eigenvalues of uncentred data.
FEW_ROWS = 1024
# Up to this many, or for more than one component for each so many rows, all eigenvalues are found
# at once.
DENSE_ROWS, DENSE_SHARE = 256, 4
# Vectors multiplied together by an iterative solver: reading the matrix takes as long for fewer.
WIDTH = 16
# The part of the mean of k(x, x) that is variance, from which float32 leaves it enough digits.
LEAST_SPREAD = 0.1


def origin_of(kernel: Kernel, X: Any, weights: Array) -> Array | None:
    """A point near the rows that takes the place of 0, for kernels to which it makes no difference.

    Centred features of the linear kernel do not depend on it, but inner products of rows far from 0
    have no digits left for what they differ in. Only columns that keep to one side of 0 are moved:
    all entries are then between half and twice that of the origin, so that differences are exact
    (Sterbenz 1974) and adding the origin gives the same rows back. None if no column is.
    """
    if not isinstance(kernel, Linear) or sp.issparse(X):
        return None
    rows = X[weights > 0]
    low, high = rows.min(axis=0), rows.max(axis=0)
    is_far = ((low > 0) & (high <= 2 * low)) | ((high < 0) & (low >= 2 * high))
    if not is_far.any():
        return None
    # Halves do not overflow; the middle is within a factor of 2 of both ends.
    return np.where(is_far, low / 2 + high / 2, 0).astype(X.dtype)


def around(X: Any, origin: Array | None) -> Any:
    """Rows less the origin."""
    return X if origin is None else X - origin


def rounded_gram(kernel: Kernel, X: Any, distinct: DistinctRows) -> CentredGram:
    """The centred Gram matrix in float32, at half the cost, unless that would cost it digits.

    Rounded values change an eigenvalue by some 10⁻⁷ of the mean value of the kernel: that is little
    beside the largest ones, unless the mean of the features outweighs their variation.
    """
    if kernel.name != PRECOMPUTED and kernel.is_mercer and X.dtype == np.float64:
        found = CentredGram(kernel, X, distinct, np.float32)
        size = float(found.weights @ np.abs(found.matrix.diagonal))
        if found.dtype == np.float64 or found.trace >= LEAST_SPREAD * size:
            return found
    return CentredGram(kernel, X, distinct)


class CentredGram:
    """A = S^½ K̃ S^½ for the distinct rows of a table: K̃ the centred kernel, S their weights.

    K̃ᵢⱼ = ⟨φ(xᵢ) − φ̄, φ(xⱼ) − φ̄⟩ with φ̄ = Σ pᵢφ(xᵢ) and p = s/Σs. A has the eigenvalues that the
    centred Gram matrix has with each row as often as its weight says, except for zeros.

    Parameters
    ----------
    kernel : Kernel
        The kernel, all its parameters numbers.
    X : {ndarray, sparse matrix} of shape (n, d)
        The rows; for a precomputed kernel its values (n, n).
    distinct : DistinctRows
        Which of them are distinct, and their weights.
    dtype : float32 or float64, optional
        Precision of the values for more than a few rows; that of X if None.
    """

    def __init__(self, kernel: Kernel, X: Any, distinct: DistinctRows, dtype: Any = None):
        self.kernel, self.weights = kernel, distinct.weights
        self.m = len(distinct.first)
        dtype = X.dtype if dtype is None else dtype
        self.dtype = np.dtype(np.float64 if self.m <= FEW_ROWS else dtype)
        if kernel.name == PRECOMPUTED:
            self.matrix = KernelMatrix(kernel, X, dtype=self.dtype).only(distinct.first)
            self.rows = distinct.first
        else:
            self.rows = X[distinct.first]
            self.matrix = KernelMatrix(kernel, self.rows, dtype=self.dtype)
        self.shares = self.weights / self.weights.sum()
        self._root = np.sqrt(self.weights)

    @cached_property
    def _design(self) -> Design | None:
        """K as an operator, if it fits into memory."""
        K = self.matrix.whole()
        return None if K is None else Design(K)

    def kernel_times(self, V: Array) -> Array:
        """K @ V for V (m,) or (m, b), in the precision of V or better."""
        if self._design is None:
            return self.matrix.times(V).astype(V.dtype, copy=False)
        return self._design.times(np.ascontiguousarray(V))

    @cached_property
    def means(self) -> Array:
        """⟨φ(xᵢ), φ̄⟩, float64."""
        return self.kernel_times(self.shares)

    @cached_property
    def diagonal(self) -> Array:
        """K̃ᵢᵢ, float64."""
        with np.errstate(over="ignore", invalid="ignore"):
            squares = self.matrix.diagonal - 2 * self.means + self.shares @ self.means
            return np.maximum(squares, 0.0)

    @cached_property
    def trace(self) -> float:
        """The variance of all rows in feature space, times the sum of the weights."""
        return float(self.weights @ self.diagonal)

    @cached_property
    def rounding(self) -> float:
        """About what rounding of the kernel's values does to A times a vector of length 1."""
        size = float(self.weights @ np.abs(self.matrix.diagonal))
        return 4 * float(np.finfo(self.dtype).eps) * size

    @cached_property
    def square_sum(self) -> float:
        """Σ Aᵢⱼ² over all entries."""
        total, s = 0.0, self.weights
        K, is_plain = self.matrix.whole(), bool(np.all(s == s[0]))
        with single_blas():
            for chunk in blocks(self.m, self.m):
                part = self.matrix.block(np.arange(self.m)[chunk]) if K is None else K[chunk]
                if is_plain:
                    total += s[0] ** 2 * float(np.vdot(part, part))
                else:
                    total += float(s[chunk] @ (np.square(part, dtype=np.float64) @ s))
        mean = float(self.shares @ self.means)
        total += (s.sum() * mean) ** 2 - 2 * s.sum() * float(s @ self.means**2)
        return max(total, 0.0)

    def times(self, V: Array) -> Array:
        """A @ V for V (m, b)."""
        W = self._root[:, None] * V
        W -= np.multiply.outer(self.shares, W.sum(axis=0))
        product = self.kernel_times(W.astype(V.dtype, copy=False))
        product = product - self.shares @ product
        return (self._root[:, None] * product).astype(V.dtype, copy=False)

    def dense(self) -> Array:
        """A itself, float64."""
        K = self.matrix.required().astype(np.float64)
        rows, columns = K @ self.shares, self.shares @ K
        K -= rows[:, None]
        K -= columns
        K += self.shares @ columns
        return self._root[:, None] * K * self._root

    @property
    def is_stored(self) -> bool:
        """Whether the Gram matrix fits into memory."""
        return self._design is not None

    def prefers_dense(self, count: int) -> bool:
        """Whether finding all eigenvalues takes less time than the largest ones alone."""
        return self.m <= DENSE_ROWS or DENSE_SHARE * count > self.m

    def eigenpairs(
        self,
        count: int,
        is_dense: bool,
        seed: Any,
        is_enough: Callable[[Array, Array, float], bool],
        most_iterations: int,
        after_step: Callable[[Array, Array], bool] | None = None,
    ) -> EigenPairs:
        """The largest eigenvalues of A with their vectors, decreasing; dense ones in 0 steps."""
        if is_dense:
            values, vectors = call_lapack(eigh, self.dense())
            beyond = float(values[-count - 1]) if count < self.m else 0.0
            kept = np.arange(self.m - 1, self.m - 1 - count, -1)
            return EigenPairs(values[kept], vectors[:, kept], np.zeros(count), beyond, 0, True)
        return top_eigenpairs(
            self.times,
            self.m,
            count,
            seed=seed,
            width=max(WIDTH, min(count // 4, 2 * WIDTH)),
            dtype=self.dtype,
            is_enough=is_enough,
            most_iterations=most_iterations,
            after_step=after_step,
        )

    def subspace(self, values: Array, vectors: Array) -> KernelSubspace:
        """The span of the given eigenvectors; a value of 0 has no direction."""
        is_positive = values > 0
        scale = np.where(is_positive, 1 / np.sqrt(np.where(is_positive, values, 1.0)), 0.0)
        coef = self._root[:, None] * vectors * scale
        # Eigenvectors sum to 0 in exact arithmetic; so the centre cancels to the last bit, too.
        coef -= np.multiply.outer(self.shares, coef.sum(axis=0))
        return KernelSubspace(self.kernel, self.rows, self.weights, coef, self.means, values)


@dataclass(frozen=True, eq=False, repr=False)
class KernelSubspace:
    """The points φ̄ + Σₖ βₖvₖ of a feature space, with orthonormal vₖ = Σⱼ coefⱼₖ φ(xⱼ).

    Parameters
    ----------
    kernel : Kernel
        The kernel, all its parameters numbers.
    rows : {ndarray, sparse matrix} of shape (m, d), or ndarray of int of shape (m,)
        The xⱼ; for a precomputed kernel their positions among the training rows.
    weights : ndarray of shape (m,)
        Their weights, with φ̄ the weighted mean.
    coef : ndarray of shape (m, k)
        The coefficients of the directions; each column sums to 0.
    means : ndarray of shape (m,)
        ⟨φ(xⱼ), φ̄⟩.
    values : ndarray of shape (k,)
        The eigenvalues: Σⱼ sⱼβₖ² of the rows.
    """

    _stored: ClassVar[Declaration] = {
        "kernel": Value(Kernel),
        "rows": Numbers("distinct", None, may_be_sparse=True) | Numbers("distinct", types="iu"),
        "weights": Numbers("distinct", is_positive=True),
        "coef": Numbers("distinct", "components"),
        "means": Numbers("distinct"),
        "values": Numbers("components", low=0.0),
    }
    kernel: Kernel
    rows: Any
    weights: Array
    coef: Array
    means: Array
    values: Array

    def __repr__(self) -> str:
        m, k = self.coef.shape
        return f"<KernelSubspace: {k} directions from {m} rows, {self.kernel!r}>"

    @property
    def shares(self) -> Array:
        """The weights as parts of their sum."""
        return self.weights / self.weights.sum()

    @property
    def offset(self) -> Array:
        """⟨φ̄, vₖ⟩, (k,)."""
        return self.means @ self.coef

    @property
    def mean_square(self) -> float:
        """‖φ̄‖²."""
        return float(self.shares @ self.means)

    @property
    def training_coordinates(self) -> Array:
        """The coordinates βₖ of the rows themselves, (m, k)."""
        return self.coef * self.values / self.weights[:, None]

    def coordinates(self, X: Any, dtype: Any = np.float64) -> Array:
        """⟨φ(x) − φ̄, vₖ⟩ of rows, (n, k), float64; `dtype` is that of the kernel's values."""
        return self.kernel.times(X, self.rows, self.coef, dtype) - self.offset

    def with_squares(self, X: Any, diagonal: Array) -> tuple[Array, Array]:
        """The coordinates of rows, and ‖φ(x) − φ̄‖² (n,); `diagonal` is k(x, x)."""
        both = self.kernel.times(X, self.rows, np.column_stack([self.coef, self.shares]))
        squares = diagonal - 2 * both[:, -1] + self.mean_square
        return both[:, :-1] - self.offset, np.maximum(squares, 0.0)

    def squared_lengths(self, coordinates: Array) -> Array:
        """‖φ̄ + Σβₖvₖ‖² of points given by coordinates (n, k)."""
        inside = np.einsum("ij,ij->i", coordinates, coordinates)
        return self.mean_square + 2 * coordinates @ self.offset + inside

    def products_with_rows(self, coordinates: Array) -> Array:
        """⟨φ(xⱼ), φ̄ + Σβₖvₖ⟩ for all rows j, (n, m), without any value of the kernel."""
        directions = self.training_coordinates + self.offset
        return Design(np.ascontiguousarray(coordinates)).times(directions.T) + self.means

    def expansion(self, coordinates: Array) -> Array:
        """Coefficients of φ̄ + Σβₖvₖ in the φ(xⱼ), (n, m); they sum to 1."""
        return Design(np.ascontiguousarray(coordinates)).times(self.coef.T) + self.shares
