"""LassoCV and ElasticNetCV, and the search by folds that they share with MultiTaskLassoCV."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..._ground.about import Example, Examples, Formula
from ..._ground.docstrings import described
from ..._ground.stored import Declaration, Unused
from ..._ground.validation import Training, readable_target
from ...problem import Parameters, Problem
from ...solvers import ENDS, PathSolution, solve_path_and_folds
from ...unseen import best_of
from .cross_validated import (
    all_rows,
    check_strengths,
    errors_over_folds,
    fit,
    folds_of,
    get_metadata_routing,
)
from .lasso import ElasticNet, Lasso, SparseRegressor, squares_and_elastic_net, squares_and_lasso
from .parameters import OF_TARGETS, SEARCHED
from .path import SCORES, ScoredPath
from .path_choice import PathChoice
from .strengths import falling_alphas, scaled

Array = np.ndarray

STORED: Declaration = {**SparseRegressor._stored, "alphas_": Unused(), "mse_path_": Unused()}
SEARCH: dict = {
    **{k: v for k, v in SparseRegressor._parameter_constraints.items() if k != "alpha"},
    "eps": [Interval(Real, 0, None, closed="neither")],
    "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
    "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    "cv": ["cv_object"],
    "verbose": ["verbose"],
    "n_jobs": [Integral, None],
}
OF_ONE_TARGET: dict = {
    "precompute": [StrOptions({"auto"}), "array-like", "boolean"],
    "positive": ["boolean"],
}


def read(self, X, y, sample_weight, *, reset=True):
    """The data of a search, with one target or several, as for the class."""
    if isinstance(sample_weight, Real):  # the same weight for all rows changes nothing
        sample_weight = None
    y = None if y is None else readable_target(y)
    shape = np.shape(y) if isinstance(y, list) else getattr(y, "shape", ())
    if not self._multi_output and len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"For multi-task outputs, use MultiTask{type(self).__name__}; y has shape {shape}, and "
            f"{type(self).__name__} takes one target."
        )
    data = SparseRegressor._read(self, X, y, sample_weight, reset=reset)
    if self._multi_output and data.y.ndim == 1:
        raise ValueError(
            f"For mono-task outputs, use {type(self).__name__.removeprefix('MultiTask')}; y must "
            "have shape (n, targets)."
        )
    return data


def choose(self, data, callback):
    """The strength with the smallest mean squared error over folds."""
    return SparseSearch(self, data, callback).choice()


class SparseSearch:
    """The search of LassoCV, ElasticNetCV or MultiTaskLassoCV on its data."""

    def __init__(self, model: Any, data: Training, callback: Any):
        self.model, self.data, self.callback = model, data, callback
        self.folds = folds_of(model.cv, data, classifier=False, params=model._routed[0])
        # The shares of the L1 penalty.
        self.ratios = [float(r) for r in np.atleast_1d(getattr(model, "l1_ratio", 1.0))]

    def choice(self) -> PathChoice:
        """The best strength, and the best share of the L1 penalty."""
        paths, errors = [], []
        for ratio in self.ratios:
            path, mse = self._follow(self.model._at(**self._values(1.0, ratio)), ratio)
            paths.append(path)
            errors.append(mse)
            if path.status != "optimal":
                break
        status = paths[-1].status
        reached = [k for k, path in enumerate(paths) if np.any(np.isfinite(path.unseen))]
        if not reached:
            values = self._values(float(paths[0].strengths[0]), self.ratios[0])
            return PathChoice(values, paths=paths, status=status)
        k = max(reached, key=lambda k: np.nanmax(paths[k].unseen))
        best = paths[k]
        at = best_of(best.unseen, best.standard_errors, self.model.select)
        alphas = np.array([path.strengths for path in paths])
        is_same = len(paths) == 1 or not isinstance(self.model.alphas, Integral)
        extra = {
            "mse_path_": np.squeeze(np.moveaxis(np.array(errors), 1, 2)),
            "alphas_": alphas[0] if is_same else alphas,
        }
        values = self._values(float(best.strengths[at]), self.ratios[k])
        shown = best.shown(best.strengths, at, SCORES["squared"], self.data.y)
        return PathChoice(values, best.parameters[at], shown, paths, k, at, status, extra)

    def _values(self, alpha: float, ratio: float) -> dict[str, float]:
        return dict(zip(self.model._chosen, (alpha, ratio)))

    def _follow(self, unit: Any, ratio: float) -> tuple[ScoredPath, Array]:
        """The models of all rows, and mean squared errors (folds, m) of those of the folds."""
        problem = unit._problems(self.data)[0]
        alphas, whole = self._alphas(problem, ratio), float(problem.weights.sum())

        def penalties(total: float):
            return [scaled(problem.penalty, alpha * (total / whole)) for alpha in alphas]

        model = self.model
        options = {"tol": model.tol, "max_iter": model.max_iter, "callback": self.callback}
        path, held = solve_path_and_folds(problem, penalties, self.folds, **options)
        z = [of_fold.reshape(*of_fold.shape[:2], -1) for of_fold in held]
        mse = self._errors(z)
        return _scored(problem, alphas, path, all_rows(z, self.folds, problem.weights), mse), mse

    def _alphas(self, problem: Problem, ratio: float) -> Array:
        """The strengths to try, the largest first."""
        alphas = self.model.alphas
        if not isinstance(alphas, Integral):
            return np.sort(check_strengths(list(alphas), "left"))[::-1]
        return falling_alphas(problem, ratio, self.model.eps, alphas)

    def _errors(self, z: list[Array]) -> Array:
        """Mean squared errors (folds, m), weighted within a fold."""
        data, errors = self.data, []
        for held, (_, test) in zip(z, self.folds):
            y = data.y[test].reshape(len(test), 1, -1)
            of_rows = np.mean((held - y) ** 2, axis=2)
            errors.append(np.average(of_rows, axis=0, weights=data.sample_weight[test]))
        return np.array(errors)


def _scored(
    problem: Problem, alphas: Array, path: PathSolution | None, z: Array | None, mse: Array
) -> ScoredPath:
    """The models of all rows, with the errors of the folds as scores."""
    status, models = "time_limit", [[problem.null]] * len(alphas)
    gaps = np.full(len(alphas), np.inf)
    if path is not None and np.all(np.isfinite(mse)):
        models = [[Parameters(w, np.asarray(b))] for w, b in zip(path.w, path.b)]
        gaps, status = path.gaps, path.status if path.status in ENDS else "optimal"
    return ScoredPath(
        strengths=alphas,
        gaps=gaps,
        parameters=models,
        rows=np.arange(problem.n),
        weights=problem.weights,
        z=z,
        unseen=-np.mean(mse, axis=0),
        standard_errors=errors_over_folds(mse),
        method=f"{len(mse)}-fold",
        status=status,
    )


# What all searches describe alike.
BY_FOLDS = """
eps : float
    The smallest of the α that are tried, as a part of the largest.
