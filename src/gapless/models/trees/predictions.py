"""What the leaves say of rows, as classes or numbers, with sets and intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...unseen import intervals_of, predict_set, predict_with_intervals, sets_of

Array = np.ndarray


class TreeClassifierMixin:
    """Classes, probabilities and sets of classes from what the leaves say."""

    classes_: Any
    n_outputs_: int
    _scores: Callable[[Any], Array]
    predict_set = predict_set
    _sets = sets_of

    def predict(self, X, check_input=True):
        """Predict classes.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to classify.
        check_input : bool, default=True
            Has no effect; it is here for callers of scikit-learn.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The class with the largest share in the leaf.
        """
        shares = self._by_output(self._scores(X))
        if self.n_outputs_ == 1:
            return self.classes_.take(np.argmax(shares[0], axis=1), axis=0)
        chosen = [c.take(np.argmax(p, axis=1)) for c, p in zip(self.classes_, shares)]
        return np.stack(chosen, axis=1).astype(self.classes_[0].dtype)

    def predict_proba(self, X, check_input=True):
        """Shares of the classes in the leaf of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        check_input : bool, default=True
            Has no effect; it is here for callers of scikit-learn.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or a list of them for several outputs
            In the order of `classes_`.
        """
        shares = self._by_output(self._scores(X))
        return shares[0] if self.n_outputs_ == 1 else shares

    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or a list of them for several outputs
            In the order of `classes_`; −∞ for classes that the leaf has none of.
        """
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(p) for p in shares] if isinstance(shares, list) else np.log(shares)

    def _by_output(self, scores: Array) -> list[Array]:
        """Scores (n, ΣK) as one array for each output."""
        classes = self.classes_ if self.n_outputs_ > 1 else [self.classes_]
        return np.split(scores, np.cumsum([len(c) for c in classes])[:-1], axis=1)


class TreeRegressorMixin:
    """Numbers and intervals from what the leaves say."""

    n_outputs_: int
    _scores: Callable[[Any], Array]
    _intervals = intervals_of

    def predict(self, X, check_input=True, *, interval=None):
        """Predict targets, with intervals where they are asked for.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to predict.
        check_input : bool, default=True
            Has no effect; it is here for callers of scikit-learn.
        interval : float, default=None
            The share of new rows, such as 0.9, whose target is to be inside its interval. See
            `gapless.intervals` for what is promised. Forests judge it out of bag; for others the
            first call fits ten times again.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The value of the leaf: mean or, for absolute errors, median of its training rows. With
            `interval`, a tuple `(prediction, lower, upper)` of such arrays.
        """
        if interval is None:
            scores = self._scores(X)
            return scores[:, 0] if self.n_outputs_ == 1 else scores
        return predict_with_intervals(self, X, interval)
