"""Least squares with coefficients that are exactly 0: Lasso, ElasticNet."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import metadata_routing
from sklearn.utils._param_validation import Interval, StrOptions

from ..._ground.about import Example, Examples, Formula, bias_term, chosen
from ..._ground.design import Design
from ..._ground.docstrings import described
from ..._ground.stored import Declaration, Unused
from ...losses import Squared
from ...penalties import L1
from ...penalties import ElasticNet as ElasticNetPenalty
from ...unseen import CV, LOO
from ._base import SELECT, LinearModel
from .parameters import DATA, OF_TARGETS, SOLVED, WITH_ALPHA
from .problems import regression_problems, with_sign
from .tasks import LinearRegressor


class SparseRegressor(LinearRegressor):
    """Base of Lasso, ElasticNet, MultiTaskLasso and their searches: objectives are means."""

    _not_converged = (
        "Objective did not converge. You might want to increase the number of iterations"
    )

    _stored: ClassVar[Declaration] = {
        **LinearRegressor._stored,
        "dual_gap_": Unused(),
        "alpha_": Unused(),
        "path_": Unused(),
    }
    _averages = True
    _strength_name = "alpha"
    _flattens_one_column = True
    _parameter_constraints: ClassVar[dict] = {
        **LinearRegressor._parameter_constraints,
        **SELECT,
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({LOO, CV})],
        "copy_X": ["boolean"],
        "random_state": ["random_state"],
        "selection": [StrOptions({"cyclic", "random"})],
    }

    def _check_parameters(self):
        if getattr(self, "alpha", None) == 0:
            # scikit-learn's words, so that warning filters keep working.
            warnings.warn(
                "With alpha=0, this algorithm does not converge well. You are advised to use the "
                "LinearRegression estimator, which has the same objective and a closed form.",
                UserWarning,
                stacklevel=5,
            )

    def _read(self, X, y, sample_weight, *, reset=True):
        data = super()._read(X, y, sample_weight, reset=reset)
        gram = getattr(self, "precompute", False)
        if reset and not isinstance(gram, bool | np.bool_ | str) and not sp.issparse(data.X):
            check_gram(np.asarray(gram, dtype=float), data, self.fit_intercept)
        return data

    def _at(self, **values):
        if self._plain is not None and isinstance(getattr(self, "precompute", None), str):
            values = {"precompute": False} | values  # "auto" is for searches alone
        return super()._at(**values)

    @property
    def sparse_coef_(self):
        """The coefficients as a sparse matrix."""
        return sp.csr_matrix(np.atleast_2d(self.coef_))

    def _specifics(self, data, learned, solutions, certificates):
        # Gaps of the mean objective, as in scikit-learn: one per problem.
        gaps = np.array([certificate.gap for certificate in certificates]) / data.weights.sum()
        steps = [solution.trace.steps for solution in solutions]
        several = len(solutions) > 1
        return super()._specifics(data, learned, solutions, certificates) | {
            "dual_gap_": gaps if several else float(gaps[0]),
            "n_iter_": steps if several else steps[0],
        }


@described(DATA)
def fit(self, X, y, sample_weight=None, check_input=True):
    """Fit the model.

    Parameters
    ----------
    check_input : bool, default=True
        Accepted for scikit-learn's sake; the input is always checked, in two passes over X.

    Returns
    -------
    self : object
        The fitted estimator. Ctrl-C keeps the best coefficients found so far and raises
        KeyboardInterrupt; an error leaves the estimator as it was.
    """
    return LinearModel.fit(self, X, y, sample_weight)


# `check_input` is not data that a pipeline could route.
NOT_ROUTED: dict = {"check_input": metadata_routing.UNUSED}


# What those that minimise one objective describe alike.
SPARSE = """
precompute : bool or array-like of shape (n_features, n_features)
    Whether a Gram matrix pays is decided by the solver. A given one is compared with X, in its
    diagonal and one row, and an error if it is another; the fit does not use it.
sparse_coef_ : sparse matrix of shape (n_targets, n_features)
    The coefficients as a sparse matrix.
dual_gap_ : float or ndarray of shape (n_targets,)
    Duality gap in the units of the objective above.
n_iter_ : int or list of int
    Number of steps; one per problem that was solved.
"""


@described(SPARSE, OF_TARGETS, WITH_ALPHA, SOLVED)
class Lasso(SparseRegressor):
    """Least squares with an L1 penalty, which makes coefficients exactly 0.

    Minimises  (1/2S) Σᵢ sᵢ (yᵢ − xᵢᵀw − b)² + α‖w‖₁  with S = Σsᵢ, which is n without weights.

    Parameters
    ----------
    solver : str or Solver, default="auto"
        A solver of gapless by name, "auto", or a value such as `Named("ista")`; "ista" is iterative
        soft-thresholding, "coordinate_descent" moves one coefficient after the other.

    Notes
    -----
    A step costs n times the number of features in the working set, which is usually a small
    multiple of the number of nonzero coefficients. It keeps one of a group of correlated features;
    ElasticNet keeps them together.

    References
    ----------
    Tibshirani (1996), Regression shrinkage and selection via the lasso.

    Examples
    --------
    >>> from gapless import Lasso
    >>> model = Lasso(alpha=0.1).fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [0.0, 1.0, 2.0])
    >>> float(model.coef_.sum().round(4))
    0.85
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"alpha": 1.0}),)
    __metadata_request__fit: ClassVar[dict] = NOT_ROUTED
    fit = fit

    _parameter_constraints: ClassVar[dict] = {
        **SparseRegressor._parameter_constraints,
        "precompute": ["boolean", "array-like"],
        "positive": ["boolean"],
    }

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        precompute=False,
        copy_X=True,
        max_iter=1000,
        tol=1e-6,
        warm_start=False,
        positive=False,
        random_state=None,
        selection="cyclic",
        solver="auto",
        time_limit=None,
        select="min",
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
        self.time_limit = time_limit
        self.select = select

    def _problems(self, data):
        penalty = with_sign(L1(self.alpha * data.weights.sum()), self.positive)
        return regression_problems(data, Squared(), penalty, self.fit_intercept, joint=False)

    def _formula(self) -> Formula:
        return squares_and_lasso(self)


