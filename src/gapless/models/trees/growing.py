"""Growing trees: the data as trees see them, and the interface of the core's grower.

`grow` makes one tree with all threads, `grow_forest` many, each on its own thread; both give the
same bits for any number of threads, any order of the rows, and a row repeated instead of a weight
doubled. See src/core/trees/tree.hpp for how.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from numbers import Integral
from typing import Any

import numpy as np

from ..._ground import core
from ..._ground.columns import Columns
from ..._ground.interrupt import TimeLimit, check, deadline, time_limit
from ..._ground.threads import map_in_threads, thread_count
from ..._ground.validation import Outputs
from ...unseen import Search, cumulated, equal_rows, units_of
from .pruning import PruneTrace
from .tree import Tree

Array = np.ndarray

# In the order of the core's enumeration. Friedman's improvement is that of the squared error.
CRITERIA = {
    "gini": 0,
    "entropy": 1,
    "log_loss": 1,
    "gain_ratio": 2,
    "squared_error": 3,
    "friedman_mse": 3,
    "poisson": 4,
    "absolute_error": 5,
}
# More than any tree has of columns, questions or leaves.
NO_LIMIT = 2**31 - 1
# Seeds are drawn below it, as scikit-learn draws those of members.
LARGEST_SEED = np.iinfo(np.int32).max
# Half the range of targets that are used unscaled: nodes whose impurity is below 2⁻⁵² are not
# split, as in scikit-learn, and squares must stay finite.
SMALLEST_SIZE, LARGEST_SIZE = 2.0**-10, 2.0**100


def row_count(size: Any, rows: float, least: int = 1) -> int:
    """A number of rows, given as such or as a part of all."""
    return int(size) if isinstance(size, Integral) else max(ceil(size * rows), least)


def columns_tried(max_features: Any, d: int) -> int:
    """How many of d columns are tried for a split, by the parameter that scikit-learn has."""
    if max_features is None:
        return d
    if isinstance(max_features, str):
        return max(1, int(np.sqrt(d) if max_features == "sqrt" else np.log2(d)))
    if isinstance(max_features, Integral):
        return int(max_features)
    return max(1, int(max_features * d))


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that score a tree: features, targets (n, outputs) and weights."""

    F: Any
    y: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class TreeData:
    """Training data as trees see them.

    Parameters
    ----------
    F : array or sparse matrix of shape (n, d)
        Numbers, categories as level numbers, NaN for missing values.
    outputs : Outputs
        Targets and weights.
    names : ndarray of str or None
        Names of the features, where X had names.
    columns : Any
        What the grower reads.
    validation : Rows or None
        Rows that were given to judge splits by.
    edges : list of (ndarray or None)
        Where the numbers of each column are cut into bins, for trees that split on bins alone.
    uncut : array or None
        F with numbers in place of such bins.
    """

    F: Any
    outputs: Outputs
    names: Array | None
    columns: Any
    validation: Rows | None = None
    edges: list[Array | None] = field(default_factory=list)
    uncut: Any = None

    @property
    def has_classes(self) -> bool:
        """Whether the targets are classes."""
        return self.outputs.classes is not None

    @property
    def class_counts(self) -> list[int]:
        """The number of classes of each output, 0 for numbers."""
        return self.widths if self.has_classes else [0] * len(self.widths)

    def rows(self, index: Array, *, with_class_weights: bool = False) -> Rows:
        """Some of the rows, by increasing number; all of them without a copy."""
        weights = self.outputs.weights if with_class_weights else self.outputs.sample_weight
        if len(index) == len(weights):
            return Rows(self.F, self.outputs.y, weights)
        return Rows(self.F[index], self.outputs.y[index], weights[index])

    @cached_property
    def labels(self) -> Array:
        """Numbers of the rows (x, y), the same for equal ones, by content."""
        return equal_rows(self._given, self.outputs.y)

    @cached_property
    def _same(self) -> Array:
        """Numbers of the rows x, the same for equal ones."""
        return equal_rows(self._given)

    @property
    def _given(self) -> Any:
        return self.F if self.uncut is None else self.uncut

    def units(self, rows: Array) -> Array:
        """The distinct x of each of these rows: 0, 1, … by content; −1 for all other rows."""
        is_in = np.zeros(len(self.labels), dtype=bool)
        is_in[rows] = True
        return units_of(self._same, self.labels, is_in)

    @cached_property
    def widths(self) -> list[int]:
        """How many numbers a leaf has for each output: the number of classes, or 1."""
        classes = self.outputs.classes
        return [1] * self.outputs.y.shape[1] if classes is None else [len(c) for c in classes]


@dataclass(frozen=True, eq=False)
class Grown:
    """A tree as it was grown and pruned.

    `stopped` is "" or what ended the growth before its time: "time_limit" or "interrupted";
    `search` is where the price of a leaf was chosen, if it was to be.
    """

    tree: Any
    trace: PruneTrace | None = None
    stopped: str = ""
    search: Search | None = None


