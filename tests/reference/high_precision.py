"""The minimum of a small problem to 15 digits and more, by formulas and a method of its own.

Nothing of gapless is imported. Every pair of loss and penalty is written as a smooth objective in
slack variables under linear inequalities, solved by a primal-dual interior-point method (Boyd and
Vandenberghe 2004, section 11.7) in float64 and then in long double; the objective at the result is
computed from its definition in long double. For a dozen rows and a few features.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

LONG = np.longdouble
MULTICLASS = ("softmax", "crammer_singer", "weston_watkins")
# Losses of the margin yz, and how large it must be to cost nothing.
MARGINS = {"hinge": 1.0, "squared_hinge": 1.0, "perceptron": 0.0}


@dataclass(frozen=True, eq=False)
class Case:
    """A problem in plain arrays: loss by name, penalty by four arrays and groups.

    y holds floats, ±1 or class numbers; `outputs` is K for several columns of scores, else None.
    `groups` is (index of each feature's group, strength of each group) or None.
    """

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    loss: str
    options: dict = field(default_factory=dict)
    l1: np.ndarray | None = None
    l2: np.ndarray | None = None
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None
    groups: tuple | None = None
    bias: bool = True
    outputs: int | None = None

    @property
    def K(self):
        return 1 if self.outputs is None else self.outputs

    def per_feature(self, values, default):
        d = self.X.shape[1]
        return np.full(d, default) if values is None else np.asarray(values, dtype=float)


@dataclass(frozen=True, eq=False)
class Minimum:
    """The smallest objective found (never below the true one), where, and how wrong it may be."""

    value: LONG
    w: np.ndarray
    b: np.ndarray
    theta: np.ndarray
    error: float


# ---- the objective by its definition -------------------------------------------------------------


@np.errstate(over="ignore", invalid="ignore")
def objective(case: Case, w, b) -> LONG:
    """P(w, b) in long double."""
    w = np.asarray(w, dtype=LONG).reshape(case.X.shape[1], case.K)
    b = np.asarray(b, dtype=LONG).reshape(case.K)
    z = np.asarray(case.X, dtype=LONG) @ w + b
    s = np.asarray(case.weights, dtype=LONG)
    y = case.y if case.loss in MULTICLASS else np.asarray(case.y, dtype=LONG).reshape(z.shape)
    counted = np.flatnonzero(case.weights > 0)
    losses = _losses(case.loss, case.options, y[counted], z[counted])
    per_row = losses if losses.ndim == 1 else losses.sum(axis=1)
    return np.sum(s[counted] * per_row) + _penalty(case, w)


def _losses(name, options, y, z):
    if name == "softmax":
        top = z.max(axis=1, keepdims=True)
        total = top[:, 0] + np.log(np.exp(z - top).sum(axis=1))
        return total - np.take_along_axis(z, y[:, None], axis=1)[:, 0]
    if name in MULTICLASS:
        own = np.take_along_axis(z, y[:, None], axis=1)
        short = np.maximum(LONG(0), LONG(options.get("margin", 1.0)) + z - own)
        np.put_along_axis(short, y[:, None], LONG(0), axis=1)
        return short.max(axis=1) if name == "crammer_singer" else short.sum(axis=1)
    if name == "logistic":
        unit = 1 / np.log(LONG(2)) if options.get("base2") else LONG(1)
        return unit * np.logaddexp(LONG(0), -y * z)
    if name in MARGINS:
        short = np.maximum(LONG(0), MARGINS[name] - y * z)
        return short * short if name == "squared_hinge" else short
    if name == "modified_huber":
        margin = y * z
        return np.where(margin < -1, -4 * margin, np.maximum(LONG(0), 1 - margin) ** 2)
    if name == "exponential":
        return np.exp(-y * z)
    if name == "gamma":
        ratio = np.log(y) - z
        return np.expm1(ratio) - ratio
    if name == "tweedie":
        a, b = 2 - LONG(options["power"]), LONG(options["power"]) - 1
        ratio = z - np.log(np.where(y > 0, y, LONG(1)))
        of_amounts = y**a * (np.expm1(a * ratio) / a + np.expm1(-b * ratio) / b)
        return np.where(y > 0, of_amounts, np.exp(a * z) / a)
    if name == "poisson":
        ratio = z - np.log(np.where(y > 0, y, LONG(1)))
        return np.where(y > 0, y * (np.expm1(ratio) - ratio), np.exp(z))
    if name == "quantile":
        level = LONG(options["level"])
        return np.where(z > y, (1 - level) * (z - y), level * (y - z))
    r = np.abs(z - y)
    if name == "absolute":
        return r
    if name == "squared":
        return r * r / 2
    if name == "huber":
        delta = LONG(options.get("delta", 1.0))
        return np.where(r <= delta, r * r / 2, delta * (r - delta / 2))
    out = np.maximum(LONG(0), r - LONG(options.get("epsilon", 0.1)))
    return out if name == "epsilon_insensitive" else out * out


def _penalty(case, w):
    l1 = case.per_feature(case.l1, 0.0)[:, None].astype(LONG)
    l2 = case.per_feature(case.l2, 0.0)[:, None].astype(LONG)
    lower, upper = case.per_feature(case.lower, -np.inf), case.per_feature(case.upper, np.inf)
    if np.any(w < lower[:, None]) or np.any(w > upper[:, None]):
        return LONG(np.inf)
    total = np.sum(l1 * np.abs(w) + l2 * w * w / 2)
    if case.groups is not None:
        index, strength = case.groups
        for g, size in enumerate(strength):
            total = total + LONG(size) * np.sqrt(np.sum(w[np.asarray(index) == g] ** 2))
    return total


# ---- the same as a smooth objective under inequalities -------------------------------------------


class Programme:
    """min f(x) under Gx ≤ h, with x = (w, b, slacks).

    f(x) = ½xᵀQx + qᵀx + constant, plus the smooth losses of z = Bx, plus
    ½strength(‖w_g‖²/η_g + η_g) for groups, whose least value over η ≥ 0 is strength·‖w_g‖.
    """

    EXPONENTIAL = ("exponential", "gamma", "poisson", "tweedie")
    HINGES = ("squared_hinge", "modified_huber")
    SMOOTH = ("softmax", "logistic", *HINGES, "squared_epsilon_insensitive", *EXPONENTIAL)

    def __init__(self, case: Case):
        counted = np.flatnonzero(case.weights > 0)
        self.case, self.counted = case, counted
        X, s = case.X[counted].astype(float), case.weights[counted].astype(float)
        y = case.y[counted]
        (n, d), K = X.shape, case.K
        self.shape = (n, d, K)
        first_slack = d * K + K * case.bias
        slacks = {"huber": 2}.get(case.loss, 0 if case.loss in ("squared", *self.SMOOTH) else 1)
        l1 = np.repeat(case.per_feature(case.l1, 0.0), K)
        self.groups = [] if case.groups is None else self._group_members(case, d, K)
        scores = n * K
        absolute = np.flatnonzero(l1 > 0)
        self.size = first_slack + slacks * scores + len(absolute) + len(self.groups)
        # B: scores as linear functions of x, score (i, k) at row i·K + k.
        B = np.zeros((scores, self.size))
        for k in range(K):
            B[k::K, k : d * K : K] = X
            if case.bias:
                B[k::K, d * K + k] = 1.0
        self.B = B
        self.Q, self.q, self.constant = np.zeros((self.size, self.size)), np.zeros(self.size), 0.0
        self.rows, self.limits, self.pulls = [], [], []
        self.s = np.repeat(s, K)
        self.y = y if case.loss in MULTICLASS else np.asarray(y, dtype=float).ravel()
        self._add_loss(case, first_slack)
        self._add_penalty(case, d, K, l1, absolute, first_slack + slacks * scores)
        self.G = np.array(self.rows).reshape(len(self.rows), self.size)
        self.h = np.array(self.limits)
        self.pull = np.array(self.pulls).reshape(len(self.rows), scores)

    @staticmethod
    def _group_members(case, d, K):
        index, strength = case.groups
        spread = np.repeat(np.asarray(index), K)
        return [(np.flatnonzero(spread == g), v) for g, v in enumerate(strength) if v > 0]

    def _limit(self, row, limit, pull=None):
        """row·x ≤ limit; `pull` says how the left side depends on the scores."""
        self.rows.append(row)
        self.limits.append(limit)
        self.pulls.append(np.zeros(len(self.B)) if pull is None else pull)

    def _add_loss(self, case, first):
        name, scores = case.loss, len(self.B)
        if name in self.SMOOTH:
            return
        if name == "squared":
            self.Q += self.B.T @ (self.s[:, None] * self.B)
            self.q -= self.B.T @ (self.s * self.y)
            self.constant = 0.5 * np.sum(self.s * self.y**2)
            return
        if name in MULTICLASS:
            self._add_rivals(case, first)
            return
        for i in range(scores):
            slack = np.zeros(self.size)
            slack[first + i] = 1.0
            unit = np.zeros(scores)
            unit[i] = 1.0
            if name in MARGINS:
                self._limit(-self.y[i] * self.B[i] - slack, -MARGINS[name], -self.y[i] * unit)
            elif name in ("quantile", "absolute"):
                level, height = case.options.get("level", 0.5), 1 if name == "quantile" else 2
                for slope in (height * (1 - level), -height * level):
                    self._limit(slope * self.B[i] - slack, slope * self.y[i], slope * unit)
            else:
                offset = np.zeros(self.size)
                width = case.options.get("epsilon", 0.1)
                if name == "huber":
                    offset[first + scores + i], width = 1.0, 0.0
                for sign in (1.0, -1.0):
                    row = sign * (self.B[i] - offset) - slack
                    self._limit(row, sign * self.y[i] + width, sign * unit)
            if name != "huber":
                self._limit(-slack, 0.0)
        place = np.arange(first, first + scores)
        if name == "huber":
            self.q[place] += case.options.get("delta", 1.0) * self.s
            self.Q[place + scores, place + scores] += self.s
        else:
            self.q[place] += self.s

    def _add_rivals(self, case, first):
        """Slacks of the rivals of each row's own class; all of a row are one for the largest."""
        (n, _, K), scores = self.shape, len(self.B)
        for i in range(n):
            own = i * K + self.y[i]
            for place in range(i * K, i * K + K):
                slack, pull = np.zeros(self.size), np.zeros(scores)
                slack[first + (own if case.loss == "crammer_singer" else place)] = 1.0
                if place != own:
                    pull[place], pull[own] = 1.0, -1.0
                    row = self.B[place] - self.B[own] - slack
                    self._limit(row, -case.options.get("margin", 1.0), pull)
                slack = np.zeros(self.size)
                slack[first + place] = 1.0
                self._limit(-slack, 0.0)
        self.q[first : first + scores] += self.s

    def _add_penalty(self, case, d, K, l1, absolute, first):
        l2 = np.repeat(case.per_feature(case.l2, 0.0), K)
        lower = np.repeat(case.per_feature(case.lower, -np.inf), K)
        upper = np.repeat(case.per_feature(case.upper, np.inf), K)
        coefficients = np.arange(d * K)
        self.Q[coefficients, coefficients] += l2
        unit = np.eye(self.size)
        for j in coefficients:
            if np.isfinite(upper[j]):
                self._limit(unit[j], upper[j])
            if np.isfinite(lower[j]):
                self._limit(-unit[j], -lower[j])
        for t, j in enumerate(absolute, start=first):
            self.q[t] += l1[j]
            self._limit(unit[j] - unit[t], 0.0)
            self._limit(-unit[j] - unit[t], 0.0)
        self.first_group = first + len(absolute)
        for t in range(self.first_group, self.first_group + len(self.groups)):
            self._limit(-unit[t], 0.0)
        self.lower, self.upper = lower, upper

    def start(self):
        """A point strictly inside the inequalities: middle of the bounds, and large slacks."""
        x = np.zeros(self.size)
        d, K = self.shape[1:]
        low, high = self.lower, self.upper
        both = np.isfinite(low) & np.isfinite(high)
        x[: d * K] = np.where(
            both,
            0.5 * (np.where(both, low, 0) + np.where(both, high, 0)),
            np.where(np.isfinite(low), low + 1, np.where(np.isfinite(high), high - 1, 0.0)),
        )
        first = d * K + K * self.case.bias
        base = np.max(np.abs(self.G[:, :first] @ x[:first] - self.h), initial=0.0) + 1
        slack = np.arange(first, self.size)
        if self.case.loss == "huber":
            scores = len(self.B)
            slack = np.delete(slack, np.arange(scores, 2 * scores))
        x[slack] = base
        return x

    def derivatives(self, x):
        """f, its gradient and its Hessian, in the precision of x."""
        kind = x.dtype
        Q, q, B, s = (a.astype(kind) for a in (self.Q, self.q, self.B, self.s))
        value, gradient, hessian = x @ Q @ x / 2 + q @ x + kind.type(self.constant), Q @ x + q, Q
        if self.case.loss in self.SMOOTH:
            loss, slope, curvature = self._smooth_loss(B @ x, s, kind)
            value, gradient = value + loss, gradient + B.T @ slope
            hessian = hessian + B.T @ curvature @ B
        if self.groups:
            hessian = hessian.copy()
        for t, (members, strength) in enumerate(self.groups, start=self.first_group):
            w, eta, half = x[members], x[t], kind.type(strength) / 2
            square = w @ w
            value = value + half * (square / eta + eta)
            gradient[members] += 2 * half * w / eta
            gradient[t] += half * (1 - square / eta**2)
            hessian[members, members] += 2 * half / eta
            hessian[members, t] -= 2 * half * w / eta**2
            hessian[t, members] -= 2 * half * w / eta**2
            hessian[t, t] += 2 * half * square / eta**3
        return value, gradient, hessian

    def _smooth_loss(self, z, s, kind):
        if self.case.loss == "modified_huber":
            y = self.y.astype(kind)
            pull = np.clip(1 - y * z, kind.type(0), kind.type(2))
            value = np.sum(s * pull * (2 * (1 - y * z) - pull))
            return value, -2 * s * y * pull, np.diag(2 * s * ((pull > 0) & (pull < 2)))
        if self.case.loss.startswith("squared_"):
            y = self.y.astype(kind)
            if self.case.loss == "squared_hinge":
                short = y * np.maximum(1 - y * z, kind.type(0))
            else:
                width = kind.type(self.case.options.get("epsilon", 0.1))
                short = np.sign(y - z) * np.maximum(np.abs(y - z) - width, kind.type(0))
            return np.sum(s * short**2), -2 * s * short, np.diag(2 * s * (short != 0))
        if self.case.loss == "logistic":
            unit = 1 / np.log(kind.type(2)) if self.case.options.get("base2") else kind.type(1)
            y = self.y.astype(kind)
            p = 1 / (1 + np.exp(np.minimum(y * z, kind.type(600))))
            value = unit * np.sum(s * np.logaddexp(kind.type(0), -y * z))
            return value, -unit * s * y * p, np.diag(unit * s * p * (1 - p))
        if self.case.loss in self.EXPONENTIAL:
            return self._exponential_loss(z, s, kind)
        n, _, K = self.shape
        scores, s = z.reshape(n, K), s[::K]
        top = scores.max(axis=1, keepdims=True)
        p = np.exp(scores - top)
        total = p.sum(axis=1, keepdims=True)
        p = p / total
        picked = scores[np.arange(n), self.y]
        value = np.sum(s * (top[:, 0] + np.log(total[:, 0]) - picked))
        slope = p.copy()
        slope[np.arange(n), self.y] -= 1
        hessian = np.zeros((n * K, n * K), dtype=kind)
        for i in range(n):
            block = slice(i * K, (i + 1) * K)
            hessian[block, block] = s[i] * (np.diag(p[i]) - np.outer(p[i], p[i]))
        return value, (s[:, None] * slope).ravel(), hessian

    def _exponential_loss(self, z, s, kind):
        y = self.y.astype(kind)
        if self.case.loss == "exponential":
            curvature = np.exp(-y * z)
            slope = -y * curvature
        elif self.case.loss == "gamma":
            curvature = y * np.exp(-z)
            slope = 1 - curvature
        elif self.case.loss == "tweedie":
            power = kind.type(self.case.options["power"])
            rising, falling = np.exp((2 - power) * z), y * np.exp((1 - power) * z)
            slope, curvature = rising - falling, (2 - power) * rising + (power - 1) * falling
        else:
            curvature = np.exp(z)
            slope = curvature - y
        value = np.sum(s * _losses(self.case.loss, self.case.options, y, z))
        return value, s * slope, np.diag(s * curvature)

    def slopes(self, x, multipliers):
        """s·ℓ′ at every score, from the smooth part and the multipliers of the inequalities."""
        z, kind = self.B.astype(x.dtype) @ x, x.dtype
        slopes = self.pull.astype(kind).T @ multipliers
        if self.case.loss in self.SMOOTH:
            slopes = slopes + self._smooth_loss(z, self.s.astype(kind), kind)[1]
        if self.case.loss == "squared":
            slopes = slopes + self.s * (z - self.y)
        return slopes


def solve_linear(A, r):
    """A⁻¹r for a positive definite A; in long double by elimination, which LAPACK does not know."""
    if A.dtype == np.float64:
        return np.linalg.solve(A, r)
    A, r = A.copy(), r.copy()
    n, least = len(A), np.finfo(A.dtype).eps * np.diag(A)
    for k in range(n):
        if A[k, k] <= least[k]:
            A[k, k] = np.inf  # a direction that costs nothing, such as a shift of all scores
        factor = A[k + 1 :, k] / A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(factor, A[k, k + 1 :])
        r[k + 1 :] -= factor * r[k]
    x = np.zeros_like(r)
    for k in range(n - 1, -1, -1):
        x[k] = (r[k] - A[k, k + 1 :] @ x[k + 1 :]) / A[k, k]
    return x


def interior_point(programme, x, multipliers, steps, accuracy):
    """Primal-dual steps from a strictly feasible x; stops when λᵀ(h − Gx) is below the accuracy."""
    kind = x.dtype
    G, h = programme.G.astype(kind), programme.h.astype(kind)
    m = len(h)
    eye = np.eye(len(x), dtype=kind)
    for _ in range(steps if len(x) else 0):
        value, gradient, hessian = programme.derivatives(x)
        room = h - G @ x
        gap = room @ multipliers if m else kind.type(0)
        dual_residual = gradient + G.T @ multipliers
        small = np.max(np.abs(dual_residual)) <= accuracy * (1 + np.max(np.abs(gradient)))
        if (gap <= accuracy * (1 + abs(value)) and small) or np.any(room <= 0):
            break
        target = kind.type(0.05) * gap / m if m else kind.type(0)
        ratio = multipliers / room
        matrix = hessian + (G.T * ratio) @ G
        # Directions that cost nothing (collinear free columns, a flat loss) must not stop it.
        tiny = 4 * np.finfo(kind).eps * (1 + np.trace(matrix) / len(x))
        matrix = matrix + (tiny + 1e-4 * min(1, np.sqrt(np.sum(dual_residual**2)))) * eye
        right = -(gradient + G.T @ (target / room)) if m else -gradient
        step = solve_linear(matrix, right)
        dual_step = target / room - multipliers + ratio * (G @ step) if m else multipliers
        before = x
        x, multipliers = _advance(programme, G, h, x, multipliers, step, dual_step, target)
        if np.array_equal(before, x):
            break
    room = h - G @ x
    return x, multipliers, float(room @ multipliers) if m else 0.0


def _advance(programme, G, h, x, multipliers, step, dual_step, target):
    """As far along the step as the inequalities and a falling residual allow."""

    def residual(x, multipliers):
        gradient = programme.derivatives(x)[1]
        central = multipliers * (h - G @ x) - target
        return np.sum((gradient + G.T @ multipliers) ** 2) + np.sum(central**2)

    kind, length = x.dtype.type, x.dtype.type(1)
    shrinking = dual_step < 0
    if len(h) and shrinking.any():
        length = min(length, np.min(-multipliers[shrinking] / dual_step[shrinking]))
    change = G @ step
    closing = change > 0
    if len(h) and closing.any():
        length = min(length, np.min((h - G @ x)[closing] / change[closing]))
    length = length if length == 1 and not len(h) else kind(0.995) * length
    now = residual(x, multipliers)
    for _ in range(30):
        candidate, dual = x + length * step, multipliers + length * dual_step
        with np.errstate(all="ignore"):
            if np.all(G @ candidate < h) and residual(candidate, dual) <= (1 - length / 100) * now:
                return candidate, dual
        length = length / 2
    return x, multipliers


@np.errstate(over="ignore", invalid="ignore")
def minimise(case: Case) -> Minimum:
    """The minimum of the case. With no minimiser, a value on the way to the infimum."""
    programme = Programme(case)
    x = programme.start()
    m = len(programme.h)
    multipliers = np.ones(m) / np.maximum(programme.h - programme.G @ x, 1e-3)
    short = interior_point(programme, x, multipliers, 80, 1e-10)
    x, multipliers = (a.astype(LONG) for a in short[:2])
    long = interior_point(programme, x, multipliers, 12, 1e-17)
    found = []
    for x, multipliers, gap in (short, long):
        w, b, value = _objective_at(case, programme, x)
        if np.isfinite(value):
            theta = np.zeros(len(case.weights) * case.K)
            place = programme.counted[:, None] * case.K + np.arange(case.K)
            theta[place.ravel()] = -programme.slopes(x, multipliers)
            shape = (len(case.weights),) if case.outputs is None else (len(case.weights), case.K)
            found.append(Minimum(value, w, b, theta.reshape(shape), gap))
    # The second is more accurate, unless it fails; the smaller value is the better one.
    return replace(found[-1], value=min(minimum.value for minimum in found))


def _objective_at(case, programme, x):
    """w and b of x, moved into the bounds, and the objective there."""
    d, K = programme.shape[1:]
    w = np.clip(x[: d * K], programme.lower, programme.upper).reshape(d, K)
    b = x[d * K : d * K + K] if case.bias else np.zeros(K, dtype=x.dtype)
    value = objective(case, w, b)
    if case.outputs is None:
        return w[:, 0].astype(float), np.asarray(b[0], dtype=float), value
    return w.astype(float), b.astype(float), value
