"""What forests of classes and of numbers add to a forest."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils._param_validation import Hidden, StrOptions
from sklearn.utils.multiclass import type_of_target

from ..._ground.stored import Declaration, Each, Labels, LabelsOfOutputs, Unused, Whole
from ..._ground.validation import Outputs
from ..bagging import EnsembleData, warn_if_unpredicted
from ..trees import (
    OLD_NAME,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    TreeClassifierMixin,
    TreeRegressorMixin,
    check_counts,
)
from .forest import Forest

Array = np.ndarray

SUBSAMPLE = "balanced_subsample"


class ForestClassifier(TreeClassifierMixin, ClassifierMixin, Forest):
    """Base of the forests for classes."""

    _tree_class = DecisionTreeClassifier
    _stored: ClassVar[Declaration] = {
        **Forest._stored,
        "classes_": Labels() | LabelsOfOutputs(),
        "n_classes_": Whole(1) | Each(Whole(1), "outputs"),
        "oob_decision_function_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **Forest._parameter_constraints,
        "criterion": [StrOptions({"gini", "entropy", "log_loss", "gain_ratio"})],
        "class_weight": [StrOptions({SUBSAMPLE, "balanced"}), dict, list, None],
    }

    def _fixed_class_weight(self) -> Any:
        if self.class_weight != SUBSAMPLE:
            return self.class_weight
        return None if self.bootstrap else "balanced"

    def _has_own_class_weights(self) -> bool:
        return isinstance(self.class_weight, str) and self.class_weight == SUBSAMPLE

    def _check_combinations(self) -> None:
        super()._check_combinations()
        if self.warm_start and isinstance(self.class_weight, str):
            warnings.warn(
                'class_weight presets "balanced" or "balanced_subsample" are not recommended for '
                "warm_start if the fitted data differs from the full dataset. In order to use "
                '"balanced" weights, use compute_class_weight ("balanced", classes, y), and pass '
                "the resulting weights as the class_weight parameter.",
                stacklevel=5,
            )

    def _specifics(self, outputs: Outputs) -> dict[str, Any]:
        classes = outputs.classes or []
        if len(classes) == 1:
            return {"classes_": classes[0], "n_classes_": len(classes[0])}
        return {"classes_": classes, "n_classes_": [len(own) for own in classes]}

    def _member(self, tree: Any, seed: int) -> Any:
        """A tree as an estimator, whose classes are positions in those of the forest."""
        member = super()._member(tree, seed)
        counts = [self.n_classes_] if self.n_outputs_ == 1 else self.n_classes_
        classes = [np.arange(count, dtype=float) for count in counts]
        member.classes_ = classes[0] if self.n_outputs_ == 1 else classes
        member.n_classes_ = self.n_classes_
        return member

    def _out_of_bag_attributes(self, data: EnsembleData) -> dict[str, Any]:
        y, is_counted = data.labels, data.outputs.sample_weight > 0
        kind = type_of_target(y)
        if kind in ("unknown", "multiclass-multioutput"):
            raise ValueError(
                f"The type of target cannot be used to compute OOB estimates. Got {kind} while "
                "only the following are supported: continuous, continuous-multioutput, binary, "
                "multiclass, multilabel-indicator."
            )
        sums, used = self._out_of_bag(data)
        warn_if_unpredicted(used[is_counted], "trees")
        mean = sums / np.maximum(used, 1)[:, None]
        predicted = self._standing_in(mean).predict(np.arange(len(y))[:, None])
        score = _scorer(self.oob_score, accuracy_score, data.outputs.sample_weight[is_counted])
        parts = self._by_output(mean)
        decision = parts[0] if len(parts) == 1 else np.stack(parts, axis=2)
        return {
            "oob_score_": score(y[is_counted], predicted[is_counted]),
            "oob_decision_function_": decision,
        }


class ForestRegressor(TreeRegressorMixin, RegressorMixin, Forest):
    """Base of the forests for numbers."""

    _tree_class = DecisionTreeRegressor
    _stored: ClassVar[Declaration] = {**Forest._stored, "oob_prediction_": Unused()}
    _parameter_constraints: ClassVar[dict] = {
        **Forest._parameter_constraints,
        "criterion": [
            StrOptions({"squared_error", "absolute_error", "poisson"}),
            Hidden(StrOptions({OLD_NAME})),
        ],
    }

    def _template(self, random_state: Any = None) -> Any:
        # Of the old name the caller has been told; the trees get the new one.
        if self.criterion == OLD_NAME:
            return self._at(criterion="squared_error")._template(random_state)
        return super()._template(random_state)

    def _read_targets(self, y, X, sample_weight, class_weight=None) -> Outputs:
        outputs = super()._read_targets(y, X, sample_weight, class_weight)
        if self.criterion == "poisson":
            check_counts(outputs.y, outputs.sample_weight, "strictly positive")
        return outputs

    def _out_of_bag_attributes(self, data: EnsembleData) -> dict[str, Any]:
        y, is_counted = data.labels, data.outputs.sample_weight > 0
        sums, used = self._out_of_bag(data)
        warn_if_unpredicted(used[is_counted], "trees")
        mean = sums / np.maximum(used, 1)[:, None]
        predicted = mean[:, 0] if data.outputs.is_flat else mean
        score = _scorer(self.oob_score, r2_score, data.outputs.sample_weight[is_counted])
        return {
            "oob_score_": score(y[is_counted], predicted[is_counted]),
            "oob_prediction_": predicted,
        }

    def predict_quantiles(self, X, quantiles=(0.05, 0.5, 0.95)):
        """Quantiles of the target at each row.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to predict.
        quantiles : array-like of float, default=(0.05, 0.5, 0.95)
            Levels between 0 and 1.

        Returns
        -------
        values : ndarray of shape (n_samples, n_quantiles) or (n_samples, n_outputs, n_quantiles)
            Quantiles of the training targets in the leaves of a row, each tree giving its leaf the
            same weight (Meinshausen 2006). Leaves of several rows (min_samples_leaf=5 or so) make
            them smoother. They need the training data, to which a fit keeps a reference.
        """
        levels = np.atleast_1d(np.asarray(quantiles, dtype=float))
        if not np.all((levels >= 0) & (levels <= 1)):
            raise ValueError(f"quantiles must be between 0 and 1, got {quantiles!r}.")
        F = self._read_rows(X)
        values = self._leaves().quantiles(F, levels)
        return values[:, 0] if self.n_outputs_ == 1 else values


def _scorer(oob_score: Any, default: Callable, weights: Array) -> Callable:
    """What judges predictions out of bag: the caller's function of (y, z), or the default one."""
    return oob_score if callable(oob_score) else partial(default, sample_weight=weights)
