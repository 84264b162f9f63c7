"""Paths of the lasso and the elastic net: squared loss, one output, a penalty with l1 > 0.

The compiled `GramLasso` solves each strength exactly on the Gram matrix of a working set, and goes
from one strength to the next by the few coefficients that change. That leaves the products of the
residuals with all columns, which decide what else must join. Several strengths share one pass over
the data, and a column is skipped while its last product with a residual, and how far the residual
has moved since, prove that it cannot matter.

References
----------
Osborne, Presnell and Turlach (2000), A new approach to variable selection in least squares
problems, IMA Journal of Numerical Analysis 20.
Fercoq, Gramfort and Salmon (2015), Mind the duality gap: safer rules for the lasso, ICML.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .._ground import core
from .._ground.design import Design
from .._ground.interrupt import check, deadline
from .._ground.threads import single_blas
from ..penalties import Coordinates, Penalty
from ..problem import Problem
from .working_set import choose_blocks

Array = np.ndarray
EPS = float(np.finfo(float).eps)

# With at most this many features, all are in the working set from the start.
FEW_FEATURES = 400
# A pass over the data serves at most this many strengths, and fewer after some had to be solved
# twice because features were missing.
MOST_AT_ONCE = 10
# Entries of a matrix with one column per strength or per feature that joins.
MOST_ENTRIES = 8_000_000
# Keep the products with this many residuals. If more than this part of the columns may matter,
# multiply all of them.
MOST_KNOWN, WORTH_A_PASS = 6, 0.3
# At least this many features join at a time, or this part of the active ones.
FEWEST_NEW, NEW_PART = 100, 0.5
MOST_ROUNDS = 100
# Down to this tolerance a solution need not be better than requested; below, it is exact.
FULL_DIGITS = 1e-6
# Merge the columns of the working set once they have come in this many parts.
MOST_PARTS = 10


@dataclass(frozen=True, eq=False)
class PathPoint:
    """The solution for one penalty; `steps` counts the passes over the data it took part in.

    `is_optimal` is False if `max_iter` ended it.
    """

    w: Array
    b: float
    primal: float
    gap: float
    steps: int
    is_optimal: bool


def takes(problem: Problem) -> bool:
    """Whether this file can solve the loss, the penalty and the data."""
    is_plain = problem.loss.name == "squared" and problem.outputs is None
    return is_plain and problem.d > 0 and float(np.sum(problem.weights)) > 0


def lasso_points(
    problem: Problem, penalties: Sequence[Penalty], tol: float, max_iter: int | None = None
) -> Iterator[PathPoint]:
    """The solutions for the penalties, in their order; ends early if it cannot continue."""
    path = LassoPath(problem, tol, MOST_ROUNDS if max_iter is None else max_iter)
    done = 0
    while done < len(penalties):
        check()  # short compiled calls do not check the clock
        count = path.strengths_at_once(len(penalties) - done)
        coordinates = leading(problem.d, penalties[done : done + count])
        with single_blas():
            points = path.solve(coordinates) if coordinates else None
        if points is None:
            return
        yield from points
        done += len(points)


def inner_tolerance(tol: float) -> float:
    """How far |gⱼ| may exceed l1ⱼ, relative to it: far below what the gap needs."""
    return min(max(1e-2 * tol, 1e-12), 1e-5)


def inner_gap(tol: float, scale: float) -> float:
    """The gap at which to stop on the working set: 0, for all digits, unless few are requested."""
    return 0.5 * tol * scale if tol > FULL_DIGITS else 0.0


def most_changes(features: int) -> int:
    """Changes of the active set at one strength, beyond which something is wrong."""
    return 20 * (features + 100)


def leading(d: int, penalties: Sequence[Penalty]) -> list[Coordinates]:
    """The leading penalties with l1 > 0 and no bounds except signs."""
    found: list[Coordinates] = []
    for penalty in penalties:
        c = penalty.coordinates(d)
        if c is None or not (np.min(c.l1) > 0 and np.isfinite(np.max(c.l1) + np.max(c.l2))):
            break
        if not all(np.all((bound == 0) | np.isinf(bound)) for bound in (c.lower, c.upper)):
            break
        found.append(c)
    return found


class LassoPath:
    """The state along a path: the working set, its Gram matrix, and the last products."""

    def __init__(self, problem: Problem, tol: float, max_iter: int):
        s, design = problem.weights, problem.design
        self.problem, self.weights, self.max_iter = problem, s, max_iter
        self.target = tol * problem.scale
        self.tolerance, self.inner_gap = inner_tolerance(tol), inner_gap(tol, problem.scale)
        self.mean, self.y_mean = np.zeros(problem.d), 0.0
        if problem.fit_bias:
            # A free bias is equivalent to centring everything.
            self.mean = design.transposed_times(s) / np.sum(s)
            self.y_mean = float(np.sum(s * problem.y) / np.sum(s))
            design = design.shifted(self.mean)
        self.design, self.y = design, problem.y - self.y_mean
        self.q = design.transposed_times(s * self.y)
        self.square = float(np.sum(s * self.y**2))
        self.lasso = core.GramLasso()
        self.features = np.zeros(0, dtype=np.int64)
        self.is_in = np.zeros(problem.d, dtype=bool)
        self.columns: list[Design] = []  # those of the working set, in order of arrival
        self.active, self.at_once = 0, MOST_AT_ONCE
        self.products = Products(design, s, self.y, self.q)

    def strengths_at_once(self, left: int) -> int:
        """How many strengths the next pass over the data should serve."""
        most = left if self.problem.d <= FEW_FEATURES else self.at_once
        return max(1, min(most, left, MOST_ENTRIES // self.problem.n))

    def solve(self, penalties: list[Coordinates]) -> list[PathPoint] | None:
        """The solutions for at least the first of some penalties; None without progress."""
        if not len(self.features):
            self._set_signs(penalties[0])
        l1, l2 = np.stack([c.l1 for c in penalties]).T, np.stack([c.l2 for c in penalties]).T
        self._prepare(l1[:, -1:])
        if len(penalties) > 1:
            self.lasso.save()
        for step in range(1, self.max_iter + 1):
            solved = self._solve_on_working_set(l1, l2)
            if solved is None:
                return None
            W, inside = solved
            R = self._residuals(W)
            checked, V = self.products.of(R, l1, self.is_in)
            every = np.concatenate([self.features, checked])
            primal, gap = self._gaps(W, R, every, np.concatenate([inside, V]), l1, l2)
            reached = gap <= self.target + 8 * EPS * (primal + self.problem.scale)
            is_over = np.all(reached) or step == self.max_iter
            done = len(reached) if is_over else int(np.argmin(reached))
            points = self._points(W, primal, gap, reached, step)[:done]
            self.at_once = max(1, min(done + 2, MOST_AT_ONCE) if is_over else done)
            if is_over:
                return points
            # Solutions after the first that is not reached may be far off and suggest too many
            # features.
            new = self._candidates(checked, V[:, : done + 1], l1[checked, : done + 1])
            if not len(new):
                return None
            self._join(new)
            if len(penalties) > 1:
                self.lasso.restore()
            if points:
                return points
            l1, l2 = l1[:, :1], l2[:, :1]
        return None

    def _set_signs(self, c: Coordinates) -> None:
        """Record which coefficients may be positive and which negative: the same along a path."""
        self.may_rise, self.may_fall = c.upper > 0, c.lower < 0
        self.has_signs = not (self.may_rise.all() and self.may_fall.all())

    def _prepare(self, l1: Array) -> None:
        """Add the features that the last products make likely for a coming penalty."""
        d = self.problem.d
        if d <= FEW_FEATURES:
            if not len(self.features):
                self._join(np.arange(d))
            return
        score = self._score(np.arange(d), self.products.last[:, None], l1)
        likely = _largest(score, self.active + self._new_count)
        self._join(likely[~self.is_in[likely]])

    @property
    def _new_count(self) -> int:
        return max(FEWEST_NEW, int(NEW_PART * self.active))

    def _join(self, new: Array) -> None:
        """Add features to the working set; their columns are multiplied with all of it."""
        most = max(1, MOST_ENTRIES // self.problem.n)
        for begin in range(0, len(new), most):
            some = new[begin : begin + most]
            if len(self.columns) == MOST_PARTS:
                self.columns = [self._columns(self.features)]
            self.columns.append(self._columns(some))
            self.features = np.concatenate([self.features, some])
            self.is_in[some] = True
            weighted = self.weights[:, None] * self.columns[-1].dense()
            products = np.concatenate([part.transposed_times(weighted) for part in self.columns])
            self.lasso.grow(products, self.q[some], self.may_rise[some], self.may_fall[some])

    def _columns(self, features: Array) -> Design:
        """Columns of the data; dense ones are centred once and for all."""
        columns = self.design.columns(features)
        is_plain = columns.is_sparse or columns.center is None
        return columns if is_plain else Design(columns.dense())

    def _solve_on_working_set(self, l1: Array, l2: Array) -> tuple[Array, Array] | None:
        """Coefficients of the working set and its products with the residuals, (p, penalties).

        None if the solver failed.
        """
        p = len(self.features)
        l1, l2 = (np.ascontiguousarray(a[self.features].T) for a in (l1, l2))
        W, V = np.empty((2, len(l1), p))
        for i in range(len(l1)):
            goal = self.inner_gap, self.square, self.tolerance, most_changes(p)
            _, converged = self.lasso.solve(l1[i], l2[i], W[i], V[i], *goal, deadline())
            if not converged:
                return None
        self.active = int(np.count_nonzero(W[-1]))
        return W.T, V.T

    def _residuals(self, W: Array) -> Array:
        """y − Xw for every penalty, (n, penalties), minus their mean if there is a bias."""
        ends = np.cumsum([part.d for part in self.columns])[:-1]
        parts = zip(self.columns, np.split(W, ends))
        R = self.y[:, None] - sum(part.times(w) for part, w in parts)
        if self.problem.fit_bias:
            R -= np.sum(self.weights[:, None] * R, axis=0) / np.sum(self.weights)
        return R

    def _push(self, checked: Array, V: Array) -> Array:
        """|V| where a coefficient may follow it, else 0."""
        if not self.has_signs:
            return np.abs(V)
        allowed = np.where(V > 0, self.may_rise[checked, None], self.may_fall[checked, None])
        return np.where(allowed, np.abs(V), 0.0)

    def _score(self, checked: Array, V: Array, l1: Array) -> Array:
        """The largest |vⱼ|/l1ⱼ of each feature in `checked`: above 1 it must join."""
        return np.max(self._push(checked, V) / l1, axis=1, initial=0.0)

    def _candidates(self, checked: Array, V: Array, l1: Array) -> Array:
        """Features outside the working set that must join, and some that are close to it.

        At most as many as it already has: with too small a set, nearly all others seem to matter.
        """
        score = self._score(checked, V, l1)
        over = int(np.count_nonzero(score > 1 + 0.1 * self.tolerance))
        count = min(max(over, self._new_count // 4), max(len(self.features), FEWEST_NEW))
        return checked[_largest(score, count)] if over else checked[:0]

    def _gaps(self, W, R, every, V, l1, l2) -> tuple[Array, Array]:
        """P and the gap P − D of every penalty: the bound of `Problem.bound`, side by side.

        D(a·sr) = a⟨y, r⟩ − ½a²‖r‖² − R*(a·v) in weighted products, for the better of a = 1 and the
        a that makes all |a·vⱼ| ≤ l1ⱼ. Columns not in `every` are known to be within l1.
        """
        s, inside = self.weights[:, None], self.features
        square, product = np.sum(s * R**2, axis=0), np.sum(s * R * self.y[:, None], axis=0)
        penalty = np.sum(l1[inside] * np.abs(W) + 0.5 * l2[inside] * W**2, axis=0)
        push, l1, l2 = self._push(every, V), l1[every], l2[every]
        scale = 1 / np.maximum(np.max(push / l1, axis=0, initial=0.0), 1.0)
        dual = scale * product - 0.5 * scale**2 * square
        if np.all(l2 > 0):
            excess = np.maximum(push - l1, 0.0)
            dual = np.maximum(dual, product - 0.5 * square - np.sum(excess**2 / (2 * l2), axis=0))
        primal = 0.5 * square + penalty
        return primal, np.maximum(primal - dual, 0.0)

    def _points(self, W, primal, gap, reached, step: int) -> list[PathPoint]:
        """The solutions, with a coefficient for every feature."""
        w = np.zeros((W.shape[1], self.problem.d))
        w[:, self.features] = W.T
        b = self.y_mean - np.sum(self.mean[self.features, None] * W, axis=0)
        return [PathPoint(*point, step, bool(ok)) for *point, ok in zip(w, b, primal, gap, reached)]


class Products:
    """vⱼ = ⟨xⱼ, s·r⟩ of columns and residuals, computed only where it may exceed l1ⱼ.

    A residual is nearly a combination of the last ones whose products with all columns are known,
    r = Σ aₖrₖ + e, so that vⱼ differs from Σ aₖvⱼₖ by at most ‖xⱼ‖·‖e‖.
    """

    def __init__(self, design: Design, weights: Array, y: Array, values: Array):
        self.design, self.root = design, np.sqrt(weights)
        self.norms = np.sqrt(np.maximum(design.column_square_sums(weights), 0.0))
        self.residuals, self.known = (self.root * y)[:, None], values[:, None]
        self.last = values  # products with the last residual, some of them extrapolated

    def of(self, R: Array, l1: Array, is_in: Array) -> tuple[Array, Array]:
        """Columns that may matter for the residuals R (n, k), and their products with them.

        Those of the working set are not included.
        """
        R = self.root[:, None] * R
        checked = np.flatnonzero(self._is_uncertain(R, l1) & ~is_in)
        if len(checked) <= WORTH_A_PASS * self.design.d:
            V = self.design.transposed_times(self.root[:, None] * R, columns=checked)
            self.last[checked] = V[:, -1]
            return checked, V
        V = self.design.transposed_times(self.root[:, None] * R)
        self.last = V[:, -1].copy()
        self.residuals = np.hstack([self.residuals, R])[:, -MOST_KNOWN:]
        self.known = np.hstack([self.known, V])[:, -MOST_KNOWN:]
        checked = np.flatnonzero(~is_in)
        return checked, V[checked]

    def _is_uncertain(self, R: Array, l1: Array) -> Array:
        """Whether the product of a column, extrapolated from known ones, may reach l1 (d, k)."""
        a = np.linalg.lstsq(self.residuals, R)[0]
        left = np.sqrt(np.sum((R - self.residuals @ a) ** 2, axis=0))
        # The products are known up to rounding, which large multiples would amplify.
        sizes = np.sqrt(np.sum(self.residuals**2, axis=0))
        left = left + 1e-9 * np.sum(np.abs(a) * sizes[:, None], axis=0)
        guess = a.T @ self.known.T
        self.last = guess[-1].copy()
        reach = np.abs(guess) + np.multiply.outer(left, self.norms)
        return np.any(reach >= l1.T, axis=0)


def _largest(score: Array, count: int) -> Array:
    """Positions of the `count` largest positive scores, ties to the first."""
    chosen = choose_blocks(np.zeros(len(score), dtype=bool), score, count, count)
    return chosen[score[chosen] > 0]
