"""Least squares with ½Σ l2ⱼwⱼ² by singular values: exact however small the penalty.

With the rows scaled by √s, the columns by 1/√l2, and the free columns (bias, features with l2ⱼ = 0)
projected out, X = USVᵀ. Leaving rows out needs the matrix P = N + λQ, where

    N = I − UUᵀ − the free columns' part,        Q = U diag(1/(S² + λ)) Uᵀ,

and gives y₍₋G₎ = y_G − x with P_GG x = (Py)_G. If N_GG has a null space, as for a row that alone
determines a coefficient, the equations there are divided by λ. They also hold for λ → 0, the fit of
least norm.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from ..._ground.design import Design
from ..._ground.memory import blocks
from ..._ground.threads import single_blas
from ...solvers import EPS, SingularValues, without
from ._base import Array, NotAvailable, members

# Rows whose share in N is below this get it recomputed with all digits.
SMALL = 0.01
# Numbers in the largest block that a group of rows may need, its size times n.
LARGEST_GROUP = 1e8


class Spectrum:
    """The rows of a least-squares problem in its singular vectors; y is (n, K), and λ = 1 or 0.

    Columns without entries are left out, so that a wide sparse X is never made dense; `columns` are
    the others, which the right vectors refer to.
    """

    def __init__(self, design: Design, y: Array, weights: Array, l2: Array, fit_bias: bool):
        self.root, self.K = np.sqrt(weights)[:, None], y.shape[1]
        self.strength = 1.0 if np.any(l2 > 0) else 0.0
        shape, self.columns = (design.n, design.d), design.filled_columns()
        design, l2 = design.columns(self.columns), l2[self.columns]
        x_mean = np.zeros(design.d)
        if fit_bias:
            x_mean = design.transposed_times(weights / weights.sum())
            design = design.shifted(x_mean)
            y = y - np.sum(weights[:, None] * y, axis=0) / weights.sum()
        X = self.root * design.dense()
        is_free = l2 == 0 if self.strength else np.zeros(len(l2), dtype=bool)
        # Without a penalty the rank matters, and is determined in the precision of the data.
        smallest = np.finfo(float if self.strength else design.dtype).eps
        tolerance = max(shape) * float(smallest)
        # Free features that vary by no more than rounding are set to zero.
        noise = 64 * EPS**2 * float(weights.sum()) * x_mean**2
        X[:, (l2 == 0) & (np.sum(X**2, axis=0) <= noise)] = 0.0
        self.free = _range(X[:, is_free], tolerance)
        if fit_bias:
            ones = self.root / np.sqrt(weights.sum())
            self.free = np.hstack([self.free, ones])
        scale = np.sqrt(l2[~is_free]) if self.strength else 1.0
        singular = SingularValues(_off(self.free, X[:, ~is_free] / scale), tolerance)
        self.left, self.right, self.squares = singular.left, singular.right, singular.values**2
        self.y = self.root * y
        with single_blas():
            self.along = self.left.T @ self.y
        self._project()

    def _project(self) -> None:
        """Nᵢᵢ and (Ny)ᵢ; exactly 0 if they are only rounding."""
        basis = np.hstack([self.left, self.free])
        rest = _off(basis, self.y)
        self.rest = rest.copy()
        self.own = 1 - np.einsum("ij,ij->i", basis, basis)
        small = np.flatnonzero(self.own < SMALL)
        noise = 64 * EPS * np.sqrt(len(basis))
        self.is_pinned = np.zeros(len(basis), dtype=bool)
        for block in blocks(len(small), len(basis)):
            rows = small[block]
            N = self._rows_of_N(rows)
            self.own[rows] = np.einsum("ij,ij->i", N, N)
            with single_blas():
                self.rest[rows] = N @ rest
            self.is_pinned[rows] = self.own[rows] <= noise**2
        self.own[self.is_pinned], self.rest[self.is_pinned] = 0.0, 0.0

    def _rows_of_N(self, rows: Array) -> Array:
        """Rows of the projection N, (r, n)."""
        basis = np.hstack([self.left, self.free])
        N = np.zeros((len(rows), len(basis)))
        N[np.arange(len(rows)), rows] = 1.0
        return _off(basis, N.T).T

    def leave(self, groups: Array | None) -> tuple[Array, Array]:
        """y minus each row's prediction without itself or its group, and the leverages."""
        return self.leave_each() if groups is None else self.leave_groups(groups)

    def leave_each(self) -> tuple[Array, Array]:
        """The same for rows alone."""
        missing, kept = np.empty_like(self.y), np.empty(len(self.y))
        strength = np.array([self.strength])
        for rows in blocks(len(self.y), self.left.shape[1]):
            missing[rows] = self.missing(rows, strength)[:, 0]
            kept[rows] = self._own(rows, strength)[0][:, 0]
        return missing, 1 - kept

    def missing(self, rows: slice, strengths: Array) -> Array:
        """y minus each row's prediction without itself, for all strengths λ: (r, m, K)."""
        inverse = 1 / (self.squares[:, None] + strengths)
        with single_blas():
            right = inverse[:, :, None] * self.along[:, None, :]
            pull = np.tensordot(self.left[rows], right, axes=1)
        whole, own = self._own(rows, strengths)
        pinned = self.is_pinned[rows, None]
        top = np.where(
            pinned[:, :, None], pull, self.rest[rows, None, :] + strengths[:, None] * pull
        )
        bottom = np.where(pinned, own, whole)
        if np.any(bottom <= 0):
            raise NotAvailable(
                "without one of the rows, an unpenalised coefficient is not determined"
            )
        return top / bottom[:, :, None] / self.root[rows, :, None]

    def _own(self, rows: slice, strengths: Array) -> tuple[Array, Array]:
        """Pᵢᵢ and Qᵢᵢ for all strengths, (r, m)."""
        with single_blas():
            own = self.left[rows] ** 2 @ (1 / (self.squares[:, None] + strengths))
        return self.own[rows, None] + strengths * own, own

    def leave_groups(self, groups: Array) -> tuple[Array, Array]:
        """The same for groups of rows."""
        if np.bincount(groups).max() * len(self.y) > LARGEST_GROUP:
            raise NotAvailable("the groups are too large for ill-conditioned data")
        missing, leverage = np.empty_like(self.y), np.empty(len(self.y))
        inverse = 1 / (self.squares + self.strength)
        with single_blas():
            pull = self.left @ (inverse[:, None] * self.along)
        for rows in members(groups):
            missing[rows], leverage[rows] = self._leave(rows, inverse, pull[rows])
        return missing / self.root, leverage

    def _leave(self, rows: Array, inverse: Array, pull: Array) -> tuple[Array, float]:
        """x of one group, scaled by √s, and its leverage."""
        strength = self.strength
        with single_blas():
            N = self._rows_of_N(rows)
            # The rows' own space, split into what N determines and what it does not.
            vectors, values, _ = scipy.linalg.svd(N, full_matrices=False, check_finite=False)
            decided = values > 64 * EPS * np.sqrt(N.shape[1])
            U = vectors.T @ self.left[rows]
            Q = (U * inverse) @ U.T
            right = vectors.T @ pull
            weight = np.where(decided, strength, 1.0)[:, None]
            P = weight * Q + np.diag(np.where(decided, values**2, 0.0))
            right *= weight
            right[decided] += (vectors.T @ (N @ self.rest))[decided]
            whole = strength * Q + np.diag(np.where(decided, values**2, 0.0))
            try:
                x = vectors @ np.linalg.solve(P, right)
            except np.linalg.LinAlgError:
                raise NotAvailable(
                    "without one of the groups, a coefficient is not determined"
                ) from None
        return x, 1 - float(np.linalg.eigvalsh(whole)[0])


def _range(X: Array, tolerance: float) -> Array:
    """An orthonormal basis of the span of the columns, whatever their units."""
    norms = np.sqrt(np.sum(X**2, axis=0))
    return SingularValues(X[:, norms > 0] / norms[norms > 0], tolerance).left


def _off(basis: Array, v: Array) -> Array:
    """v minus its part in the span of a basis; done twice, for orthogonality to the last digit."""
    return without(basis, without(basis, v))
