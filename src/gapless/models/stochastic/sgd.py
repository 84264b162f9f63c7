"""Stochastic gradient descent on any loss with any penalty: SGDClassifier and SGDRegressor."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils._param_validation import Interval, StrOptions

from ... import losses
from ..._ground.about import Example, Examples, Formula, bias_term
from ..._ground.docstrings import described
from ..._ground.stored import Declaration, Numbers, column_count
from ..._ground.validation import Training, read_part_of_classes
from ...losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Loss,
    ModifiedHuber,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from ...solvers import Update
from ..linear import (
    DATA,
    OF_CLASSES,
    OF_TARGETS,
    SOLVED,
    LinearClassifier,
    LinearRegressor,
    classification_problems,
    regression_problems,
)
from ._base import STOCHASTIC, UPDATES, StochasticModel
from .steps import SCHEDULES

Array = np.ndarray

STEPS: dict[str, Any] = {
    "epsilon": [Interval(Real, 0, None, closed="left")],
    "learning_rate": [StrOptions(set(SCHEDULES))],
    "power_t": [Interval(Real, None, None, closed="neither")],
    "average": [Interval(Integral, 0, None, closed="left"), "boolean"],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "update": [StrOptions(set(UPDATES)), Update],
    "loss": [str, Loss],
}
# Losses by scikit-learn's names; those with a number take `epsilon`.
OF_NUMBERS: dict[str, tuple] = {
    "squared_error": (Squared,),
    "huber": (Huber, 0.1),
    "epsilon_insensitive": (EpsilonInsensitive, 0.1),
    "squared_epsilon_insensitive": (SquaredEpsilonInsensitive, 0.1),
}


def _formula(self) -> Formula:
    numbers = {"ℓ": self.loss, "R": self.penalty, "α": self.alpha or None}
    penalty = "" if self.penalty is None else " + nα R(w)"
    return Formula(f"Σᵢ ℓ(yᵢ, xᵢᵀw{bias_term(self)}){penalty}", numbers)


# What both classes describe alike.
OF_STEPS = """
penalty : {"l2", "l1", "elasticnet"}, Penalty or None
    The penalty R: ½‖w‖², ‖w‖₁, or their mixture by `l1_ratio`; another penalty of gapless by name
    or as an instance; or none.
alpha : float
    Weight α ≥ 0 of the penalty against the mean loss.
l1_ratio : float
    The share of ‖w‖₁ in "elasticnet", from 0 to 1.
tol : float
    Stop when the mean objective falls by less than this for `n_iter_no_change` epochs in a row, or
    the score on the rows set aside rises by less; None makes `max_iter` epochs. Also the duality
    gap, relative to the objective at w = 0, up to which the certificate says "optimal".
epsilon : float
    The parameter of the losses "huber", "epsilon_insensitive" and "squared_epsilon_insensitive".
learning_rate : {"optimal", "constant", "invscaling", "adaptive", "pa1", "pa2"}
    The length η of step t: 1/(α(t₀ + t)), η₀, η₀/tᵖ, η₀ divided by 5 whenever the objective stops
    falling, or as long as the row needs (passive-aggressive, of at most η₀).
eta0 : float
    Length η₀ of the first step, where `learning_rate` uses it.
power_t : float
    Exponent p of "invscaling".
average : bool or int
    Whether the model is the mean of all iterates, or of those from this step on.
batch_size : int
    Rows per step. Batches of 32 and more take several times less time per epoch, and usually more
    epochs.
update : {"plain", "momentum", "averaged_momentum", "nesterov", "adam"} or Update
    What a step makes of the gradient: a rule by name, or an instance such as Momentum(0.5).
