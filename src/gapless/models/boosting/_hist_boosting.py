"""What HistGradientBoosting… share: boosting by gradient and curvature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context, is_classifier
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions
from sklearn.utils.validation import _check_monotonic_cst

from ..._ground.columns import Columns
from ..._ground.stored import Declaration, Unused
from ...losses import Loss
from ...unseen import CV
from ..trees import Tree
from ._boosting import GradientBoosting, Validation
from .data import BoostingData
from .folds import BRIER, LOSS, choose_rounds
from .rounds import GrowthPlan, is_second_order
from .run import Fitted, Run

Array = np.ndarray

AUTO = "auto"
# early_stopping="auto" holds rows out if there are more than so many.
MANY_ROWS = 10_000


class HistGradientBoosting(GradientBoosting):
    """Base of both."""

    _stored: ClassVar[Declaration] = {
        **GradientBoosting._stored,
        "train_score_": Unused(),
        "validation_score_": Unused(),
        "do_early_stopping_": Unused(),
        "is_categorical_": Unused(),
        "search_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        "loss": [str, Loss, HasMethods("loss_gradient")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), StrOptions({CV})],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "l2_regularization": [Interval(Real, 0, None, closed="left")],
        "max_features": [Interval(RealNotInt, 0, 1, closed="right")],
        "max_bins": [Interval(Integral, 2, 255, closed="both")],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "monotonic_cst": ["array-like", dict, None],
        "interaction_cst": [list, tuple, StrOptions({"pairwise", "no_interactions"}), None],
        "warm_start": ["boolean"],
        "early_stopping": ["boolean", StrOptions({AUTO})],
        "scoring": [str, callable, None],
        "validation_fraction": [
            Interval(RealNotInt, 0, 1, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }
    # As users of scikit-learn's classes know it.
    _negative_is_missing: ClassVar[bool] = True
    _takes_infinity: ClassVar[bool] = True

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, *, X_val=None, y_val=None, sample_weight_val=None):
        """Boost.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data. NaN is a missing value, ±∞ are the ends of the line. Columns of a table
            that hold categories or text are taken as they are. Never written to.
        y : array-like of shape (n_samples,)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.
        X_val, y_val, sample_weight_val : array-like, default=None
            Rows to judge rounds by, in place of a part of the training rows.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the rounds so far and raises KeyboardInterrupt; an
            error, or Ctrl-C while folds choose the number of rounds, leaves the estimator as it
            was.
        """
        self._check_one_way(X_val)
        return self._fit(X, y, sample_weight, self._validation(X_val, y_val, sample_weight_val))

    def _check_one_way(self, X_val: Any) -> None:
        """Refuse a second way to say how many rounds there are, beside folds."""
        if self.max_iter != CV:
            return
        others = {
            "warm_start=True": self.warm_start,
            "early_stopping=True": self.early_stopping is True,
            "X_val": X_val is not None,
        }
        for other, is_there in others.items():
            if is_there:
                raise ValueError(
                    'max_iter="cv" chooses the number of rounds by folds, which contradicts '
                    f"{other}; leave it out, or give a number as max_iter."
                )
        known = (LOSS, BRIER) if is_classifier(self) else (LOSS,)
        if self.scoring not in known:
            raise ValueError(
                f'max_iter="cv" judges rounds by scoring={" or ".join(map(repr, known))}, got '
                f"{self.scoring!r}; set one of these, or give a number as max_iter."
            )

    def _validation(self, X_val: Any, y_val: Any, weights: Any) -> Validation | None:
        """The rows to judge rounds by, where they were given."""
        if X_val is None and y_val is None:
            return None
        for name, part, other in (("X_val", X_val, "y_val"), ("y_val", y_val, "X_val")):
            if part is None:
                raise ValueError(f"{other} is provided, but {name} was not provided; pass both.")
        if self.early_stopping is False:
            raise ValueError(
                "X_val and y_val are passed to fit while at the same time early_stopping is False; "
                "set early_stopping=True, or leave them out."
            )
        return Validation(X_val, y_val, weights)

    # ---- what is said to the base ----------------------------------------------------------------

    def _check_classes(self, outputs: Any) -> None:
        """A single class will do: it is then predicted for all rows."""

    def _plan(self, data: BoostingData) -> GrowthPlan:
        d = len(data.columns)
        is_smooth = is_second_order(data.loss)
        return GrowthPlan(
            learning_rate=self.learning_rate,
            max_leaves=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_leaf_rows=self.min_samples_leaf,
            max_columns=None if self.max_features == 1.0 else max(1, int(self.max_features * d)),
            l2=self.l2_regularization,
            second_order=is_smooth,
            leaves="model" if is_smooth else "search",
            groups=table_of(self._check_interaction_cst(d), d),
        )

    def _monotone(self, data: BoostingData) -> Array:
        return read_monotone(self._reader(data), data.columns, data.scores)

    def _check_interaction_cst(self, n_features: int) -> list[set[int]] | None:
        """Columns that may meet on the way to a leaf, by groups."""
        return read_groups(self.interaction_cst, n_features)

    def _boost(self, data: BoostingData, seed: int, **options: Any) -> Fitted:
        """All rounds; where folds choose their number, these come first, on the same rows."""
        if self.max_iter != CV:
            return super()._boost(data, seed, **options)
        weights = options.get("weights")
        own = data.of(np.flatnonzero((data.weights if weights is None else weights) > 0))
        choice = choose_rounds(self, own, seed, options.get("watchers", (None,))[0])
        settled = self._at(max_iter=choice.rounds, early_stopping=False, scoring=LOSS)
        fitted = settled._boost(data, seed, **options)
        fitted.learned["search_"] = choice.search
        if not choice.is_finished:
            fitted.run.ending = fitted.run.ending or "folds"
        return fitted

    _rounds_parameter = "max_iter"

    def _wanted(self) -> int:
        return int(self.max_iter)

    def _unfinished(self, run: Run) -> str:
        if run.ending == "folds":
            return (
                "before the folds that choose the number of rounds had finished, and used "
                f"{run.wanted} rounds; raise time_limit, or give a number as max_iter"
            )
        words = super()._unfinished(run)
        return f"{words} and max_iter={run.wanted}" if self.max_iter == CV else words

    def _stops_early(self, data: BoostingData) -> bool:
        if self.max_iter == CV:
            return False
        if self.early_stopping == AUTO:
            return float(np.ceil(data.repeats).sum()) > MANY_ROWS
        return bool(self.early_stopping)

    def _held_out_share(self, data: BoostingData) -> float | int | None:
        return self.validation_fraction if self._stops_early(data) else None

    def _ending(self, data: BoostingData, run: Run, scores: list[float]) -> str:
        return "early" if self._stops_early(data) and self._should_stop(scores) else ""

    def _should_stop(self, scores: list[float]) -> bool:
        """Whether none of the last rounds is better by `tol` than the one before them."""
        place = self.n_iter_no_change + 1
        if len(scores) < place:
            return False
        return not any(score > scores[-place] + self.tol for score in scores[1 - place :])

    def _check_more_rounds(self) -> None:
        if self.max_iter < self.n_iter_:
            raise ValueError(
                f"max_iter={self.max_iter} must be larger than or equal to n_iter_={self.n_iter_} "
                "when warm_start==True; raise it, or set warm_start=False."
            )

    def _learned(self, data: BoostingData, fitted: Fitted) -> dict[str, Any]:
        trace = fitted.run.trace
        is_early = self._stops_early(data)
        train = np.array(fitted.train_scores) if fitted.train_scores else -trace.training
        held = np.zeros(0) if trace.validation is None else -trace.validation
        if fitted.scores and trace.validation is not None:
            held = np.array(fitted.scores)
        return super()._learned(data, fitted) | {
            "do_early_stopping_": is_early,
            "train_score_": train if is_early else np.zeros(0),
            "validation_score_": held,
            "is_categorical_": data.columns.is_category if data.columns.is_category.any() else None,
        }

    @property
    def _predictors(self) -> list[list[Predictor]]:
        """The trees for tools that read those of scikit-learn, such as SHAP."""
        return [[Predictor(tree) for tree in trees] for trees in self.trees_]

    @property
    def _bin_mapper(self) -> BinMapper:
        """Where such tools look for the bins of the training rows."""
        return BinMapper(self._edges, self.encoding_)

    @property
    def _preprocessor(self) -> Preprocessor | None:
        """Where they look for the names of categories; None without categories."""
        return Preprocessor(self.encoding_) if self.encoding_.is_category.any() else None

    @property
    def _baseline_prediction(self) -> Array:
        """Where such tools look for `start_`."""
        return self.start_.reshape(1, -1)

    @property
    def n_iter_(self) -> int:
        """The number of rounds."""
        return len(self.trees_)

    @property
    def n_trees_per_iteration_(self) -> int:
        """The number of trees of a round: one, or one for each class."""
        return len(self.start_)


# ---- what a caller may demand of trees -----------------------------------------------------------


def read_monotone(model: Any, columns: Columns, scores: int) -> Array:
    """+1, −1 or 0 for each column, from a list or from names."""
    found = np.asarray(_check_monotonic_cst(model, model.monotonic_cst), dtype=int)
    if np.any(found != 0) and scores > 1:
        raise ValueError(
            "monotonic constraints are not supported for multiclass classification, where a class "
            "becomes less probable as others become more; fit one model for each class."
        )
    is_wrong = (found != 0) & columns.is_category
    if np.any(is_wrong):
        raise ValueError(
            "Categorical features cannot have monotonic constraints: column "
            f"{int(np.argmax(is_wrong))} has one; set it to 0."
        )
    return found


def read_groups(interaction_cst: Any, d: int) -> list[set[int]] | None:
    """Groups of columns that may meet on one path; None where all may.

    Columns that are in no group make up one of their own.
    """
    if interaction_cst is None:
        return None
    if isinstance(interaction_cst, str):
        size = 2 if interaction_cst == "pairwise" else 1
        return [set(group) for group in combinations(range(d), size)]
    groups = _checked(interaction_cst, d)
    rest = set(range(d)) - {j for group in groups for j in group}
    return [*groups, rest] if rest else groups


def table_of(groups: list[set[int]] | None, d: int) -> Array | None:
    """A row of 0 and 1 for each group, as the core takes them."""
    if groups is None:
        return None
    table = np.zeros((len(groups), d), dtype=np.uint8)
    for k, group in enumerate(groups):
        table[k, list(group)] = 1
    return table


def _checked(interaction_cst: Any, d: int) -> list[set[int]]:
    try:
        groups = [tuple(group) for group in interaction_cst]
    except TypeError:
        raise ValueError(
            "Interaction constraints must be a sequence of tuples or lists, got: "
            f"{interaction_cst!r}."
        ) from None
    for group in groups:
        if not all(isinstance(j, Integral) and 0 <= int(j) < d for j in group):
            raise ValueError(
                "Interaction constraints must consist of integer indices in [0, n_features - 1] = "
                f"[0, {d - 1}], specifying the position of features, got indices: {group!r}."
            )
    return [{int(j) for j in group} for group in groups]


# ---- trees as tools for scikit-learn read them --------------------------------------------------

NODE = np.dtype(
    [
        ("value", np.float64),
        ("count", np.uint32),
        ("feature_idx", np.intp),
        ("num_threshold", np.float64),
        ("missing_go_to_left", np.uint8),
        ("left", np.uint32),
        ("right", np.uint32),
        ("depth", np.uint32),
        ("is_leaf", np.uint8),
        ("is_categorical", np.uint8),
        ("bitset_idx", np.uint32),
    ]
)


@dataclass(frozen=True, eq=False)
class Predictor:
    """A tree, read as scikit-learn's TreePredictor is."""

    tree: Tree

    @property
    def nodes(self) -> Array:
        """The nodes as records."""
        tree = self.tree
        is_leaf = tree.children_left < 0
        out = np.zeros(tree.node_count, dtype=NODE)
        out["value"] = tree.value[:, 0, 0]
        out["count"] = tree.n_node_samples
        out["feature_idx"] = np.where(is_leaf, 0, tree.feature)
        out["num_threshold"] = np.where(is_leaf, 0.0, tree.threshold)
        out["missing_go_to_left"] = tree.missing_go_to_left
        out["left"] = np.where(is_leaf, 0, tree.children_left)
        out["right"] = np.where(is_leaf, 0, tree.children_right)
        out["depth"] = tree.depths
        out["is_leaf"] = is_leaf
        out["is_categorical"] = np.diff(tree.category_start) > 0
        out["bitset_idx"] = tree.category_start[:-1] // 8
        return out

    @property
    def raw_left_cat_bitsets(self) -> Array:
        """The levels that go left, eight words of bits for each split by a category."""
        return self.tree.category_bits.reshape(-1, 8)

    def get_n_leaf_nodes(self) -> int:
        """The number of leaves."""
        return self.tree.n_leaves

    def get_max_depth(self) -> int:
        """The largest number of questions that a row is asked."""
        return self.tree.max_depth


@dataclass(frozen=True, eq=False)
class BinMapper:
    """The bins of the training rows, read as scikit-learn's _BinMapper is."""

    bin_thresholds_: Sequence[Array]
    columns: Columns

    @property
    def n_bins_non_missing_(self) -> Array:
        """For each column its number of bins, or of levels, without that of missing values."""
        bins = np.array([len(own) + 1 for own in self.bin_thresholds_])
        return np.where(self.columns.is_category, self.columns.count, bins).astype(np.uint32)


@dataclass(frozen=True, eq=False)
class Encoder:
    """The names of the levels of all categories, read as those of an OrdinalEncoder."""

    categories_: list[Array]


@dataclass(frozen=True, eq=False)
class Preprocessor:
    """The encoder where scikit-learn has it, in a ColumnTransformer."""

    columns: Columns

    @property
    def named_transformers_(self) -> dict[str, Encoder]:
        """The encoder by its name."""
        levels = [own for own in self.columns.levels if own is not None]
        return {"encoder": Encoder(levels)}
