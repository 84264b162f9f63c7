"""Penalty: the contract every penalty keeps, and the formulas of the separable family, written once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Σⱼ l1ⱼ|wⱼ| + ½·l2ⱼwⱼ² on lowerⱼ ≤ wⱼ ≤ upperⱼ: four float64 arrays of length d, the core's language."""

    l1: Array
    l2: Array
    lower: Array
    upper: Array

    @classmethod
    def make(cls, d: int, l1=0.0, l2=0.0, lower=-np.inf, upper=np.inf) -> Coordinates:
        """Numbers or arrays of length d, spread to arrays of length d."""
        spread = [np.array(np.broadcast_to(np.asarray(v, dtype=float), (d,))) for v in (l1, l2, lower, upper)]
        return cls(*spread)

    def like(self, w: Array) -> tuple[Array, Array, Array, Array]:
        """The four arrays, shaped to broadcast against w of shape (d,) or (d, K)."""
        arrays = (self.l1, self.l2, self.lower, self.upper)
        return arrays if w.ndim == 1 else tuple(a[:, None] for a in arrays)

    def is_free(self) -> Array:
        return (self.l1 == 0) & (self.l2 == 0) & np.isneginf(self.lower) & np.isposinf(self.upper)


@dataclass(frozen=True, eq=False)
class Blocks:
    """Σ_g strength_g‖w_g‖₂ over disjoint groups of features: `index` is the group of each feature, 0 … G−1."""

    index: Array
    strength: Array


class Penalty:
    """What the coefficients w cost: R(w), strength and per-feature weights included. The bias is never part of w.

    w has shape (d,) or, with K outputs or classes, (d, K). `value`, `prox` and `subdifferential_distance` are enough
    to fit by proximal gradient; `conjugate` and `feasible_scales` let fits be certified; `coordinates` hands a
    separable penalty to the compiled coordinate descent, `blocks` a group penalty. A penalty that is a sum of scalar
    functions of the four-array form inherits everything from `Separable`.
    """

    name: ClassVar[str]
    is_convex: ClassVar[bool] = True
    registry: ClassVar[dict[str, type[Penalty]]] = {}

    def __init_subclass__(cls, **options):
        """Remember the class by its name."""
        super().__init_subclass__(**options)
        cls.name = _snake_case(cls.__name__)
        Penalty.registry[cls.name] = cls

    def value(self, w: Array) -> float:
        """R(w); ∞ outside the constraints."""
        raise NotImplementedError

    def prox(self, w: Array, step: float) -> Array:
        """argmin_v ½‖v − w‖² + step·R(v)."""
        raise NotImplementedError

    def subdifferential_distance(self, w: Array, g: Array) -> Array:
        """How far −g is from ∂R(w), per coordinate (or per feature, for blocks); 0 everywhere means optimal."""
        raise NotImplementedError

    def conjugate(self, v: Array) -> float:
        """R*(v) = sup_w ⟨v, w⟩ − R(w), ∞ outside its domain; free features are left out, `Problem` sees to them."""
        raise NotImplementedError

    def feasible_scales(self, v: Array) -> tuple[float, ...]:
        """Numbers c in [0, 1] worth trying so that R*(c·v) is finite and small; 0 where nothing else is feasible."""
        raise NotImplementedError

    def coordinates(self, d: int) -> Coordinates | None:
        """R as a sum of scalar functions, for the compiled core; None where it is not one."""
        return None

    def blocks(self, d: int) -> Blocks | None:
        """R as a sum of Euclidean norms of blocks, for the compiled core; None where it is not one."""
        return None

    def free(self, d: int) -> Array:
        """Which of the d features are unpenalised and unconstrained: their columns must be orthogonal to θ."""
        return np.zeros(d, dtype=bool)


class Separable(Penalty):
    """A penalty given by its `coordinates`; all formulas are here, once.

    R(w) = Σⱼ l1ⱼ|wⱼ| + ½·l2ⱼwⱼ² + [lowerⱼ ≤ wⱼ ≤ upperⱼ].
    """

    def value(self, w):
        l1, l2, lower, upper = self.coordinates(len(w)).like(w)
        if np.any(w < lower) or np.any(w > upper):
            return np.inf
        return float(np.sum(l1 * np.abs(w) + 0.5 * l2 * w**2))

    def prox(self, w, step):
        l1, l2, lower, upper = self.coordinates(len(w)).like(w)
        shrunk = np.sign(w) * np.maximum(np.abs(w) - step * l1, 0)
        return np.clip(shrunk / (1 + step * l2), lower, upper)

    def subdifferential_distance(self, w, g):
        l1, l2, lower, upper = self.coordinates(len(w)).like(w)
        smallest = np.where(w <= lower, -np.inf, l2 * w + np.where(w > 0, l1, -l1))
        largest = np.where(w >= upper, np.inf, l2 * w + np.where(w >= 0, l1, -l1))
        return np.maximum(np.maximum(smallest + g, -g - largest), 0)

    def conjugate(self, v):
        c = self.coordinates(len(v))
        l1, l2, lower, upper = c.like(v)
        shrunk = np.sign(v) * np.maximum(np.abs(v) - l1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Where l2 = 0 the supremum runs to the bound on the side of v, or stays at 0.
            best = np.where(shrunk == 0, 0.0, np.where(l2 > 0, shrunk / l2, np.inf * np.sign(shrunk)))
            best = np.clip(best, lower, upper)
            # −l1|w| + vw by the sign of w, so that ∞·(v − l1) keeps its sign and 0·∞ never arises.
            slope = v - l1 * np.sign(best)
            value = np.where(best == 0, 0.0, slope * best - np.where(l2 > 0, 0.5 * l2 * best**2, 0.0))
        return float(np.sum(value[~c.is_free()]))

    def feasible_scales(self, v):
        c = self.coordinates(len(v))
        l1, l2, lower, upper = c.like(v)
        open_side = np.where(v > 0, np.isposinf(upper), np.isneginf(lower))
        excess = np.abs(v) > l1
        bounded = np.broadcast_to(c.is_free() if v.ndim == 1 else c.is_free()[:, None], v.shape)
        limit = excess & open_side & ~bounded
        if not limit.any():
            return (1.0,)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(limit, l1 / np.abs(v), 1.0)
        hard = float(np.min(np.where(limit & (l2 == 0), ratio, 1.0)))
        return (hard, float(ratio.min())) if hard > ratio.min() else (hard,)

    def free(self, d):
        return self.coordinates(d).is_free()


def _snake_case(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")
