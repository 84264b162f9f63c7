"""Any loss, penalty and kernel: RiskRegressor and RiskClassifier, also for custom classes."""

from __future__ import annotations

import copy
import warnings
from typing import ClassVar

from sklearn.base import is_classifier

from ... import kernels, losses, penalties
from ..._ground.about import Example, Examples, Formula, bias_term
from ..._ground.docstrings import described
from ..._ground.parts import PartKind
from ..._ground.stored import Declaration
from ...kernels import Kernel
from ...losses import Loss
from ...penalties import L1, L2, NoPenalty, Penalty
from ..linear import (
    DATA,
    OF_CLASSES,
    OF_TARGETS,
    OFFSET,
    ROWS,
    SOLVED,
    LinearClassifier,
    LinearRegressor,
    classification_problems,
    regression_problems,
    with_offset,
    without_offset,
)
from .with_kernel import KERNEL_CONSTRAINTS, ON_KERNEL, WithKernel

PARTS: dict[str, PartKind] = {
    "loss": PartKind(losses.by_name),
    "penalty": PartKind(penalties.by_name),
    "kernel": PartKind(kernels.by_name, Kernel.parameters, Kernel.replace),
}
CONSTRAINTS: dict = {
    **KERNEL_CONSTRAINTS,
    "loss": [str, Loss],
    "penalty": [str, Penalty],
    "kernel": [*KERNEL_CONSTRAINTS["kernel"], None],
}


def _check_parameters(self):
    """Refuse losses for evaluation alone, and penalties that a kernel's functions cannot have."""
    loss = losses.by_name(self.loss)
    if loss.refusal is not None:
        raise ValueError(f"{loss.refusal}.")
    if loss.caution is not None and is_classifier(self):
        warnings.warn(loss.caution, UserWarning, stacklevel=4)
    if self.kernel is None:
        return
    penalty = penalties.by_name(self.penalty)
    if not isinstance(penalty, L2) or penalty.weights is not None:
        raise ValueError(
            f"with a kernel the penalty must be ½λ‖f‖², got {self.penalty!r}; use "
            "penalty=L2(strength), or kernel=None for a linear model."
        )


def _kernel(self):
    """The kernel; None for a linear model."""
    return None if self.kernel is None else kernels.by_name(self.kernel)


def _formula(self) -> Formula:
    """The objective, with the kernel if there is one, and common penalties written out."""
    bias, numbers = bias_term(self), {"ℓ": self.loss}
    penalty = penalties.by_name(self.penalty)
    strength = getattr(penalty, "strength", None)
    if self.kernel is not None:
        numbers["λ"] = strength
        return Formula(f"Σᵢ ℓ(yᵢ, f(xᵢ){bias}) + ½λ‖f‖²", numbers)
    term = {NoPenalty: "", L2: " + ½λ‖w‖²", L1: " + λ‖w‖₁"}.get(type(penalty))
    if term is None or getattr(penalty, "weights", None) is not None:
        term, numbers["R"] = " + R(w)", self.penalty
    elif term:
        numbers["λ"] = strength
    return Formula(f"Σᵢ ℓ(yᵢ, xᵢᵀw{bias}){term}", numbers)


# What both classes describe alike.
OF_PARTS = """
penalty : str or Penalty
    The penalty R with its strength: a name ("none", "l2", "l1", …) for strength 1, or an instance
    such as L1(0.1).
kernel : str, Kernel, callable or None
    None is a linear model. With a kernel, a name ("rbf", "poly", …) or an instance such as
    Gaussian(0.5), the model is f(x) + b with f in the space of the kernel and the penalty ½λ‖f‖²:
    the penalty must be L2.
"""


