"""What all single trees share: fit = read → grow → prune → certify → attributes, and reading them.

A subclass says how its data is read (`_read`), how a tree is grown and pruned on some of the rows
(`_grow`), what it costs (`_certify`), and how it is said in words (`outline`).
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._validation import Outputs
from ..certificates import Certificate
from ..conformal import Calibration, Intervals
from ..design import Design
from ..generalization.fitted import counted_labels
from ..progress import CallbackSupport
from ..remembering import Remembering, take_over
from .door import for_prediction, read_new
from .held_out import TreeFit, equal_rows
from .outline import Outline, Rules
from .pruning import PruneTrace
from .reading import Features
from .tuning import Choice

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that a tree is judged by: features, targets (n, outputs) and weights."""

    F: Any
    y: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class TreeData:
    """Training data as trees see them.

    Parameters
    ----------
    F : array or sparse matrix of shape (n, d)
        Numbers as they are, categories as level numbers, NaN where a value is missing.
    outputs : Outputs
        Targets and weights.
    names : ndarray of str or None
        Names of the features, where X had names.
    columns : Any
        What the grower reads.
    validation : Rows or None
        Rows that were given to judge splits by.
    edges : list of (ndarray or None)
        Where the numbers of each column are cut into bins, for trees that ask for bins alone.
    """

    F: Any
    outputs: Outputs
    names: Array | None
    columns: Any
    validation: Rows | None = None
    edges: list[Array | None] = field(default_factory=list)

    @property
    def has_classes(self) -> bool:
        """Whether the targets are classes."""
        return self.outputs.classes is not None

    @property
    def class_counts(self) -> list[int]:
        """The number of classes of each output, 0 for numbers."""
        return self.widths if self.has_classes else [0] * len(self.widths)

    def rows(self, index: Array, *, with_class_weights: bool = False) -> Rows:
        """Some of the rows, by number."""
        weights = self.outputs.weights if with_class_weights else self.outputs.sample_weight
        return Rows(self.F[index], self.outputs.y[index], weights[index])

    @cached_property
    def units(self) -> Array:
        """Which distinct row (x, y) each row is: 0, 1, … by content, −1 for rows without weight."""
        labels = equal_rows(self.F, self.outputs.y)
        return counted_labels(labels, self.outputs.weights > 0)

    @cached_property
    def widths(self) -> list[int]:
        """How many numbers a leaf has for each output: the number of classes, or 1."""
        classes = self.outputs.classes
        return [1] * self.outputs.y.shape[1] if classes is None else [len(c) for c in classes]


@dataclass(frozen=True, eq=False)
class Grown:
    """A tree as it was grown and pruned.

    `stopped` is "" or what ended the growth before its time: "time_limit" or "interrupted";
    `choice` is the price of a leaf that was chosen, where it was to be.
    """

    tree: Any
    trace: PruneTrace | None = None
    stopped: str = ""
    choice: Choice | None = None