@described(SPARSE, OF_TARGETS, WITH_ALPHA, SOLVED)
class ElasticNet(SparseRegressor):
    """Least squares with a mixture of L1 and ridge penalty.

    Minimises  (1/2S) Σᵢ sᵢ (yᵢ − xᵢᵀw − b)² + α(ρ‖w‖₁ + ½(1−ρ)‖w‖²)  with S = Σsᵢ, which is n
    without weights.

    Parameters
    ----------
    l1_ratio : float, list of float, "loo" or "cv", default=0.5
        Share ρ of the L1 penalty, between 0 (ridge) and 1 (lasso). With alpha="loo" or "cv" also a
        list to choose from, or the same word for seven values from 0.1 to 1.

    Attributes
    ----------
    l1_ratio_ : float
        The chosen share of the L1 penalty, where it was tuned.

    Notes
    -----
    Costs as Lasso. Ridge is faster where no coefficient has to be 0.

    References
    ----------
    Zou and Hastie (2005), Regularization and variable selection via the elastic net.

    Examples
    --------
    >>> from gapless import ElasticNet
    >>> model = ElasticNet(alpha=0.1).fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [0.0, 1.0, 2.0])
    >>> model.coef_.round(4)
    array([0.4458, 0.4458])
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"alpha": 0.1, "l1_ratio": 0.8}),)
    __metadata_request__fit: ClassVar[dict] = NOT_ROUTED
    fit = fit

    _stored: ClassVar[Declaration] = {**SparseRegressor._stored, "l1_ratio_": Unused()}
    _parameter_constraints: ClassVar[dict] = {
        **Lasso._parameter_constraints,
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), "array-like", StrOptions({LOO, CV})],
    }

    def __init__(
        self,
        alpha=1.0,
        *,
        l1_ratio=0.5,
        fit_intercept=True,
        precompute=False,
        max_iter=1000,
        copy_X=True,
        tol=1e-6,
        warm_start=False,
        positive=False,
        random_state=None,
        selection="cyclic",
        solver="auto",
        time_limit=None,
        select="min",
    ):
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
        self.time_limit = time_limit
        self.select = select

    def _problems(self, data):
        strength = self.alpha * data.weights.sum()
        penalty = with_sign(ElasticNetPenalty(strength, self.l1_ratio), self.positive)
        return regression_problems(data, Squared(), penalty, self.fit_intercept, joint=False)

    def _formula(self) -> Formula:
        return squares_and_elastic_net(self)


def squares_and_lasso(model) -> Formula:
    """The objective of Lasso and LassoCV."""
    return Formula(f"{_squares(model)} + nα‖w‖₁", {"α": chosen(model, "alpha")})


def squares_and_elastic_net(model) -> Formula:
    """The objective of ElasticNet and ElasticNetCV."""
    return Formula(
        f"{_squares(model)} + nα(ρ‖w‖₁ + ½(1−ρ)‖w‖²)",
        {"α": chosen(model, "alpha"), "ρ": chosen(model, "l1_ratio")},
    )


def _squares(model) -> str:
    return f"½ Σᵢ (yᵢ − xᵢᵀw{bias_term(model, '−')})²"


def check_gram(gram, data, fit_bias):
    """Refuse a Gram matrix that is not XᵀSX with weights of mean 1, by its diagonal and one row.

    The fit does not need it; a wrong one means that X is not what its owner believes.
    """
    design, s = Design(data.X), data.weights / data.weights.mean()
    if gram.shape != (design.d, design.d):
        raise ValueError(
            f"precompute must have the shape {(design.d, design.d)} of XᵀX, got {gram.shape}; "
            "set precompute=False."
        )
    tolerance = 1e-4 if data.X.dtype == np.float32 else 1e-7
    norms = np.sqrt(np.maximum(design.column_square_sums(s), 0.0))
    sums = design.transposed_times(s)
    if fit_bias and np.any(np.abs(sums) > tolerance * np.sqrt(design.n) * norms):
        warnings.warn(
            "Gram matrix was provided but X was centered to fit intercept: recomputing Gram "
            "matrix. Center X before, or set precompute=False.",
            UserWarning,
            stacklevel=6,
        )
        return
    j = int(np.argmax(norms))
    row = design.transposed_times(s * design.columns(np.array([j])).dense()[:, 0])
    wrong = np.abs(gram[j] - row) > tolerance * norms[j] * norms
    wrong |= np.abs(np.diag(gram) - norms**2) > tolerance * norms**2
    if wrong.any():
        k = int(np.argmax(wrong))
        raise ValueError(
            f"Gram matrix passed in via precompute did not pass validation: its entries of feature "
            f"{k} are not those of XᵀX; set precompute=False."
        )
