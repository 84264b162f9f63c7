"""Linear regression: least squares, ridge, lasso, elastic net, multi-task, support vectors."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import metadata_routing
from sklearn.utils._param_validation import Interval, StrOptions

from ..design import Design
from ..losses import EpsilonInsensitive, Squared, SquaredEpsilonInsensitive
from ..penalties import L1, L2, Box, Group, NoPenalty, Separable
from ..penalties import ElasticNet as ElasticNetPenalty
from ._base import SELECT, LinearRegressor
from .problems import regression_problems
from .selection import CV, LOO

# What scikit-learn's solvers of ridge regression mean here; "cholesky" and "svd" are here, too.
RIDGE_SOLVERS = dict.fromkeys(("lbfgs", "lsqr", "sag", "saga", "sparse_cg"), "auto")


class LinearRegression(LinearRegressor):
    """Ordinary least squares.

    Minimises  ½ Σᵢ sᵢ (yᵢ − xᵢᵀw − b)²,  in closed form. Where several w do it, the one of smallest
    norm.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit the bias b.
    copy_X : bool, default=True
        Accepted for scikit-learn's sake; X is never written to.
    tol : float, default=1e-6
        Iterative solvers stop when the duality gap is at most `tol` times the objective at w = 0.
    n_jobs : int, default=None
        Accepted for scikit-learn's sake; the number of threads is GAPLESS_NUM_THREADS.
    positive : bool, default=False
        Whether to keep all coefficients ≥ 0.
    solver : str, default="auto"
        A solver of gapless by name, or "auto".
    max_iter : int, default=None
        Largest number of steps; None leaves it to the solver.
    warm_start : bool, default=False
        Whether to start from the coefficients of the last fit.
    time_limit : float, default=None
        Seconds after which the best coefficients found so far are kept.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients w.
    intercept_ : float or ndarray of shape (n_targets,)
        Bias b.
    dual_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Dual point θ, which proves the certificate.
    certificate_ : Certificate
        How far the fit can be from the best possible one.
    generalization_ : Generalization
        What the model will score on data it has not seen; computed when first asked for.
    trace_ : Trace or list of Trace
        Objective, gap and seconds of every step; one per problem that was solved.
    solver_ : str
        The solver that ran, or the name of scikit-learn's that was asked for.
    n_iter_ : int
        Number of steps.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

    Notes
    -----
    Costs n·d² for n ≥ d and n²·d otherwise. With highly correlated features the coefficients vary
    wildly from one sample to the next; prefer Ridge then.

    Examples
    --------
    >>> from gapless import LinearRegression
    >>> model = LinearRegression().fit([[1, 1], [1, 2], [2, 2], [2, 3]], [6, 8, 9, 11])
    >>> model.coef_.round(6)
    array([1., 2.])
    """

    _parameter_constraints: ClassVar[dict] = {
        **LinearRegressor._parameter_constraints,
        "copy_X": ["boolean"],
        "n_jobs": [None, Integral],
        "positive": ["boolean"],
    }

    def __init__(
        self,
        *,
        fit_intercept=True,
        copy_X=True,
        tol=1e-6,
        n_jobs=None,
        positive=False,
        solver="auto",
        max_iter=None,
        warm_start=False,
        time_limit=None,
    ):
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive
        self.solver = solver
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.time_limit = time_limit

    def _problems(self, data):
        penalty = Box(lower=0.0) if self.positive else NoPenalty()
        return regression_problems(
            data, Squared(), penalty, self.fit_intercept, joint=not self.positive
        )


class Ridge(LinearRegressor):
    """Least squares with a ridge penalty.

    Minimises  ½ Σᵢ sᵢ (yᵢ − xᵢᵀw − b)² + ½α‖w‖²,  which is half of scikit-learn's objective.

    Parameters
    ----------
    alpha : float, array-like of shape (n_targets,), "loo" or "cv", default=1.0
        Strength α ≥ 0 of the penalty; an array gives each target its own, "loo" chooses one by
        leave-one-out, which is exact and takes about as long as a fit, "cv" by folds, for features
        that are many and sparse.
    fit_intercept : bool, default=True
        Whether to fit the bias b, which is not penalised.
    copy_X : bool, default=True
        Accepted for scikit-learn's sake; X is never written to.
    max_iter : int, default=None
        Largest number of steps; None leaves it to the solver.
    tol : float, default=1e-6
        Iterative solvers stop when the duality gap is at most `tol` times the objective at w = 0.
    solver : str, default="auto"
        A solver of gapless by name, or "auto". Of scikit-learn's names "cholesky" and "svd" are
        here, too; "lbfgs", "lsqr", "sag", "saga" and "sparse_cg" mean "auto".
    positive : bool, default=False
        Whether to keep all coefficients ≥ 0.
    random_state : int, RandomState instance or None, default=None
        Accepted for scikit-learn's sake; nothing here is random.
    warm_start : bool, default=False
        Whether to start from the coefficients of the last fit.
    time_limit : float, default=None
        Seconds after which the best coefficients found so far are kept.
    select : {"min", "1se"}, default="min"
        With "loo" or "cv": the best strength, or the strongest penalty within one standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients w.
    intercept_ : float or ndarray of shape (n_targets,)
        Bias b.
    dual_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Dual point θ, which proves the certificate.
    certificate_ : Certificate
        How far the fit can be from the best possible one.
    generalization_ : Generalization
        What the model will score on data it has not seen; computed when first asked for.
    trace_ : Trace or list of Trace
        Objective, gap and seconds of every step; one per problem that was solved.
    solver_ : str
        The solver that ran, or the name of scikit-learn's that was asked for.
    n_iter_ : int
        Number of steps.
    alpha_ : float
        The chosen strength, with alpha="loo" or alpha="cv".
    path_ : Path
        The models along all strengths and their scores on unseen data, with "loo" or "cv".
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

    Notes
    -----
    Costs n·d² for n ≥ d and n²·d otherwise, once for all targets that share a strength. Keeps every
    feature; Lasso selects some.

    References
    ----------
    Hoerl and Kennard (1970), Ridge regression: biased estimation for nonorthogonal problems.

    Examples
    --------
    >>> from gapless import Ridge
    >>> model = Ridge(alpha=1.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> model.coef_.round(4)
    array([0.6667])
    """

    _flattens_one_column = True
    _strength_name = "alpha"
    _peer_solvers = RIDGE_SOLVERS
    _stored: ClassVar[tuple[str, ...]] = (*LinearRegressor._stored, "alpha_", "path_")
    _parameter_constraints: ClassVar[dict] = {
        **LinearRegressor._parameter_constraints,
        **SELECT,
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like", StrOptions({LOO, CV})],
        "copy_X": ["boolean"],
        "positive": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=None,
        tol=1e-6,
        solver="auto",
        positive=False,
        random_state=None,
        warm_start=False,
        time_limit=None,
        select="min",
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.select = select

    def _problems(self, data):
        return ridge_problems(self, data)


def ridge_problems(estimator, data):
    """The problems of Ridge and of RidgeClassifier; one per target where the strengths differ."""
    positive, fit_bias, solver = estimator.positive, estimator.fit_intercept, estimator.solver
    if positive and solver in ("svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga"):
        raise ValueError(
            f"solver='{solver}' does not support positive fitting; use solver='auto', or set "
            "positive=False."
        )
    if solver == "svd" and fit_bias and sp.issparse(data.X):
        raise ValueError(
            "solver='svd' does not support fitting the intercept on sparse data, since it would "
            "need a dense copy of X; use solver='auto'."
        )
    alphas = np.ravel(np.asarray(estimator.alpha, dtype=float))
    if not np.all(np.isfinite(alphas)) or np.any(alphas < 0):
        raise ValueError(f"alpha must be finite and ≥ 0, got {estimator.alpha!r}.")
    targets = 1 if data.y.ndim == 1 else data.y.shape[1]
    if len(alphas) not in (1, targets):
        raise ValueError(
            "Number of targets and number of penalties do not correspond: "
            f"{len(alphas)} != {targets}; give one alpha, or one per target."
        )
    penalties = [with_sign(L2(float(a)), positive) for a in alphas]
    if len(penalties) == 1:
        return regression_problems(data, Squared(), penalties[0], fit_bias, joint=not positive)
    separate = regression_problems(data, Squared(), penalties[0], fit_bias, joint=False)
    return [replace(problem, penalty=p) for problem, p in zip(separate, penalties)]


def with_sign(penalty: Separable, positive: bool) -> Separable:
    """The penalty, with all coefficients kept ≥ 0 if wanted."""
    return Box(lower=0.0, penalty=penalty) if positive else penalty


class SparseRegressor(LinearRegressor):
    """Base of Lasso, ElasticNet and MultiTaskLasso: gaps are of the mean, as in scikit-learn."""

    _not_converged = (
        "Objective did not converge. You might want to increase the number of iterations"
    )

    _stored: ClassVar[tuple[str, ...]] = (*LinearRegressor._stored, "dual_gap_", "alpha_", "path_")
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
        if self.alpha == 0:
            # The words of scikit-learn, so that filters of warnings keep working.
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

    @property
    def sparse_coef_(self):
        """The coefficients as a sparse matrix."""
        return sp.csr_matrix(np.atleast_2d(self.coef_))

    def _specifics(self, data, learned, solutions, certificates):
        # Gaps of the mean objective, as scikit-learn has them: one per problem.
        gaps = np.array([certificate.gap for certificate in certificates]) / data.weights.sum()
        steps = [solution.trace.steps for solution in solutions]
        several = len(solutions) > 1
        return super()._specifics(data, learned, solutions, certificates) | {
            "dual_gap_": gaps if several else float(gaps[0]),
            "n_iter_": steps if several else steps[0],
        }


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


class PlainSparseRegressor(SparseRegressor):
    """Base of those whose `fit` takes scikit-learn's switch to skip the checks."""

    # It is no data that a pipeline could route.
    __metadata_request__fit: ClassVar[dict] = {"check_input": metadata_routing.UNUSED}

    def fit(self, X, y, sample_weight=None, check_input=True):
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data; float32 stays float32, everything else becomes float64. Never written to.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.
        check_input : bool, default=True
            Accepted for scikit-learn's sake; the input is always checked, in two passes over X.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the best coefficients found so far and raises
            KeyboardInterrupt; an error leaves the estimator as it was.
        """
        return super().fit(X, y, sample_weight)


class Lasso(PlainSparseRegressor):
    """Least squares with an L1 penalty, which makes coefficients exactly 0.

    Minimises  (1/2S) Σᵢ sᵢ (yᵢ − xᵢᵀw − b)² + α‖w‖₁  with S = Σsᵢ, which is n without weights.

    Parameters
    ----------
    alpha : float, "loo" or "cv", default=1.0
        Strength α ≥ 0 of the penalty; "loo" chooses it by leave-one-out, "cv" by folds.
    fit_intercept : bool, default=True
        Whether to fit the bias b, which is not penalised.
    precompute : bool or array-like of shape (n_features, n_features), default=False
        Whether a Gram matrix pays is decided by the solver. A given one is compared with X, in its
        diagonal and one row, and an error if it is another; the fit does not use it.
    copy_X : bool, default=True
        Accepted for scikit-learn's sake; X is never written to.
    max_iter : int, default=1000
        Largest number of steps; None leaves it to the solver.
    tol : float, default=1e-6
        Stop when the duality gap is at most `tol` times the objective at w = 0.
    warm_start : bool, default=False
        Whether to start from the coefficients of the last fit.
    positive : bool, default=False
        Whether to keep all coefficients ≥ 0.
    random_state : int, RandomState instance or None, default=None
        Accepted for scikit-learn's sake; nothing here is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Accepted for scikit-learn's sake; the order of the features is decided by the solver.
    solver : str, default="auto"
        A solver of gapless by name, or "auto"; "ista" is iterative soft-thresholding.
    time_limit : float, default=None
        Seconds after which the best coefficients found so far are kept.
    select : {"min", "1se"}, default="min"
        With "loo" or "cv": the best strength, or the strongest penalty within one standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients w.
    sparse_coef_ : sparse matrix of shape (n_targets, n_features)
        The same as a sparse matrix.
    intercept_ : float or ndarray of shape (n_targets,)
        Bias b.
    dual_gap_ : float or ndarray of shape (n_targets,)
        Duality gap in the units of the objective above.
    dual_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Dual point θ, which proves the certificate.
    certificate_ : Certificate
        How far the fit can be from the best possible one.
    generalization_ : Generalization
        What the model will score on data it has not seen; computed when first asked for.
    trace_ : Trace or list of Trace
        Objective, gap and seconds of every step; one per target.
    solver_ : str
        The solver that ran, or the name of scikit-learn's that was asked for.
    n_iter_ : int or list of int
        Number of steps; one per target.
    alpha_ : float
        The chosen strength, with alpha="loo" or alpha="cv".
    path_ : Path
        The models along all strengths and their scores on unseen data, with "loo" or "cv".
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

    Notes
    -----
    A step costs n times the number of features in the working set, which is usually a small
    multiple of the number of nonzero coefficients. Of a group of correlated features it keeps one;
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


class ElasticNet(PlainSparseRegressor):
    """Least squares with a mixture of L1 and ridge penalty.

    Minimises  (1/2S) Σᵢ sᵢ (yᵢ − xᵢᵀw − b)² + α(ρ‖w‖₁ + ½(1−ρ)‖w‖²)  with S = Σsᵢ, which is n
    without weights.

    Parameters
    ----------
    alpha : float, "loo" or "cv", default=1.0
        Strength α ≥ 0 of the penalty; "loo" chooses it by leave-one-out, "cv" by folds.
    l1_ratio : float, list of float, "loo" or "cv", default=0.5
        Share ρ of the L1 penalty, between 0 (ridge) and 1 (lasso). With alpha="loo" or "cv" also a
        list to choose from, or the same word for seven values from 0.1 to 1.
    fit_intercept : bool, default=True
        Whether to fit the bias b, which is not penalised.
    precompute : bool or array-like of shape (n_features, n_features), default=False
        Whether a Gram matrix pays is decided by the solver. A given one is compared with X, in its
        diagonal and one row, and an error if it is another; the fit does not use it.
    max_iter : int, default=1000
        Largest number of steps; None leaves it to the solver.
    copy_X : bool, default=True
        Accepted for scikit-learn's sake; X is never written to.
    tol : float, default=1e-6
        Stop when the duality gap is at most `tol` times the objective at w = 0.
    warm_start : bool, default=False
        Whether to start from the coefficients of the last fit.
    positive : bool, default=False
        Whether to keep all coefficients ≥ 0.
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
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients w.
    sparse_coef_ : sparse matrix of shape (n_targets, n_features)
        The same as a sparse matrix.
    intercept_ : float or ndarray of shape (n_targets,)
        Bias b.
    dual_gap_ : float or ndarray of shape (n_targets,)
        Duality gap in the units of the objective above.
    dual_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Dual point θ, which proves the certificate.
    certificate_ : Certificate
        How far the fit can be from the best possible one.
    generalization_ : Generalization
        What the model will score on data it has not seen; computed when first asked for.
    trace_ : Trace or list of Trace
        Objective, gap and seconds of every step; one per target.
    solver_ : str
        The solver that ran, or the name of scikit-learn's that was asked for.
    n_iter_ : int or list of int
        Number of steps; one per target.
    alpha_ : float
        The chosen strength, with alpha="loo" or alpha="cv".
    path_ : Path
        The models along all strengths and their scores on unseen data, with "loo" or "cv".
    l1_ratio_ : float
        The chosen share of the L1 penalty, where it was tuned.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

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

    _stored: ClassVar[tuple[str, ...]] = (*SparseRegressor._stored, "l1_ratio_")
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


class MultiTaskLasso(PlainSparseRegressor):
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
        The models along all strengths and their scores on unseen data, with "loo" or "cv".
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


class LinearSVR(LinearRegressor):
    """Linear support vector regression.

    Minimises  C Σᵢ sᵢ ℓ(yᵢ − xᵢᵀw − b) + ½‖w‖²  with ℓ(r) = max(0, |r| − ε), or its square.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half-width ε ≥ 0 of the tube in which errors cost nothing.
    tol : float, default=1e-6
        Stop when the duality gap is at most `tol` times the objective at w = 0.
    C : float, "loo" or "cv", default=1.0
        Weight C > 0 of the errors against the penalty; "loo" chooses it by leave-one-out, "cv" by
        folds, which is cheaper where features are many and sparse.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        The loss ℓ.
    fit_intercept : bool, default=True
        Whether to fit the bias b. It is not penalised, other than in scikit-learn.
    intercept_scaling : float, default=1.0
        Without effect, since the bias is not penalised.
    dual : bool or "auto", default="auto"
        Accepted for scikit-learn's sake; see `solver`.
    verbose : int, default=0
        Accepted for scikit-learn's sake; long fits show their progress on a terminal.
    random_state : int, RandomState instance or None, default=None
        Accepted for scikit-learn's sake; the answer does not depend on it.
    max_iter : int, default=1000
        Largest number of steps.
    solver : str, default="auto"
        A solver of gapless by name, or "auto".
    warm_start : bool, default=False
        Whether to start from the coefficients of the last fit.
    time_limit : float, default=None
        Seconds after which the best coefficients found so far are kept.
    select : {"min", "1se"}, default="min"
        With "loo" or "cv": the best strength, or the strongest penalty within one standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients w.
    intercept_ : ndarray of shape (1,)
        Bias b.
    dual_ : ndarray of shape (n_samples,)
        Dual point θ, which proves the certificate; times C these are the dual coefficients of the
        objective above.
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
    C_ : float
        The chosen strength, with C="loo" or C="cv".
    path_ : Path
        The models along all strengths and their scores on unseen data, with "loo" or "cv".
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

    Notes
    -----
    A step costs n·d. The objective is scaled by 1/C inside, so that the certificate is in units of
    the loss.

    References
    ----------
    Ho and Lin (2012), Large-scale linear support vector regression.

    Examples
    --------
    >>> from gapless import LinearSVR
    >>> model = LinearSVR(C=10.0).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
    >>> model.coef_.round(4)
    array([1.])
    """

    _not_converged = "Liblinear failed to converge, increase the number of iterations"
    _multi_output = False
    _strength_name = "C"
    _stored: ClassVar[tuple[str, ...]] = (*LinearRegressor._stored, "C_", "path_")
    _losses: ClassVar[dict] = {
        "epsilon_insensitive": EpsilonInsensitive,
        "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    }
    _parameter_constraints: ClassVar[dict] = {
        **LinearRegressor._parameter_constraints,
        **SELECT,
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither"), StrOptions({LOO, CV})],
        "loss": [StrOptions(set(_losses))],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "dual": ["boolean", StrOptions({"auto"})],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        epsilon=0.0,
        tol=1e-6,
        C=1.0,
        loss="epsilon_insensitive",
        fit_intercept=True,
        intercept_scaling=1.0,
        dual="auto",
        verbose=0,
        random_state=None,
        max_iter=1000,
        solver="auto",
        warm_start=False,
        time_limit=None,
        select="min",
    ):
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.solver = solver
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.select = select

    def _problems(self, data):
        loss = self._losses[self.loss](float(self.epsilon))
        return regression_problems(data, loss, L2(1 / self.C), self.fit_intercept, joint=False)

    def _specifics(self, data, learned, solutions, certificates):
        specifics = super()._specifics(data, learned, solutions, certificates)
        return specifics | {"intercept_": np.atleast_1d(specifics["intercept_"])}
