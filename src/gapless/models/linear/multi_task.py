"""Several targets that share their features: MultiTaskLasso, and its strength by folds."""

from __future__ import annotations

from typing import ClassVar

from ..._ground.about import Example, Examples, Formula, bias_term, chosen
from ..._ground.docstrings import described
from ..._ground.stored import Declaration
from ...losses import Squared
from ...penalties import Group
from .cross_validated import fit as fit_by_search
from .cross_validated import get_metadata_routing
from .lasso import NOT_ROUTED, SPARSE, SparseRegressor, fit
from .lasso_cv import BY_FOLDS, SEARCH, STORED, choose, read
from .parameters import OF_TARGETS, SEARCHED, SOLVED, WITH_ALPHA
from .problems import regression_problems


@described(SPARSE, OF_TARGETS, WITH_ALPHA, SOLVED)
class MultiTaskLasso(SparseRegressor):
    """Least squares for several targets that share their features.

    Minimises  (1/2S) Σᵢ sᵢ ‖yᵢ − Wᵀxᵢ − b‖² + α Σⱼ ‖Wⱼ‖₂,  Wⱼ the coefficients of feature j in all
    targets: a feature is used by all of them or by none.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_features)
        Coefficients Wᵀ.
    intercept_ : ndarray of shape (n_targets,)
        Biases b.
    dual_gap_ : float
        Duality gap in the units of the objective above.
    dual_ : ndarray of shape (n_samples, n_targets)
        Dual point θ, which proves the certificate.

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


@described(BY_FOLDS, OF_TARGETS, SEARCHED)
class MultiTaskLassoCV(SparseRegressor):
    """Lasso for several targets that share their features, with a strength chosen by folds.

    Minimises  (1/2S) Σᵢ sᵢ ‖yᵢ − Wᵀxᵢ − b‖² + α Σⱼ ‖Wⱼ‖₂  for the α with the smallest mean squared
    error on rows that the model has not seen.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_features)
        Coefficients.
    intercept_ : ndarray of shape (n_targets,)
        Bias b.
    dual_ : ndarray of shape (n_samples, n_targets)
        Dual point θ, which proves the certificate.

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
    _stored: ClassVar[Declaration] = STORED
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
    """The objective of MultiTaskLasso and MultiTaskLassoCV."""
    squares = f"½ Σᵢ ‖yᵢ − Wᵀxᵢ{bias_term(model, '−')}‖²"
    return Formula(f"{squares} + nα Σⱼ ‖Wⱼ‖₂", {"α": chosen(model, "alpha")})
