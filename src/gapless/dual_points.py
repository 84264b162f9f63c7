"""Moving a dual point until it is orthogonal to the free columns A (bias, unpenalised features), inside its domain.

Called by `problem` alone. A free column costs nothing, so R* is finite only where Aᵀθ = 0.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from .design import Design

Array = np.ndarray
EPS = np.finfo(float).eps


class FreeColumns:
    """The unpenalised columns of the design, followed by a column of ones for the bias, as one operator."""

    def __init__(self, columns: Design, with_ones: bool):
        self.columns, self.with_ones = columns, with_ones
        self.m = columns.d + with_ones

    def times(self, delta: Array) -> Array:
        out = self.columns.times(delta[: self.columns.d]) if self.columns.d else 0.0
        return out + delta[-1] if self.with_ones else out

    def transposed_times(self, r: Array) -> Array:
        parts = [self.columns.transposed_times(r)] if self.columns.d else []
        if self.with_ones:
            parts.append(r.sum(axis=0, keepdims=True))
        return np.concatenate(parts)

    def gram(self, omega: Array) -> Array:
        G = np.empty((self.m, self.m))
        d = self.columns.d
        if d:
            G[:d, :d] = self.columns.gram(omega)
        if self.with_ones:
            G[-1, -1] = omega.sum()
            if d:
                G[-1, :d] = G[:d, -1] = self.columns.transposed_times(omega)
        return G

    def rounding(self, theta: Array) -> Array:
        """What rounding alone may leave in each entry of Aᵀθ."""
        squares = self.columns.column_square_sums() if self.columns.d else np.zeros(0)
        if self.with_ones:
            squares = np.append(squares, self.columns.n)
        norms = np.sqrt(np.maximum(squares, 0.0))
        return 16 * EPS * np.multiply.outer(norms, np.sqrt(np.sum(theta**2, axis=0)))


def orthogonalise(theta: Array, free: FreeColumns, lower: Array, upper: Array, weights: Array) -> Array:
    """θ (n,) with Aᵀθ = 0 and lower ≤ θ ≤ upper, near the given one; 0 where none is found.

    Each step moves θ along ω·Aδ, where ω is the room θᵢ has in its interval, so that it slows down at the bounds. For
    the logistic and the Poisson loss that ω is the curvature, and the step is Newton's in the free coefficients.
    """
    theta = np.clip(theta, lower, upper)
    for _ in range(40):
        rest = free.transposed_times(theta)
        if np.all(np.abs(rest) <= free.rounding(theta)):
            return theta
        omega = _room(theta, lower, upper, weights)
        step = -omega * free.times(_solve(free.gram(omega), rest))
        with np.errstate(divide="ignore", invalid="ignore"):
            limit = np.where(step > 0, (upper - theta) / step, np.where(step < 0, (lower - theta) / step, np.inf))
        longest = float(np.min(limit, initial=np.inf))
        if not np.any(step):
            break
        theta = np.clip(theta + min(1.0, 0.9 * longest) * step, lower, upper)
    rest = free.transposed_times(theta)
    if np.all(np.abs(rest) <= 64 * free.rounding(theta)):
        return theta
    if free.m == 1 and free.with_ones:
        return _shift(theta, lower, upper, weights)
    return np.zeros_like(theta)


def _room(theta: Array, lower: Array, upper: Array, weights: Array) -> Array:
    below, above = theta - lower, upper - theta
    with np.errstate(invalid="ignore"):
        both = np.where(np.isfinite(below + above), below * above / np.maximum(below + above, 1e-300), weights)
    one_sided = np.isfinite(below) ^ np.isfinite(above)
    return np.where(one_sided, np.minimum(below, above), both)


def _solve(G: Array, r: Array) -> Array:
    """G⁻¹r for a positive semi-definite G, by its pseudo-inverse when it is singular."""
    scale = np.sqrt(np.maximum(np.diag(G), 1e-300))
    scaled = G / np.outer(scale, scale)
    values, vectors = scipy.linalg.eigh(scaled)
    keep = values > len(G) * EPS * max(values[-1], 1e-300)
    inverse = np.where(keep, 1 / np.where(keep, values, 1.0), 0.0)
    right = (r.T / scale).T
    return ((vectors @ (inverse * (vectors.T @ right).T).T).T / scale).T


def _shift(theta: Array, lower: Array, upper: Array, weights: Array) -> Array:
    """clip(θ + τ·s) with the τ that makes its sum 0, found by bisection; 0 where the bounds have no such point."""
    reach = np.max(np.abs(theta)) + 1.0
    finite = np.isfinite(lower) & np.isfinite(upper)
    reach += np.max(np.where(finite, upper - lower, 0.0), initial=0.0)
    low, high = -reach / weights[weights > 0].min(), reach / weights[weights > 0].min()
    for _ in range(200):
        middle = 0.5 * (low + high)
        if np.clip(theta + middle * weights, lower, upper).sum() > 0:
            high = middle
        else:
            low = middle
        if high - low <= 4 * EPS * max(abs(low), abs(high)):
            break
    moved = np.clip(theta + low * weights, lower, upper)
    inside = (moved > lower) & (moved < upper)
    if inside.any():
        moved[np.argmax(inside)] -= moved.sum()
    moved = np.clip(moved, lower, upper)
    return moved if abs(moved.sum()) <= 64 * EPS * np.abs(moved).sum() else np.zeros_like(theta)


def tilt(theta: Array, y: Array, free: FreeColumns, weights: Array) -> Array:
    """The same for softmax: θ = s(e_y − p) with p tilted to p·exp(Aδ)/Σ, so that it stays a distribution.

    δ is found by Newton's method on Σ s·log Σₖ pₖ exp(Aδ)ₖ − Σ s·(Aδ)_y, which is convex.
    """
    n, K = theta.shape
    s = weights[:, None]
    labels = np.zeros((n, K))
    labels[np.arange(n), y] = 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(s > 0, labels - theta / s, 1.0 / K)
    p = np.maximum(p, 0.0)
    p /= p.sum(axis=1, keepdims=True)
    for _ in range(40):
        theta = s * (labels - p)
        rest = free.transposed_times(theta)
        if np.all(np.abs(rest) <= free.rounding(theta)):
            return theta
        step = free.times(_solve(_softmax_hessian(p, weights, free), rest.ravel(order="F")).reshape(free.m, K, order="F"))
        length = np.max(np.abs(step))
        p = p * np.exp(step * min(1.0, 2.0 / max(length, 1e-300)))
        p /= p.sum(axis=1, keepdims=True)
    theta = s * (labels - p)
    ok = np.all(np.abs(free.transposed_times(theta)) <= 64 * free.rounding(theta))
    return theta if ok else np.zeros_like(theta)


def _softmax_hessian(p: Array, weights: Array, free: FreeColumns) -> Array:
    m, K = free.m, p.shape[1]
    H = np.empty((K * m, K * m))
    for k in range(K):
        for j in range(k + 1):
            block = free.gram(weights * p[:, k] * p[:, j])
            block = free.gram(weights * p[:, k]) - block if j == k else -block
            H[k * m : (k + 1) * m, j * m : (j + 1) * m] = block
            H[j * m : (j + 1) * m, k * m : (k + 1) * m] = block.T
    return H
