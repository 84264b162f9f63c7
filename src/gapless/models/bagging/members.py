"""The members of a bag: how one is fitted to its draw, and what it is asked."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import _routing_enabled, get_routing_for_object
from sklearn.utils.validation import _check_method_params, has_fit_parameter

from ..._ground.columns import is_table
from ..._ground.validation import check_values, naming_text
from .out_of_bag import EnsembleData

Array = np.ndarray


class OnlyClass(ClassifierMixin, BaseEstimator):
    """Predicts the one class that it was shown, for learners that need two."""

    def fit(self, X, y):
        """Note the class of the rows."""
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        """The class, for all rows."""
        return np.full(X.shape[0], self.classes_[0])

    def predict_proba(self, X):
        """Certainty, for all rows."""
        return np.ones((X.shape[0], 1))


def fitted_member(ensemble: Any, data: EnsembleData, seed: int, routed: dict) -> Any:
    """One member, on the rows and columns that its seed draws."""
    member = ensemble._make_estimator(append=False, random_state=seed)
    counts = ensemble._population.draw(seed, ensemble._max_samples, ensemble.bootstrap)
    drawn = np.repeat(ensemble._rows, counts)
    takes_weights = _takes_weights(ensemble.estimator_)
    # Rows that were not drawn have weight 0, so that learners know of all classes.
    rows = ensemble._rows if takes_weights else drawn
    X = _safe_indexing(columns_of(data.X, ensemble._columns(seed)), rows)
    options = _check_method_params(data.X, params=routed, indices=rows)
    if takes_weights:
        options["sample_weight"] = counts.astype(np.float64)
    y = _targets(data)
    try:
        with naming_text(data.X, "X", data.feature_names):
            member.fit(X, y[rows], **options)
    except ValueError:
        if is_classifier(ensemble) and np.all(y[drawn] == y[drawn[0]]):
            return OnlyClass().fit(X, y[drawn])
        # Said with the row of the caller, where that is the reason.
        if not is_table(data.X) and data.X.dtype.kind == "f":
            check_values(data.X, "X", data.feature_names)
        raise
    return member


def _targets(data: EnsembleData) -> Array:
    """Numbers, or positions of the classes, (n,) or (n, outputs)."""
    y = data.outputs.y.astype(int) if data.outputs.classes is not None else data.outputs.y
    return y[:, 0] if data.outputs.is_flat else y


def _takes_weights(learner: Any) -> bool:
    if _routing_enabled():
        return bool(get_routing_for_object(learner).consumes("fit", ("sample_weight",)))
    return has_fit_parameter(learner, "sample_weight")


# ---- asking --------------------------------------------------------------------------------------


def columns_of(X: Any, columns: Array) -> Any:
    """Some columns; of a table those that are drawn twice are there once, under their name."""
    if np.array_equal(columns, np.arange(X.shape[1])):
        return X
    if is_table(X):
        return _safe_indexing(X, np.unique(columns), axis=1)
    return X[:, columns]


def numbers(member: Any, X: Any, routed: Any) -> Array:
    """What a member predicts, (n, outputs)."""
    z = np.asarray(member.predict(X, **routed.get("predict", {})))
    return z.reshape(len(z), -1)


def probabilities(member: Any, X: Any, routed: Any, count: int) -> Array:
    """Probabilities of all classes, (n, count), or votes of a member that has none."""
    z = np.zeros((X.shape[0], count))
    if isinstance(member, OnlyClass):
        z[:, member.classes_] = 1.0
    elif hasattr(member, "predict_proba"):
        z[:, member.classes_] = member.predict_proba(X, **routed.get("predict_proba", {}))
    else:
        z[np.arange(len(z)), member.predict(X, **routed.get("predict", {}))] = 1.0
    return z


def log_probabilities(member: Any, X: Any, routed: Any, count: int) -> Array:
    """Logarithms of the same; a member's own, which may be finer than those of probabilities."""
    if not hasattr(member, "predict_log_proba"):
        with np.errstate(divide="ignore"):
            return np.log(probabilities(member, X, routed, count))
    z = np.full((X.shape[0], count), -np.inf)
    z[:, member.classes_] = member.predict_log_proba(X, **routed.get("predict_log_proba", {}))
    return z


def decisions(member: Any, X: Any, routed: Any) -> Array | None:
    """Decision values of a member; None of one that knows a single class."""
    if isinstance(member, OnlyClass):
        return None
    return member.decision_function(X, **routed.get("decision_function", {}))
