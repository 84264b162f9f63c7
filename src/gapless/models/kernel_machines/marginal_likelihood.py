"""The marginal likelihood of a Gaussian process, and the search for the kernel that maximises it.

y ~ N(0, K(θ) + diag(ν/s)) with noise ν and weights s; its logarithm and the gradient in θ cost n³.
A row of weight s counts as s equal rows: their common likelihood is that of one row with noise ν/s,
times (2πν)^(−(s−1)/2)/√s. `Parametrised` and `Theirs` are kernels of gapless and of scikit-learn as
functions of their parameters θ, with the same interface.

References
----------
Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, MIT Press: algorithm 2.1 and
section 5.4.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.optimize
from scipy.linalg import lapack
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ..._ground.interrupt import TimeLimit, check, seconds_left, time_limit
from ..._ground.lapack import call_lapack, potrf, potri
from ..._ground.threads import single_blas
from ...kernels import Callable, Constant, Kernel, Product, Scaled, Sum, White
from ...problem import KernelMatrix
from ...solvers import Trace
from .least_squares import WITHOUT_GRAM

Array = np.ndarray

# Parameters of kernels are searched within this many decades of where they begin.
DECADES = 6
# If a kernel is off from the size of the targets by more decades, the search begins elsewhere.
FAR = 3
# The step of a finite difference in the logarithm of a parameter.
STEP = 1e-6
# A logarithm this close to its bound is at it.
AT_BOUND = 1e-3


class Parametrised:
    """A kernel of gapless as a function of the logarithms of its positive parameters."""

    def __init__(
        self, kernel: Kernel, X: Any, weights: Array | None = None, start: Array | None = None
    ):
        self.kernel = kernel.resolve(X, weights)
        self.start = self.theta if start is None else start

    def near(self, size: float, X: Any) -> Parametrised:
        """The kernel to start with for targets of this mean square: its own size if that is near.

        If all its parts have a factor, they are multiplied alike, so that the fit does not depend
        on the unit of the targets.
        """
        is_factor, own = factors(self.kernel), float(np.mean(self.kernel.diagonal(X)))
        if is_factor is None or not (size > 0 and own > 0):
            return self
        if abs(np.log10(size / own)) <= FAR:
            return self
        start = self.theta + np.where(is_factor, np.log(size / own), 0.0)
        return Parametrised(self.kernel.with_log_parameters(start), X, start=start)

    @property
    def theta(self) -> Array:
        """Logarithms of the parameters; −inf for those that are 0."""
        with np.errstate(divide="ignore"):
            return self.kernel.log_parameters

    @property
    def bounds(self) -> Array:
        """The search range, (p, 2)."""
        reach = DECADES * np.log(10)
        return np.column_stack([self.start - reach, self.start + reach])

    def at(self, theta: Array) -> Any:
        """The kernel with other parameters."""
        moved = Parametrised.__new__(Parametrised)
        moved.kernel, moved.start = self.kernel.with_log_parameters(theta), self.start
        return moved

    def gram(self, X: Any) -> Array:
        """Values between all rows, noise included: a new float64 array."""
        return KernelMatrix(self.kernel, X).required(WITHOUT_GRAM)

    def between(self, X: Any, Z: Any) -> Array:
        """Values between rows and others, float64."""
        return np.asarray(self.kernel.gram(X, Z), dtype=float)

    def diagonal(self, X: Any) -> Array:
        """Values of rows with themselves, noise included."""
        return self.kernel.diagonal(X)

    def gradients(self, X: Any) -> list[Array]:
        """Derivatives of `gram` in each parameter."""
        return self.kernel.gram_gradients(X)

    def noise(self, X: Any) -> float:
        """The variance that every row has of its own."""
        return self.kernel.noise

    def times(self, X: Any, Z: Any, coef: Array) -> Array:
        """`between` times coefficients, by blocks."""
        return self.kernel.times(X, Z, coef)

    def plain(self) -> Kernel:
        """The kernel without parameters."""
        return self.kernel

    def check(self) -> None:
        """Warn about parameters at their bounds, as scikit-learn does."""
        low, high = self.bounds.T
        for name, theta, a, b in zip(names(self.kernel), self.theta, low, high, strict=True):
            if min(theta - a, b - theta) <= AT_BOUND:
                side, other = ("lower", "smaller") if theta - a < b - theta else ("upper", "larger")
                warnings.warn(
                    f"The optimal value found for parameter {name} of the kernel, "
                    f"{np.exp(theta):.3g}, is at the {side} bound of the search, {DECADES} decades "
                    f"from its start; begin with a {other} value, or leave that part of the kernel "
                    "out.",
                    ConvergenceWarning,
                    stacklevel=4,
                )


class Theirs:
    """The same for a kernel of scikit-learn."""

    def __init__(self, kernel: Any):
        self.kernel = kernel

    def near(self, size: float, X: Any) -> Theirs:
        """Itself: its bounds are the caller's."""
        return self

    @property
    def theta(self) -> Array:
        """Logarithms of the parameters."""
        return self.kernel.theta

    @property
    def bounds(self) -> Array:
        """The search range, (p, 2)."""
        return self.kernel.bounds

    def at(self, theta: Array) -> Any:
        """The kernel with other parameters."""
        return Theirs(self.kernel.clone_with_theta(theta))

    def gram(self, X: Any) -> Array:
        """Values between all rows, noise included."""
        return np.array(self.kernel(X), dtype=float)

    def between(self, X: Any, Z: Any) -> Array:
        """Values between rows and others."""
        return self.kernel(X, Z)

    def diagonal(self, X: Any) -> Array:
        """Values of rows with themselves, noise included."""
        return self.kernel.diag(X)

    def gradients(self, X: Any) -> list[Array]:
        """Derivatives of `gram` in each parameter."""
        return list(np.moveaxis(self.kernel(X, eval_gradient=True)[1], 2, 0))

    def noise(self, X: Any) -> float:
        """The variance that every row has of its own: lacking between a row and its copy."""
        row = X[:1]
        return max(float(self.kernel.diag(row)[0] - self.kernel(row, row)[0, 0]), 0.0)

    def times(self, X: Any, Z: Any, coef: Array) -> Array:
        """`between` times coefficients, by blocks."""
        return self.plain().times(X, Z, coef)

    def plain(self) -> Kernel:
        """The kernel without parameters, and without its noise."""
        return Callable(self.kernel)

    def check(self) -> None:
        """Warn of parameters at their bounds."""
        self.kernel._check_bounds_params()


