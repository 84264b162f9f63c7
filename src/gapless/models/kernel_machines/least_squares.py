"""Kernel least squares in its rows: one system of linear equations, solved to the last digit.

min ½Σ sᵢ(yᵢ − f(xᵢ) − b)² + ½λ‖f‖²  has  f = Σ cᵢ k(xᵢ, ·)  with

    (K + λS⁻¹) c + b1 = y,        and 1ᵀc = 0 where there is a bias b.

Large systems are factorised in float32, which takes half the time and half the memory, and the
factor preconditions conjugate gradients on float64 residuals: a few products with K restore all
digits. The products recompute K, block by block. Called by kernel ridge and by Gaussian processes.

References
----------
Saunders, Gammerman and Vovk (1998), Ridge regression learning algorithm in dual variables, ICML.
Carson and Higham (2018), Accelerating the solution of linear systems by iterative refinement in
three precisions, SIAM J. Sci. Comput. 40.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg import blas, lapack

from ..._ground.design import Design
from ..._ground.distinct_rows import DistinctRows
from ..._ground.interrupt import check
from ..._ground.lapack import call_lapack, potrf
from ..._ground.stored import all_finite
from ..._ground.threads import single_blas
from ..._ground.validation import Training
from ...certificates import Certificate, Conditions, Violation, judged
from ...problem import KernelMatrix
from ...solvers import EPS, Cholesky, blocked_cholesky
from ...unseen import MergedRows, left_together

Array = np.ndarray

# What to do where K does not fit the memory.
WITHOUT_GRAM = (
    'use fewer rows, or RiskRegressor(kernel=…, approximation="auto") (for classes, '
    "KernelLogisticRegression), which uses only some columns of the matrix"
)
# Up to this many rows K is kept in float64: its factor takes a fifth of a second.
SMALL = 2000
# Steps of conjugate gradients with a float32 factor before float64 takes over.
MOST_STEPS = 40
# Up to this many columns are solved one at a time, which is faster than LAPACK's way.
FEW_COLUMNS = 5
# A residual of the first share of its terms is as small as it gets, one of the second good enough.
ROUNDING, ENOUGH = 4 * EPS, 1e-12
# After this many steps in a row that do not halve the residual, nothing more is gained.
PATIENCE = 3


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Coefficients c (n, K) and biases b (K,), and f at the rows without the bias, Kc.

    `is_solved` is False if the equations have no solution up to rounding; c is then the least-norm
    vector that comes nearest.
    """

    c: Array
    b: Array
    Kc: Array
    is_solved: bool = True


