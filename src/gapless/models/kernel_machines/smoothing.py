"""Weighted means and lines around points: the arithmetic of local regression, block by block.

At a point x each row has the weight wᵢ = sᵢ k(‖x − xᵢ‖/h), and the local model minimises Σ
wᵢ(yᵢ − a − βᵀ(xᵢ − x))², β = 0 for degree 0. Its value at x is a. A row is left out by giving it no
weight, so held-out predictions are exact at no cost. If no row is in reach, the nearest one
decides, which is also the limit of the Gaussian kernel.

References
----------
Fan and Gijbels (1996), Local Polynomial Modelling and its Applications, Chapman & Hall.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from ..._ground.interrupt import check
from ..._ground.threads import single_blas

Array = np.ndarray

# Kernels with a bounded reach, as functions of u = ‖x − xᵢ‖/h for u ≤ 1; others are 0 beyond.
PROFILES: dict[str, Callable[[Array], Array]] = {
    "epanechnikov": lambda u: 1 - u**2,
    "biweight": lambda u: (1 - u**2) ** 2,
    "triangular": lambda u: 1 - u,
    "tricube": lambda u: (1 - u**3) ** 3,
    "boxcar": np.ones_like,
}
KERNELS = ("gaussian", *PROFILES)
# Numbers in a block: it stays in the cache.
BLOCK = 1 << 18
# Lines are found at TOGETHER points at a time, which share products of features, as long as their
# d × d matrices have at most MOST_SQUARES numbers.
TOGETHER, MOST_SQUARES = 16, 1 << 22
# Slopes have a penalty of this part of the weights, in units of the bandwidth: if neighbours do not
# determine a slope, it is 0.
RIDGE = 1e-6


class Local(NamedTuple):
    """Local models at some points: values (m, K), slopes (m, d, K), and which were out of reach."""

    values: Array
    slopes: Array | None
    is_far: Array


@dataclass(frozen=True, eq=False)
class Smoother:
    """Rows (n, d) in units of the bandwidth's scale, their targets (n, K) and weights (n,).

    For lines the rows must have a mean near 0, since Σwxxᵀ − (Σwx)(Σwx)ᵀ loses digits elsewhere.
    """

    X: Array
    y: Array
    weights: Array
    kernel: str
    degree: int

    def at(self, points: Array, bandwidth: float) -> Local:
        """Local models at points (m, d)."""
        parts = [
            self._solve(points[rows], self._weights(distances, bandwidth), bandwidth)
            for rows, distances in self._distances(points)
        ]
        return _joined(parts)

    def without(self, rows: Array, groups: Array, bandwidths: Array) -> Array:
        """Predictions of some rows without those of their group, (rows, bandwidths, K)."""
        held = np.empty((len(rows), len(bandwidths), self.y.shape[1]))
        for block, distances in self._distances(self.X[rows]):
            mine = rows[block]
            distances[groups[mine][:, None] == groups] = np.inf
            for k, bandwidth in enumerate(bandwidths):
                check()
                weights = self._weights(distances, float(bandwidth))
                held[block, k] = self._solve(self.X[mine], weights, float(bandwidth)).values
        return held

    def _distances(self, points: Array) -> Iterator[tuple[slice, Array]]:
        """Points in blocks, and their distances to all rows."""
        n, d = self.X.shape
        step = max(BLOCK // n, 1)
        if self.degree > 0:
            step = min(max(step, TOGETHER), max(MOST_SQUARES // d**2, 1))
        for start in range(0, len(points), step):
            check()
            rows = slice(start, min(start + step, len(points)))
            yield rows, cdist(points[rows], self.X)

    def _weights(self, distances: Array, bandwidth: float) -> tuple[Array, Array]:
        """Weights (m, n) that add up to 1 for each point, and which points have no row in reach."""
        u = distances / bandwidth
        nearest = np.min(u, axis=1, keepdims=True)
        if self.kernel == "gaussian":
            # Relative to the nearest row, whose weight would be 0 in float64 beyond u = 38.
            nearest = np.where(np.isfinite(nearest), nearest, 0.0)
            w = np.exp(-0.5 * (u - nearest) * (u + nearest)) * self.weights
            is_far = np.zeros(len(u), dtype=bool)
        else:
            w = np.where(u <= 1, PROFILES[self.kernel](np.minimum(u, 1.0)), 0.0) * self.weights
            is_far = ~np.any(w > 0, axis=1)
            w[is_far] = np.where(u[is_far] == nearest[is_far], self.weights, 0.0)
        return w / w.sum(axis=1, keepdims=True), is_far

    def _solve(self, points: Array, weighted: tuple[Array, Array], bandwidth: float) -> Local:
        w, is_far = weighted
        with single_blas():
            means = w @ self.y
            if self.degree == 0:
                return Local(means, None, is_far)
            d, centre = self.X.shape[1], w @ self.X
            moments = self._moments(w)
            moments -= centre[:, :, None] * np.hstack([centre, means])[:, None, :]
            spread, shared = moments[:, :, :d], moments[:, :, d:]
            spread[:, range(d), range(d)] += RIDGE * bandwidth**2
            slopes = np.linalg.solve(spread, shared)
        values = means + np.einsum("md,mdk->mk", points - centre, slopes)
        return Local(values, slopes, is_far)

    def _moments(self, w: Array) -> Array:
        """Σᵢ wᵢ xᵢ(xᵢ, yᵢ)ᵀ for each point, (m, d, d + K); some rows at a time."""
        n, d = self.X.shape
        right = np.hstack([self.X, self.y])
        width = d * right.shape[1]
        found, step = np.zeros((len(w), width)), max(BLOCK // width, TOGETHER)
        for start in range(0, n, step):
            check()
            rows = slice(start, start + step)
            products = self.X[rows, :, None] * right[rows, None, :]
            found += w[:, rows] @ products.reshape(-1, width)
        return found.reshape(len(w), d, -1)

    def optimality(
        self, points: Array, values: Array | None, bandwidth: float
    ) -> tuple[float, float]:
        """½Σ wᵢ(yᵢ − a − …)² for given values a (m, K), summed over the points, and its minimum.

        The slopes are those of the minimum, so that only the values are tested; None for the values
        of `at`.
        """
        missed = spread = 0.0
        for rows, distances in self._distances(points):
            w, is_far = self._weights(distances, bandwidth)
            local = self._solve(points[rows], (w, is_far), bandwidth)
            if values is not None:
                missed += 0.5 * float(np.sum((values[rows] - local.values) ** 2))
            for k, target in enumerate(self.y.T):
                rest = target - local.values[:, [k]]
                if local.slopes is not None:
                    at = np.einsum("md,md->m", points[rows], local.slopes[:, :, k])
                    with single_blas():
                        rest -= local.slopes[:, :, k] @ self.X.T - at[:, None]
                spread += 0.5 * float(np.sum(w * rest**2))
        return spread + missed, spread


def _joined(parts: list[Local]) -> Local:
    slopes = None if parts[0].slopes is None else np.concatenate([p.slopes for p in parts])
    values, is_far = (
        np.concatenate([getattr(p, name) for p in parts]) for name in ("values", "is_far")
    )
    return Local(values, slopes, is_far)
