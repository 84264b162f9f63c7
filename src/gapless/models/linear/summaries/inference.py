"""Standard errors of coefficients, where theory knows them: maximum likelihood without a penalty.

For a loss that is φ times minus a log-likelihood, the covariance of the estimate is φ·I⁻¹, where
I = AᵀDA is the expected Hessian of the objective in the coefficients and the bias. For least
squares with normal errors that is exact, and the t-distribution accounts for the estimate of
φ = σ²; for others it holds as the rows become many.

References
----------
McCullagh and Nelder (1989), Generalized Linear Models, sections 2.5 and 9.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from ....problem import FreeColumns, Parameters, Problem, eigenvectors, joint_hessian
from ....unseen import Fitted, NotAvailable

Array = np.ndarray

# With more coefficients the information matrix takes too long.
MOST_COEFFICIENTS = 2000
# Directions with a smaller part of the information are not determined by the data; what has more
# than a trace of such a direction is not, either.
UNDETERMINED, TRACE = 1e-11, 1e-5


@dataclass(frozen=True, eq=False)
class Inference:
    """Standard errors of coefficients (K, d) and biases (K,), NaN where the data determine none.

    `degrees` of freedom (K,) are those of the t-distribution, ∞ for the normal one.
    """

    of_w: Array
    of_b: Array
    degrees: Array
    how: str

    def interval(self, value: Array, error: Array, level: float) -> tuple[Array, Array]:
        """Low and high ends for coefficients (K, …) with these standard errors."""
        tail = (1 + level) / 2
        reach = np.array([ndtri(tail) if np.isinf(n) else stdtrit(n, tail) for n in self.degrees])
        half = (reach * error.T).T
        return value - half, value + half

    def p_values(self, value: Array, error: Array) -> Array:
        """The chance of a value as far from 0, if the coefficient were 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = -np.abs(value) / error
        each = [ndtr(row) if np.isinf(n) else stdtr(n, row) for row, n in zip(t, self.degrees)]
        return 2 * np.array(each)


def inferred(fitted: Fitted) -> Inference:
    """The standard errors of a fit, or `NotAvailable` with the reason why theory knows none."""
    for problem in fitted.problems:
        _check(problem, fitted)
    parts = [_of_problem(p, q, fitted) for p, q in zip(fitted.problems, fitted.parameters)]
    of_w, of_b, degrees = (np.concatenate(part) for part in list(zip(*parts))[:3])
    return Inference(of_w, of_b, degrees, parts[0][3])


def _check(problem: Problem, fitted: Fitted) -> None:
    loss = problem.loss
    if len(problem.free) < problem.d:
        has_bounds = problem.coordinates is not None and problem.coordinates.has_bounds
        what = "constraints move" if has_bounds else "the penalty moves"
        raise NotAvailable(f"{what} the coefficients, which the usual theory does not account for")
    is_regression = loss.task == "regression"
    if loss.dispersion is None or (is_regression and fitted.has_classes):
        raise NotAvailable(f"the {loss.name} loss of these targets is not a likelihood")
    if fitted.has_classes and not np.array_equal(problem.weights, fitted.weights):
        raise NotAvailable("class weights are not counts of rows")
    if (problem.d + 1) * (problem.outputs or 1) > MOST_COEFFICIENTS:
        raise NotAvailable(f"there are more than {MOST_COEFFICIENTS} coefficients")


def _of_problem(
    problem: Problem, at: Parameters, fitted: Fitted
) -> tuple[Array, Array, Array, str]:
    """Errors (K, d) and (K,), degrees of freedom (K,), and how they were found."""
    z = problem.predictions(at.w, at.b)
    if problem.loss.task == "multiclass":
        return _of_classes(problem, z)
    rows = float(fitted.weights[problem.weights > 0].sum())
    of_w, of_b, degrees, spread = [], [], [], np.nan
    for y, score in zip(problem.y.reshape(problem.n, -1).T, z.reshape(problem.n, -1).T):
        # The curvature is linear in y, so its mean over y is its value at the mean of y.
        is_regression = problem.loss.task == "regression"
        expected = problem.loss.inverse_link(score) if is_regression else y
        curvature = problem.loss.curvature(expected, score)
        omega = _weighted(problem, curvature)
        columns, mean = _centred(problem, omega)
        information = _Information(columns.gram(omega))
        phi, free = float(problem.loss.dispersion or 1.0), np.inf
        if np.isnan(phi):
            free = rows - information.rank
            if not free > 0:
                raise NotAvailable(
                    f"{information.rank} coefficients of {rows:g} rows leave nothing to measure "
                    "the noise by"
                )
            slopes = problem.loss.gradient(y, score)
            ratio = np.divide(slopes**2, curvature, out=np.zeros_like(slopes), where=curvature > 0)
            phi = float(np.sum(_weighted(problem, ratio))) / free
            spread = float(np.sqrt(phi))
        errors = np.sqrt(phi) * information.errors(_functionals(columns.m, mean))
        of_w.append(errors[: problem.d])
        of_b.append(errors[-1] if problem.fit_bias else 0.0)
        degrees.append(free)
    return np.array(of_w), np.array(of_b), np.array(degrees), _words(problem, degrees[0], spread)


