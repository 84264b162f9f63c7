"""What all Bayes classifiers share: fit = read → count → certify → attributes.

A subclass defines what it learns from rows (`_learn`), the joint log-probability of rows and
classes (`_joint`), the same without each row (`_without_each`), and what its parameters cost
(`_costs`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils.validation import check_is_fitted

from ..._ground.about import Formula
from ..._ground.design import Design
from ..._ground.docstrings import described
from ..._ground.stored import INPUT, Declaration, Labels
from ..._ground.validation import (
    Training,
    check_values,
    known_classes,
    positions,
    read_classification,
    read_labels,
    read_numbers,
    read_rows,
    read_weights,
)
from ...certificates import Certificate, judged
from ...streaming import applied, is_in_parts
from ...unseen import JUDGED, Calibration, Remembering, predict_set, sets_of, take_over
from .held_out import BayesFit, normalised
from .in_parts import BayesInParts

Array = np.ndarray

# Shared by the docstrings of several classes and methods.
LEARNED = """
classes_ : ndarray of shape (n_classes,)
    The classes, sorted.
certificate_ : Certificate
    That the parameters are the best ones, which are known in closed form.
generalization_ : Generalization
    What the model will score on unseen rows, by exact leave-one-out.
"""
SMOOTHED = """
priors : array-like of shape (n_classes,)
    Fixed priors of the classes; if None, they are estimated from the data.
var_smoothing : float
    The part ≥ 0 of the largest variance that is added to all variances.
smooth_prior : bool
    Whether 1 is added to the count of each class, for priors (N_c + 1)/(N + K).
class_count_ : ndarray of shape (n_classes,)
    Total weight of the rows of each class.
class_prior_ : ndarray of shape (n_classes,)
    The priors π.
"""
TRAINING = """
X : {array-like, data frame} of shape (n_samples, n_features)
    Training data.
y : array-like of shape (n_samples,)
    Classes.
sample_weight : array-like of shape (n_samples,)
    Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.
"""
ROWS = """
X : {array-like, data frame} of shape (n_samples, n_features)
    Rows to classify.
