"""How much variance any k directions can keep at most: the proof behind both certificates.

A is the covariance matrix, or the centred Gram matrix, times the sum of the weights; k directions
keep at most the sum of its k largest eigenvalues (Ky Fan 1949). Values that an iterative solver has
found bound this sum from below. Here it is bounded from above, from the data and any orthonormal V,
so that wrong vectors make the bound worse but never wrong.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..._ground.memory import blocks
from ..._ground.percent import percent
from ..._ground.threads import single_blas
from ...certificates import Certificate, judged
from ...solvers import blocked_cholesky

Array = np.ndarray

EPS = np.finfo(np.float64).eps


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
    root = np.sqrt(max(squares, 0.0) + len(values) * EPS * square_sum)
    taken = np.arange(len(values) + 1)
    kept = np.append(np.cumsum(values)[::-1], 0.0)
    best = float(np.max(kept + np.minimum(left, np.sqrt(taken) * root)))
    return best + float(residuals.sum())


def bound_by_factor(
    A: Array, vectors: Array, values: Array, next_value: float, slack: float
) -> float | None:
    """The same, at most `slack` above the truth, if a Cholesky factorisation succeeds; else None.

    If A ≤ σI + V·diag(d)·Vᵀ =: M in the order of symmetric matrices, the sum for A is at most that
    for M, kσ + Σd. Take σ just above eigenvalue k + 1 and dᵢ just above θᵢ − σ: the factor of M − A
    exists if they are. A is overwritten. It costs n³/3 operations, whatever k.
    """
    n, k = vectors.shape
    margin = slack / (4 * k)
    level = max(float(next_value), 0.0) + margin
    steps = np.maximum(values - level, 0.0) + 2 * margin
    # What rounding can hide in the factorisation (Higham 2002, theorem 10.5) and in M − A itself.
    hidden = 2 * (n + k + 2) * EPS * (n * level + float(steps.sum()))
    with single_blas():
        for chunk in blocks(n, n):
            A[chunk] = (vectors[chunk] * steps) @ vectors.T - A[chunk]
    A[np.diag_indices(n)] += level - hidden
    if blocked_cholesky(A) is None:
        return None
    # V is orthonormal up to rounding, by which its part of M may be larger.
    return k * level + float(steps.sum()) * (1 + 4 * n * EPS)


def judged_variance(
    missed: float,
    trace: float,
    bound: float,
    *,
    count: int,
    tol: float,
    rounding: float,
    is_exact: bool,
    is_proved: bool,
    cure: str,
) -> Certificate:
    """The certificate of `count` directions that miss the variance `missed` of `trace`.

    `bound` is the most that so many directions can keep. Where it is not known well (`is_proved` is
    False), a gap within the tolerance is still a proof, but a larger one shows nothing.
    """
    found = judged(
        missed,
        max(trace - bound, 0.0),
        scale=trace,
        tol=tol,
        rounding=rounding,
        exact=is_exact,
        method="squares" if not is_proved else "eigenvalues",
        cure=cure,
    )
    share = max(1 - missed / trace, 0.0) if trace > 0 else 1.0
    most = min(share + found.relative_gap, 1.0)
    words = f"{count} components keep {_percent(share)} of the variance"
    if count == 1:
        words = f"1 component keeps {_percent(share)} of the variance"
    if found.kind in ("exact", "optimal"):
        verdict = f"{found.kind}: {words}, at most {_percent(found.relative_gap)} below the best."
        return replace(found, verdict=verdict)
    if not is_proved:
        verdict = f"bound: {words}, and none could keep more than {_percent(most)}; {cure}."
        return replace(found, kind="bound", verdict=verdict)
    verdict = f"stopped: {words}, and others could keep {_percent(most)}; {cure}."
    return replace(found, verdict=verdict)


def _percent(share: float) -> str:
    """A share in percent: two digits after the point, or as many as it takes to show it."""
    if 0 < share < 1e-4:
        return f"{100 * share:.1e} %"
    return percent(share, 2)