@dataclass(frozen=True, eq=False)
class Options:
    """How a tree is grown; all limits as numbers, in scikit-learn's names.

    Parameters
    ----------
    criterion : str, default="gini"
        A key of CRITERIA.
    splitter : {"best", "random"}, default="best"
        Try every threshold, or one drawn at random for each column.
    max_features : int or None, default=None
        How many columns are tried in a node, drawn among those that are not constant there; None
        for all.
    max_depth, max_leaf_nodes : int or None, default=None
        Limits; with the latter the split that lowers the impurity most comes first.
    min_samples_split, min_samples_leaf : int, default=2, 1
        The fewest rows of a node that is split, and of a leaf.
    min_weight_leaf : float, default=0.0
        The least weight of a leaf.
    min_impurity_decrease : float, default=0.0
        A split must lower the impurity, weighted by its share of all rows, by at least this much.
    monotonic : ndarray of int8 or None, default=None
        For each column 1, −1 or 0: whether the prediction (of the second of two classes) may only
        rise or fall with it.
    """

    criterion: str = "gini"
    splitter: str = "best"
    max_features: int | None = None
    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    monotonic: Array | None = None

    @property
    def _arguments(self) -> tuple:
        return (
            CRITERIA[self.criterion],
            self.splitter == "random",
            NO_LIMIT if self.max_features is None else int(self.max_features),
            NO_LIMIT if self.max_depth is None else int(self.max_depth),
            0 if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
            int(self.min_samples_split),
            int(self.min_samples_leaf),
            float(self.min_weight_leaf),
            float(self.min_impurity_decrease),
            None if self.monotonic is None else np.ascontiguousarray(self.monotonic, np.int8),
        )


@dataclass(frozen=True, eq=False)
class Targets:
    """What trees predict.

    Parameters
    ----------
    y : ndarray of shape (n, outputs)
        Positions of the classes, or numbers.
    n_classes : sequence of int or None, default=None
        The number of classes of each output; None for numbers.
    """

    y: Array
    n_classes: Sequence[int] | None = None

    @property
    def widths(self) -> Array:
        """The number of classes of each output, 1 for numbers."""
        ones = [1] * self.y.shape[1]
        return np.array(ones if self.n_classes is None else self.n_classes, dtype=np.int64)

    @property
    def _arguments(self) -> tuple:
        width = int(self.widths.max())
        if self.n_classes is None:
            return None, np.ascontiguousarray(self.y, dtype=np.float64), width
        return np.ascontiguousarray(self.y, dtype=np.int32), None, width

    def in_units(
        self, options: Options, weights: Array
    ) -> tuple[Targets, Options, tuple[int, int]]:
        """Targets whose squares neither vanish nor overflow, and matching options.

        Also returns the exponents of the powers of two by which targets and impurities have been
        multiplied. Nothing changes if the targets are of a usual size.
        """
        if self.n_classes is not None:
            return self, options, (0, 0)
        y = np.asarray(self.y, dtype=np.float64)
        present = y[weights > 0]
        lowest = 0.0 if options.criterion == "poisson" else present.min(initial=np.inf)
        size = present.max(initial=-np.inf) / 2 - lowest / 2
        if not 0 < size < np.inf or SMALLEST_SIZE <= size <= LARGEST_SIZE:
            return self, options, (0, 0)
        power = -int(np.frexp(size)[1])
        of_impurity = 2 * power if options.criterion in ("squared_error", "friedman_mse") else power
        decrease = float(np.ldexp(options.min_impurity_decrease, of_impurity))
        with np.errstate(over="ignore"):  # of rows that are not there
            y = np.ldexp(y, power)
        return (
            replace(self, y=y),
            replace(options, min_impurity_decrease=decrease),
            (power, of_impurity),
        )


def grow(
    columns: Columns,
    targets: Targets,
    options: Options,
    weights: Array | None = None,
    counts: Array | None = None,
    seed: int = 0,
) -> Tree:
    """One tree.

    Parameters
    ----------
    columns : Columns
        X.
    targets : Targets
        y.
    options : Options
        How.
    weights : ndarray of shape (n,) or None, default=None
        Weights in the impurity; a row of weight 0 is absent.
    counts : ndarray of shape (n,) or None, default=None
        The number of rows that each row represents, if rows are counted; by default ⌈weight⌉.
    seed : int, default=0
        Of the draws of columns and thresholds; 0 … 2⁶⁴ − 1.

    Returns
    -------
    Tree

    Raises
    ------
    TimeLimit, KeyboardInterrupt
        With what is not split yet lost.
    """
    sample = _sample(weights, counts, len(targets.y))
    targets, options, powers = targets.in_units(options, sample[0])
    arguments = columns.arguments, targets._arguments, sample, options._arguments
    grown = core.grow_tree(*arguments, int(seed), thread_count(), deadline())
    return _tree(grown, columns, targets, powers)


