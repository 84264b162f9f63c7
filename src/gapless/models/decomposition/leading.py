"""The leading directions of rows: which way to find them, by their shape, and the ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._ground.interrupt import check
from ..._ground.lapack import call_lapack, eigh, largest_eigh
from ..._ground.threads import single_blas
from .eigenpairs import EigenPairs, top_eigenpairs
from .scatter import WORTH_ROUNDING, Scatter

Array = np.ndarray

# The ways, by the names that the estimators use for them.
SVD, COVARIANCE, GRAM, LANCZOS, NONE = "full", "covariance_eigh", "gram_eigh", "lanczos", "none"
# Rows and columns up to which the decomposition of the data itself takes no time, and that of a
# matrix less than an iteration.
SMALL, MODEST = 500, 1000
# Iterating multiplies about this many vectors for each component, and some for a start.
VECTORS_PER_COMPONENT, VECTORS_AT_LEAST = 9, 120
# Of a matrix that is there, all eigenvectors are computed if this share of them is wanted.
MANY = 0.15
# The most rows and columns of a Gram matrix of sparse rows, which may be larger than they are.
SPARSE_SIDE = 1500
# Directions beyond those wanted that help to bound what lies outside.
SPARE = 16
# Iterations stop when they could gain less than this part of what is left unexplained.
EXCESS = 1e-7
# Residuals, relative to the largest eigenvalue, that are as good as none.
NEARLY_EXACT = 1e-10
# Residuals that rounding leaves, relative to its unit and the largest eigenvalue.
ROUNDING = 16.0


@dataclass(frozen=True, eq=False)
class Leading:
    """The leading eigenvectors of a Scatter.

    Parameters
    ----------
    values : ndarray of shape (k,) or more
        The largest eigenvalues, decreasing: all that are known.
    vectors : ndarray of shape (d, k)
        Orthonormal columns.
    basis : ndarray of shape (side, k + j), or None
        Orthonormal eigenvectors of the matrix that was decomposed, S or the Gram matrix, with some
        that are nearly the next ones.
    beyond : float
        An estimate of the next eigenvalue after those of the basis.
    inner, rest : ndarray of shape (k + j, k + j), or None
        WᵀSW and RᵀR with R = SW − W(WᵀSW) for the basis W, where the iteration knows them.
    solver : str
        How they were found.
    iterations : int
        Blocks multiplied by an iteration; 0 in closed form.
    is_done : bool
        Whether nothing stopped it early.
    is_interrupted : bool
        Whether Ctrl-C did.
    """

    values: Array
    vectors: Array
    basis: Array | None
    beyond: float
    solver: str
    iterations: int = 0
    is_done: bool = True
    inner: Array | None = None
    rest: Array | None = None
    is_interrupted: bool = False


def solver_for(scatter: Scatter, count: int) -> str:
    """The fastest way to `count` components of rows of this shape."""
    n, d = scatter.design.n, scatter.design.d
    side = min(n, d)
    is_sparse = scatter.design.is_sparse
    if not is_sparse and max(n, d) <= SMALL:
        return SVD
    vectors = VECTORS_PER_COMPONENT * count + VECTORS_AT_LEAST
    most = SPARSE_SIDE if is_sparse else 4 * vectors
    if side > most and vectors < side:
        return LANCZOS
    return COVARIANCE if d <= n else GRAM


def leading(
    scatter: Scatter,
    count: int,
    solver: str,
    *,
    tol: float = 0.0,
    seed: Any = 0,
    after_step: Callable[[Array, Array], bool] | None = None,
) -> Leading:
    """The `count` leading directions, found in one of the ways named above."""
    if solver == LANCZOS:
        return _by_iteration(scatter, count, tol, seed, after_step)
    # Rows with weights may stand for more rows, and so for more directions, than there are of them.
    known = count if solver == COVARIANCE else min(count, scatter.design.n)
    if solver == SVD:
        found = _by_svd(scatter, known)
    else:
        found = _by_matrix(scatter, known, solver, tol, seed, after_step)
    return found if known == count else _with_zeros(found, count)


def _with_zeros(found: Leading, count: int) -> Leading:
    """The same with room for directions along which nothing varies; `settled` fills it."""
    d, known = found.vectors.shape
    return replace(
        found,
        values=np.append(found.values, np.zeros(max(count - len(found.values), 0))),
        vectors=np.hstack([found.vectors, np.zeros((d, count - known))]),
    )


def _by_matrix(
    scatter: Scatter, count: int, solver: str, tol: float, seed: Any, after_step: Callable | None
) -> Leading:
    """From the covariance or the Gram matrix."""
    matrix = scatter.covariance if solver == COVARIANCE else scatter.gram
    if len(matrix) <= MODEST or count + SPARE > MANY * len(matrix):
        wanted = count + SPARE + 1
        if 4 * wanted < len(matrix):
            values, vectors = call_lapack(largest_eigh, matrix.copy(), wanted)
        else:
            values, vectors = call_lapack(eigh, matrix.copy())
        values, vectors = values[::-1], vectors[:, ::-1]
        beyond = float(values[count + SPARE]) if count + SPARE < len(values) else 0.0
        iterations, is_done, is_interrupted = 0, True, False
    else:
        found = _of_matrix(matrix, count, scatter.total, tol, seed, after_step)
        values, vectors, beyond = found.values[:count], found.vectors, found.next_value
        iterations, is_done = found.iterations, found.is_done
        is_interrupted = found.is_interrupted
    basis = vectors[:, : count + SPARE]
    own = vectors[:, :count]
    if solver == GRAM:
        own = _of_columns(scatter, own)
    return Leading(
        np.maximum(values, 0.0),
        own,
        basis,
        beyond,
        solver,
        iterations,
        is_done,
        is_interrupted=is_interrupted,
    )


def widest_columns(scatter: Scatter, count: int) -> Leading:
    """The columns of largest variance: directions that take no time to find."""
    order = np.argsort(-scatter.column_sums, kind="stable")[:count]
    vectors = np.zeros((scatter.design.d, count))
    vectors[order, range(count)] = 1.0
    return Leading(scatter.column_sums[order], vectors, None, 0.0, NONE, is_done=False)


def _by_svd(scatter: Scatter, count: int) -> Leading:
    """From the data itself, which keeps the digits of small eigenvalues."""
    X = scatter.design.dense()
    if scatter.roots is not None:
        X *= scatter.roots[:, None]
    if X.shape[0] > X.shape[1]:
        X = call_lapack(_triangle, X)
    _, sizes, Vt = call_lapack(_svd, X)
    values, kept = sizes**2, count + SPARE
    basis = Vt[:kept].T if X.shape[0] == X.shape[1] else None
    beyond = float(values[kept]) if kept < len(values) else 0.0
    return Leading(values, np.ascontiguousarray(Vt[:count].T), basis, beyond, SVD)


def _triangle(X: Array) -> Array:
    return np.asarray(np.linalg.qr(X, mode="r"))


def _svd(X: Array) -> tuple[Array, Array, Array]:
    return np.linalg.svd(X, full_matrices=False)


def _by_iteration(
    scatter: Scatter, count: int, tol: float, seed: Any, after_step: Callable | None
) -> Leading:
    """From products with the data, in float32 as far as that leads.

    What is explained depends on the square of the errors of the directions, so that those of
    float32 seldom matter: only where the last eigenvalues are far below the first.
    """
    extra = min(max(SPARE, count // 2), scatter.design.d - count)
    # What is small costs nothing to be found exactly.
    if tol == 0 and scatter.design.n * scatter.design.d < WORTH_ROUNDING:
        tol = NEARLY_EXACT if scatter.design.dtype == np.float64 else 0.0
    rule = Rule(count, extra, scatter.total, tol)
    options = {"seed": seed, "after_step": after_step}
    iterations, start, found = 0, None, None
    rows = scatter.single
    if tol == 0 and rows is not None:
        found = _iterated(rows.times, scatter.design.d, rule, np.float32, None, **options)
        iterations = found.iterations
        if rows is not scatter and found.is_done:
            found = _refined(scatter, found)
        residuals = found.residuals
        if rows is scatter:
            # The iteration takes what is below its rounding for 0.
            residuals = np.maximum(residuals, np.finfo(np.float32).eps * found.values[0])
        if found.is_done and not rule.is_met(found.values, residuals, found.next_value):
            start, found = found.vectors.astype(np.float64), None
    if found is None:
        found = _iterated(scatter.times, scatter.design.d, rule, np.float64, start, **options)
        iterations += found.iterations
    return Leading(
        np.maximum(found.values[:count], 0.0),
        found.vectors[:, :count],
        found.vectors,
        found.next_value,
        LANCZOS,
        iterations,
        found.is_done,
        np.diag(found.values),
        found.residual_products,
        found.is_interrupted,
    )


def _refined(scatter: Scatter, found: EigenPairs) -> EigenPairs:
    """The pairs with Rayleigh quotients and residuals in float64, of the same span."""
    with single_blas():
        W = np.linalg.qr(found.vectors.astype(np.float64))[0]
        SW = scatter.times(W)
        values, turn = np.linalg.eigh(W.T @ SW)
        values, turn = values[::-1], turn[:, ::-1]
        W = W @ turn
        R = SW @ turn - W * values
        lengths = np.linalg.norm(R, axis=0)
        return replace(
            found, values=values, vectors=W, residuals=lengths, residual_products=R.T @ R
        )


def _of_matrix(
    matrix: Array, count: int, total: float, tol: float, seed: Any, after_step: Callable | None
) -> EigenPairs:
    def times(V: Array) -> Array:
        with single_blas():
            return matrix @ V

    rule = Rule(count, min(SPARE, len(matrix) - count), total, tol)
    return _iterated(times, len(matrix), rule, np.float64, None, seed=seed, after_step=after_step)


@dataclass(frozen=True)
class Rule:
    """When `count` eigenpairs of many are exact enough; `extra` ones come along as they are."""

    count: int
    extra: int
    total: float
    tol: float

    def is_met(self, values: Array, residuals: Array, beyond: float) -> bool:
        """Whether the residuals are small, or what they could still gain is."""
        own, left = values[: self.count], residuals[: self.count]
        if self.tol > 0:
            return bool(np.all(left <= self.tol * values[0]))
        unexplained = max(self.total - float(own.sum()), 0.0)
        return self.gain(values, residuals, beyond) <= EXCESS * unexplained

    def gain(self, values: Array, residuals: Array, beyond: float) -> float:
        """About how much more the best directions explain than those found.

        An eigenvalue exceeds its Rayleigh quotient θ by at most r, and by r²/(θ − μ) to second
        order, where μ is the largest eigenvalue outside all vectors found: residuals are at right
        angles to the extra ones as well (Temple 1928; Kato 1949; Parlett 1998, section 10.5).
        """
        own, left = values[: self.count], residuals[: self.count]
        outside = values[-1] + residuals[-1] if self.extra else beyond
        gaps = np.maximum(own - outside, np.finfo(np.float64).tiny)
        with np.errstate(over="ignore"):
            return float(np.minimum(left, left * (left / gaps)).sum())


def _iterated(
    times: Callable[[Array], Array],
    size: int,
    rule: Rule,
    dtype: Any,
    start: Array | None,
    **options: Any,
) -> EigenPairs:
    """Eigenpairs until the rule is met, or rounding permits no more."""
    rounding = ROUNDING * float(np.finfo(dtype).eps)

    def is_enough(values: Array, residuals: Array, beyond: float) -> bool:
        is_rounding = np.all(residuals[: rule.count] <= rounding * values[0])
        return bool(is_rounding) or rule.is_met(values, residuals, beyond)

    return top_eigenpairs(
        times,
        size,
        rule.count + rule.extra,
        start=start,
        dtype=dtype,
        is_enough=is_enough,
        **options,
    )


def _of_columns(scatter: Scatter, U: Array) -> Array:
    """Eigenvectors of S from those of the Gram matrix: the rows combined by them, orthonormal."""
    Z = U if scatter.roots is None else U * scatter.roots[:, None]
    with single_blas():
        # QR, since directions without variance have no length of their own.
        vectors, triangle = np.linalg.qr(scatter.design.transposed_times(Z))
        return vectors * np.where(np.diag(triangle) < 0, -1.0, 1.0)


def settled(scatter: Scatter, found: Leading, count: int) -> Array:
    """The vectors (d, count), with fixed ones in place of those along which rows do not vary.

    Any directions at right angles would do there; rounding would choose others for the same rows in
    another order. These are the columns that the rest says least about, made orthogonal.
    """
    n, d = scatter.design.n, scatter.design.d
    eps = float(np.finfo(np.float64).eps)
    least = (eps * max(n, d)) ** 2 if found.solver == SVD else 16 * eps * max(n, d)
    values = found.values[:count]
    varied = int(np.count_nonzero(values > least * max(values.max(initial=0.0), 0.0)))
    # Centred rows have a dimension less than there are of them, whatever rounding says.
    is_short = scatter.design.center is not None and (n <= d or scatter.rank < d)
    varied = min(varied, max(scatter.rank - is_short, 0))
    vectors = np.asarray(found.vectors[:, :count], dtype=np.float64)
    if varied == count:
        return vectors
    vectors = vectors.copy()
    for k in range(varied, count):
        check()
        own = vectors[:, :k]
        free = 1.0 - np.sum(own**2, axis=1)
        vector = np.zeros(d)
        vector[int(np.argmax(free.round(8)))] = 1.0
        with single_blas():
            for _ in range(2):
                vector -= own @ (own.T @ vector)
        vectors[:, k] = vector / np.linalg.norm(vector)
    return vectors