"""


@described(OF_STEPS, STOCHASTIC, OF_CLASSES, SOLVED)
class SGDClassifier(StochasticModel, LinearClassifier):
    """Linear classifier with any loss and penalty, fitted by stochastic gradient descent.

    Minimises  (1/n) Σᵢ sᵢ ℓ(tᵢ, xᵢᵀw + b) + α R(w)  with t = ±1, n = Σᵢ sᵢ, one class against the
    rest if there are more than two; or one problem for all classes with a multi-class loss, such
    as "softmax". Each step follows the gradient of one row, or of a batch of rows.

    Parameters
    ----------
    loss : str or Loss, default="hinge"
        The loss ℓ: "hinge" (a support vector machine), "log_loss" (logistic regression),
        "modified_huber", "squared_hinge", "perceptron", and for regression on ±1 "squared_error",
        "huber", "epsilon_insensitive" and "squared_epsilon_insensitive"; or any loss of gapless by
        name, such as "softmax", or as an instance, one's own class included.

    Notes
    -----
    An epoch costs n·d for each class. The steps end near the optimum, not at it: the certificate
    says how near, by a bound from the mean slope of the loss at each row or, on small data, from a
    few steps of an exact solver, which do not change the model. It is computed when it is first
    read, and only then does the trace have its gap. Where the data fit into memory, and
    for exact solutions, LinearSVC, LogisticRegression and RiskClassifier are faster. Features
    should have similar scales, e.g. by StandardScaler(). Weight 2 is the row repeated, weight 0 the
    row removed, and the order of the rows does not matter, unless shuffle=False. In `partial_fit` a
    weight multiplies the step. Slopes of single rows are compiled for the named losses; any other
    loss is many times slower with batch_size=1, but not in batches.

    References
    ----------
    Bottou (2012), Stochastic gradient descent tricks. Tsuruoka, Tsujii and Ananiadou (2009),
    Stochastic gradient descent training for L1-regularized log-linear models with cumulative
    penalty.

    Examples
    --------
    >>> from gapless import SGDClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> model = SGDClassifier(alpha=0.01, random_state=0).fit(X, y)
    >>> model.predict([[0.5], [2.5]])
    array([0, 1])
    """

    _examples: ClassVar[Examples] = (
        Example("breast_cancer", {"loss": "log_loss", "average": True, "random_state": 0}),
    )
    _formula = _formula
    _stored: ClassVar[Declaration] = {
        **LinearClassifier._stored,
        **StochasticModel._stored,
        "coef_": Numbers("outputs", column_count, may_be_sparse=True),
        "intercept_": Numbers("outputs"),
        "classes_": LinearClassifier._stored["classes_"],
    }
    _parameter_constraints: ClassVar[dict] = {
        **StochasticModel._parameter_constraints,
        **STEPS,
        "class_weight": LinearClassifier._parameter_constraints["class_weight"],
        "n_jobs": [Integral, None],
    }
    loss_functions: ClassVar[dict[str, tuple]] = {
        **OF_NUMBERS,
        "hinge": (Hinge,),
        "squared_hinge": (SquaredHinge,),
        "perceptron": (losses.Perceptron,),
        "log_loss": (Logistic,),
        "modified_huber": (ModifiedHuber,),
    }

    def __init__(
        self,
        loss="hinge",
        *,
        penalty="l2",
        alpha=0.0001,
        l1_ratio=0.15,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-3,
        shuffle=True,
        verbose=0,
        epsilon=0.1,
        n_jobs=None,
        random_state=None,
        learning_rate="optimal",
        eta0=0.01,
        power_t=0.5,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        class_weight=None,
        warm_start=False,
        average=False,
        batch_size=1,
        update="plain",
        time_limit=None,
    ):
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.epsilon = epsilon
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.average = average
        self.batch_size = batch_size
        self.update = update
        self.time_limit = time_limit

    def _problems(self, data):
        penalty = self._whole_penalty(data)
        return classification_problems(data, self._loss(), penalty, self.fit_intercept)

    def _validation_score(self, data, rows, scores):
        return accuracy_of(data, rows, scores)

    @described(DATA)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Make one epoch on these rows, from where the last call has ended.

        Parameters
        ----------
        classes : array-like of shape (n_classes,), default=None
            All classes, including those of later parts; needed in the first call.

        Returns
        -------
        self : object
            The fitted estimator. It keeps no reference to its data: pass them to
            `gapless.certify` and `gapless.generalize`.
        """
        self._check_parameters(is_part=True)
        self._learn_part(read_part_of_classes(self, X, y, classes, sample_weight))
        return self

    def _loss_of_probabilities(self):
        loss = self._loss()
        if not loss.has_probabilities:
            raise AttributeError(
                f"probability estimates are not available for loss={self.loss!r}; use "
                '"log_loss" or "softmax".'
            )
        return loss

    def decision_function(self, X):
        """Scores of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one score, positive where `classes_[1]` is predicted.
        """
        scores = super().decision_function(X)
        is_pair = len(self.classes_) == 2 and scores.ndim == 2
        return scores[:, 1] - scores[:, 0] if is_pair else scores


