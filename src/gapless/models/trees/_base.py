"""What all single trees share: fit = read → grow → prune → certify → attributes.

A subclass says how its data is read (`_read`), how a tree is grown and pruned on some of the rows
(`_grow`), what it costs (`_certify`), and how it is said in words (`outline`).
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..._ground.columns import Columns, for_prediction
from ..._ground.design import Design
from ..._ground.interrupt import said_limit
from ..._ground.progress import CallbackSupport
from ..._ground.stored import INPUT, Declaration, Unused, Value, Whole
from ...certificates import Certificate
from ...unseen import JUDGED, Calibration, Intervals, Remembering, check_coverage, take_over
from .data import Grown, TreeData
from .held_out import TreeFit
from .readable import Readable

Array = np.ndarray


class TreeModel(Readable, Remembering, CallbackSupport, BaseEstimator):
    """Base of the single trees."""

    _stored: ClassVar[Declaration] = {
        "prune_trace_": Unused(),
        **JUDGED,
        **INPUT,
        "n_outputs_": Whole(1, size="outputs"),
        "columns_": Value(Columns, features=len),
    }
    time_limit: float | None
    n_outputs_: int
    classes_: Any

    # ---- what a subclass says --------------------------------------------------------------------

    def _read(self, X, y, sample_weight=None, *, reset: bool = True) -> TreeData:
        """X, y and weights, validated; with reset=False the features must be those of the fit."""
        raise NotImplementedError

    def _grow(self, data: TreeData, rows: Array | None = None) -> Grown:
        """A tree of all rows, or of some."""
        raise NotImplementedError

    def _leaf_values(self, tree: Any, F: Any) -> Array:
        """What a tree says of rows, (n, ΣK): shares of the classes, or numbers, of all outputs."""
        raise NotImplementedError

    def _certify(self, data: TreeData, tree: Any) -> Certificate:
        """That the tree is the best of its subtrees, from the data."""
        raise NotImplementedError

    def _price(self) -> float:
        """The price of a leaf, where it has one."""
        return 0.0

    # ---- what is learned -------------------------------------------------------------------------

    def _keep(
        self, data: TreeData, grown: Grown, found: Certificate, learned: dict[str, Any]
    ) -> None:
        """Replace what an earlier fit has left by what this one has learned, all at once."""
        learned |= self._described(data)
        learned |= {"tree_": grown.tree, "certificate_": _honest(found, grown)}
        learned |= {"_training": (data,), "_calibration": None}
        if grown.trace is not None:
            learned["prune_trace_"] = grown.trace
        take_over(self, learned)
        if grown.stopped == "interrupted":
            raise KeyboardInterrupt
        if grown.stopped:
            warnings.warn(
                f"{type(self).__name__} stopped growing at {said_limit(self.time_limit)}"
                "; what was not split yet are leaves. Increase the time_limit, or set "
                "max_depth.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _described(self, data: TreeData) -> dict[str, Any]:
        """What the model keeps of the data whatever the tree."""
        kept = {
            "n_features_in_": data.F.shape[1],
            "n_outputs_": data.outputs.y.shape[1],
            "columns_": for_prediction(data.columns),
        }
        if data.names is not None:
            kept["feature_names_in_"] = data.names
        return kept

    # ---- predicting ------------------------------------------------------------------------------

    def _scores(self, X: Any) -> Array:
        """What the leaves say of rows as the caller gives them, (n, ΣK)."""
        check_is_fitted(self)
        return self._leaf_values(self.tree_, self._read_rows(X))

    def apply(self, X, check_input=True):
        """The leaf that each row ends up in.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        check_input : bool, default=True
            Has no effect; it is here for callers of scikit-learn.

        Returns
        -------
        leaves : ndarray of shape (n_samples,)
            Numbers of nodes.
        """
        check_is_fitted(self)
        return self.tree_.apply(self._read_rows(X))

    # ---- both gaps -------------------------------------------------------------------------------

    def _certified(self, X, y, sample_weight=None) -> Certificate:
        """The certificate, computed again from the data of the fit."""
        return self._certify(self._reread(X, y, sample_weight), self.tree_)

    def _reread(self, X, y, sample_weight) -> TreeData:
        """The data of the fit, read again."""
        check_is_fitted(self)
        data = self._read(X, y, sample_weight, reset=False)
        if data.has_classes:
            own = self.classes_ if isinstance(self.classes_, list) else [self.classes_]
            found = data.outputs.classes or []
            if len(own) != len(found) or not all(map(np.array_equal, found, own)):
                raise ValueError(
                    f"y has the classes {[c.tolist() for c in found]}, but {type(self).__name__} "
                    f"was fitted with {[c.tolist() for c in own]}; pass the data of the fit."
                )
        return data

    def _fitted_to(self, X, y, sample_weight=None) -> TreeFit:
        """The fit, rebuilt from its data."""
        return self._fitted(self._reread(X, y, sample_weight))

    def _fitted(self, data: TreeData) -> TreeFit:
        """The fit, or an error if its data has changed."""
        found, expected = self._certify(data, self.tree_).primal, self.certificate_.primal
        room = 1e-6 * (abs(expected) + self.certificate_.scale)
        if np.isfinite(expected) and not abs(found - expected) <= room:
            raise ValueError(
                f"this is not the fit of this data: the objective is {found:.9g}, and was "
                f"{expected:.9g} when {type(self).__name__} was fitted; X, y or the weights have "
                "changed since. Fit again."
            )
        return TreeFit(self, data)

    def _standing_in(self, z: Array) -> Any:
        """A copy of the model that gives row i, asked for by X = [[i]], the scores z[i]."""
        twin: Any = copy.copy(self)
        twin._scores = lambda X: z[X[:, 0]]
        return twin

    def _calibration_rows(self, X: Any) -> Design:
        """New rows for the models of a calibration."""
        return Design(self._read_rows(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        return tags


def _honest(found: Certificate, grown: Grown) -> Certificate:
    """The certificate, which says so where the tree is not what was asked for."""
    if not grown.stopped:
        return found
    return replace(
        found,
        kind="stopped",
        verdict=(
            f"stopped: growing ended at depth {grown.tree.max_depth}, or the choice of ccp_alpha, "
            "when the time was over; raise time_limit, or set max_depth."
        ),
    )


class HeldOutSets:
    """Sets of classes, by models that have not seen some rows."""

    _scores: Callable[[Any], Array]
    _calibration_rows: Callable[[Any], Any]
    _calibrated: Callable[[str], Calibration]

    def predict_set(self, X, coverage=0.9):
        """Predict sets of classes, such that most rows have their own class in their set.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to classify.
        coverage : float, default=0.9
            The share of new rows whose class is to be in their set. See `gapless.prediction_sets`
            for what is promised. Forests and bagging judge it out of bag; for others the first call
            fits ten times again.

        Returns
        -------
        sets : ndarray of bool, shape (n_samples, n_classes)
            Which classes, in the order of `classes_`, are in the set of each row; the predicted
            class always is.
        """
        check_coverage(coverage)
        calibration = self._calibrated(
            "gapless.prediction_sets(model, X_train, y_train, X, coverage=..., sample_weight=...)"
        )
        return self._sets(calibration, X, coverage)

    def _sets(self, calibration: Calibration, X: Any, coverage: float) -> Array:
        sets = calibration.sets(self._calibration_rows(X), coverage, self._conformity)
        sets[np.arange(len(sets)), np.argmax(self._conformity(self._scores(X)), axis=1)] = True
        return sets

    def _conformity(self, scores: Array) -> Array:
        """How well each class fits rows of these scores (n, K): by its share, which they are."""
        return scores


class TreeClassifierMixin(HeldOutSets):
    """Classes, probabilities and sets of classes from what the leaves say."""

    classes_: Any
    n_outputs_: int

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


class HeldOutIntervals:
    """Intervals around the predictions of a regressor, by models that have not seen some rows."""

    predict: Callable[..., Any]
    _calibration_rows: Callable[[Any], Any]
    _calibrated: Callable[[str], Calibration]

    def _with_intervals(self, X: Any, coverage: float) -> Intervals:
        check_coverage(coverage)
        calibration = self._calibrated(
            "gapless.intervals(model, X_train, y_train, X, coverage=..., sample_weight=...)"
        )
        return self._intervals(calibration, X, coverage)

    def _intervals(self, calibration: Calibration, X: Any, coverage: float) -> Intervals:
        prediction = self.predict(X)
        ends = calibration.intervals(self._calibration_rows(X), coverage, self._respond)
        lower, upper = (end.reshape(prediction.shape) for end in ends)
        return Intervals(prediction, lower, upper)

    def _respond(self, scores: Array) -> Array:
        """The predictions that scores stand for: themselves."""
        return scores


class TreeRegressorMixin(HeldOutIntervals):
    """Numbers and intervals from what the leaves say."""

    n_outputs_: int
    _scores: Callable[[Any], Array]

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
        return self._with_intervals(X, interval)
