"""Least squares with ½Σ l2ⱼwⱼ²: one system of linear equations, by Cholesky, eigen, SVD or CG.

With the rows scaled by √s and centred at their weighted mean, which takes the bias out, w solves

    (XᵀX + Λ) w = Xᵀy,  Λ = diag(l2),       or, in the rows,       w = Λ⁻¹Xᵀα,  (XΛ⁻¹Xᵀ + I) α = y.

The smaller of the two systems is formed. Features with l2ⱼ = 0 are free; if the data leave them
undetermined, the solution of least norm is returned.

References
----------
Björck (1996), Numerical Methods for Least Squares Problems, SIAM: sections 2.2 (normal equations),
2.7 (rank), 2.9 (iterative refinement), 7.4 (conjugate gradients).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from .._ground.design import Design
from .._ground.threads import single_blas
from ..problem import Parameters, Problem
from ._base import Point, made_by, solver
from .positive_definite import (
    EPS,
    Cholesky,
    Eigen,
    call_lapack,
    centred_rows,
    drop_constants,
    orthonormal,
    without,
)

Array = np.ndarray
Factorise = Callable[[Array], Cholesky | Eigen]

# The largest dense copy of X, in entries, that the singular value decomposition may make.
LARGEST_COPY = 250_000_000
# About how many products with X cost as much as one multiplication by a Gram matrix of order one:
# conjugate gradients take some 200 steps, and products run at a twelfth of the speed of a Gram.
PRODUCTS_PER_ORDER = 10_000


def _refuses(problem: Problem) -> str | None:
    if problem.loss.name != "squared":
        return f"needs the squared loss, got {problem.loss.name}"
    coordinates = problem.coordinates
    if coordinates is None or not coordinates.is_quadratic():
        return f"needs a penalty ½Σ l2ⱼwⱼ² or none, got {problem.penalty.name}"
    return None


@solver("closed_form", refuses=_refuses, max_iter=100_000)
def closed_form(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Solve the normal equations directly, or by conjugate gradients if X is large and sparse.

    Costs O(n·d·m + m³) with m = min(n, d); conjugate gradients cost O(entries) per step.
    """
    m = min(problem.n, problem.d)
    entries = problem.design.density * problem.n * problem.d
    if entries * m + m**3 / 3 > PRODUCTS_PER_ORDER * entries:
        yield from made_by("cg", conjugate_gradients(problem, start))
    else:
        yield from cholesky(problem, start)