@described(OF_STEPS, STOCHASTIC, OF_TARGETS, SOLVED)
class SGDRegressor(StochasticModel, LinearRegressor):
    """Linear regression with any loss and penalty, fitted by stochastic gradient descent.

    Minimises  (1/n) Σᵢ sᵢ ℓ(yᵢ, xᵢᵀw + b) + α R(w)  with n = Σᵢ sᵢ. Each step follows the gradient
    of one row, or of a batch of rows.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        The loss ℓ: "squared_error" (½ of the square), "huber", "epsilon_insensitive",
        "squared_epsilon_insensitive"; or any loss of gapless for regression by name, such as
        "quantile", or as an instance, one's own class included.
    learning_rate : {"optimal", "constant", "invscaling", "adaptive", "pa1", "pa2"}, \
default="invscaling"
        The length η of step t: 1/(α(t₀ + t)), η₀, η₀/tᵖ, η₀ divided by 5 whenever the objective
        stops falling, or as long as the row needs (passive-aggressive, of at most η₀).

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients w.
    intercept_ : ndarray of shape (1,)
        Bias b.

    Notes
    -----
    An epoch costs n·d. The steps end near the optimum, not at it: the certificate says how near. It
    is computed when it is first read, and only then does the trace have its gap. Where the data fit
    into memory, Ridge, Lasso and RiskRegressor are faster and exact. Features should have similar
    scales, e.g. by StandardScaler(). Weight 2 is the row repeated, weight 0 the row removed, and
    the order of the rows does not matter, unless shuffle=False. In `partial_fit` a weight
    multiplies the step.

    References
    ----------
    Bottou (2012), Stochastic gradient descent tricks.

    Examples
    --------
    >>> import numpy as np
    >>> from gapless import SGDRegressor
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = SGDRegressor(eta0=0.1, random_state=0).fit(X, 3 * X[:, 0])
    >>> bool(abs(model.coef_[0] - 3) < 0.1)
    True
    """

    _examples: ClassVar[Examples] = (
        Example("diabetes", {"alpha": 0.01, "average": True, "random_state": 0}),
    )
    _multi_output = False
    _formula = _formula
    loss_functions: ClassVar[dict[str, tuple]] = OF_NUMBERS
    _stored: ClassVar[Declaration] = {**StochasticModel._stored}
    _parameter_constraints: ClassVar[dict] = {
        **StochasticModel._parameter_constraints,
        **STEPS,
    }

    def __init__(
        self,
        loss="squared_error",
        *,
        penalty="l2",
        alpha=0.0001,
        l1_ratio=0.15,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-3,
        shuffle=True,
        verbose=0,
        epsilon=0.1,
        random_state=None,
        learning_rate="invscaling",
        eta0=0.01,
        power_t=0.25,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        warm_start=False,
        average=False,
        batch_size=1,
        update="plain",
        time_limit=None,
    ):
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.epsilon = epsilon
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.average = average
        self.batch_size = batch_size
        self.update = update
        self.time_limit = time_limit

    def _check_parameters(self, is_part: bool = False) -> None:
        super()._check_parameters(is_part)
        loss = self._loss()
        if loss.task != "regression":
            raise ValueError(
                f"the {loss.name} loss is for classes; use SGDClassifier, or a loss such as "
                '"squared_error".'
            )

    def _problems(self, data):
        penalty = self._whole_penalty(data)
        return regression_problems(data, self._loss(), penalty, self.fit_intercept, joint=False)

    def _specifics(self, data, learned, solutions, certificates):
        specifics = super()._specifics(data, learned, solutions, certificates)
        bias = np.atleast_1d(np.asarray(specifics["intercept_"], dtype=data.X.dtype))
        return specifics | {"intercept_": bias}

    def _respond(self, scores):
        return self._loss().inverse_link(scores)

    def _validation_score(self, data, rows, scores):
        predicted = self._respond(scores[:, 0])
        return float(r2_score(data.y[rows], predicted, sample_weight=data.sample_weight[rows]))

    @described(DATA)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None):
        """Make one epoch on these rows, from where the last call has ended.

        Returns
        -------
        self : object
            The fitted estimator. It keeps no reference to its data: pass them to
            `gapless.certify` and `gapless.generalize`.
        """
        self._check_parameters(is_part=True)
        is_first = not hasattr(self, "coef_")
        self._learn_part(self._read(X, y, sample_weight, reset=is_first))
        return self


def accuracy_of(data: Training, rows: Array, scores: Array) -> float:
    """The share of rows whose class has the largest score."""
    found = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] >= 0).astype(int)
    return float(accuracy_score(data.y[rows], found, sample_weight=data.sample_weight[rows]))
