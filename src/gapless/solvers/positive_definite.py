"""Symmetric positive (semi-)definite systems: Cholesky and eigenvectors, with the diagonal at one.

Scaling the diagonal to one first makes the units of the features irrelevant (van der Sluis 1969).
Called by the closed form and by Newton's method. LAPACK runs on one thread, for the same bits
everywhere, and in a worker thread if it takes long enough for Ctrl-C to matter.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.linalg import get_lapack_funcs

from .._ground.design import Design
from .._ground.lapack import call_lapack, eigh, potrf
from .._ground.threads import single_blas

Array = np.ndarray
EPS = float(np.finfo(float).eps)


class Cholesky:
    """H = LLᵀ for a positive definite H, float32 or float64, which is overwritten.

    `is_reliable` says whether H is far enough from singular for its solutions to mean something,
    and in float64 for iterative refinement to converge: a float32 factor only preconditions.
    """

    def __init__(self, H: Array):
        self.scale = unit_diagonal(H)
        self.factor = H
        estimate, self._solve = get_lapack_funcs(("pocon", "potrs"), (H,))
        condition = 1.0
        if len(H):
            norm = float(np.max(np.sum(np.abs(H), axis=0)))
            # The transpose is in LAPACK's order, and the same matrix.
            self.factor, failed = call_lapack(potrf, H.T, 1, 0, 1)
            condition = 0.0 if failed else estimate(self.factor, norm, uplo="L")[0]
        roundings = 16 if H.dtype == np.float32 else 16 * len(H)
        self.is_reliable = condition > roundings * float(np.finfo(H.dtype).eps)

    def unanswered(self, r: Array) -> tuple[float, float]:
        """‖·‖² of the part of r outside the range of H (nothing), and of r, in units of H."""
        return 0.0, float(np.sum(_rows_times(self.scale, r) ** 2))

    def solve(self, r: Array) -> Array:
        """H⁻¹r for r of shape (d,) or (d, K)."""
        if not len(r):
            return np.zeros_like(r)
        right = _rows_times(self.scale, r)
        with single_blas():
            x, _ = self._solve(self.factor, right, lower=1)
        return _rows_times(self.scale, x)


class Eigen:
    """H = VΛVᵀ for a positive semi-definite H; gives least-norm solutions.

    `null` is an orthonormal basis (d, k) of the vectors whose eigenvalues count as zero.
    """

    is_reliable = True

    def __init__(self, values: Array, vectors: Array, scale: Array, tolerance: float):
        keep = values > tolerance * max(values.max(initial=0.0), 0.0)
        self.values, self.vectors, self.scale = values[keep], vectors[:, keep], scale
        self.null = orthonormal(_rows_times(scale, vectors[:, ~keep]))

    @classmethod
    def of(cls, H: Array) -> Eigen:
        """From H itself, which is overwritten; eigenvalues within its rounding count as zero."""
        scale = unit_diagonal(H)
        values, vectors = call_lapack(eigh, H) if len(H) else (np.zeros(0), np.zeros((0, 0)))
        return cls(values, vectors, scale, 16 * len(H) * EPS)

    @classmethod
    def of_rows(cls, A: Array) -> Eigen:
        """From a matrix with AᵀA = H, which is overwritten: twice as many digits of Λ count."""
        n, d = A.shape
        norms = np.sqrt(np.sum(A * A, axis=0))
        scale = 1 / np.where(norms > 0, norms, 1.0)
        A *= scale
        values, vectors = call_lapack(_right_singular, A) if A.size else (np.zeros(d), np.eye(d))
        return cls(values**2, vectors, scale, (max(n, d) * EPS) ** 2)

    def unanswered(self, r: Array) -> tuple[float, float]:
        """‖·‖² of the part of r outside the range of H, and of r, in units of H."""
        with single_blas():
            whole = _rows_times(self.scale, r)
            rest = whole - self.vectors @ (self.vectors.T @ whole)
        return float(np.sum(rest**2)), float(np.sum(whole**2))

    def solve(self, r: Array) -> Array:
        """The least-norm x with Hx = r, for r of shape (d,) or (d, K)."""
        with single_blas():
            coordinates = self.vectors.T @ _rows_times(self.scale, r)
            x = self.vectors @ _rows_times(1 / self.values, coordinates)
        return without(self.null, _rows_times(self.scale, x))


def unit_diagonal(H: Array) -> Array:
    """Turn H into SHS with ones on the diagonal, in place, and return the diagonal of S.

    A row of zeros, such as that of a constant feature, becomes a row of the identity.
    """
    diagonal = np.diag(H)
    scale = np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        H *= scale[:, None]
        H *= scale
    np.fill_diagonal(H, np.where(np.isfinite(diagonal), 1.0, np.nan))
    return scale


def orthonormal(vectors: Array) -> Array:
    """An orthonormal basis of the span of the columns, which must be independent."""
    if not vectors.size:
        return vectors
    with single_blas():
        # Their lengths may differ by the units of the features.
        return np.linalg.qr(vectors / np.max(np.abs(vectors), axis=0))[0]


def without(basis: Array, w: Array) -> Array:
    """w minus its part in the span of an orthonormal basis."""
    if not basis.size:
        return w
    with single_blas():
        return w - basis @ (basis.T @ w)


def _right_singular(A: Array) -> tuple[Array, Array]:
    """All d singular values of A, zeros included, and their right vectors in columns."""
    d = A.shape[1]
    R = scipy.linalg.qr(A, mode="r", overwrite_a=True, check_finite=False)[0][:d]
    R = np.vstack([R, np.zeros((d - len(R), d))])
    _, values, right = np.linalg.svd(R)
    return values, right.T


def _rows_times(scale: Array, r: Array) -> Array:
    return scale * r if r.ndim == 1 else scale[:, None] * r


def centred_rows(design: Design, weights: Array) -> Array:
    """The rows of a centred design as a dense array, exact to the last digit.

    The rounding of a mean far from 0 stays in every row and would pass for a direction of its own;
    the mean of the remainder has no such error. A constant feature becomes exactly 0.
    """
    rows, total = design.dense(), float(weights.sum())
    assert design.center is not None
    if total > 0:
        rows -= np.sum((weights / total)[:, None] * rows, axis=0)
    rows[:, np.max(np.abs(rows), axis=0, initial=0.0) <= 8 * EPS * np.abs(design.center)] = 0.0
    return rows


def drop_constants(H: Array, l2: Array, squared_means: Array, n: int) -> None:
    """Set the rows of H to zero for features that vary by no more than rounding.

    H is a Gram matrix of n centred rows, `squared_means` what centring took off its diagonal.
    Scaled to a unit diagonal, the remaining rounding would pass for data. The mean of n numbers is
    off by about √n·EPS of itself.
    """
    constant = (np.diag(H) <= 64 * max(n, 1) * EPS**2 * squared_means) & (l2 == 0)
    H[constant] = 0.0
    H[:, constant] = 0.0
