"""ID3 and C4.5: classifiers with a branch for every category."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..._ground.about import Example, Examples
from ..._ground.columns import Columns, bins_of, edges_of, encoded, read_features, read_new
from ..._ground.docstrings import FEATURES, described
from ..._ground.progress import watch
from ..._ground.stored import Declaration, Each, Labels, Nothing, Numbers, Unused, Value, Whole
from ..._ground.validation import check_given, read_outputs, readable_target
from ...certificates import Certificate
from .cart import class_attributes
from .decision_tree import FROM_DTYPE, constraints_of_trees
from .descriptions import CLASSES, GROWN, PRUNED, TRAINING
from .gains import Gains
from .growing import NO_LIMIT, Grown, TreeData, grown_in_time
from .judging import Judgement, certificate
from .multiway import MultiwayTree, Rule, gains, grow
from .outline import Outline, outline_of_multiway
from .pruning import cheapest, first_improvements, pessimistic_errors, without_splits
from .tree_model import ERRORS, PESSIMISTIC, PRE, REDUCED, TreeClassifierMixin, TreeModel

Array = np.ndarray


class MultiwayClassifier(TreeClassifierMixin, ClassifierMixin, TreeModel):
    """Base class of the classifiers with a branch for every category.

    A subclass has `_rule`, `_edges` if it cuts numbers into bins, and `_confidence`.
    """

    # Lists of rows with texts are read without a table around them.
    _takes_texts = True

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
        **TreeModel._parameter_constraints,
        **constraints_of_trees("max_depth", "categorical_features", "time_limit"),
        "prune": [StrOptions({PRE, REDUCED, PESSIMISTIC}), None],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    @described(TRAINING)
    def fit(self, X, y, sample_weight=None, *, X_val=None, y_val=None, sample_weight_val=None):
        """Grow a tree, and prune it.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Classes.

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

    # ---- what a subclass defines -----------------------------------------------------------------

    def _rule(self) -> Rule:
        """How tests are chosen."""
        raise NotImplementedError

    def _edges(self, F: Array, weights: Array, is_category: Array) -> list[Array | None]:
        """Where the numbers of each column are cut into bins; None if they are not."""
        return [None] * F.shape[1]

    def _confidence(self) -> float:
        """The confidence of the upper limit of error rates, for prune="pessimistic"."""
        return 0.25

    # ---- fitting ---------------------------------------------------------------------------------

    def _kept_of(self, data):
        return super()._kept_of(data) | class_attributes(data) | {"bin_edges_": data.edges}

    def _read(self, X, y, sample_weight=None, *, reset=True):
        check_given(self, y)
        X, names = read_features(self, X, reset=reset)
        labels = column_or_1d(readable_target(y), warn=True, input_name="y")
        outputs = read_outputs(labels, X, sample_weight, has_classes=True)
        columns = Columns.read(X, categorical_features=self.categorical_features)
        F = _numbers(encoded(columns, X))
        edges = self._edges(F, outputs.weights, columns.is_category)
        return TreeData(cut(F, edges), outputs, names, columns, edges=edges, uncut=F)

    def _read_rows(self, X):
        return cut(_numbers(read_new(self, self.columns_, X)), self.bin_edges_)

    def _grow(self, data, rows=None):
        rows = np.flatnonzero(data.outputs.weights > 0) if rows is None else rows
        train, held = self._parts(data, rows)
        tree, stopped = self._grow_in_time(data, train)
        trace = None
        if self.prune is not None:
            rule = first_improvements if self.prune == PRE else cheapest
            errors = self._errors(tree, data.rows(train) if held is None else held)
            tree, trace = without_splits(tree, rule(tree.parent, errors, ERRORS[self.prune]))
        return Grown(tree, trace, stopped)

    def _grow_in_time(self, data: TreeData, rows: Array) -> tuple[MultiwayTree, str]:
        """A tree, and what ended its growth early: then the deepest complete one is kept."""
        F, y = data.F[rows], data.outputs.y[rows, 0].astype(int)
        weights, counts = data.outputs.weights[rows], _level_counts(data)
        rule = self._rule()

        def grown(depth: int) -> MultiwayTree:
            limited = replace(rule, max_depth=depth)
            return grow(F, y, weights, data.widths[0], counts, limited)

        most = NO_LIMIT if rule.max_depth is None else rule.max_depth
        return grown_in_time(grown, most, self.time_limit)

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

    def _outline(self) -> Outline:
        return outline_of_multiway(self.tree_, self._features(), self.bin_edges_, self.classes_)

    def gains(self, node=0):
        """What a test of each attribute would gain at a node, as a table.

        Parameters
        ----------
        node : int, default=0
            The number of a node of `tree_`; 0 is the root.

        Returns
        -------
        gains : Gains
            The attributes, those of the largest gain first; prints as a table. From the training
            rows, to which the fitted model refers; a copy of it, or a file, has none.
        """
        check_is_fitted(self)
        if not self._holds_training:
            raise AttributeError(
                f"this {type(self).__name__} no longer holds its training data; fit again."
            )
        (data,) = vars(self)["_training"]
        if not isinstance(node, Integral) or not 0 <= node < self.tree_.node_count:
            raise ValueError(
                f"node={node!r} is not a node of the tree; give a number from 0 to "
                f"{self.tree_.node_count - 1}."
            )
        train = self._parts(data, np.flatnonzero(data.outputs.weights > 0))[0]
        F, y = data.F[train], data.outputs.y[train, 0].astype(int)
        rows, weights = self.tree_.reaching(int(node), F, data.outputs.weights[train])
        found = gains(F[rows], y[rows], weights, data.widths[0], _level_counts(data), self._rule())
        counts = np.bincount(y[rows], weights, minlength=data.widths[0])
        used = set() if self._rule().uses_ratio else self.tree_.tested_above(int(node))
        return Gains.of(int(node), counts, self._names(), found, used)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _formula(self) -> None:
        """None: each split is the best one of its node, but the tree is not."""


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


