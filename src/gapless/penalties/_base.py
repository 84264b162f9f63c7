"""Penalty: the contract of every penalty, and the formulas of the separable ones, written once."""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._ground.named import look_up, register

Array = np.ndarray
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Σⱼ l1ⱼ|wⱼ| + ½·l2ⱼwⱼ² on lowerⱼ ≤ wⱼ ≤ upperⱼ: four float64 arrays of length d."""

    l1: Array
    l2: Array
    lower: Array
    upper: Array

    @classmethod
    def make(cls, d: int, l1=0.0, l2=0.0, lower=-np.inf, upper=np.inf) -> Coordinates:
        """From numbers or arrays of length d, broadcast to arrays of length d."""
        given = (l1, l2, lower, upper)
        return cls(*(np.full(d, values, dtype=float) for values in given))

    def like(self, w: Array) -> tuple[Array, ...]:
        """The four arrays, shaped to broadcast against w of shape (d,) or (d, K)."""
        arrays = (self.l1, self.l2, self.lower, self.upper)
        return arrays if w.ndim == 1 else tuple(a[:, None] for a in arrays)

    @cached_property
    def has_l1(self) -> bool:
        """Whether some coefficient has an l1 > 0."""
        return bool(self.l1.any())

    @cached_property
    def has_l2(self) -> bool:
        """Whether some coefficient has an l2 > 0."""
        return bool(self.l2.any())

    @cached_property
    def has_bounds(self) -> bool:
        """Whether some coefficient is bounded."""
        return not (np.isneginf(self.lower).all() and np.isposinf(self.upper).all())

    @cached_property
    def is_strong(self) -> bool:
        """Whether every coefficient has an l2 > 0."""
        return bool((self.l2 > 0).all())

    def is_quadratic(self) -> bool:
        """Whether the penalty is ½Σ l2ⱼwⱼ² alone, zeros among the l2ⱼ included."""
        return not (self.has_l1 or self.has_bounds)

    def is_free(self) -> Array:
        """Which features are neither penalised nor bounded."""
        if self.is_strong:
            return np.zeros(len(self.l2), dtype=bool)
        free = (self.l1 == 0) & (self.l2 == 0)
        if self.has_bounds:
            free &= np.isneginf(self.lower) & np.isposinf(self.upper)
        return free


@dataclass(frozen=True, eq=False)
class Blocks:
    """Σ_g strength_g‖w_g‖₂ over disjoint groups of features: `index` is each feature's, 0 … G−1."""

    index: Array
    strength: Array


class Folded(NamedTuple):
    """Σⱼ strengthⱼ·ρⱼ(|wⱼ|), where ρ′ is 1 up to kneeⱼ and falls linearly to 0 at widthⱼ.

    MCP has its knee at 0. Three arrays of length d.
    """

    strength: Array
    knee: Array
    width: Array

    @property
    def has_kinks(self) -> bool:
        """Whether the gradient of the loss shows that a coefficient should leave 0."""
        return True

    def cost(self, t: Array) -> Array:
        """Each term, for t = |w| of any shape that broadcasts against the arrays."""
        beyond = np.clip(t, self.knee, self.width) - self.knee
        curved = beyond * (beyond / (2 * (self.width - self.knee)))
        return self.strength * (np.minimum(t, self.width) - curved)

    def is_flat(self, t: Array) -> Array:
        """Which terms no longer grow with t."""
        return t >= self.width

    def part(self, chosen: Array) -> Folded:
        """The same for some of the features."""
        return Folded(*(array[chosen] for array in self))

    def reluctance(self, g: Array, curvature: Array) -> Array:
        """How far a gradient g of the loss is from moving a coefficient away from 0."""
        return self.strength - np.abs(g)