class TreeModel(Remembering, CallbackSupport, BaseEstimator):
    """Base of the single trees."""

    _stored: ClassVar[tuple[str, ...]] = (
        "tree_",
        "prune_trace_",
        "certificate_",
        "n_features_in_",
        "feature_names_in_",
        "n_outputs_",
        "columns_",
        "generalization_",
    )

    # ---- what a subclass says --------------------------------------------------------------------

    def _read(self, X, y, sample_weight=None, *, reset: bool = True) -> TreeData:
        """X, y and weights, validated; with reset=False the features must be those of the fit."""
        raise NotImplementedError

    def _read_rows(self, X: Any) -> Any:
        """Rows to predict, as `TreeData.F` is."""
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

    def outline(self) -> Outline:
        """The tree as plain data, from which text, rules and pictures are made."""
        raise NotImplementedError

    # ---- what is learned -------------------------------------------------------------------------

    def _keep(self, data: TreeData, grown: Grown, learned: dict[str, Any]) -> None:
        """Replace what an earlier fit has left by what this one has learned, all at once."""
        learned |= {
            "tree_": grown.tree,
            "n_features_in_": data.F.shape[1],
            "n_outputs_": data.outputs.y.shape[1],
            "columns_": for_prediction(data.columns),
            "_training": (data,),
            "_calibration": None,
        }
        if grown.trace is not None:
            learned["prune_trace_"] = grown.trace
        if data.names is not None:
            learned["feature_names_in_"] = data.names
        take_over(self, learned)
        if grown.stopped == "interrupted":
            raise KeyboardInterrupt
        if grown.stopped:
            warnings.warn(
                f"{type(self).__name__} stopped growing after time_limit={self.time_limit:g} "
                "seconds; what was not split yet are leaves. Increase the time_limit, or set "
                "max_depth.",
                ConvergenceWarning,
                stacklevel=4,
            )

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

    def get_depth(self):
        """The largest number of questions that a row is asked.

        Returns
        -------
        depth : int
            0 for a tree that is a single leaf.
        """
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self):
        """The number of leaves.

        Returns
        -------
        n_leaves : int
            At least 1.
        """
        check_is_fitted(self)
        return self.tree_.n_leaves

    # ---- reading ---------------------------------------------------------------------------------

    def to_text(self, max_depth=None):
        """The tree as text, a line for each branch.

        Parameters
        ----------
        max_depth : int, default=None
            Below it, only the number of leaves is told.

        Returns
        -------
        text : str
            Where a branch ends: what is predicted, and in parentheses the weight of the training
            rows there and, if it is not 0, their error.
        """
        check_is_fitted(self)
        return self.outline().to_text(max_depth)

    def rules(self) -> Rules:
        """The tree as if-then rules, one for each leaf, those for most rows first.

        Returns
        -------
        rules : tuple of Rule
            Each with its conditions, prediction, support and error; prints one on each line.
        """
        check_is_fitted(self)
        return self.outline().rules()

    def path_of(self, x):
        """Why a row is predicted so, in words.

        Parameters
        ----------
        x : array-like of shape (n_features,), or a table or matrix with one row
            The row.

        Returns
        -------
        text : str
            A line for each question on the way, with the answer, and what is predicted.
        """
        check_is_fitted(self)
        row = x if getattr(x, "ndim", np.ndim(x)) == 2 else [x]
        F = self._read_rows(row)
        if F.shape[0] != 1:
            raise ValueError(f"path_of explains one row, and got {F.shape[0]}; pass X[[i]].")
        leaf = int(self.tree_.apply(F)[0])
        return self.outline().path_in_words(leaf, self._values_of(row))

    def _values_of(self, row: Any) -> dict[str, Any]:
        """The values of one row by the names of its columns, categories by theirs."""
        F = read_new(self, self.columns_, row)
        values = np.asarray(F.toarray() if sp.issparse(F) else F)[0]
        shown: dict[str, Any] = {}
        for name, value, levels in zip(self._names(), values, self.columns_.levels):
            is_level = levels is not None and not np.isnan(value)
            shown[name] = levels[int(value)] if is_level else float(value)
        return shown

    def _features(self) -> Features:
        """What the columns are called."""
        return Features(self._names(), self.columns_.levels, self.columns_.has_missing)

    def _names(self) -> list[str]:
        """Names of the features, x0, x1, … where X had none."""
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names)

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
            found = data.outputs.classes
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


class TreeClassifierMixin:
    """Classes, probabilities and sets of classes from what the leaves say."""

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

    def predict_set(self, X, coverage=0.9):
        """Predict sets of classes, such that most rows have their own class in their set.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to classify.
        coverage : float, default=0.9
            The share of new rows whose class is to be in their set. See `gapless.prediction_sets`
            for what is promised; the first call fits ten times again.

        Returns
        -------
        sets : ndarray of bool, shape (n_samples, n_classes)
            Which classes, in the order of `classes_`, are in the set of each row; the predicted
            class always is.
        """
        calibration = self._calibrated(
            "gapless.prediction_sets(model, X_train, y_train, X, coverage=..., sample_weight=...)"
        )
        return self._sets(calibration, X, coverage)

    def _sets(self, calibration: Calibration, X: Any, coverage: float) -> Array:
        sets = calibration.sets(self._calibration_rows(X), coverage, lambda z: z)
        sets[np.arange(len(sets)), np.argmax(self._scores(X), axis=1)] = True
        return sets

    def _by_output(self, scores: Array) -> list[Array]:
        """Scores (n, ΣK) as one array for each output."""
        classes = self.classes_ if self.n_outputs_ > 1 else [self.classes_]
        return np.split(scores, np.cumsum([len(c) for c in classes])[:-1], axis=1)


class TreeRegressorMixin:
    """Numbers and intervals from what the leaves say."""

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
            `gapless.intervals` for what is promised; the first call fits ten times again.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The value of the leaf: mean or, for absolute errors, median of its training rows. With
            `interval`, a tuple `(prediction, lower, upper)` of such arrays.
        """
        if interval is None:
            scores = self._scores(X)
            return scores[:, 0] if self.n_outputs_ == 1 else scores
        calibration = self._calibrated(
            "gapless.intervals(model, X_train, y_train, X, coverage=..., sample_weight=...)"
        )
        return self._intervals(calibration, X, interval)

    def _intervals(self, calibration: Calibration, X: Any, coverage: float) -> Intervals:
        prediction = self.predict(X)
        ends = calibration.intervals(self._calibration_rows(X), coverage, lambda z: z)
        lower, upper = (end.reshape(prediction.shape) for end in ends)
        return Intervals(prediction, lower, upper)
