"""The certificate of components: what they leave unexplained against what any others must leave."""

from __future__ import annotations

import numpy as np

from ..._ground.threads import single_blas
from ...certificates import Certificate, judged
from .leading import COVARIANCE, GRAM, LANCZOS, SMALL, Leading, leading, solver_for
from .scatter import Scatter
from .subspace_bound import (
    SumBound,
    bound_by_matrix,
    bound_by_probes,
    bound_by_trace,
    exact_sum,
)
from .variance_verdict import SQUARES, VARIANCE, judged_variance

Array = np.ndarray

TOLERANCE = 1e-6
# Eigenvalues outside, relative to the largest one, that probes in float32 can bound well.
SEEN_IN_SINGLE = 1e-5
STOPPED = "raise time_limit, or let it run to its end"
OTHERS = "these are not the leading directions of these rows; fit again"
LOOSE = "the iteration found no larger eigenvalue, and a proof would take longer than it did"


def certify_components(
    scatter: Scatter,
    components: Array,
    mean: Array,
    found: Leading | None = None,
    *,
    is_exact: bool = False,
) -> Certificate:
    """How much more of the variation other directions could explain.

    P is what the components (k, d) around `mean` leave of the rows; D is what any k directions must
    leave. If `found` is None, the directions that prove D are computed anew. The eigen-residual
    that it reports is the largest ‖Sv − λv‖ of a component.
    """
    V = np.asarray(components, dtype=np.float64).T
    count = V.shape[1]
    if not count:
        return judged(scatter.total, scatter.total, scale=scatter.total, exact=True)
    if found is not None and not found.is_done:
        return certify_stopped(scatter, components, mean, found)
    way = _way(scatter, count, found)
    if way != LANCZOS:
        known = _by_matrix(scatter, count, way, found)
        M, residuals = _measured(V, *_products(scatter, V, way))
    elif found is None:
        known = _by_products(scatter, count, leading(scatter, count, LANCZOS))
        M, residuals = _measured(V, *scatter.products(V))
    else:
        # The components are the first vectors of the basis, up to signs and rounding.
        known = _by_products(scatter, count, found)
        M, residuals = _known(found, count)
    primal, rounding = _unexplained(scatter, V, M, mean)
    # Only probes leave open whether larger eigenvalues exist that nothing has shown.
    is_loose = known.method in ("random probes", "trace")
    is_best_known = primal + known.attained <= scatter.total * (1 + TOLERANCE) + 2 * rounding
    is_proved = not (is_loose and is_best_known)
    cure = OTHERS if is_proved else LOOSE
    return _judged(
        scatter,
        known,
        residuals,
        primal,
        rounding,
        is_exact=is_exact,
        is_proved=is_proved,
        cure=cure,
    )


def certify_stopped(
    scatter: Scatter, components: Array, mean: Array, found: Leading
) -> Certificate:
    """The same from what a computation that was stopped knows, in no time."""
    V = np.asarray(components, dtype=np.float64).T
    count = V.shape[1]
    M, residuals = _known(found, count)
    known = SumBound(scatter.total, "trace")
    if found.inner is not None and found.rest is not None:
        size = scatter.design.d
        known = bound_by_trace(found.inner, found.rest, count, scatter.total, size)
    primal, rounding = _unexplained(scatter, V, M, mean)
    return _judged(scatter, known, residuals, primal, rounding, cure=STOPPED)


def _judged(
    scatter: Scatter,
    known: SumBound,
    residuals: Array,
    primal: float,
    rounding: float,
    *,
    cure: str,
    is_exact: bool = False,
    is_proved: bool = True,
) -> Certificate:
    """The certificate of components with these residuals that leave `primal`."""
    return judged_variance(
        primal,
        scatter.total,
        known.value,
        count=len(residuals),
        tol=TOLERANCE,
        rounding=rounding,
        residuals=residuals,
        method=known.method,
        is_exact=is_exact,
        is_proved=is_proved,
        cure=cure,
        is_constant=scatter.is_of_equal_rows,
        of=VARIANCE if scatter.design.center is not None else SQUARES,
    )


def _known(found: Leading, count: int) -> tuple[Array, Array]:
    """VᵀSV and the eigen-residuals, as far as the computation knows them."""
    if found.inner is None or found.rest is None:
        return np.diag(found.values[:count]), np.full(count, np.nan)
    return found.inner[:count, :count], np.sqrt(np.maximum(np.diag(found.rest)[:count], 0.0))


def _way(scatter: Scatter, count: int, found: Leading | None) -> str:
    """Which matrix proves the bound: one that is there already, if any."""
    if found is not None and found.solver in (COVARIANCE, GRAM, LANCZOS):
        return found.solver
    way = solver_for(scatter, count)
    if way == LANCZOS:
        return way
    return COVARIANCE if scatter.design.d <= scatter.design.n else GRAM


def _by_matrix(scatter: Scatter, count: int, way: str, found: Leading | None) -> SumBound:
    matrix = scatter.covariance if way == COVARIANCE else scatter.gram
    count = min(count, len(matrix))
    if len(matrix) <= SMALL:
        return exact_sum(matrix, count)
    if found is None or found.solver != way or found.basis is None:
        found = leading(scatter, count, way)
    assert found.basis is not None
    return bound_by_matrix(matrix, found.basis, count, found.beyond)


def _by_products(scatter: Scatter, count: int, found: Leading) -> SumBound:
    """The bound by probes, from what the iteration knows of its basis."""
    assert found.basis is not None
    assert found.inner is not None
    assert found.rest is not None
    is_seen = found.beyond > SEEN_IN_SINGLE * float(found.values[0])
    rows = (scatter.single if is_seen else None) or scatter
    return bound_by_probes(
        rows.times,
        found.basis,
        found.inner,
        found.rest,
        count,
        found.beyond,
        scatter.total,
        np.dtype(rows.design.dtype if is_seen else np.float64),
    )


def _products(scatter: Scatter, V: Array, way: str) -> tuple[Array, Array]:
    if way == GRAM:
        return scatter.products(V)
    with single_blas():
        SV = scatter.covariance @ V
        return V.T @ SV, SV


def _unexplained(scatter: Scatter, V: Array, M: Array, mean: Array) -> tuple[float, float]:
    """Σᵢ sᵢ‖(I − VVᵀ)(xᵢ − mean)‖² for V as stored, and its rounding error."""
    with single_blas():
        inner = V.T @ V
        shift = scatter.mean - mean
        # Rows around another point have the scatter S + Σs·shift·shiftᵀ.
        along = V.T @ shift
        moved = scatter.weight * float(shift @ shift)
        M = M + scatter.weight * np.multiply.outer(along, along)
        primal = scatter.total + moved - 2 * float(np.trace(M)) + float(np.sum(M * inner))
    size = scatter.total + moved + abs(float(np.sum(M * inner)))
    offset = scatter.weight * float(scatter.mean @ scatter.mean) * np.finfo(np.float64).eps ** 2
    return max(primal, 0.0), scatter.rounding * size + offset


def _measured(V: Array, M: Array, SV: Array) -> tuple[Array, Array]:
    """VᵀSV, and the eigen-residual ‖Sv − λv‖ of each component."""
    return M, np.linalg.norm(SV - V * np.diag(M), axis=0)
