"""What training minimises, of all rows: the value, the gradient, and the certificate from both.

P(θ) = Σᵢ sᵢ ℓ(yᵢ, f(xᵢ; θ)) + ½α‖W‖², where W are the weights of the layers without their biases.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._ground.interrupt import check
from ...certificates import Certificate, Conditions, Violation
from ...losses import Loss
from ...problem import minimise_bias, minimise_biases
from .composition import Composition, Weights
from .engines import AT_ONCE, Engine

Array = np.ndarray

# A network counts as stationary if steps as long as its parameters change the objective, at first
# order, by at most this part of that without features.
STATIONARY = 1e-3
# A constant predicts targets if it leaves less than this part of the objective of outputs 0.
NEGLIGIBLE = 1e-8
# The steps along the gradient that are tried, as parts of the `reach` of all parameters. A network
# that is not stationary falls by 1e-11 of the objective without features, at first order, by the
# shortest, which is far above the rounding errors of float64.
TRIED = (1e-2, 1e-4, 1e-6, 1e-8)
# What to do about a gradient that is not next to 0, by what ended the training.
IF_BETTER = "if that improves the score on unseen rows"
CURES = {
    "max_iter": f"raise max_iter {IF_BETTER}",
    "settled": f"lower tol or raise n_iter_no_change {IF_BETTER}",
    "tol": f"lower tol {IF_BETTER}",
    "kept aside": "the rows kept aside ended it, which the objective counts, too",
    "time_limit": "raise time_limit",
    "interrupted": "fit again, and let it end",
}
# Training diverged if the objective is so many times that without features, and that of weights as
# they are first drawn, which is large, too, if the features are.
FAR_ABOVE = 10.0
DIVERGED = "the objective is far above that of a model without features, so shorten the steps, {}"


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows, targets in the form that the loss takes, and weights.

    Parameters
    ----------
    X : ndarray or CSR matrix
        (n, features), or images (n, height, width, channels).
    y : ndarray
        Positions of classes (n,) for a multi-class loss, else (n, outputs).
    weights : ndarray of shape (n,)
        In float64.
    shape : tuple of int
        Of a row, as the network takes it.
    positions : ndarray of int, optional
        Where the rows are in X; by default all of them, in their order. y and weights have an entry
        for each.
    """

    X: Any
    y: Array
    weights: Array
    shape: tuple[int, ...]
    positions: Array | None = None

    def some(self, rows: Array) -> Rows:
        """Some of the rows; X is not copied."""
        positions = rows if self.positions is None else self.positions[rows]
        return Rows(self.X, self.y[rows], self.weights[rows], self.shape, positions)

    def in_order(self) -> Rows:
        """The same with the numbers of each row side by side, as batches need them.

        X is copied where its columns are side by side, as those of data frames: to gather a row of
        it takes as many lines of memory as it has columns.
        """
        X = self.X
        if sp.issparse(X) or X.flags.c_contiguous:
            return self
        return replace(self, X=np.ascontiguousarray(X))

    def inputs(self, rows: Any, dtype: Any) -> Any:
        """Some of the rows as a batch; nothing else is copied."""
        x = self.X[rows if self.positions is None else self.positions[rows]]
        if sp.issparse(x):
            return x.astype(dtype, copy=False)
        return x.reshape(len(x), *self.shape).astype(dtype, copy=False)

    def squares(self, rows: Any) -> Array:
        """Their squared norms."""
        x = self.inputs(rows, np.float64)
        if sp.issparse(x):
            return np.asarray(x.multiply(x).sum(axis=1)).ravel()
        return np.einsum("ij,ij->i", x.reshape(len(x), -1), x.reshape(len(x), -1))

    def targets(self, rows: Any, dtype: Any) -> Array:
        """Their targets; positions of classes stay whole numbers."""
        y = self.y[rows]
        return y if y.ndim == 1 else y.astype(dtype, copy=False)

    def parts(self, size: int) -> Iterator[slice]:
        """All rows, some at a time."""
        n = len(self.weights)
        return (slice(k, min(n, k + size)) for k in range(0, n, size))


