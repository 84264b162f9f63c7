"""Ridge regression for numbers and for classes: Ridge, RidgeClassifier."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions

from ..._ground.about import Example, Examples, Formula, bias_term, chosen
from ..._ground.docstrings import described
from ..._ground.stored import Declaration, Flag, Labels, Number, Numbers, Unused, column_count
from ..._ground.validation import is_multilabel, read_multilabel
from ...losses import Squared
from ...penalties import L2
from ...unseen import CV, LOO
from ._base import SELECT
from .parameters import OF_CLASSES, OF_TARGETS, ROWS, SOLVED, WITH_ALPHA
from .problems import regression_problems, with_sign
from .tasks import LinearClassifier, LinearRegressor

# The meaning of scikit-learn's solvers of ridge regression here; "cholesky" and "svd" are here,
# too.
RIDGE_SOLVERS = dict.fromkeys(("lbfgs", "lsqr", "sag", "saga", "sparse_cg"), "auto")


# What Ridge and RidgeClassifier describe alike.
RIDGE = """
alpha : float, array-like of shape (n_targets,) or (n_classes,), "loo" or "cv"
    Strength α ≥ 0 of the penalty; an array gives each target or class its own. "loo" chooses one by
    leave-one-out, which is exact and takes about as long as a fit, "cv" by folds, for features that
    are many and sparse.
tol : float
    Iterative solvers stop when the duality gap is at most `tol` times the objective at w = 0.
solver : str or Solver
    A solver of gapless by name, "auto", or a value such as `GradientDescent(step=0.1)`. Of
    scikit-learn's names "cholesky" and "svd" are here, too; "lbfgs", "lsqr", "sag", "saga" and
    "sparse_cg" mean "auto". `solver_` names what ran.
"""


@described(RIDGE, OF_TARGETS, WITH_ALPHA, SOLVED)
class Ridge(LinearRegressor):
    """Least squares with a ridge penalty.

    Minimises  ½ Σᵢ sᵢ (yᵢ − xᵢᵀw − b)² + ½α‖w‖²,  which is half of scikit-learn's objective.

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

    _examples: ClassVar[Examples] = (Example("diabetes", {"alpha": 10.0}),)

    _flattens_one_column = True
    _strength_name = "alpha"
    _peer_solvers = RIDGE_SOLVERS
    _stored: ClassVar[Declaration] = {
        **LinearRegressor._stored,
        "alpha_": Unused(),
        "path_": Unused(),
    }
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

    def _formula(self) -> Formula:
        return squares_and_ridge(self)


@described(RIDGE, OF_CLASSES, WITH_ALPHA, SOLVED)
class RidgeClassifier(LinearClassifier):
    """Classifier by ridge regression on targets −1 and +1.

    Minimises  ½ Σᵢ sᵢ (tᵢ − xᵢᵀw − b)² + ½α‖w‖²  with t = +1 for the class and −1 for the rest, one
    w per class.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_classes, n_features)
        Coefficients w; a vector for two classes.
    classes_ : ndarray of shape (n_classes,)
        The classes; with several labels per row, the positions of the labels.
    is_multilabel_ : bool
        Whether a row may have several labels.

    Notes
    -----
    One factorisation serves all classes, so this is the fastest classifier for many of them. It has
    no probabilities, and rows far on the right side of the border pull at it; LogisticRegression
    has neither flaw.

    Examples
    --------
    >>> from gapless import RidgeClassifier
    >>> model = RidgeClassifier().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> print(*model.predict([[0.5], [2.5]]))
    no yes
    """

    _examples: ClassVar[Examples] = (Example("breast_cancer"),)

    _fewest_classes = 1
    _strength_name = "alpha"
    _stored: ClassVar[Declaration] = {
        **LinearClassifier._stored,
        "classes_": Labels(),
        "coef_": Numbers("outputs", column_count, may_lack="outputs", may_be_sparse=True),
        "intercept_": Number() | Numbers("outputs"),
        "is_multilabel_": Flag(),
        "alpha_": Unused(),
        "path_": Unused(),
    }
    _peer_solvers = RIDGE_SOLVERS
    _parameter_constraints: ClassVar[dict] = {
        **LinearClassifier._parameter_constraints,
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
        class_weight=None,
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
        self.class_weight = class_weight
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.select = select

    def _read(self, X, y, sample_weight, *, reset=True):
        if is_multilabel(y):
            return read_multilabel(self, X, y, sample_weight, self.class_weight, reset=reset)
        return super()._read(X, y, sample_weight, reset=reset)

    def _misfit(self) -> str | None:
        """What is inconsistent in the stored attributes, in words; None if nothing is."""
        labels = np.arange(len(self.classes_))
        if self.is_multilabel_ and not np.array_equal(self.classes_, labels):
            return "classes_ are not label numbers"
        rows = 1 if self.coef_.ndim == 1 else self.coef_.shape[0]
        if rows != (1 if len(labels) <= 2 and not self.is_multilabel_ else len(labels)):
            return f"coef_ has {rows} rows, which does not fit {len(labels)} classes"
        return None

    def _problems(self, data):
        if data.y.ndim == 2:
            targets = 2 * data.y - 1
        elif len(data.classes) <= 2:
            targets = 2.0 * data.y - 1
        else:
            targets = np.where(data.y[:, None] == np.arange(len(data.classes)), 1.0, -1.0)
        return ridge_problems(self, replace(data, y=targets))

    def _specifics(self, data, learned, solutions, certificates):
        specifics = super()._specifics(data, learned, solutions, certificates)
        several = data.y.ndim == 2
        if not several and len(data.classes) <= 2:
            specifics["coef_"] = learned["coef_"][0]
        return specifics | {"is_multilabel_": several}

    @described(ROWS)
    def predict(self, X):
        """Predict classes, or the labels of each row.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_labels)
            The class with the largest score; with several labels per row, 1 for every label with a
            positive score.
        """
        scores = self.decision_function(X)
        if self.is_multilabel_:
            return (scores > 0).astype(int)
        if len(self.classes_) == 1:
            return np.full(len(scores), self.classes_[0])
        return self._classes_of(scores)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _formula(self) -> Formula:
        found = squares_and_ridge(self)
        return Formula(found.text.replace("yᵢ", "tᵢ") + ", tᵢ = ±1", found.numbers)


def ridge_problems(estimator, data):
    """The problems of Ridge and of RidgeClassifier; one per target if the strengths differ."""
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


def squares_and_ridge(model) -> Formula:
    """The objective of Ridge and RidgeCV."""
    squares = f"½ Σᵢ (yᵢ − xᵢᵀw{bias_term(model, '−')})²"
    return Formula(f"{squares} + ½α‖w‖²", {"α": chosen(model, "alpha")})
