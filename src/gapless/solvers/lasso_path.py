"""Paths of the lasso and the elastic net: squared loss, one output, a penalty with l1 > 0.

The compiled `GramLasso` solves each strength exactly on the Gram matrix of a working set, and goes
from one strength to the next by the few coefficients that change. What is left are the products of
the residuals with all columns, which decide who else must join. Several strengths share one pass
over the data, and a column is left out while its last product with a residual, and how far the
residual has moved since, prove that it cannot matter.

References
----------
Osborne, Presnell and Turlach (2000), A new approach to variable selection in least squares
problems, IMA Journal of Numerical Analysis 20.
Fercoq, Gramfort and Salmon (2015), Mind the duality gap: safer rules for the lasso, ICML.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .. import _core
from ..design import Design
from ..interrupt import deadline
from ..penalties import Coordinates, Penalty
from ..problem import Problem
from ..threads import single_blas
from .quadratic_model import prediction_step

Array = np.ndarray
EPS = float(np.finfo(float).eps)

# Up to so many features all are in the working set from the start.
FEW_FEATURES = 400
# A pass over the data serves at most so many strengths, and fewer as the active set grows: beyond
# SHARE·(active coefficients)² entries of the data, solving twice costs more than a second pass.
MOST_AT_ONCE, SHARE = 10, 40
# Entries of a matrix with one column per strength or per feature that joins.
MOST_ENTRIES = 8_000_000
# Products with so many residuals are kept. If more than this part of the columns may matter, all of
# them are multiplied.
MOST_KNOWN, WORTH_A_PASS = 6, 0.3
# At least so many features join at a time, or this part of the active ones.
FEWEST_NEW, NEW_PART = 50, 0.5
# Changes of the active set, for each feature of the working set, after which something is wrong.
MOST_CHANGES = 20
MOST_ROUNDS = 100
# The columns of the working set are put together when they have come in so many parts.
MOST_PARTS = 10


@dataclass(frozen=True, eq=False)
class PathPoint:
    """The solution for one penalty; `steps` counts the passes over the data that it took part in.

    `is_optimal` is False where `max_iter` ended it.
    """

    w: Array
    b: Array
    primal: float
    gap: float
    steps: int
    is_optimal: bool


def takes(problem: Problem, penalty: Penalty) -> bool:
    """Whether this file knows how to minimise the problem with that penalty."""
    if problem.loss.name != "squared" or problem.outputs is not None or problem.d == 0:
        return False
    c = penalty.coordinates(problem.d)
    if c is None or not np.sum(problem.weights) > 0:
        return False
    signs = np.all((c.lower == 0) | np.isneginf(c.lower)) & np.all(
        (c.upper == 0) | np.isposinf(c.upper)
    )
    return bool(signs and np.all(c.l1 > 0) and np.all(np.isfinite(c.l1 + c.l2)))


def lasso_points(
    problem: Problem, penalties: Sequence[Penalty], tol: float, max_iter: int | None = None
) -> Iterator[PathPoint]:
    """The solutions for the penalties, in their order; ends early where it cannot go on."""
    path = LassoPath(problem, tol, MOST_ROUNDS if max_iter is None else max_iter)
    done = 0
    while done < len(penalties):
        count = path.strengths_at_once(len(penalties) - done)
        points = path.solve([p.coordinates(problem.d) for p in penalties[done : done + count]])
        if points is None:
            return
        yield from points
        done += count


class LassoPath:
    """What is kept along a path: the working set, its Gram matrix, and the last products."""

    def __init__(self, problem: Problem, tol: float, max_iter: int):
        s, design = problem.weights, problem.design
        self.problem, self.weights, self.max_iter = problem, s, max_iter
        self.target = tol * problem.scale
        self.tolerance = min(max(1e-2 * tol, 1e-12), 1e-5)
        self.mean, self.y_mean = np.zeros(problem.d), 0.0
        if problem.fit_bias:
            # A free bias is the same as centring everything.
            self.mean = design.transposed_times(s) / np.sum(s)
            self.y_mean = float(np.sum(s * problem.y) / np.sum(s))
            design = design.shifted(self.mean)
        self.design, self.y = design, problem.y - self.y_mean
        self.centred = dataclasses.replace(problem, design=design)
        self.q = design.transposed_times(s * self.y)
        self.lasso = _core.GramLasso()
        self.features = np.zeros(0, dtype=np.int64)
        self.is_in = np.zeros(problem.d, dtype=bool)
        self.columns: list[Design] = []  # those of the working set, as they came
        self.active = 0
        self.products = Products(design, s, self.y, self.q)

    def strengths_at_once(self, left: int) -> int:
        """How many strengths the next pass over the data should serve."""
        n, d = self.problem.n, self.problem.d
        most = left if d <= FEW_FEATURES else MOST_AT_ONCE
        worth = left if d <= FEW_FEATURES else n * d // (SHARE * self.active**2 + 1)
        return int(max(1, min(most, worth, left, MOST_ENTRIES // n)))

    def solve(self, penalties: list[Coordinates]) -> list[PathPoint] | None:
        """The solutions for some penalties, from the last one on; None where it gets nowhere."""
        if not len(self.features):
            self._set_signs(penalties[0])
        self._prepare(penalties)
        self.lasso.save()
        for step in range(1, self.max_iter + 1):
            solved = self._solve_on_working_set(penalties)
            if solved is None:
                return None
            W, inside = solved
            R = self._residuals(W)
            l1 = np.stack([c.l1 for c in penalties], axis=1)
            l1[self.features] = np.inf  # their products are known
            checked, V = self.products.of(R, l1)
            points = self._points(W, inside, R, checked, V, penalties, step)
            reached = all(point.is_optimal for point in points)
            new = np.zeros(0, int) if reached else self._candidates(checked, V, penalties)
            if reached or not len(new):
                return points if reached else None
            if step == self.max_iter:
                return points
            self._join(new)
            if len(penalties) > 1:
                self.lasso.restore()
        return None

    def _set_signs(self, c: Coordinates) -> None:
        """Which coefficients may be positive, and which negative: the same along a path."""
        self.may_rise, self.may_fall = c.upper > 0, c.lower < 0

    def _prepare(self, penalties: list[Coordinates]) -> None:
        """Bring in the features that the last products make likely for the next penalties."""
        d = self.problem.d
        if d <= FEW_FEATURES:
            if not len(self.features):
                self._join(np.arange(d))
            return
        score = self._score(np.arange(d), self.products.known[:, -1:], penalties[-1:])
        likely = _largest(score, self.active + self._new_count)
        self._join(likely[~self.is_in[likely]])

    @property
    def _new_count(self) -> int:
        return max(FEWEST_NEW, int(NEW_PART * self.active))

    def _join(self, new: Array) -> None:
        """Let features join the working set; their columns are multiplied with all of it."""
        most = max(1, MOST_ENTRIES // self.problem.n)
        for begin in range(0, len(new), most):
            some = np.sort(new[begin : begin + most])
            columns = self.design.columns(some)
            if len(self.columns) == MOST_PARTS:
                self.columns = [self.design.columns(self.features)]
            self.columns.append(columns)
            self.features = np.concatenate([self.features, some])
            self.is_in[some] = True
            weighted = self.weights[:, None] * columns.dense()
            products = np.concatenate([part.transposed_times(weighted) for part in self.columns])
            self.lasso.grow(products, self.q[some], self.may_rise[some], self.may_fall[some])

    def _solve_on_working_set(self, penalties: list[Coordinates]) -> tuple[Array, Array] | None:
        """Coefficients of the working set and its products with the residuals, (p, penalties).

        None where the solver failed.
        """
        p = len(self.features)
        W, V = np.empty((2, p, len(penalties)))
        w, gradient = np.empty((2, p))
        for i, c in enumerate(penalties):
            l1, l2 = c.l1[self.features], c.l2[self.features]
            with single_blas():
                _, converged = self.lasso.solve(
                    l1, l2, w, gradient, self.tolerance, MOST_CHANGES * (p + 100), deadline()
                )
            if not converged:
                return None
            W[:, i], V[:, i] = w, gradient
        self.active = int(np.count_nonzero(w))
        return W, V

    def _residuals(self, W: Array) -> Array:
        """y − Xw of every penalty, (n, penalties), without their mean if there is a bias."""
        R = self.y[:, None] - prediction_step(self.centred, self.features, W)
        if self.problem.fit_bias:
            R -= np.sum(self.weights[:, None] * R, axis=0) / np.sum(self.weights)
        return R

    def _score(self, checked: Array, V: Array, penalties: list[Coordinates]) -> Array:
        """The largest |vⱼ|/l1ⱼ of each feature in `checked`: above 1 it must join."""
        allowed = np.where(V > 0, self.may_rise[checked, None], self.may_fall[checked, None])
        l1 = np.stack([c.l1[checked] for c in penalties], axis=1)
        return np.max(np.where(allowed, np.abs(V), 0.0) / l1, axis=1, initial=0.0)

    def _candidates(self, checked: Array, V: Array, penalties: list[Coordinates]) -> Array:
        """Features outside the working set that must join, and some that are close to it."""
        score = self._score(checked, V, penalties)
        score[self.is_in[checked]] = 0.0
        over = int(np.count_nonzero(score > 1 + 0.1 * self.tolerance))
        return checked[_largest(score, max(over, self._new_count // 4))] if over else checked[:0]

    def _points(self, W, inside, R, checked, V, penalties, step: int) -> list[PathPoint]:
        """The solutions with their gaps."""
        s, points = self.weights, []
        outside = ~self.is_in[checked]
        every, V = (
            np.concatenate([self.features, checked[outside]]),
            np.concatenate([inside, V[outside]]),
        )
        for i, c in enumerate(penalties):
            w = W[:, i]
            l1, l2 = c.l1[self.features], c.l2[self.features]
            square, product = float(np.sum(s * R[:, i] ** 2)), float(np.sum(s * R[:, i] * self.y))
            primal = 0.5 * square + float(np.sum(l1 * np.abs(w) + 0.5 * l2 * w**2))
            dual = self._dual(square, product, every, V[:, i], c)
            gap = max(primal - dual, 0.0)
            rounding = 8 * EPS * (primal + self.problem.scale)
            full = np.zeros(self.problem.d)
            full[self.features] = w
            b = np.array(self.y_mean - np.sum(self.mean[self.features] * w))
            points.append(PathPoint(full, b, primal, gap, step, gap <= self.target + rounding))
        return points

    def _dual(self, square: float, product: float, checked: Array, v: Array, c: Coordinates):
        """D(a·sr) for the best of a = 1 and the a that makes all |a·vⱼ| ≤ l1ⱼ: `Problem.bound`.

        D(a·sr) = a⟨y, r⟩ − ½a²‖r‖² − R*(a·v) in the weighted products; columns that were not
        checked are known to be within l1.
        """
        l1, l2 = c.l1[checked], c.l2[checked]
        v = np.where(np.where(v > 0, self.may_rise[checked], self.may_fall[checked]), np.abs(v), 0)
        over = np.flatnonzero(v > l1)
        v, l1, l2 = v[over], l1[over], l2[over]
        scale = float(np.min(l1 / v, initial=1.0))
        best = scale * product - 0.5 * scale**2 * square
        if np.all(l2 > 0):
            best = max(best, product - 0.5 * square - float(np.sum((v - l1) ** 2 / (2 * l2))))
        return best


class Products:
    """vⱼ = ⟨xⱼ, s·r⟩ of the columns with residuals, taken only where it may exceed l1ⱼ.

    A residual is nearly a combination of the last ones whose products with all columns are known,
    r = Σ aₖrₖ + e, so that vⱼ differs from Σ aₖvⱼₖ by at most ‖xⱼ‖·‖e‖.
    """

    def __init__(self, design: Design, weights: Array, y: Array, values: Array):
        self.design, self.root = design, np.sqrt(weights)
        self.norms = np.sqrt(np.maximum(design.column_square_sums(weights), 0.0))
        self.residuals, self.known = (self.root * y)[:, None], values[:, None]

    def of(self, R: Array, l1: Array) -> tuple[Array, Array]:
        """The columns that may matter for the residuals R (n, k), and their products with them."""
        R = self.root[:, None] * R
        checked = self._uncertain(R, l1)
        if len(checked) > WORTH_A_PASS * self.design.d:
            V = self.design.transposed_times(self.root[:, None] * R)
            self.residuals = np.hstack([self.residuals, R])[:, -MOST_KNOWN:]
            self.known = np.hstack([self.known, V])[:, -MOST_KNOWN:]
            return np.arange(self.design.d), V
        return checked, self.design.columns(checked).transposed_times(self.root[:, None] * R)

    def _uncertain(self, R: Array, l1: Array) -> Array:
        """Columns whose products, extrapolated from the known ones, may reach l1 (d, k)."""
        with single_blas():
            a = np.linalg.lstsq(self.residuals, R)[0]
            left = np.sqrt(np.sum((R - self.residuals @ a) ** 2, axis=0))
            # The products are known up to rounding, which large multiples of them would enlarge.
            sizes = np.sqrt(np.sum(self.residuals**2, axis=0))
            left = left + 1e-9 * np.sum(np.abs(a) * sizes[:, None], axis=0)
            reach = np.abs(self.known @ a) + np.multiply.outer(self.norms, left)
        return np.flatnonzero(np.any(reach >= l1, axis=1))


def _largest(score: Array, count: int) -> Array:
    """Positions of the `count` largest positive scores, ties to the first."""
    order = np.argsort(-score, kind="stable")[:count]
    return order[score[order] > 0]
