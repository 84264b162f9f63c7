"""What losses with K scores and kinks share: rivals of the own class, slopes, a smooth version."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ._base import Array, DualBox, Loss

# A sum of slopes, in units of their width, that is no longer the rounding of a few additions.
ROUNDING = 1e-12


def ahead(y: Array, z: Array, margin: float) -> Array:
    """How much too large the score of each rival is: max(0, Δ + zₖ − z_y), (n, K).

    0 for the row's own class.
    """
    rows = np.arange(len(y))
    short = z - z[rows, y][:, None]
    short += np.asarray(margin, short.dtype)
    short[rows, y] = 0
    return np.maximum(short, 0, out=short)


def least_slopes(y: Array, K: int, of_label: float) -> Array:
    """The smallest slope of each score, (n, K): that of the own class, and 0 for its rivals."""
    slopes = np.zeros((len(y), K))
    slopes[np.arange(len(y)), y] = of_label
    return slopes


def nearest_slopes(t: Array, box: DualBox) -> Array:
    """The point of each row's box with Σₖuₖ = 0 that is nearest to t: clip(t − μ) for one μ.

    The sum falls with μ, from Σ upper on, at the rate of the number of entries inside their
    intervals: the ends of the intervals are passed in order until it is 0 (Held, Wolfe and Crowder
    1974).
    """
    n, K = t.shape
    ends = np.concatenate([t - box.upper, t - box.lower], axis=1)
    order = np.argsort(ends, axis=1, kind="stable")
    ends = np.take_along_axis(ends, order, axis=1)
    counts = np.cumsum(np.where(order < K, 1, -1), axis=1)  # entries inside, after each end
    falls = np.zeros((n, 2 * K))
    np.cumsum(counts[:, :-1] * np.diff(ends, axis=1), axis=1, out=falls[:, 1:])
    left = box.upper.sum(axis=1)[:, None] - falls
    rows = np.arange(n)
    last = 2 * K - 1 - np.argmax(left[:, ::-1] >= 0, axis=1)
    inside = np.maximum(counts[rows, last], 1)
    mu = ends[rows, last] + left[rows, last] / inside
    beyond = t - mu[:, None]
    return _summing_to_zero(np.clip(beyond, box.lower, box.upper), beyond, box)


def _summing_to_zero(u: Array, beyond: Array, box: DualBox) -> Array:
    """u with the rounding of its sum subtracted from the entries strictly inside their interval.

    Where t is so large that t − μ has no digits left, from those nearest to μ, to their bounds.
    """
    is_inside = (u > box.lower) & (u < box.upper)
    count = np.maximum(is_inside.sum(axis=1, keepdims=True), 1)
    u -= is_inside * (u.sum(axis=1, keepdims=True) / count)
    np.clip(u, box.lower, box.upper, out=u)
    rest = u.sum(axis=1)
    width = np.max(box.upper - box.lower, axis=1)
    rows = np.flatnonzero(np.abs(rest) > ROUNDING * width)
    order = np.argsort(np.abs(beyond[rows]), axis=1, kind="stable")
    for k in order.T:
        before = u[rows, k]
        u[rows, k] = np.clip(before - rest[rows], box.lower[rows, k], box.upper[rows, k])
        rest[rows] += u[rows, k] - before
    return u


@dataclass(frozen=True, eq=False)
class _SmoothClasses(Loss):
    """The loss with ℓ*(u) = linear·u + ½·quadratic·‖u‖² on the box of each row, where Σₖuₖ = 0.

    The target y of a row is its index, so that the loss also works on a subset of the rows.
    """

    box: DualBox
    rows: Array
    task = "multiclass"
    is_of_rows = True

    def value(self, y, z):
        box, u = self._slopes(y, z)
        return np.einsum("nk,nk->n", u, z - box.linear - 0.5 * box.quadratic * u)

    def gradient(self, y, z):
        return self._slopes(y, z)[1]

    def curvature(self, y, z):
        return self.derivatives(y, z)[2]

    def derivatives(self, y, z):
        box, u = self._slopes(y, z)
        value = np.einsum("nk,nk->n", u, z - box.linear - 0.5 * box.quadratic * u)
        a, f = _factors(box, u)
        return value, u, a - f**2

    def hessian_times(self, y, z, v):
        a, f = self.hessian_factors(y, z)
        return a * v - f * np.einsum("nk,nk->n", f, v)[:, None]

    def hessian_factors(self, y, z, gradient=None):
        return _factors(*self._slopes(y, z))

    def class_box(self, y, K):
        if y is self.rows:
            return self.box
        of_rows = (getattr(self.box, name)[y] for name in ("linear", "lower", "upper"))
        return DualBox(*of_rows, quadratic=self.box.quadratic)

    def dual_domain(self, y):
        return np.array(-np.inf), np.array(np.inf)

    def _slopes(self, y: Array, z: Array) -> tuple[DualBox, Array]:
        """The box of the given rows, and the u that attains max_u zu − ℓ*(u)."""
        box = self.class_box(y, z.shape[1])
        return box, nearest_slopes((z - box.linear) / box.quadratic, box)


def _factors(box: DualBox, u: Array) -> tuple[Array, Array]:
    """The Hessian of each row, the projection on the vectors of sum 0 among the scores that move.

    Those are the scores whose slope is inside its interval; a single one cannot move.
    """
    moves = (u > box.lower) & (u < box.upper)
    count = moves.sum(axis=1, keepdims=True)
    moves &= count > 1
    a = moves / box.quadratic
    return a, a * np.sqrt(box.quadratic / np.maximum(count, 1))


def smoothed(box: DualBox, u: Array, rho: float) -> _SmoothClasses:
    """The loss with ‖u − u₀‖²/2ρ added to ℓ*, up to a constant: smooth, and near ℓ for large ρ."""
    box = replace(box, linear=box.linear - u / rho, quadratic=1 / rho)
    return _SmoothClasses(box, np.arange(len(u)))
