"""Tweedie loss: amounts whose variance is a power of their mean exp(z), many of them perhaps 0."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from .._ground import core
from ._base import Array, Loss, by_core, log_mean
from .gamma import Gamma
from .poisson import Poisson

NEWTON_STEPS = 100


@dataclass(frozen=True)
class Tweedie(Loss):
    """Half the Tweedie deviance of y with mean exp(z) and variance ∝ exp(power·z).

    With y > 0, z = log y + t, a = 2 − p and b = p − 1, it is ℓ = y^a·φ(t) where
    φ(t) = (exp(at) − 1)/a + (exp(−bt) − 1)/b;   ℓ*(y, u) = u log y + y^a·φ*(u/y^a).
    p = 1 is Poisson, p = 2 Gamma; for p < 2 y may be 0: ℓ = exp(az)/a. For p ≤ 0 (0 is the squared
    error of exp(z)) and p > 2 the loss is not convex (φ″ < 0 far below the target, or far above
    it), and ℓ* is that of its convex hull. None is between 0 and 1 (Jørgensen 1987).
    """

    power: float = 1.5
    task = "regression"
    dispersion = float("nan")

    def __post_init__(self):
        if not (1 <= self.power < np.inf or -np.inf < self.power <= 0):
            raise ValueError(f"power must be at least 1 or at most 0, got {self.power!r}.")

    @property
    def targets(self):
        """Zeros have a chance below power 2 alone."""
        return "nonnegative" if self.power < 2 else "positive"

    @property
    def is_convex(self):
        """From power 1 to 2."""
        return 1 <= self.power <= 2

    @property
    def is_self_concordant(self):
        """Both exponents are then at most 1."""
        return self.is_convex

    @property
    def smooth_loss(self):
        """The core knows the convex ones."""
        if not self.is_convex:
            return None
        return core.SmoothLoss.tweedie(self.power) if self._end is None else self._end.smooth_loss

    def value(self, y, z):
        if self.is_convex:
            return self.derivatives(y, z)[0]
        if self.power < 2:
            is_zero = y == 0
            scale = np.where(is_zero, 1, y)
            of_amounts = scale**self._a * self._excess(z - np.log(scale))
            return np.where(is_zero, self._rising(z) / self._a, of_amounts)
        return y**self._a * self._excess(z - np.log(y))

    def gradient(self, y, z):
        if self.is_convex:
            return self.derivatives(y, z)[1]
        return self._rising(z) - self._falling(y, z)

    def curvature(self, y, z):
        """ℓ″, or if that may be negative, its mean over y, exp((2 − p)z)."""
        return self.derivatives(y, z)[2] if self.is_convex else self._rising(z)

    def derivatives(self, y, z):
        if self._end is not None:
            return self._end.derivatives(y, z)
        if self.is_convex:
            return by_core(partial(core.tweedie_derivatives, self.power), 3, y, z)
        rising = self._rising(z)
        return self.value(y, z), rising - self._falling(y, z), rising

    def conjugate(self, y, u):
        if self._end is not None:
            return self._end.conjugate(y, u)
        if self.is_convex:
            return by_core(partial(core.tweedie_conjugate, self.power), 1, y, u)[0]
        scale = np.where(y > 0, y, 1)
        unit = scale**self._a
        v = u / unit
        outside = u > 0 if self.power > 2 else u < 0
        if self.power > 2:
            t = np.where(v < 0, -_slope_inverse(-v, self._b, self._a), 0)
        else:
            t = np.where(v > 0, _slope_inverse(v, self._a, self._b), 0)
        value = u * np.log(scale) + unit * (v * t - self._excess(t))
        if self.power < 2:
            p = np.maximum(u, np.finfo(u.dtype).tiny)
            value = np.where(y == 0, p * (np.log(p) - 1) / self._a, value)
        return np.where(outside, np.inf, value)

    def dual_domain(self, y):
        if self._end is not None:
            return self._end.dual_domain(y)
        if self.power > 2:
            return np.array(-np.inf), np.array(0.0)
        if self.power <= 0:
            return np.array(0.0), np.array(np.inf)
        return np.where(y > 0, -np.inf, 0.0), np.array(np.inf)

    def inverse_link(self, z):
        with np.errstate(over="ignore"):
            return np.exp(z)

    def best_constant(self, y, weights):
        return log_mean(y, weights)

    def without_offset(self, y, offset):
        # The deviance of cy and cμ is c^(2−p) times that of y and μ.
        return y * np.exp(-offset), np.exp(self._a * offset)

    @property
    def _end(self):
        """The same loss, if it is at one of the ends of the convex ones."""
        return {1.0: Poisson(), 2.0: Gamma()}.get(self.power)

    @property
    def _a(self):
        return 2.0 - self.power

    @property
    def _b(self):
        return self.power - 1.0

    def _rising(self, z):
        with np.errstate(over="ignore"):
            return np.exp(self._a * z)

    def _falling(self, y, z):
        """y·exp(−bz), 0 where y is, however large the other factor."""
        with np.errstate(over="ignore"):
            return np.where(y > 0, np.where(y > 0, y, 1) * np.exp(-self._b * z), 0)

    def _excess(self, t):
        """φ(t): 0 at t = 0, without cancellation."""
        with np.errstate(over="ignore"):
            return np.expm1(self._a * t) / self._a + np.expm1(-self._b * t) / self._b


def _slope_inverse(v: Array, a: float, b: float) -> Array:
    """The t ≥ 0 with exp(at) − exp(−bt) = v, where a + b = 1 and a > 0; anything where v ≤ 0.

    Newton's method on at − log(v + exp(−bt)), which is concave and rises: from below it stays
    below, so it needs no safeguard.
    """
    v = np.maximum(v, np.finfo(v.dtype).tiny)
    t = np.maximum(np.log(v) / a, np.log1p(v) / (a + b / (1 + v)))
    for _ in range(NEWTON_STEPS):
        falling = np.exp(-b * t)
        step = (np.log(v + falling) - a * t) / (a + b * falling / (v + falling))
        # Each entry ends by itself, so that it does not depend on its neighbours.
        step = np.where(np.abs(step) > 4 * np.finfo(v.dtype).eps * (1 + np.abs(t)), step, 0)
        if not np.any(step):
            break
        t = t + step
    return t