def row_losses(loss: Loss, y: Array, z: Array) -> Array:
    """ℓ of each row, in float64: the sum over its outputs unless the loss is of several classes."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.asarray(loss.value(y, z), dtype=np.float64)
    return values if values.ndim == 1 else values.sum(axis=1)


def penalty(composition: Composition, theta: Array, alpha: float) -> float:
    """½α‖W‖²."""
    if not alpha:
        return 0.0
    squares = (np.dot(theta[p], theta[p]) for p in composition.penalised_parts)
    return 0.5 * alpha * float(sum(float(square) for square in squares))


def value_and_gradient(
    engine: Engine,
    weights: Weights,
    rows: Rows,
    loss: Loss,
    alpha: float,
    outputs: Array | None = None,
    seed: int | None = None,
) -> tuple[float, Array]:
    """P and its gradient in all parameters, in float64; writes the outputs if there is a place.

    With a seed the network learns: dropout drops by it, and batch normalisation uses the rows.
    """
    composition, dtype = engine.composition, weights.theta.dtype
    value = penalty(composition, weights.theta, alpha)
    gradient = np.where(composition.is_penalised, alpha * weights.theta, 0.0).astype(np.float64)
    with engine.running():
        for part in rows.parts(AT_ONCE):
            check()
            y, s = rows.targets(part, dtype), rows.weights[part]
            of_batch = s.astype(dtype)[:, None]

            def slopes(z: Array, own: slice, y: Array = y, s: Array = of_batch) -> Array:
                return s[own] * loss.gradient(y[own], z)

            drawn = None if seed is None else (seed, part.start)
            z, found = engine.gradient(weights, rows.inputs(part, dtype), slopes, drawn, s)
            value += float(s @ row_losses(loss, y, z))
            gradient += found
            if outputs is not None:
                outputs[part] = z
    return value, gradient


@dataclass(frozen=True, eq=False)
class Differentiable:
    """The objective per weight of a row, as a function of a list of arrays, in float64."""

    engine: Engine
    weights: Weights
    rows: Rows
    loss: Loss
    alpha: float
    # Of what is dropped while it learns; None to predict.
    seed: int | None = None

    @property
    def modes(self) -> list[Differentiable]:
        """The same as it predicts, and as it learns."""
        return [replace(self, seed=None), replace(self, seed=0)]

    @property
    def composition(self) -> Composition:
        """The network."""
        return self.engine.composition

    @property
    def sizes(self) -> list[Array]:
        """Arrays in the shape of the parameters, each filled with their size."""
        arrays = self.composition.arrays(self.weights.theta)
        return [np.full(a.shape, float(np.sqrt(np.mean(a**2))) or 1.0) for a in arrays]

    def value(self, arrays: list[Array]) -> float:
        """The objective."""
        return self._both(arrays)[0]

    def gradient(self, arrays: list[Array]) -> list[Array]:
        """Its gradient."""
        return self.composition.arrays(self._both(arrays)[1])

    def _both(self, arrays: list[Array]) -> tuple[float, Array]:
        running = [array.copy() for array in self.weights.running]
        weights = Weights(self.composition.joined(arrays, np.float64), running)
        total = float(self.rows.weights.sum())
        value, gradient = value_and_gradient(
            self.engine, weights, self.rows, self.loss, self.alpha, seed=self.seed
        )
        return value / total, gradient / total


def without_features(rows: Rows, loss: Loss) -> float:
    """P₀: the objective of the best constant outputs, above the smallest conceivable loss.

    Of targets that a constant predicts, it is that of outputs 0, or else the sum of the weights.
    """
    return _baseline(rows, loss)[0]


def usual_output(rows: Rows, loss: Loss) -> float:
    """How far outputs must move to matter: as far as the slopes at those of P₀ take to lose it.

    It is about the spread of the targets of squared and absolute errors, and about 1 of classes.
    """
    scale, slopes = _baseline(rows, loss)
    return scale / slopes if slopes > 0 and np.isfinite(slopes) else 1.0


def _baseline(rows: Rows, loss: Loss) -> tuple[float, float]:
    """P₀, and Σ sᵢ|ℓ′| at its outputs."""
    y, s = rows.y, rows.weights
    kept = s > 0
    y, s = y[kept], s[kept]

    def slopes(target: Array, z: Array) -> float:
        sizes = np.abs(loss.gradient(target, z))
        return float(s @ (sizes if sizes.ndim == 1 else sizes.sum(axis=1)))

    total = zero = steep = steep_at_zero = 0.0
    if y.ndim == 1:
        z = np.zeros((len(y), int(y.max(initial=0)) + 1))
        best = z + minimise_biases(loss, y, z, s)
        total, zero = float(s @ loss.value(y, best)), float(s @ loss.value(y, z))
        steep, steep_at_zero = slopes(y, best), slopes(y, z)
    else:
        for column in y.T.astype(np.float64):
            least, outputs = loss.smallest(column), np.zeros(len(column))
            best = outputs + minimise_bias(loss, column, outputs, s)
            total += float(s @ (loss.value(column, best) - least))
            zero += float(s @ (loss.value(column, outputs) - least))
            steep += slopes(column, best)
            steep_at_zero += slopes(column, outputs)
    if total > NEGLIGIBLE * zero:
        return total, steep
    return (zero, steep_at_zero) if zero > 0 else (float(s.sum()), 0.0)


def reach(composition: Composition, weights: Weights, rows: Rows, loss: Loss) -> Array:
    """How far each parameter array can be expected to move: its norm, or at least a first draw's.

    Weights of features that are small on average move further by as much, and those of the last
    layer as far as large targets need.
    """
    now = composition.arrays(weights.theta.astype(np.float64))
    drawn = composition.arrays(composition.begin(np.random.RandomState(0), np.float64).theta)
    last = next((len(own) for own in reversed(composition.parts) if own), 0)
    usual = [1.0] * (len(drawn) - last) + [max(1.0, usual_output(rows, loss))] * last
    norms = (
        (np.linalg.norm(a), factor * np.linalg.norm(b)) for a, b, factor in zip(now, drawn, usual)
    )
    lengths = np.array([max(pair) for pair in norms])
    if len(lengths):
        squares = sum(float(rows.weights[p] @ rows.squares(p)) for p in rows.parts(AT_ONCE))
        count = float(rows.weights.sum()) * math.prod(rows.shape)
        lengths[0] /= min(1.0, max(math.sqrt(squares / count), np.finfo(float).tiny))
    return lengths


def falls_along(
    engine: Engine, weights: Weights, rows: Rows, loss: Loss, alpha: float, step: Array
) -> bool:
    """Whether some of the `TRIED` parts of a step lower the objective, computed in float64.

    At a kink none may: the gradient is that of one side, and the step leads to the other.
    """
    exact = weights.astype(np.float64)

    def value(theta: Array) -> float:
        total = penalty(engine.composition, theta, alpha)
        moved = Weights(theta, exact.running)
        with engine.running():
            for part in rows.parts(AT_ONCE):
                check()
                z = engine.outputs(moved, rows.inputs(part, np.float64))
                total += float(rows.weights[part] @ row_losses(loss, rows.y[part], z))
        return total

    now = value(exact.theta)
    return any(value(exact.theta + part * step) < now for part in TRIED)


def has_diverged(
    engine: Engine, rows: Rows, loss: Loss, alpha: float, primal: float, scale: float
) -> bool:
    """Whether the objective is far above that without features, and that of a first draw."""
    if primal <= FAR_ABOVE * scale:
        return False
    drawn = engine.composition.begin(np.random.RandomState(0), np.float64)
    first = value_and_gradient(engine, drawn, rows, loss, alpha)[0]
    return bool(np.isfinite(first)) and not primal <= FAR_ABOVE * first


def ends_far_above(
    engine: Engine, rows: Rows, loss: Loss, alpha: float, losses: list[float]
) -> bool:
    """The same of the last of the objectives per weight, judged by a sample of the rows."""
    kept = np.flatnonzero(rows.weights > 0)
    sample = rows.some(kept[:: -(-len(kept) // AT_ONCE)])
    total, part = float(rows.weights.sum()), float(sample.weights.sum())
    scale = without_features(sample, loss)
    return has_diverged(engine, sample, loss, alpha * part / total, part * losses[-1], scale)


def certificate_of(
    engine: Engine,
    weights: Weights,
    rows: Rows,
    loss: Loss,
    alpha: float,
    cure: str = "",
    step_name: str = "",
) -> Certificate:
    """How near the weights are to a point where the gradient is 0; no bound is known.

    Σ‖∇ₖ‖·rₖ over the arrays k of parameters is the change, at first order, that steps as long as
    their `reach` r could bring; small parameters do not make it small. Where it is large, short
    steps along the gradient show whether the objective does fall. What to do about it is the cure,
    or, if training by steps of a length `step_name` has diverged, to shorten those.
    """
    composition = engine.composition
    with np.errstate(over="ignore", invalid="ignore"):
        primal, gradient = value_and_gradient(engine, weights, rows, loss, alpha)
        scale = without_features(rows, loss)
        norm = float(np.linalg.norm(gradient))
        slopes = [float(np.linalg.norm(part)) for part in composition.arrays(gradient)]
        reached = reach(composition, weights, rows, loss)
        change = float(np.dot(slopes, reached))
        is_stationary = bool(change <= STATIONARY * scale)
        is_kink, diverged = False, ""
        if not is_stationary and np.isfinite(primal) and np.isfinite(norm):
            step = -float(np.linalg.norm(reached)) / norm * gradient
            is_kink = not falls_along(engine, weights, rows, loss, alpha, step)
        if step_name and has_diverged(engine, rows, loss, alpha, primal, scale):
            diverged = cure = DIVERGED.format(step_name)
    advice, advice_at_kink = (f"; {words}" if words else "" for words in (cure, diverged))
    why = "the objective of a network is not convex, so no bound on the best one is known"
    if is_stationary:
        verdict = f"stationary: the gradient is next to 0, its norm is {norm:.3g}; {why}."
    elif is_kink:
        verdict = (
            "stopped at a kink, or where the objective bends as sharply: the objective does not "
            f"fall along the gradient, not even by a step of {TRIED[-1]:.0e} of the length of the "
            f"weights{advice_at_kink}; the norm of the gradient is {norm:.3g}; {why}."
        )
    else:
        verdict = (
            "stopped: following the gradient would still lower the objective; its norm is "
            f"{norm:.3g}{advice}; {why}."
        )
    return Certificate(
        kind="stationary" if is_stationary else "stopped",
        verdict=verdict,
        primal=primal,
        dual=-np.inf,
        gap=np.inf,
        relative_gap=np.inf,
        tolerance=STATIONARY * scale,
        scale=scale,
        kkt=Conditions(Violation(norm, None)),
    )


def without_bound(verdict: str) -> Certificate:
    """A certificate of kind "none"."""
    nothing = float("nan")
    return Certificate("none", verdict, nothing, -np.inf, np.inf, np.inf, nothing, nothing)