def grow_forest(
    columns: Columns,
    targets: Targets,
    options: Options,
    seeds: Array | Sequence[int],
    weights: Array | None = None,
    counts: Array | None = None,
    draws: int = 0,
    chances: Array | None = None,
) -> list[Tree]:
    """A tree for each seed.

    Parameters
    ----------
    columns, targets, options
        As in `grow`.
    seeds : sequence of int
        One per tree, 0 … 2⁶⁴ − 1.
    weights, counts : ndarray of shape (n,) or None, default=None
        As in `grow`. With `draws`, a row's weight is its number of draws times `weights`, and its
        count is its number of draws.
    draws : int, default=0
        How many rows are drawn for each tree, with replacement; 0 to grow on all rows.
    chances : ndarray of shape (n,) or None, default=None
        To these the chances of the rows are proportional; None for equal ones.

    Returns
    -------
    list of Tree
    """
    sample = _sample(weights, counts, len(targets.y))
    targets, options, powers = targets.in_units(options, sample[0])
    arguments = columns.arguments, targets._arguments, sample, options._arguments
    drawing = int(draws), cumulated(chances), np.ascontiguousarray(seeds, dtype=np.uint64)
    grown = core.grow_forest(*arguments, *drawing, thread_count(), deadline())
    size = sum(tree.node_count for tree in grown)
    return map_in_threads(lambda tree: _tree(tree, columns, targets, powers), grown, size)


def grow_on(data: TreeData, rows: Array, options: Options, seed: int) -> Any:
    """A tree of some of the rows."""
    outputs = data.outputs
    weights, counts = (np.zeros(len(outputs.weights)) for _ in range(2))
    weights[rows] = outputs.weights[rows]
    counts[rows] = np.ceil(outputs.sample_weight[rows])
    n_classes = data.widths if data.has_classes else None
    targets = Targets(outputs.y, n_classes)
    return grow(data.columns, targets, options, weights=weights, counts=counts, seed=seed)


def grown_in_time(grow: Callable[[int], Any], most: int, seconds: float | None) -> tuple[Any, str]:
    """A tree, and what ended its growth too early: "", "time_limit" or "interrupted".

    With a limit trees of twice the depth are grown until it is reached, and the last complete one
    is kept: half of a tree that is grown depth first would be deep on one side only.

    Parameters
    ----------
    grow : callable
        Grows a tree of at most the depth that it is given.
    most : int
        The requested depth.
    seconds : float or None
        The limit; without one the tree is grown at once, and Ctrl-C leaves nothing.
    """
    if seconds is None:
        return grow(most), ""
    tree, depth = grow(0), 1
    with time_limit(seconds):
        try:
            while True:
                check()
                tree = grow(min(depth, most))
                if depth >= most or tree.max_depth < depth:
                    return tree, ""
                depth *= 2
        except TimeLimit:
            return tree, "time_limit"
        except KeyboardInterrupt:
            return tree, "interrupted"


def _sample(weights: Array | None, counts: Array | None, rows: int) -> tuple[Array, Array]:
    if weights is None:
        weights = np.ones(rows)
    if counts is None:
        counts = np.ceil(weights)
    most = np.iinfo(np.uint32).max
    return (
        np.ascontiguousarray(weights, dtype=np.float64),
        np.minimum(counts, most).astype(np.uint32),
    )


def _tree(grown, columns: Columns, targets: Targets, powers: tuple[int, int]) -> Tree:
    """The nodes of a core tree as arrays, in the units of the caller's targets."""
    nodes, widths = grown.node_count, targets.widths
    left, right, feature = (np.empty(nodes, dtype=np.int64) for _ in range(3))
    threshold, impurity, weight = (np.empty(nodes) for _ in range(3))
    missing, count = np.empty(nodes, dtype=np.uint8), np.empty(nodes, dtype=np.int64)
    start, sets = np.empty(nodes + 1, np.int64), np.empty(grown.set_words, np.uint32)
    value = np.empty((nodes, len(widths), int(widths.max())))
    grown.write(
        feature,
        left,
        right,
        threshold,
        missing,
        impurity,
        weight,
        count,
        start,
        sets,
        value.reshape(-1),
    )
    if any(powers):
        with np.errstate(over="ignore", under="ignore"):
            value, impurity = np.ldexp(value, -powers[0]), np.ldexp(impurity, -powers[1])
    return Tree(
        n_features=len(columns),
        children_left=left,
        children_right=right,
        feature=feature,
        threshold=threshold,
        missing_go_to_left=missing,
        impurity=impurity,
        n_node_samples=count,
        weighted_n_node_samples=weight,
        value=value,
        category_start=start,
        category_bits=sets,
        n_classes=widths,
    )
