"""The certificate of components: what they leave unexplained against what any others must leave."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..._ground.percent import percent
from ..._ground.threads import single_blas
from ...certificates import Certificate, Conditions, Violation, judged
from .leading import COVARIANCE, GRAM, LANCZOS, SMALL, Leading, leading, solver_for
from .scatter import Scatter
from .subspace_bound import SumBound, bound_by_matrix, bound_by_probes, exact_sum

Array = np.ndarray

TOLERANCE = 1e-6
CURE = "these are not the leading directions of this data; fit again, without a time_limit"


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
    way = _way(scatter, count, found)
    if found is not None and found.basis is None and not found.is_done:
        known = SumBound(scatter.total, "trace")
        M, residuals = _measured(V, *scatter.products(V))
    elif way != LANCZOS:
        known = _by_matrix(scatter, count, way, found)
        M, residuals = _measured(V, *_products(scatter, V, way))
    elif found is None:
        known = _by_products(scatter, count, leading(scatter, count, LANCZOS))
        M, residuals = _measured(V, *scatter.products(V))
    else:
        # The components are the first vectors of the basis, up to signs and rounding.
        known = _by_products(scatter, count, found)
        assert found.inner is not None
        assert found.rest is not None
        M = found.inner[:count, :count]
        residuals = np.sqrt(np.maximum(np.diag(found.rest)[:count], 0.0))
    primal, rounding = _unexplained(scatter, V, M, mean)
    dual = max(scatter.total - known.value, 0.0)
    certificate = judged(
        primal,
        dual,
        scale=scatter.total,
        tol=TOLERANCE,
        rounding=rounding,
        exact=is_exact,
        is_constant=scatter.is_of_equal_rows,
        kkt=Conditions(stationarity=Violation.largest(residuals)),
        method=known.method,
        cure=CURE,
    )
    is_done = found is None or found.is_done
    is_loose = known.method in ("random probes", "trace")
    is_best_known = primal + known.attained <= scatter.total + certificate.tolerance
    if certificate.kind == "stopped" and is_loose and is_done and is_best_known:
        return _bounded(certificate)
    return certificate


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
    rows = scatter.single or scatter
    return bound_by_probes(
        rows.times,
        found.basis,
        found.inner,
        found.rest,
        count,
        found.beyond,
        scatter.total,
        np.dtype(rows.design.dtype),
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


def _bounded(certificate: Certificate) -> Certificate:
    """The same in words where the bound is not tight enough to tell."""
    share = certificate.gap / certificate.scale if certificate.scale > 0 else 0.0
    residual = certificate.kkt.stationarity.value / max(certificate.scale, np.finfo(float).tiny)
    return replace(
        certificate,
        kind="bound",
        verdict=(
            f"bound: no other directions explain more than another {percent(share, 3)} of the "
            f"variation; each of these is an eigenvector up to {residual:.1e} of it, and the "
            "iteration found no larger eigenvalue."
        ),
    )
