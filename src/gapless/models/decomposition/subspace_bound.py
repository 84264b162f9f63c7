"""How much of the variation any directions could explain: a proved bound on leading eigenvalues.

For orthonormal W, with M = WᵀSW, R = SW − WM and every eigenvalue of S outside W at most μ,

    S ⪯ [M + RᵀR/σ] ⊕ (μ + σ)I   for every σ > 0   in the basis (W, its complement),

so the k largest eigenvalues of S sum to at most those of the right-hand side (Ky Fan 1949). W may
be any directions: good ones, with small residuals R, make the bound tight, and wrong ones only
weaken it. That μ is large enough is proved by a Cholesky factorisation where there is a matrix
(Sylvester's law of inertia), else by random probes, which fail with a probability below 10⁻⁶.

Where there is no time for either, the trace of S, and the sum of its squared entries if it is a
matrix, bound the eigenvalues outside, whatever directions were found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._ground.lapack import call_lapack, potrf
from ..._ground.threads import single_blas

Array = np.ndarray

# Random vectors that look for eigenvalues outside, and the degree of the polynomial applied.
PROBES, DEGREE = 8, 6
# The chance that all probes together miss a direction.
MISSED = 1e-6
# Where the eigenvalues outside are bounded, between their estimate and the smallest that counts.
BETWEEN = (0.5, 0.9)
# How far above their estimate otherwise.
MARGINS = (1e-6, 1e-3, 0.1, 1.0)


@dataclass(frozen=True)
class SumBound:
    """An upper bound on the sum of the k largest eigenvalues, and what proves it.

    `attained` is what some directions do explain: the sum is at least this.
    """

    value: float
    method: str
    attained: float = 0.0


def exact_sum(matrix: Array, count: int) -> SumBound:
    """The sum itself, of all eigenvalues of a small matrix."""
    values = call_lapack(np.linalg.eigvalsh, matrix)
    return SumBound(float(np.maximum(values, 0.0)[::-1][:count].sum()), "all eigenvalues")


def bound_by_matrix(matrix: Array, W: Array, count: int, outside: float) -> SumBound:
    """From a matrix S, orthonormal W, and an estimate of the largest eigenvalue outside W."""
    with single_blas():
        SW = matrix @ W
        M = W.T @ SW
        R = SW - W @ M
        # S compressed to the complement of W is S − WBᵀ − BWᵀ.
        B = SW - 0.5 * (W @ M)
        update = W @ B.T
        rest = matrix - update
        rest -= update.T
    least = max(outside, float(np.diag(rest).max(initial=0.0)))
    rounding = 8 * len(matrix) * np.finfo(np.float64).eps * float(np.diag(matrix).max(initial=0.0))
    room = float(np.linalg.eigvalsh(M)[-count]) - least
    levels = [least + share * room for share in BETWEEN if room > 4 * rounding]
    levels += [least * (1 + margin) for margin in MARGINS]
    for level in levels:
        # It is positive definite if and only if no eigenvalue of the rest reaches the level.
        shifted = -rest
        shifted[np.diag_indices_from(shifted)] += level
        if call_lapack(_is_positive, shifted):
            level += rounding
            return SumBound(_sum_bound(M, R.T @ R, level, count, len(matrix)), "inertia")
    return SumBound(float(np.trace(matrix)), "trace")


def _is_positive(matrix: Array) -> bool:
    return potrf(matrix.T, lower=1, clean=0, overwrite_a=1)[1] == 0


def bound_by_squares(
    values: Array, residuals: Array, trace: float, square_sum: float, is_semidefinite: bool = True
) -> float:
    """Σ of the k largest eigenvalues of A, at most, from its trace and the sum of its squares.

    `values` (k,), decreasing, are the Rayleigh quotients vᵢᵀAvᵢ of orthonormal vectors with VᵀAV
    diagonal, and `residuals` ‖Avᵢ − θᵢvᵢ‖. In the basis of V and its complement A has the blocks
    diag(θ), R and B, with the residuals as the lengths of the columns of R. B has the sum of
    squares φ² that is left and, if A is positive semi-definite, the trace τ that is left: so r of
    its eigenvalues sum to at most min(τ, √r·φ), and R adds no more than its singular values do.
    This costs one pass over A.
    """
    left = max(trace - float(values.sum()), 0.0) if is_semidefinite else np.inf
    squares = square_sum - float(values @ values) - 2 * float(residuals @ residuals)
    # The rounding of the sums counts against the bound.
    root = np.sqrt(max(squares, 0.0) + len(values) * np.finfo(np.float64).eps * square_sum)
    taken = np.arange(len(values) + 1)
    kept = np.append(np.cumsum(values)[::-1], 0.0)
    best = float(np.max(kept + np.minimum(left, np.sqrt(taken) * root)))
    return best + float(residuals.sum())


def bound_by_trace(M: Array, rest: Array, count: int, trace: float, size: int) -> SumBound:
    """From M = WᵀSW and RᵀR alone: what W leaves of the trace may be one eigenvalue."""
    level = max(trace - float(np.trace(M)), 0.0)
    value = min(_sum_bound(M, rest, level, count, size), trace)
    attained = float(np.linalg.eigvalsh(M)[::-1][:count].sum())
    return SumBound(value, "trace", attained)


def bound_by_probes(
    times: Callable[[Array], Array],
    W: Array,
    inner: Array,
    rest: Array,
    count: int,
    outside: float,
    trace: float,
    dtype: np.dtype,
) -> SumBound:
    """The same from products with S alone, for probes of type `dtype`, rounded as its numbers are.

    `inner` is M = WᵀSW and `rest` RᵀR, the products of the residuals R = SW − WM.

    For a Gaussian block G and the eigenvector x of the largest eigenvalue λ outside, xᵀG is
    Gaussian, and ‖p(S)G‖ ≥ |p(λ)|·‖xᵀG‖ for every polynomial p. Chebyshev's polynomial of degree q
    is at most 1 on [0, c] and grows fastest beyond, so the size of p(S)G bounds λ (as in Kuczyński
    and Woźniakowski 1992, SIAM J. Matrix Anal. 13, by the size of the probes found here).
    """
    size = len(W)
    attained = float(np.linalg.eigvalsh(inner)[::-1][:count].sum())
    if outside <= 0 or size == W.shape[1]:
        return bound_by_trace(inner, rest, count, trace, size)

    basis, largest = W.astype(dtype), float(np.diag(inner).max())
    # Probes cannot see below their rounding, which would grow without bound.
    outside = max(outside, float(np.finfo(dtype).eps) * largest)

    def outside_times(V: Array) -> Array:
        with single_blas():
            V = times(V - basis @ (basis.T @ V))
            return V - basis @ (basis.T @ V)

    before = np.random.RandomState(0).standard_normal((size, PROBES)).astype(dtype)
    with single_blas():
        before -= basis @ (basis.T @ before)
    scale = dtype.type(2.0 / outside)
    now = scale * outside_times(before) - before
    for _ in range(DEGREE - 1):
        before, now = now, 2 * (scale * outside_times(now) - now) - before
    grown = float(np.linalg.norm(now.astype(np.float64))) * (1 + 1e-3) / _least_length()
    level = 0.5 * outside * (1 + np.cosh(np.arccosh(max(grown, 1.0)) / DEGREE))
    level += 4 * float(np.finfo(dtype).eps) * largest
    level = min(level, max(trace - float(np.trace(inner)), 0.0))
    return SumBound(_sum_bound(inner, rest, level, count, size), "random probes", attained)


def _least_length() -> float:
    """The length that a Gaussian vector with an entry for each probe has, but for `MISSED`.

    The chance of χ² ≤ c is at most (c/2)^(b/2)/Γ(b/2 + 1) for b probes.
    """
    half = PROBES / 2
    gamma = float(np.prod(np.arange(1, int(half) + 1)))
    return float(np.sqrt(2 * (MISSED * gamma) ** (1 / half)))


def _sum_bound(M: Array, rest: Array, level: float, count: int, size: int) -> float:
    """The sum of the k largest eigenvalues of [M + RᵀR/σ] ⊕ (level + σ)I, for a good σ."""
    with single_blas():
        M = 0.5 * (M + M.T)
        own = np.linalg.eigvalsh(M)[::-1]
        others = size - len(M)
        worst = float(np.sqrt(max(np.trace(rest), 0.0)))
        if others == 0 or worst == 0.0:
            return _top(own, level, others, count)
        # σ fills the gap below the last eigenvalue that counts, or outweighs the residuals.
        gap = max(float(own[count - 1]) - level, 0.0)
        tries = [share * gap for share in (1.0, 0.5, 0.1)] + [worst * 0.1**j for j in range(4)]
        return min(
            _top(np.linalg.eigvalsh(M + rest / sigma)[::-1], level + sigma, others, count)
            for sigma in tries
            if sigma > 0
        )


def _top(values: Array, level: float, others: int, count: int) -> float:
    """The sum of the `count` largest of the values and `others` copies of the level."""
    copies = np.full(min(others, count), level)
    return float(np.sort(np.concatenate([values, copies]))[::-1][:count].sum())
