"""Classes by the votes of neighbours."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..._ground.about import Example, Examples
from ..._ground.docstrings import FEATURES, described
from ..._ground.stored import Declaration, Labels, LabelsOfOutputs
from ...unseen import predict_set, sets_of
from ._base import SEARCHED
from ._supervised import ROWS, VOTING, SupervisedNeighbors
from .votes import class_shares

Array = np.ndarray


@described(VOTING, SEARCHED, FEATURES)
class KNeighborsClassifier(ClassifierMixin, SupervisedNeighbors):
    """Classify by a vote of the nearest training rows.

    Parameters
    ----------
    ties : {"first", "nearest"}, default="first"
        A tied vote goes to the first of the tied classes, or to that of the nearest neighbour. Of
        the rows as far away as the last neighbour, the first ones vote, or all share its vote, so
        that the order of rows does not matter.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of them for several outputs
        Class labels.

    Notes
    -----
    A row of weight 2 is two neighbours. Columns count by their units: put them on one scale first,
    or use metric="mixed". With many columns of noise all rows are equally far, and other models do
    better.

    References
    ----------
    Cover and Hart (1967), Nearest neighbor pattern classification, IEEE Transactions on Information
    Theory 13.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gapless import KNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNeighborsClassifier(n_neighbors="loo", select="1se").fit(X, y)
    >>> print(model.predict([[6.0, 3.0, 4.8, 1.6]]))
    [1]
    """

    _examples: ClassVar[Examples] = (Example("wine", {"n_neighbors": "loo", "ties": "nearest"}),)

    _has_classes = True
    # For several outputs, a list of arrays.
    classes_: Any
    _stored: ClassVar[Declaration] = {
        **SupervisedNeighbors._stored,
        "classes_": Labels() | LabelsOfOutputs(),
    }

    def _misfit(self) -> str | None:
        fault = super()._misfit()
        sizes = [len(classes) for classes in self._class_lists]
        if fault is None and self._y.shape[1] != len(sizes):
            fault = f"_y has {self._y.shape[1]} columns, and classes_ are of {len(sizes)} outputs"
        if fault is None and not ((self._y >= 0) & (self._y < sizes)).all():
            fault = "_y has classes that are not in classes_"
        counts = [len(np.unique(own)) for own in self._y.T]
        if fault is None and counts != sizes:
            fault = "classes_ has classes that are not in _y"
        return fault

    def _learned_targets(self, data):
        classes = data.outputs.classes
        found = super()._learned_targets(data)
        return found | {"classes_": classes[0] if data.outputs.is_flat else classes}

    def _from_votes(self, rows, votes, y):
        shares = [
            class_shares(rows, votes, y[:, k].astype(np.int64), len(classes), self.ties)
            for k, classes in enumerate(self._class_lists)
        ]
        return np.hstack(shares)

    @property
    def _class_lists(self) -> list[Array]:
        return self.classes_ if self.outputs_2d_ else [self.classes_]

    def _by_output(self, scores: Array) -> list[Array]:
        """Shares (n, ΣK) as one array for each output."""
        return np.split(scores, np.cumsum([len(c) for c in self._class_lists])[:-1], axis=1)

    @described(ROWS)
    def predict(self, X):
        """Predict classes.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The class with most votes.
        """
        return self._named(self._scores(X))

    def _named(self, scores: Array) -> Array:
        chosen = [
            classes.take(np.argmax(shares, axis=1))
            for classes, shares in zip(self._class_lists, self._by_output(scores))
        ]
        return np.stack(chosen, axis=1) if self.outputs_2d_ else chosen[0]

    @described(ROWS)
    def predict_with_confidence(self, X):
        """Predict classes, and the share of the vote that each won.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The class with most votes.
        confidence : ndarray of the same shape
            Its share of the vote.
        """
        scores = self._scores(X)
        best = [_of_winner(shares) for shares in self._by_output(scores)]
        return self._named(scores), np.stack(best, axis=1) if self.outputs_2d_ else best[0]

    @described(ROWS)
    def predict_proba(self, X):
        """Shares of the classes in the vote.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or a list of them for several outputs
            In the order of `classes_`.
        """
        shares = self._by_output(self._scores(X))
        return shares if self.outputs_2d_ else shares[0]

    predict_set = predict_set
    _sets = sets_of

    @described(ROWS)
    def score(self, X, y, sample_weight=None):
        """The share of rows whose class, or classes of all outputs, are predicted.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their classes.

        Returns
        -------
        score : float
            The accuracy.
        """
        check_is_fitted(self)
        if not self.outputs_2d_:
            return super().score(X, y, sample_weight)
        is_right = np.all(self.predict(X) == np.asarray(y), axis=1)
        return float(np.average(is_right, weights=sample_weight))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _of_winner(shares: Array) -> Array:
    """The largest share of each row; for a tied vote, without the bit that decides it."""
    if shares.shape[1] < 2:
        return shares[:, 0]
    second, first = np.partition(shares, -2, axis=1)[:, -2:].T
    return np.where(first == np.nextafter(second, 2.0), second, first)