@dataclass(frozen=True, eq=False)
class KernelSquares:
    """Distinct rows with their kernel: what is minimised, except for the strength λ.

    Parameters
    ----------
    kernel : Kernel
        With all its parameters numbers. Its white noise, if it has any, is not part of K here: it
        belongs to λ, because weight 2 halves it as it halves λ.
    X : array-like or sparse matrix
        The rows, as the kernel takes them.
    rows : ndarray of int, shape (n,)
        Which of them these are; all of them if None.
    y : ndarray of shape (n, K)
        Targets.
    weights : ndarray of shape (n,)
        Sample weights > 0.
    fit_bias : bool
        Whether there is a bias without a penalty.
    within : ndarray of shape (n,), or 0.0
        The mean square by which targets differ from y, where y is the mean of several rows.
    """

    kernel: Any
    X: Any
    rows: Array | None
    y: Array
    weights: Array
    fit_bias: bool = False
    within: Array | float = 0.0

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    def matrix(self, dtype: Any) -> KernelMatrix:
        """K, with the noise, as computed in that precision."""
        if self.rows is None:
            return KernelMatrix(self.kernel, self.X, dtype=dtype)
        if self.kernel.name == "precomputed":
            return KernelMatrix(self.kernel, self.X, dtype=dtype).only(self.rows)
        # Excluded rows must not even shift the origin.
        return KernelMatrix(self.kernel, Design(self.X).rows(self.rows).X, dtype=dtype)

    def new_gram(self, dtype: Any = np.float64) -> Array:
        """K in that precision, a new array; MemoryError if it does not fit."""
        K = self.matrix(dtype).required(WITHOUT_GRAM)
        # LAPACK prints, and may crash, if a number is not finite; single precision is only ever a
        # try.
        if dtype == np.float64 and not all_finite(K):
            raise ValueError(
                f"the kernel {self.kernel.name} overflows float64 for some rows of X; rescale the "
                "features, e.g. with StandardScaler()."
            )
        if self.kernel.noise:
            K[np.diag_indices(self.n)] -= self.kernel.noise
        return K

    @cached_property
    def _gram(self) -> Array:
        return self.new_gram()

    @cached_property
    def _exact(self) -> KernelMatrix:
        return self.matrix(np.float64)

    @cached_property
    def diagonal(self) -> Array:
        """Kᵢᵢ, float64."""
        return self._exact.diagonal - self.kernel.noise

    def times(self, c: Array) -> Array:
        """Kc in float64 for c (n, K)."""
        if self.n <= SMALL:
            return Design(self._gram).times(np.ascontiguousarray(c))
        return self._exact.times(c) - self.kernel.noise * c

    @property
    def scale(self) -> float:
        """The objective without f, and with the best bias."""
        y = self.y
        if self.fit_bias:
            y = y - np.average(y, axis=0, weights=self.weights)
        return 0.5 * float(np.sum(self.weights[:, None] * y**2))

    @cached_property
    def is_convex(self) -> bool:
        """Whether K has no negative eigenvalue beyond rounding, by its kernel or by inspection."""
        if _is_trusted(self.kernel):
            return True
        if np.any(self.diagonal < 0):
            return False
        K = self.new_gram()
        shift = 64 * self.n * EPS * max(float(np.max(np.abs(np.diag(K)))), 1e-300)
        K[np.diag_indices(self.n)] += shift
        _, failed = call_lapack(potrf, K.T, 1, 0, 1)
        return failed == 0

    # ---- solving ---------------------------------------------------------------------------------

    def solve(self, strength: float) -> Coefficients:
        """The minimum for one strength λ ≥ 0."""
        with np.errstate(over="ignore"):
            softness = strength / self.weights
        if not all_finite(softness):
            raise ValueError(
                f"the penalty {strength:.3g} over the smallest weight, {self.weights.min():.3g}, "
                "overflows float64; lower alpha, or rescale sample_weight."
            )
        right = np.column_stack([self.y, np.ones(self.n)]) if self.fit_bias else self.y
        if self.n > SMALL:
            factor = Single(self._system(softness, np.float32))
            solved, is_good = self._refined(factor, softness, right)
            if is_good:
                return self._coefficients(*solved)
        exact = Cholesky(self._system(softness, np.float64))
        if exact.is_reliable:
            return self._coefficients(*self._refined(exact.solve, softness, right)[0])
        return self._coefficients(*self._nearest(softness, right), is_solved=False)

    def _system(self, softness: Array, dtype: Any) -> Array:
        """K + λS⁻¹."""
        K = self._gram.copy() if self.n <= SMALL else self.new_gram(dtype)
        K[np.diag_indices(self.n)] += softness.astype(dtype)
        return K

    def _refined(
        self, precondition: Callable[[Array], Array], softness: Array, right: Array
    ) -> tuple[tuple[Array, Array], bool]:
        """x with (K + diag)x = right, Kx, and whether all digits are there.

        Conjugate gradients for all columns side by side; each has its own step length.
        """
        x, Kx, r = np.zeros_like(right), np.zeros_like(right), right
        direction, before = np.zeros_like(right), np.ones(right.shape[1])
        length, norm, idle = _norms(r), np.zeros(right.shape[1]), 0
        for _ in range(MOST_STEPS):
            check()
            z = precondition(r)
            if not np.all(np.isfinite(z)):
                return (x, Kx), False
            along = _sums(r, z)
            direction = z + _ratio(along, before) * direction
            moved = self.times(direction)
            product = moved + softness[:, None] * direction
            step = _ratio(along, _sums(direction, product))
            x += step * direction
            Kx += step * moved
            r = right - Kx - softness[:, None] * x
            norm = np.maximum(norm, _ratio(_norms(product), _norms(direction)))
            before, last, length = along, length, _norms(r)
            size = norm * _norms(x) + _norms(right)
            idle = idle + 1 if np.all((length <= ROUNDING * size) | (length > last / 2)) else 0
            if np.all(length <= ROUNDING * size) or idle == PATIENCE:
                break
        # What counts is the rounding of one product, not of a sum of products.
        return (x, self.times(x)), bool(np.all(length <= ENOUGH * size))

    def _nearest(self, softness: Array, right: Array) -> tuple[Array, Array]:
        """The least-norm x that comes nearest to solving singular equations."""
        K = self._system(softness, np.float64)
        x = call_lapack(_lstsq, K, right)
        return x, self.times(x)

    def _coefficients(self, x: Array, Kx: Array, is_solved: bool = True) -> Coefficients:
        """The coefficients, the bias eliminated: 1ᵀc = 0."""
        if not self.fit_bias:
            return Coefficients(x, np.zeros(x.shape[1]), Kx, is_solved)
        total = x[:, -1].sum()
        b = x[:, :-1].sum(axis=0) / total if total else np.zeros(x.shape[1] - 1)
        return Coefficients(x[:, :-1] - x[:, -1:] * b, b, Kx[:, :-1] - Kx[:, -1:] * b, is_solved)

    def null(self) -> Coefficients:
        """f = 0 with the best bias."""
        b = np.average(self.y, axis=0, weights=self.weights)
        zeros = np.zeros_like(self.y)
        return Coefficients(zeros, b if self.fit_bias else 0.0 * b, zeros, False)

    def certify(self, found: Coefficients, strengths: Array, tol: float) -> Certificate:
        """How far the coefficients are from the best possible; one λ for each target."""
        proof = Proof.of(self.y, self.weights, found, strengths, self.fit_bias)
        # f = 0 is what is left when time is up, so nothing more is computed.
        is_null = not np.any(found.c)
        if is_null or self.is_convex:
            cure = "raise time_limit" if is_null else "raise alpha, or fit again"
            return proof.certificate(self.scale, tol, cure)
        return proof.stationary(self.scale, tol)


