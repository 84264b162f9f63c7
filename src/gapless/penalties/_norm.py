"""What ‖w‖₂ and ‖w‖_p share: value, projection onto the dual ball, derivatives."""

from __future__ import annotations

import numpy as np

from .._ground.parameters import check_nonnegative
from ._base import EPS, Array, Blocks, Penalty


class Norm(Penalty, abstract=True):
    """R(w) = λ‖w‖_p over all coefficients and outputs, 1 ≤ p ≤ ∞; a class has `strength` and p.

    R*(v) = 0 where ‖v‖_q ≤ λ, else ∞, with 1/p + 1/q = 1.
    """

    strength: float

    def __post_init__(self):
        check_nonnegative("strength", self.strength)

    def order(self) -> float:
        """p."""
        raise NotImplementedError

    def value(self, w):
        return self.strength * norm(w, self.order())

    def prox(self, w, step):
        return shrink(w, step * self.strength, self.order())

    def subdifferential_distance(self, w, g):
        p = self.order()
        if not np.any(w):  # ∂R is the dual ball: count the part of −g outside
            return np.abs(shrink(g, self.strength, p))
        if p == 1:
            at_zero = np.maximum(np.abs(g) - self.strength, 0.0)
            return np.where(w == 0, at_zero, np.abs(g + self.strength * np.sign(w)))
        if np.isinf(p):
            # ∂R is the hull of the signs of the largest entries.
            largest = np.abs(w) == np.max(np.abs(w))
            outside = np.array(-g)
            pull = -g[largest] * np.sign(w[largest])
            outside[largest] = pull - _onto_simplex(pull, self.strength)
            return np.abs(outside)
        return np.abs(g + self._direction(w))

    def conjugate(self, v):
        return 0.0 if norm(v, _dual(self.order())) <= self.strength or not self.strength else np.inf

    def feasible_scales(self, v):
        size = norm(v, _dual(self.order()))
        if not self.strength or size <= self.strength:
            return (1.0,)
        # Smaller than the quotient by the rounding of a norm, so that ‖c·v‖ ≤ λ as computed.
        return ((1 - (v.size + 16) * EPS) * self.strength / size,)

    def blocks(self, d):
        if self.order() != 2:
            return None
        return Blocks(np.zeros(d, dtype=np.int64), np.full(min(d, 1), float(self.strength)))

    def free(self, d):
        return np.full(d, self.strength == 0)

    @property
    def has_curvature(self):
        # The largest entries of ‖w‖_∞ move together, which no set of active coefficients describes.
        return not np.isinf(self.order())

    def active(self, w):
        """All but the zeros, where ‖w‖_p has a kink for p = 1 and bends infinitely for p < 2."""
        p = self.order()
        if self.strength == 0:
            return np.ones(w.shape, dtype=bool)
        if p < 2:
            return w != 0
        return np.full(w.shape, np.any(w))

    def gradient(self, w):
        return self._direction(w) if np.any(w) else np.zeros_like(w)

    def hessian_times(self, w, v):
        factor, diagonal, e = self._bends(w)
        return factor * (diagonal * v - e * np.sum(e * v)) * self.active(w)

    def hessian(self, w):
        active = self.active(w)
        factor, diagonal, e = self._bends(w)
        return factor * (np.diag(diagonal[active]) - np.multiply.outer(e[active], e[active]))

    def _bends(self, w: Array) -> tuple[float, Array, Array]:
        """The factor, the diagonal and e of λ∇²‖w‖_p = factor·(diagonal − eeᵀ).

        With u = w/‖w‖ and e = sign(u)|u|^(p−1), which is ∇‖w‖:
        ∇²‖w‖_p = (p − 1)(diag |u|^(p−2) − eeᵀ)/‖w‖_p.
        """
        p, size = self.order(), norm(w, self.order())
        if size == 0 or p == 1 or np.isinf(p):
            return 0.0, np.zeros_like(w), np.zeros_like(w)
        u = np.abs(w) / size
        with np.errstate(divide="ignore"):
            diagonal = np.where(self.active(w), u ** (p - 2), 0.0)
        return (p - 1) * self.strength / size, diagonal, np.sign(w) * u ** (p - 1)

    def _direction(self, w: Array) -> Array:
        """λ∇‖w‖_p at w ≠ 0, for p < ∞."""
        return (
            self.strength * np.sign(w) * (np.abs(w) / norm(w, self.order())) ** (self.order() - 1)
        )