class Powers(NamedTuple):
    """Σⱼ strengthⱼ|wⱼ|^power with 0 ≤ power < 1, where 0⁰ = 0."""

    strength: Array
    power: float

    @property
    def has_kinks(self) -> bool:
        """Whether the gradient of the loss shows that a coefficient should leave 0: never."""
        return False

    def cost(self, t: Array) -> Array:
        """Each term, for t = |w| of any shape that broadcasts against `strength`."""
        return self.strength * (t**self.power if self.power else t != 0)

    def is_flat(self, t: Array) -> Array:
        """Which terms no longer grow with t."""
        return (t > 0) & (self.power == 0)

    def part(self, chosen: Array) -> Powers:
        """The same for some of the features."""
        return Powers(self.strength[chosen], self.power)

    def reluctance(self, g: Array, curvature: Array) -> Array:
        """A number that is lower the more a coefficient would gain by leaving 0: −|g|/√curvature.

        The gain is ½g²/curvature, minus the penalty.
        """
        return -np.abs(g) / np.sqrt(np.where(curvature > 0, curvature, np.inf))


class Penalty:
    """The cost R(w) of the coefficients, including strength and weights. w excludes the bias.

    w has shape (d,) or, with K outputs or classes, (d, K). `value` and `prox` are enough to fit by
    proximal gradient, and `conjugate` lets fits be certified; `subdifferential_distance` and
    `feasible_scales` follow from them, and are overridden if a formula is known. `coordinates`
    hands a separable penalty to the compiled coordinate descent, `blocks` a group penalty and
    `concave` one that is concave in |wⱼ|, which says `is_convex = False`.
    `active`, `gradient` and `hessian_times` say where R is smooth and how it curves there: fits
    then get their last digits, and leave-one-out estimates need no refits. A sum of scalar
    functions of the four-array form inherits everything from `Separable`.
    """

    name: ClassVar[str]
    is_convex: ClassVar[bool] = True
    registry: ClassVar[dict[str, type[Penalty]]] = {}

    def __init_subclass__(cls, abstract: bool = False, **options):
        """Name the class, unless it is only a base class."""
        super().__init_subclass__(**options)
        if not abstract:
            register(cls, Penalty.registry)

    def value(self, w: Array) -> float:
        """R(w); ∞ outside the constraints."""
        raise NotImplementedError

    def prox(self, w: Array, step: float) -> Array:
        """argmin_v ½‖v − w‖² + step·R(v)."""
        raise NotImplementedError

    def subdifferential_distance(self, w: Array, g: Array) -> Array:
        """|−g − v| per coordinate, the shape of w, with v the point of ∂R(w) nearest to −g.

        It is 0 everywhere if w is optimal for a smooth part with gradient g, and ∞ where w is out
        of bounds.
        """
        # (w − prox(w − tg, t))/t tends to the shortest vector of g + ∂R(w) as t falls to 0.
        t = np.sqrt(EPS) * (1 + np.max(np.abs(w), initial=0)) / (1 + np.max(np.abs(g), initial=0))
        return np.abs(w - self.prox(w - t * g, t)) / t

    def conjugate(self, v: Array) -> float:
        """R*(v) = sup_w ⟨v, w⟩ − R(w), possibly ∞; free features are left to `Problem`."""
        raise NotImplementedError

    def feasible_scales(self, v: Array) -> tuple[float, ...]:
        """Numbers c in [0, 1] with R*(c·v) finite, worth trying; 0 if there is no other."""
        if np.isfinite(self.conjugate(v)):
            return (1.0,)
        low, high = 0.0, 1.0  # the domain of R* is convex: bisect for its end
        for _ in range(200):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if np.isfinite(self.conjugate(middle * v)) else (low, middle)
        return (low,)

    def coordinates(self, d: int) -> Coordinates | None:
        """R as a sum of scalar functions, for the compiled core; None if it is not one."""
        return None

    def blocks(self, d: int) -> Blocks | None:
        """R as a sum of norms of blocks, for the compiled core; None if it is not one."""
        return None

    def concave(self, d: int) -> Folded | Powers | None:
        """R as a sum of concave functions of |wⱼ|, for the compiled core; None if it is not one."""
        return None

    def simplest(self, d: int, outputs: int | None) -> Penalty:
        """The same function of d coefficients (per output), in the form that most solvers take."""
        return self

    def subset(self, d: int) -> tuple[Array, int] | None:
        """If R counts coefficients: the price of each, and how many may have one; else None."""
        return None

    def convex(self, curvature: Array) -> Penalty | None:
        """A convex penalty whose solution a fit starts from; None to start from w = 0.

        `curvature` is that of the loss in each coefficient. Only for a penalty that is not convex.
        """
        return None

    def tangent_slopes(self, w: Array) -> Array | None:
        """Weights of a lasso above R, up to a constant, that touches it at w; the shape of w.

        ∞ holds a coefficient that is 0. None if R has no such tangent.
        """
        return None

    def free(self, d: int) -> Array:
        """Which of the d features are neither penalised nor constrained: θ ⊥ their columns."""
        return np.zeros(d, dtype=bool)

    def scaled(self, factor: float) -> Penalty | None:
        """factor·R; itself if no strength changes it, None if the class cannot scale it.

        A frozen dataclass with a field `strength` in which R is linear need not define it.
        """
        strength = getattr(self, "strength", None)
        if not is_dataclass(self) or not isinstance(strength, Real):
            return None
        return replace(self, strength=factor * strength) if strength else self

    def active(self, w: Array) -> Array:
        """Which coefficients move freely: R is smooth in them around w. The shape of w."""
        raise NotImplementedError

    def gradient(self, w: Array) -> Array:
        """∂R/∂w of the active coefficients, 0 for the others; the shape of w."""
        raise NotImplementedError

    def hessian_times(self, w: Array, v: Array) -> Array:
        """∂²R/∂w² times v, among the active coefficients; 0 for the others. The shape of w."""
        raise NotImplementedError

    def hessian(self, w: Array) -> Array:
        """∂²R/∂w² of w[active(w)]: a matrix, or its diagonal if it is diagonal."""
        active = self.active(w)
        H = np.empty((np.count_nonzero(active),) * 2)
        for row, at in zip(H, np.flatnonzero(active)):
            v = np.zeros(w.shape)
            v.flat[at] = 1.0
            row[:] = self.hessian_times(w, v)[active]
        return H

    @property
    def has_curvature(self) -> bool:
        """Whether the derivatives above are defined."""
        return type(self).hessian_times is not Penalty.hessian_times


