"""Decision trees with two branches: CART.

Both trees in `cart` derive from `DecisionTree`. A tree is grown as far as its limits allow,
and then pruned: by a price for each leaf, or by errors.
"""

from __future__ import annotations

import time
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context, clone, is_classifier
from sklearn.utils import Bunch, check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..._ground.about import Formula, chosen
from ..._ground.columns import Columns, encoded, read_features, read_new
from ..._ground.docstrings import described
from ..._ground.interrupt import TimeLimit, seconds_left, time_limit
from ..._ground.progress import watch
from ..._ground.shapley import PREDICTION, PROBABILITY
from ..._ground.stored import Declaration, Unused, Value
from ..._ground.validation import check_given, read_outputs
from ...certificates import Certificate
from ...unseen import CV, Search
from .contributions import contributions_of
from .descriptions import ROWS, TRAINING
from .growing import (
    LARGEST_SEED,
    NO_LIMIT,
    Grown,
    Options,
    Rows,
    TreeData,
    columns_tried,
    grow_on,
    grown_in_time,
    row_count,
)
from .judging import RISKS, as_bound, certificate, judge
from .outline import Outline, outline_of_binary
from .packed import PackedTrees
from .partial_dependence import mean_of_model
from .pruning import (
    PruneTrace,
    cheapest,
    choose_alpha,
    first_improvements,
    node_costs,
    node_weights,
    pessimistic_errors,
    risk_of,
    sequence_of,
    without_splits,
)
from .tree import Tree, used_values
from .tree_model import ERRORS, PESSIMISTIC, PRE, TreeModel

Array = np.ndarray

FROM_DTYPE = "from_dtype"