class TrainingRows:
    """The distinct rows (x, y) of the data, and what kernel least squares minimises on them.

    Parameters
    ----------
    data : Training
        All rows.
    """

    def __init__(self, data: Training):
        self.data, y = data, data.y.reshape(len(data.y), -1)
        self.distinct = DistinctRows.of(data.X, data.weights, data.y)
        self.first, self.weights = self.distinct.first, self.distinct.weights
        self.y = y[self.first]

    def squares(self, kernel: Any, fit_bias: bool) -> KernelSquares:
        """What kernel ridge minimises on them."""
        return KernelSquares(kernel, self.data.X, self.first, self.y, self.weights, fit_bias)

    @cached_property
    def units(self) -> MergedRows:
        """Which of the distinct rows share an x, and are left out together."""
        labels = left_together(Design(self.data.X), self.data.y, self.data.weights > 0)
        return MergedRows.by(np.unique(labels[self.first], return_inverse=True)[1], self.weights)

    def unit_squares(self, kernel: Any, fit_bias: bool) -> KernelSquares:
        """The same with the rows of one x as one, whose target is the mean of theirs."""
        units = self.units
        means = units.means(self.y, self.weights)
        off = (self.y - means[units.inverse]) ** 2
        return KernelSquares(
            kernel,
            self.data.X,
            self.first[units.first],
            means,
            units.weights,
            fit_bias,
            within=units.means(off.mean(axis=1), self.weights),
        )

    def spread(self, c: Array) -> Array:
        """Coefficients (n, K) of distinct rows spread to all rows, equal ones by their weights."""
        return self.distinct.shares(self.data.weights)[:, None] * c[self.distinct.inverse]

    def gather(self, of_all: Array) -> Array:
        """Coefficients of all rows (N, K), summed over equal ones."""
        return self.distinct.sums(of_all)


