"""Classifiers around another classifier, and what they take from the one inside."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, is_classifier
from sklearn.utils import get_tags

# What the docstrings of such classifiers describe alike.
AROUND = """
estimator_ : classifier
    The fitted classifier.
classes_ : ndarray of shape (K,)
    The classes.
n_features_in_ : int
    Number of features, where the classifier knows it.
feature_names_in_ : ndarray of str
    Names of the features, where the classifier knows them.
"""
INSIDE = """
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    Rows, of any kind that the classifier takes.
y : array-like of shape (n_samples,)
    Their classes.
sample_weight : array-like of shape (n_samples,)
    Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.
"""


class AroundClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Base of classifiers around another one, their parameter `estimator`."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = copy.deepcopy(inner.input_tags)
        if is_classifier(self.estimator):
            tags.classifier_tags = copy.deepcopy(inner.classifier_tags)
        return tags


def taken_from(inner: Any) -> dict[str, Any]:
    """The attributes that a classifier has from the fitted one inside."""
    names = ("n_features_in_", "feature_names_in_")
    known = {name: getattr(inner, name) for name in names if hasattr(inner, name)}
    return {"estimator_": inner, "classes_": np.asarray(inner.classes_), **known}
