"""LassoCV, ElasticNetCV and MultiTaskLassoCV: a strength by folds."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils._metadata_requests import (
    MetadataRouter,
    MethodMapping,
)
from sklearn.utils._param_validation import Interval, StrOptions

from ..problem import Parameters
from ..solvers.path import ENDS, PathSolution, solve_path_and_folds
from .cross_validated import CrossValidated, all_rows, check_strengths
from .folds import folds_of
from .regression import ElasticNet, Lasso, MultiTaskLasso, SparseRegressor
from .selection import (
    Choice,
    Trail,
    largest_strength,
    path_of,
    scaled,
)

Array = np.ndarray


class SparseSearch(CrossValidated, SparseRegressor):
    """Base of LassoCV, ElasticNetCV and MultiTaskLassoCV: mean squared errors of folds."""

    _stored: ClassVar[tuple[str, ...]] = (*SparseRegressor._stored, "alphas_", "mse_path_")
    _parameter_constraints: ClassVar[dict] = {
        **{k: v for k, v in SparseRegressor._parameter_constraints.items() if k != "alpha"},
        "eps": [Interval(Real, 0, None, closed="neither")],
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "cv": ["cv_object"],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
    }

    def get_metadata_routing(self):
        """What is passed on to the splitter.

        Returns
        -------
        routing : MetadataRouter
            As scikit-learn has it.
        """
        splitting = MethodMapping().add(caller="fit", callee="split")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=check_cv(self.cv), method_mapping=splitting)
        )

    def _check_parameters(self):
        """Strengths are checked when they are read; α = 0 among them needs no warning."""

    def _read(self, X, y, sample_weight, *, reset=True):
        if isinstance(sample_weight, Real):  # the same weight for all rows changes nothing
            sample_weight = None
        shape = np.shape(y) if isinstance(y, list) else getattr(y, "shape", ())
        if not self._multi_output and len(shape) == 2 and shape[1] > 1:
            raise ValueError(
                f"For multi-task outputs, use MultiTask{type(self).__name__}; y has shape "
                f"{shape}, and {type(self).__name__} takes one target."
            )
        data = super()._read(X, y, sample_weight, reset=reset)
        if self._multi_output and data.y.ndim == 1:
            raise ValueError(
                f"For mono-task outputs, use {type(self).__name__.removeprefix('MultiTask')}; "
                "y must have shape (n, targets)."
            )
        return data

    def _ratios(self) -> list[float]:
        """The shares of the L1 penalty to try."""
        return [float(r) for r in np.atleast_1d(getattr(self, "l1_ratio", 1.0))]

    def _at(self, **values):
        if isinstance(getattr(self, "precompute", None), str):
            values |= {"precompute": False}
        return super()._at(**values)

    def _unit(self, ratio: float):
        """The plain estimator with α = 1."""
        given = {"l1_ratio": ratio} if "l1_ratio" in self._chosen else {}
        return self._at(alpha=1.0, **given)

    def _choose(self, data, callback):
        folds = folds_of(self.cv, data, classifier=False, params=self._routed[0])
        trails, errors = [], []
        for ratio in self._ratios():
            problem = self._unit(ratio)._problems(data)[0]
            alphas = self._alphas(problem, ratio)
            path, z = self._solve_all(problem, alphas, folds, callback)
            mse = _fold_errors(data, z, folds)
            errors.append(mse)
            trails.append(_trail(problem, alphas, path, all_rows(z, folds, problem.weights), mse))
            if trails[-1].status != "optimal":
                break
        reached = [k for k, trail in enumerate(trails) if np.any(np.isfinite(trail.unseen))]
        if not reached:
            values = self._values(float(trails[0].strengths[0]), self._ratios()[0])
            return Choice(values, None, None, trails, status=trails[-1].status)
        k = max(reached, key=lambda k: np.nanmax(trails[k].unseen))
        trail = trails[k]
        at = trail.best(self.select)
        alphas = np.array([t.strengths for t in trails])
        same = len(trails) == 1 or not isinstance(self.alphas, Integral)
        extra = {
            "mse_path_": np.squeeze(np.moveaxis(np.array(errors), 1, 2)),
            "alphas_": alphas[0] if same else alphas,
        }
        values = self._values(float(trail.strengths[at]), self._ratios()[k])
        path = path_of(trail, trail.strengths, at)
        status = trails[-1].status
        return Choice(values, trail.parameters[at], path, trails, k, at, status, extra)

    def _values(self, alpha: float, ratio: float) -> dict[str, float]:
        return dict(zip(self._chosen, (alpha, ratio)))

    def _alphas(self, problem, ratio: float) -> Array:
        """The strengths to try, the largest first."""
        if not isinstance(self.alphas, Integral):
            return np.sort(check_strengths(list(self.alphas), "left"))[::-1]
        if ratio == 0:
            raise ValueError(
                "Automatic alpha grid generation is not supported for l1_ratio=0: no strength "
                "makes all coefficients 0. Please supply a grid by providing `alphas=`."
            )
        largest = largest_strength([problem], nothing=0.0)
        smallest = float(np.finfo(float).resolution)
        if largest <= smallest:
            return np.full(self.alphas, smallest)
        return np.geomspace(largest, largest * self.eps, self.alphas)

    def _solve_all(self, problem, alphas: Array, folds, callback):
        """The path of all rows, and predictions of the test rows of each fold, (rows, m, K)."""
        whole = float(problem.weights.sum())

        def penalties(total: float):
            return [scaled(problem.penalty, alpha * (total / whole)) for alpha in alphas]

        options = {"tol": self.tol, "max_iter": self.max_iter, "callback": callback}
        path, z = solve_path_and_folds(problem, penalties, folds, **options)
        return path, [held.reshape(*held.shape[:2], -1) for held in z]


def _trail(problem, alphas: Array, path: PathSolution | None, z: Array | None, mse: Array) -> Trail:
    """The models of all rows, and the errors of the folds as scores."""
    status, models, gaps = (
        "time_limit",
        [[problem.null]] * len(alphas),
        np.full(len(alphas), np.inf),
    )
    if path is not None and np.all(np.isfinite(mse)):
        models = [[Parameters(w, np.asarray(b))] for w, b in zip(path.w, path.b)]
        gaps, status = path.gaps, path.status if path.status in ENDS else "optimal"
    count = mse.shape[0]
    error = np.zeros(len(alphas))
    if count > 1:
        with np.errstate(over="ignore"):  # huge errors have squares beyond all floats
            error = np.std(mse, axis=0, ddof=1) / np.sqrt(count)
    return Trail(
        strengths=alphas,
        gaps=gaps,
        parameters=models,
        rows=np.arange(problem.n),
        weights=problem.weights,
        z=z,
        unseen=-np.mean(mse, axis=0),
        standard_errors=error,
        method=f"{count}-fold",
        status=status,
    )


def _fold_errors(data, z: list[Array], folds) -> Array:
    """Mean squared errors (folds, m), weighted within a fold."""
    errors = []
    for held, (_, test) in zip(z, folds):
        y = data.y[test].reshape(len(test), 1, -1)
        of_rows = np.mean((held - y) ** 2, axis=2)
        errors.append(np.average(of_rows, axis=0, weights=data.sample_weight[test]))
    return np.array(errors)


class LassoCV(SparseSearch):
    """Lasso that chooses its strength by folds.

    Minimises  (1/2S) Σᵢ sᵢ (yᵢ − xᵢᵀw − b)² + α‖w‖₁  with S = Σsᵢ, for the α with the smallest mean
    squared error on rows that the model has not seen.

    Parameters
    ----------
    eps : float, default=1e-3
        The smallest of the α that are tried, as a part of the largest.
    alphas : int or array-like, default=100
        How many α to try, from where all coefficients are 0 downwards, or the values themselves.
    fit_intercept : bool, default=True
        Whether to fit the bias b, which is not penalised.
    precompute : bool, "auto" or array-like of shape (n_features, n_features), default="auto"
        Accepted for scikit-learn's sake; whether a Gram matrix pays is decided by the solver.
    max_iter : int, default=1000
        Largest number of steps at each strength; None leaves it to the solver.
    tol : float, default=1e-6
        Stop when the duality gap is at most `tol` times the objective at w = 0.
    copy_X : bool, default=True
        Accepted for scikit-learn's sake; X is never written to.
    cv : int, splitter or iterable, default=None
        Folds, as in scikit-learn; None means 5. With a number of folds, the rows of one x stay
        together.
    verbose : int, default=0
        Accepted for scikit-learn's sake; long fits show their progress on a terminal.
    n_jobs : int, default=None
        Accepted for scikit-learn's sake; the number of threads is GAPLESS_NUM_THREADS.
    positive : bool, default=False
        Whether to keep all coefficients ≥ 0.
    random_state : int, RandomState instance or None, default=None
        Accepted for scikit-learn's sake; nothing here is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Accepted for scikit-learn's sake; the order of the features is decided by the solver.
    solver : str, default="auto"
        The solver of the last fit.
    warm_start : bool, default=False
        Without effect, since the search finds a better start.
    time_limit : float, default=None
        Seconds after which the best that was found so far is kept.
    select : {"min", "1se"}, default="min"
        The best α, or the largest within one standard error of it.

    Attributes
    ----------
    alpha_ : float
        The chosen strength.
    alphas_ : ndarray of shape (n_alphas,)
        The strengths that were tried, the largest first.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Mean squared errors of the test rows of each fold.
    path_ : Path
        The models along all strengths and their scores on unseen rows.
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Bias b.
    dual_gap_ : float
        Duality gap in the units of the objective above.
    dual_ : ndarray of shape (n_samples,)
        Dual point θ, which proves the certificate.
    certificate_ : Certificate
        How far the fit can be from the best possible one.
    trace_ : Trace
        Objective, gap and seconds of every step of the last fit.
    solver_ : str
        The solver of the last fit.
    n_iter_ : int
        Number of its steps.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

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

    _plain = Lasso
    _multi_output = False
    _parameter_constraints: ClassVar[dict] = {
        **SparseSearch._parameter_constraints,
        "precompute": [StrOptions({"auto"}), "array-like", "boolean"],
        "positive": ["boolean"],
    }

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


