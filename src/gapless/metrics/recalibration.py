"""Probabilities that mean what they say, from predictions for rows that the model had not seen.

The held-out predictions of a model of gapless come from its fit (leave-one-out, out of bag, folds);
those of others from five folds. A map from scores to probabilities is fitted to them, and nothing
is fitted again.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    _fit_context,
    clone,
    is_classifier,
)
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._ground.stored import INPUT, Declaration, Each, FittedModel, Labels, Unused, Value, Word
from .._ground.weighted_fits import weight_options
from ..unseen import FOLDS, take_over
from .held_out_scores import HeldOut, held_out, scores_of
from .probability_maps import Sigmoid, Steps, mapped

Array = np.ndarray

AUTO, NONE, SIGMOID, ISOTONIC = "auto", "none", "sigmoid", "isotonic"
MAPS: dict[str, Any] = {SIGMOID: Sigmoid, ISOTONIC: Steps}


class RecalibratedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier with probabilities recalibrated on held-out rows.

    Parameters
    ----------
    estimator : classifier
        Any classifier with `predict_proba` or `decision_function`.
    method : {"auto", "sigmoid", "isotonic", "none"}, default="auto"
        The map from scores to probabilities: σ(a·s + b) with s the log-odds or the decision value
        (Platt 1999), or a step function that does not fall (Zadrozny and Elkan 2002), which needs
        some hundred rows. Of more than two classes each has its own, and they are scaled to a sum
        of 1. "auto" takes the one with the least log loss by folds of the held-out rows, among them
        the probabilities as they are.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (K,)
        The classes.
    method_ : str
        The map that was chosen.
    log_losses_ : dict of str to float
        The log loss of held-out rows with each map, by folds.
    held_out_ : str
        How rows were held out, in words.
    n_features_in_ : int
        Number of features, where the classifier tells.
    feature_names_in_ : ndarray of str
        Their names, where X has some.

    Notes
    -----
    The classifier is fitted once. `predict` gives the class that is now most probable.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from gapless.metrics import RecalibratedClassifier, log_loss
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> plain = GaussianNB().fit(X[:400], y[:400])
    >>> better = RecalibratedClassifier(GaussianNB()).fit(X[:400], y[:400])
    >>> [round(float(log_loss(y[400:], m.predict_proba(X[400:]))), 2) for m in (plain, better)]
    [0.29, 0.13]
    """

    _stored: ClassVar[Declaration] = {
        "classes_": Labels(),
        "estimator_": FittedModel("predict_proba", "features", "classes"),
        "method_": Word(),
        "log_losses_": Unused(),
        "held_out_": Unused(),
        **INPUT,
        "_maps": Each(Value(Sigmoid, Steps)),
    }
    _parameter_constraints: ClassVar[dict] = {
        "estimator": [
            HasMethods(["fit", "predict_proba"]),
            HasMethods(["fit", "decision_function"]),
        ],
        "method": [StrOptions({AUTO, NONE, SIGMOID, ISOTONIC})],
    }

    def __init__(self, estimator, *, method=AUTO):
        self.estimator = estimator
        self.method = method

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Fit the classifier, and the map to its held-out predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data, of any kind that the classifier takes.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0; weight 2 means the row twice, weight 0 means the row is not there.

        Returns
        -------
        self : object
            The fitted estimator; an error leaves it as it was.
        """
        y = y if y is None else column_or_1d(y, warn=True)
        options = weight_options(self.estimator, sample_weight)
        inner = clone(self.estimator).fit(X, y, **options)
        take_over(self, _learned(inner, (X, y, sample_weight), self.method))
        return self

    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, K)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        if self.method_ == NONE:
            return self.estimator_.predict_proba(X)
        return mapped(self._maps, scores_of(self.estimator_, X))

    def predict(self, X):
        """The most probable class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Classes.
        """
        p = self.predict_proba(X)
        return self.classes_[np.argmax(p, axis=1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        if is_classifier(self.estimator):
            tags.classifier_tags = inner.classifier_tags
        return tags


def recalibrate(
    model: Any, X: Any = None, y: Any = None, sample_weight: Any = None, *, method: str = AUTO
) -> RecalibratedClassifier:
    """Recalibrate the probabilities of a fitted classifier on held-out rows.

    Parameters
    ----------
    model : classifier
        A fitted classifier with `predict_proba` or `decision_function`. It is not changed.
    X, y : array-like, default=None
        The data it was fitted to. A model of gapless remembers them; other models need them, and
        are fitted to five folds of them.
    sample_weight : array-like of shape (n,), default=None
        The weights it was fitted with.
    method : {"auto", "sigmoid", "isotonic", "none"}, default="auto"
        The map from scores to probabilities; see `RecalibratedClassifier`.

    Returns
    -------
    RecalibratedClassifier
        A fitted classifier around the model.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import gapless
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = gapless.LinearSVC(C=0.1).fit(X / X.max(axis=0), y)
    >>> better = gapless.metrics.recalibrate(model)
    >>> better.method_, better.predict_proba(X[:2] / X.max(axis=0)).shape
    ('isotonic', (2, 2))
    """
    check_is_fitted(model)
    found = RecalibratedClassifier(model, method=method)
    found._validate_params()
    take_over(found, _learned(model, (X, y, sample_weight), method))
    return found


# ---- which map -----------------------------------------------------------------------------------


def _fit_maps(method: str, held: HeldOut, rows: Array) -> list[Any]:
    K = held.scores.shape[1]
    classes = [1] if K == 1 else range(K)
    return [
        MAPS[method].fit(
            held.scores[rows, j], (held.true[rows] == k).astype(float), held.weights[rows]
        )
        for j, k in enumerate(classes)
    ]


def _log_loss(p: Array, held: HeldOut, rows: Array) -> float:
    own = p[np.arange(len(p)), held.true[rows]]
    return float(held.weights[rows] @ -np.log(np.maximum(own, np.finfo(float).eps)))


def _loss_by_folds(method: str, held: HeldOut) -> float:
    """The mean log loss of held-out rows, by maps that were fitted to the others."""
    total = 0.0
    for k in range(FOLDS):
        train, test = np.flatnonzero(held.fold != k), np.flatnonzero(held.fold == k)
        if method == NONE and held.plain is not None:
            p = held.plain[test]
        else:
            p = mapped(_fit_maps(method, held, train), held.scores[test])
        total += _log_loss(p, held, test)
    return total / float(held.weights.sum())


def _learned(model: Any, data: tuple[Any, Any, Any], method: str) -> dict[str, Any]:
    """What a fit has learned: the model, the map and how they were found."""
    names = ("n_features_in_", "feature_names_in_")
    learned = {name: getattr(model, name) for name in names if hasattr(model, name)}
    learned |= {"estimator_": model, "classes_": np.asarray(model.classes_)}
    has_probabilities = hasattr(model, "predict_proba")
    if method == NONE and not has_probabilities:
        raise ValueError(
            f'method="none" leaves probabilities as they are, and {type(model).__name__} has none; '
            'use "auto".'
        )
    if len(model.classes_) == 1 and has_probabilities:
        of_one = {"method_": NONE, "log_losses_": {}, "held_out_": "none: there is only one class"}
        return learned | of_one | {"_maps": []}
    held = held_out(model, *data)
    usable = [NONE] * has_probabilities + [SIGMOID, ISOTONIC]
    losses = {name: _loss_by_folds(name, held) for name in usable}
    chosen = min(usable, key=losses.__getitem__) if method == AUTO else method
    return learned | {
        "method_": chosen,
        "log_losses_": losses,
        "held_out_": held.method,
        "_maps": [] if chosen == NONE else _fit_maps(chosen, held, np.arange(len(held.true))),
    }
