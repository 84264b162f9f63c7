"""Sums over rows: what a problem whose rows are read in parts adds up over its parts.

Each part is a problem of its own, whose penalty does not count. At w and b it gives the value of
the loss, its gradient and its Hessian; at a dual point its share of the dual value. With the bias
kept apart:

    P = Σ sℓ + R(w)        g = Xᵀ(sℓ′), 1ᵀ(sℓ′)        H = XᵀDX, XᵀD1, 1ᵀD1 with D = diag(s·ℓ″)
    D = −Σ sℓ*(y, −θ/s) − R*(Xᵀθ)        θ = −s(ℓ′ + ℓ″·(xᵀδ + δ₀))

θ is orthogonal to the free columns if δ is the Newton step in them, which costs no further product:
it is linear in δ. For K scores the coefficients are (d, K), and H joins all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .dual_points import EPS
from .problem import Problem

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Quadratic:
    """Value, gradient and Hessian of the sum of the losses at one point; sums of parts add.

    Attributes
    ----------
    value, size : float
        Σ sℓ, and Σ s|ℓ|.
    of_w, of_b : ndarray of shape (d,) or (d, K), () or (K,)
        The gradient.
    of_ww, of_wb, of_bb : ndarray
        The Hessian: (d, d), (d,) and () for one score; (d, K, d, K), (d, K, K) and (K, K) for K.
    slopes : float
        Σ|sℓ′|.
    """

    value: float
    size: float
    of_w: Array
    of_b: Array
    of_ww: Array
    of_wb: Array
    of_bb: Array
    slopes: float

    def __add__(self, other: Quadratic) -> Quadratic:
        return Quadratic(*(a + b for a, b in zip(self._fields, other._fields)))

    def __sub__(self, other: Quadratic) -> Quadratic:
        return Quadratic(*(a - b for a, b in zip(self._fields, other._fields)))

    @property
    def _fields(self) -> tuple:
        hessian = self.of_ww, self.of_wb, self.of_bb
        return self.value, self.size, self.of_w, self.of_b, *hessian, self.slopes

    def moved(self, w: Array, b: Array) -> Quadratic:
        """The quadratic model of the sum after a step (w, b)."""
        across_w = _apply(self.of_ww, w) + _bias_apply(self.of_wb, b)
        across_b = _bias_transposed(self.of_wb, w) + (
            self.of_bb @ b if np.ndim(b) else self.of_bb * b
        )
        rise = np.sum(self.of_w * w) + np.sum(self.of_b * b)
        rise += 0.5 * (np.sum(across_w * w) + np.sum(across_b * b))
        return Quadratic(
            self.value + float(rise),
            self.size,
            self.of_w + across_w,
            self.of_b + across_b,
            self.of_ww,
            self.of_wb,
            self.of_bb,
            self.slopes,
        )


def _apply(H: Array, w: Array) -> Array:
    return H @ w if w.ndim == 1 else np.einsum("jakb,kb->ja", H, w)


def _bias_apply(H: Array, b: Array) -> Array:
    return H * b if H.ndim == 1 else H @ b


def _bias_transposed(H: Array, w: Array) -> Array:
    return np.asarray(H @ w) if H.ndim == 1 else np.einsum("jak,ja->k", H, w)


def quadratic_at(problem: Problem, w: Array, b: Array) -> Quadratic:
    """The sums of one part at w and b, by one pass over its rows."""
    design = problem.design
    found = problem.row_pass(w, b)
    if found is not None:
        values, slope, curvature = found.value, found.slope, found.curvature
        s_slope = problem.weighted(slope)
        of_w = found.product
    else:
        z = problem.predictions(w, b)
        values = problem.row_losses(z)
        if problem.outputs is not None:
            return _of_classes(problem, z, values)
        slope = problem.loss.gradient(problem.y, z)
        curvature = problem.loss.curvature(problem.y, z)
        s_slope = problem.weighted(slope)
        of_w = design.transposed_times(s_slope)
    curved = problem.weighted(curvature)
    return Quadratic(
        problem.weighted_sum(values),
        problem.weighted_sum(np.abs(values)),
        of_w,
        np.asarray(s_slope.sum()),
        design.gram(curved),
        design.transposed_times(curved),
        np.asarray(curved.sum()),
        float(np.abs(s_slope).sum()),
    )


def _of_classes(problem: Problem, z: Array, values: Array) -> Quadratic:
    """The same for K scores, whose Hessian in a row is diag(a) − ffᵀ."""
    design, K = problem.design, z.shape[1]
    slope = problem.loss.gradient(problem.y, z)
    a, f = problem.loss.hessian_factors(problem.y, z, slope)
    s, s_slope = problem.weights, problem.weighted(slope)
    of_ww = np.zeros((problem.d, K, problem.d, K))
    of_wb, of_bb = np.zeros((problem.d, K, K)), np.zeros((K, K))
    for j in range(K):
        for k in range(j + 1):
            # Gram matrices take weights ≥ 0: the sign stays outside.
            both = s * f[:, j] * f[:, k] if f is not None else np.zeros(len(s))
            both = s * a[:, j] - both if j == k else both
            sign = 1.0 if j == k else -1.0
            if np.any(both < 0):
                both = np.maximum(both, 0.0)
            gram = sign * design.gram(both)
            across = sign * design.transposed_times(both)
            of_ww[:, j, :, k] = of_ww[:, k, :, j] = gram
            of_wb[:, j, k] = of_wb[:, k, j] = across
            of_bb[j, k] = of_bb[k, j] = sign * both.sum()
    return Quadratic(
        problem.weighted_sum(values),
        problem.weighted_sum(np.abs(values)),
        design.transposed_times(s_slope),
        s_slope.sum(axis=0),
        of_ww,
        of_wb,
        of_bb,
        float(np.abs(s_slope).sum()),
    )


@dataclass(frozen=True, eq=False)
class DualSums:
    """What the parts add to P at one point and to D at a dual point scaled by some numbers c.

    Attributes
    ----------
    loss, size : float
        Σ sℓ at the parameters, and Σ s|ℓ|.
    conjugates : ndarray of shape (len(scales),)
        Σ sℓ*(y, −cθ/s) of each c; ∞ outside the domain.
    product, total : ndarray
        Xᵀθ and Σθ.
    spread, square : float
        Σ|θ|·(|z| + |y|) and Σ(|z| + |y|)², by which rounding is judged.
    margin : float
        The least y·z of a row with weight, or for K scores the least lead of its class; ∞ for
        numbers.
    """

    loss: float
    size: float
    conjugates: Array
    product: Array
    total: Array
    spread: float
    square: float
    margin: float

    def __add__(self, other: DualSums) -> DualSums:
        return DualSums(
            self.loss + other.loss,
            self.size + other.size,
            self.conjugates + other.conjugates,
            self.product + other.product,
            self.total + other.total,
            self.spread + other.spread,
            self.square + other.square,
            min(self.margin, other.margin),
        )


def dual_sums(
    problem: Problem,
    at: tuple[Array, Array],
    step: tuple[Array, Array],
    ends: tuple[Array, Array],
    scales: tuple[float, ...],
) -> DualSums:
    """The sums of one part: P at `ends`; D at θ = −s(ℓ′ + ℓ″·(Xδ + δ₀)) for z at `at`, δ = `step`.

    θ is moved into the domain of the loss row by row, where rounding or a long step took it out.
    """
    loss, y = problem.loss, problem.y
    z = problem.predictions(*at)
    slope = loss.gradient(y, z)
    if np.any(step[0]) or np.any(step[1]):
        along = problem.design.times(step[0]) + step[1]
        u = slope + loss.hessian_times(y, z, along)
    else:
        u = slope
    lower, upper = loss.dual_domain(y)
    u = np.clip(u, lower, upper)
    theta = -problem.weighted(u)
    z_end = problem.predictions(*ends)
    values = problem.row_losses(z_end)
    conjugates = [
        problem.weighted_sum(loss.conjugate(y, np.clip(c * u, lower, upper))) for c in scales
    ]
    sizes = np.abs(z_end) + (np.abs(y) if loss.task == "regression" else 1.0)
    return DualSums(
        problem.weighted_sum(values),
        problem.weighted_sum(np.abs(values)),
        np.array(conjugates),
        problem.design.transposed_times(theta),
        np.asarray(theta.sum(axis=0)),
        float(np.sum(np.abs(theta) * sizes)),
        float(np.sum(sizes**2)),
        _least_margin(problem, z_end),
    )


def _least_margin(problem: Problem, z: Array) -> float:
    """How far the classes of these rows are apart."""
    counted = problem.weights > 0
    if problem.loss.task == "regression" or not counted.any():
        return np.inf
    if z.ndim == 1:
        return float(np.min((problem.y * z)[counted]))
    rows = np.arange(len(z))
    own = z[rows, problem.y]
    others = z.copy()
    others[rows, problem.y] = -np.inf
    return float(np.min((own - others.max(axis=1))[counted]))


def rounding_of(found: DualSums, n: int, primal: float, dual: float) -> float:
    """About the rounding of P − D: of n summed terms, and of θ where it multiplies scores."""
    terms = found.size + float(np.max(np.abs(found.conjugates))) + abs(primal) + abs(dual)
    return (8 + np.log2(1 + n)) * EPS * terms + 8 * EPS * found.spread