def factors(kernel: Kernel) -> Array | None:
    """Which of the parameters multiply the kernel, if all of them together do; None if not."""
    if isinstance(kernel, (White, Constant)):
        return np.array([True])
    if isinstance(kernel, Scaled):
        return np.array([True] + [False] * len(kernel.kernel.log_parameters))
    if not isinstance(kernel, (Sum, Product)):
        return None
    left, right = factors(kernel.left), factors(kernel.right)
    if isinstance(kernel, Sum):
        return None if left is None or right is None else np.concatenate([left, right])
    if left is not None:
        return np.concatenate([left, np.zeros(len(kernel.right.log_parameters), bool)])
    if right is not None:
        return np.concatenate([np.zeros(len(kernel.left.log_parameters), bool), right])
    return None


def names(kernel: Kernel) -> list[str]:
    """Names of the parameters whose logarithms are fitted, as `Kernel.replace` takes them."""
    found = list(kernel.positive_parameters)
    for part, inner in kernel._parts().items():
        found += [f"{part}__{name}" for name in names(inner)]
    return found


@dataclass(frozen=True, eq=False)
class Process:
    """Rows with targets (n, K), the noise of each row (n,) besides that of the kernel, and weights.

    Parameters
    ----------
    X : array-like
        The rows, as the kernel takes them.
    y : ndarray of shape (n, K)
        Targets, of mean 0.
    noise : ndarray of shape (n,)
        Variances ≥ 0 that are added to the diagonal.
    weights : ndarray of shape (n,)
        Weights > 0: how often each row counts.
    """

    X: Any
    y: Array
    noise: Array
    weights: Array

    @property
    def is_weighted(self) -> bool:
        """Whether rows have different weights."""
        return bool(np.any(self.weights != 1))

    @property
    def size(self) -> float:
        """The mean square of the targets."""
        total = float(self.weights.sum()) * self.y.shape[1]
        return float(np.sum(self.weights[:, None] * self.y**2)) / total

    def posterior(self, kernel: Any) -> Posterior | None:
        """The process at these parameters of the kernel; None if K is not positive definite."""
        K = kernel.gram(self.X)
        own = kernel.noise(self.X) if self.is_weighted else 0.0
        added = (self.noise + own) / self.weights - own
        K[np.diag_indices(len(K))] += added
        L, failed = call_lapack(potrf, np.array(K.T, order="F"), 1, 1)
        if failed:
            return None
        with single_blas():
            c, _ = lapack.dpotrs(L, self.y, lower=1)
        return Posterior(self, kernel, K, L, c)


