"""Classifiers with a branch for every category: what ID3 and C4.5 share."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..._ground.columns import Columns, bins_of, encoded, read_features, read_new
from ..._ground.progress import watch
from ..._ground.stored import Declaration, Each, Labels, Nothing, Numbers, Unused, Value, Whole
from ..._ground.validation import read_outputs, readable_target
from ...certificates import Certificate
from ._base import TreeClassifierMixin, TreeModel
from .classifier import class_attributes
from .data import Grown, TreeData
from .decision_tree import FROM_DTYPE
from .growing import NO_LIMIT
from .in_time import grown_in_time
from .judging import Judgement, certificate
from .multiway import MultiwayTree
from .multiway_growing import Rule, grow
from .pruning import cheapest, first_improvements, pessimistic_errors
from .reading import outline_of_multiway
from .validation import ERRORS, PESSIMISTIC, PRE, REDUCED, Validated

Array = np.ndarray


class MultiwayClassifier(TreeClassifierMixin, ClassifierMixin, Validated, TreeModel):
    """Base of the classifiers with a branch for every category.

    A subclass gives `_rule`, `_edges` where it cuts numbers into bins, and `_confidence`.
    """

    _stored: ClassVar[Declaration] = {
        **TreeModel._stored,
        "tree_": Value(MultiwayTree, classes=lambda tree: tree.value.shape[1]),
        "n_outputs_": Whole(1, 1),
        "classes_": Labels(),
        "n_classes_": Whole(1, size="classes"),
        "bin_edges_": Each(Numbers(None, is_finite=False) | Nothing(), "features"),
        "validation_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **Validated._parameter_constraints,
        "prune": [StrOptions({PRE, REDUCED, PESSIMISTIC}), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "categorical_features": ["array-like", StrOptions({FROM_DTYPE}), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, *, X_val=None, y_val=None, sample_weight_val=None):
        """Grow a tree, and prune it.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data. NaN is a missing value. Columns of a table that hold categories, text or
            booleans are taken as they are. Never written to.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.
        X_val, y_val, sample_weight_val : array-like, default=None
            Rows by which `prune="pre_pruning"` and `"reduced_error"` judge a split; if None, a part
            of the training rows is set aside for it. `gapless.certify(model, X_val, y_val)` then
            takes these rows.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C and errors leave it as it was.
        """
        data = self._read(X, y, sample_weight)
        data = self._with_validation(data, X_val, y_val, sample_weight_val)
        with watch(self, data.F, data.outputs.y):
            grown = self._grow(data)
        found = self._certify(data, grown.tree)
        self._keep(data, grown, found, self._validation_source(data))
        return self

    # ---- what a subclass says --------------------------------------------------------------------

    def _rule(self) -> Rule:
        """How tests are chosen."""
        raise NotImplementedError

    def _edges(self, F: Array, weights: Array, is_category: Array) -> list[Array | None]:
        """Where the numbers of each column are cut into bins; None where they are not."""
        return [None] * F.shape[1]

    def _confidence(self) -> float:
        """Where the upper limit of error rates is taken, for prune="pessimistic"."""
        return 0.25

    # ---- fitting ---------------------------------------------------------------------------------

    def _described(self, data):
        return super()._described(data) | class_attributes(data) | {"bin_edges_": data.edges}

    def _read(self, X, y, sample_weight=None, *, reset=True):
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; call "
                "fit(X, y)."
            )
        X, names = read_features(self, X, reset=reset)
        labels = column_or_1d(readable_target(y), warn=True, input_name="y")
        outputs = read_outputs(labels, X, sample_weight, has_classes=True)
        columns = Columns.read(X, categorical_features=self.categorical_features)
        F = encoded(columns, X)
        F = F if isinstance(F, np.ndarray) else F.toarray()
        edges = self._edges(F, outputs.weights, columns.is_category)
        return TreeData(cut(F, edges), outputs, names, columns, edges=edges, uncut=F)

    def _read_rows(self, X):
        F = read_new(self, self.columns_, X)
        return cut(F if isinstance(F, np.ndarray) else F.toarray(), self.bin_edges_)

    def _grow(self, data, rows=None):
        rows = np.flatnonzero(data.outputs.weights > 0) if rows is None else rows
        train, held = self._parts(data, rows)
        tree, stopped = self._grow_in_time(data, train)
        trace = None
        if self.prune is not None:
            rule = first_improvements if self.prune == PRE else cheapest
            errors = self._errors(tree, data.rows(train) if held is None else held)
            trace = rule(tree.parent, errors, ERRORS[self.prune])
            is_leaf = np.zeros(tree.node_count, dtype=bool)
            is_leaf[trace.node[trace.is_pruned]] = True
            tree, number = tree.pruned(is_leaf)
            trace = trace.numbered(number)
        return Grown(tree, trace, stopped)

    def _grow_in_time(self, data: TreeData, rows: Array) -> tuple[MultiwayTree, str]:
        """A tree, and what ended its growth too early: then the deepest complete one is kept."""
        F, y = data.F[rows], data.outputs.y[rows, 0].astype(int)
        weights, counts = data.outputs.weights[rows], _level_counts(data)
        rule = self._rule()

        def grown(depth: int) -> MultiwayTree:
            limited = replace(rule, max_depth=depth)
            return grow(F, y, weights, data.widths[0], counts, limited)

        most = NO_LIMIT if rule.max_depth is None else rule.max_depth
        return grown_in_time(grown, most, self.time_limit)

    def _parents(self, tree):
        return tree.parent

    def _errors(self, tree, rows):
        wrong, total = tree.errors(rows.F, rows.y[:, 0].astype(int), rows.weights)
        if self.prune == PESSIMISTIC:
            wrong = pessimistic_errors(wrong, total, self._confidence())
        return wrong / float(rows.weights.sum())

    def _certify(self, data: TreeData, tree: MultiwayTree) -> Certificate:
        rows = np.flatnonzero(data.outputs.weights > 0)
        if self.prune is not None:
            held = self._parts(data, rows)[1]
            return self._certify_errors(tree, data.rows(rows) if held is None else held)
        y, weights = data.outputs.y[rows, 0].astype(int), data.outputs.weights[rows]
        counted = tree.recounted(data.F[rows], y, weights)
        stored = float(_bits(counted, tree.shares)[tree.feature < 0].sum())
        judgement = Judgement(_bits(counted, counted.shares), stored)
        return certificate(tree.parent, judgement, 0.0, "entropy")

    # ---- predicting and reading ------------------------------------------------------------------

    def _leaf_values(self, tree, F):
        return tree.predict(F)

    def outline(self):
        """The tree as plain data, from which text, rules and pictures are made.

        Returns
        -------
        outline : Outline
            Conditions, predictions, support and errors of all nodes.
        """
        check_is_fitted(self)
        return outline_of_multiway(self.tree_, self._features(), self.bin_edges_, self.classes_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


def _bits(tree: MultiwayTree, shares: Array) -> Array:
    """The log loss of each node with these predictions, as a part of the mean over all rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = np.where(tree.value > 0, tree.value * np.log2(shares), 0.0)
    return -bits.sum(axis=1) / tree.weight[0]


def cut(F: Array, edges: list[Array | None]) -> Array:
    """Rows with bins in place of the numbers of columns that have edges."""
    if all(own is None for own in edges):
        return F
    columns: list[Any] = [
        column if own is None else bins_of(column, own) for column, own in zip(F.T, edges)
    ]
    return np.column_stack(columns)


def _level_counts(data: TreeData) -> list[int | None]:
    """How many branches a question for each column has, None for thresholds."""
    counts: list[int | None] = []
    for levels, own in zip(data.columns.levels, data.edges):
        counts.append(len(levels) if levels is not None else None if own is None else len(own) + 1)
    return counts
