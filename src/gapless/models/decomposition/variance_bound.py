"""What the certificate of kernel PCA adds to `subspace_bound`: a bound in one pass, and words.

Where a factorisation would take longer than the fit, the sum of the squared entries of the centred
Gram matrix bounds its largest eigenvalues from above, whatever vectors were found.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..._ground.percent import percent
from ...certificates import Certificate, judged

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
