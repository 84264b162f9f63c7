"""Penalties that are concave in |wⱼ|: sparser than the lasso and less biased, but not convex."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from .._ground.parameters import check_nonnegative, check_weights
from ._base import Array, Penalty, per_feature
from .l1 import L1


class Concave(Penalty, abstract=True):
    """R(w) = λ Σⱼ ωⱼ·ρ(|wⱼ|) with ρ concave, increasing and ρ(0) = 0; all formulas follow from ρ.

    A class defines `cost`, `slope` and `shrunk`, all of vectors t ≥ 0 and strengths λωⱼ, and the
    fields `strength` and `weights`. A penalty of this kind has local minima: fits start from those
    of a lasso, `convex`, and end where P is stationary. ∂R is the limiting subdifferential of
    Mordukhovich, and R*, which only sees the convex hull of R, is not defined.
    """

    is_convex: ClassVar[bool] = False
    strength: float
    weights: Array | None

    def __post_init__(self):
        check_nonnegative("strength", self.strength)
        check_weights("weights", self.weights)

    # ---- what a class defines --------------------------------------------------------------------

    def cost(self, t: Array, strength: Array) -> Array:
        """strength·ρ(t)."""
        raise NotImplementedError

    def slope(self, t: Array, strength: Array) -> Array:
        """strength·ρ′(t), at 0 from the right; ∞ if ρ jumps or is vertical there."""
        raise NotImplementedError

    def shrunk(self, a: Array, strength: Array) -> Array:
        """argmin over t ≥ 0 of ½(t − a)² + strength·ρ(t); the smaller t of two."""
        raise NotImplementedError

    def entry_slopes(self, strength: Array, curvature: Array) -> Array:
        """The slope of a loss of this curvature at t = 0 that moves t away from 0."""
        return self.slope(np.zeros(len(strength)), strength)

    # ---- what follows ----------------------------------------------------------------------------

    def strengths(self, d: int) -> Array:
        """λωⱼ."""
        return np.full(d, self.strength * per_feature("weights", self.weights, d), dtype=float)

    def value(self, w):
        return float(np.sum(self.cost(np.abs(w), self._like(w))))

    def prox(self, w, step):
        return np.copysign(self.shrunk(np.abs(w), step * self._like(w)), w)

    def subdifferential_distance(self, w, g):
        slope = self.slope(np.abs(w), self._like(w))
        at_zero = np.maximum(np.abs(g) - slope, 0.0)
        return np.where(w == 0, at_zero, np.abs(g + np.where(w == 0, 0.0, slope) * np.sign(w)))

    def free(self, d):
        return self.strengths(d) == 0

    def convex(self, curvature: Array) -> L1 | None:
        """The lasso that a fit starts from: a coefficient leaves 0 at the same slope of the loss.

        `curvature` is that of the loss in each coefficient.
        """
        return L1(1.0, self.entry_slopes(self.strengths(len(curvature)), curvature))

    def tangent_slopes(self, w: Array) -> Array:
        return self.slope(np.abs(w), self._like(w))  # ρ is concave: below its tangents

    def _like(self, w: Array) -> Array:
        """`strengths`, shaped to broadcast against w of shape (d,) or (d, K)."""
        strengths = self.strengths(len(w))
        return strengths if w.ndim == 1 else strengths[:, None]
