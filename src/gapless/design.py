"""X as an operator: the only file that knows whether X is dense or sparse, float32 or float64, centred or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


class Design:
    """The n × d data matrix as an operator, optionally centred (X − 1μᵀ) without being copied.

    Products take the precision of the vector: float64 in, float64 sums out, whatever X is stored in.
    """

    def __init__(self, X: Any, center: np.ndarray | None = None):
        self.is_sparse = sp.issparse(X)
        self.X = X
        self.n, self.d = X.shape
        self.dtype = X.dtype
        self.center = center

    def times(self, w: np.ndarray) -> np.ndarray:
        """X @ w for w of shape (d,) or (d, K)."""
        z = np.asarray(self.X @ w)
        return z if self.center is None else z - self.center @ w

    def transposed_times(self, r: np.ndarray) -> np.ndarray:
        """Xᵀ @ r for r of shape (n,) or (n, K)."""
        g = np.asarray(self.X.T @ r)
        if self.center is None:
            return g
        return g - np.multiply.outer(self.center, r.sum(axis=0))

    def gram(self, weights: np.ndarray | None = None) -> np.ndarray:
        """XᵀDX (d × d, float64) for nonnegative weights D; rows of weight 0 cost nothing."""
        X = self.X.toarray() if self.is_sparse else self.X
        X = X.astype(np.float64)
        if self.center is not None:
            X = X - self.center
        return X.T @ (X if weights is None else weights[:, None] * X)

    def outer_gram(self) -> np.ndarray:
        """X Xᵀ (n × n, float64)."""
        X = self.X.toarray() if self.is_sparse else self.X
        X = X.astype(np.float64)
        if self.center is not None:
            X = X - self.center
        return X @ X.T

    def column_square_sums(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Σᵢ weightsᵢ xᵢⱼ² for every column j, float64."""
        X = self.X.multiply(self.X) if self.is_sparse else np.square(self.X, dtype=np.float64)
        s = np.ones(self.n) if weights is None else weights
        q = np.asarray(X.T @ s)
        if self.center is not None:
            q = q - 2 * self.center * np.asarray(self.X.T @ s) + self.center**2 * s.sum()
        return q

    def columns(self, index: np.ndarray) -> Design:
        """The design made of the given columns (integer positions)."""
        center = None if self.center is None else self.center[index]
        return Design(self.X[:, index], center)

    def rows(self, index: np.ndarray) -> Design:
        """The design made of the given rows (integer positions)."""
        return Design(self.X[index], self.center)