class Separable(Penalty, abstract=True):
    """A penalty given by its `coordinates`; all formulas follow from them.

    R(w) = Σⱼ l1ⱼ|wⱼ| + ½·l2ⱼwⱼ² where lowerⱼ ≤ wⱼ ≤ upperⱼ for all j, else ∞.
    """

    def coordinates(self, d: int) -> Coordinates:
        raise NotImplementedError

    def _kept(self, d: int) -> Coordinates:
        """`coordinates(d)`, computed once: every formula below starts from them."""
        kept = vars(self).get("_coordinates")
        if kept is None or len(kept.l1) != d:
            kept = vars(self)["_coordinates"] = self.coordinates(d)
        return kept

    def __getstate__(self):
        # Copies and files contain the parameters alone.
        return {name: value for name, value in vars(self).items() if name != "_coordinates"}

    def value(self, w):
        c = self._kept(len(w))
        l1, l2, lower, upper = c.like(w)
        if c.has_bounds and (np.any(w < lower) or np.any(w > upper)):
            return np.inf
        cost = 0.5 * l2 * w**2
        return float(np.sum(l1 * np.abs(w) + cost if c.has_l1 else cost))

    def prox(self, w, step):
        c = self._kept(len(w))
        l1, l2, lower, upper = c.like(w)
        shrunk = (_shrink(w, step * l1) if c.has_l1 else w) / (1 + step * l2)
        return np.clip(shrunk, lower, upper) if c.has_bounds else shrunk

    def subdifferential_distance(self, w, g):
        c = self._kept(len(w))
        l1, l2, lower, upper = c.like(w)
        if c.is_quadratic():
            return np.abs(l2 * w + g)
        if not c.has_bounds:
            slope = g + l2 * w
            return np.where(w == 0, np.maximum(np.abs(g) - l1, 0), np.abs(slope + l1 * np.sign(w)))
        smallest = np.where(w <= lower, -np.inf, l2 * w + np.where(w > 0, l1, -l1))
        largest = np.where(w >= upper, np.inf, l2 * w + np.where(w >= 0, l1, -l1))
        distance = np.maximum(np.maximum(smallest + g, -g - largest), 0)
        return np.where((w < lower) | (w > upper), np.inf, distance)

    def conjugate(self, v):
        c = self._kept(len(v))
        l1, l2, lower, upper = c.like(v)
        if not (c.has_l2 or c.has_bounds):
            return 0.0 if np.all((np.abs(v) <= l1).T | c.is_free()) else np.inf
        excess = _shrink(v, l1) if c.has_l1 else v
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if c.is_strong and not c.has_bounds:
                return float(np.sum(0.5 * excess * (excess / l2)))
            # The maximiser without bounds: at infinity if only the bounds hold it.
            top = np.where(excess == 0, 0.0, excess / l2)
            best = np.clip(top, lower, upper)
            inside = 0.5 * excess * top
            at_bound = best * (v - l1 * np.sign(best) - 0.5 * l2 * best)
        return float(np.sum(np.where(best == top, inside, at_bound)[~c.is_free()]))

    def feasible_scales(self, v):
        c = self._kept(len(v))
        if c.is_quadratic() and c.is_strong:
            return (1.0,)
        l1, l2, lower, upper = c.like(v)
        unheld = np.abs(v) > l1
        if c.has_bounds:
            unheld &= np.where(v > 0, np.isposinf(upper), np.isneginf(lower))
        unheld[c.is_free()] = False
        if not unheld.any():
            return (1.0,)
        with np.errstate(divide="ignore", invalid="ignore"):
            # A few roundings below l1/|v|, so that c·|v| ≤ l1 also holds in floating point.
            ratio = np.where(unheld, (1 - 4 * EPS) * (l1 / np.abs(v)), 1.0)
        hard = float(np.min(ratio, initial=1.0, where=unheld & (l2 == 0)))
        soft = float(np.min(ratio, initial=1.0))
        # Where l2 > 0, R*(v) is finite without scaling; either may give the better bound.
        return (hard, soft) if 0 < soft < hard else (hard,)

    def free(self, d):
        return self._kept(d).is_free()

    def active(self, w):
        l1, _, lower, upper = self._kept(len(w)).like(w)
        return ((w != 0) | (l1 == 0)) & (w > lower) & (w < upper)

    def gradient(self, w):
        l1, l2, _, _ = self._kept(len(w)).like(w)
        return (l2 * w + l1 * np.sign(w)) * self.active(w)

    def hessian_times(self, w, v):
        _, l2, _, _ = self._kept(len(w)).like(w)
        return l2 * v * self.active(w)

    def hessian(self, w):
        return self.hessian_times(w, np.ones(w.shape))[self.active(w)]


def by_name(name: str | Penalty) -> Penalty:
    """The penalty `name` with its default parameters; a penalty is returned as it is."""
    return look_up(name, Penalty, Penalty.registry)


def per_feature(name: str, values: Any, d: int) -> Array | float:
    """Values per feature, checked to be d of them; a number is used for all, None means 1."""
    values = 1.0 if values is None else np.asarray(values, dtype=float)
    if np.ndim(values) and len(values) != d:
        raise ValueError(f"{name} has {len(values)} entries, but there are {d} features.")
    return values


def _shrink(v: Array, by: Array) -> Array:
    """v moved towards 0 by `by`: soft-thresholding."""
    return np.sign(v) * np.maximum(np.abs(v) - by, 0)
