"""Boosting as scikit-learn shows it: for tools that read its models, such as SHAP, and verbose."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._ground.columns import Columns
from ...losses import Loss
from ..trees import DecisionTreeRegressor, Tree
from .losses import targets_of
from .run import Run

Array = np.ndarray

# Parameters that each tree has too.
OF_TREES = (
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "min_impurity_decrease",
    "max_features",
    "max_leaf_nodes",
    "ccp_alpha",
)
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
    """A tree with the interface of scikit-learn's TreePredictor."""

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
        """The levels that go left, eight words of bits for each split on a category."""
        return self.tree.category_bits.reshape(-1, 8)

    def get_n_leaf_nodes(self) -> int:
        """The number of leaves."""
        return self.tree.n_leaves

    def get_max_depth(self) -> int:
        """The largest number of splits on the way to a leaf."""
        return self.tree.max_depth


@dataclass(frozen=True, eq=False)
class BinMapper:
    """The bins of the training rows, with the interface of scikit-learn's _BinMapper."""

    bin_thresholds_: Sequence[Array]
    columns: Columns

    @property
    def n_bins_non_missing_(self) -> Array:
        """The number of bins, or of levels, of each column, without that of missing values."""
        bins = np.array([len(own) + 1 for own in self.bin_thresholds_])
        return np.where(self.columns.is_category, self.columns.count, bins).astype(np.uint32)


@dataclass(frozen=True, eq=False)
class Encoder:
    """The names of the levels of all categories, with the interface of an OrdinalEncoder."""

    categories_: list[Array]


@dataclass(frozen=True, eq=False)
class Preprocessor:
    """The encoder where scikit-learn keeps it, in a ColumnTransformer."""

    columns: Columns

    @property
    def named_transformers_(self) -> dict[str, Encoder]:
        """The encoder by its name."""
        levels = [own for own in self.columns.levels if own is not None]
        return {"encoder": Encoder(levels)}


def as_regressors(model: Any) -> Array:
    """The trees of a model as estimators, (rounds, trees of a round)."""
    out = np.empty((len(model.trees_), len(model.start_)), dtype=object)
    for place in np.ndindex(*out.shape):
        tree = model.trees_[place[0]][place[1]]
        regressor = DecisionTreeRegressor(
            max_depth=max(tree.max_depth, 1),
            **{name: getattr(model, name) for name in OF_TREES},
        )
        regressor.__dict__.update(
            tree_=tree,
            n_features_in_=model.n_features_in_,
            n_outputs_=1,
            columns_=model.encoding_,
            max_features_=model.max_features_,
        )
        if model.encoding_.is_category.any() and hasattr(model, "feature_names_in_"):
            # Only a table has categories; of numbers, members take bare arrays.
            regressor.feature_names_in_ = model.feature_names_in_
        out[place] = regressor
    return out


@dataclass(frozen=True)
class MeanLoss:
    """A loss called like scikit-learn's; `closs` holds its parameters, as theirs does."""

    closs: Loss
    has_classes: bool

    def __call__(self, y_true: Array, raw_prediction: Array, sample_weight: Any = None) -> float:
        """The mean loss of rows, whose classes are given by position."""
        y = targets_of(self.closs, np.asarray(y_true), self.has_classes)
        values = self.closs.value(y, np.asarray(raw_prediction, dtype=np.float64))
        return float(np.average(values, weights=sample_weight))


class Report:
    """Lines on standard output, as scikit-learn prints them with `verbose`."""

    def __init__(self, model: Any):
        self.model, self.began, self.first = model, time.monotonic(), 0
        self.has_oob = model.subsample < 1
        names = ["Train Loss", *(["OOB Improve"] if self.has_oob else []), "Remaining Time"]
        print(" ".join([f"{'Iter':>10}", *(f"{name:>16}" for name in names)]))

    def __call__(self, run: Run) -> None:
        """Print the line of a round, if it has one."""
        done = len(run.trees)
        # Every round for the first ten, then every tenth, and so on; all with verbose above 1.
        every = 1 if self.model.verbose > 1 else 10 ** max(math.ceil(math.log10(done)) - 1, 0)
        if done % every:
            return
        left = (self.model.n_estimators - done) * (time.monotonic() - self.began) / done
        words = [f"{done:>10d}", f"{run.training[-1]:>16.4f}"]
        if self.has_oob:
            before, after = run.out_of_bag[-1]
            words.append(f"{before - after:>16.4f}")
        words.append(f"{f'{left / 60:.2f}m' if left > 60 else f'{left:.2f}s':>16}")
        print(" ".join(words))
