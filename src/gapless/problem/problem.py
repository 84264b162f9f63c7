"""Problem = design + loss + penalty + weights: the objective P, its derivatives, and the dual D.

    P(w, b) = Σᵢ sᵢ ℓ(yᵢ, xᵢᵀw + b) + R(w)
    D(θ)    = −Σᵢ sᵢ ℓ*(yᵢ, −θᵢ/sᵢ) − R*(Xᵀθ)

with Aᵀθ = 0 for the free columns A: a column of ones for the bias, and the unpenalised features.
Sums, never means. Solvers and certificates use this class; nothing here knows either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._ground.design import Design, multiply_each
from .._ground.threads import single_blas
from ..losses import DualBox, Loss, nearest_slopes
from ..penalties import Coordinates, Penalty
from .best_bias import minimise_bias, minimise_biases
from .best_subset import BestSubset
from .dual_points import (
    EPS,
    FreeColumns,
    Intervals,
    column_norms,
    distribution,
    one_hot,
    orthogonalise,
    orthogonalise_slopes,
    tilt,
)

Array = np.ndarray

# Cached values of a problem that do not depend on its penalty.
OF_THE_DATA = (
    "has_zero_weights",
    "has_unit_weights",
    "equal_rows",
    "steepness",
    "rows_at_equal_scores",
    "_slopes",
    "_intervals",
    "_class_box",
)


@dataclass(frozen=True, eq=False)
class Parameters:
    """Coefficients w (d,) or (d, K), bias b () or (K,), dual point theta (n,) or (n, K) or None."""

    w: Array
    b: Array
    theta: Array | None = None


@dataclass(frozen=True, eq=False)
class Bound:
    """A feasible dual point, its product with the data v = Xᵀθ, and the dual value it proves.

    In v, rounding beyond a limit of R* is undone; `product` is Xᵀθ as computed.
    """

    theta: Array
    v: Array
    dual: float
    product: Array


@dataclass(frozen=True, eq=False)
class RowPass:
    """What one pass over the rows gives: z, the loss and its derivatives, and Xᵀ(s·ℓ′)."""

    z: Array
    value: Array
    slope: Array
    curvature: Array
    product: Array


@dataclass(frozen=True, eq=False)
class Problem:
    """What is minimised. `outputs` is K for several outputs or classes, None for one prediction."""

    design: Design
    y: Array
    loss: Loss
    penalty: Penalty
    weights: Array
    fit_bias: bool = True
    outputs: int | None = None

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.design.n

    @property
    def d(self) -> int:
        """The number of features."""
        return self.design.d

    @property
    def row_weights(self) -> Array:
        """The weights, shaped to broadcast against predictions."""
        return self.weights if self.outputs is None else self.weights[:, None]

    # ---- the primal side -------------------------------------------------------------------------

    def predictions(self, w: Array, b: Array) -> Array:
        """z = Xw + b."""
        if not np.any(w):
            return np.zeros(self._score_shape(self.y)) + b
        scores = self._known_scores(w)
        if scores is None:
            scores = self._keep("scores", w, self.design.times(w))
        return scores + b

    def _known_scores(self, w: Array) -> Array | None:
        """Xw if it is cached; not to be changed."""
        return self._kept("scores", w)

    def keep_scores(self, w: Array, scores: Array) -> None:
        """Cache Xw, which must not be changed afterwards."""
        self._keep("scores", w, scores)

    def row_losses(self, z: Array) -> Array:
        """ℓ(yᵢ, zᵢ) of each target."""
        return self.loss.value(self.y, z)

    def loss_sum(self, z: Array) -> float:
        """Σ sᵢ ℓ(yᵢ, zᵢ), in float64."""
        return self.weighted_sum(self.row_losses(z))

    def weighted_sum(self, per_target: Array) -> float:
        """Σ sᵢ·(sum of row i); a row of weight 0 counts 0 whatever it holds."""
        per_row = per_target if per_target.ndim == 1 else per_target.sum(axis=1)
        if self.has_zero_weights:
            per_row = np.where(self.weights > 0, per_row, 0.0)
        # NumPy sums pairwise, as accurately as float64 allows, and never by a threaded BLAS.
        if self.has_unit_weights:
            return float(np.sum(per_row, dtype=float))
        return float(np.sum(self.weights * per_row))

    @property
    def has_row_pass(self) -> bool:
        """Whether the core has a pass over the rows for this loss and this form of X."""
        has_loss = self.loss.smooth_loss is not None and self.outputs is None
        return has_loss and self.design.is_read_by_rows

    def row_pass(self, w: Array, b: Array) -> RowPass | None:
        """z, the derivatives at z and the gradient in w by reading X once, where the core can."""
        if not self.has_row_pass:
            return None
        weights = None if self.has_unit_weights else self.weights
        of_loss = self.loss.smooth_loss, w, float(b), self.y, weights
        of_rows, product = self.design.loss_pass(*of_loss)
        scores, value, slope, curvature = of_rows
        self.keep_scores(w, scores)
        return RowPass(scores + b, value, slope, curvature, product)

    def primal(self, w: Array, b: Array, z: Array | None = None) -> float:
        """P(w, b)."""
        return self.loss_sum(self.predictions(w, b) if z is None else z) + self.penalty.value(w)

    def derivative(self, z: Array) -> Array:
        """s·ℓ′(y, z), the shape of z; −s·ℓ′ is the natural dual point."""
        return self.weighted(self.loss.gradient(self.y, z))

    def weighted(self, per_target: Array) -> Array:
        """s·values, 0 in rows of weight 0 whatever they hold: far away, losses like exp are ∞."""
        if self.has_unit_weights:
            return np.asarray(per_target, dtype=float)
        if self.has_zero_weights:
            per_target = np.where(self.row_weights > 0, per_target, 0.0)
        return self.row_weights * per_target

    @cached_property
    def has_zero_weights(self) -> bool:
        """Whether some row has weight 0."""
        return bool(np.any(self.weights == 0))

    @cached_property
    def has_unit_weights(self) -> bool:
        """Whether every row has weight 1."""
        return bool(np.all(self.weights == 1))

    @cached_property
    def equal_rows(self) -> Array:
        """Labels 0, 1, … of the rows, the same for equal (x, y), numbered by their content."""
        return self.design.equal_rows(self.y)

    @cached_property
    def coordinates(self) -> Coordinates | None:
        """The penalty as a sum of scalar functions; None if it is not one."""
        return self.penalty.coordinates(self.d)

    @cached_property
    def free(self) -> Array:
        """Positions of the features that are neither penalised nor constrained."""
        return np.flatnonzero(self.penalty.free(self.d))

    @cached_property
    def best_subset(self) -> BestSubset:
        """The search for the best subset of the features, where the penalty counts them."""
        subset = self.penalty.subset(self.d)
        assert subset is not None
        data = self.design, self.y, self.weights, self.fit_bias
        return BestSubset(*data, *subset, self.penalty.free(self.d))

    def with_penalty(self, penalty: Penalty) -> Problem:
        """The same with another penalty; reuses what depends on the data alone."""
        other = replace(self, penalty=penalty)
        known = {name: vars(self)[name] for name in OF_THE_DATA if name in vars(self)}
        vars(other).update(known)
        return other

    # ---- the model without features --------------------------------------------------------------

    @cached_property
    def null(self) -> Parameters:
        """w = 0 (or the nearest point that the constraints allow) and the best bias for it."""
        shape = (self.d,) if self.outputs is None else (self.d, self.outputs)
        w = self.penalty.prox(np.zeros(shape), 1.0)
        w[self.free] = 0.0
        return Parameters(w, self._best_bias(self.design.times(w) if np.any(w) else None))

    @cached_property
    def scale(self) -> float:
        """P₀: the objective of `null` above Σ sᵢ min ℓ; tolerances are relative to it."""
        w, b = self.null.w, self.null.b
        y, s = self.rows_at_equal_scores
        if np.any(w):
            y, s = self.y, self.weights
        scores = b if self.outputs is None else b[None, :]
        z = (self.design.times(w) if np.any(w) else np.zeros(self._score_shape(y))) + scores
        above = self.loss.value(y, z) - self.loss.smallest(y)
        per_row = np.where(s > 0, above if above.ndim == 1 else above.sum(axis=1), 0.0)
        return max(float(np.sum(s * per_row)) + self.penalty.value(w), 0.0)

    @cached_property
    def steepness(self) -> float:
        """The largest slope of the loss in a coefficient at `null`: slopes are relative to it."""
        slope = self.derivative(self.predictions(self.null.w, self.null.b))
        return float(np.max(np.abs(self.design.transposed_times(slope)), initial=0.0))

    @cached_property
    def rows_at_equal_scores(self) -> tuple[Array, Array]:
        """Targets and weights that differ if all scores are equal: one per class, or all rows."""
        if self.loss.task == "binary":
            labels = np.array([-1.0, 1.0])
            return labels, np.array([self.weights[self.y == label].sum() for label in labels])
        if self.loss.task == "multiclass" and not self.loss.is_of_rows:
            totals = np.bincount(self.y, self.weights, minlength=self._score_columns)
            return np.arange(self._score_columns), totals
        return self.y, self.weights

    @property
    def _score_columns(self) -> int:
        return 1 if self.outputs is None else self.outputs

    def _score_shape(self, y: Array) -> tuple[int, ...]:
        return (len(y),) if self.outputs is None else (len(y), self.outputs)

    def _best_bias(self, z: Array | None) -> Array:
        """argmin_b Σ sᵢ ℓ(yᵢ, zᵢ + b); z = 0 if None."""
        if not self.fit_bias:
            return np.zeros(()) if self.outputs is None else np.zeros(self.outputs)
        y, s = (self.y, self.weights) if z is not None else self.rows_at_equal_scores
        known = self._best_equal_scores(y, s) if z is None else None
        if known is not None:
            return np.asarray(known, dtype=float)
        z = np.zeros(self._score_shape(y)) if z is None else z
        if self.loss.task == "multiclass":
            return minimise_biases(self.loss, y, z, s)
        if self.outputs is None:
            return np.array(minimise_bias(self.loss, y, z, s))
        return np.array(
            [minimise_bias(self.loss, y[:, k], z[:, k], s) for k in range(self.outputs)]
        )

    def _best_equal_scores(self, y: Array, s: Array) -> Array | float | None:
        """The best score if all rows have the same, where the loss has a formula for it."""
        if self.loss.task != "regression":
            return self.loss.equal_scores(s) if np.all(s > 0) else None
        return self.loss.best_constant(y, s) if self.outputs is None else None

    # ---- the dual side ---------------------------------------------------------------------------

    @property
    def has_dual(self) -> bool:
        """Whether lower bounds exist: the loss and the penalty both have conjugates."""
        return self.loss.has_conjugate and type(self.penalty).conjugate is not Penalty.conjugate

    def dual(self, theta: Array, v: Array) -> float:
        """D(θ) for v = Xᵀθ; −∞ outside the domain of ℓ* or R*. Does not check free columns."""
        u = self._negative_slopes(theta)
        if u is None:
            return -np.inf
        with np.errstate(over="ignore", invalid="ignore"):
            dual = -self.weighted_sum(self.row_conjugates(u)) - self.penalty.conjugate(v)
        return dual if np.isfinite(dual) else -np.inf

    def row_conjugates(self, u: Array) -> Array:
        """ℓ*(yᵢ, uᵢ) of each target."""
        return self.loss.conjugate(self.y, u)

    def _negative_slopes(self, theta: Array) -> Array | None:
        """u = −θ/s inside the domain of ℓ*(y, ·); None if θ is outside its `box`."""
        s = self.row_weights
        if self.has_zero_weights:
            if np.any(np.where(s > 0, 0.0, theta)):
                return None
            s = np.where(s > 0, s, 1.0)
        u = -theta if self.has_unit_weights else -theta / s
        if self._slopes is None:
            return u
        # s·bound/s may miss the bound by rounding, which does not count as outside.
        inside = np.clip(u, *self._slopes)
        if np.array_equal(u, inside):
            return inside
        outside = np.abs(u - inside) > 4 * EPS * np.abs(inside)
        return None if outside.any() else inside

    def bound(self, theta: Array, product: Array | None = None) -> Bound:
        """The best dual value near θ: moved until it is feasible, then scaled.

        Any θ of the right shape will do, even NaN: if it cannot be made feasible, the result is the
        bound of θ = 0, Σ sᵢ min ℓ. A known product Xᵀθ serves a θ that need not be moved.
        """
        with single_blas():
            known = self._known_bound(theta)
            if known is not None:
                return known
            moved = self._moved(theta)
            if moved is None:
                return self.origin
            if product is not None and np.array_equal(moved, theta):
                return self._best_bound(moved, product)
            bound = self._best_bound(moved, self.design.transposed_times(moved))
            return self._keep("bound", bound.theta, bound)

    def _known_bound(self, theta: Array) -> Bound | None:
        """The bound with dual point θ, if it is cached."""
        return self._kept("bound", theta)

    def _best_bound(self, moved: Array, v: Array) -> Bound:
        """The best of the bounds near θ, which is orthogonal to the free columns, and v = Xᵀθ."""
        best = self.origin
        for theta, within, product in self._feasible(moved, v):
            for c in self.penalty.feasible_scales(within):
                if c == 0:
                    continue
                scaled = c * theta, c * within
                candidate = Bound(*scaled, self.dual(*scaled), c * product)
                best = max(best, candidate, key=lambda bound: bound.dual)
        return best

    # ---- products with X that a certificate needs again right after the fit ----------------------

    def keep_products(self) -> None:
        """Cache the last Xw and the last bound from now on, while X cannot change."""
        vars(self)["_products"] = {}

    def forget_products(self) -> None:
        """Stop caching: the owner of X may change it after the fit."""
        vars(self).pop("_products", None)

    def _keep(self, name: str, at: Array, value: Any) -> Any:
        if (products := vars(self).get("_products")) is not None:
            products[name] = at.copy(), value  # the caller may change `at`
        return value

    def _kept(self, name: str, at: Array) -> Any:
        place, value = vars(self).get("_products", {}).get(name, (None, None))
        is_there = place is not None and place.dtype == at.dtype and np.array_equal(place, at)
        return value if is_there else None

    @cached_property
    def origin(self) -> Bound:
        """The bound of θ = 0, which is always feasible; −∞ if no bound is known."""
        theta = np.zeros(self._score_shape(self.y))
        v = np.zeros((self.d,) if self.outputs is None else (self.d, self.outputs))
        if not self.has_dual:
            return Bound(theta, v, -np.inf, v)
        # ℓ*(y, 0) = −min ℓ.
        smallest = np.broadcast_to(self.loss.smallest(self.y), np.shape(self.y))
        dual = self.weighted_sum(smallest) - self.penalty.conjugate(v)
        return Bound(theta, v, dual if np.isfinite(dual) else -np.inf, v)

    @property
    def has_box(self) -> bool:
        """Whether some θᵢ is bounded."""
        return self._slopes is not None or self.has_zero_weights

    def box(self) -> tuple[Array, Array]:
        """The interval of each θᵢ in which s·ℓ*(−θ/s) is finite."""
        lower, upper = self.loss.dual_domain(self.y)
        s = self.row_weights
        if not self.has_zero_weights:
            return -s * upper, -s * lower
        with np.errstate(invalid="ignore"):
            return np.where(s > 0, -s * upper, 0.0), np.where(s > 0, -s * lower, 0.0)

    @cached_property
    def _slopes(self) -> tuple[Array, Array] | None:
        """The domain of ℓ*(y, ·), None if it is the whole line."""
        lower, upper = self.loss.dual_domain(self.y)
        return None if np.all(np.isneginf(lower)) and np.all(np.isposinf(upper)) else (lower, upper)

    @cached_property
    def _intervals(self) -> list[Intervals]:
        """`box`, one for each output."""
        ends = self.box() if self.has_box else (np.array(-np.inf), np.array(np.inf))
        lower, upper = (np.broadcast_to(a, self._score_shape(self.y)) for a in ends)
        if self.outputs is None:
            return [Intervals(lower, upper)]
        return [Intervals(lower[:, k].copy(), upper[:, k].copy()) for k in range(self.outputs)]

    @cached_property
    def _class_box(self) -> DualBox:
        """The domain of ℓ*(y, ·) for several scores, if it is a box with Σₖuₖ = 0."""
        return self.loss.class_box(self.y, self._score_columns)

    def _moved(self, theta: Array) -> Array | None:
        """θ moved inside its domain and orthogonal to the free columns; None if that fails."""
        theta = np.asarray(theta, dtype=float)
        if not self.has_dual or not np.all(np.isfinite(theta)):
            return None
        return self._orthogonal(self._inside(theta), self.free_columns)

    def _feasible(self, moved: Array, v: Array) -> Iterator[tuple[Array, Array, Array]]:
        """Points θ near the given one that need at most scaling; none if that fails.

        Each with Xᵀθ, without and with what rounding puts beyond a limit of R*.
        """
        if not len(self._one_sided[0]):
            yield moved, v, v
            return
        for reach in (0.0, 3.0, 30.0):
            found = self._respect_signs(moved, v, reach)
            if found is not None:
                yield found

    def _inside(self, theta: Array) -> Array:
        """θ moved into the domain of the loss, row by row; 0 for weight 0."""
        if self.loss.has_class_box:
            s = self.row_weights
            u = np.divide(-theta, s, out=np.zeros_like(theta), where=s > 0)
            return -s * nearest_slopes(u, self._class_box)
        if self.loss.task == "multiclass":
            labels = one_hot(self.y, self._score_columns)
            return self.row_weights * (labels - distribution(theta, labels, self.row_weights))
        if not self.has_box:
            return theta
        if self.outputs is None:
            return self._intervals[0].clip(theta)
        return np.stack([i.clip(theta[:, k]) for k, i in enumerate(self._intervals)], axis=1)

    def orthogonal(self, theta: Array) -> Array:
        """θ moved inside its domain until it is orthogonal to the free columns; 0 if that fails."""
        moved = self._orthogonal(self._inside(theta), self.free_columns)
        return np.zeros_like(theta) if moved is None else moved

    def _orthogonal(self, theta: Array, columns: FreeColumns) -> Array | None:
        if not columns.m:
            return theta
        if self.loss.has_class_box:
            return orthogonalise_slopes(theta, self._class_box, columns, self.weights)
        if self.loss.task == "multiclass":
            return tilt(theta, self.y, columns, self.weights)
        if self.outputs is None:
            return orthogonalise(theta, columns, self._intervals[0], self.weights)
        moved = []
        for k, inside in enumerate(self._intervals):
            column = orthogonalise(theta[:, k], columns, inside, self.weights)
            if column is None:
                return None
            moved.append(column)
        return np.stack(moved, axis=1)

    @cached_property
    def free_columns(self) -> FreeColumns:
        """The unpenalised features and the bias as one operator."""
        return FreeColumns(self.design.columns(self.free), self.fit_bias)

    @cached_property
    def _one_sided(self) -> tuple[Array, Array]:
        """Unpenalised features bounded on one side, and the other: R* is finite for side·v ≤ 0."""
        coordinates = self.coordinates
        if coordinates is None or coordinates.is_strong or not coordinates.has_bounds:
            return np.zeros(0, dtype=int), np.zeros(0)
        no_top, no_bottom = np.isposinf(coordinates.upper), np.isneginf(coordinates.lower)
        alone = (coordinates.l1 == 0) & (coordinates.l2 == 0) & (no_top ^ no_bottom)
        return np.flatnonzero(alone), np.where(no_top, 1.0, -1.0)[alone]

    def _respect_signs(
        self, theta: Array, v: Array, reach: float
    ) -> tuple[Array, Array, Array] | None:
        """θ with side·X_jᵀθ ≤ 0 for the sign-constrained features; None if it is not found.

        Violators are held at equality like free columns, and others that this pushes over join
        them. Near a solution it is best to hold the support as well, whose products are as small as
        the violations, or `reach` times that: the gap is then of second order.
        """
        index, side = self._one_sided
        norms = np.sqrt(np.maximum(self.design.column_square_sums()[index], 0.0))
        if v.ndim == 2:
            side = side[:, None]
        size = float(column_norms(theta.ravel()))
        held = np.zeros(len(index), dtype=bool)
        for attempt in range(20):
            excess = side * v[index]
            worst = excess if v.ndim == 1 else excess.max(axis=1)
            relative = np.full(len(index), -np.inf)
            np.divide(worst, norms, out=relative, where=~held & (norms > 0))
            violation = float(np.max(relative, initial=0.0))
            margin = max(reach * violation, 1e-6 * size) if reach and attempt == 0 else 0.0
            joining = relative > -margin if attempt < 18 else ~held
            if not joining.any():
                within = v.copy()
                within[index] = side * np.minimum(excess, 0.0)
                return theta, within, v
            held |= joining
            columns = np.concatenate([self.free, index[held]])
            moved = self._orthogonal(
                theta, FreeColumns(self.design.columns(columns), self.fit_bias)
            )
            if moved is None:
                return None
            theta, v = moved, self.design.transposed_times(moved)
        return None


def bounds(problems: Sequence[Problem], thetas: Sequence[Array]) -> list[Bound]:
    """`Problem.bound` of each problem and its θ; they share one design and the product with it."""
    with single_blas():
        found = [problem._known_bound(theta) for problem, theta in zip(problems, thetas)]
        moved = {}
        for k, problem in enumerate(problems):
            theta = problem._moved(thetas[k]) if found[k] is None else None
            if theta is not None:
                moved[k] = theta
        products = multiply_each(problems[0].design.transposed_times, list(moved.values()))
        for (k, theta), product in zip(moved.items(), products):
            found[k] = problems[k]._best_bound(theta, product)
        return [
            problem.origin if bound is None else bound for problem, bound in zip(problems, found)
        ]


def predictions(problems: Sequence[Problem], parameters: Sequence[Parameters]) -> list[Array]:
    """`Problem.predictions` of each problem; they share one design and the product with it."""
    known = [problem._known_scores(q.w) for problem, q in zip(problems, parameters)]
    new = [q.w for q, scores in zip(parameters, known) if scores is None]
    made = iter(multiply_each(problems[0].design.times, new))
    return [
        (next(made) if scores is None else scores) + q.b for scores, q in zip(known, parameters)
    ]
