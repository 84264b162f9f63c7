"""Huber's loss with the scale of the errors as an unknown: convex in (w, b, σ) together.

    P(w, b) = min_σ≥0  Σᵢ sᵢ (σ + σ·H(rᵢ/σ)) + R(w),   r = Xw + b − y,

with H(t) = t² up to |t| = ε and 2ε|t| − ε² beyond (Huber 1981, chapter 7.8). σ·H(r/σ) is the
perspective of H, hence convex in (r, σ), and so is its least value over σ in r. The conjugate of
that value is the largest of uᵀr − Σ sᵢ(σ + σ·H(rᵢ/σ)), which is linear in σ once r is eliminated:

    D(θ) = θᵀy − R*(Xᵀθ)   with |θᵢ| ≤ 2εsᵢ and Σ θᵢ²/sᵢ ≤ 4Σsᵢ, else −∞.

So the loss is no sum over rows, but its dual has a box and one ball, and a point outside the ball
is scaled into it. At the best σ, Σ sᵢ min(rᵢ²/σ², ε²) = Σsᵢ: the θ of the slopes is on the sphere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..losses import Absolute, Huber
from ..penalties import Penalty
from .best_bias import minimise_bias
from .dual_points import EPS
from .problem import Problem

Array = np.ndarray

# Steps of the scale, which end by themselves, and of the bias without features.
SCALE_STEPS, BIAS_STEPS = 100, 50


@dataclass(frozen=True, eq=False)
class WithScale(Problem):
    """A problem whose rows share an unknown scale; `loss` is Huber(2ε), which has the same box."""

    @classmethod
    def of(cls, problem: Problem, epsilon: float) -> WithScale:
        """The design, targets, penalty and weights of a problem, with this loss."""
        return cls(
            problem.design,
            problem.y,
            Huber(2 * epsilon),
            problem.penalty,
            problem.weights,
            problem.fit_bias,
        )

    @property
    def epsilon(self) -> float:
        """Where H becomes linear, in units of the scale."""
        assert isinstance(self.loss, Huber)
        return 0.5 * self.loss.delta

    def best_scale(self, z: Array, start: float = np.inf) -> float:
        """The σ ≥ 0 that minimises the loss at z; 0 if most errors are."""
        known = self._kept("scale", z)
        if known is None:
            known = self._keep("scale", z, self._find_scale(z, start))
        return known

    def _find_scale(self, z: Array, start: float) -> float:
        """Newton's method on Σ s·min(τr², ε²) = Σs in τ = 1/σ².

        The left side rises and is concave, so a step never goes too far, and it is exact once the
        rows beyond ε are known.
        """
        s, squares = self.weights, (z - self.y) ** 2
        if self.has_zero_weights:
            s, squares = s[s > 0], squares[s > 0]
        total, limit = float(s.sum()), self.epsilon**2
        tau = 1 / start**2 if 0 < start < np.inf else 0.0
        for _ in range(SCALE_STEPS):
            inside = tau * squares <= limit
            curved_rows = np.where(inside, squares, 0.0)
            if self.has_unit_weights:
                curved = float(np.sum(curved_rows))
                missing = total - limit * float(self.n - np.count_nonzero(inside))
            else:
                curved = float(np.sum(s * curved_rows))
                missing = total - limit * float(np.sum(np.where(inside, 0.0, s)))
            if tau > 0 and not missing > 0:
                tau = 0.0  # the start was too far
                continue
            if not curved > 0:
                return 0.0
            before, tau = tau, missing / curved
            if abs(tau - before) <= 4 * EPS * tau:
                break
        return float(1 / np.sqrt(tau))

    def at_scale(self, sigma: float) -> Problem:
        """The problem for a given scale: 2/σ times its objective, plus σΣs, is this one's."""
        penalty: Penalty | None = self.penalty.scaled(0.5 * sigma)
        assert penalty is not None
        huber = Huber(self.epsilon * sigma)
        return Problem(self.design, self.y, huber, penalty, self.weights, self.fit_bias)

    def part(self, rows: Array, factor: float) -> WithScale:
        """The same for some of the rows, their weights multiplied by a factor."""
        return replace(
            self,
            design=self.design.rows(rows),
            y=self.y[rows],
            weights=factor * self.weights[rows],
        )

    # ---- what is not a sum over rows -------------------------------------------------------------

    def row_losses(self, z: Array, sigma: float | None = None) -> Array:
        """σ + σ·H(rᵢ/σ) at the best σ, unless it is known."""
        sigma, size = self.best_scale(z) if sigma is None else sigma, np.abs(z - self.y)
        beyond = np.maximum(size - self.epsilon * sigma, 0.0)
        inside = size - beyond
        curved = inside**2 / sigma if sigma > 0 else 0.0
        return sigma + curved + 2 * self.epsilon * beyond

    def derivative(self, z: Array, sigma: float | None = None) -> Array:
        """s·clip(2r/σ, ±2ε) at the best σ, whose own change does not count at first order."""
        sigma, r = self.best_scale(z) if sigma is None else sigma, z - self.y
        if sigma == 0:
            return self.weighted(2 * self.epsilon * np.sign(r))
        return self.weighted(np.clip(2 * r / sigma, -2 * self.epsilon, 2 * self.epsilon))

    def row_conjugates(self, u: Array) -> Array:
        """uᵢyᵢ inside the box and the ball, else ∞."""
        if self._excess(u) > 1 + 16 * EPS * np.sqrt(self.n):
            return np.full_like(u, np.inf)
        limit = 2 * self.epsilon * (1 + 4 * EPS)
        return np.where(np.abs(u) <= limit, u * self.y, np.inf)

    def _excess(self, u: Array) -> float:
        """Σsu²/4Σs, at most 1 in the ball."""
        return self.weighted_sum(u**2) / (4 * float(self.weights.sum()))

    def _moved(self, theta: Array) -> Array | None:
        moved = super()._moved(theta)
        if moved is None:
            return None
        u = np.divide(moved, self.weights, out=np.zeros_like(moved), where=self.weights > 0)
        excess = self._excess(u)
        return moved / np.sqrt(excess) if excess > 1 else moved

    # ---- the model without features --------------------------------------------------------------

    @cached_property
    def scale(self) -> float:
        """P₀, the objective of `null`; the smallest conceivable one is 0."""
        return self.primal(self.null.w, self.null.b)

    def _best_bias(self, z: Array | None) -> Array:
        """The bias with the least objective, by turns with the scale."""
        if not self.fit_bias:
            return np.zeros(())
        z = np.zeros(self.n) if z is None else z
        counts = self.weights > 0
        y, s = self.y[counts], self.weights[counts]
        b = minimise_bias(Absolute(), y, z[counts], s)  # the median, in case the scale is 0
        sigma = np.inf
        for _ in range(BIAS_STEPS):
            sigma = self.best_scale(z + b, sigma)
            if sigma == 0:
                break
            before, b = b, minimise_bias(Huber(self.epsilon * sigma), y, z[counts], s)
            if abs(b - before) <= 1e-6 * sigma:
                break
        return np.array(b)