def _of_classes(problem: Problem, z: Array) -> tuple[Array, Array, Array, str]:
    """Softmax: only differences of scores count, so the errors are of centred coefficients."""
    K = z.shape[1]
    a, f = problem.loss.hessian_factors(problem.y, z)
    s = problem.weights[:, None]
    columns, mean = _centred(problem, problem.weights)
    m = columns.m
    H = joint_hessian(s * a, None if f is None else np.sqrt(s) * f, columns).reshape(K, m, K, m)
    # An orthonormal basis of the scores that sum to 0.
    basis = np.linalg.qr(np.eye(K)[:, 1:] - 1.0 / K)[0]
    reduced = np.einsum("ka,kmln,lb->ambn", basis, H, basis, optimize=True)
    information = _Information(reduced.reshape((K - 1) * m, (K - 1) * m))
    L = _functionals(m, mean)
    errors = np.stack([information.errors(np.kron(own, L)) for own in basis])
    errors *= np.sqrt(float(problem.loss.dispersion or 1.0))
    of_b = errors[:, -1] if problem.fit_bias else np.zeros(K)
    return errors[:, : problem.d], of_b, np.full(K, np.inf), _words(problem, np.inf, 0.0)


def _weighted(problem: Problem, values: Array) -> Array:
    """Values (n,) times the weights of the rows; 0 for rows of weight 0, whatever they hold."""
    return np.where(problem.weights > 0, problem.weights * values, 0.0)


def _centred(problem: Problem, omega: Array) -> tuple[FreeColumns, Array | None]:
    """The columns, centred if there is a bias: large means would hide all else; and the means."""
    if not problem.fit_bias:
        return FreeColumns(problem.design, False), None
    mean = problem.design.transposed_times(omega) / omega.sum()
    return FreeColumns(problem.design.shifted(mean), True), mean


def _functionals(m: int, mean: Array | None) -> Array:
    """What is wanted of the parameters of centred columns, a row for each: w, then the bias.

    The bias of the columns as they are is that of the centred ones minus mean·w.
    """
    L = np.eye(m)
    if mean is not None:
        L[-1, :-1] = -mean
    return L


class _Information:
    """An information matrix, whose inverse is a covariance where the data determine it."""

    def __init__(self, matrix: Array):
        size = np.sqrt(np.maximum(np.diag(matrix), 0.0))
        # The size of an empty column is taken as 1, and its row and column of the matrix are 0.
        self.units = np.where(size > 0, 1.0 / np.where(size > 0, size, 1.0), 1.0)
        values, vectors = eigenvectors(matrix * np.multiply.outer(self.units, self.units))
        is_known = values > UNDETERMINED * max(float(values[-1]), 0.0)
        self.rank = int(np.sum(is_known))
        self.roots = vectors[:, is_known] / np.sqrt(values[is_known])
        self.unknown = vectors[:, ~is_known]

    def errors(self, L: Array) -> Array:
        """Standard errors of linear functionals of the parameters, the rows of L; NaN for none."""
        scaled = L * self.units
        sizes = np.linalg.norm(scaled, axis=1)
        is_lost = np.linalg.norm(scaled @ self.unknown, axis=1) > TRACE * sizes
        return np.where(is_lost, np.nan, np.linalg.norm(scaled @ self.roots, axis=1))


def _words(problem: Problem, degrees: float, spread: float) -> str:
    """How errors were found, in a sentence."""
    if np.isinf(degrees):
        name = problem.loss.name
        likelihood = "Poisson" if name == "poisson" else name
        return (
            f"from the information matrix of the {likelihood} likelihood, for many rows; "
            "intervals are normal."
        )
    noise = "σ" if problem.loss.name == "squared" else "√φ"
    return (
        f"from the information matrix, with {noise} = {spread:.4g} from the residuals; intervals "
        f"by Student's t with {degrees:g} degrees of freedom."
    )
