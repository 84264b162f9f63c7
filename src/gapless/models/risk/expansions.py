"""The objective of a kernel machine as a function of the coefficients of its rows.

f(x) = Σⱼ cⱼ k(xⱼ, x) + b, so that P = Σᵢ sᵢ ℓ(yᵢ, (Kc)ᵢ + b) + ½λ cᵀKc, with the gradient
K(s·ℓ′ + λc) in c. Solvers work on the dual; this is for those who check gradients, or descend on c
as the course does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...losses import Loss

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Expansion:
    """One score: the kernel matrix K (n, n) of its rows, its loss, and the fitted c and b."""

    K: Array
    y: Array
    weights: Array
    loss: Loss
    strength: float
    coef: Array
    bias: float
    has_bias: bool = True


@dataclass(frozen=True, eq=False)
class ExpansionObjective:
    """P/Σs of some expansions, as a function of [κc, b, …]; without b where there is none.

    κ is the mean of k(x, x): in units of scores a step means the same for every kernel, so that
    differences are accurate.
    """

    parts: Sequence[Expansion]

    @property
    def point(self) -> list[Array]:
        """The fitted one."""
        point = []
        for part in self.parts:
            point.append(_unit(part) * part.coef)
            if part.has_bias:
                point.append(np.array(part.bias))
        return point

    @property
    def sizes(self) -> list[Array]:
        """Arrays in the shape of the point, each filled with the size of the fitted one."""
        return [
            np.full(part.shape, max(float(np.max(np.abs(part), initial=0.0)), 1e-3))
            for part in self.point
        ]

    def value(self, point: list[Array]) -> float:
        """The sum of the objectives, each divided by the weight of its rows."""
        total = 0.0
        for part, c, b in self._taken_apart(point):
            f = part.K @ c
            losses = float(part.weights @ part.loss.value(part.y, f + b))
            total += (losses + 0.5 * part.strength * float(c @ f)) / float(part.weights.sum())
        return total

    def gradient(self, point: list[Array]) -> list[Array]:
        """Its gradient."""
        found = []
        for part, c, b in self._taken_apart(point):
            slopes = part.weights * part.loss.gradient(part.y, part.K @ c + b)
            of_c = part.K @ (slopes + part.strength * c) / part.weights.sum()
            found.append(of_c / _unit(part))
            if part.has_bias:
                found.append(np.array(slopes.sum() / part.weights.sum()))
        return found

    def _taken_apart(self, point: list[Array]) -> list[tuple[Expansion, Array, float]]:
        values = iter(point)
        return [
            (
                part,
                np.asarray(next(values)) / _unit(part),
                float(next(values)) if part.has_bias else 0.0,
            )
            for part in self.parts
        ]


def _unit(part: Expansion) -> float:
    """The mean of k(x, x); 1 if that is 0."""
    return float(np.mean(np.abs(np.diag(part.K)))) or 1.0
