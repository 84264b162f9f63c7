"""Rows around a point as one operator, S = Σᵢ sᵢ(xᵢ − μ)(xᵢ − μ)ᵀ, and its two Gram matrices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._ground.design import Design
from ..._ground.interrupt import check
from ..._ground.threads import map_in_threads, single_blas

Array = np.ndarray

# Entries that show how far the means are from 0.
SAMPLE = 400_000
# Rows beyond twice the columns, and columns, that are compared first.
FIRST_ROWS, FIRST_COLUMNS = 100, 8
# Rows rounded to float32 together, the variances for which its range suffices, and the entries
# from which it pays.
PIECE, SMALLEST, WORTH_ROUNDING = 256, 1e-20, 1e6
# Columns up to which NumPy multiplies them, and the multiplications in a piece of the rows.
FEW_COLUMNS, PIECE_WORK, PIECES_AT_ONCE = 1500, 1.5e9, 4
# A Gram matrix is centred afterwards, without a copy of X, if no squared mean exceeds the variance
# of its column this many times: what is lost is a few digits of rounding.
MODERATE = {np.dtype(np.float32): 8.0, np.dtype(np.float64): 256.0}


@dataclass(frozen=True, eq=False)
class Scatter:
    """Weighted rows around μ.

    Parameters
    ----------
    design : Design
        The rows that have weight, less μ.
    weights : ndarray of shape (n,), or None
        Their weights; None if all are 1.
    """

    design: Design
    weights: Array | None

    @classmethod
    def of(cls, X: Any, weights: Array, is_centred: bool) -> Scatter:
        """Around the weighted mean, or around 0."""
        design = Design(X)
        is_counted = weights > 0
        if not is_counted.all():
            kept = np.flatnonzero(is_counted)
            design, weights = design.rows(kept), weights[kept]
        plain = None if np.all(weights == 1.0) else weights
        if is_centred:
            design = design.shifted(design.transposed_times(weights) / weights.sum())
        return cls(design, plain)

    def around_mean(self) -> Scatter:
        """The same rows around their weighted mean."""
        plain = Design(self.design.X)
        weights = np.ones(plain.n) if self.weights is None else self.weights
        return Scatter(plain.shifted(plain.transposed_times(weights) / self.weight), self.weights)

    @property
    def mean(self) -> Array:
        """μ, (d,)."""
        return np.zeros(self.design.d) if self.design.center is None else self.design.center

    @cached_property
    def weight(self) -> float:
        """The sum of the weights."""
        return float(self.design.n if self.weights is None else self.weights.sum())

    @property
    def is_of_equal_rows(self) -> bool:
        """Whether what is left around the mean is no more than the rounding of the mean."""
        rounding = 8 * np.finfo(np.float64).eps * np.linalg.norm(self.mean)
        return bool(self.total <= self.weight * rounding**2)

    @cached_property
    def column_sums(self) -> Array:
        """The diagonal of S."""
        return self.design.column_square_sums(self.weights)

    @cached_property
    def total(self) -> float:
        """The trace of S: what μ alone leaves unexplained."""
        return float(self._known_column_sums().sum())

    def _known_column_sums(self) -> Array:
        """The diagonal of S, without another pass over the rows if S is there."""
        return np.diag(self.covariance) if "covariance" in vars(self) else self.column_sums

    @cached_property
    def rank(self) -> int:
        """The smaller side of the distinct rows; the rank of S is at most this.

        Equal rows count once: a row of weight 2 is the same row twice.
        """
        n, d = self.design.n, self.design.d
        # Most rows differ in the columns that vary most.
        widest = np.sort(np.argsort(-self._known_column_sums(), kind="stable")[:FIRST_COLUMNS])
        every = np.arange(d)
        for rows, columns in ((2 * d + FIRST_ROWS, widest), (n, widest), (n, every)):
            some = self.design.rows(slice(0, rows)).columns(columns)
            distinct = int(some.equal_x.max(initial=-1)) + 1
            if distinct >= min(n, d):
                break
        return min(distinct, d)

    @cached_property
    def side(self) -> int:
        """The smaller side of the table in which each row stands as often as its weight says.

        Weights that are parts of rows may sum to less than there are rows that differ; those count.
        """
        n, d = self.design.n, self.design.d
        repeated = int(self.weight * (1 + 4 * np.finfo(np.float64).eps))
        return min(repeated, d) if repeated >= min(n, d) else max(repeated, self.rank)

    def times(self, V: Array) -> Array:
        """S·V for V (d, K), in the precision of V."""
        if not self._is_moderate:
            return self.design.transposed_times(self.scaled(self.design.times(V)))
        # Without a copy of the centred rows: their weighted sum is 0, so μ matters only once.
        plain = Design(self.design.X)
        Z = plain.times(V)
        with single_blas():
            Z -= self.mean.astype(V.dtype) @ V
        return plain.transposed_times(self.scaled(Z))

    @cached_property
    def single(self) -> Scatter | None:
        """The centred rows rounded to float32, for iterations; None if that is not possible."""
        if not self._suits_single(self.column_sums):
            return None
        if self.design.dtype == np.float32:
            return self
        if self.design.is_sparse or self.design.n * self.design.d < WORTH_ROUNDING:
            return None
        X = np.empty(self.design.X.shape, np.float32)
        for start in range(0, len(X), PIECE):
            piece = slice(start, start + PIECE)
            np.subtract(self.design.X[piece], self.mean, out=X[piece], casting="same_kind")
        return Scatter(Design(X), self.weights)

    def scaled(self, Z: Array) -> Array:
        """Rows of Z times their weights."""
        if self.weights is None:
            return Z
        return Z * self.weights[:, None].astype(Z.dtype, copy=False)

    @cached_property
    def roots(self) -> Array | None:
        """Square roots of the weights."""
        return None if self.weights is None else np.sqrt(self.weights)

    @cached_property
    def covariance(self) -> Array:
        """S itself, (d, d), float64, up to the rounding of `rounding`."""
        S = self._covariance(is_single=True)
        if self.design.dtype == np.float32 and not self._suits_single(np.diag(S)):
            S = self._covariance(is_single=False)
        return S

    def _covariance(self, is_single: bool) -> Array:
        is_moderate = self._is_moderate
        rows = Design(self.design.X) if is_moderate else self.design
        is_single = is_single or self.design.dtype == np.float64
        if is_moderate and self.weights is None and is_single and self.design.d <= FEW_COLUMNS:
            S = _products_of_columns(rows.X).astype(np.float64, copy=False)
        else:
            S = rows.gram(self.weights, single=is_single).astype(np.float64, copy=False)
        if is_moderate:
            S -= np.multiply.outer(self.weight * self.mean, self.mean)
        return S

    def _suits_single(self, column_sums: Array) -> bool:
        """Whether float32 has room for the squares of these rows."""
        return bool(SMALLEST < column_sums.max(initial=0.0) / self.weight < 1 / SMALLEST)

    @cached_property
    def gram(self) -> Array:
        """D^½(X − 1μᵀ)(X − 1μᵀ)ᵀD^½ for D = diag(weights): (n, n), with the eigenvalues of S."""
        is_single = self.design.dtype == np.float32 and not self.design.is_sparse
        is_single = is_single and self._is_moderate and self._suits_single(self.column_sums)
        if not is_single:
            K = self.design.outer_gram()
        else:
            K = Design(self.design.X.T).gram(single=True).astype(np.float64)
            if self.design.center is not None:
                # Around the weighted mean of the rows: (I − 1pᵀ)K(I − p1ᵀ) for shares p.
                p = np.full(len(K), 1.0) if self.weights is None else self.weights
                sums = K @ (p / p.sum())
                K -= sums[:, None]
                K -= sums
                K += (p / p.sum()) @ sums
        if self.roots is not None:
            K *= self.roots[:, None]
            K *= self.roots
        return K

    @cached_property
    def _is_moderate(self) -> bool:
        """Whether the means are not far from 0 beside the spread, as a sample of the rows shows."""
        if self.design.is_sparse or self.design.center is None:
            return False
        rows = max(SAMPLE // self.design.d, 50)
        some = self.design.rows(slice(0, None, max(1, self.design.n // rows)))
        spread = some.column_square_sums() / some.n
        room = spread + 1e-3 * spread.max(initial=0.0)
        return bool(np.all(self.mean**2 <= MODERATE[np.dtype(self.design.dtype)] * room))

    @property
    def rounding(self) -> float:
        """About the rounding error of sums over S, relative to its trace."""
        is_single = self.design.dtype == np.float32 and not self.design.is_sparse
        eps = float(np.finfo(np.float32 if is_single else np.float64).eps)
        # A random walk of roundings (Higham and Mary 2019), over pieces that are added in order.
        return eps * (8 + np.sqrt(min(self.design.n, 4096)))

    def products(self, V: Array) -> tuple[Array, Array]:
        """VᵀSV and S·V for V (d, k), float64."""
        SV = self.times(np.asarray(V, dtype=np.float64))
        with single_blas():
            return V.T @ SV, SV


def _products_of_columns(X: Array) -> Array:
    """XᵀX in the precision of X, in pieces that threads share and that are added in order.

    NumPy's BLAS, which is newer than SciPy's, takes a quarter less time for this.
    """
    n, d = X.shape
    step = int(np.clip(PIECE_WORK / max(d * d, 1), 256, 8192))
    total = np.zeros((d, d), X.dtype)

    def product(start: int) -> Array:
        rows = X[start : start + step]
        with np.errstate(over="ignore", invalid="ignore"):  # the caller looks at the range
            return rows.T @ rows

    with single_blas():
        for first in range(0, n, PIECES_AT_ONCE * step):
            check()
            starts = range(first, min(first + PIECES_AT_ONCE * step, n), step)
            for part in map_in_threads(product, starts, X[first : first + step].size):
                total += part
    return total
