"""How far a tree is grown: limits as people give them, as numbers for the grower."""

from __future__ import annotations

from math import ceil
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from .data import TreeData
from .growing import NO_LIMIT, Options, Targets, grow

Array = np.ndarray


class Limited:
    """Parameters of growing, with scikit-learn's names and meanings."""

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
    }

    def _max_features(self, d: int) -> int:
        """How many columns are tried for a split."""
        if self.max_features is None:
            return d
        if isinstance(self.max_features, str):
            root = np.sqrt(d) if self.max_features == "sqrt" else np.log2(d)
            return max(1, int(root))
        if isinstance(self.max_features, Integral):
            return int(self.max_features)
        return max(1, int(self.max_features * d))

    def _options(self, data: TreeData, rows: Array) -> Options:
        """How to grow on some of the rows."""
        count = float(np.ceil(data.outputs.sample_weight[rows]).sum())
        leaf, split = self.min_samples_leaf, self.min_samples_split
        leaf = leaf if isinstance(leaf, Integral) else ceil(leaf * count)
        split = split if isinstance(split, Integral) else max(2, ceil(split * count))
        return Options(
            criterion=self.criterion,
            splitter=self.splitter,
            max_features=self._max_features(data.F.shape[1]),
            max_depth=NO_LIMIT if self.max_depth is None else int(self.max_depth),
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_split=max(int(split), 2 * int(leaf)),
            min_samples_leaf=int(leaf),
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


def grow_on(data: TreeData, rows: Array, options: Options, seed: int) -> Any:
    """A tree of some of the rows."""
    outputs = data.outputs
    weights, counts = (np.zeros(len(outputs.weights)) for _ in range(2))
    weights[rows] = outputs.weights[rows]
    counts[rows] = np.ceil(outputs.sample_weight[rows])
    n_classes = data.widths if data.has_classes else None
    targets = Targets(outputs.y, n_classes)
    return grow(data.columns, targets, options, weights=weights, counts=counts, seed=seed)