@solver("cholesky", refuses=_refuses)
def cholesky(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Solve the normal equations by Cholesky, or by the SVD of X if they are ill-conditioned."""
    squares, name = LeastSquares.of(problem), "cholesky"
    w = squares.solve(Cholesky)
    if w is None and problem.n * problem.d > LARGEST_COPY:
        w, name = squares.solve(Eigen.of), "eigen"
    yield squares.solved(w, name)


@solver("eigen", refuses=_refuses)
def eigen(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Solve the normal equations by their eigenvectors, which also reveal their rank."""
    squares = LeastSquares.of(problem)
    yield squares.solved(squares.solve(Eigen.of), "eigen")


@solver("svd", refuses=_refuses)
def svd(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Solve by the singular value decomposition of X: a dense copy, but twice the digits."""
    squares = LeastSquares.of(problem)
    yield squares.point(squares.solve_by_svd())


@solver("cg", refuses=_refuses, max_iter=100_000)
def conjugate_gradients(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Solve the normal equations by conjugate gradients, all outputs side by side.

    The residual is kept in the rows (CGLS), which is as accurate as LSQR. The columns are scaled if
    every feature is penalised; otherwise they are not, because the iterates then stay in the row
    space and converge to the solution of least norm.
    """
    squares = LeastSquares.of(problem)
    X, s, l2 = squares.design, squares.s, squares.l2[:, None]
    squared_norms = X.column_square_sums(s[:, 0])[:, None]
    is_penalised = bool(np.all(l2 > 0))
    scale = 1 / np.sqrt(squared_norms + l2) if is_penalised else np.ones_like(l2)
    # ‖g‖² below which g is only the rounding of its own computation
    noise = EPS**2 * np.sum(scale**2 * squared_norms) * np.sum(s * squares.y**2, axis=0)
    w = np.array(start.w, dtype=float).reshape(X.d, squares.y.shape[1])
    direction, before, idle = np.zeros_like(w), np.full(w.shape[1], np.inf), 0
    while idle < 25:
        # A residual that is only updated accumulates rounding, which would end up in the
        # coefficients.
        residual, fall = squares.y - X.times(w), 0.0
        for step in range(8):
            g = scale * (X.transposed_times(s * residual) - l2 * w)
            size = np.sum(g**2, axis=0)
            if step == 0:
                gap = float(np.sum((g / scale) ** 2 / (2 * l2))) if is_penalised else None
                yield squares.point(w, residual, gap)
                if np.all(size <= noise):
                    return
            if np.all(size <= noise):
                break
            direction = g + _ratio(size, before) * direction
            moved = X.times(scale * direction)
            curvature = np.sum(s * moved**2, axis=0)
            curvature += np.sum(l2 * (scale * direction) ** 2, axis=0)
            t = np.where(size > noise, _ratio(size, curvature), 0.0)
            w = w + t * scale * direction
            residual = residual - t * moved
            before = np.where(size > noise, size, np.inf)
            fall += 0.5 * float(np.sum(t * size))
        idle = idle + 1 if fall <= EPS * float(np.sum(s * residual**2)) else 0


def _ratio(a: Array, b: Array) -> Array:
    return np.where(b > 0, a / np.where(b > 0, b, 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """min_w ½Σ sᵢ‖yᵢ − wᵀxᵢ‖² + ½Σ l2ⱼ‖wⱼ‖² with centred rows; y and s are columns, w is (d, K)."""

    problem: Problem
    design: Design
    y: Array
    s: Array
    l2: Array
    x_mean: Array
    y_mean: Array

    @classmethod
    def of(cls, problem: Problem) -> LeastSquares:
        """The problem with its bias eliminated."""
        s, total = problem.weights, float(problem.weights.sum())
        coordinates = problem.coordinates
        assert coordinates is not None
        design = problem.design
        y = np.asarray(problem.y, dtype=float).reshape(problem.n, -1)
        x_mean, y_mean = np.zeros(problem.d), np.zeros(y.shape[1])
        if problem.fit_bias and total > 0:
            share = s / total
            x_mean = design.transposed_times(share)
            y_mean = np.sum(share[:, None] * y, axis=0)
            design, y = design.shifted(x_mean), y - y_mean
        return cls(problem, design, y, s[:, None], coordinates.l2, x_mean, y_mean)

    @property
    def is_centred(self) -> bool:
        """Whether the bias was eliminated."""
        return self.problem.fit_bias and bool(np.any(self.s > 0))

    def point(
        self, w: Array, residual: Array | None = None, estimate: float | None = None
    ) -> Point:
        """w and its bias as a point, in the shape of the problem."""
        b = self.y_mean - np.sum(self.x_mean[:, None] * w, axis=0)
        z = None if residual is None else self.y - residual + self.y_mean
        if self.problem.outputs is None:
            return Point(w[:, 0], b[0], None if z is None else z[:, 0], estimate=estimate)
        return Point(w, b, z, estimate=estimate)

    def solved(self, w: Array | None, name: str) -> Point:
        """The solution `w` found by the method `name`, or by singular values if it found none."""
        if w is None:
            w, name = self.solve_by_svd(), "svd"
        return replace(self.point(w), solver=name)

    # ---- normal equations ------------------------------------------------------------------------

    def solve(self, method: Factorise) -> Array | None:
        """w by a factorisation of the smaller system; None if it cannot be trusted."""
        wide = self.design.d > self.design.n
        is_free = self.l2 == 0
        if wide and is_free.all():
            return self._solve_in_rows_without_penalty(method)
        if not wide:
            return self._solve_in_features(method)
        return self._solve_in_rows(method) if np.sum(is_free) < self.design.n else None

    def _solve_in_features(self, method: Factorise) -> Array | None:
        H = self.design.gram(None if np.all(self.s == 1) else self.s[:, 0])
        if not _is_representable(np.diag(H)):
            return None
        if self.design.center is not None:
            squared = float(self.s.sum()) * self.design.center**2
            drop_constants(H, self.l2, squared, self.design.n)
        H[np.diag_indices(len(H))] += self.l2
        factor = method(H)
        if not factor.is_reliable:
            return None

        def correction(w: Array, residual: Array) -> Array:
            g = self.design.transposed_times(self.s * residual) - self.l2[:, None] * w
            return factor.solve(g)

        return self._refine(correction)

    def _solve_in_rows(self, method: Factorise) -> Array | None:
        """Solve for α, the few free features F eliminated: (K + I)α + Fv = y, Fᵀα = 0."""
        is_free = self.l2 == 0
        root = np.sqrt(self.s)
        inverse = np.where(is_free, 0.0, 1 / np.where(is_free, 1.0, self.l2))
        K = root * self.design.outer_gram(inverse) * root.T
        if not np.all(np.isfinite(K)):
            return None
        K[np.diag_indices(len(K))] += 1.0
        factor = method(K)
        if not factor.is_reliable:
            return None
        F = root * self.design.columns(np.flatnonzero(is_free)).dense()
        solved = factor.solve(F)
        with single_blas():
            schur = Eigen.of(F.T @ solved)
        alpha = np.zeros_like(self.y)

        def correction(w: Array, residual: Array) -> Array:
            nonlocal alpha
            right = root * residual - alpha
            with single_blas():
                free = schur.solve(solved.T @ right)
                step = factor.solve(right) - solved @ free
            alpha = alpha + step
            moved = inverse[:, None] * self.design.transposed_times(root * step)
            moved[is_free] = free
            return moved

        return self._refine(correction)

    def _solve_in_rows_without_penalty(self, method: Factorise) -> Array | None:
        """The least-norm w of best fit: w = Xᵀα with XXᵀα = y."""
        root = np.sqrt(self.s)
        K = root * self.design.outer_gram() * root.T
        if not _is_representable(np.diag(K)):
            return None
        if self.is_centred and method is Cholesky:
            # Centred rows add up to 0, so K√s = 0. A multiple of √s√sᵀ makes K regular and has no
            # effect because y is centred as well.
            K += root * root.T * (np.trace(K) / float(self.s.sum()) / len(K))
        factor = method(K)
        if not factor.is_reliable:
            return None
        return self._refine(
            lambda w, residual: self.design.transposed_times(root * factor.solve(root * residual))
        )

    def _refine(self, correction) -> Array:
        """Sum corrections computed from the true residuals until they stop shrinking."""
        w = np.zeros((self.design.d, self.y.shape[1]))
        residual, length = self.y, np.inf
        for _ in range(10):
            step = correction(w, residual)
            before, length = length, float(np.max(np.abs(step), initial=0.0))
            if not length <= 0.5 * before:
                break
            w = w + step
            # The next correction would shrink by about the same factor as this one.
            shrinks = length / before if before < np.inf else 1.0
            if length * shrinks <= EPS * float(np.max(np.abs(w), initial=0.0)):
                break
            residual = self.y - self.design.times(w)
        return w

    # ---- singular values -------------------------------------------------------------------------

    def solve_by_svd(self) -> Array:
        """w by the singular values of X, free features first: their part is projected out.

        Columns without entries have weight 0, so a wide sparse X is never made dense.
        """
        filled = self.design.filled_columns()
        design, l2 = self.design.columns(filled), self.l2[filled]
        rows = centred_rows(design, self.s[:, 0]) if self.is_centred else design.dense()
        A = np.sqrt(self.s) * rows
        y = np.sqrt(self.s) * self.y
        scale = _inverse_norms(A)
        A *= scale
        is_free = l2 == 0
        w = np.zeros((design.d, y.shape[1]))
        free = SingularValues(A[:, is_free], self._rank_tolerance)
        if not is_free.all():
            root = np.sqrt(l2[~is_free]) * scale[~is_free]
            rest = free.project_out(A[:, ~is_free]) * (root.max() / root)
            damped = SingularValues(rest, 0.0).solve(free.project_out(y), float(root.max()))
            w[~is_free] = (root.max() / root)[:, None] * damped
            with single_blas():
                y = y - A[:, ~is_free] @ w[~is_free]
        w[is_free] = free.solve(y)
        w *= scale[:, None]
        if len(free.values) < np.count_nonzero(is_free):
            # Least norm in the caller's units: the part in the row space of X itself.
            rows = orthonormal(free.right / scale[is_free, None])
            with single_blas():
                w[is_free] = rows @ (rows.T @ w[is_free])
        out = np.zeros((self.design.d, y.shape[1]))
        out[filled] = w
        return out

    @property
    def _rank_tolerance(self) -> float:
        """The rank tolerance of LAPACK and NumPy, in the precision of the data."""
        return max(self.design.n, self.design.d) * float(np.finfo(self.design.dtype).eps)


class SingularValues:
    """A = UΣVᵀ without the singular values below `rank_tolerance` times the largest."""

    def __init__(self, A: Array, rank_tolerance: float):
        n, d = A.shape
        empty = np.zeros((n, 0)), np.zeros(0), np.zeros((0, d))
        left, values, right = call_lapack(_gesdd, A) if A.size else empty
        keep = values > rank_tolerance * values.max(initial=0.0)
        self.left, self.values, self.right = left[:, keep], values[keep], right[keep].T

    def solve(self, y: Array, root: float = 0.0) -> Array:
        """argmin ½‖y − Aw‖² + ½‖root·w‖², of least norm."""
        with single_blas():
            along = self.left.T @ y
            # σ/(σ² + λ), in an order that neither overflows nor underflows
            filtered = along / (self.values + root * (root / self.values))[:, None]
            return self.right @ filtered

    def project_out(self, v: Array) -> Array:
        """v minus its part in the range of A; done twice, for orthogonality to the last digit."""
        return without(self.left, without(self.left, v))


def _gesdd(A: Array) -> tuple[Array, Array, Array]:
    try:
        return np.linalg.svd(A, full_matrices=False)
    except np.linalg.LinAlgError:
        # Divide and conquer fails on rare matrices on which the QR iteration does not.
        return scipy.linalg.svd(A, full_matrices=False, check_finite=False, lapack_driver="gesvd")


def _inverse_norms(A: Array) -> Array:
    """1/‖column‖ without overflow; 1 for a column of zeros."""
    largest = np.max(np.abs(A), axis=0, initial=0.0)
    safe = np.where(largest > 0, largest, 1.0)
    norms = np.sqrt(np.sum((A / safe) ** 2, axis=0))
    return 1 / (safe * np.where(norms > 0, norms, 1.0))


def _is_representable(squares: Array) -> bool:
    """Whether squared numbers neither overflowed nor lost their digits near the smallest float."""
    positive = squares[squares > 0]
    return bool(np.all(np.isfinite(squares)) and np.all(positive > 1e-280))
