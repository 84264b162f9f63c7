"""The door of Bayes classifiers: whole training sets, and parts of them for `partial_fit`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import unique_labels

from ..._ground.validation import Training, check_values, read_labels, read_numbers, read_weights

Array = np.ndarray


def only(data: Training, rows: Array) -> Training:
    """Some of the rows, by increasing number; all of them without a copy."""
    if len(rows) == len(data.y):
        return data
    return replace(
        data,
        X=data.X[rows],
        y=data.y[rows],
        sample_weight=data.sample_weight[rows],
        weights=data.weights[rows],
    )


def refuse_sparse(estimator: Any, X: Any) -> None:
    """Say so where a sparse X cannot be taken."""
    if sp.issparse(X) and not estimator.__sklearn_tags__().input_tags.sparse:
        raise TypeError(
            f"Sparse data was passed for X, but {type(estimator).__name__} needs dense data; pass "
            "X.toarray()."
        )


def read_part(estimator: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> Training:
    """X, y and weights of a part of the data, of classes that the first part has announced."""
    refuse_sparse(estimator, X)
    known = known_classes(estimator, classes)
    is_first = not hasattr(estimator, "classes_")
    columns = getattr(X, "columns", None)
    X, names = read_numbers(estimator, X, reset=is_first)
    check_values(X, "X", columns)
    position = positions(read_labels(y, X), known)
    weights = read_weights(sample_weight, X)
    return Training(X, position, weights, weights, known, names)


def positions(labels: Array, known: Array) -> Array:
    """The positions of labels among the classes that the first part has announced."""
    strange = np.setdiff1d(labels, known)
    if len(strange):
        raise ValueError(
            f"The target label(s) {strange} in y do not exist in the initial classes {known}; "
            "name all classes in the first call of partial_fit."
        )
    return np.searchsorted(known, labels)


def known_classes(estimator: Any, classes: Any) -> Array:
    """The classes of the first call, or those of this one if it is the first."""
    known = getattr(estimator, "classes_", None)
    if known is None and classes is None:
        raise ValueError("classes must be passed on the first call to partial_fit.")
    if classes is None:
        return np.asarray(known)
    given = unique_labels(classes)
    if known is not None and not np.array_equal(known, given):
        raise ValueError(
            f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}."
        )
    return given