def _numbers(F: Any) -> Array:
    """Codes and numbers as a dense array, also if they came as text."""
    F = F if isinstance(F, np.ndarray) else F.toarray()
    return F.astype(np.float64) if F.dtype.kind in "USO" else F


def _level_counts(data: TreeData) -> list[int | None]:
    """The number of branches of a split on each column, None for thresholds."""
    counts: list[int | None] = []
    for levels, own in zip(data.columns.levels, data.edges):
        counts.append(len(levels) if levels is not None else None if own is None else len(own) + 1)
    return counts


@described(PRUNED, GROWN, CLASSES, FEATURES)
class ID3Classifier(MultiwayClassifier):
    """ID3: a branch for every category of the attribute that gains most information.

    A node splits on the attribute with the largest  H(classes) − Σ nᵥ/n·H(classes in branch v),
    each attribute at most once on a path, until its rows are of one class or no attribute is left.
    A branch without rows predicts the majority class of the node above it.

    Parameters
    ----------
    max_bins : int, default=5
        ID3 works on categories only: in a column of numbers each distinct value is a category, or
        each of `max_bins` bins at quantiles if there are more values than that.

    Attributes
    ----------
    tree_ : MultiwayTree
        The nodes, with the gain of each split in bits.
    bin_edges_ : list of (ndarray or None)
        Where the numbers of each column are cut; None for categories.
    certificate_ : Certificate
        Shows that no subtree has a lower cost: the entropy, or the errors it was pruned by.

    Notes
    -----
    Attributes with many values gain most even if they are useless, such as a number for each row;
    C45Classifier corrects for it. A row with a missing value, or with a category not seen in
    training, goes down all branches with shares of its weight, as in C4.5.

    References
    ----------
    Quinlan (1986), Induction of decision trees, Machine Learning 1.

    Examples
    --------
    >>> import pandas as pd
    >>> from gapless import ID3Classifier
    >>> days = pd.DataFrame({"wind": ["weak", "weak", "strong", "strong"], "hot": list("ynyn")})
    >>> print(ID3Classifier().fit(days, ["play", "play", "stay", "stay"]).to_text())
    wind = strong: stay (2)
    wind = weak: play (2)
    >>> rows = [["weak", "y"], ["weak", "n"], ["strong", "y"], ["strong", "n"]]
    >>> model = ID3Classifier().fit(rows, ["play", "play", "stay", "stay"])
    >>> print(model.gains())
    node 0: 4 rows, entropy 1.000 bits
    attribute   gain  ratio
    x0         1.000  1.000
    x1         0.000  0.000
    """

    _examples: ClassVar[Examples] = (Example("digits", {"max_depth": 2}),)

    _parameter_constraints: ClassVar[dict] = {
        **MultiwayClassifier._parameter_constraints,
        "max_bins": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        *,
        max_depth=None,
        max_bins=5,
        prune=None,
        validation_fraction=0.2,
        categorical_features=FROM_DTYPE,
        time_limit=None,
    ):
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.prune = prune
        self.validation_fraction = validation_fraction
        self.categorical_features = categorical_features
        self.time_limit = time_limit

    def _rule(self):
        return Rule(uses_ratio=False, max_depth=self.max_depth)

    def _edges(self, F, weights, is_category):
        return [
            None if is_level else edges_of(column.astype(float), weights, self.max_bins)
            for column, is_level in zip(F.T, is_category)
        ]