"""

CURE = (
    "these are not the training data, or the model was changed; pass the training data, or fit "
    "again"
)


class BayesClassifier(ClassifierMixin, Remembering, BaseEstimator):
    """Base of the Bayes classifiers."""

    _guide = "bayes"

    _stored: ClassVar[Declaration] = {"classes_": Labels(), **INPUT, **JUDGED}
    _fewest_classes = 1
    # Whether the fit is a function of sums over the rows of each class.
    _fits_in_parts: ClassVar[bool] = False

    # ---- what a subclass defines -----------------------------------------------------------------

    def _learn(self, data: Training) -> dict[str, Any]:
        """The attributes of a model of these rows, for all classes named in the data."""
        raise NotImplementedError

    def _learn_anew(self, data: Training) -> dict[str, Any]:
        """What `fit` learns: the same, with the parameters that it chooses."""
        return self._learn(data)

    def _joint(self, X: Any) -> Array:
        """log p(x, y) of validated rows and all classes, (n, classes), float64."""
        raise NotImplementedError

    def _without_each(self, X: Any, own: Array, data: Training) -> Array:
        """The same for training rows, each by a model without it.

        `own` (n, classes) is the weight with which the row was counted in each class.
        """
        raise NotImplementedError

    def _costs(self, learned: dict[str, Any], data: Training) -> tuple[float, float, float, float]:
        """For the stored model, given what a fit learns: primal, dual, sizes of terms, scale."""
        raise NotImplementedError

    def _warn_of_fit(self) -> None:
        """Warn about the data of a finished fit."""

    def _is_unknown(self, rows: Array, weights: Array) -> Array:
        """Which classes cannot be learned, given the number and the weight of their rows."""
        return rows == 0

    def _warn_of_unseen(self, X: Any) -> None:
        """Warn of values in rows to predict that the fit has not seen."""

    def _smoothed(self, step: int) -> tuple[str, Any] | None:
        """A copy smoothed this many steps more (or less), and its name; None if there is none."""
        return None

    # ---- fitting ---------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=False)
    @described(TRAINING)
    def fit(self, X, y, sample_weight=None):
        """Learn the classes.

        Returns
        -------
        self : object
            The fitted estimator. An error leaves it as it was.
        """
        if self._fits_in_parts and is_in_parts(X):
            fit = BayesInParts.of(self, X, y, sample_weight)
            take_over(self, fit.run() | {"_in_parts": fit})
        else:
            data = self._read(X, y, sample_weight)
            self._keep(data, self._learn_anew(data), is_whole=True)
        self._warn_of_fit()
        return self

    # ---- tables in parts -------------------------------------------------------------------------

    def _check_fits_in_parts(self) -> None:
        """Refuse parameters that need all rows in memory."""

    def _counted_in_parts(self, X: Array, first: int) -> Array:
        """The rows of a part as they are summed; `first` is the position of the first."""
        return X

    def _class_sums(self, X: Array, y: Array, weights: Array, classes: int) -> list[Any]:
        """What is needed of the rows of each class; sums of two sets of rows add up."""
        raise NotImplementedError

    def _rows_and_weight(self, sums: Any) -> tuple[float, float]:
        """The number of rows with weight in the sums of a class, and their weight."""
        raise NotImplementedError

    def _learn_from_sums(self, sums: list[Any], data: Training) -> dict[str, Any]:
        """The same as `_learn`, from the sums of all classes; the data has no rows."""
        raise NotImplementedError

    def _costs_from_sums(
        self, learned: dict[str, Any], sums: list[Any], data: Training
    ) -> tuple[float, float, float, float]:
        """The same as `_costs`, from the sums of all classes; the data has no rows."""
        return self._costs(learned, data)

    def _scores_in_parts(self, X: Array) -> Array:
        """log p(x, y) of the rows of a part."""
        return self._joint(X)

    def _certified_in_parts(self, X, y, sample_weight=None) -> Certificate:
        """The certificate, recomputed from a table in parts."""
        check_is_fitted(self)
        return BayesInParts.of(self, X, y, sample_weight).certify()

    def _read(self, X, y, sample_weight=None, *, reset: bool = True) -> Training:
        """X, classes and weights, validated."""
        refuse_sparse(self, X)
        return read_classification(
            self, X, y, sample_weight, fewest=self._fewest_classes, reset=reset
        )

    def _read_rows(self, X) -> Any:
        """Rows to predict, validated."""
        refuse_sparse(self, X)
        return read_rows(self, X)

    def _keep(self, data: Training, learned: dict[str, Any], *, is_whole: bool) -> None:
        """Replace what an earlier fit has left by what this one has learned, all at once."""
        learned["classes_"] = data.classes
        learned["n_features_in_"] = self._width(data)
        if data.feature_names is not None:
            learned["feature_names_in_"] = data.feature_names
        twin: Any = copy.copy(self)
        twin.__dict__ |= learned
        learned["certificate_"] = twin._judge(learned, data)
        learned["_calibration"] = None
        if is_whole:
            learned["_training"] = (data,)
        else:
            self.__dict__.pop("_training", None)
        take_over(self, learned)

    def _width(self, data: Training) -> int:
        """The number of features."""
        return data.X.shape[1]

    def _judge(self, learned: dict[str, Any], data: Training) -> Certificate:
        """How far the stored parameters are from the best ones for what a fit learns."""
        return self._judged(self._costs(learned, data))

    def _judged(self, costs: tuple[float, float, float, float]) -> Certificate:
        primal, dual, size, scale = costs
        return judged(
            primal,
            dual,
            scale=scale,
            tol=1e-9,
            rounding=64 * np.finfo(float).eps * size,
            exact=True,
            method="closed form",
            cure=CURE,
        )

    # ---- predicting ------------------------------------------------------------------------------

    def _scores(self, X: Any) -> Array:
        """log p(x, y) of the caller's rows, (n, classes), float64."""
        check_is_fitted(self)
        if self._fits_in_parts and is_in_parts(X):
            return self._applied(X, copy.copy(self)._scores_in_parts)
        rows = self._read_rows(X)
        self._warn_of_unseen(rows)
        return self._joint(rows)

    def _applied(self, X: Any, function: Callable[[Array], Array]) -> Array:
        """A function of the rows of a table in parts."""
        names = getattr(self, "feature_names_in_", None)
        return applied(X, function, self.n_features_in_, names, name=type(self).__name__)

    @described(ROWS)
    def predict(self, X):
        """Predict the most probable class.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes; among equally probable ones the first.
        """
        best = np.argmax(self._scores(X), axis=1)
        return self.classes_[best]

    @described(ROWS)
    def predict_log_proba(self, X):
        """Logarithms of the probabilities of the classes.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            log p(y | x), in the order of `classes_`. For a row that no class can explain, all
            classes are equally probable.
        """
        return normalised(self._scores(X))

    @described(ROWS)
    def predict_proba(self, X):
        """Probabilities of the classes.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            p(y | x), in the order of `classes_`.
        """
        return np.exp(self.predict_log_proba(X))

    predict_set = predict_set

    def _sets(self, calibration: Calibration, X: Any, coverage: float) -> Array:
        return sets_of(self, calibration, X, coverage, self._conformity)

    def _calibration_rows(self, X: Any) -> Design:
        """New rows for the models of a calibration."""
        return Design(self._read_rows(X))

    def _conformity(self, scores: Array) -> Array:
        """How well each class fits rows with these scores (n, K): its probability."""
        return np.exp(normalised(scores))

    # ---- both gaps -------------------------------------------------------------------------------

    def _certified(self, X, y, sample_weight=None) -> Certificate:
        """The certificate, recomputed from the data of the fit."""
        data = self._reread(X, y, sample_weight)
        return self._judge(self._learn(data), data)

    def _fitted(self, data: Training) -> BayesFit:
        """The fit, or an error if its data has changed."""
        found = self._judge(self._learn(data), data)
        if found.kind == "stopped":
            raise ValueError(
                f"the model does not match these data: its objective is {found.primal:.9g}, and "
                f"{found.dual:.9g} is possible; X, y or the weights have changed since "
                f"{type(self).__name__} was fitted. Fit again."
            )
        return BayesFit(self, data)