alphas : int or array-like
    How many α to try, from where all coefficients are 0 downwards, or the values themselves.
precompute : bool, "auto" or array-like of shape (n_features, n_features)
    Accepted for scikit-learn's sake; whether a Gram matrix pays is decided by the solver.
cv : int, splitter or iterable
    Folds, as in scikit-learn; None means 5. With a number of folds, the rows of one x stay
    together.
alpha_ : float
    The chosen strength.
alphas_ : ndarray of shape (n_alphas,)
    The strengths that were tried, the largest first.
mse_path_ : ndarray of shape (n_alphas, n_folds)
    Mean squared errors of the test rows of each fold.
sparse_coef_ : sparse matrix of shape (n_targets, n_features)
    The coefficients as a sparse matrix.
dual_gap_ : float
    Duality gap in the units of the objective above.
"""


@described(BY_FOLDS, OF_TARGETS, SEARCHED)
class LassoCV(SparseRegressor):
    """Lasso that chooses its strength by folds.

    Minimises  (1/2S) Σᵢ sᵢ (yᵢ − xᵢᵀw − b)² + α‖w‖₁  with S = Σsᵢ, for the α with the smallest mean
    squared error on rows that the model has not seen.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Bias b.
    dual_ : ndarray of shape (n_samples,)
        Dual point θ, which proves the certificate.

    Notes
    -----
    One path of solutions for each fold and one for all rows; for n ≫ d on Gram matrices that the
    folds share. `Lasso(alpha="loo")` leaves out one row at a time instead, and takes one path.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gapless import LassoCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoCV(cv=5).fit(X, y)
    >>> round(model.alpha_, 4)
    0.0038
    """

    _examples: ClassVar[Examples] = (Example("diabetes"),)

    _guide = "tuning"
    _plain = Lasso
    _multi_output = False
    _stored: ClassVar[Declaration] = STORED
    _parameter_constraints: ClassVar[dict] = {**SEARCH, **OF_ONE_TARGET}
    fit = fit
    get_metadata_routing = get_metadata_routing
    _read = read
    _choose = choose

    def __init__(
        self,
        *,
        eps=1e-3,
        alphas=100,
        fit_intercept=True,
        precompute="auto",
        max_iter=1000,
        tol=1e-6,
        copy_X=True,
        cv=None,
        verbose=False,
        n_jobs=None,
        positive=False,
        random_state=None,
        selection="cyclic",
        solver="auto",
        warm_start=False,
        time_limit=None,
        select="min",
    ):
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.select = select

    def _formula(self) -> Formula:
        return squares_and_lasso(self)


@described(BY_FOLDS, OF_TARGETS, SEARCHED)
class ElasticNetCV(SparseRegressor):
    """Elastic net that chooses its strength, and its share of L1 penalty, by folds.

    Minimises  (1/2S) Σᵢ sᵢ (yᵢ − xᵢᵀw − b)² + α(ρ‖w‖₁ + ½(1−ρ)‖w‖²)  with S = Σsᵢ, for the α and ρ
    with the smallest mean squared error on rows that the model has not seen.

    Parameters
    ----------
    l1_ratio : float or list of float, default=0.5
        Share ρ of the L1 penalty, between 0 (ridge) and 1 (lasso); a list to choose from.

    Attributes
    ----------
    l1_ratio_ : float
        The chosen share of the L1 penalty.
    alphas_ : ndarray of shape (n_alphas,) or (n_l1_ratios, n_alphas)
        The strengths that were tried, the largest first.
    mse_path_ : ndarray of shape (n_l1_ratios, n_alphas, n_folds)
        Mean squared errors of the test rows of each fold.
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Bias b.
    dual_ : ndarray of shape (n_samples,)
        Dual point θ, which proves the certificate.

    Notes
    -----
    Costs as LassoCV for every ρ.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gapless import ElasticNetCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNetCV(l1_ratio=[0.5, 0.9, 1.0]).fit(X, y)
    >>> model.l1_ratio_
    1.0
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"l1_ratio": [0.5, 0.9]}),)

    _guide = "tuning"
    _plain = ElasticNet
    _multi_output = False
    _chosen = ("alpha", "l1_ratio")
    _stored: ClassVar[Declaration] = {**STORED, "l1_ratio_": Unused()}
    _parameter_constraints: ClassVar[dict] = {
        **SEARCH,
        **OF_ONE_TARGET,
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), "array-like"],
    }
    fit = fit
    get_metadata_routing = get_metadata_routing
    _read = read
    _choose = choose

    def __init__(
        self,
        *,
        l1_ratio=0.5,
        eps=1e-3,
        alphas=100,
        fit_intercept=True,
        precompute="auto",
        max_iter=1000,
        tol=1e-6,
        cv=None,
        copy_X=True,
        verbose=False,
        n_jobs=None,
        positive=False,
        random_state=None,
        selection="cyclic",
        solver="auto",
        warm_start=False,
        time_limit=None,
        select="min",
    ):
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.select = select

    def _formula(self) -> Formula:
        return squares_and_elastic_net(self)
