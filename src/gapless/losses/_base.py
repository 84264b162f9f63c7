"""Loss: the contract of every loss. Its docstring is the tutorial; each other file is a loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._ground.named import look_up, register

Array = np.ndarray
TASKS = ("regression", "binary", "multiclass")


@dataclass(frozen=True, eq=False)
class DualBox:
    """A conjugate that is quadratic on an interval.

    ℓ*(y, u) = linear·u + absolute·|u| + ½·quadratic·u²  for lower ≤ u ≤ upper, else ∞.
    `linear`, `lower` and `upper` are arrays like y, `absolute` and `quadratic` numbers. For K
    scores they are arrays (n, K), `absolute` is 0, and the entries of u must sum to 0.
    """

    linear: Array
    lower: Array
    upper: Array
    absolute: float = 0.0
    quadratic: float = 0.0


class Loss:
    """The cost of a prediction z for the target y, row by row; convex in z.

    To add a loss, write one frozen dataclass in one file: set `task`, and give `value` and
    `gradient` in NumPy for whole vectors. Add `curvature` if ℓ has a useful second derivative, so
    that Newton's method can use it. Add either `conjugate` and `dual_domain`, or `dual_box`, from
    which both follow, so that fits can be certified; `class_box` is the `dual_box` of several
    scores. A loss never sees X, coefficients, weights, n or the bias: those belong to `Problem`.

    ==================  ==================================  ================
    task                target y                            predictions z
    ==================  ==================================  ================
    ``"regression"``    floats, (n,) or (n, K)              floats like y
    ``"binary"``        −1.0 or +1.0, (n,)                  scores, (n,)
    ``"multiclass"``    integers 0 … K−1, (n,)              scores, (n, K)
    ==================  ==================================  ================
    """

    task: ClassVar[str]
    name: ClassVar[str]
    # Which targets a regression may have: "real", "nonnegative" or "positive" numbers.
    targets: ClassVar[str] = "real"
    # Whether ℓ is convex in z; if not, a fit can only be called stationary.
    is_convex: ClassVar[bool] = True
    # Why no solver takes this loss, and what to use instead; None if one does.
    refusal: ClassVar[str | None] = None
    # What to know before minimising it; a warning of the estimators that take any loss.
    caution: ClassVar[str | None] = None
    # Whether |ℓ‴| ≤ ℓ″ in every score: a Newton step d cut to log(1 + |d|) then never overshoots.
    is_self_concordant: ClassVar[bool] = False
    # c where ℓ′ = −cy/(1 + exp(yz)), which steps by single rows know; 0 for any other loss.
    sigmoid_height: float = 0.0
    # The core's name of the loss, if its passes over the rows of X know it.
    smooth_loss: ClassVar[Any] = None
    has_curvature: ClassVar[bool] = False
    has_dual_box: ClassVar[bool] = False
    has_class_box: ClassVar[bool] = False
    has_conjugate: ClassVar[bool] = False
    has_link: ClassVar[bool] = False
    has_probabilities: ClassVar[bool] = False
    takes_offset: ClassVar[bool] = False
    # Whether y numbers the rows, each of which has its own loss.
    is_of_rows: ClassVar[bool] = False
    # φ, where ℓ is φ times minus a log-likelihood, so that coefficients have standard errors; NaN
    # if residuals estimate it, None if ℓ is not a likelihood.
    dispersion: ClassVar[float | None] = None
    registry: ClassVar[dict[str, type[Loss]]] = {}

    def __init_subclass__(cls, **options):
        """Derive the capabilities from the methods that are defined, and name the class."""
        super().__init_subclass__(**options)
        task = getattr(cls, "task", None)
        if task not in TASKS:
            raise TypeError(f"{cls.__name__}.task must be one of {', '.join(TASKS)}, got {task!r}.")
        register(cls, Loss.registry)
        cls.has_curvature = cls.curvature is not Loss.curvature
        cls.has_dual_box = cls.dual_box is not Loss.dual_box
        cls.has_class_box = cls.class_box is not Loss.class_box
        has_box = cls.has_dual_box or cls.has_class_box
        cls.has_conjugate = has_box or cls.conjugate is not Loss.conjugate
        cls.has_link = cls.inverse_link is not Loss.inverse_link
        cls.has_probabilities = cls.has_link and task != "regression"
        cls.takes_offset = cls.without_offset is not Loss.without_offset

    def value(self, y: Array, z: Array) -> Array:
        """ℓ(y, z), one number per target: the shape of y."""
        raise NotImplementedError

    def gradient(self, y: Array, z: Array) -> Array:
        """∂ℓ/∂z, the shape of z; at a kink, any subgradient."""
        raise NotImplementedError

    def curvature(self, y: Array, z: Array) -> Array:
        """∂²ℓ/∂z² ≥ 0, the shape of z; for several scores, the diagonal of each row's Hessian."""
        raise NotImplementedError

    def hessian_times(self, y: Array, z: Array, v: Array) -> Array:
        """The Hessian of each row in z, times v; override if the Hessian is not diagonal."""
        return self.curvature(y, z) * v

    def hessian_factors(
        self, y: Array, z: Array, gradient: Array | None = None
    ) -> tuple[Array, Array | None]:
        """Each row's Hessian as diag(a) − ffᵀ: a and f in the shape of z, f None if it is 0.

        Override with `hessian_times`; the diagonal alone would slow coordinate descent down. The
        gradient at z saves work if it is known.
        """
        return self.curvature(y, z), None

    def derivatives(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """Value, gradient and curvature; override to share work between them."""
        return self.value(y, z), self.gradient(y, z), self.curvature(y, z)

    def conjugate(self, y: Array, u: Array) -> Array:
        """ℓ*(y, u) = sup_z u·z − ℓ(y, z), the shape of y; ∞ outside its domain."""
        if self.has_class_box:
            return _joint_conjugate(self.class_box(y, u.shape[1]), u)
        box = self.dual_box(y)
        value = box.linear * u + box.absolute * np.abs(u) + 0.5 * box.quadratic * u**2
        return np.where(is_within(u, box.lower, box.upper), value, np.inf)

    def dual_domain(self, y: Array) -> tuple[Array, Array]:
        """Where ℓ* is finite (the closed range of ∂ℓ/∂z): lower and upper, to broadcast against z.

        For several scores it is the range of every entry, and ℓ* decides which vectors are inside.
        """
        box = self.dual_box(y)
        return box.lower, box.upper

    def dual_box(self, y: Array) -> DualBox:
        """The conjugate as a quadratic on an interval, for losses that have one."""
        raise NotImplementedError

    def class_box(self, y: Array, K: int) -> DualBox:
        """The same for K scores whose slopes sum to 0, as if only differences count."""
        raise NotImplementedError

    def check_targets(self, y: Array) -> None:
        """Refuse numbers for which a regression loss is not defined."""
        least = float(y.min(initial=np.inf))
        is_needed = {"nonnegative": least >= 0, "positive": least > 0}.get(self.targets, True)
        if not is_needed:
            kind = "at least 0" if self.targets == "nonnegative" else "positive"
            row = int(np.argmin(y.reshape(len(y), -1).min(axis=1)))
            raise ValueError(
                f"Some value(s) of y are out of the valid range of the loss {self.name!r}: targets "
                f"must be {kind}, and y has {least:g} in row {row}; check the target, or use "
                "another loss."
            )

    def smallest(self, y: Array) -> Array:
        """inf_z ℓ(y, z) = −ℓ*(y, 0), the shape of y; override if ℓ* is unknown and it is not 0."""
        if self.task == "multiclass" or not self.has_conjugate:
            return np.zeros(np.shape(y))
        return 0.0 - self.conjugate(y, np.zeros(np.shape(y)))

    def equal_scores(self, totals: Array) -> Array | None:
        """The best scores if all rows have the same, from the weights of the classes.

        Classes are −1 and +1, or 0 … K−1, and have weights > 0. None if no formula is known.
        """
        return None

    def easier(self, y: Array, z: Array) -> list[tuple[Loss, float]]:
        """Losses ℓ₁, ℓ₂, … with factors c, so that c·ℓ leads to this one, the easiest first.

        For a loss that has no curvature for most rows at the scores z, and so no useful Newton
        step: each solution starts the next. Empty if the loss can be minimised from z.
        """
        return []

    def best_constant(self, y: Array, weights: Array) -> float | None:
        """The best score of a regression if all rows have the same; None if no formula is known."""
        return None

    def inverse_link(self, z: Array) -> Array:
        """The prediction for score z: the mean of y, or the probability of y = +1 (of each class).

        A classification loss without it, such as the hinge, has no probabilities.
        """
        return z

    def without_offset(self, y: Array, offset: Array) -> tuple[Array, Array]:
        """Targets t and factors c ≥ 0 with ℓ(y, z + offset) = c·ℓ(t, z) for every z.

        So rows with known offsets are rows with other targets and weights, for every solver.
        """
        raise NotImplementedError

    def log_probabilities(self, z: Array) -> Array:
        """Logarithms of the probabilities: of y = −1 and +1, (n, 2), or of each class, (n, K).

        Override if they can be computed without the probabilities, which round to 0 or 1.
        """
        p = self.inverse_link(z)
        with np.errstate(divide="ignore"):
            return np.log(p if p.ndim == 2 else np.stack([1 - p, p], axis=1))

    @property
    def is_piecewise_linear(self) -> bool:
        """Whether ℓ* is linear where it is finite, so that ℓ has kinks and no curvature."""
        if self.has_curvature or not (self.has_dual_box or self.has_class_box):
            return False
        return self.has_class_box or self.dual_box(np.ones(1)).quadratic == 0


def by_name(name: str | Loss) -> Loss:
    """The loss `name` with its default parameters; a loss is returned as it is."""
    return look_up(name, Loss, Loss.registry)


def is_within(u: Array, lower: Array, upper: Array) -> Array:
    """Whether lower ≤ u ≤ upper, up to the rounding of a u that went through θ = −s·u and back."""
    slack = 4 * np.finfo(u.dtype).eps
    return (u >= lower - slack * np.abs(lower)) & (u <= upper + slack * np.abs(upper))


def _joint_conjugate(box: DualBox, u: Array) -> Array:
    """ℓ*(u) of K scores: the box, and a sum of 0 up to rounding."""
    value = np.einsum("nk,nk->n", box.linear, u) + 0.5 * box.quadratic * np.einsum("nk,nk->n", u, u)
    inside = np.all(is_within(u, box.lower, box.upper), axis=1)
    slack = 8 * np.finfo(u.dtype).eps * np.einsum("nk->n", box.upper - box.lower)
    return np.where(inside & (np.abs(np.einsum("nk->n", u)) <= slack), value, np.inf)


def by_core(function: Callable[..., None], outputs: int, y: Array, z: Array) -> tuple[Array, ...]:
    """The results, (n,) or (n, K), of a function of the core that takes rows in float64."""
    if _are_rows(y, z):  # in most calls, of which many have few rows
        results = np.empty((outputs, len(z)))
        function(y, z, *results)
        return tuple(results)
    y, z = np.broadcast_arrays(y, z)
    of_rows = [np.ascontiguousarray(each, dtype=np.float64).ravel() for each in (y, z)]
    results = np.empty((outputs, z.size))
    function(*of_rows, *results)
    with np.errstate(over="ignore"):
        kind = np.result_type(z, np.float32)
        return tuple(each.reshape(z.shape).astype(kind, copy=False) for each in results)


def _are_rows(y: Any, z: Any) -> bool:
    """Whether both are vectors of float64 that the core reads as they are."""
    if not (isinstance(y, np.ndarray) and isinstance(z, np.ndarray) and y.shape == z.shape):
        return False
    is_exact = y.dtype == np.float64 and z.dtype == np.float64
    return y.ndim == 1 and is_exact and y.flags.c_contiguous and z.flags.c_contiguous


def log_mean(y: Array, weights: Array) -> float | None:
    """log Σsy/Σs, the best constant of a deviance with mean exp(z); None if the mean is 0."""
    total = float(np.sum(weights))
    mean = float(np.sum(weights * y)) / total if total > 0 else 0.0
    return float(np.log(mean)) if 0 < mean < np.inf else None


def p_log_p(p: Array) -> Array:
    """p·log p, and 0 at 0; for p below 0 by rounding, a little above 0, on the safe side."""
    return p * np.log(np.maximum(p, np.finfo(p.dtype).tiny))
