"""`mcp_path` and `scad_path`: penalties that do not shrink large coefficients, along strengths."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, validate_params

from ..._ground.validation import Training, read_regression
from ...losses import Squared
from ...penalties import L1, MCP, SCAD, Penalty
from ...problem import Problem
from ...solvers import solve_path
from .lasso import Lasso
from .problems import regression_problems
from .strengths import falling_alphas

Array = np.ndarray

OPTIONS = {
    "X": ["array-like", "sparse matrix"],
    "y": ["array-like"],
    "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
    "eps": [Interval(Real, 0, None, closed="neither")],
    "sample_weight": ["array-like", None],
    "tol": [Interval(Real, 0, None, closed="left")],
    "max_iter": [Interval(Integral, 0, None, closed="left"), None],
}


@validate_params(
    {**OPTIONS, "gamma": [Interval(Real, 0, None, closed="neither")]},
    prefer_skip_nested_validation=True,
)
def mcp_path(X, y, *, gamma=3.0, alphas=100, eps=1e-3, sample_weight=None, tol=1e-6, max_iter=None):
    """Compute least squares with the minimax concave penalty along a path of strengths.

    Finds stationary points of  (1/2S) Σᵢ sᵢ (yᵢ − xᵢᵀw)² + Σⱼ ρ(|wⱼ|)  with S = Σsᵢ and
    ρ(t) = αt − t²/(2γ) for t ≤ γα, else ½γα²  (Zhang 2010), for every α. The objective is not
    convex: each strength starts from the solution of the one before it, the first from the lasso's.
    There is no bias: centre the data.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training data. Never written to.
    y : array-like of shape (n_samples,)
        Target values.
    gamma : float, default=3.0
        γ: a coefficient above γα is not shrunk; the lasso is γ = ∞. With columns of mean square 1
        and γ > 1 the objective is convex in each coefficient.
    alphas : int or array-like, default=100
        Number of strengths, from where all coefficients are 0 down; or the strengths.
    eps : float, default=1e-3
        The smallest strength of the path divided by the largest.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights sᵢ; 1 for None.
    tol : float, default=1e-6
        A point counts as stationary at this distance to the subdifferential, relative to the
        largest slope at w = 0.
    max_iter : int, default=None
        Largest number of steps for each strength; None leaves it to the solver.

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
        The strengths, the largest first.
    coefs : ndarray of shape (n_features, n_alphas)
        Coefficients along the path.
    distances : ndarray of shape (n_alphas,)
        The distance of each gradient to the limiting subdifferential, relative to the largest slope
        at w = 0: 0 at a stationary point.

    References
    ----------
    Zhang (2010), Nearly unbiased variable selection under minimax concave penalty, Annals of
    Statistics 38. Breheny and Huang (2011), Coordinate descent algorithms for nonconvex penalized
    regression, Annals of Applied Statistics 5.

    Examples
    --------
    >>> from gapless import mcp_path
    >>> X, y = [[1.0, 2.3], [2.0, 5.4], [3.1, 4.3]], [1.0, 2.0, 3.1]
    >>> alphas, coefs, distances = mcp_path(X, y, alphas=[5.0, 1.0, 0.5])
    >>> [int(k) for k in (coefs != 0).sum(axis=0)]
    [1, 1, 1]
    """
    options = alphas, eps, sample_weight, tol, max_iter
    return _path(X, y, *options, lambda alpha, rows: MCP.of_mean(alpha, gamma, rows))


@validate_params(
    {**OPTIONS, "a": [Interval(Real, 1, None, closed="neither")]},
    prefer_skip_nested_validation=True,
)
def scad_path(X, y, *, a=3.7, alphas=100, eps=1e-3, sample_weight=None, tol=1e-6, max_iter=None):
    """Compute least squares with the smoothly clipped absolute deviation along a path of strengths.

    As `mcp_path`, with the penalty of Fan and Li (2001): its slope is α up to |w| = α, falls
    linearly to 0 at aα and stays 0.

    Parameters
    ----------
    X, y
        As in `mcp_path`.
    a : float, default=3.7
        A coefficient above aα is not shrunk.
    alphas, eps, sample_weight, tol, max_iter
        As in `mcp_path`.

    Returns
    -------
    alphas, coefs, distances
        As in `mcp_path`.

    References
    ----------
    Fan and Li (2001), Variable selection via nonconcave penalized likelihood and its oracle
    properties, Journal of the American Statistical Association 96.
    """
    options = alphas, eps, sample_weight, tol, max_iter
    return _path(X, y, *options, lambda alpha, rows: SCAD.of_mean(alpha, a, rows))


def _path(
    X,
    y,
    alphas,
    eps: float,
    sample_weight,
    tol: float,
    max_iter: int | None,
    penalty: Callable[[float, float], Penalty],
) -> tuple[Array, Array, Array]:
    """The path for the penalties of a strength α and a number of rows S."""
    data = read_regression(Lasso(), X, y, sample_weight)
    total = float(data.weights.sum())
    if isinstance(alphas, Integral):
        alphas = falling_alphas(_problem(data, L1(total)), 1.0, eps, alphas)
    else:
        alphas = np.sort(np.asarray(alphas, dtype=float))[::-1]
    if not (len(alphas) and np.all(np.isfinite(alphas)) and alphas[-1] > 0):
        raise ValueError(f"alphas must be finite numbers > 0, got {alphas!r}.")
    penalties = [penalty(float(alpha), total) for alpha in alphas]
    problem = _problem(data, penalties[0])
    path = solve_path(problem, penalties, tol=tol, max_iter=max_iter)
    if path.status == "interrupted":
        raise KeyboardInterrupt
    distances = _distances(problem, penalties, path.w)
    if path.status != "optimal" or np.any(distances > tol):
        warnings.warn(
            f"Objective did not converge at all strengths ({path.status}): the largest distance to "
            f"the subdifferential is {np.max(distances):.3g}. Increase max_iter or tol, or scale "
            "the features.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return alphas, path.w.T.astype(data.X.dtype), distances


def _problem(data: Training, penalty: Penalty) -> Problem:
    return regression_problems(data, Squared(), penalty, False, joint=True)[0]


def _distances(problem: Problem, penalties: list[Penalty], W: Array) -> Array:
    """How far each point of the path is from stationary, by one product for all of them."""
    used = np.flatnonzero(np.any(W != 0, axis=0))
    Z = problem.design.columns(used).times(np.ascontiguousarray(W[:, used].T))
    R = problem.weights[:, None] * (Z - problem.y[:, None])
    G = problem.design.transposed_times(R)
    largest = [
        np.max(penalty.subdifferential_distance(w, g), initial=0.0)
        for penalty, w, g in zip(penalties, W, G.T)
    ]
    return np.array(largest) / (problem.steepness or 1.0)