@dataclass(frozen=True, eq=False)
class Posterior:
    """K + noise = LLᵀ and the coefficients c = (K + noise)⁻¹y of a process."""

    process: Process
    kernel: Any
    K: Array
    L: Array
    c: Array

    @cached_property
    def refined(self) -> Posterior:
        """The same with one more step of refinement of c."""
        with single_blas():
            step, _ = lapack.dpotrs(self.L, self.process.y - self.K @ self.c, lower=1)
        return replace(self, c=self.c + step)

    @property
    def fitted(self) -> Array:
        """The mean at the rows: K without its noise, times c."""
        noise = self._noise / self.process.weights
        with single_blas():
            return self.K @ self.c - noise[:, None] * self.c

    @property
    def log_likelihood(self) -> float:
        """log p(y), summed over the targets."""
        n, outputs = self.c.shape
        value = -0.5 * float(np.sum(self.process.y * self.c))
        value -= outputs * (float(np.log(np.diag(self.L)).sum()) + 0.5 * n * np.log(2 * np.pi))
        return value - outputs * self._of_repeats()

    def _of_repeats(self) -> float:
        """The correction of one row's likelihood for weight s: see the top of this file."""
        s, noise = self.process.weights, self._noise
        if not self.process.is_weighted or np.any(noise <= 0):
            return 0.0
        return 0.5 * float(np.sum((s - 1) * np.log(2 * np.pi * noise) + np.log(s)))

    @property
    def _noise(self) -> Array:
        return self.process.noise + self.kernel.noise(self.process.X)

    def gradient(self) -> Array:
        """The gradient of the log likelihood in the parameters: ½ tr((ccᵀ − K⁻¹) dK)."""
        check()
        gradients = self.kernel.gradients(self.process.X)
        if not gradients:
            return np.zeros(0)
        outputs = self.c.shape[1]
        inverse, _ = call_lapack(potri, self.L.copy(order="F"), 1)
        inverse = np.tril(inverse)
        inverse += np.tril(inverse, -1).T
        check()
        with single_blas():
            inner = self.c @ self.c.T - outputs * inverse
        found = np.array([0.5 * float(np.sum(inner * dK)) for dK in gradients])
        if self.process.is_weighted:
            found += self._gradient_of_noise(np.diag(inner))
        return found

    def _gradient_of_noise(self, inner: Array) -> Array:
        """The effect of the weights: noise ν/s in place of ν, and the repeats."""
        s, outputs = self.process.weights, self.c.shape[1]
        theta, X = self.kernel.theta, self.process.X
        steps = STEP * np.eye(len(theta))
        slopes = np.array(
            [
                (self.kernel.at(theta + step).noise(X) - self.kernel.at(theta - step).noise(X))
                / (2 * STEP)
                for step in steps
            ]
        )
        noise = self._noise
        of_diagonal = 0.5 * float(np.sum(inner * (1 / s - 1)))
        of_repeats = 0.0 if np.any(noise <= 0) else -0.5 * outputs * float(np.sum((s - 1) / noise))
        return slopes * (of_diagonal + of_repeats)