class DecisionTree(TreeModel):
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
        "splitter": [StrOptions({"best", "random"})],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_split": [
            Interval(Integral, 2, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
        ],
        "min_samples_leaf": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="neither"),
        ],
        "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
            StrOptions({"sqrt", "log2"}),
            None,
        ],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "min_impurity_decrease": [Interval(Real, 0.0, None, closed="left")],
        "monotonic_cst": ["array-like", None],
        "ccp_alpha": [Interval(Real, 0.0, None, closed="left"), StrOptions({CV})],
        **TreeModel._parameter_constraints,
        "select": [StrOptions({"min", "1se"})],
        "random_state": ["random_state"],
        "categorical_features": ["array-like", StrOptions({FROM_DTYPE}), None],
        "max_bins": [Interval(Integral, 2, None, closed="left"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }

    criterion: str
    splitter: str
    max_depth: int | None
    min_samples_split: Any
    min_samples_leaf: Any
    min_weight_fraction_leaf: float
    max_features: Any
    max_leaf_nodes: int | None
    min_impurity_decrease: float
    monotonic_cst: Any
    ccp_alpha: Any
    ccp_alpha_: float
    select: str

    @_fit_context(prefer_skip_nested_validation=True)
    @described(TRAINING)
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

    def _check_parameters(self) -> None:
        if self.prune is not None and self.ccp_alpha != 0.0:
            raise ValueError(
                f"prune={self.prune!r} and ccp_alpha={self.ccp_alpha!r} are two ways to prune the "
                "same tree; set prune=None or ccp_alpha=0.0."
            )

    # ---- reading the data ------------------------------------------------------------------------

    def _read(self, X, y, sample_weight=None, *, reset=True):
        check_given(self, y)
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
        tried = columns_tried(self.max_features, data.F.shape[1])
        learned: dict[str, Any] = {"max_features_": tried} | self._validation_source(data)
        if self.ccp_alpha == CV:
            learned["ccp_alpha_"] = self._alpha(grown.search)
        if grown.search is not None:
            learned["search_"] = grown.search
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
        seed = int(check_random_state(self.random_state).randint(LARGEST_SEED))

        def grown(depth: int) -> Any:
            limited = replace(options, max_depth=min(depth, deepest))
            return grow_on(data, train, limited, seed)

        tree, stopped = grown_in_time(grown, deepest, self.time_limit)
        search = None
        if self.ccp_alpha == CV and not stopped:
            with time_limit(seconds_left(self.time_limit, began)):
                try:
                    search = self._choose(data, rows, tree, options, seed)
                except TimeLimit:
                    stopped = "time_limit"
        alpha = self._alpha(search)
        trace = self._trace(tree, data, train, held, alpha)
        if trace is not None:
            tree, trace = without_splits(tree, trace)
        return Grown(tree, trace, stopped, search)

    # ---- limits of growing -----------------------------------------------------------------------

    def _options(self, data: TreeData, rows: Array) -> Options:
        """How to grow on some of the rows."""
        count = float(np.ceil(data.outputs.sample_weight[rows]).sum())
        leaf = row_count(self.min_samples_leaf, count)
        split = row_count(self.min_samples_split, count, least=2)
        return Options(
            criterion=self.criterion,
            splitter=self.splitter,
            max_features=columns_tried(self.max_features, data.F.shape[1]),
            max_depth=NO_LIMIT if self.max_depth is None else int(self.max_depth),
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_split=max(split, 2 * leaf),
            min_samples_leaf=leaf,
            min_weight_leaf=self.min_weight_fraction_leaf * float(data.outputs.weights[rows].sum()),
            min_impurity_decrease=float(self.min_impurity_decrease),
            monotonic=self._monotonic(data),
        )

    def _monotonic(self, data: TreeData) -> Array | None:
        """The constraints, checked."""
        if self.monotonic_cst is None:
            return None
        if len(data.widths) > 1:
            raise ValueError("Monotonicity constraints are not supported with multiple outputs.")
        if data.widths[0] > 2:
            raise ValueError(
                "Monotonicity constraints are not supported with multiclass classification."
            )
        given, d = np.asarray(self.monotonic_cst), data.F.shape[1]
        if given.ndim != 1:
            raise ValueError(
                f"monotonic_cst must be a list of {d} numbers -1, 0 or 1, one for each feature, "
                f"but got {type(self.monotonic_cst).__name__}."
            )
        if given.shape[0] != d:
            raise ValueError(
                f"monotonic_cst has shape {given.shape[0]} but the input data X has {d} features."
            )
        if not np.all(np.isin(given, (-1, 0, 1))):
            raise ValueError(
                "monotonic_cst must be None or an array-like of -1, 0 or 1, but got "
                f"{np.unique(given)}"
            )
        if np.any(data.columns.is_category[given != 0]):
            raise ValueError(
                "monotonic_cst is not 0 for a column of categories, which have no order; set 0."
            )
        return given.astype(np.int8)

    # ---- pruning ---------------------------------------------------------------------------------

    def _alpha(self, search: Search | None) -> float:
        """The price of a leaf; 0 if none could be chosen in time."""
        if self.ccp_alpha != CV:
            return float(self.ccp_alpha)
        return 0.0 if search is None else search.best["ccp_alpha"]

    def _price(self):
        return float(self.ccp_alpha_ if self.ccp_alpha == CV else self.ccp_alpha)

    def _choose(
        self, data: TreeData, rows: Array, tree: Any, options: Options, seed: int
    ) -> Search:
        units = data.units(rows)
        if units.max() < 1:
            raise ValueError(
                f'{type(self).__name__} cannot choose ccp_alpha="cv" from n_samples = 1 distinct '
                "row; give a number."
            )

        def on(part: Array) -> Any:
            return grow_on(data, part, options, seed)

        return choose_alpha(on, data, units, tree, self.select)

    def _trace(
        self, tree: Any, data: TreeData, rows: Array, held: Rows | None, alpha: float
    ) -> PruneTrace | None:
        """What is pruned, None if nothing is."""
        if self.prune is None:
            price = f"{RISKS[self.criterion]} + {alpha:.4g}·leaves"
            return cheapest(tree.parent, risk_of(tree) + alpha, price) if alpha > 0 else None
        cost = self._errors(tree, data.rows(rows) if held is None else held)
        rule = first_improvements if self.prune == PRE else cheapest
        return rule(tree.parent, cost, ERRORS[self.prune])

    def _errors(self, tree, rows):
        widths = tree.n_classes if is_classifier(self) else np.zeros(tree.n_outputs, dtype=int)
        errors = node_costs(tree, rows.F, rows.y, rows.weights, widths.tolist())[:, 0]
        if self.prune == PESSIMISTIC:
            errors = pessimistic_errors(errors, node_weights(tree, rows.F, rows.weights))
        return errors / float(rows.weights.sum())

    @described(TRAINING)
    def cost_complexity_pruning_path(self, X, y, sample_weight=None):
        """The nested sequence of subtrees that minimise R(T) + α·leaves for some α ≥ 0.

        Returns
        -------
        path : Bunch
            With `ccp_alphas`, 0 and the α at which each further split is pruned, in increasing
            order, and `impurities`, R(T) of the subtree that remains.
        """
        whole = clone(self).set_params(ccp_alpha=0.0, prune=None)
        tree = whole.fit(X, y, sample_weight=sample_weight).tree_
        sequence = sequence_of(tree)
        return Bunch(ccp_alphas=sequence.alphas, impurities=sequence.sums(risk_of(tree)))

    # ---- the certificate -------------------------------------------------------------------------

    def _certify(self, data: TreeData, tree: Any) -> Certificate:
        rows = np.flatnonzero(data.outputs.weights > 0)
        if self.prune is not None:
            held = self._parts(data, rows)[1]
            return self._certify_errors(tree, data.rows(rows) if held is None else held)
        part = data.rows(rows, with_class_weights=True)
        leaf = tree.apply(part.F)
        found = judge(tree, leaf, part.y, part.weights, self.criterion, max(data.widths))
        proof = certificate(tree.parent, found, self._price(), RISKS[self.criterion])
        # Constraints move predictions away from the best ones, which the bound ignores.
        return proof if self.monotonic_cst is None else as_bound(proof)

    # ---- reading ---------------------------------------------------------------------------------

    def _leaf_values(self, tree, F):
        value = tree.value.take(tree.apply(F), axis=0)
        return np.concatenate(
            [value[:, k, :width] for k, width in enumerate(tree.n_classes)], axis=1
        )

    def _mean_predictions(self, X, weights, columns, donors):
        """Means over rows whose columns have the values of donors, as for partial dependence."""
        return mean_of_model(self._read_rows, [self.tree_], X, weights, columns, donors)

    def _contributions(self, X, game):
        """What each column contributes to the prediction for each row, exactly."""
        scale = PROBABILITY if is_classifier(self) else PREDICTION
        found = contributions_of(PackedTrees.of([self.tree_]), self._read_rows, X, game, scale)
        return found.at(used_values(self.tree_.n_classes))

    def _outline(self) -> Outline:
        return outline_of_binary(self.tree_, self._features(), self._classes())

    def _classes(self) -> list[Array] | None:
        """The classes of each output, None for numbers."""
        return None

    @described(ROWS)
    def decision_path(self, X, check_input=True):
        """Which nodes each row passes.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            1 where a row passes a node.
        """
        check_is_fitted(self)
        return self.tree_.decision_path(self._read_rows(X))

    @property
    def feature_importances_(self):
        """How much the splits on each feature decrease the impurity, as shares of 1.

        Features with many values offer more splits, and so look more important than they are;
        `gapless.evaluation.permutation_importance` on held-out rows is not biased so.
        """
        check_is_fitted(self)
        return self.tree_.compute_feature_importances()

    def _formula(self) -> Formula:
        return Formula(
            f"{RISKS[self.criterion]} of the leaves + α · leaves",
            {"α": chosen(self, "ccp_alpha"), "leaves": self.get_n_leaves()},
        )


def constraints_of_trees(*names: str) -> dict[str, Any]:
    """The allowed values of some parameters of decision trees, for models that have them too."""
    return {name: DecisionTree._parameter_constraints[name] for name in names}
