"""What networks for classes share: tasks, predictions, probabilities and parts."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from ..._ground.docstrings import described
from ..._ground.stored import Declaration, Labels
from ..._ground.validation import Training
from ...losses import Logistic, Softmax
from ._base import NetworkModel, Task
from .objective import Rows
from .parameters import DATA, ROWS, is_stochastic
from .predictions import accuracy, class_probabilities, decided

Array = np.ndarray


class NetworkClassifier(ClassifierMixin, NetworkModel):
    """Base class of networks that predict classes.

    A subclass has `_read_part` beside what `NetworkModel` asks for.
    """

    _stored: ClassVar[Declaration] = {**NetworkModel._stored, "classes_": Labels()}
    _parameter_constraints: ClassVar[dict] = {
        **NetworkModel._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }
    # Whether a row may have several labels.
    _is_multilabel = False

    def _read_part(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Training:
        """Some of the rows, with all classes in the first call."""
        raise NotImplementedError

    def _check_classes(self, data: Training, reset: bool) -> None:
        """Refuse to go on from weights that are of other classes."""
        is_warm = not reset and self.warm_start and hasattr(self, "classes_")
        if is_warm and data.classes is not None and not np.array_equal(data.classes, self.classes_):
            raise ValueError(
                "warm_start can only be used where `y` has the same classes as in the previous "
                f"call to fit. Previously got {self.classes_}, `y` has {data.classes}"
            )

    @available_if(is_stochastic)
    @described(DATA)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Make one epoch on these rows, from where the last call ended.

        Parameters
        ----------
        classes : array-like of shape (n_classes,), default=None
            All classes, including those of later parts; needed in the first call.

        Returns
        -------
        self : object
            The fitted estimator. It keeps no reference to its data: pass them to
            `gapless.certify` and `gapless.generalize`.
        """
        self._check_parameters()
        self._learn_part(self._read_part(X, y, classes, sample_weight))
        return self

    @described(ROWS)
    def predict(self, X):
        """Predict classes.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The most probable class, or all labels that are more probable than not.
        """
        return decided(self._scores(X), self.classes_, self._is_multilabel)

    @described(ROWS)
    def predict_proba(self, X):
        """Probabilities of the classes, by the outputs of the network.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`. They sum to 1, unless a row may have several labels: then
            each is the probability of its label.
        """
        return class_probabilities(self._scores(X), len(self.classes_), self._is_multilabel)

    @described(ROWS)
    def predict_log_proba(self, X):
        """Logarithms of what `predict_proba` returns.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def classes_task(data: Training, rows: Rows) -> Task:
    """Softmax for several classes; else the logistic loss, for two classes or for each label."""
    if data.y.ndim == 2:
        rows = Rows(rows.X, np.where(data.y > 0, 1.0, -1.0), rows.weights, rows.shape)
        return Task(Logistic(), rows, data.y.shape[1], accuracy, "accuracy", data.y)
    classes = 0 if data.classes is None else len(data.classes)
    if classes > 2:
        return Task(Softmax(), rows, classes, accuracy, "accuracy", data.y)
    signs = np.where(data.y[:, None] > 0, 1.0, -1.0)
    rows = Rows(rows.X, signs, rows.weights, rows.shape)
    return Task(Logistic(), rows, 1, accuracy, "accuracy", data.y)