@described(PRUNED, GROWN, CLASSES, FEATURES)
class C45Classifier(MultiwayClassifier):
    """C4.5: gain ratio, thresholds for numbers, missing values in parts, pessimistic pruning.

    A node splits on the attribute whose gain, divided by the information of its branches, is
    largest among those of at least average gain. The tree is then pruned to the subtree with the
    lowest  Σ over leaves of  n·U(errors, n),  where U is the upper limit of the error rate at
    `confidence`.

    Parameters
    ----------
    confidence : float, default=0.25
        The confidence level of the upper limit of error rates, 0 to 1; smaller values prune more.
    min_samples_leaf : float, default=2
        The minimum weight that at least two branches must have.

    Attributes
    ----------
    tree_ : MultiwayTree
        The nodes, with the gain and the gain ratio of each split.
    bin_edges_ : list of None
        C4.5 cuts no numbers into bins.
    certificate_ : Certificate
        Shows that no subtree has a lower cost: the errors it was pruned by, or the entropy.

    Notes
    -----
    The gain of a split counts for the share of the rows whose value is known; the others go down
    all branches, in the same shares as the known ones, in the fit and in predictions. A threshold
    is a value that occurs, the largest one not above the midpoint of two neighbours. This is the
    algorithm of the book of 1993, without the penalty for thresholds of release 8; pruning replaces
    subtrees by leaves, not by their largest branch. It is written in Python: for many rows,
    DecisionTreeClassifier with criterion="gain_ratio" and prune="pessimistic" is much faster.

    References
    ----------
    Quinlan (1993), C4.5: Programs for Machine Learning, Morgan Kaufmann.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gapless import C45Classifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> print(C45Classifier().fit(X, y).to_text(max_depth=2))
    petal length (cm) ≤ 1.9: 0 (50)
    petal length (cm) > 1.9
    |   petal width (cm) ≤ 1.7: 1 (54, error 0.0926) … 3 leaves below
    |   petal width (cm) > 1.7: 2 (46, error 0.0217)
    """

    _examples: ClassVar[Examples] = (Example("breast_cancer"),)

    _parameter_constraints: ClassVar[dict] = {
        **MultiwayClassifier._parameter_constraints,
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "min_samples_leaf": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        confidence=0.25,
        min_samples_leaf=2,
        max_depth=None,
        prune=PESSIMISTIC,
        validation_fraction=0.2,
        categorical_features=FROM_DTYPE,
        time_limit=None,
    ):
        self.confidence = confidence
        self.min_samples_leaf = min_samples_leaf
        self.max_depth = max_depth
        self.prune = prune
        self.validation_fraction = validation_fraction
        self.categorical_features = categorical_features
        self.time_limit = time_limit

    def _rule(self):
        return Rule(True, float(self.min_samples_leaf), self.max_depth)

    def _confidence(self):
        return float(self.confidence)
