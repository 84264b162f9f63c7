"""`lasso_path` and `enet_path`: regularisation paths as functions, as scikit-learn has them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Hidden, Interval, StrOptions, validate_params

from ..._ground.validation import Training, read_regression
from ...losses import Squared
from ...penalties import ElasticNet, Group, Penalty
from ...problem import Problem
from ...solvers import PathSolution, solve_path
from .lasso import Lasso
from .problems import regression_problems, with_sign
from .strengths import falling_alphas

Array = np.ndarray

# The options of scikit-learn's coordinate descent, and their meaning here.
OPTIONS = {
    "tol": 1e-6,
    "max_iter": None,
    "sample_weight": None,
    # Accepted for compatibility with scikit-learn.
    "random_state": None,
    "selection": "cyclic",
    "do_screening": True,
}


def lasso_path(
    X,
    y,
    *,
    eps=1e-3,
    n_alphas="deprecated",
    alphas="warn",
    precompute="auto",
    Xy=None,
    copy_X=True,
    coef_init=None,
    verbose=False,
    return_n_iter=False,
    positive=False,
    **params,
):
    """Compute the lasso along a path of strengths.

    Minimises  (1/2S) Σᵢ sᵢ (yᵢ − xᵢᵀw)² + α‖w‖₁  with S = Σsᵢ for every α; for several targets
    Σ_k of the first term and α Σⱼ ‖wⱼ‖₂ over the rows of w. There is no bias: centre the data, or
    use `LassoCV`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training data. Never written to.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Target values.
    eps : float, default=1e-3
        The smallest strength of the path divided by the largest.
    n_alphas : int, default="deprecated"
        Number of strengths; scikit-learn's old name for an integer `alphas`.
    alphas : int or array-like, default="warn"
        Number of strengths, from where all coefficients are 0 down; or the strengths. 100 if not
        given.
    precompute, Xy, copy_X, coef_init, verbose
        Accepted for scikit-learn's sake: whether a Gram matrix pays is decided by the solver, and
        the result does not depend on where it starts.
    return_n_iter : bool, default=False
        Whether to return the number of steps.
    positive : bool, default=False
        Whether to keep all coefficients ≥ 0; for one target only.
    **params
        `tol` (default 1e-6: the gap relative to the objective at w = 0), `max_iter`,
        `sample_weight`.

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
        The strengths, the largest first.
    coefs : ndarray of shape (n_features, n_alphas) or (n_targets, n_features, n_alphas)
        Coefficients along the path.
    dual_gaps : ndarray of shape (n_alphas,)
        How far each objective can be above the smallest possible one.
    n_iters : list of int
        Steps for each strength, if `return_n_iter`.

    Examples
    --------
    >>> from gapless import lasso_path
    >>> X, y = [[1.0, 2.3], [2.0, 5.4], [3.1, 4.3]], [1.0, 2.0, 3.1]
    >>> alphas, coefs, gaps = lasso_path(X, y, alphas=[5.0, 1.0, 0.5])
    >>> coefs.round(4)
    array([[0.    , 0.    , 0.4692],
           [0.2159, 0.4426, 0.2367]])
    """
    return enet_path(
        X, y, l1_ratio=1.0, eps=eps, n_alphas=n_alphas, alphas=alphas, precompute=precompute,
        Xy=Xy, copy_X=copy_X, coef_init=coef_init, verbose=verbose, return_n_iter=return_n_iter,
        positive=positive, **params,
    )  # fmt: skip


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "y": ["array-like"],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "eps": [Interval(Real, 0, None, closed="neither")],
        "n_alphas": [Interval(Integral, 1, None, closed="left"), StrOptions({"deprecated"})],
        "alphas": [
            Interval(Integral, 1, None, closed="left"),
            "array-like",
            Hidden(None),
            Hidden(StrOptions({"warn"})),
        ],
        "precompute": [StrOptions({"auto"}), "boolean", "array-like"],
        "Xy": ["array-like", None],
        "copy_X": ["boolean"],
        "coef_init": ["array-like", None],
        "verbose": ["verbose"],
        "return_n_iter": ["boolean"],
        "positive": ["boolean"],
        "check_input": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def enet_path(
    X,
    y,
    *,
    l1_ratio=0.5,
    eps=1e-3,
    n_alphas="deprecated",
    alphas="warn",
    precompute="auto",
    Xy=None,
    copy_X=True,
    coef_init=None,
    verbose=False,
    return_n_iter=False,
    positive=False,
    check_input=True,
    **params,
):
    """Compute the elastic net along a path of strengths.

    Minimises  (1/2S) Σᵢ sᵢ (yᵢ − xᵢᵀw)² + α(ρ‖w‖₁ + ½(1−ρ)‖w‖²)  with S = Σsᵢ for every α; for
    several targets with Σⱼ ‖wⱼ‖₂ over the rows of w in the place of ‖w‖₁. There is no bias.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training data. Never written to.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Target values.
    l1_ratio : float, default=0.5
        Share ρ of the L1 penalty, between 0 and 1, which is the lasso.
    eps, n_alphas, alphas, precompute, Xy, copy_X, coef_init, verbose, return_n_iter, positive
        As in `lasso_path`.
    check_input : bool, default=True
        Accepted for scikit-learn's sake; the input is always checked.
    **params
        As in `lasso_path`.

    Returns
    -------
    alphas, coefs, dual_gaps, n_iters
        As in `lasso_path`.
    """
    alphas = _requested_alphas(alphas, n_alphas)
    if unknown := params.keys() - OPTIONS.keys():
        raise ValueError(f"Unexpected parameters in params: {', '.join(sorted(unknown))}.")
    options = OPTIONS | params
    data = read_regression(Lasso(), X, y, options["sample_weight"], multi_output=True)
    if positive and data.y.ndim > 1:
        raise ValueError("positive=True is not allowed for multi-output (y.ndim != 1).")
    alphas = _strengths(data, alphas, l1_ratio, eps, positive)
    path = _solve(data, alphas, l1_ratio, positive, options["tol"], options["max_iter"])
    if path.status == "interrupted":
        raise KeyboardInterrupt
    if path.status != "optimal":
        warnings.warn(
            f"Objective did not converge at all strengths ({path.status}): the largest gap is "
            f"{np.max(path.gaps):.3g}. Increase max_iter or tol, or scale the features.",
            ConvergenceWarning,
            stacklevel=2,
        )
    coefs = np.moveaxis(path.w, 0, -1).astype(data.X.dtype)
    coefs = coefs.swapaxes(0, 1) if coefs.ndim == 3 else coefs
    gaps = path.gaps / data.weights.sum()
    return (alphas, coefs, gaps, path.steps.tolist()) if return_n_iter else (alphas, coefs, gaps)


def _requested_alphas(alphas, n_alphas):
    """The number of strengths or the strengths, however they were requested."""
    if n_alphas != "deprecated":
        warnings.warn(
            "'n_alphas' was deprecated in 1.9 and will be removed in 1.11; pass an integer as "
            "'alphas' instead.",
            FutureWarning,
            stacklevel=4,
        )
        return n_alphas
    if alphas is None:
        warnings.warn(
            "'alphas=None' is deprecated and will be removed in 1.11; pass alphas=100 instead.",
            FutureWarning,
            stacklevel=4,
        )
        return 100
    return 100 if isinstance(alphas, str) else alphas


def _strengths(data: Training, alphas, l1_ratio: float, eps: float, positive: bool) -> Array:
    """The strengths in falling order."""
    if not isinstance(alphas, Integral):
        return np.sort(np.asarray(alphas, dtype=float))[::-1]
    shrinking = _penalty(data, l1_ratio, 1.0, positive)
    return falling_alphas(_problem(data, shrinking), l1_ratio, eps, alphas)


def _solve(data, alphas, l1_ratio, positive, tol, max_iter) -> PathSolution:
    if data.y.ndim == 1 or l1_ratio == 1:
        penalties = [_penalty(data, l1_ratio, alpha, positive) for alpha in alphas]
        problem = _problem(data, penalties[0])
        return solve_path(problem, penalties, tol=tol, max_iter=max_iter)
    # Several targets with a ridge: add rows equivalent to the ridge (Zou and Hastie 2005, Lemma 1),
    # so that the penalty is on groups alone.
    paths = []
    for alpha in alphas:
        ridge = alpha * (1 - l1_ratio) * data.weights.sum()
        penalty = _penalty(data, l1_ratio, alpha, positive)
        problem = _problem(_with_ridge(data, ridge), penalty)
        paths.append(solve_path(problem, [penalty], tol=tol, max_iter=max_iter))
    return PathSolution(
        w=np.concatenate([path.w for path in paths]),
        b=np.concatenate([path.b for path in paths]),
        gaps=np.concatenate([path.gaps for path in paths]),
        steps=np.concatenate([path.steps for path in paths]),
        status=next((path.status for path in paths if path.status != "optimal"), "optimal"),
    )


def _penalty(data: Training, l1_ratio: float, alpha: float, positive: bool) -> Penalty:
    strength = alpha * data.weights.sum()
    if data.y.ndim > 1:
        return Group(strength * l1_ratio)
    return with_sign(ElasticNet(strength, l1_ratio), positive)


def _problem(data: Training, penalty: Penalty) -> Problem:
    return regression_problems(data, Squared(), penalty, False, joint=True)[0]


def _with_ridge(data: Training, strength: float) -> Training:
    """The data with d more rows, whose squared error is strength·‖w‖²."""
    d, dtype = data.X.shape[1], data.X.dtype
    if sp.issparse(data.X):
        more = sp.identity(d, dtype=dtype, format="csr") * dtype.type(np.sqrt(strength))
        X = sp.vstack([data.X, more], format="csr")
    else:
        X = np.vstack([data.X, np.sqrt(strength) * np.eye(d, dtype=dtype)]).astype(dtype)
    y = np.vstack([data.y, np.zeros((d, data.y.shape[1]))])
    return replace(data, X=X, y=y, weights=np.concatenate([data.weights, np.ones(d)]))
