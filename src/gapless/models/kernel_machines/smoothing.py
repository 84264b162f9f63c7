"""Weighted means and lines around points: the arithmetic of local regression, block by block.

At a point x each row has the weight wᵢ = sᵢ k(x, xᵢ), and the local model minimises Σ
wᵢ(yᵢ − a − βᵀ(xᵢ − x))², β = 0 for degree 0. Its value at x is a. A row is left out by giving it no
weight, so held-out predictions are exact at no cost. If no row is in reach, the nearest one
decides, which is also the limit of the Gaussian kernel.

Weights are a `Profile` of the distance in bandwidths, or the values of a kernel (`KernelWeights`).

References
----------
Fan and Gijbels (1996), Local Polynomial Modelling and its Applications, Chapman & Hall.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from scipy.spatial.distance import cdist

from ..._ground.interrupt import check
from ..._ground.threads import single_blas
from ...kernels import Kernel

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
# Slopes have a penalty of this part of the weights, in units of the bandwidth, or of what the
# neighbours differ from the point by: if they do not determine a slope, it is 0.
RIDGE = 1e-6


class Local(NamedTuple):
    """Local models at some points: values (m, K), slopes (m, d, K), and which were out of reach."""

    values: Array
    slopes: Array | None
    is_far: Array


class Neighbourhood(Protocol):
    """How the weights of rows fall with their distance from a point, for any width."""

    def compare(self, points: Array, X: Array) -> Array:
        """What weights of all widths are computed from."""
        ...

    def weights(
        self, compared: Array, X: Array, width: float, absent: Array | None
    ) -> tuple[Array, Array]:
        """Weights (m, n) of rows X at the points, and which points have no row in reach.

        Rows that are `absent` (m, n) have no weight.
        """
        ...

    def slope_unit(self, width: float) -> float | None:
        """The unit of the penalty of slopes; None for what neighbours differ from the point by."""
        ...


@dataclass(frozen=True)
class Profile:
    """Weights by a function of the distance in bandwidths, one of `KERNELS`."""

    name: str

    def compare(self, points: Array, X: Array) -> Array:
        """Distances."""
        return cdist(points, X)

    def weights(self, compared, X, width, absent):
        """Those of the function; relative to the nearest row for the Gaussian."""
        u = compared / width
        if absent is not None:
            u[absent] = np.inf
        nearest = np.min(u, axis=1, keepdims=True)
        if self.name == "gaussian":
            # The weight of the nearest row would be 0 in float64 beyond u = 38.
            nearest = np.where(np.isfinite(nearest), nearest, 0.0)
            w = np.exp(-0.5 * (u - nearest) * (u + nearest))
            return w, np.zeros(len(u), dtype=bool)
        w = np.where(u <= 1, PROFILES[self.name](np.minimum(u, 1.0)), 0.0)
        is_far = ~np.any(w > 0, axis=1)
        w[is_far] = u[is_far] == nearest[is_far]
        return w, is_far

    def slope_unit(self, width: float) -> float | None:
        """The bandwidth."""
        return width


@dataclass(frozen=True, eq=False)
class KernelWeights:
    """Weights by the values of a kernel, whose own width is 1 here."""

    kernel: Kernel

    def at_width(self, width: float) -> Kernel:
        """The kernel that is so many times as wide."""
        found = self.kernel if width == 1 else self.kernel.narrowed(width**-2)
        if found is None:
            raise ValueError(f"{self.kernel!r} has no width.")
        return found

    def compare(self, points: Array, X: Array) -> Array:
        """The points; a kernel may be of anything but distances."""
        return points

    def weights(self, compared, X, width, absent):
        """Values of the kernel, relative to the largest at each point."""
        logs = self.at_width(width).log_gram(compared, X)
        if absent is not None:
            logs[absent] = -np.inf
        largest = np.max(logs, axis=1, keepdims=True)
        is_far = ~np.isfinite(largest[:, 0])
        largest[is_far] = 0.0
        w = np.exp(logs - largest)
        if np.any(is_far):
            apart = cdist(compared[is_far], X)
            if absent is not None:
                apart[absent[is_far]] = np.inf
            w[is_far] = apart == np.min(apart, axis=1, keepdims=True)
        return w, is_far

    def slope_unit(self, width: float) -> float | None:
        """None: kernels have no common unit."""
        return None


@dataclass(frozen=True, eq=False)
class Smoother:
    """Rows (n, d) as they are compared, their targets (n, K) and weights (n,).

    Lines are found relative to an `origin` near the mean of the rows, since Σwxxᵀ − (Σwx)(Σwx)ᵀ
    loses digits elsewhere.
    """

    X: Array
    y: Array
    weights: Array
    neighbourhood: Neighbourhood
    degree: int
    origin: Array | float = 0.0

    @cached_property
    def _moved(self) -> Array:
        return self.X - self.origin

    def at(self, points: Array, bandwidth: float) -> Local:
        """Local models at points (m, d)."""
        parts = [
            self._solve(points[rows], self._weights(compared, bandwidth), bandwidth)
            for rows, compared in self._compared(points)
        ]
        return _joined(parts)

    def without(self, rows: Array, groups: Array, bandwidths: Array) -> Array:
        """Predictions of some rows without those of their group, (rows, bandwidths, K)."""
        held = np.empty((len(rows), len(bandwidths), self.y.shape[1]))
        for block, compared in self._compared(self.X[rows]):
            mine = rows[block]
            absent = groups[mine][:, None] == groups
            for k, bandwidth in enumerate(bandwidths):
                check()
                weights = self._weights(compared, float(bandwidth), absent)
                held[block, k] = self._solve(self.X[mine], weights, float(bandwidth)).values
        return held

    def _compared(self, points: Array) -> Iterator[tuple[slice, Array]]:
        """Points in blocks, compared with all rows."""
        n, d = self.X.shape
        step = max(BLOCK // n, 1)
        if self.degree > 0:
            step = min(max(step, TOGETHER), max(MOST_SQUARES // d**2, 1))
        for start in range(0, len(points), step):
            check()
            rows = slice(start, min(start + step, len(points)))
            yield rows, self.neighbourhood.compare(points[rows], self.X)

    def _weights(
        self, compared: Array, bandwidth: float, absent: Array | None = None
    ) -> tuple[Array, Array]:
        """Weights (m, n) that add up to 1 for each point, and which points have no row in reach."""
        w, is_far = self.neighbourhood.weights(compared, self.X, bandwidth, absent)
        w *= self.weights
        w /= w.sum(axis=1, keepdims=True)
        return w, is_far

    def _solve(self, points: Array, weighted: tuple[Array, Array], bandwidth: float) -> Local:
        w, is_far = weighted
        with single_blas():
            means = w @ self.y
            if self.degree == 0:
                return Local(means, None, is_far)
            points = points - self.origin
            d, centre = self.X.shape[1], w @ self._moved
            moments = self._moments(w)
            moments -= centre[:, :, None] * np.hstack([centre, means])[:, None, :]
            spread, shared = moments[:, :, :d], moments[:, :, d:]
            unit = self.neighbourhood.slope_unit(bandwidth)
            own = np.maximum(spread[:, range(d), range(d)], 0.0) + (points - centre) ** 2
            squares = np.where(own > 0, own, 1.0) if unit is None else unit**2
            spread[:, range(d), range(d)] += RIDGE * squares
            slopes = np.linalg.solve(spread, shared)
        values = means + np.einsum("md,mdk->mk", points - centre, slopes)
        return Local(values, slopes, is_far)

    def _moments(self, w: Array) -> Array:
        """Σᵢ wᵢ xᵢ(xᵢ, yᵢ)ᵀ for each point, (m, d, d + K); some rows at a time."""
        n, d = self.X.shape
        right = np.hstack([self._moved, self.y])
        width = d * right.shape[1]
        found, step = np.zeros((len(w), width)), max(BLOCK // width, TOGETHER)
        for start in range(0, n, step):
            check()
            rows = slice(start, start + step)
            products = self._moved[rows, :, None] * right[rows, None, :]
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
        for rows, compared in self._compared(points):
            w, is_far = self._weights(compared, bandwidth)
            local = self._solve(points[rows], (w, is_far), bandwidth)
            if values is not None:
                missed += 0.5 * float(np.sum((values[rows] - local.values) ** 2))
            for k, target in enumerate(self.y.T):
                rest = target - local.values[:, [k]]
                if local.slopes is not None:
                    moved = points[rows] - self.origin
                    at = np.einsum("md,md->m", moved, local.slopes[:, :, k])
                    with single_blas():
                        rest -= local.slopes[:, :, k] @ self._moved.T - at[:, None]
                spread += 0.5 * float(np.sum(w * rest**2))
        return spread + missed, spread


def _joined(parts: list[Local]) -> Local:
    slopes = None if parts[0].slopes is None else np.concatenate([p.slopes for p in parts])
    values, is_far = (
        np.concatenate([getattr(p, name) for p in parts]) for name in ("values", "is_far")
    )
    return Local(values, slopes, is_far)