# A Newton step that changes a root by less than this part leaves an error of rounding size.
ROOT = 1e-14


def norm(w: Array, p: float) -> float:
    """‖w‖_p in units of the largest entry: powers neither overflow nor vanish."""
    unit = float(np.max(np.abs(w), initial=0.0))
    if unit == 0 or np.isinf(p):
        return unit
    return unit * float(np.sum((np.abs(w) / unit) ** p)) ** (1 / p)


def shrink(w: Array, by: float, p: float) -> Array:
    """argmin_v ½‖v − w‖² + by·‖v‖_p: w minus its projection onto the ball ‖v‖_q ≤ by."""
    if by == 0:
        return w.copy()
    a = np.abs(w)
    if norm(a, _dual(p)) <= by:
        return np.zeros_like(w)
    if p == 1:
        t = np.maximum(a - by, 0.0)
    elif p == 2:
        t = a * (1 - by / norm(a, 2.0))
    elif np.isinf(p):
        t = np.minimum(a, _cut(a.ravel(), by))
    else:
        t = _shrunk(a, by, p)
    return np.copysign(t, w)


def _dual(p: float) -> float:
    """q with 1/p + 1/q = 1."""
    return np.inf if p == 1 else 1.0 if np.isinf(p) else p / (p - 1)


def _shrunk(a: Array, by: float, p: float) -> Array:
    """The minimiser for 1 < p < ∞ and a ≥ 0 outside the dual ball.

    t = r·u with r = ‖t‖_p and ‖u‖_p = 1 satisfies r·uᵢ + by·uᵢ^(p−1) = aᵢ. For a given r every uᵢ
    follows, and 1/‖u‖_p grows with r, nearly linearly: one equation for r, by safeguarded Newton
    steps.
    """
    unit = float(np.max(a))
    a, by = a / unit, by / unit
    low, high = 0.0, norm(a, p)
    r, x = 0.5 * high, None
    u = a
    for _ in range(200):
        x = _roots(a, r, by, p, x)
        u = x if p >= 2 else x ** (1 / (p - 1))
        power = x * u if p < 2 else u ** (p - 1) * u
        size = float(np.sum(power)) ** (1 / p)
        if abs(size - 1) <= 4 * EPS:
            break
        low, high = (r, high) if size > 1 else (low, r)
        # r·u′ + u + by·(p − 1)·u^(p−2)·u′ = 0 gives −u′/u.
        with np.errstate(divide="ignore", over="ignore"):
            bend = by * (p - 1) * np.where(u > 0, u, 1.0) ** (p - 2)
        rate = power / (r + bend)
        slope = float(np.sum(rate)) / size ** (p + 1)
        new = r + (1 - 1 / size) / slope if slope > 0 else low
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - r) <= 8 * EPS * r or new in (low, high):
            break
        r = new
    return unit * np.minimum(r * u, a)


def _roots(a: Array, linear: float, power: float, p: float, x: Array | None) -> Array:
    """u ≥ 0 with linear·u + power·u^(p−1) = a, entry by entry; for p < 2, s = u^(p−1) instead.

    That is power·s + linear·s^(1/(p−1)) = a. Either way a convex function: Newton's method
    decreases to the root from above, where its first step from any other x leads.
    """
    m = p - 1
    if m < 1:
        linear, power, m = power, linear, 1 / m
    with np.errstate(divide="ignore", over="ignore"):
        above = np.minimum(a / linear if linear > 0 else np.inf, (a / power) ** (1 / m))
    above = np.where(a > 0, above, 0.0)
    x = above if x is None else np.minimum(x, above)
    for _ in range(100):
        raised = power * x ** (m - 1)
        slope = linear + m * raised
        step = np.divide((linear + raised) * x - a, slope, out=np.zeros_like(x), where=slope > 0)
        new = np.minimum(np.maximum(x - step, 0.0), above)
        change, x = np.abs(new - x), new
        if (change <= ROOT * x).all():  # and the next step doubles the digits
            break
    return x


def _cut(a: Array, total: float) -> float:
    """The c with Σ max(aᵢ − c, 0) = total (Held, Wolfe and Crowder 1974)."""
    ordered = -np.sort(-a)
    cuts = (np.cumsum(ordered) - total) / np.arange(1, len(a) + 1)
    return float(cuts[np.flatnonzero(ordered >= cuts)[-1]])


def _onto_simplex(a: Array, total: float) -> Array:
    """The nearest x ≥ 0 with Σx = total."""
    return np.maximum(a - _cut(a, total), 0.0)