class LikelihoodSearch:
    """Searches for the kernel parameters that make the data most probable, and keeps the best."""

    def __init__(self, process: Process, kernel: Any, callback: Any):
        self.process, self.kernel, self.callback = process, kernel, callback
        self.best: Posterior | None = None
        self.slopes: Array | None = None
        self.trace, self.began = Trace(), time.monotonic()

    def run(self, model: Any) -> str:
        """Search as the model specifies; returns "found", or what ended it."""
        is_open = model.optimizer is not None and len(self.kernel.theta) > 0
        if is_open:
            _check_positive(self.kernel.theta)
            self.kernel = self.kernel.at(np.clip(self.kernel.theta, *self.kernel.bounds.T))
        # Without one factorisation there is no model, however short the time.
        began = time.monotonic()
        self._look(self.kernel, False)
        if not is_open:
            return "found"
        try:
            with time_limit(seconds_left(model.time_limit, began)):
                for start in self._starts(model):
                    self._maximise(model.optimizer, start)
                if self.slopes is None and self.best is not None:
                    self.slopes = self.best.gradient()
        except TimeLimit:
            return "time_limit"
        except KeyboardInterrupt:
            return "interrupted"
        return "found"

    @property
    def slope(self) -> float:
        """The largest slope of the likelihood towards parameters within the bounds."""
        if self.slopes is None or self.best is None:
            return np.inf
        return inward(self.slopes, self.best.kernel)

    def _starts(self, model: Any):
        yield self.kernel.theta
        rng, bounds = check_random_state(model.random_state), self.kernel.bounds
        if model.n_restarts_optimizer and not np.isfinite(bounds).all():
            raise ValueError(
                "Multiple optimizer restarts (n_restarts_optimizer>0) requires that all bounds are "
                "finite."
            )
        for _ in range(model.n_restarts_optimizer):
            yield rng.uniform(bounds[:, 0], bounds[:, 1])

    def _maximise(self, optimizer: Any, start: Array) -> None:
        if callable(optimizer):
            optimizer(self.objective, start, bounds=self.kernel.bounds)
            return
        result = scipy.optimize.minimize(
            self.objective, start, method="L-BFGS-B", jac=True, bounds=self.kernel.bounds
        )
        if result.status != 0:
            warnings.warn(
                f"lbfgs failed to converge (status={result.status}): {result.message}. Scale the "
                "data, or begin with other parameters of the kernel.",
                ConvergenceWarning,
                stacklevel=6,
            )

    def objective(self, theta, eval_gradient=True):
        """Minus the log likelihood, and minus its gradient."""
        check()
        value, slopes = self._look(self.kernel.at(np.asarray(theta, dtype=float)), eval_gradient)
        self.trace.record(-value, np.nan, time.monotonic() - self.began, self.trace.steps)
        self.trace.steps += 1
        if self.callback(self.trace, np.inf):
            raise TimeLimit("a callback requested a stop")
        return (-value, -slopes) if eval_gradient else -value

    def _look(self, kernel: Any, eval_gradient: bool) -> tuple[float, Array]:
        posterior = self.process.posterior(kernel)
        if posterior is None:
            return -np.inf, np.zeros(len(kernel.theta))
        value = posterior.log_likelihood
        slopes = posterior.gradient() if eval_gradient else None
        if self.best is None or value > self.best.log_likelihood:
            self.best, self.slopes = posterior, slopes
        return value, np.zeros(0) if slopes is None else slopes


def inward(slopes: Array, kernel: Any) -> float:
    """The largest slope of the likelihood towards parameters within the bounds."""
    theta, (low, high) = kernel.theta, kernel.bounds.T
    leads_out = ((theta <= low) & (slopes < 0)) | ((theta >= high) & (slopes > 0))
    return float(np.max(np.abs(np.where(leads_out, 0.0, slopes)), initial=0.0))


def _check_positive(theta: Array) -> None:
    if not np.all(np.isfinite(theta)):
        raise ValueError(
            "the kernel has a parameter that is 0, such as the factor of a part, and only "
            "positive ones can be fitted; leave that part out, or set optimizer=None."
        )
