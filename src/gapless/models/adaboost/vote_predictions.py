"""What a weighted vote predicts: shares of the votes, scores, classes and probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils.extmath import softmax

from .weak_learners import said, votes_of_trees

Array = np.ndarray


class VotePredictions:
    """Predictions from `estimators_`, their votes `estimator_weights_` and `classes_`.

    `_rows_of` reads rows as the learners do.
    """

    estimators_: list[Any]
    estimator_weights_: Array
    classes_: Array
    n_classes_: int
    _rows_of: Callable[[Any], Any]

    def _mean_of_members(self, X: Any) -> Array:
        """The share of the votes for each class, (n, K)."""
        X, count = self._rows_of(X), len(self.estimators_)
        votes = self.estimator_weights_[:count]
        sums = votes_of_trees(self.estimators_, votes, X, self.classes_)
        if sums is None:
            sums = sum(
                vote * said(one, X, self.classes_) for one, vote in zip(self.estimators_, votes)
            )
        return sums / votes.sum()

    def _staged_shares(self, X: Any) -> Iterator[Array]:
        X, total = self._rows_of(X), 0.0
        sums = np.zeros((X.shape[0], self.n_classes_))
        for one, vote in zip(self.estimators_, self.estimator_weights_):
            sums += vote * said(one, X, self.classes_)
            total += vote
            yield sums / total

    def decision_function(self, X):
        """Scores of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes twice the share of the votes for the second class minus that for the
            first; for more, 1 for a class with all votes and −1/(K − 1) for one with none.
        """
        return _scores(self._mean_of_members(X))

    def staged_decision_function(self, X):
        """Scores of the classes after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Yields
        ------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            As from `decision_function`.
        """
        yield from map(_scores, self._staged_shares(X))

    def predict(self, X):
        """Predict classes.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The class with most votes.
        """
        shares = self._mean_of_members(X)
        return self.classes_.take(np.argmax(shares, axis=1), axis=0)

    def staged_predict(self, X):
        """Predict classes by the votes of each round and those before it.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to classify.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        for shares in self._staged_shares(X):
            yield self.classes_.take(np.argmax(shares, axis=1), axis=0)

    def predict_proba(self, X):
        """Probabilities of the classes, from the margins of the vote.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`. They agree with the predictions, and are far from 0 and 1.
        """
        return _probabilities(self._mean_of_members(X))

    def staged_predict_proba(self, X):
        """Probabilities of the classes after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Yields
        ------
        proba : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        yield from map(_probabilities, self._staged_shares(X))

    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return np.log(self.predict_proba(X))

    def staged_score(self, X, y, sample_weight=None):
        """The accuracy after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts.

        Yields
        ------
        score : float
            The share of rows that are right.
        """
        for predicted in self.staged_predict(X):
            yield accuracy_score(y, predicted, sample_weight=sample_weight)


def _scores(shares: Array) -> Array:
    """Scores of the classes from their shares of the votes, as scikit-learn has them."""
    classes = shares.shape[1]
    if classes == 1:
        return np.zeros_like(shares)
    if classes == 2:
        return 2 * (shares[:, 1] - shares[:, 0])
    return shares - (1 - shares) / (classes - 1)


def _probabilities(shares: Array) -> Array:
    """Softmax of the scores (Zhu, Zou, Rosset and Hastie 2009, equation 15)."""
    classes = shares.shape[1]
    if classes == 1:
        return np.ones_like(shares)
    if classes == 2:
        half = shares[:, 1] - shares[:, 0]
        return softmax(np.column_stack([-half, half]), copy=False)
    return softmax(_scores(shares) / (classes - 1), copy=False)
