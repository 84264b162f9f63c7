"""Any loss with any penalty: RiskRegressor and RiskClassifier, for one's own classes too."""

from __future__ import annotations

import copy
import dataclasses
from typing import ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from .. import losses, penalties
from ..losses import Loss
from ..penalties import Penalty
from ._base import LinearClassifier, LinearRegressor, classification_problems, regression_problems
from .classification import log_probabilities


class OfParts:
    """Base of estimators whose loss and penalty have parameters of their own.

    `loss__delta` or `penalty__strength` can be set and searched like any parameter. Losses and
    penalties are values, so that setting one makes another loss or penalty.
    """

    _families: ClassVar[dict] = {"loss": losses.by_name, "penalty": penalties.by_name}

    def get_params(self, deep=True):
        """The parameters by name, with `deep` those of the loss and the penalty too."""
        params = super().get_params(deep=False)
        if deep:
            for part in self._families:
                params |= {f"{part}__{name}": value for name, value in self._inner(part).items()}
        return params

    def set_params(self, **params):
        """Set parameters by name, `penalty__strength` for the strength of the penalty."""
        nested = {key: value for key, value in params.items() if "__" in key}
        known = self.get_params()
        for key in params:
            if key not in known and key.partition("__")[0] not in self._families:
                raise ValueError(
                    f"Invalid parameter {key!r} for {type(self).__name__}. "
                    f"Valid parameters are: {sorted(known)!r}."
                )
        super().set_params(**{key: params[key] for key in params if key not in nested})
        for key, value in nested.items():
            part, _, name = key.partition("__")
            inner = self._inner(part)
            if name not in inner:
                raise ValueError(
                    f"Invalid parameter {name!r} for {part}={getattr(self, part)!r}. "
                    f"Valid parameters are: {sorted(inner)!r}."
                )
            before = self._families[part](getattr(self, part))
            setattr(self, part, dataclasses.replace(before, **{name: value}))
        return self

    def _inner(self, part):
        """The parameters of the loss or the penalty; none of what is neither, as `fit` will say."""
        try:
            given = self._families[part](getattr(self, part))
        except (TypeError, ValueError):
            return {}
        return {field.name: getattr(given, field.name) for field in dataclasses.fields(given)}


class RiskRegressor(OfParts, LinearRegressor):
    """Linear regression with any loss and any penalty.

    Minimises  Σᵢ sᵢ ℓ(yᵢ, xᵢᵀw + b) + R(w).

    Parameters
    ----------
    loss : str or Loss, default="squared"
        The loss ℓ: a name ("squared", "huber", "epsilon_insensitive", …) for its default form, or
        an instance, one's own class included.
    penalty : str or Penalty, default="l2"
        The penalty R with its strength: a name ("none", "l2", "l1", …) for strength 1, or an
        instance such as L1(0.1).
    fit_intercept : bool, default=True
        Whether to fit the bias b, which is not penalised.
    tol : float, default=1e-6
        Stop when the duality gap is at most `tol` times the objective at w = 0.
    max_iter : int, default=None
        Largest number of steps; None leaves it to the solver.
    solver : str, default="auto"
        A solver of gapless by name, or "auto".
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
    Several targets are fitted one by one, unless the penalty couples them (group). Costs are those
    of the solver that the loss and the penalty allow; a loss or penalty without the methods that
    faster solvers need runs by proximal gradient.

    Examples
    --------
    >>> from gapless import RiskRegressor
    >>> from gapless.losses import Huber
    >>> X, y = [[0], [1], [2], [3], [4], [5]], [0, 1, 2, 30, 4, 5]
    >>> model = RiskRegressor(loss=Huber(0.1), penalty="none").fit(X, y)
    >>> bool(abs(model.coef_[0] - 1) < 0.1)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **LinearRegressor._parameter_constraints,
        "loss": [str, Loss],
        "penalty": [str, Penalty],
    }

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
    ):
        self.loss = loss
        self.penalty = penalty
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.warm_start = warm_start
        self.time_limit = time_limit

    def _problems(self, data):
        loss, penalty = _parts(self)
        if loss.task != "regression":
            raise ValueError(
                f"RiskRegressor needs a loss for regression, got {loss.name}; use RiskClassifier."
            )
        joint = penalty.coordinates(data.X.shape[1]) is None
        return regression_problems(data, loss, penalty, self.fit_intercept, joint=joint)

    def _response(self, scores):
        return losses.by_name(self.loss).inverse_link(scores)


def _parts(estimator) -> tuple[Loss, Penalty]:
    """The loss and the penalty of a fit; a copy, so that what a penalty keeps is not older."""
    return losses.by_name(estimator.loss), copy.copy(penalties.by_name(estimator.penalty))


def _has_probabilities(estimator) -> bool:
    loss = losses.by_name(estimator.loss)
    if not loss.has_probabilities:
        raise AttributeError(f"the {loss.name} loss has no probabilities; use logistic or softmax.")
    return True


class RiskClassifier(OfParts, LinearClassifier):
    """Linear classification with any loss and any penalty.

    Minimises  Σᵢ sᵢ ℓ(tᵢ, xᵢᵀw + b) + R(w)  with t = ±1, one class against the rest where there are
    more than two; a multi-class loss such as softmax takes all classes at once.

    Parameters
    ----------
    loss : str or Loss, default="logistic"
        The loss ℓ: a name ("logistic", "hinge", "softmax", …) for its default form, or an instance,
        one's own class included. Losses for regression are fitted to t = ±1.
    penalty : str or Penalty, default="l2"
        The penalty R with its strength: a name ("none", "l2", "l1", …) for strength 1, or an
        instance such as L1(0.1).
    fit_intercept : bool, default=True
        Whether to fit the bias b, which is not penalised.
    tol : float, default=1e-6
        Stop when the duality gap is at most `tol` times the objective at w = 0.
    max_iter : int, default=None
        Largest number of steps; None leaves it to the solver.
    class_weight : dict or "balanced", default=None
        Weights of the classes, by which the weights of their rows are multiplied; "balanced" gives
        all classes the same total weight.
    solver : str, default="auto"
        A solver of gapless by name, or "auto".
    warm_start : bool, default=False
        Whether to start from the coefficients of the last fit.
    time_limit : float, default=None
        Seconds after which the best coefficients found so far are kept.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients w; one row for two classes, unless the loss is a multi-class one.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Bias b.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    dual_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Dual point θ, which proves the certificate.
    certificate_ : Certificate
        How far the fit can be from the best possible one, summed over the classes.
    generalization_ : Generalization
        What the model will score on data it has not seen; computed when first asked for.
    trace_ : Trace or list of Trace
        Objective, gap and seconds of every step; one per problem that was solved.
    solver_ : str
        The solver that ran, or the name of scikit-learn's that was asked for.
    n_iter_ : int
        Largest number of steps.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

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

    _parameter_constraints: ClassVar[dict] = {
        **LinearClassifier._parameter_constraints,
        "loss": [str, Loss],
        "penalty": [str, Penalty],
    }

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

    def _problems(self, data):
        loss, penalty = _parts(self)
        return classification_problems(data, loss, penalty, self.fit_intercept)

    def decision_function(self, X):
        """Scores of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one score, positive where `classes_[1]` is predicted.
        """
        scores = super().decision_function(X)
        return (
            scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 and scores.ndim == 2 else scores
        )

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`; those of one class against the rest are made
            to sum to 1.
        """
        return np.exp(self.predict_log_proba(X))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X):
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            Log-probabilities, in the order of `classes_`.
        """
        return log_probabilities(losses.by_name(self.loss), super().decision_function(X))
