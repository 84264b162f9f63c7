"""Are the derivatives right? Compare them with finite differences: of losses, models, functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._ground.notebook import ShownInNotebook
from ..losses import Loss

Array = np.ndarray

# Central differences err by h²f‴/6 from the formula and εf/h from rounding: least at h = ∛ε.
RELATIVE_STEP = float(np.cbrt(np.finfo(float).eps))


@dataclass(frozen=True)
class GradientCheck(ShownInNotebook):
    """What `gradient_check` found; `print` it for the verdict.

    Attributes
    ----------
    error : float
        The largest |claimed − measured| / max(1, |measured|) over all that was compared.
    where : str
        What was compared there, and at which point.
    claimed, measured : float
        The derivative as the function claims it, and by differences.
    tol : float
        The largest error that counts as rounding.
    """

    error: float
    where: str
    claimed: float
    measured: float
    tol: float

    @property
    def is_right(self) -> bool:
        """Whether all derivatives agree with the differences."""
        return self.error <= self.tol

    @property
    def verdict(self) -> str:
        """The finding as a sentence."""
        if self.is_right:
            return f"right: every derivative agrees with finite differences to {self.error:.1g}."
        return (
            f"wrong: {self.where} is {self.claimed:.6g}, but finite differences give "
            f"{self.measured:.6g} (relative error {self.error:.1g})."
        )

    def __str__(self) -> str:
        return self.verdict


def gradient_check(
    function: Loss | Callable[[Any], float] | Any,
    gradient: Callable[[Any], Any] | None = None,
    at: Any = None,
    *,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    entries: int | None = None,
    random_state: int = 0,
    tol: float = 1e-6,
) -> GradientCheck:
    """Compare derivatives with finite differences.

    Parameters
    ----------
    function : Loss, fitted model or callable
        A loss, whose `gradient` is checked against `value`, and `curvature` and `hessian_times`
        against `gradient`; a fitted linear or kernel model or network, whose objective per row is
        checked on its training data, gradient_check(model, X, y); a network both as it predicts
        and as it learns, with what is dropped fixed and the statistics of the batch; or a function
        of an array, or of a list of arrays such as the weights of some layers, that returns a
        number.
    gradient : callable, optional
        The gradient of a plain function, in the shape of its argument. Losses and models bring
        their own; after a model, X may stand here and y next.
    at : array or list of arrays, optional
        Where to check a plain function. For a loss the predictions z, by default a grid that
        crosses every region of the usual losses; for a model [w, b], for a network the arrays of
        its layers, by default a random point as far from 0 as the fitted one.
    X : array-like, optional
        The data that a model was fitted to.
    y : array, optional
        The targets of a model's fit; those of a loss, by default some that suit its task.
    sample_weight : array, optional
        The weights of a model's fit.
    entries : int, optional
        How many entries to check, drawn at random, where all of them would take too long: each
        takes two evaluations of the function.
    random_state : int, default=0
        Seeds the draws.
    tol : float, default=1e-6
        The largest relative error that counts as rounding.

    Returns
    -------
    GradientCheck
        The largest error and where it is; printed, it is a sentence.

    Notes
    -----
    At a kink every slope between the left and the right one is a subgradient, and counts as right.

    Examples
    --------
    >>> from gapless.evaluation import gradient_check
    >>> from gapless.losses import Huber
    >>> gradient_check(Huber(delta=0.5)).is_right
    True
    >>> print(gradient_check(lambda x: x[0] ** 2, lambda x: [3 * x[0]], at=[1.0]))
    wrong: the gradient at (0,) is 3, but finite differences give 2 (relative error 0.5).
    >>> from sklearn.datasets import load_iris
    >>> from gapless import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> gradient_check(LogisticRegression().fit(X, y), X, y).is_right
    True
    """
    rng = np.random.default_rng(random_state)
    if hasattr(function, "_differentiable"):
        if X is None and y is None and gradient is not None and at is not None:
            X, y, gradient, at = gradient, at, None, None  # gradient_check(model, X, y)
        if gradient is not None or X is None or y is None:
            raise TypeError("call gradient_check(model, X, y), or with at=[w, b] as well.")
        objective = function._differentiable(X, y, sample_weight)
        at = [part * rng.normal(size=part.shape) for part in objective.sizes] if at is None else at
        return max(
            (
                _check_function(mode.value, mode.gradient, at, entries, rng, tol)
                for mode in getattr(objective, "modes", [objective])
            ),
            key=lambda check: check.error,
        )
    if X is not None or sample_weight is not None:
        raise TypeError(
            "X and sample_weight belong to a fitted model or a network of gapless; call "
            "gradient_check(function, gradient, at=x), or gradient_check(loss)."
        )
    if isinstance(function, Loss):
        if gradient is not None or (at is None) != (y is None):
            raise TypeError("call gradient_check(loss), or gradient_check(loss, at=z, y=y).")
        if function.refusal is not None:
            raise TypeError(f"the {function.name} loss has no gradient: {function.refusal}.")
        y, z = _points(function) if at is None else (np.asarray(y), np.asarray(at, dtype=float))
        return max(_check_loss(function, y, z, tol), key=lambda check: check.error)
    if not callable(function) or not callable(gradient) or at is None or y is not None:
        raise TypeError("call gradient_check(function, gradient, at=x), or gradient_check(loss).")
    return _check_function(function, gradient, at, entries, rng, tol)


def _check_function(
    function: Callable[[Any], float],
    gradient: Callable[[Any], Any],
    at: Any,
    entries: int | None,
    rng: np.random.Generator,
    tol: float,
) -> GradientCheck:
    """The check of a function of an array, or of a list of arrays of different shapes."""
    is_list = isinstance(at, list | tuple) and any(np.ndim(part) for part in at)
    parts = [np.asarray(part, dtype=float) for part in (at if is_list else [at])]
    copies = [part.copy() for part in parts]
    claims = gradient(copies) if is_list else [gradient(copies[0])]
    claims = [np.asarray(claim, dtype=float) for claim in claims]
    shapes, found = ([array.shape for array in arrays] for arrays in (parts, claims))
    if shapes != found:
        what = (found, shapes) if is_list else (found[0], shapes[0])
        raise ValueError(f"the gradient has shape {what[0]}, but x has shape {what[1]}.")
    sizes = [part.size for part in parts]
    begin = np.concatenate([[0], np.cumsum(sizes)])
    chosen = np.arange(begin[-1])
    if entries is not None and entries < len(chosen):
        chosen = np.sort(rng.choice(len(chosen), entries, replace=False))

    def whole(x: Array) -> float:
        moved = [x[a:b].reshape(part.shape) for a, b, part in zip(begin, begin[1:], parts)]
        return float(function(moved if is_list else moved[0]))

    def place(index: tuple[int, ...]) -> str:
        k = int(chosen[index[0]])
        of = int(np.searchsorted(begin, k, side="right")) - 1
        where = tuple(int(i) for i in np.unravel_index(k - begin[of], parts[of].shape))
        return f"the gradient of array {of} at {where}" if is_list else f"the gradient at {where}"

    x, claimed = (np.concatenate([array.ravel() for array in arrays]) for arrays in (parts, claims))
    return _compare(claimed[chosen], *_slopes(whole, x, chosen), tol, place)


def numerical_gradient(function: Callable[[Array], float], at: Any) -> Array:
    """The gradient of a function of a vector by central differences, to about 10 digits.

    Parameters
    ----------
    function : callable
        A vector in, a number out.
    at : array
        The vector.

    Returns
    -------
    ndarray of the shape of `at`
    """
    x = np.asarray(at, dtype=float)
    flat = np.arange(x.size)
    left, right = _slopes(lambda moved: function(moved.reshape(x.shape)), x.ravel(), flat)
    return (0.5 * (left + right)).reshape(x.shape)


def _slopes(function: Callable[[Array], float], x: Array, chosen: Array) -> tuple[Array, Array]:
    """The left and the right difference quotient in some coordinates of a vector."""
    left, right = np.empty(len(chosen)), np.empty(len(chosen))
    centre = float(function(x.copy()))
    for k, j in enumerate(chosen):
        h = RELATIVE_STEP * max(1.0, abs(float(x[j])))
        for slopes, step in ((left, -h), (right, h)):
            moved = x.copy()
            moved[j] += step
            slopes[k] = (float(function(moved)) - centre) / (moved[j] - x[j])
    return left, right


def _points(loss: Loss) -> tuple[Array, Array]:
    """Targets that suit the task, and predictions on all sides of them."""
    if loss.task == "multiclass":
        z = 3 * np.random.default_rng(0).normal(size=(20, 4))
        return np.arange(20) % 4, z
    # Positive targets, which every regression loss accepts; an odd spacing, to miss most kinks.
    targets = [-1.0, 1.0] if loss.task == "binary" else [0.5, 1.0, 4.0]
    y, z = np.meshgrid(targets, np.linspace(-6.1, 6.3, 63))
    return y.ravel(), z.ravel()


def _check_loss(loss: Loss, y: Array, z: Array, tol: float) -> Iterator[GradientCheck]:
    """One check for every derivative and every direction in which scores can move."""
    several = loss.task == "multiclass"
    h = RELATIVE_STEP * np.maximum(1, np.abs(z).max(axis=1) if several else np.abs(z))
    # Rows (and outputs of a regression) are independent: one difference moves all of them.
    for k, e in enumerate(np.eye(z.shape[1]) if several else np.ones((1, 1))):
        v = np.broadcast_to(e, z.shape)
        entry = np.s_[:, k] if several else np.s_[...]
        slopes = _slopes_along(loss.value, y, z, v, h)
        yield _compare(loss.gradient(y, z)[entry], *slopes, tol, partial(_place, "gradient", y, z))
        if loss.has_curvature and loss.is_convex:
            left, right = _slopes_along(loss.gradient, y, z, v, h)
            curvature, product = loss.curvature(y, z)[entry], loss.hessian_times(y, z, v)
            place = partial(_place, "curvature", y, z)
            yield _compare(curvature, left[entry], right[entry], tol, place)
            yield _compare(product, left, right, tol, partial(_place, "hessian_times", y, z))


def _slopes_along(function, y: Array, z: Array, v: Array, h: Array) -> tuple[Array, Array]:
    """Difference quotients of a function of (y, z) for steps −h·v and h·v, h per row or entry."""
    centre = function(y, z)
    left = function(y, z - (h.T * v.T).T)
    right = function(y, z + (h.T * v.T).T)
    return ((centre - left).T / h.T).T, ((right - centre).T / h.T).T


def _place(what: str, y: Array, z: Array, index: tuple[int, ...]) -> str:
    row = index[: y.ndim]
    return f"{what}(y={y[row]:g}, z={np.array2string(z[row], precision=4)})"


def _compare(
    claimed: Array, left: Array, right: Array, tol: float, place: Callable[[Any], str]
) -> GradientCheck:
    """The entry at which the claim is furthest from the slopes."""
    centre = 0.5 * (left + right)
    is_kink = np.abs(left - right) > 1e-3 * np.maximum(1, np.abs(centre))
    between = np.clip(claimed, np.minimum(left, right), np.maximum(left, right))
    # Near a kink of the derivative one side alone is right, at a kink of the function all between.
    candidates = np.stack([centre, left, right, np.where(is_kink, between, centre)])
    error = np.min(np.abs(claimed - candidates) / np.maximum(1, np.abs(candidates)), axis=0)
    error = np.where(np.isnan(error), np.inf, error)
    worst = tuple(int(i) for i in np.unravel_index(np.argmax(error), error.shape))
    largest, claim, measured = (float(a[worst]) for a in (error, claimed, candidates[-1]))
    return GradientCheck(largest, place(worst), claim, measured, tol)
