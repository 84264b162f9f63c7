"""Move a dual point, inside its domain, until it is orthogonal to the free columns A.

Called by `problem` alone. The bias and an unpenalised feature cost nothing, so R* is finite only
where Aᵀθ = 0. "Orthogonal" always means up to rounding in the product, which `certificates` then
charges to the gap.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from .._ground.design import Design
from .._ground.interrupt import in_worker
from ..losses import DualBox, nearest_slopes

Array = np.ndarray
EPS = np.finfo(float).eps
LARGEST_GRAM = 3000  # with more free columns the steps are solved iteratively
MOST_ENTRIES = 1 << 22  # products of scores and features computed at a time
# Near a solution a few steps are enough. Far from one, or if the data are separable and only θ = 0
# is left, steps become short or shrink little: at most this many of those are taken.
SHORT_STEPS, SLOW_STEPS = 12, 3
PROJECTION_STEPS = 30


class FreeColumns:
    """The unpenalised columns of the design, then a column of ones for the bias: one operator."""

    def __init__(self, columns: Design, with_ones: bool):
        self.columns, self.with_ones = columns, with_ones
        self.m = columns.d + with_ones

    @property
    def is_bias(self) -> bool:
        """Whether the column of ones is the only one."""
        return self.with_ones and not self.columns.d

    def times(self, delta: Array) -> Array:
        """A @ delta for delta of shape (m,) or (m, K)."""
        if not self.columns.d:
            return np.tile(delta, (self.columns.n, *[1] * (delta.ndim - 1)))
        product = self.columns.times(delta[: self.columns.d])
        return product + delta[-1] if self.with_ones else product

    def transposed_times(self, r: Array) -> Array:
        """Aᵀ @ r for r of shape (n,) or (n, K)."""
        if not self.columns.d:
            return r.sum(axis=0, keepdims=True)
        product = self.columns.transposed_times(r)
        if not self.with_ones:
            return product
        return np.concatenate([product, r.sum(axis=0, keepdims=True)])

    def gram(self, omega: Array) -> Array:
        """AᵀΩA for nonnegative row weights Ω."""
        G = np.empty((self.m, self.m))
        d = self.columns.d
        if d:
            G[:d, :d] = self.columns.gram(omega)
        if self.with_ones:
            G[-1, -1] = omega.sum()
            if d:
                G[-1, :d] = G[:d, -1] = self.columns.transposed_times(omega)
        return G

    def dense(self, part: slice) -> Array:
        """Some rows of A, a new array."""
        chosen = self.columns.rows(part)
        rows = np.ones((chosen.n, self.m))
        if self.columns.d:
            rows[:, : self.columns.d] = chosen.dense()
        return rows

    @cached_property
    def norms(self) -> Array:
        """The Euclidean norm of each column."""
        squares = self.columns.column_square_sums() if self.columns.d else np.zeros(0)
        if self.with_ones:
            squares = np.append(squares, self.columns.n)
        return np.sqrt(np.maximum(squares, 0.0))

    @cached_property
    def units(self) -> Array:
        """1/norms, and 1 for a column of zeros: makes the columns comparable."""
        return np.divide(1.0, self.norms, out=np.ones(self.m), where=self.norms > 1e-150)

    @cached_property
    def span_all(self) -> bool:
        """Whether the columns certainly span all vectors of length n: only θ = 0 is left."""
        n = self.columns.n
        if not 0 < n <= min(self.m, LARGEST_GRAM):
            return False
        squares = self.units**2
        outer = self.columns.outer_gram(squares[: self.columns.d])
        if self.with_ones:
            outer += squares[-1]
        if not np.all(np.diag(outer) > 0):
            return False
        factor = _cholesky(outer, _unit_scale(outer))
        return factor is not None and bool(np.diag(factor).min() > 1e-6)

    def is_orthogonal(self, theta: Array, parts: Array) -> bool:
        """Whether Aᵀθ = 0 up to rounding; θ is the difference of `parts`."""
        rounding = 16 * EPS * self.norms * column_norms(parts)
        rest = np.abs(self.transposed_times(theta)).T
        return bool(np.all(rest <= rounding))


class Intervals:
    """The interval of each θᵢ: lower ≤ θ ≤ upper, arrays of length n, possibly infinite."""

    def __init__(self, lower: Array, upper: Array):
        self.lower, self.upper = lower, upper

    @cached_property
    def is_line(self) -> bool:
        """Whether no row has a bound."""
        return not np.any(np.isfinite(self.lower) | np.isfinite(self.upper))

    @cached_property
    def _limits_steps(self) -> Array:
        """Which rows may move, but not without limit."""
        return (np.isfinite(self.lower) | np.isfinite(self.upper)) & (self.lower < self.upper)

    @cached_property
    def _inverse_width(self) -> Array | None:
        """1/(upper − lower), 0 for a single point; None unless all rows have both bounds."""
        if not np.all(np.isfinite(self.lower) & np.isfinite(self.upper)):
            return None
        width = self.upper - self.lower
        return np.divide(1.0, width, out=np.zeros_like(width), where=width > 0)

    @cached_property
    def _is_half_line(self) -> bool:
        """Whether every row has an upper bound and no lower one."""
        return bool(np.all(np.isneginf(self.lower)) and np.all(np.isfinite(self.upper)))

    def clip(self, theta: Array) -> Array:
        """The point inside nearest to θ."""
        if self.is_line:
            return theta
        if self._is_half_line:
            return np.minimum(theta, self.upper)
        return np.clip(theta, self.lower, self.upper)

    def room(self, theta: Array, weights: Array) -> Array:
        """How far θ may go: ab/(a + b) for its distances a, b to the bounds; s if it has none."""
        if self.is_line:
            return weights
        if self._inverse_width is not None:
            room = self.upper - theta
            room *= self._inverse_width
            room *= theta - self.lower
            return room
        if self._is_half_line:
            return self.upper - theta
        below, above = theta - self.lower, self.upper - theta
        near, far = np.minimum(below, above), np.maximum(below, above)
        share = np.divide(
            far, near + far, out=np.ones_like(far), where=np.isfinite(far) & (far > 0)
        )
        return np.where(np.isinf(near), weights, near * share)

    def longest_step(self, shift: Array) -> float:
        """The largest multiple (at most 1) of −room·shift that stays well inside."""
        if self.is_line or not self._limits_steps.any():
            return 1.0
        # The room is at most the distance to either bound, so |shift| ≤ 1 stays inside.
        rows = self._limits_steps if len(shift) == len(self.lower) else True
        return min(1.0, 0.9 / max(0.9, float(np.max(np.abs(shift), where=rows, initial=0.0))))


def column_norms(a: Array) -> Array:
    """√Σᵢaᵢ² over rows; scaled by the largest entry if squares would overflow or vanish."""
    with np.errstate(over="ignore", under="ignore"):
        squares = np.sum(a * a, axis=0)
    if np.all((squares > 1e-250) & (squares < 1e250)):
        return np.sqrt(squares)
    largest = np.max(np.abs(a), axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    return largest * np.sqrt(np.sum((a / unit) ** 2, axis=0))


def orthogonalise(
    theta: Array, free: FreeColumns, inside: Intervals, weights: Array
) -> Array | None:
    """θ (n,) in its intervals with Aᵀθ = 0, near the given one; None if none is found.

    Rows at θ = 0 are held there at first: the conjugate may have a kink there (ε-insensitive
    losses), so moving them costs the dual at first order, while moving the others costs it at
    second.
    """
    if free.is_orthogonal(theta, theta):
        return theta
    if not np.all(np.isfinite(free.norms)) or free.span_all:
        return None
    fixed = theta == 0
    if fixed.any():
        moved = _balance(theta, free, inside, np.where(fixed, 0.0, weights), fixed)
        if moved is not None:
            return moved
    moved = _balance(theta, free, inside, weights, None)
    if moved is None and free.is_bias:
        moved = _shift(theta, inside, weights)
    return moved


def _balance(
    theta: Array, free: FreeColumns, inside: Intervals, weights: Array, fixed: Array | None
) -> Array | None:
    """θ − Ω·Aδ with Aᵀθ = 0, by steps that slow down at the bounds; None if they stop short.

    Ω is the room θᵢ has in its interval. For the logistic loss that is the curvature s·ℓ″, so that
    a step is Newton's in the free coefficients, and the given θ = −s·ℓ′ becomes −s(ℓ′ + ℓ″·Aδ).
    """
    full_steps = short_steps = 0
    while short_steps < SHORT_STEPS:
        omega = inside.room(theta, weights)
        if fixed is not None:
            omega = np.where(fixed, 0.0, omega)
        shift = _solve(free, omega, theta)
        length = inside.longest_step(shift)
        if not length > 0.02 or not np.any(shift):
            return None
        theta = inside.clip(theta - (length * shift) * omega)
        if length == 1.0:
            if free.is_orthogonal(theta, theta):
                return theta
            # A full step leaves only rounding; if a few of them do not remove it, only θ = 0 is
            # orthogonal (as many free columns as rows).
            full_steps += 1
            if full_steps == 5:
                return None
        short_steps += length < 1.0
    return None


def _solve(free: FreeColumns, omega: Array, theta: Array) -> Array:
    """Aδ for the least δ that makes θ − Ω·Aδ orthogonal to A; one number for the bias alone."""
    if free.is_bias:
        total = float(omega.sum())
        return np.array([theta.sum() / total if total > 0 else 0.0])
    if free.m > LARGEST_GRAM:
        return _solve_iteratively(free, omega, theta)
    scale = free.units
    gram = free.gram(omega) * np.multiply.outer(scale, scale)
    rest = scale * free.transposed_times(theta)
    delta = _by_cholesky(gram, rest)
    if delta is not None:
        return free.times(scale * delta)
    values, vectors = eigenvectors(gram)
    strong = values > 1e-6 * max(values[-1], 0.0)

    def along_strong(rest: Array) -> Array:
        delta = (vectors[:, strong].T @ rest).T / values[strong]
        return free.times((delta @ vectors[:, strong].T * scale).T)

    shift = along_strong(rest)
    # The Gram matrix knows its small eigenvalues only to eps times the largest. Computed from the
    # combined columns themselves they are accurate, which handles condition numbers (polynomial
    # features, 1e12) that squaring puts out of reach.
    if not strong.all():
        columns = free.times(scale[:, None] * vectors[:, ~strong])
        # Nearly nothing is left of repeated columns: what eps in the vectors makes of the others
        # would stand for it.
        columns -= along_strong(scale[:, None] * free.transposed_times(omega[:, None] * columns))
        columns, length, _ = _uninterrupted(scipy.linalg.svd, columns, False)
        columns = columns[:, length > 64 * EPS]
        inner = columns.T @ (omega[:, None] * columns)
        shift = shift + columns @ _least_solution(inner, columns.T @ (theta - omega * shift))
    return shift


def _by_cholesky(H: Array, r: Array, smallest: float = 1e-3) -> Array | None:
    """H⁻¹r, by a factor of H with a unit diagonal; None if a pivot is below `smallest`.

    A column of zeros, where r is 0 as well, gets 0.
    """
    scale = _unit_scale(H)
    factor = _cholesky(H, scale)
    if factor is None or not np.diag(factor).min() > smallest:
        return None
    return scale * scipy.linalg.cho_solve((factor, True), scale * r)


def _unit_scale(H: Array) -> Array:
    """The scale that makes the diagonal of H one; 1 where it is 0."""
    diagonal = np.diag(H)
    return np.divide(1.0, np.sqrt(diagonal, where=diagonal > 0, out=np.ones(len(H))))


def _cholesky(H: Array, scale: Array) -> Array | None:
    """The lower factor of H with a unit diagonal; None if H is not positive definite."""
    scaled = H * scale * scale[:, None]
    np.fill_diagonal(scaled, 1.0)
    if not np.all(np.isfinite(scaled)):
        return None
    try:
        return _uninterrupted(scipy.linalg.cho_factor, scaled, True)[0]
    except np.linalg.LinAlgError:
        return None


def eigenvectors(H: Array) -> tuple[Array, Array]:
    """Eigenvalues of a symmetric matrix in ascending order, and its eigenvectors."""
    return _uninterrupted(scipy.linalg.eigh, H)


def _uninterrupted(function: Any, H: Array, *options: Any) -> Any:
    """A factorisation; a long one runs in a worker thread, so that Ctrl-C need not wait."""
    return in_worker(function, H, *options) if len(H) > 300 else function(H, *options)


def _least_solution(H: Array, r: Array) -> Array:
    """The least x with Hx = r for a positive semi-definite H, small eigenvalues taken as 0."""
    if not len(H):
        return r
    values, vectors = eigenvectors(H)
    keep = values > max(len(H) * EPS * values[-1], np.finfo(float).tiny)
    return vectors[:, keep] @ ((vectors[:, keep].T @ r) / values[keep])


def _solve_iteratively(free: FreeColumns, omega: Array, theta: Array) -> Array:
    """The same by LSMR (Fong and Saunders 2011) on √Ω·A, for very many free columns."""
    root = np.sqrt(omega)
    scale = free.units
    operator = scipy.sparse.linalg.LinearOperator(
        (len(theta), free.m),
        matvec=lambda delta: root * free.times(scale * delta.ravel()),
        rmatvec=lambda r: scale * free.transposed_times(root * r.ravel()),
        dtype=float,
    )
    target = np.divide(theta, root, out=np.zeros_like(theta), where=root > 0)
    solved = scipy.sparse.linalg.lsmr(
        operator, target, atol=1e-15, btol=1e-15, conlim=0, maxiter=500
    )
    return free.times(scale * solved[0])


def _shift(theta: Array, inside: Intervals, weights: Array) -> Array | None:
    """clip(θ + τ·s) with the τ that makes its sum 0; None if the bounds allow none.

    The sum grows with τ and is piecewise linear: Newton steps inside a bracket.
    """
    lower, upper = inside.lower, inside.upper

    def moved(tau: float) -> Array:
        return inside.clip(theta + tau * weights)

    def tolerance(a: Array) -> float:
        return 8 * EPS * float(np.abs(a).sum())

    low, high = -np.inf, np.inf
    tau, step = 0.0, 1.0
    for _ in range(200):
        current = moved(tau)
        total = float(current.sum())
        if abs(total) <= tolerance(current):
            return current
        low, high = (tau, high) if total < 0 else (low, tau)
        slope = float(weights[(current > lower) & (current < upper)].sum())
        candidate = tau - total / slope if slope > 0 else np.nan
        if not low < candidate < high:
            if np.isfinite(low) and np.isfinite(high):
                candidate = 0.5 * (low + high)
            else:
                # Nothing moves here: continue until something does, or every row is at its bound.
                candidate, step = tau - np.sign(total) * step, 4 * step
        if candidate in (low, high) or not np.isfinite(candidate):
            break
        tau = candidate
    return _spread_remainder(moved(tau), lower, upper)


def _spread_remainder(theta: Array, lower: Array, upper: Array) -> Array | None:
    """θ with the last bits of its sum given to the row with the most room for them."""
    total = float(theta.sum())
    room = theta - lower if total > 0 else upper - theta
    widest = int(np.argmax(room))
    theta = theta.copy()
    theta[widest] -= total
    inside = lower[widest] <= theta[widest] <= upper[widest]
    return theta if inside and abs(theta.sum()) <= 8 * EPS * np.abs(theta).sum() else None


def tilt(theta: Array, y: Array, free: FreeColumns, weights: Array) -> Array | None:
    """The same for classes: θ = s(e_y − p) with p tilted to p·exp(Aδ)/Σ, still a distribution.

    δ is found by Newton's method on Σ s·log Σₖ pₖ exp(Aδ)ₖ − Σ s·(Aδ)_y, which is convex. None if
    it stops short: separable data leave only θ = 0, which it would approach slowly.
    """
    labels = one_hot(y, theta.shape[1])
    s = weights[:, None]
    p = distribution(theta, labels, s)
    present = weights @ labels > 0
    if free.with_ones and not present.all():
        # A class without rows is best given no probability; tilting gets there only in the limit.
        p = _normalised(p * present, labels)
        theta = s * (labels - p)
    last, slow_steps = np.inf, 0
    while slow_steps <= SLOW_STEPS:
        if free.is_orthogonal(theta, weights):
            return theta
        if free.span_all:
            return None
        rest = free.transposed_times(theta)
        left = float(np.max(np.abs(rest) * free.units[:, None]))
        slow_steps += left > 0.1 * last
        last = left
        step = _joint_step(s * p, np.sqrt(s) * p, rest, free)
        if free.is_bias:
            # All rows are tilted alike, so one is enough. The same shift of all scores changes
            # nothing.
            step = step[:1] - step[0].mean()
        else:
            step -= np.sum(p * step, axis=1, keepdims=True)
        if not np.any(step) or not np.all(np.isfinite(step)):
            return None
        # Only the probabilities that matter may limit the step.
        matters = True if free.is_bias else p > 1e-10
        longest = float(np.max(np.abs(step), where=matters, initial=2.0))
        p = _normalised(p * np.exp(np.clip(step * (2.0 / longest), -100, 10)), labels)
        theta = s * (labels - p)
    return None


def orthogonalise_slopes(
    theta: Array, box: DualBox, free: FreeColumns, weights: Array
) -> Array | None:
    """The same for classes with θ = −s·u and u in its box with Σₖuₖ = 0.

    Like `orthogonalise`: first only entries inside their intervals move, by steps that slow down at
    the ends, since those cost the dual at second order; then all of them.
    """
    if free.is_orthogonal(theta, weights):
        return theta
    if not np.all(np.isfinite(free.norms)) or free.span_all:
        return None
    s = weights[:, None]
    u = np.divide(-theta, s, out=np.zeros_like(theta), where=s > 0)
    moved = _balance_slopes(u, box, free, s)
    return _project_slopes(u, box, free, s) if moved is None else moved


def _balance_slopes(u: Array, box: DualBox, free: FreeColumns, s: Array) -> Array | None:
    """θ with Aᵀθ = 0 by steps on the entries strictly inside; None if they stop short.

    Ω is the room of each entry, in the role of the probabilities in `tilt`: a step Ω(x − mean of x
    under Ω) does not change the sum of a row.
    """
    width = box.upper - box.lower
    full_steps = short_steps = 0
    while short_steps < SHORT_STEPS:
        theta = -s * u
        if free.is_orthogonal(theta, s[:, 0]):
            return theta
        if full_steps == 5:
            return None
        # Rounding may have moved an entry beyond its end.
        room = np.maximum((u - box.lower) * (box.upper - u), 0.0) / width
        total = room.sum(axis=1, keepdims=True)
        share = np.divide(room, total, out=np.zeros_like(room), where=total > 0)
        f = np.sqrt(s * total) * share
        step = -_joint_step(s * room, f, free.transposed_times(theta), free)
        step -= np.sum(share * step, axis=1, keepdims=True)
        largest = float(np.max(np.abs(step), where=room > 0, initial=0.0))
        if not 0 < largest < 50:
            return None
        length = min(1.0, 0.9 / largest) if largest > 0.9 else 1.0
        u = np.clip(u - length * room * step, box.lower, box.upper)
        full_steps += length == 1.0
        short_steps += length < 1.0
    return None


def _project_slopes(u: Array, box: DualBox, free: FreeColumns, s: Array) -> Array | None:
    """θ = −s·u with Aᵀθ = 0 for the nearest such slopes; None if they are not found.

    The slopes nearest to u − Aδ; δ minimises a convex, piecewise quadratic function with the
    gradient Aᵀθ, by Newton's method.
    """

    def reached(t: Array) -> tuple[Array, float]:
        near = nearest_slopes(t, box)
        return near, float(np.sum(s * near * (t - 0.5 * near)))

    t = u
    u, value = reached(t)
    # Within the rounding of the sums a full step removes what is left, a shorter one does not.
    rounding = 16 * EPS * float(np.sum(s * np.abs(u) * (np.abs(t) + np.abs(u))))
    for _ in range(PROJECTION_STEPS):
        theta = -s * u
        if free.is_orthogonal(theta, s[:, 0]):
            return theta
        moves = (u > box.lower) & (u < box.upper)
        # If too little moves, pretend that a thousandth of all entries do.
        a = s * np.maximum(moves, 1e-3)
        f = a / np.sqrt(a.sum(axis=1, keepdims=True) + np.finfo(float).tiny)
        rest = free.transposed_times(theta)
        step = _joint_step(a, f, rest, free)
        slope = float(np.sum(theta * step))
        length = 1.0
        while length > 1e-6:
            new, lower = reached(t + length * step)
            if lower <= value - 1e-4 * length * slope + rounding:
                break
            length *= 0.5
        if length <= 1e-6:
            return None
        t, u, value = t + length * step, new, lower
    return None


def one_hot(y: Array, K: int) -> Array:
    """The labels as rows of the K × K identity."""
    labels = np.zeros((len(y), K))
    labels[np.arange(len(y)), y] = 1.0
    return labels


def distribution(theta: Array, labels: Array, s: Array) -> Array:
    """The p in θ = s(e_y − p), moved to the simplex; uniform for weight 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(s > 0, labels - theta / s, 1.0)
    return _normalised(np.maximum(p, 0.0), labels)


