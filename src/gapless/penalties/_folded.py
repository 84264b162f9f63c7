"""What MCP and SCAD share: the slope of the penalty falls linearly to 0 between two points."""

from __future__ import annotations

import numpy as np

from ._base import Folded
from ._concave import Concave


class FoldedConcave(Concave, abstract=True):
    """ρ′ is 1 up to a knee κ, falls linearly to 0 at a width τ and stays 0: a class names both."""

    def knots(self) -> tuple[float, float]:
        """κ and τ."""
        raise NotImplementedError

    def concave(self, d):
        return Folded(self.strengths(d), *(np.full(d, knot) for knot in self.knots()))

    def cost(self, t, strength):
        return Folded(strength, *map(np.asarray, self.knots())).cost(t)

    def slope(self, t, strength):
        knee, width = self.knots()
        return strength * (width - np.clip(t, knee, width)) / (width - knee)

    def shrunk(self, a, strength):
        # On each of the three pieces the minimiser is that of a parabola, or an end.
        knee, width = self.knots()
        bend = strength / (width - knee)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            middle = (a - bend * width) / (1 - bend)
        middle = np.where(bend < 1, np.clip(middle, knee, width), width)
        pieces = np.clip(a - strength, 0.0, knee), middle, np.maximum(a, width)
        best = pieces[0]
        for piece in pieces[1:]:
            # ½(t − a)² as a difference, so that a large a does not hide what is compared.
            gain = 0.5 * (best - piece) * (best + piece - 2 * a)
            gain = gain + self.cost(best, strength) - self.cost(piece, strength)
            best = np.where(gain > 0, piece, best)
        return best

    def active(self, w):
        return (w != 0) | (self._like(w) == 0)

    def gradient(self, w):
        return self.slope(np.abs(w), self._like(w)) * np.sign(w)

    def hessian_times(self, w, v):
        knee, width = self.knots()
        is_bent = (np.abs(w) > knee) & (np.abs(w) < width) & (w != 0)
        return np.where(is_bent, -self._like(w) / (width - knee), 0.0) * v

    def hessian(self, w):
        return self.hessian_times(w, np.ones(w.shape))[self.active(w)]
