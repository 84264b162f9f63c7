"""Numbers by the mean of neighbours."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from ..._ground.about import Example, Examples
from ..._ground.docstrings import FEATURES, described
from ...unseen import intervals_of, predict_with_intervals
from ._base import SEARCHED
from ._supervised import ROWS, VOTING, SupervisedNeighbors
from .votes import mean_targets

Array = np.ndarray


@described(VOTING, SEARCHED, FEATURES)
class KNeighborsRegressor(RegressorMixin, SupervisedNeighbors):
    """Predict the mean of the targets of the nearest training rows.

    Parameters
    ----------
    ties : {"first", "nearest"}, default="first"
        Of the rows as far away as the last neighbour, the first ones count, or all share what it
        counts, so that the order of rows does not matter.

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

    def _learned_targets(self, data):
        found = super()._learned_targets(data)
        return found | {"outputs_2d_": data.is_matrix}

    _intervals = intervals_of

    def _from_votes(self, rows, votes, y):
        return mean_targets(rows, votes, y)

    @described(ROWS)
    def predict(self, X, *, interval=None):
        """Predict targets, with intervals on request.

        Parameters
        ----------
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

    @described(ROWS)
    def score(self, X, y, sample_weight=None):
        """R², the part of the variance of the targets that is explained.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.

        Returns
        -------
        score : float
            R²; 1 is perfect, 0 no better than the mean.
        """
        return super().score(X, y, sample_weight)