def _normalised(p: Array, labels: Array) -> Array:
    """Rows divided by their sums; the label alone if nothing is left."""
    total = p.sum(axis=1, keepdims=True)
    if np.all(total > 0):
        return p / total
    return np.where(total > 0, p / np.where(total > 0, total, 1.0), labels)


def _joint_step(a: Array, f: Array, rest: Array, free: FreeColumns) -> Array:
    """Aδ (n, K) for the δ with AᵀDAδ = rest, where row i of D is diag(aᵢ) − fᵢfᵢᵀ."""
    m, K = free.m, a.shape[1]
    scale = free.units[:, None]
    if m * K <= LARGEST_GRAM:
        H = joint_hessian(a, f, free).reshape(K, m, K, m)
        H = H * scale[:, 0][:, None, None] * scale[:, 0]
        right = (scale * rest).ravel(order="F")
        delta = _by_cholesky(_with_shifts(H), right, 1e-6)
        if delta is None:
            delta = _least_solution(H.reshape(K * m, K * m), right)
        return free.times(scale * delta.reshape(m, K, order="F"))

    def hessian_times(delta: Array) -> Array:
        moved = free.times(scale * delta.reshape(m, K))
        moved = a * moved - f * np.sum(f * moved, axis=1, keepdims=True)
        return (scale * free.transposed_times(moved)).ravel()

    operator = scipy.sparse.linalg.LinearOperator((m * K, m * K), matvec=hessian_times, dtype=float)
    delta, _ = scipy.sparse.linalg.cg(operator, (scale * rest).ravel(), rtol=1e-4, maxiter=200)
    return free.times(scale * delta.reshape(m, K))


