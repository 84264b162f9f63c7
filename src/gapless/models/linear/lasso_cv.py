"""LassoCV and ElasticNetCV: a strength by folds."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ..._ground.about import Example, Examples, Formula
from ..._ground.stored import Declaration, Unused
from .lasso import ElasticNet, Lasso, squares_and_elastic_net, squares_and_lasso
from .sparse_search import SparseSearch


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

    _examples: ClassVar[Examples] = (Example("diabetes"),)

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

    def _formula(self) -> Formula:
        return squares_and_lasso(self)


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

    _examples: ClassVar[Examples] = (Example("diabetes", {"l1_ratio": [0.5, 0.9]}),)

    _plain = ElasticNet
    _multi_output = False
    _chosen = ("alpha", "l1_ratio")
    _stored: ClassVar[Declaration] = {**SparseSearch._stored, "l1_ratio_": Unused()}
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

    def _formula(self) -> Formula:
        return squares_and_elastic_net(self)