class NaiveBayesClassifier(BayesClassifier):
    """Base class of those whose scores are joint probabilities, and that learn in parts."""

    def _linear(self) -> tuple[Array, Array]:
        """Weights (K, d) and biases (K,) of the scores of all classes, if these are linear in x."""
        raise AttributeError(
            f"{type(self).__name__} has no coef_: its scores are not linear in the features."
        )

    @property
    def coef_(self) -> Array:
        """The weights of x in the scores, where these are linear.

        (n_classes, n_features); for two classes the one row of their difference, as in all linear
        classifiers: `classes_[1]` is predicted where x·coef_ + intercept_ > 0.
        """
        check_is_fitted(self)
        return _contrast(self._linear()[0])

    @property
    def intercept_(self) -> Array:
        """The biases that belong to `coef_`, (n_classes,), or (1,) for two classes."""
        check_is_fitted(self)
        return _contrast(self._linear()[1])

    @described(ROWS)
    def predict_joint_log_proba(self, X):
        """Logarithms of the joint probabilities (or densities) of rows and classes.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            log p(x, y) = log p(y) + log p(x | y), in the order of `classes_`.
        """
        return self._scores(X)

    @_fit_context(prefer_skip_nested_validation=True)
    @described(TRAINING)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from more rows; the model of all parts is the same as that of all rows at once.

        Parameters
        ----------
        classes : array-like of shape (n_classes,), default=None
            All classes, including those of later parts; needed in the first call.

        Returns
        -------
        self : object
            The fitted estimator. It keeps no reference to its data: pass them to
            `gapless.generalize`.
        """
        data = self._read_part(X, y, classes, sample_weight)
        self._keep(data, self._learn_more(data), is_whole=False)
        return self

    def _read_part(self, X, y, classes, sample_weight) -> Training:
        """A part of the data, validated."""
        return read_part(self, X, y, classes, sample_weight)

    def _learn_more(self, data: Training) -> dict[str, Any]:
        """The attributes of a model of all rows so far and these."""
        raise NotImplementedError

    def _formula(self) -> Formula | None:
        return Formula("−Σᵢ log p(xᵢ, yᵢ), one distribution for each class")


def _contrast(of_classes: Array) -> Array:
    """The second class minus the first where there are two; all classes as they are otherwise.

    Nothing is known where both are −∞, such as for a word that neither class has: NaN.
    """
    with np.errstate(invalid="ignore"):
        return of_classes[1:] - of_classes[:1] if len(of_classes) == 2 else of_classes


def refuse_sparse(estimator: Any, X: Any) -> None:
    """Raise an error for a sparse X that cannot be used."""
    if sp.issparse(X) and not estimator.__sklearn_tags__().input_tags.sparse:
        raise TypeError(
            f"Sparse data was passed for X, but {type(estimator).__name__} needs dense data; pass "
            "X.toarray()."
        )


def read_part(estimator: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> Training:
    """X, y and weights of a part of the data, with the classes announced in the first part."""
    refuse_sparse(estimator, X)
    known = known_classes(estimator, classes)
    is_first = not hasattr(estimator, "classes_")
    columns = getattr(X, "columns", None)
    X, names = read_numbers(estimator, X, reset=is_first)
    check_values(X, "X", columns)
    position = positions(read_labels(y, X), known)
    weights = read_weights(sample_weight, X)
    return Training(X, position, weights, weights, known, names)
