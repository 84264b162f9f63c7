"""The marginal likelihood of a Gaussian process, and kernels as functions of their parameters.

y ~ N(0, K(θ) + diag(ν/s)) with noise ν and weights s; its logarithm and the gradient in θ cost n³.
A row of weight s counts as s equal rows: their common likelihood is that of one row with noise ν/s,
times (2πν)^(−(s−1)/2)/√s. Kernels of gapless and of scikit-learn look the same from here.

References
----------
Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, MIT Press: algorithm 2.1 and
section 5.4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import lapack

from ..kernel_matrix import KernelMatrix
from ..kernels import Callable, Kernel
from ..solvers.positive_definite import call_lapack
from ..threads import single_blas

Array = np.ndarray

# Parameters of kernels are looked for within so many decades of where they begin.
DECADES = 6
# The step of a difference in the logarithm of a parameter.
STEP = 1e-6


class Parametrised:
    """A kernel of gapless as a function of the logarithms of its positive parameters."""

    def __init__(self, kernel: Kernel, X: Any, start: Array | None = None):
        self.kernel = kernel.resolve(X)
        self.start = self.theta if start is None else start

    @property
    def theta(self) -> Array:
        """Logarithms of the parameters."""
        return self.kernel.log_parameters

    @property
    def bounds(self) -> Array:
        """Where they are looked for, (p, 2)."""
        reach = DECADES * np.log(10)
        return np.column_stack([self.start - reach, self.start + reach])

    def at(self, theta: Array) -> Any:
        """The kernel of other parameters."""
        moved = Parametrised.__new__(Parametrised)
        moved.kernel, moved.start = self.kernel.with_log_parameters(theta), self.start
        return moved

    def gram(self, X: Any) -> Array:
        """Values between all rows, noise included: a new float64 array."""
        matrix = KernelMatrix(self.kernel, X)
        K = matrix.whole()
        return matrix.block(np.arange(matrix.n)) if K is None else K

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
        """The kernel for those who want no parameters."""
        return self.kernel

    def check(self) -> None:
        """Warn of parameters at their bounds; ours lie far from where they began."""


class Theirs:
    """The same for a kernel of scikit-learn."""

    def __init__(self, kernel: Any):
        self.kernel = kernel

    @property
    def theta(self) -> Array:
        """Logarithms of the parameters."""
        return self.kernel.theta

    @property
    def bounds(self) -> Array:
        """Where they are looked for, (p, 2)."""
        return self.kernel.bounds

    def at(self, theta: Array) -> Any:
        """The kernel of other parameters."""
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
        """The variance that every row has of its own: what comparing a row with a copy lacks."""
        row = X[:1]
        return max(float(self.kernel.diag(row)[0] - self.kernel(row, row)[0, 0]), 0.0)

    def times(self, X: Any, Z: Any, coef: Array) -> Array:
        """`between` times coefficients, by blocks."""
        return self.plain().times(X, Z, coef)

    def plain(self) -> Kernel:
        """The kernel for those who want no parameters; without its noise."""
        return Callable(self.kernel)

    def check(self) -> None:
        """Warn of parameters at their bounds."""
        self.kernel._check_bounds_params()


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
        """Whether rows count differently."""
        return bool(np.any(self.weights != 1))

    def posterior(self, kernel: Any) -> Posterior | None:
        """The process at these parameters of the kernel; None if K is not positive definite."""
        K = kernel.gram(self.X)
        own = kernel.noise(self.X) if self.is_weighted else 0.0
        added = (self.noise + own) / self.weights - own
        K[np.diag_indices(len(K))] += added
        L, failed = call_lapack(lapack.dpotrf, np.array(K.T, order="F"), 1, 1)
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
    def log_likelihood(self) -> float:
        """log p(y), summed over the targets."""
        n, outputs = self.c.shape
        value = -0.5 * float(np.sum(self.process.y * self.c))
        value -= outputs * (float(np.log(np.diag(self.L)).sum()) + 0.5 * n * np.log(2 * np.pi))
        return value - outputs * self._of_repeats()

    def _of_repeats(self) -> float:
        """What rows of weight s lack in the likelihood of one row: see the top of this file."""
        s, noise = self.process.weights, self._noise
        if not self.process.is_weighted or np.any(noise <= 0):
            return 0.0
        return 0.5 * float(np.sum((s - 1) * np.log(2 * np.pi * noise) + np.log(s)))

    @property
    def _noise(self) -> Array:
        return self.process.noise + self.kernel.noise(self.process.X)

    def gradient(self) -> Array:
        """Of the log likelihood in the parameters: ½ tr((ccᵀ − K⁻¹) dK)."""
        gradients = self.kernel.gradients(self.process.X)
        if not gradients:
            return np.zeros(0)
        outputs = self.c.shape[1]
        inverse, _ = call_lapack(lapack.dpotri, self.L.copy(order="F"), 1)
        inverse = np.tril(inverse)
        inverse += np.tril(inverse, -1).T
        with single_blas():
            inner = self.c @ self.c.T - outputs * inverse
        found = np.array([0.5 * float(np.sum(inner * dK)) for dK in gradients])
        if self.process.is_weighted:
            found += self._gradient_of_noise(np.diag(inner))
        return found

    def _gradient_of_noise(self, inner: Array) -> Array:
        """What the weights change: noise ν/s in place of ν, and the repeats."""
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