def _with_shifts(H: Array) -> Array:
    """H (K, m, K, m) made regular although the same shift of all scores changes nothing.

    Each row of K coefficients gets the curvature that its shift lacks, in its own units, which does
    not change the solution because the right-hand side sums to 0 over the classes.
    """
    K, m = H.shape[:2]
    lifted = H.copy()
    for j in range(m):
        lifted[:, j, :, j] += np.trace(H[:, j, :, j]) / K**2
    return lifted.reshape(K * m, K * m)


def joint_hessian(a: Array, f: Array | None, columns: FreeColumns) -> Array:
    """AᵀDA (K·m × K·m), score by score, where row i has the Hessian diag(aᵢ) − fᵢfᵢᵀ in its scores.

    f ≥ 0 is None if the scores are not coupled; the Hessian of a row must be positive
    semi-definite.
    """
    m, K = columns.m, a.shape[1]
    if columns.is_bias:
        return np.diag(a.sum(axis=0)) - (0.0 if f is None else f.T @ f)
    own = np.maximum(a if f is None else a - f * f, 0.0)
    # Row i of B is fᵢ ⊗ Aᵢ, so that BᵀB has the blocks of all pairs of scores.
    met, blocks = np.zeros((K * m, K * m)), np.zeros((m, K * m))
    size = max(MOST_ENTRIES // (K * m), 1)
    for first in range(0, len(a), size):
        part = slice(first, first + size)
        rows = columns.dense(part)
        blocks += Design(rows).transposed_times(_products(own[part], rows))
        if f is not None:
            met += Design(_products(f[part], rows)).gram()
    H = -met.reshape(K, m, K, m)
    for k in range(K):
        H[k, :, k] = blocks[:, k * m : (k + 1) * m]
    return H.reshape(K * m, K * m)


def _products(f: Array, rows: Array) -> Array:
    """All products of an entry of f with an entry of the row, for each row."""
    return (f[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)
