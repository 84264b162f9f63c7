"""Problem = design + loss + penalty + weights: the objective P, its derivatives, dual points and the dual D.

    P(w, b) = Σᵢ sᵢ ℓ(yᵢ, xᵢᵀw + b) + R(w)
    D(θ)    = −Σᵢ sᵢ ℓ*(yᵢ, −θᵢ/sᵢ) − R*(Xᵀθ),   with Aᵀθ = 0 for the free columns A (bias, unpenalised features)

Sums, never means. Solvers and certificates ask this class; nothing here knows either.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .design import Design
from .dual_points import FreeColumns, orthogonalise, tilt
from .losses import Loss
from .penalties import Penalty

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Parameters:
    """Coefficients w (d,) or (d, K), bias b () or (K,), and the dual point theta (n,) or (n, K) or None."""

    w: Array
    b: Array
    theta: Array | None = None


@dataclass(frozen=True, eq=False)
class Bound:
    """A feasible dual point, its product with the data v = Xᵀθ, and the dual value it proves."""

    theta: Array
    v: Array
    dual: float


@dataclass(frozen=True, eq=False)
class Problem:
    """What is minimised. `outputs` is K for several outputs or classes, None for one column of predictions."""

    design: Design
    y: Array
    loss: Loss
    penalty: Penalty
    weights: Array
    fit_bias: bool = True
    outputs: int | None = None

    @property
    def n(self) -> int:
        return self.design.n

    @property
    def d(self) -> int:
        return self.design.d

    @property
    def row_weights(self) -> Array:
        """The weights, shaped to broadcast against predictions."""
        return self.weights if self.outputs is None else self.weights[:, None]

    # ---- the primal side -------------------------------------------------------------------------

    def predictions(self, w: Array, b: Array) -> Array:
        """z = Xw + b."""
        return self.design.times(w) + b

    def loss_sum(self, z: Array) -> float:
        """Σ sᵢ ℓ(yᵢ, zᵢ), in float64."""
        return self.weighted_sum(self.loss.value(self.y, z))

    def weighted_sum(self, per_target: Array) -> float:
        """Σ sᵢ·(sum of row i), a row of weight 0 counting 0 whatever it holds."""
        per_row = per_target if per_target.ndim == 1 else per_target.sum(axis=1)
        if not self.has_zero_weights:
            return float(self.weights @ per_row)
        return float(self.weights @ np.where(self.weights > 0, per_row, 0.0))

    def primal(self, w: Array, b: Array, z: Array | None = None) -> float:
        """P(w, b)."""
        return self.loss_sum(self.predictions(w, b) if z is None else z) + self.penalty.value(w)

    def derivative(self, z: Array) -> Array:
        """s·ℓ′(y, z), the shape of z; −s·ℓ′ is the natural dual point."""
        return self.row_weights * self.loss.gradient(self.y, z)

    @cached_property
    def has_zero_weights(self) -> bool:
        return bool(np.any(self.weights == 0))

    @cached_property
    def free(self) -> Array:
        """Positions of the features that are neither penalised nor constrained."""
        return np.flatnonzero(self.penalty.free(self.d))

    # ---- the model without features --------------------------------------------------------------

    @cached_property
    def null(self) -> Parameters:
        """w = 0 (or the nearest point that the constraints allow) and the best bias for it."""
        shape = (self.d,) if self.outputs is None else (self.d, self.outputs)
        w = self.penalty.prox(np.zeros(shape), 1.0)
        w[self.free] = 0.0
        z = self.predictions(w, 0.0) if np.any(w) else None
        return Parameters(w, self._best_bias(z))

    @cached_property
    def scale(self) -> float:
        """P₀: the objective of `null` above Σ sᵢ min ℓ; tolerances are relative to it."""
        z = np.zeros(np.shape(self.y) if self.loss.task != "multiclass" else (self.n, self.outputs))
        z = z + self.null.b
        if np.any(self.null.w):
            z = z + self.design.times(self.null.w)
        above = self.loss_sum(z) - self.weighted_sum(self.loss.smallest(self.y))
        return max(above, 0.0)

    def _best_bias(self, z: Array | None) -> Array:
        """argmin_b Σ sᵢ ℓ(yᵢ, zᵢ + b), z = 0 when None."""
        if not self.fit_bias:
            return np.zeros(()) if self.outputs is None else np.zeros(self.outputs)
        if z is None and self.loss.task != "regression":
            # Only the distinct labels matter when all scores are equal.
            y, position = np.unique(self.y, return_inverse=True)
            s = np.bincount(position, weights=self.weights)
        else:
            y, s = self.y, self.weights
        if self.loss.task == "multiclass":
            z = np.zeros((len(y), self.outputs)) if z is None else z
            return _minimise_bias_vector(self.loss, y, z, s)
        z = np.zeros(np.shape(y)) if z is None else z
        if self.outputs is None:
            return np.array(_minimise_bias(self.loss, y, z, s))
        return np.array([_minimise_bias(self.loss, y[:, k], z[:, k], s) for k in range(self.outputs)])

    # ---- the dual side ---------------------------------------------------------------------------

    def dual(self, theta: Array, v: Array) -> float:
        """D(θ) for v = Xᵀθ; −∞ where θ is outside the domain of the conjugates. Free columns are the caller's care."""
        s = self.row_weights
        with np.errstate(divide="ignore", invalid="ignore"):
            u = np.where(s > 0, -theta / s, 0.0)
        if self.has_zero_weights and np.any(np.where(s > 0, 0.0, theta)):
            return -np.inf
        conjugates = self.weighted_sum(self.loss.conjugate(self.y, u))
        if not np.isfinite(conjugates):
            return -np.inf
        return -conjugates - self.penalty.conjugate(v)

    def bound(self, theta: Array) -> Bound:
        """The best dual value that θ leads to: made orthogonal to the free columns, then scaled into the domain of R*."""
        theta = self.orthogonal(np.asarray(theta, dtype=float))
        v = self.design.transposed_times(theta)
        best = None
        for c in self.penalty.feasible_scales(v):
            dual = self.dual(c * theta, c * v)
            if best is None or dual > best.dual:
                best = Bound(c * theta, c * v, dual)
        return best

    def box(self) -> tuple[Array, Array]:
        """The interval of each θᵢ in which s·ℓ*(−θ/s) is finite."""
        lower, upper = self.loss.dual_domain(self.y)
        s = self.row_weights
        with np.errstate(invalid="ignore"):
            return np.where(s > 0, -s * upper, 0.0), np.where(s > 0, -s * lower, 0.0)

    def orthogonal(self, theta: Array) -> Array:
        """θ moved inside its domain until it is orthogonal to the free columns; 0 where that fails."""
        if not self.fit_bias and not len(self.free):
            return theta
        columns = self.free_columns
        if self.loss.task == "multiclass":
            return tilt(theta, self.y, columns, self.weights)
        lower, upper = (np.broadcast_to(bound, theta.shape) for bound in self.box())
        if self.outputs is None:
            return orthogonalise(theta, columns, lower, upper, self.weights)
        moved = [
            orthogonalise(theta[:, k], columns, lower[:, k], upper[:, k], self.weights)
            for k in range(self.outputs)
        ]
        return np.stack(moved, axis=1)

    @cached_property
    def free_columns(self) -> FreeColumns:
        """The unpenalised features and the bias as one operator."""
        return FreeColumns(self.design.columns(self.free), self.fit_bias)


