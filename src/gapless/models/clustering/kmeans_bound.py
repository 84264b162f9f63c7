"""How far k-means is at most from the best clustering: the bound of the principal components.

The means of k clusters span at most k − 1 dimensions around the mean of all rows, so that no
clustering leaves less than what k − 1 principal components leave (Ding and He 2004, K-means
clustering via principal component analysis, theorem 3.1):

    Σᵢ sᵢ‖xᵢ − c(xᵢ)‖²  ≥  Σ_{j ≥ k} σⱼ²,   σ₁ ≥ σ₂ ≥ … the singular values of the centred rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._ground.lapack import call_lapack
from ..._ground.percent import percent
from ...certificates import Certificate, judged
from .lloyd import ClusterRows

Array = np.ndarray

# Beyond this multiple of the bound, it says nothing useful.
USEFUL = 1.5
# Centres whose means would lower the sum of squares by no more than this part have come to rest.
AT_REST = 1e-9
# The largest side of a matrix whose eigenvalues are computed.
LARGEST_SIDE = 6000
# Multiplications that the certificate of a fit may always take, and of one that was told to stop.
FEW, AT_ONCE = 2e9, 1e8
REFIT = "these centres are not those of a fit to these data; fit again"
FURTHER = "raise max_iter, lower tol, or give it more time"


@dataclass(frozen=True, eq=False)
class Starts:
    """What is known of the runs that the centres are the best of: their sums of squares, (m,)."""

    inertias: Array

    def __str__(self) -> str:
        count = len(self.inertias)
        if count == 1:
            return "from one start"
        least = float(self.inertias.min())
        spread = float(self.inertias.max()) - least
        if not spread > 1e-9 * least:
            return f"all {count} starts ended there"
        return f"the best of {count} starts, the worst of which ended {_excess(spread, least)}"


def certificate_of(
    rows: Any,
    centers: Array,
    sums: Array,
    totals: Array,
    *,
    tol: float,
    starts: Starts | None = None,
    most_work: float = np.inf,
    is_whole: bool = True,
    cure: str = FURTHER,
    bound: tuple[float, float] | None = None,
) -> Certificate:
    """The certificate of centres, given the sums and weights of the rows nearest to each.

    The bound is left out if it takes more than `most_work` multiplications; `bound` is given where
    it is known, as `lower_bound` returns it. A fit that was told to
    stop is not `is_whole`.
    """
    k, scale = len(centers), rows.scatter
    filled = totals > 0
    off = centers[filled].astype(float) - rows.origin - sums[filled] / totals[filled, None]
    # What moving the centres to the means of their rows would gain.
    excess = float(np.sum(totals[filled] * np.einsum("ij,ij->i", off, off)))
    best = rows.partition_sum(sums, totals)
    primal = best + excess
    # Sums are taken around the mean, so that an offset of the rows costs no digits. The centres are
    # rounded to the type of X; around the means of their rows that counts by its square.
    summed = 64 * float(np.finfo(float).eps) * scale
    eps = float(np.finfo(rows.dtype).eps)
    rounding = summed + 4 * eps**2 * (scale + rows.total * float(np.sum(rows.origin**2)))
    if k == 1 or not filled.any():
        certificate = judged(
            primal, scale, scale=scale, tol=tol, rounding=rounding, exact=True, cure=cure
        )
        if certificate.kind != "exact":
            return certificate
        return replace(certificate, verdict="exact: one cluster, and its centre is the mean.")
    dual, error = lower_bound(rows, k, most_work) if bound is None else bound
    rounding += error
    gap = max(primal - dual, 0.0) + rounding
    certificate = Certificate(
        kind="bound",
        verdict="",
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=gap / scale if scale > 0 else 0.0,
        tolerance=tol * scale + 2 * rounding,
        scale=scale,
        rounding=rounding,
        method="principal components" if error else "none",
    )
    if not is_whole:
        words = f"stopped: the centres had not come to rest when the fit was told to stop; {cure}."
        return replace(certificate, kind="stopped", verdict=words)
    if excess > tol * primal + 2 * rounding:
        words = (
            f"stopped: the centres are not the means of their rows, which would lower the sum of "
            f"squares by {percent(excess / primal)}; {cure}."
        )
        return replace(certificate, kind="stopped", verdict=words)
    if primal <= 2 * summed:
        words = "exact: every row is at its centre; no clustering has a smaller sum of squares."
        return replace(certificate, kind="exact", verdict=words)
    rest = "every centre is the mean of its rows"
    if excess > AT_REST * primal + 2 * rounding:
        rest = (
            f"the centres had nearly come to rest: at the means of their rows the sum of squares "
            f"would be lower by {_share(excess / primal)}; tol=0 goes on"
        )
    return replace(certificate, verdict=_verdict(certificate, k, starts, rest))


def _verdict(certificate: Certificate, k: int, starts: Starts | None, rest: str) -> str:
    primal, dual = certificate.primal, certificate.dual - certificate.rounding
    others = "1 principal component" if k == 2 else f"{k - 1} principal components"
    if certificate.method == "none":
        bound = (
            "no bound was computed, which would take longer than the fit; "
            "gapless.certify(model, X) does it"
        )
    elif primal <= certificate.rounding:
        bound = (
            "no useful bound is known: the rows differ by less than the rounding of numbers so "
            "far from 0; subtract their mean"
        )
    elif primal <= USEFUL * dual:
        bound = f"at most {_excess(primal - dual, dual)} the best possible sum of squares"
    elif dual > 1e-6 * primal:
        bound = (
            f"no useful bound is known: the sum of squares is {primal / dual:.3g} times the least "
            f"that {others} {'leaves' if k == 2 else 'leave'}"
        )
    else:
        verb = "explains" if k == 2 else "explain"
        bound = f"no useful bound is known, since {others} {verb} everything"
    kind = "A local minimum" if rest.startswith("every") else "Near a local minimum"
    found = "" if starts is None else f" ({starts})"
    return f"bound: {bound}. {kind}{found}: no row is nearer to another centre, and {rest}."


def _share(share: float) -> str:
    """A small percentage."""
    return percent(share, min(max(0, -1 - int(np.floor(np.log10(share)))), 6))


def _excess(more: float, of: float) -> str:
    """How much higher a number is, as a percentage."""
    share = more / of if of > 0 else 0.0
    return f"{_share(share)} above" if share > 0 else "level with"


def bound_of(products: Array, rows: Any, k: int) -> tuple[float, float]:
    """The same as `lower_bound` for rows of which the products around the mean are known."""
    side = len(products)
    if k > side:
        return 0.0, float(np.finfo(float).eps) * rows.scatter
    values = call_lapack(np.linalg.eigvalsh, products)
    error = (np.sqrt(rows.n) + side) * float(np.finfo(float).eps) * rows.scatter
    return max(float(values[: side - k + 1].sum()) - error, 0.0), float(error)


def lower_bound(rows: ClusterRows, k: int, most_work: float = np.inf) -> tuple[float, float]:
    """What k − 1 principal components leave of the scatter, and a bound of its rounding error.

    (0, 0) if it is not computed, because it takes more work.
    """
    n, d = rows.n, rows.d
    side = min(n, d)
    if k > side:
        return 0.0, float(np.finfo(float).eps) * rows.scatter
    if side > LARGEST_SIDE or float(n) * d * side > most_work:
        return 0.0, 0.0
    is_single = d <= n and rows.dtype == np.float32 and not rows.design.is_sparse
    moved = rows.design.shifted(rows.mean)
    if d <= n:
        gram = moved.gram(rows.weights, single=is_single).astype(float)
    else:
        roots = np.sqrt(rows.weights)
        gram = moved.outer_gram() * roots * roots[:, None]
    values = call_lapack(np.linalg.eigvalsh, gram)
    # Sums of n products, added in parts, and a backward stable eigenvalue solver: each eigenvalue
    # is within a few times √n + side roundings of the trace (Higham 2002, sections 3.1 and 4.2).
    eps = float(np.finfo(np.float32 if is_single else np.float64).eps)
    error = (np.sqrt(n) + side) * eps * rows.scatter
    if is_single:
        error = (64 + np.sqrt(side)) * eps * rows.scatter
    return max(float(values[: side - k + 1].sum()) - error, 0.0), float(error)
