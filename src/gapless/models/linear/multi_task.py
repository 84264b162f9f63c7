"""Several targets that share their features: MultiTaskLasso, and its strength by folds."""

from __future__ import annotations

from typing import ClassVar

from ..._ground.about import Example, Examples, Formula, bias_term, chosen
from ..._ground.stored import Declaration
from ...losses import Squared
from ...penalties import Group
from .cross_validated import fit as fit_by_search
from .cross_validated import get_metadata_routing
from .lasso import NOT_ROUTED, SparseRegressor, fit
from .lasso_cv import SEARCH, SEARCHED, choose, read
from .problems import regression_problems


class MultiTaskLasso(SparseRegressor):
    """Least squares for several targets that share their features.

    Minimises  (1/2S) Σᵢ sᵢ ‖yᵢ − Wᵀxᵢ − b‖² + α Σⱼ ‖Wⱼ‖₂,  Wⱼ the coefficients of feature j in all
    targets: a feature is used by all of them or by none.

    Parameters
    ----------
    alpha : float, "loo" or "cv", default=1.0
        Strength α ≥ 0 of the penalty; "loo" chooses it by leave-one-out, "cv" by folds.
    fit_intercept : bool, default=True
        Whether to fit the biases b, which are not penalised.
    copy_X : bool, default=True
        Accepted for scikit-learn's sake; X is never written to.
    max_iter : int, default=1000
        Largest number of steps; None leaves it to the solver.
    tol : float, default=1e-6
        Stop when the duality gap is at most `tol` times the objective at W = 0.
    warm_start : bool, default=False
        Whether to start from the coefficients of the last fit.
    random_state : int, RandomState instance or None, default=None
        Accepted for scikit-learn's sake; nothing here is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Accepted for scikit-learn's sake; the order of the features is decided by the solver.
    solver : str, default="auto"
        A solver of gapless by name, or "auto".
    time_limit : float, default=None
        Seconds after which the best coefficients found so far are kept.
    select : {"min", "1se"}, default="min"
        With "loo" or "cv": the best strength, or the strongest penalty within one standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_features)
        Coefficients Wᵀ.
    sparse_coef_ : sparse matrix of shape (n_targets, n_features)
        The same as a sparse matrix.
    intercept_ : ndarray of shape (n_targets,)
        Biases b.
    dual_gap_ : float
        Duality gap in the units of the objective above.
    dual_ : ndarray of shape (n_samples, n_targets)
        Dual point θ, which proves the certificate.
    certificate_ : Certificate
        How far the fit can be from the best possible one.
    generalization_ : Generalization
        What the model will score on data it has not seen; computed when first asked for.
    trace_ : Trace
        Objective, gap and seconds of every step.
    solver_ : str
        The solver that ran, or the name of scikit-learn's that was asked for.
    n_iter_ : int
        Number of steps.
    alpha_ : float
        The chosen strength, with alpha="loo" or alpha="cv".
    path_ : Path
        The models along all strengths and their scores on unseen rows, with "loo" or "cv".
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

    Notes
    -----
    A step costs n times the number of targets times the number of features in the working set.
    Where the targets need different features, fit a Lasso, which treats each target alone.

    References
    ----------
    Obozinski, Taskar and Jordan (2010), Joint covariate selection and joint subspace selection for
    multiple classification problems.

    Examples
    --------
    >>> from gapless import MultiTaskLasso
    >>> X, Y = [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], [[0, 0], [1, 2], [2, 4]]
    >>> model = MultiTaskLasso(alpha=0.1).fit(X, Y)
    >>> model.coef_.round(3)
    array([[0.933, 0.   ],
           [1.866, 0.   ]])
    """

    _examples: ClassVar[Examples] = (Example("digit_halves", {"alpha": 0.5}),)
    __metadata_request__fit: ClassVar[dict] = NOT_ROUTED
    fit = fit

    _flattens_one_column = False

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=1000,
        tol=1e-6,
        warm_start=False,
        random_state=None,
        selection="cyclic",
        solver="auto",
        time_limit=None,
        select="min",
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
        self.time_limit = time_limit
        self.select = select

    def _problems(self, data):
        if data.y.ndim == 1:
            raise ValueError(
                "For mono-task outputs, use Lasso; MultiTaskLasso needs y of shape (n, targets)."
            )
        penalty = Group(self.alpha * data.weights.sum())
        return regression_problems(data, Squared(), penalty, self.fit_intercept, joint=True)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        return tags

    def _formula(self) -> Formula:
        return squares_and_rows(self)


class MultiTaskLassoCV(SparseRegressor):
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

    _examples: ClassVar[Examples] = (Example("linnerud", {"alphas": 10}),)

    _guide = "tuning"
    _plain = MultiTaskLasso
    _flattens_one_column = False
    _stored: ClassVar[Declaration] = SEARCHED
    _parameter_constraints: ClassVar[dict] = SEARCH
    fit = fit_by_search
    get_metadata_routing = get_metadata_routing
    _read = read
    _choose = choose

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

    def _formula(self) -> Formula:
        return squares_and_rows(self)


def squares_and_rows(model) -> Formula:
    """What MultiTaskLasso and MultiTaskLassoCV minimise."""
    squares = f"(1/2n) Σᵢ ‖yᵢ − Wᵀxᵢ{bias_term(model, '−')}‖²"
    return Formula(f"{squares} + α Σⱼ ‖Wⱼ‖₂", {"α": chosen(model, "alpha")})
