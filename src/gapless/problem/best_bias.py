"""The best bias for given scores: min_b Σ sᵢ ℓ(yᵢ, zᵢ + b), the model without features.

Called by `problem`, for the objective P₀ that tolerances are relative to, and by boosting, for the
values of leaves. Takes a few passes over the rows, whatever the loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize
import scipy.sparse
import scipy.sparse.linalg

from ..losses import DualBox, Loss

Array = np.ndarray
EPS = np.finfo(float).eps


@dataclass
class Slope:
    """b ↦ Σ sᵢ ℓ′(yᵢ, zᵢ + b), which never falls; rows constant on a bracket are summed once."""

    loss: Loss
    y: Array
    z: Array
    s: Array
    constant: float = 0.0
    size: float = 0.0

    def rows(self, b: float) -> Array:
        """The slope of each remaining row."""
        return self.loss.gradient(self.y, self.z + b)

    def __call__(self, b: float) -> float:
        """The slope, 0 if it is no more than rounding."""
        weighted = self.s * self.rows(b)
        total = self.constant + float(weighted.sum())
        size = self.size + float(np.abs(weighted).sum())
        return 0.0 if abs(total) <= 4 * EPS * size else total

    def curvature(self, b: float) -> float:
        """The derivative of the slope; 0 for a loss without one."""
        if not self.loss.has_curvature:
            return 0.0
        return float(self.s @ self.loss.curvature(self.y, self.z + b))

    def within(self, low: float, high: float) -> Slope:
        """The same function on [low, high]: a row with equal slopes at both ends is constant."""
        at_low = self.rows(low)
        varies = at_low != self.rows(high)
        if 2 * np.count_nonzero(varies) > len(varies):
            return self
        fixed = self.s[~varies] * at_low[~varies]
        constant, size = self.constant + float(fixed.sum()), self.size + float(np.abs(fixed).sum())
        return Slope(self.loss, self.y[varies], self.z[varies], self.s[varies], constant, size)


def minimise_bias(loss: Loss, y: Array, z: Array, s: Array) -> float:
    """The b at which the slope crosses 0; the middle if it is 0 on an interval.

    If no b is best because one class is missing, the end of the searched range, or the first b at
    which the slope rounds to 0.
    """
    counts = s > 0
    if not counts.all():
        y, z, s = y[counts], z[counts], s[counts]
    if not len(y):
        return 0.0
    if loss.is_piecewise_linear:
        return _at_kinks(loss.dual_box(y), z, s)
    start, spread = _region(loss, y, z, s)
    slope = Slope(loss, y, z, s)
    if slope(start) == 0 and slope.curvature(start) > 0:
        return start  # the mean, for the squared loss
    if len(y) > 20_000:
        # A sample of the rows shows where to look, and most other rows are constant there.
        every = len(y) // 2000
        start = minimise_bias(loss, y[::every], z[::every], s[::every])
        spread = spread / 64
    low, high = _bracket(slope, start, float(spread))
    b = start
    for _ in range(200):
        if not low < b < high:
            b = low + 0.5 * (high - low)
        g = slope(b)
        curvature = slope.curvature(b)
        if g == 0:
            return b if curvature > 0 else _middle(slope, b, low, high)
        low, high = (b, high) if g < 0 else (low, b)
        step = g / curvature if curvature > 0 else 0.0
        tiny = 4 * EPS * max(abs(low), abs(high), EPS * spread)
        if high - low <= tiny or (curvature > 0 and abs(step) <= tiny):
            return b
        if curvature > 0:
            b -= step
        else:
            b = low + 0.5 * (high - low)
            slope = slope.within(low, high)
    return b


def _at_kinks(box: DualBox, z: Array, s: Array) -> float:
    """The same for slopes that jump, at linear ± absolute: they are summed kink by kink."""
    kinks = np.concatenate([box.linear - box.absolute - z, box.linear + box.absolute - z])
    below = np.minimum(box.upper, 0.0) - box.lower
    above = box.upper - np.maximum(box.lower, 0.0)
    jumps = np.concatenate([s * below, s * above])
    order = np.argsort(kinks)
    order = order[jumps[order] > 0]
    if not len(order):
        return 0.0
    kinks, jumps = kinks[order], jumps[order]
    first = float(np.sum(s * box.lower))
    slopes = first + np.cumsum(jumps)
    noise = 16 * EPS * float(jumps.sum())
    if first >= -noise:
        return float(kinks[0])
    k = min(int(np.argmax(slopes >= -noise)), len(kinks) - 1)
    if slopes[k] <= noise and k + 1 < len(kinks):
        return float(kinks[k] + 0.5 * (kinks[k + 1] - kinks[k]))
    return float(kinks[k])


def _region(loss: Loss, y: Array, z: Array, s: Array) -> tuple[float, float]:
    """Roughly where the best bias is, and how far away it may be."""
    if loss.task != "regression":
        return 0.0, 1 + float(np.abs(z).max())
    if loss.targets == "real":
        return _location(y - z, s)
    # Positive targets are predicted on the scale of their logarithms.
    mean = max(float(np.average(y, weights=s)), float(np.finfo(float).tiny))
    center = float(np.average(z, weights=s))
    return float(np.log(mean)) - center, 1 + float(np.abs(z - center).max())


def _location(residual: Array, s: Array) -> tuple[float, float]:
    """The mean of the residuals and how far they extend from it (never 0), without overflow."""
    largest = float(np.max(np.abs(residual)))
    if largest == 0:
        return 0.0, 1.0
    start = largest * float(np.average(residual / largest, weights=s / s.max()))
    reach = float(np.max(np.abs(residual - start)))
    return start, max(reach, 1e-3 * largest)


def _bracket(slope: Slope, start: float, spread: float) -> tuple[float, float]:
    """An interval on which the slope changes sign, or the widest one tried."""
    low = high = start
    for k in range(12):
        low = start - spread * 2.0**k
        if slope(low) < 0:
            break
    for k in range(12):
        high = start + spread * 2.0**k
        if slope(high) > 0:
            break
    return low, high


def _middle(slope: Slope, b: float, low: float, high: float) -> float:
    """The middle of the interval around b with slope 0; its one end if it is unbounded."""
    if slope(low) == 0 and slope(high) == 0:
        return b
    if slope(high) == 0:
        return _edge(slope, b, low)
    if slope(low) == 0:
        return _edge(slope, b, high)
    left = _edge(slope, b, low)
    return left + 0.5 * (_edge(slope, b, high) - left)


def _edge(slope: Slope, inside: float, outside: float) -> float:
    """The last point with slope 0 on the way from `inside` to `outside`."""
    for _ in range(100):
        slope = slope.within(*sorted((inside, outside)))
        half = inside + 0.5 * (outside - inside)
        if half in (inside, outside):
            break
        inside, outside = (half, outside) if slope(half) == 0 else (inside, half)
    return inside


def minimise_biases(loss: Loss, y: Array, z: Array, s: Array) -> Array:
    """argmin_b Σ sᵢ ℓ(yᵢ, zᵢ + b) for K scores by damped Newton steps; the biases sum to 0."""
    b = np.zeros(z.shape[1])
    if not np.any(s):
        return b
    s = s / s.max()
    if loss.is_piecewise_linear:
        return _at_vertex(loss, y[s > 0], z[s > 0], s[s > 0])
    value = float(s @ loss.value(y, z))
    for _ in range(100):
        g = s @ loss.gradient(y, z + b)
        if np.max(np.abs(g)) <= EPS * float(s.sum()):
            break
        step = _newton_step(loss, y, z + b, s, g)
        length, decrease = 1.0, float(g @ step)
        reached = float(s @ loss.value(y, z + b + step))
        while reached > value + 1e-4 * length * decrease and length > 1e-10:
            length *= 0.5
            reached = float(s @ loss.value(y, z + b + length * step))
        if not value - reached > EPS * abs(value):
            break
        b, value = b + length * step, reached
    return b - b.mean()


def _at_vertex(loss: Loss, y: Array, z: Array, s: Array) -> Array:
    """The same for a loss with kinks, as a linear programme in θ = s·u; b are its multipliers.

    max Σ u·(z − linear) with θ in its box, Σₖθᵢₖ = 0 in every row and Σᵢθᵢₖ = 0 for every class.
    """
    n, K = z.shape
    box = loss.class_box(y, K)
    rows = scipy.sparse.kron(scipy.sparse.eye(n), np.ones((1, K)))
    classes = scipy.sparse.kron(np.ones((1, n)), scipy.sparse.eye(K))
    scale = s[:, None]
    found = scipy.optimize.linprog(
        (box.linear - z).ravel(),
        A_eq=scipy.sparse.vstack([rows, classes], format="csr"),
        b_eq=np.zeros(n + K),
        bounds=np.stack([(scale * box.lower).ravel(), (scale * box.upper).ravel()], axis=1),
    )
    if found.status != 0:
        return np.zeros(K)
    b = found.eqlin.marginals[n:]
    return b - b.mean()


def _newton_step(loss: Loss, y: Array, z: Array, s: Array, g: Array) -> Array:
    """−H⁻¹g on the biases that sum to 0, by conjugate gradients preconditioned by diag H."""
    K = len(g)
    diagonal = s @ loss.curvature(y, z)
    ridge = 1e-14 * float(diagonal.max()) + np.finfo(float).tiny
    diagonal = diagonal + ridge

    def hessian_times(v: Array) -> Array:
        moved = loss.hessian_times(y, z, np.broadcast_to(v.ravel(), z.shape))
        return s @ moved + ridge * v.ravel()

    H = scipy.sparse.linalg.LinearOperator((K, K), matvec=hessian_times, dtype=float)
    M = scipy.sparse.linalg.LinearOperator(
        (K, K), matvec=lambda r: r.ravel() / diagonal, dtype=float
    )
    step, _ = scipy.sparse.linalg.cg(H, -g, rtol=1e-10, maxiter=2 * K, M=M)
    return step - step.mean()