@described(OF_PARTS, ON_KERNEL, OF_TARGETS, SOLVED)
class RiskRegressor(WithKernel, LinearRegressor):
    """Regression with any loss, any penalty and any kernel.

    Minimises  Σᵢ sᵢ ℓ(yᵢ, xᵢᵀw + b) + R(w),  or with a kernel  Σᵢ sᵢ ℓ(yᵢ, f(xᵢ) + b) + ½λ‖f‖².

    Parameters
    ----------
    loss : str or Loss, default="squared"
        The loss ℓ: a name ("squared", "huber", "epsilon_insensitive", …) for its default form, or
        an instance, one's own class included.

    Notes
    -----
    Several targets are fitted separately, unless the penalty couples them (group). Costs are those
    of the solver that the loss and the penalty allow; a loss or penalty without the methods that
    faster solvers need runs by proximal gradient. Rows may have offsets, such as logarithms of
    exposures, if the loss is one of counts or amounts (poisson, gamma, tweedie) or depends on y − z
    alone as the squared and Huber's losses do; scores are then those of the rates y/exposure,
    weighted by the exposure as the loss weights them.

    Examples
    --------
    >>> from gapless import RiskRegressor
    >>> from gapless.losses import Huber
    >>> X, y = [[0], [1], [2], [3], [4], [5]], [0, 1, 2, 30, 4, 5]
    >>> model = RiskRegressor(loss=Huber(0.1), penalty="none").fit(X, y)
    >>> bool(abs(model.coef_[0] - 1) < 0.1)
    True
    """

    _examples: ClassVar[Examples] = (
        Example("diabetes", {"loss": losses.Huber(20.0), "penalty": penalties.L1(300.0)}),
    )

    _stored: ClassVar[Declaration] = {**LinearRegressor._stored, **WithKernel._kernel_attributes}
    _parameter_constraints: ClassVar[dict] = {
        **LinearRegressor._parameter_constraints,
        **CONSTRAINTS,
    }
    # A penalty may have a weight, or a group, for each column.
    _treats_columns_alike = False
    _part_kinds = PARTS
    _check_parameters = _check_parameters
    _kernel = _kernel
    _formula = _formula

    def __init__(
        self,
        loss="squared",
        penalty="l2",
        *,
        fit_intercept=True,
        tol=1e-6,
        max_iter=None,
        solver="auto",
        warm_start=False,
        time_limit=None,
        kernel=None,
        approximation="auto",
        n_components=None,
        random_state=0,
    ):
        self.loss = loss
        self.penalty = penalty
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.kernel = kernel
        self.approximation = approximation
        self.n_components = n_components
        self.random_state = random_state

    def _problems(self, data):
        loss, penalty = _parts(self)
        if loss.task != "regression":
            raise ValueError(
                f"RiskRegressor needs a loss for regression, got {loss.name}; use RiskClassifier."
            )
        d = data.X.shape[1]
        separable = (penalty.coordinates, penalty.concave, penalty.subset)
        joint = all(form(d) is None for form in separable)
        return regression_problems(data, loss, penalty, self.fit_intercept, joint=joint)

    def _respond(self, scores):
        return losses.by_name(self.loss).inverse_link(scores)

    # ---- rows with offsets -----------------------------------------------------------------------

    @property
    def _takes_offset(self) -> bool:
        return losses.by_name(self.loss).takes_offset

    @described(OFFSET, DATA)
    def fit(self, X, y, sample_weight=None, offset=None):
        """Fit the model.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the best coefficients found so far and raises
            KeyboardInterrupt; an error leaves the estimator as it was.
        """
        return super().fit(X, *self._without_offset(y, sample_weight, offset))

    @described(OFFSET, ROWS)
    def predict(self, X, *, offset=None, interval=None):
        """Predict targets, with intervals if requested.

        Parameters
        ----------
        interval : float, default=None
            The share of new rows, such as 0.9, whose target is to be inside its interval. See
            `gapless.intervals` for what is promised; the first call may fit ten times again. With
            offsets only where errors move or grow as the predictions do.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predicted values: Xw + b, or what the loss says that it predicts. With `interval`, a
            tuple `(prediction, lower, upper)` of such arrays.
        """
        found = super().predict(X, interval=interval)
        if offset is None:
            return found
        return with_offset(losses.by_name(self.loss), found, X, offset, interval is not None)

    @described(OFFSET)
    def score(self, X, y, sample_weight=None, offset=None):
        """R², the share of the variance of the targets that the model explains; 1 is the best.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        score : float
            R² of the predictions; with offsets, of the rates.
        """
        return super().score(X, *self._without_offset(y, sample_weight, offset))

    def _certified(self, X, y, sample_weight, offset=None):
        return super()._certified(X, *self._without_offset(y, sample_weight, offset))

    def _certified_exactly(self, X, y, sample_weight, offset=None):
        return super()._certified_exactly(X, *self._without_offset(y, sample_weight, offset))

    def _fitted_to(self, X, y, sample_weight=None, offset=None):
        return super()._fitted_to(X, *self._without_offset(y, sample_weight, offset))

    def _without_offset(self, y, sample_weight, offset):
        if offset is None:
            return y, sample_weight
        return without_offset(losses.by_name(self.loss), y, sample_weight, offset)


