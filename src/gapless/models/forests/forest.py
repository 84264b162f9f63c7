"""Forests: many trees on random draws of the rows, each split on a random choice of columns.

What random forests and extremely randomised trees share: reading, growing in batches, adding trees,
and the mean over the trees. Trees are stored compactly; `estimators_` makes estimators of them.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral, Real
from typing import Any, ClassVar

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, _fit_context, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..._ground.columns import Columns, encoded, for_prediction, read_features, read_new
from ..._ground.docstrings import described
from ..._ground.interrupt import time_limit
from ..._ground.progress import watch, with_callbacks
from ..._ground.shapley import PREDICTION, PROBABILITY, Contributions, Game
from ..._ground.stored import Declaration, Unused, Value, Whole
from ..._ground.threads import threads
from ..._ground.validation import Outputs
from ...unseen import Generalization, as_numbers, draw_rows, take_over
from ..bagging import Ensemble, EnsembleData, fingerprint
from ..trees import (
    OLD_NAME,
    ROWS,
    TRAINING,
    CompactTrees,
    DecisionTree,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    PackedTrees,
    check_counts,
    columns_tried,
    constraints_of_trees,
    contributions_of,
    mean_of_model,
    used_values,
)
from .growing import (
    OOB,
    USUAL_SIZE,
    ForestData,
    batches,
    grow_trees,
    keys_of,
    population_of,
    with_tree_data,
)
from .leaves import Leaves, proximity
from .out_of_bag import (
    CHOSEN,
    bags_of,
    choose_size,
    oob_curve,
    oob_importances,
    out_of_bag_attributes,
    sums_out_of_bag,
)

Array = np.ndarray

# From this many rows on, max_bins="auto" cuts columns into bins: measured on 100,000 rows of
# covtype, the forest is as good (0.930) and grows faster (3.3 s instead of 3.5 s).
MANY_ROWS, BINS = 20_000, 255
# The attributes that oob_score requests.
OUT_OF_BAG = ("oob_score_", "oob_decision_function_", "oob_prediction_")
# The value of class_weight that rebalances the classes in every draw.
SUBSAMPLE = "balanced_subsample"


class Forest(Ensemble, BaseEstimator):
    """Base of the forests."""

    # How a subclass splits: at the best threshold, or at a random one.
    _splitter = "best"
    n_classes_: Any
    _by_output: Callable[[Array], list[Array]]

    _guide = "forests"
    _computed = ("estimators_", "feature_importances_", "estimators_samples_")

    _stored: ClassVar[Declaration] = {
        **Ensemble._stored,
        "trees_": Value(
            CompactTrees,
            features=lambda trees: trees.n_features,
            outputs=lambda trees: len(trees.n_classes),
            classes=lambda trees: int(trees.n_classes.sum()),
        ),
        "columns_": Value(Columns, features=len),
        "n_outputs_": Whole(1, size="outputs"),
        "max_features_": Unused(),
        "min_samples_leaf_": Unused(),
        "search_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **constraints_of_trees(
            "max_depth",
            "min_samples_split",
            "min_weight_fraction_leaf",
            "max_features",
            "random_state",
            "max_leaf_nodes",
            "min_impurity_decrease",
            "monotonic_cst",
            "categorical_features",
            "time_limit",
        ),
        "min_samples_leaf": [
            *DecisionTree._parameter_constraints["min_samples_leaf"],
            StrOptions({OOB}),
        ],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "bootstrap": ["boolean"],
        "oob_score": ["boolean", callable],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "ccp_alpha": [Interval(Real, 0.0, None, closed="left")],
        "max_samples": [
            None,
            Interval(RealNotInt, 0.0, None, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
        ],
        "max_bins": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"}), None],
    }

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    @described(TRAINING)
    def fit(self, X, y, sample_weight=None):
        """Grow the forest.

        Parameters
        ----------
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0, proportional to the chances of being drawn. Weight 2 counts the row
            twice, weight 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator. Once the size of leaves is chosen, Ctrl-C keeps the trees grown so
            far and raises KeyboardInterrupt; an error leaves the estimator as it was.
        """
        self._check_combinations()
        is_kept = self.warm_start and hasattr(self, "trees_")
        new = self._more_members(len(self.trees_) if is_kept else 0)
        if new == 0 and (not self.oob_score or hasattr(self, "oob_score_")):
            return self
        data = with_tree_data(self, self._read(X, y, sample_weight))
        old = self._trees_to_keep(data) if is_kept else []
        seeds = self._first_seeds(check_random_state(self.random_state), len(old), new)
        size = data.population.size_of(self.max_samples) if self.bootstrap else 0
        chosen, first = self._chosen_before() if is_kept else {}, []
        with self._threads(), watch(self, data.X, data.outputs.y) as callback:
            with time_limit(self.time_limit):
                if self._tuned() and not chosen:
                    chosen, first = self._choose(data, seeds, size, callback)
                grower = self._at(min_samples_leaf=chosen.get(CHOSEN, self.min_samples_leaf))
                coming = batches(grower, data, seeds[len(first) :], size)
                trees, ending = self._collect(coming, new, callback, first)
            if not trees and new:
                # The limit has passed; a forest has at least one tree.
                trees = grow_trees(grower, data, seeds[:1], size)
        with self._threads():
            learned = self._learned(data, old + trees, seeds[: len(trees)], size) | chosen
        take_over(self, learned)
        self._end(ending, len(self.trees_), self.n_estimators)
        return self

    # ---- reading ---------------------------------------------------------------------------------

    def _read(self, X, y, sample_weight=None, *, reset: bool = True) -> EnsembleData:
        """X, y and weights, validated; with reset=False the features must be those of the fit."""
        X, names = self._read_X(X, reset=reset)
        outputs = self._read_targets(y, X, sample_weight, self._fixed_class_weight())
        if self.criterion == "poisson":
            check_counts(outputs.y, outputs.sample_weight, "strictly positive")
        numbers = X
        if hasattr(X, "columns"):
            columns = Columns.read(X, categorical_features=self.categorical_features)
            numbers = encoded(columns, X)
        return EnsembleData(X, as_numbers(numbers), outputs, names)

    def _read_X(self, X: Any, *, reset: bool) -> tuple[Any, Array | None]:
        return read_features(copy.copy(self), X, reset=reset)

    def _fixed_class_weight(self) -> Any:
        """The weights of the classes, unless every draw has its own."""
        if not self._has_own_class_weights():
            return getattr(self, "class_weight", None)
        return None if self.bootstrap else "balanced"

    def _has_own_class_weights(self) -> bool:
        """Whether classes are rebalanced in every draw."""
        class_weight = getattr(self, "class_weight", None)
        return isinstance(class_weight, str) and class_weight == SUBSAMPLE

    def _bins(self, rows: int) -> int | None:
        if self.max_bins == "auto":
            return BINS if rows >= MANY_ROWS else None
        return self.max_bins

    def _check_combinations(self) -> None:
        if not self.bootstrap and self.max_samples is not None:
            raise ValueError(
                "`max_sample` cannot be set if `bootstrap=False`. Either switch to "
                "`bootstrap=True` or set `max_sample=None`."
            )
        if self._tuned() and not self.bootstrap:
            raise ValueError(
                f'min_samples_leaf="{OOB}" is chosen on out-of-bag rows, which need '
                "bootstrap=True; set it, or give a number."
            )
        self._check_out_of_bag()
        if self.warm_start and isinstance(getattr(self, "class_weight", None), str):
            warnings.warn(
                'class_weight presets "balanced" or "balanced_subsample" are not recommended for '
                "warm_start if the fitted data differs from the full dataset. In order to use "
                '"balanced" weights, use compute_class_weight ("balanced", classes, y), and pass '
                "the resulting weights as the class_weight parameter.",
                stacklevel=5,
            )

    def _trees_to_keep(self, data: ForestData) -> list[Any]:
        """Trees of an earlier fit, to which others are added."""
        known, now = self.columns_, data.tree_data.columns
        same = [np.array_equal(a, b) for a, b in zip(known.levels, now.levels)]
        same += [len(known) == len(now), self.n_outputs_ == data.outputs.y.shape[1]]
        if all(same) and data.outputs.classes is not None:
            own = [self.classes_] if self.n_outputs_ == 1 else self.classes_
            same += [np.array_equal(a, b) for a, b in zip(own, data.outputs.classes)]
        if not all(same):
            raise ValueError(
                f"warm_start=True adds trees to a {type(self).__name__} fitted with other "
                "features, categories, outputs or classes; set warm_start=False to start over."
            )
        return list(self.trees_)

    def _threads(self) -> AbstractContextManager:
        """The number of threads by n_jobs; None leaves the choice to the environment."""
        if self.n_jobs is None:
            return nullcontext()
        return threads(joblib.effective_n_jobs(self.n_jobs))

    # ---- the size of the leaves ------------------------------------------------------------------

    @property
    def _leaf_size(self) -> Any:
        """The fewest rows of a leaf: the parameter, or the value the fit has chosen for it."""
        given = self.min_samples_leaf
        return given if given != OOB else vars(self).get("min_samples_leaf_", USUAL_SIZE)

    def _tuned(self) -> tuple[str, ...]:
        return ("min_samples_leaf",) if self.min_samples_leaf == OOB else ()

    def _choose(
        self, data: Any, seeds: Array, draws: int, callback: Callable
    ) -> tuple[dict[str, Any], list[Any]]:
        """What a fit learns by choosing, as attributes, and its first trees."""
        choice, trees = choose_size(self, data, seeds, draws, callback)
        if choice is None:
            return {CHOSEN: USUAL_SIZE, "_choice": None}, trees
        size = int(choice.values["min_samples_leaf"])
        return {CHOSEN: size, "search_": choice.search, "_choice": choice}, trees

    def _chosen_before(self) -> dict[str, Any]:
        """The same from an earlier fit, to whose trees others are added."""
        names = (CHOSEN, "search_", "_choice") if self._tuned() else ()
        return {name: value for name, value in vars(self).items() if name in names}

    def _corrected(self, fitted: Any, plain: Generalization) -> Generalization:
        if not self._tuned() or not fitted.is_out_of_bag:
            # Forests fitted to parts of the rows have each made their own choice.
            return plain
        return super()._corrected(fitted, plain)

    # ---- what is learned -------------------------------------------------------------------------

    def _learned(
        self, data: ForestData, trees: list[Any], seeds: Array, size: int
    ) -> dict[str, Any]:
        """Every attribute in `_stored` that this fit has, by name."""
        before = vars(self).get("_seeds", seeds[:0])[: len(trees) - len(seeds)]
        population = data.population
        columns = data.tree_data.F.shape[1]
        learned = {
            "trees_": CompactTrees.of(trees, self.criterion),
            "columns_": for_prediction(data.tree_data.columns),
            "n_outputs_": data.outputs.y.shape[1],
            "n_features_in_": columns,
            "max_features_": columns_tried(self.max_features, columns),
            "certificate_": self._certificate(len(trees), int(self.n_estimators)),
            "_seeds": np.concatenate([before, seeds]),
            "_rows": population.first,
            "_row_weights": population.weights,
            "_max_samples": size,
            "_fingerprint": fingerprint(population, data.outputs.y),
            "_known_leaves": None,
            "_calibration": None,
            "_choice": None,
            "_training": (EnsembleData(data.X, data.numbers, data.outputs, data.feature_names),),
        }
        if data.feature_names is not None:
            learned["feature_names_in_"] = data.feature_names
        learned |= _class_attributes(data.outputs)
        if self.oob_score:
            draft = copy.copy(self)
            take_over(draft, dict(learned))
            self._set_oob_score_and_attributes(draft, data)
            learned |= {k: v for k, v in vars(draft).items() if k in OUT_OF_BAG}
        return learned

    def _set_oob_score_and_attributes(self, grown: Forest, data: EnsembleData) -> None:
        """Set the out-of-bag score of a grown forest; the name is scikit-learn's."""
        for name, value in out_of_bag_attributes(grown, data).items():
            setattr(grown, name, value)

    # ---- predicting ------------------------------------------------------------------------------

    @property
    def _packed(self) -> PackedTrees:
        """The trees as they predict."""
        return self.trees_.packed

    def _read_rows(self, X: Any) -> Any:
        """Rows to predict: categories as level numbers, NaN for missing values."""
        check_is_fitted(self)
        return read_new(self, self.columns_, X)

    def _mean_of_members(self, X: Any) -> Array:
        F = self._read_rows(X)
        with self._threads():
            return self._side_by_side(self._packed.sum(F) / len(self.trees_))

    def _mean_predictions(self, X, weights, columns, donors) -> Array | None:
        """Means over rows whose columns have the values of donors, as for partial dependence."""
        found = mean_of_model(self._read_rows, self.trees_, X, weights, columns, donors)
        return None if found is None else found / len(self.trees_)

    def _contributions(self, X: Any, game: Game) -> Contributions:
        """What each column contributes to the prediction for each row, exactly."""
        scale = PROBABILITY if is_classifier(self) else PREDICTION
        with self._threads():
            found = contributions_of(self._packed, self._read_rows, X, game, scale)
        return found.over(len(self.trees_)).at(used_values(self.trees_.n_classes))

    def _by_member(self, X: Any) -> Array:
        with self._threads():
            leaves = self._packed.apply(encoded(self.columns_, X))
        pairs = zip(self.trees_, leaves.T)
        values = [tree.value.reshape(tree.node_count, -1)[of_rows] for tree, of_rows in pairs]
        return np.stack([self._side_by_side(z) for z in values])

    def _side_by_side(self, values: Array) -> Array:
        """Values (n, outputs · most classes) without the places that an output does not use."""
        used = used_values(self.trees_.n_classes)
        return values if len(used) == values.shape[1] else values[:, used]

    def _out_of_bag(self, data: EnsembleData) -> tuple[Array, Array]:
        """Sums over the trees that did not draw a row, (n, ΣK), and their number."""
        bags = bags_of(self, population_of(data).place)
        return sums_out_of_bag(self, self._training_rows(data), bags)

    def _training_rows(self, data: EnsembleData) -> Any:
        """The rows of the fit as prediction sees them; they are already validated."""
        return encoded(self.columns_, data.X)

    @property
    def _n_samples_bootstrap(self) -> int:
        """The number of rows that each tree has drawn, under scikit-learn's name."""
        return int(self._max_samples)

    def _counts(self, seeds: Array | None = None) -> Iterator[Array]:
        population = self._population
        chances = None if population.is_uniform else population.weights
        for key in keys_of(self._seeds if seeds is None else seeds):
            if self._max_samples == 0:
                yield np.ceil(population.weights).astype(int)
            else:
                yield draw_rows(len(self._rows), self._max_samples, key, chances)

    def _unfitted(self) -> Any:
        twin = super()._unfitted()
        if hasattr(self, "columns_") and self.columns_.is_category.any():
            twin.set_params(categorical_features=self.columns_.is_category)
        return twin

    def _tree_parameters(self) -> dict[str, Any]:
        return self.get_params(deep=False) | {"min_samples_leaf": self._leaf_size}

    def _formula(self) -> None:
        """None: each tree is grown by itself."""

    # ---- reading the forest ----------------------------------------------------------------------

    oob_curve = oob_curve
    oob_importances = oob_importances

    def __len__(self):
        return len(self.trees_)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self.estimators_[index]
        return self._member(self.trees_[index], self._seeds[index])

    def __iter__(self):
        return iter(self.estimators_)

    @property
    def estimator(self):
        """The kind of tree in the forest, before any fit."""
        return self._template()

    @property
    def estimators_(self):
        """The trees as estimators, made on demand; they predict positions of classes."""
        if not hasattr(self, "trees_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet; call fit(X, y).")
        return [self._member(tree, seed) for tree, seed in zip(self.trees_, self._seeds)]

    def _template(self, random_state: Any = None) -> Any:
        """The kind of tree in the forest."""
        kind = DecisionTreeClassifier if is_classifier(self) else DecisionTreeRegressor
        own, names = self.get_params(deep=False), kind().get_params()
        shared = {name: value for name, value in own.items() if name in names}
        if self.criterion == OLD_NAME:
            # The caller has been warned; the trees get the new name.
            shared["criterion"] = "squared_error"
        fixed = {
            "random_state": random_state,
            "min_samples_leaf": self._leaf_size,
            "splitter": self._splitter,
            "class_weight": None,
            "max_bins": None,
            "time_limit": None,
        }
        return kind(**shared | {k: v for k, v in fixed.items() if k in names})

    def _member(self, tree: Any, seed: int) -> Any:
        """A tree as an estimator, whose classes are positions in those of the forest."""
        member = self._template(random_state=int(seed))
        for name in ("columns_", "n_outputs_", "n_features_in_", "max_features_"):
            setattr(member, name, getattr(self, name))
        if self.columns_.is_category.any() and hasattr(self, "feature_names_in_"):
            # Only a table has categories; for numbers, members take bare arrays, as in
            # scikit-learn.
            member.feature_names_in_ = self.feature_names_in_
        member.tree_ = tree
        if is_classifier(self):
            counts = [self.n_classes_] if self.n_outputs_ == 1 else self.n_classes_
            classes = [np.arange(count, dtype=float) for count in counts]
            member.classes_ = classes[0] if self.n_outputs_ == 1 else classes
            member.n_classes_ = self.n_classes_
        return member

    @property
    def feature_importances_(self):
        """How much the splits on each feature decrease the impurity, as shares of 1.

        Features with many values offer more splits, and so look more important than they are;
        `oob_importances` is not biased so.
        """
        check_is_fitted(self)
        each = [t.compute_feature_importances() for t in self.trees_ if t.node_count > 1]
        if not each:
            return np.zeros(self.n_features_in_)
        mean = np.mean(each, axis=0)
        return mean / max(mean.sum(), np.finfo(float).tiny)

    @described(ROWS)
    def apply(self, X):
        """The leaf that each row reaches in each tree.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators)
            Numbers of nodes.
        """
        F = self._read_rows(X)
        with self._threads():
            return self._packed.apply(F)

    @described(ROWS)
    def decision_path(self, X):
        """Which nodes of all trees each row passes.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            1 where a row passes a node; the nodes of the trees side by side.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            Where the nodes of each tree begin.
        """
        F = self._read_rows(X)
        paths = [tree.decision_path(F) for tree in self.trees_]
        return sp.hstack(paths).tocsr(), self._packed.start.copy()

    def _leaves(self):
        """Which training rows are in which leaves; computed on first use."""
        known = vars(self).get("_known_leaves")
        if known is None:
            data = self._remembered("fit again, since copies and files do not keep them").data
            known = self._known_leaves = Leaves.of(self._packed, self._training_rows(data), data)
        return known

    def __getstate__(self):
        # What can be recomputed is not included.
        state = super().__getstate__()
        return {k: v for k, v in state.items() if k != "_known_leaves"}

    @described(ROWS)
    def proximity(self, X, Y=None):
        """How similar rows are: the share of the trees in which they reach the same leaf.

        Parameters
        ----------
        Y : like X, default=None
            Other rows; None compares X with itself.

        Returns
        -------
        shares : sparse matrix of shape (n_samples, n_samples_of_Y)
            Between 0, which is not stored, and 1.
        """
        F = self._read_rows(X)
        return proximity(self._packed, F, F if Y is None else self._read_rows(Y))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        return tags


def _class_attributes(outputs: Outputs) -> dict[str, Any]:
    """`classes_` and `n_classes_`, flat for one output as in scikit-learn; none for numbers."""
    classes = outputs.classes
    if classes is None:
        return {}
    if len(classes) == 1:
        return {"classes_": classes[0], "n_classes_": len(classes[0])}
    return {"classes_": classes, "n_classes_": [len(own) for own in classes]}
