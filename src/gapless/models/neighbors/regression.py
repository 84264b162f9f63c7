"""Numbers by the mean of neighbours."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.base import RegressorMixin, _fit_context

from ..._ground.about import Example, Examples
from ...unseen import intervals_of, predict_with_intervals
from ._supervised import SupervisedNeighbors
from .votes import mean_targets

Array = np.ndarray


class KNeighborsRegressor(RegressorMixin, SupervisedNeighbors):
    """Predict the mean of the targets of the nearest training rows.

    Parameters
    ----------
    n_neighbors : int or "loo", default=5
        How many neighbours count; "loo" chooses the number by exact leave-one-out, all at once.
    weights : {"uniform", "distance", "squared_distance"}, callable or None, default="uniform"
        What a neighbour counts at distance d: 1, 1/d, 1/d², or what the function makes of an array
        of distances. By 1/d and 1/d² rows at distance 0 decide alone.
    algorithm : {"auto", "kd_tree", "ball_tree", "brute", "faiss"}, default="auto"
        As in `NearestNeighbors`: all but the approximate "faiss" find the same neighbours.
    leaf_size : int, default=30
        Only for searches by scikit-learn.
    p : float, default=2
        The power of Minkowski's distance.
    metric : str or callable, default="minkowski"
        As in `NearestNeighbors`; "mixed" and "mixed_euclidean" take a table as it is, with numbers,
        categories and missing values.
    metric_params : dict, default=None
        Further parameters of the metric.
    n_jobs : int, default=None
        Has no effect; it is here for callers of scikit-learn.
    categorical_features : array-like or "from_dtype", default="from_dtype"
        For mixed rows: which columns are categories; those of a table by their type.
    ties : {"first", "nearest"}, default="first"
        Of rows that are as far as the last neighbour the first ones count, or all share what it
        counts, so that the order of the rows does not matter.
    select : {"min", "1se"}, default="min"
        With "loo", the best number of neighbours, or the largest within one standard error of it.
    time_limit : float, default=None
        Seconds after which the choice by "loo" is made from the rows that were left out so far.

    Attributes
    ----------
    n_neighbors_ : int
        The number of neighbours.
    search_ : Search
        With "loo", the numbers that were tried and their scores on unseen rows.
    certificate_ : Certificate
        Of kind "none": nothing is minimised.
    generalization_ : Generalization
        What the model will score on unseen rows, by exact leave-one-out.
    effective_metric_, effective_metric_params_ : str or callable, dict
        The metric and its parameters; Minkowski's special cases by their own names.
    n_samples_fit_ : int
        The number of training rows.
    outputs_2d_ : bool
        Whether there are several outputs.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

    Notes
    -----
    A row of weight 2 is two neighbours. Columns count by their units: put them on one scale first,
    or use metric="mixed".

    References
    ----------
    Stone (1977), Consistent nonparametric regression, Annals of Statistics 5.

    Examples
    --------
    >>> from gapless import KNeighborsRegressor
    >>> model = KNeighborsRegressor(n_neighbors=2).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> print(model.predict([[1.8]]))
    [2.5]
    """

    _examples: ClassVar[Examples] = (Example("diabetes", {"n_neighbors": "loo"}),)

    _has_classes = False

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Keep the training rows, and choose the number of neighbours.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or distances \
of shape (n_samples, n_samples) if metric="precomputed"
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the best choice so far, if there is one, and raises
            KeyboardInterrupt; an error leaves the estimator as it was.
        """
        self._fit(X, y, sample_weight)
        return self

    def _learned_targets(self, data):
        found = super()._learned_targets(data)
        return found | {"outputs_2d_": data.is_matrix}

    _intervals = intervals_of

    def _from_votes(self, rows, votes, y):
        return mean_targets(rows, votes, y)

    def predict(self, X, *, interval=None):
        """Predict targets, with intervals where they are asked for.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or None
            Rows to predict; None are the training rows, each without itself.
        interval : float, default=None
            The share of new rows, such as 0.9, whose target is to be inside its interval. See
            `gapless.intervals` for what is promised.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Means of the neighbours' targets. With `interval`, a tuple `(prediction, lower, upper)`
            of such arrays.
        """
        if interval is None:
            scores = self._scores(X)
            return scores if self.outputs_2d_ else scores[:, 0]
        if X is None:
            raise ValueError(
                "intervals need new rows; pass X, or leave out interval to predict the training "
                "rows, each without itself."
            )
        return predict_with_intervals(self, X, interval)

    def score(self, X, y, sample_weight=None):
        """R², the part of the variance of the targets that is predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or None
            Rows; None are the training rows, each without itself: the score is then that of
            leave-one-out.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts.

        Returns
        -------
        score : float
            R²; 1 is perfect, 0 no better than the mean.
        """
        return super().score(X, y, sample_weight)