def _parts(estimator) -> tuple[Loss, Penalty]:
    """The loss and the penalty of a fit; a copy, so that a penalty's cache is not outdated."""
    return losses.by_name(estimator.loss), copy.copy(penalties.by_name(estimator.penalty))


@described(OF_PARTS, ON_KERNEL, OF_CLASSES, SOLVED)
class RiskClassifier(WithKernel, LinearClassifier):
    """Classification with any loss, any penalty and any kernel.

    Minimises  Σᵢ sᵢ ℓ(tᵢ, xᵢᵀw + b) + R(w)  with t = ±1, one class against the rest where there are
    more than two; a multi-class loss such as softmax takes all classes at once. With a kernel,
    Σᵢ sᵢ ℓ(tᵢ, f(xᵢ) + b) + ½λ‖f‖².

    Parameters
    ----------
    loss : str or Loss, default="logistic"
        The loss ℓ: a name ("logistic", "hinge", "softmax", …) for its default form, or an instance,
        one's own class included. Losses for regression are fitted to t = ±1.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients w; one row for two classes, unless the loss is a multi-class one.

    Notes
    -----
    `predict_proba` is there when the loss has an inverse link. Costs are those of the solver that
    the loss and the penalty allow; a loss or penalty without the methods that faster solvers need
    runs by proximal gradient.

    Examples
    --------
    >>> from gapless import RiskClassifier
    >>> from gapless.penalties import L1
    >>> model = RiskClassifier("hinge", L1(0.1)).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.predict([[0.5], [2.5]])
    array([0, 1])
    """

    _examples: ClassVar[Examples] = (
        Example(
            "breast_cancer", {"loss": losses.Hinge(), "penalty": penalties.ElasticNet(2.0, 0.5)}
        ),
    )

    _stored: ClassVar[Declaration] = {**LinearClassifier._stored, **WithKernel._kernel_attributes}
    _parameter_constraints: ClassVar[dict] = {
        **LinearClassifier._parameter_constraints,
        **CONSTRAINTS,
    }
    # A penalty may have a weight, or a group, for each column.
    _treats_columns_alike = False
    _part_kinds = PARTS
    _check_parameters = _check_parameters
    _kernel = _kernel
    _formula = _formula

    def __init__(
        self,
        loss="logistic",
        penalty="l2",
        *,
        fit_intercept=True,
        tol=1e-6,
        max_iter=None,
        class_weight=None,
        solver="auto",
        warm_start=False,
        time_limit=None,
        kernel=None,
        approximation="auto",
        n_components=None,
        random_state=0,
    ):
        self.loss = loss
        self.penalty = penalty
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.solver = solver
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.kernel = kernel
        self.approximation = approximation
        self.n_components = n_components
        self.random_state = random_state

    def _problems(self, data):
        loss, penalty = _parts(self)
        return classification_problems(data, loss, penalty, self.fit_intercept)

    @described(ROWS)
    def decision_function(self, X):
        """Scores of the classes.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one score, positive where `classes_[1]` is predicted.
        """
        scores = super().decision_function(X)
        return (
            scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 and scores.ndim == 2 else scores
        )

    def _loss_of_probabilities(self):
        loss = losses.by_name(self.loss)
        if not loss.has_probabilities:
            raise AttributeError(
                f"the {loss.name} loss has no probabilities; use logistic or softmax."
            )
        return loss
