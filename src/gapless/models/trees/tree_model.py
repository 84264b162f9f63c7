"""What all single trees share: fit = read → grow → prune → certify → attributes, and predictions.

A subclass defines how its data is read (`_read`), how a tree is grown and pruned on some of the
rows (`_grow`), its cost (`_certify`), and its description in words (`outline`). The mixins turn
leaf values into classes or numbers; forests have them too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from ..._ground.columns import Columns, for_prediction, read_new
from ..._ground.design import Design
from ..._ground.docstrings import described
from ..._ground.interrupt import limit_name
from ..._ground.progress import CallbackSupport
from ..._ground.stored import INPUT, Declaration, Unused, Value, Whole
from ..._ground.validation import read_outputs
from ...certificates import Certificate
from ...unseen import (
    JUDGED,
    Remembering,
    drawn,
    intervals_of,
    predict_set,
    predict_with_intervals,
    sets_of,
    take_over,
)
from .descriptions import ROWS
from .growing import Grown, Rows, TreeData
from .judging import Judgement, certificate
from .outline import Features, Outline, Rules
from .refits import TreeFit

Array = np.ndarray

PRE, REDUCED, PESSIMISTIC = "pre_pruning", "reduced_error", "pessimistic"
ON_VALIDATION = (PRE, REDUCED)
# The names of the costs of pruning.
ERRORS = {
    PRE: "error on validation rows",
    REDUCED: "error on validation rows",
    PESSIMISTIC: "pessimistic error",
}
GIVEN, DRAWN = "given", "drawn"


class TreeModel(Remembering, CallbackSupport, BaseEstimator):
    """Base class of the single trees, which may be pruned by errors, as `prune` says."""

    _guide = "trees"

    _stored: ClassVar[Declaration] = {
        "prune_trace_": Unused(),
        **JUDGED,
        **INPUT,
        "n_outputs_": Whole(1, size="outputs"),
        "columns_": Value(Columns, features=len),
    }
    _parameter_constraints: ClassVar[dict] = {
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
    }
    prune: Any
    validation_fraction: float
    time_limit: float | None
    tree_: Any
    columns_: Any
    n_features_in_: int
    n_outputs_: int
    classes_: Any

    # ---- what a subclass defines -----------------------------------------------------------------

    def _read(self, X, y, sample_weight=None, *, reset: bool = True) -> TreeData:
        """X, y and weights, validated; with reset=False the features must be those of the fit."""
        raise NotImplementedError

    def _grow(self, data: TreeData, rows: Array | None = None) -> Grown:
        """A tree of all rows, or of some."""
        raise NotImplementedError

    def _leaf_values(self, tree: Any, F: Any) -> Array:
        """A tree's predictions for rows, (n, ΣK): class shares, or numbers, of all outputs."""
        raise NotImplementedError

    def _certify(self, data: TreeData, tree: Any) -> Certificate:
        """Certify from the data that the tree is the best of its subtrees."""
        raise NotImplementedError

    def _price(self) -> float:
        """The price of a leaf, if it has one."""
        return 0.0

    def _errors(self, tree: Any, rows: Rows) -> Array:
        """The cost of each node as a leaf, by the errors of some rows, as parts of all of them."""
        raise NotImplementedError

    def _outline(self) -> Outline:
        """The tree as plain data."""
        raise NotImplementedError

    def _read_rows(self, X: Any) -> Any:
        """Rows to predict, as `TreeData.F` is."""
        raise NotImplementedError

    # ---- what is learned -------------------------------------------------------------------------

    def _keep(
        self, data: TreeData, grown: Grown, found: Certificate, learned: dict[str, Any]
    ) -> None:
        """Replace what an earlier fit has left by what this one has learned, all at once."""
        learned |= self._kept_of(data)
        learned |= {"tree_": grown.tree, "certificate_": _honest(found, grown)}
        learned |= {"_training": (data,), "_calibration": None}
        if grown.trace is not None:
            learned["prune_trace_"] = grown.trace
        take_over(self, learned)
        if grown.stopped == "interrupted":
            raise KeyboardInterrupt
        if grown.stopped:
            warnings.warn(
                f"{type(self).__name__} stopped growing at {limit_name(self.time_limit)}; nodes "
                "not split yet are leaves. Increase the time_limit, or set max_depth.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _kept_of(self, data: TreeData) -> dict[str, Any]:
        """What the model keeps of the data, whatever the tree."""
        kept = {
            "n_features_in_": data.F.shape[1],
            "n_outputs_": data.outputs.y.shape[1],
            "columns_": for_prediction(data.columns),
        }
        if data.names is not None:
            kept["feature_names_in_"] = data.names
        return kept

    # ---- validation rows -------------------------------------------------------------------------

    def _with_validation(self, data: TreeData, X_val: Any, y_val: Any, weights: Any) -> TreeData:
        """The data with the rows given to judge splits by, if any."""
        if X_val is None:
            return data
        if self.prune not in ON_VALIDATION:
            raise ValueError(
                f"X_val needs prune={PRE!r} or prune={REDUCED!r}, but prune is {self.prune!r}; "
                "leave X_val out, or set prune."
            )
        if y_val is None:
            raise ValueError("X_val needs the targets of its rows; pass y_val too.")
        held = self._at(**self._kept_of(data))._read_validation(X_val, y_val, weights)
        return replace(data, validation=held)

    def _read_validation(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Rows to judge splits by; their classes as positions in those of the training rows."""
        F = self._read_rows(X)
        found = read_outputs(y, F, sample_weight, has_classes=is_classifier(self))
        if found.y.shape[1] != self.n_outputs_:
            raise ValueError(
                f"y_val has {found.y.shape[1]} outputs, and y has {self.n_outputs_}; give both the "
                "same."
            )
        y = found.y
        if found.classes is not None:
            known = self.classes_ if isinstance(self.classes_, list) else [self.classes_]
            triples = zip(found.classes, known, found.y.T)
            y = np.column_stack([_positions(new, old, at) for new, old, at in triples])
        return Rows(F, y, found.sample_weight)

    def _parts(self, data: TreeData, rows: Array) -> tuple[Array, Rows | None]:
        """The rows to grow on, and those to judge splits by, if pruning needs them."""
        if self.prune not in ON_VALIDATION:
            return rows, None
        if data.validation is not None:
            return rows, data.validation
        units = data.units(rows)
        count = int(units.max()) + 1
        aside = round(self.validation_fraction * count)
        if not 0 < aside < count:
            raise ValueError(
                f"validation_fraction={self.validation_fraction:g} of n_samples = {count} "
                f"distinct rows would set {aside} of them aside, and both parts need rows; change "
                "it, or pass X_val and y_val."
            )
        strata = data.outputs.y[:, 0] if data.has_classes else None
        is_aside = (units >= 0) & np.isin(units, drawn(units, aside, strata))
        return np.flatnonzero((units >= 0) & ~is_aside), data.rows(np.flatnonzero(is_aside))

    def _validation_source(self, data: TreeData) -> dict[str, str]:
        """The attribute that says where the validation rows came from, if there are any."""
        if self.prune not in ON_VALIDATION:
            return {}
        return {"validation_": DRAWN if data.validation is None else GIVEN}

    @property
    def _has_given_rows(self) -> bool:
        return getattr(self, "validation_", None) == GIVEN

    # ---- predicting ------------------------------------------------------------------------------

    def _scores(self, X: Any) -> Array:
        """The leaf values of the caller's rows, (n, ΣK)."""
        check_is_fitted(self)
        return self._leaf_values(self.tree_, self._read_rows(X))

    @described(ROWS)
    def apply(self, X, check_input=True):
        """The leaf that each row reaches.

        Returns
        -------
        leaves : ndarray of shape (n_samples,)
            Numbers of nodes.
        """
        check_is_fitted(self)
        return self.tree_.apply(self._read_rows(X))

    # ---- reading ---------------------------------------------------------------------------------

    def get_depth(self):
        """The depth of the tree: the largest number of questions on the way to a leaf.

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

    def outline(self) -> Outline:
        """The tree as plain data, from which text, rules and pictures are made.

        Returns
        -------
        outline : Outline
            Conditions, predictions, support and errors of all nodes.
        """
        check_is_fitted(self)
        return self._outline()

    def to_text(self, max_depth=None):
        """The tree as text, a line for each branch.

        Parameters
        ----------
        max_depth : int, default=None
            Below it, only the number of leaves is given.

        Returns
        -------
        text : str
            At the end of each branch: the prediction and, in parentheses, the number of training
            rows there and their error, unless it is 0.
        """
        check_is_fitted(self)
        return self.outline().to_text(max_depth)

    def rules(self) -> Rules:
        """The tree as if-then rules, one for each leaf, those that cover most rows first.

        Returns
        -------
        rules : tuple of Rule
            Each with its conditions, prediction, support and error; prints one rule per line.
        """
        check_is_fitted(self)
        return self.outline().rules()

    def path_of(self, x):
        """Why the tree predicts what it does for a row, in words.

        Parameters
        ----------
        x : array-like of shape (n_features,), or a table or matrix with one row
            The row.

        Returns
        -------
        text : str
            A line for each question on the way, with its answer, and the prediction.
        """
        check_is_fitted(self)
        row = x if getattr(x, "ndim", np.ndim(x)) == 2 else [x]
        F = self._read_rows(row)
        if F.shape[0] != 1:
            raise ValueError(f"path_of explains one row, got {F.shape[0]}; pass X[[i]].")
        leaf = int(self.tree_.apply(F)[0])
        return self.outline().path_in_words(leaf, self._values_of(row))

    def _values_of(self, row: Any) -> dict[str, Any]:
        """The values of one row by the names of its columns, categories by name."""
        F = read_new(self, self.columns_, row)
        values = np.asarray(F.toarray() if sp.issparse(F) else F)[0]
        shown: dict[str, Any] = {}
        for name, value, levels in zip(self._names(), values, self.columns_.levels):
            is_level = levels is not None and not np.isnan(value)
            shown[name] = levels[int(value)] if is_level else float(value)
        return shown

    def _features(self) -> Features:
        """Descriptions of the columns."""
        return Features(self._names(), self.columns_.levels, self.columns_.has_missing)

    def _names(self) -> list[str]:
        """Names of the features, x0, x1, … if X had none."""
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names)

    # ---- both gaps -------------------------------------------------------------------------------

    def _certified(self, X, y, sample_weight=None) -> Certificate:
        """The certificate, recomputed from the data of the fit, or from given rows."""
        if self._has_given_rows:
            return self._certify_errors(self.tree_, self._read_validation(X, y, sample_weight))
        return self._certify(self._reread(X, y, sample_weight), self.tree_)

    def _certify_errors(self, tree: Any, rows: Rows) -> Certificate:
        """The certificate of a tree pruned by errors on these rows."""
        risk, parent = self._errors(tree, rows), tree.parent
        is_leaf = ~np.isin(np.arange(len(parent)), parent)
        found = Judgement(risk, float(risk[is_leaf].sum()))
        return certificate(parent, found, 0.0, ERRORS[self.prune])

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
                    f"was fitted with {[c.tolist() for c in own]}; pass the training data."
                )
        return data

    def _fitted_to(self, X, y, sample_weight=None) -> TreeFit:
        """The fit, rebuilt from its data."""
        if self._has_given_rows:
            raise ValueError(
                f"{type(self).__name__} was pruned by the rows of X_val, which are not part of X; "
                "read model.generalization_ where it was fitted, or fit again with "
                "validation_fraction."
            )
        return self._fitted(self._reread(X, y, sample_weight))

    def _fitted(self, data: TreeData) -> TreeFit:
        """The fit, or an error if its data has changed."""
        self._check_objective(self._certify(data, self.tree_).primal)
        return TreeFit(self, data)

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
    """The certificate, which mentions it if the tree is not what was requested."""
    if not grown.stopped:
        return found
    return replace(
        found,
        kind="stopped",
        verdict=(
            f"stopped: out of time at depth {grown.tree.max_depth}, or while choosing ccp_alpha; "
            "raise time_limit, or set max_depth."
        ),
    )


def _positions(new: Array, known: Array, at: Array) -> Array:
    """Positions in the known classes of labels that are positions in others, −1 for new ones."""
    place = np.minimum(np.searchsorted(known, new), len(known) - 1)
    return np.where(known[place] == new, place, -1)[at.astype(int)].astype(float)


class TreeClassifierMixin:
    """Classes, probabilities and sets of classes from leaf values."""

    classes_: Any
    n_outputs_: int
    _scores: Callable[[Any], Array]
    predict_set = predict_set
    _sets = sets_of

    @described(ROWS)
    def predict(self, X, check_input=True):
        """Predict classes.

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

    @described(ROWS)
    def predict_proba(self, X, check_input=True):
        """Shares of the classes in the leaf of each row.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or a list of them for several outputs
            In the order of `classes_`.
        """
        shares = self._by_output(self._scores(X))
        return shares[0] if self.n_outputs_ == 1 else shares

    @described(ROWS)
    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or a list of them for several outputs
            In the order of `classes_`; −∞ for classes that do not occur in the leaf.
        """
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(p) for p in shares] if isinstance(shares, list) else np.log(shares)

    def _by_output(self, scores: Array) -> list[Array]:
        """Scores (n, ΣK) as one array for each output."""
        classes = self.classes_ if self.n_outputs_ > 1 else [self.classes_]
        return np.split(scores, np.cumsum([len(c) for c in classes])[:-1], axis=1)


class TreeRegressorMixin:
    """Numbers and intervals from leaf values."""

    n_outputs_: int
    _scores: Callable[[Any], Array]
    _intervals = intervals_of

    @described(ROWS)
    def predict(self, X, check_input=True, *, interval=None):
        """Predict targets, with prediction intervals on request.

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