class ElasticNetCV(SparseSearch):
    """Elastic net that chooses its strength, and its share of L1 penalty, by folds.

    Minimises  (1/2S) Σᵢ sᵢ (yᵢ − xᵢᵀw − b)² + α(ρ‖w‖₁ + ½(1−ρ)‖w‖²)  with S = Σsᵢ, for the α and ρ
    with the smallest mean squared error on rows that the model has not seen.

    Parameters
    ----------
    l1_ratio : float or list of float, default=0.5
        Share ρ of the L1 penalty, between 0 (ridge) and 1 (lasso); a list to choose from.
    eps : float, default=1e-3
        The smallest of the α that are tried, as a part of the largest.
    alphas : int or array-like, default=100
        How many α to try, from where all coefficients are 0 downwards, or the values themselves.
    fit_intercept : bool, default=True
        Whether to fit the bias b, which is not penalised.
    precompute : bool, "auto" or array-like of shape (n_features, n_features), default="auto"
        Accepted for scikit-learn's sake; whether a Gram matrix pays is decided by the solver.
    max_iter : int, default=1000
        Largest number of steps at each strength; None leaves it to the solver.
    tol : float, default=1e-6
        Stop when the duality gap is at most `tol` times the objective at w = 0.
    copy_X : bool, default=True
        Accepted for scikit-learn's sake; X is never written to.
    cv : int, splitter or iterable, default=None
        Folds, as in scikit-learn; None means 5. With a number of folds, the rows of one x stay
        together.
    verbose : int, default=0
        Accepted for scikit-learn's sake; long fits show their progress on a terminal.
    n_jobs : int, default=None
        Accepted for scikit-learn's sake; the number of threads is GAPLESS_NUM_THREADS.
    positive : bool, default=False
        Whether to keep all coefficients ≥ 0.
    random_state : int, RandomState instance or None, default=None
        Accepted for scikit-learn's sake; nothing here is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Accepted for scikit-learn's sake; the order of the features is decided by the solver.
    solver : str, default="auto"
        The solver of the last fit.
    warm_start : bool, default=False
        Without effect, since the search finds a better start.
    time_limit : float, default=None
        Seconds after which the best that was found so far is kept.
    select : {"min", "1se"}, default="min"
        The best α, or the largest within one standard error of it.

    Attributes
    ----------
    alpha_ : float
        The chosen strength.
    l1_ratio_ : float
        The chosen share of the L1 penalty.
    alphas_ : ndarray of shape (n_alphas,) or (n_l1_ratios, n_alphas)
        The strengths that were tried, the largest first.
    mse_path_ : ndarray of shape (n_l1_ratios, n_alphas, n_folds)
        Mean squared errors of the test rows of each fold.
    path_ : Path
        The models along all strengths and their scores on unseen rows.
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Bias b.
    dual_gap_ : float
        Duality gap in the units of the objective above.
    dual_ : ndarray of shape (n_samples,)
        Dual point θ, which proves the certificate.
    certificate_ : Certificate
        How far the fit can be from the best possible one.
    trace_ : Trace
        Objective, gap and seconds of every step of the last fit.
    solver_ : str
        The solver of the last fit.
    n_iter_ : int
        Number of its steps.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

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

    _plain = ElasticNet
    _multi_output = False
    _chosen = ("alpha", "l1_ratio")
    _stored: ClassVar[tuple[str, ...]] = (*SparseSearch._stored, "l1_ratio_")
    _parameter_constraints: ClassVar[dict] = {
        **SparseSearch._parameter_constraints,
        "precompute": [StrOptions({"auto"}), "array-like", "boolean"],
        "positive": ["boolean"],
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), "array-like"],
    }

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


class MultiTaskLassoCV(SparseSearch):
    """Lasso for several targets that share their features, with a strength chosen by folds.

    Minimises  (1/2S) Σᵢ sᵢ ‖yᵢ − Wᵀxᵢ − b‖² + α Σⱼ ‖Wⱼ‖₂  for the α with the smallest mean squared
    error on rows that the model has not seen.

    Parameters
    ----------
    eps : float, default=1e-3
        The smallest of the α that are tried, as a part of the largest.
    alphas : int or array-like, default=100
        How many α to try, from where all coefficients are 0 downwards, or the values themselves.
    fit_intercept : bool, default=True
        Whether to fit the bias b, which is not penalised.
    max_iter : int, default=1000
        Largest number of steps at each strength; None leaves it to the solver.
    tol : float, default=1e-6
        Stop when the duality gap is at most `tol` times the objective at w = 0.
    copy_X : bool, default=True
        Accepted for scikit-learn's sake; X is never written to.
    cv : int, splitter or iterable, default=None
        Folds, as in scikit-learn; None means 5. With a number of folds, the rows of one x stay
        together.
    verbose : int, default=0
        Accepted for scikit-learn's sake; long fits show their progress on a terminal.
    n_jobs : int, default=None
        Accepted for scikit-learn's sake; the number of threads is GAPLESS_NUM_THREADS.
    random_state : int, RandomState instance or None, default=None
        Accepted for scikit-learn's sake; nothing here is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Accepted for scikit-learn's sake; the order of the features is decided by the solver.
    solver : str, default="auto"
        The solver of the last fit.
    warm_start : bool, default=False
        Without effect, since the search finds a better start.
    time_limit : float, default=None
        Seconds after which the best that was found so far is kept.
    select : {"min", "1se"}, default="min"
        The best α, or the largest within one standard error of it.

    Attributes
    ----------
    alpha_ : float
        The chosen strength.
    alphas_ : ndarray of shape (n_alphas,)
        The strengths that were tried, the largest first.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Mean squared errors of the test rows of each fold.
    path_ : Path
        The models along all strengths and their scores on unseen rows.
    coef_ : ndarray of shape (n_targets, n_features)
        Coefficients.
    intercept_ : ndarray of shape (n_targets,)
        Bias b.
    dual_gap_ : float
        Duality gap in the units of the objective above.
    dual_ : ndarray of shape (n_samples, n_targets)
        Dual point θ, which proves the certificate.
    certificate_ : Certificate
        How far the fit can be from the best possible one.
    trace_ : Trace
        Objective, gap and seconds of every step of the last fit.
    solver_ : str
        The solver of the last fit.
    n_iter_ : int
        Number of its steps.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

    Notes
    -----
    One path of solutions for each fold and one for all rows.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from gapless import MultiTaskLassoCV
    >>> X, Y = make_regression(n_targets=2, n_samples=60, noise=4, random_state=0)
    >>> model = MultiTaskLassoCV(alphas=20).fit(X, Y)
    >>> model.coef_.shape
    (2, 100)
    """

    _plain = MultiTaskLasso
    _flattens_one_column = False

    def __init__(
        self,
        *,
        eps=1e-3,
        alphas=100,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-6,
        copy_X=True,
        cv=None,
        verbose=False,
        n_jobs=None,
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
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.select = select

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        return tags