def _minimise_bias(loss: Loss, y: Array, z: Array, s: Array) -> float:
    """The b at which Σ sᵢ ℓ′(yᵢ, zᵢ + b) crosses 0 (the middle, where it is 0 on an interval)."""

    def slope(b: float) -> float:
        return float(s @ loss.gradient(y, z + b))

    def newton(b: float) -> float:
        curvature = float(s @ loss.curvature(y, z + b)) if loss.has_curvature else 0.0
        return b - slope(b) / curvature if curvature > 0 else np.nan

    start = float(np.average(y, weights=s)) if loss.task == "regression" and s.sum() > 0 else 0.0
    spread = max(1.0, float(np.max(np.abs(y - start), initial=0.0)))
    low, high = _bracket(slope, start, spread)
    b, tiny = start, 4 * np.finfo(float).eps
    for _ in range(200):
        if high - low <= tiny * max(abs(low), abs(high), tiny * spread):
            return 0.5 * (low + high)
        candidate = newton(b)
        if not low < candidate < high:
            candidate = 0.5 * (low + high)
        g = slope(candidate)
        if g == 0 or (loss.has_curvature and abs(candidate - b) <= tiny * max(abs(b), spread)):
            return _middle(slope, candidate, low, high) if g == 0 and not loss.has_curvature else candidate
        low, high = (candidate, high) if g < 0 else (low, candidate)
        b = candidate
    return b


def _bracket(slope, start: float, spread: float) -> tuple[float, float]:
    """An interval on which the slope changes sign, or the widest that was tried (one class only)."""
    low = high = start
    for k in range(12):
        if slope(low) < 0:
            break
        low = start - spread * 2.0**k
    for k in range(12):
        if slope(high) > 0:
            break
        high = start + spread * 2.0**k
    return low, high


def _middle(slope, b: float, low: float, high: float) -> float:
    """The middle of the interval around b on which the slope is 0."""
    ends = []
    for outside in (low, high):
        inside = b
        for _ in range(60):
            half = 0.5 * (inside + outside)
            inside, outside = (half, outside) if slope(half) == 0 else (inside, half)
        ends.append(inside)
    return 0.5 * (ends[0] + ends[1])


def _minimise_bias_vector(loss: Loss, y: Array, z: Array, s: Array) -> Array:
    """argmin_b Σ sᵢ ℓ(yᵢ, zᵢ + b) for K scores, by damped Newton steps; the biases sum to 0."""
    K = z.shape[1]
    b = np.zeros(K)
    value = s @ loss.value(y, z)
    for _ in range(100):
        g = s @ loss.gradient(y, z + b)
        H = np.stack([s @ loss.hessian_times(y, z + b, np.broadcast_to(e, z.shape)) for e in np.eye(K)])
        step = -np.linalg.lstsq(H + 1e-12 * np.trace(H) * np.eye(K), g)[0]
        step -= step.mean()
        t = 1.0
        while t > 1e-10 and s @ loss.value(y, z + b + t * step) > value + 1e-4 * t * (g @ step):
            t *= 0.5
        b, previous = b + t * step, value
        value = s @ loss.value(y, z + b)
        if previous - value <= 1e-15 * abs(value):
            break
    return b - b.mean()