@dataclass(frozen=True, eq=False)
class Proof:
    """P at coefficients c, D at the dual point θ = λc, and the effect of rounding on them.

    P − D = ½Σ(√s·r − λc/√s)² − λbΣc with r = y − Kc − b: the squared residual of the equations.
    """

    primal: float
    dual: float
    rounding: float
    missed: float
    conditions: Conditions

    @classmethod
    def of(
        cls, y: Array, weights: Array, found: Coefficients, strengths: Array, fit_bias: bool
    ) -> Proof:
        """From targets (n, K), weights (n,) and one λ for each target."""
        c, b, s = found.c, found.b, weights[:, None]
        r, theta = y - found.Kc - b, strengths * c
        squares, energy = 0.5 * s * r**2, 0.5 * strengths * c * found.Kc
        linear, conjugate = theta * y, 0.5 * theta**2 / s
        primal = float(np.sum(squares) + np.sum(energy))
        dual = float(np.sum(linear) - np.sum(conjugate) - np.sum(energy))
        terms = sum(float(np.sum(np.abs(t))) for t in (squares, energy, linear, conjugate))
        rounding = (8 + np.log2(1 + len(y))) * EPS * terms
        feasibility = Violation()
        if fit_bias:
            # Σθ = 0 except for rounding; a bias up to twice as large as b changes D by no more.
            total = np.abs(theta.sum(axis=0))
            rounding += float(np.sum(total * (2 * np.abs(b) + np.max(np.abs(y), axis=0))))
            feasibility = Violation.largest(total)
        missed = 0.5 * (np.sqrt(s) * r - theta / np.sqrt(s)) ** 2
        conditions = Conditions(feasibility=feasibility, complementarity=Violation.largest(missed))
        return cls(primal, dual, rounding, float(missed.sum()), conditions)

    def certificate(self, scale: float, tol: float, cure: str) -> Certificate:
        """The verdict if K has no negative eigenvalues; the cure is for a large gap."""
        return judged(
            self.primal,
            self.dual,
            scale=scale,
            tol=tol,
            rounding=self.rounding,
            exact=True,
            kkt=self.conditions,
            cure=cure,
        )

    def stationary(self, scale: float, tol: float) -> Certificate:
        """With negative eigenvalues of K there is no minimum, only a solution of the equations."""
        kind, solved = "stationary", "its gradient is 0 here"
        if not self.missed <= tol * scale:
            kind, solved = "stopped", f"its gradient is not 0 here ({self.missed:.2g})"
        return Certificate(
            kind=kind,
            verdict=f"{kind}: the kernel matrix has negative eigenvalues, so the objective has no "
            f"minimum; {solved}. Use a kernel that is positive semi-definite.",
            primal=self.primal,
            dual=-np.inf,
            gap=np.inf,
            relative_gap=np.inf,
            tolerance=tol * scale,
            scale=scale,
            kkt=self.conditions,
        )


class Single:
    """Approximately the inverse of a positive definite float32 matrix, which is overwritten.

    Calls return NaN if it is not positive definite in that precision.
    """

    def __init__(self, H: Array):
        self.factor = blocked_cholesky(H)

    def __call__(self, r: Array) -> Array:
        """H⁻¹r for r of shape (n, K), whatever the size of its columns."""
        if self.factor is None:
            return np.full_like(r, np.nan)
        size = np.maximum(np.max(np.abs(r), axis=0), np.finfo(float).tiny)
        right = (r / size).astype(np.float32)
        # The transpose of the lower factor is the upper one in LAPACK's order.
        upper = self.factor.T
        with single_blas():
            if r.shape[1] > FEW_COLUMNS:
                return lapack.spotrs(upper, right, lower=0)[0] * size
            halves = [blas.strsv(upper, column, lower=0, trans=1) for column in right.T]
            return np.column_stack([blas.strsv(upper, half, lower=0) for half in halves]) * size


def _is_trusted(kernel: Any) -> bool:
    """Whether K is known to have no negative eigenvalue; the user's kernels are inspected."""
    is_ours = type(kernel).__module__.startswith("gapless.")
    return kernel.is_mercer and is_ours and all(map(_is_trusted, kernel._parts().values()))


def _lstsq(K: Array, right: Array) -> Array:
    return scipy.linalg.lstsq(K, right, check_finite=False)[0]


def _sums(a: Array, b: Array) -> Array:
    return np.einsum("ij,ij->j", a, b)


def _norms(a: Array) -> Array:
    return np.sqrt(_sums(a, a))


def _ratio(a: Array, b: Array) -> Array:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
