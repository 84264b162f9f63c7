"""Decision trees with two branches: CART.

`classifier` and `regressor` derive from `DecisionTree`. A tree is grown in full (`limits`) and then
pruned (`pruned`).
"""

from __future__ import annotations

import time
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..._ground.columns import Columns, encoded, read_features, read_new
from ..._ground.interrupt import TimeLimit, seconds_left, time_limit
from ..._ground.progress import watch
from ..._ground.stored import Declaration, Unused, Value
from ..._ground.validation import read_outputs
from ._base import TreeModel
from .averages import mean_of_model
from .data import Grown, TreeData
from .growing import NO_LIMIT
from .in_time import grown_in_time
from .limits import Limited, grow_on
from .pruned import Prunable
from .pruning import made_leaves
from .reading import outline_of_binary
from .tree import Tree
from .tuning import CV

Array = np.ndarray

FROM_DTYPE = "from_dtype"


class DecisionTree(Limited, Prunable, TreeModel):
    """Base of the decision trees with two branches."""

    _stored: ClassVar[Declaration] = {
        **TreeModel._stored,
        "tree_": Value(
            Tree,
            features=lambda tree: tree.n_features,
            outputs=lambda tree: len(tree.n_classes),
            classes=lambda tree: int(tree.n_classes.sum()),
        ),
        "max_features_": Unused(),
        "ccp_alpha_": Unused(),
        "search_": Unused(),
        "validation_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **Limited._parameter_constraints,
        **Prunable._parameter_constraints,
        "random_state": ["random_state"],
        "categorical_features": ["array-like", StrOptions({FROM_DTYPE}), None],
        "max_bins": [Interval(Integral, 2, None, closed="left"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X,
        y,
        sample_weight=None,
        check_input=True,
        *,
        X_val=None,
        y_val=None,
        sample_weight_val=None,
    ):
        """Grow a tree, and prune it.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data. NaN is a missing value. Columns of a table that hold categories, text or
            booleans are taken as they are. Never written to.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.
        check_input : bool, default=True
            Has no effect; it is here for callers of scikit-learn.
        X_val, y_val, sample_weight_val : array-like, default=None
            Rows by which `prune="pre_pruning"` and `"reduced_error"` judge a split; if None, a part
            of the training rows is set aside for it. `gapless.certify(model, X_val, y_val)` then
            takes these rows.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C and errors leave it as it was.
        """
        self._check_parameters()
        data = self._read(X, y, sample_weight)
        data = self._with_validation(data, X_val, y_val, sample_weight_val)
        with watch(self, data.F, data.outputs.y):
            grown = self._grow(data)
        learned = self._learned(data, grown)
        found = self._at(**learned)._certify(data, grown.tree)
        self._keep(data, grown, found, learned)
        return self

    # ---- reading the data ------------------------------------------------------------------------

    def _read(self, X, y, sample_weight=None, *, reset=True):
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; call "
                "fit(X, y)."
            )
        X, names = read_features(self, X, reset=reset)
        class_weight = getattr(self, "class_weight", None)
        outputs = read_outputs(y, X, sample_weight, class_weight, has_classes=is_classifier(self))
        columns = Columns.read(
            X,
            categorical_features=self.categorical_features,
            max_bins=self.max_bins,
            weights=outputs.sample_weight,
        )
        return TreeData(encoded(columns, X), outputs, names, columns)

    def _read_rows(self, X):
        return read_new(self, self.columns_, X)

    def _learned(self, data: TreeData, grown: Grown) -> dict[str, Any]:
        """What this kind of tree adds to the learned attributes."""
        learned: dict[str, Any] = {"max_features_": self._max_features(data.F.shape[1])}
        learned |= self._validation_source(data)
        if self.ccp_alpha == CV:
            learned["ccp_alpha_"] = self._alpha(grown.choice)
        if grown.choice is not None:
            learned["search_"] = grown.choice.search
        return learned

    def _tuned(self) -> tuple[str, ...]:
        return ("ccp_alpha",) if self.ccp_alpha == CV else ()

    # ---- growing ---------------------------------------------------------------------------------

    def _grow(self, data: TreeData, rows: Array | None = None) -> Grown:
        began = time.monotonic()
        rows = np.flatnonzero(data.outputs.weights > 0) if rows is None else rows
        train, held = self._parts(data, rows)
        options = self._options(data, train)
        deepest = NO_LIMIT if options.max_depth is None else options.max_depth
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

        def grown(depth: int) -> Any:
            limited = replace(options, max_depth=min(depth, deepest))
            return grow_on(data, train, limited, seed)

        tree, stopped = grown_in_time(grown, deepest, self.time_limit)
        choice = None
        if self.ccp_alpha == CV and not stopped:
            with time_limit(seconds_left(self.time_limit, began)):
                try:
                    choice = self._choose(data, rows, tree, options, seed)
                except TimeLimit:
                    stopped = "time_limit"
        alpha = self._alpha(choice)
        trace = self._trace(tree, data, train, held, alpha)
        if trace is not None:
            is_leaf = np.zeros(tree.node_count, dtype=bool)
            is_leaf[trace.node[trace.is_pruned]] = True
            tree, number = made_leaves(tree, is_leaf)
            trace = trace.numbered(number)
        return Grown(tree, trace, stopped, choice)

    # ---- reading ---------------------------------------------------------------------------------

    def _leaf_values(self, tree, F):
        value = tree.value.take(tree.apply(F), axis=0)
        return np.concatenate(
            [value[:, k, :width] for k, width in enumerate(tree.n_classes)], axis=1
        )

    def _mean_predictions(self, X, weights, columns, donors):
        """Means over rows whose columns have the values of donors; see `trees.averages`."""
        return mean_of_model(self._read_rows, [self.tree_], X, weights, columns, donors)

    def outline(self):
        """The tree as plain data, from which text, rules and pictures are made.

        Returns
        -------
        outline : Outline
            Conditions, predictions, support and errors of all nodes.
        """
        check_is_fitted(self)
        return outline_of_binary(self.tree_, self._features(), self._classes())

    def _classes(self) -> list[Array] | None:
        """The classes of each output, None for numbers."""
        return None

    def decision_path(self, X, check_input=True):
        """Which nodes each row comes through.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        check_input : bool, default=True
            Has no effect; it is here for callers of scikit-learn.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            1 where a row comes through a node.
        """
        check_is_fitted(self)
        return self.tree_.decision_path(self._read_rows(X))

    @property
    def feature_importances_(self):
        """What the splits of each feature take from the impurity, as parts of 1.

        Features with many values have more splits to choose from and look more important than they
        are; `gapless.evaluation.permutation_importance` on held-out rows does not have that fault.
        """
        check_is_fitted(self)
        return self.tree_.compute_feature_importances()
