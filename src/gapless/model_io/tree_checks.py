"""Whether trees from a file are trees: the core walks them without checking.

Every child must be inside its tree and after its parent, so that each walk ends; every split must
be on a column, a threshold and a set that exist.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._ground.columns import Bundles, Columns
from .._ground.stored import Labels, Nothing, all_finite
from ..models.trees import (
    LEAF,
    ROOM,
    STATISTICS,
    AskedColumns,
    CompactTrees,
    MultiwayTree,
    PackedTrees,
    Tree,
)
from .container import ModelFileError

Array = np.ndarray

# Categories of a column of X; a value may be missing.
LEVELS = Labels(None, least=0, may_miss=True)


def require(condition: Any, where: str, fault: str) -> None:
    """Refuse a file if a condition does not hold."""
    if not condition:
        raise ModelFileError(f"{where}: {fault}.")


def check_array(array: Any, where: str, dtype: Any, *shape: int | None) -> None:
    """Refuse what is not an array of this type and shape; None is any size."""
    is_right = (
        isinstance(array, np.ndarray)
        and array.dtype == dtype
        and array.ndim == len(shape)
        and all(size in (None, found) for size, found in zip(shape, array.shape))
    )
    require(is_right, where, f"no array of {np.dtype(dtype).name} of the expected shape")


def check_offsets(start: Any, where: str, parts: int | None, total: int) -> None:
    """Refuse what is not a list of where the parts of an array begin, in order."""
    check_array(start, where, np.int64, None if parts is None else parts + 1)
    is_right = len(start) and start[0] == 0 and start[-1] == total and (np.diff(start) >= 0).all()
    require(is_right, where, "offsets that do not match their array")


def check_whole(number: Any, where: str, low: int, high: int) -> None:
    """Refuse what is not an integer from `low` to `high`."""
    is_right = isinstance(number, int | np.integer) and low <= number <= high
    require(is_right, where, f"no whole number from {low} to {high}")


# ---- single trees --------------------------------------------------------------------------------


def check_tree(tree: Tree, where: str) -> None:
    """A binary tree."""
    check_array(tree.feature, where, np.int64, None)
    nodes = len(tree.feature)
    require(nodes, where, "a tree without nodes")
    check_whole(tree.n_features, where, 0, np.iinfo(np.int32).max)
    for name in ("children_left", "children_right", "n_node_samples"):
        check_array(getattr(tree, name), f"{where}.{name}", np.int64, nodes)
    for name in ("threshold", "impurity", "weighted_n_node_samples"):
        check_array(getattr(tree, name), f"{where}.{name}", np.float64, nodes)
    check_array(tree.missing_go_to_left, where, np.uint8, nodes)
    require((tree.missing_go_to_left <= 1).all(), where, "booleans other than 0 and 1")
    require((tree.n_node_samples >= 0).all(), where, "a negative number of rows")
    _check_children(tree, where)
    _check_values(tree, where)
    _check_questions(tree, where)


def _check_children(tree: Tree, where: str) -> None:
    nodes = np.arange(len(tree.feature))
    is_inner = tree.children_left >= 0
    children = np.stack([tree.children_left, tree.children_right])
    require((children[:, ~is_inner] == -1).all(), where, "a leaf with a child")
    below = children[:, is_inner]
    # Each node except the first has one parent, before it: that is a tree.
    is_behind = (below > nodes[is_inner]).all() and (below < len(nodes)).all()
    require(is_behind, where, "a child that does not come after its parent")
    is_once = np.array_equal(np.sort(below, axis=None), nodes[1:])
    require(is_once, where, "a node without exactly one parent")


def _check_values(tree: Tree, where: str) -> None:
    check_array(tree.value, where, np.float64, len(tree.feature), None, None)
    outputs, width = tree.value.shape[1:]
    check_array(tree.n_classes, where, np.int64, outputs)
    is_right = outputs and (tree.n_classes >= 1).all() and (tree.n_classes.max() == width)
    require(all_finite(tree.value), where, "values of nodes that are NaN or infinite")
    require(is_right, where, "class counts that do not match the values")


def _check_questions(tree: Tree, where: str) -> None:
    inner = tree.children_left >= 0
    feature = tree.feature[inner]
    is_column = (feature >= 0) & (feature < tree.n_features)
    require(is_column.all(), where, "a split on a column that does not exist")
    check_array(tree.category_bits, where, np.uint32, None)
    check_offsets(tree.category_start, where, len(tree.feature), len(tree.category_bits))
    has_set = np.diff(tree.category_start) > 0
    require(not has_set[~inner].any(), where, "a leaf with a split")
    require(not np.isnan(tree.threshold[inner & ~has_set]).any(), where, "a threshold that is NaN")
    check_kinds([tree], where)


def check_kinds(trees: Iterable[Tree], where: str) -> None:
    """Refuse trees that split on one column both as a number and as a category."""
    asked: tuple[set[int], set[int]] = set(), set()
    for tree in trees:
        has_set = np.diff(tree.category_start) > 0
        is_inner = tree.children_left >= 0
        for kind in (False, True):
            asked[kind].update(np.unique(tree.feature[is_inner & (has_set == kind)]).tolist())
    require(asked[0].isdisjoint(asked[1]), where, "a column that is both a number and a category")


def check_multiway(tree: MultiwayTree, where: str) -> None:
    """A tree with a branch for every category."""
    check_array(tree.feature, where, np.int64, None)
    nodes = len(tree.feature)
    require(nodes, where, "a tree without nodes")
    for name in ("parent", "branch"):
        check_array(getattr(tree, name), f"{where}.{name}", np.int64, nodes)
    for name in ("threshold", "gain", "ratio"):
        check_array(getattr(tree, name), f"{where}.{name}", np.float64, nodes)
    check_array(tree.value, where, np.float64, nodes, None)
    require(all_finite(tree.value), where, "values of nodes that are NaN or infinite")
    above = tree.parent[1:]
    is_behind = tree.parent[0] == -1 and (above >= 0).all() and (above < np.arange(1, nodes)).all()
    require(is_behind, where, "a child that does not come after its parent")
    require((tree.feature[above] >= 0).all(), where, "a leaf with a child")
    require((tree.feature >= LEAF).all(), where, "a split on a column that does not exist")
    is_branch = (tree.branch[1:] >= 0) & (tree.branch[1:] < nodes)
    require(is_branch.all(), where, "a branch that does not exist")


# ---- packed trees --------------------------------------------------------------------------------


def check_asked(asked: AskedColumns, where: str) -> None:
    """Columns, thresholds and sets that packed trees split on."""
    require(asked.code_bits in ROOM, where, "codes of an unknown width")
    check_array(asked.feature, where, np.int32, None)
    columns = len(asked.feature)
    require((asked.feature >= 0).all(), where, "a split on a column that does not exist")
    check_array(asked.is_category, where, np.uint8, columns)
    check_array(asked.content, where, np.float64, None)
    check_offsets(asked.first, where, columns, len(asked.content))
    sizes = np.diff(asked.first)
    require((sizes <= ROOM[asked.code_bits]).all(), where, "more thresholds than codes")
    check_array(asked.words, where, np.uint32, None)
    check_offsets(asked.set_start, where, None, len(asked.words))
    is_set = np.repeat(asked.is_category > 0, sizes)
    sets, thresholds = asked.content[is_set], asked.content[~is_set]
    is_known = (sets >= 0) & (sets < len(asked.set_start) - 1) & (sets == np.floor(sets))
    require(is_known.all(), where, "a set that does not exist")
    require(not np.isnan(thresholds).any(), where, "a threshold that is NaN")
    # Searched by bisection, within each column.
    column = np.repeat(np.arange(columns), sizes)
    falls = (np.diff(asked.content) <= 0) & (np.diff(column) == 0) & ~is_set[1:]
    require(not falls.any(), where, "thresholds that do not increase")


def check_packed(packed: PackedTrees, where: str) -> None:
    """Packed trees."""
    check_array(packed.nodes, where, np.uint32, None, 2)
    check_offsets(packed.start, where, None, len(packed.nodes))
    sizes = np.diff(packed.start)
    require((sizes > 0).all(), where, "a tree without nodes")
    check_whole(packed.groups, where, 1, max(len(sizes), 1))
    require(len(sizes) % packed.groups == 0, where, "groups of different sizes")
    check_array(packed.table, where, np.float64, None, None)
    require(all_finite(packed.table), where, "values of leaves that are NaN or infinite")
    question, after = packed.nodes[:, 0], packed.nodes[:, 1].view(np.int32)
    is_leaf = after < 0
    require((~after[is_leaf] < len(packed.table)).all(), where, "a leaf without a value")
    tree = np.repeat(np.arange(len(sizes)), sizes)
    _check_preorder(packed.start, tree, is_leaf, after, where)
    _check_packed_questions(packed.asked, question[~is_leaf], where)
    if packed.numbers is not None:
        check_array(packed.numbers, where, np.int32, len(tree))
        own = packed.numbers[np.lexsort((packed.numbers, tree))]
        require(np.array_equal(own, _place(packed.start, tree)), where, "duplicate node numbers")


def _place(start: Array, tree: Array) -> Array:
    """The position of every node in its tree."""
    return np.arange(len(tree)) - start[:-1][tree]


def _check_preorder(start: Array, tree: Array, is_leaf: Array, after: Array, where: str) -> None:
    """Refuse nodes that are not whole trees in preorder, one after another, with right children.

    Count +1 for an inner node and −1 for a leaf: in preorder the count before a node is the number
    of pending subtrees, and the right child of a node is the next one at its level.
    """
    if not len(tree):
        return
    step = np.where(is_leaf, -1, 1)
    waiting = np.concatenate([[0], np.cumsum(step)[:-1]])
    waiting = waiting - waiting[start[:-1]][tree]
    ends = np.append(start[1:-1] - 1, len(tree) - 1)
    is_whole = (waiting >= 0).all() and (waiting[ends] + step[ends] == -1).all()
    require(is_whole, where, "nodes that do not form a tree")
    order = np.lexsort((waiting, tree))
    follower = np.full(len(tree), -1)
    follower[order[:-1]] = order[1:]
    inner = np.flatnonzero(~is_leaf)
    at = follower[inner]
    is_next = (tree[at] == tree[inner]) & (waiting[at] == waiting[inner]) & (at > inner)
    is_right = is_next & (after[inner] == at - start[:-1][tree[inner]])
    require(is_right.all(), where, "a right child in the wrong place")


def _check_packed_questions(asked: AskedColumns, question: Array, where: str) -> None:
    column = question >> (asked.code_bits + 1)
    require((column < len(asked.feature)).all(), where, "a split without a column")
    missing = (question >> asked.code_bits & 1).astype(np.int64)
    code = (question & ((1 << asked.code_bits) - 1)).astype(np.int64) - missing
    is_known = (code >= 0) & (code < np.diff(asked.first)[column])
    require(is_known.all(), where, "a split without a threshold")
    is_set = asked.is_category[column] > 0
    sets = asked.content[asked.first[column[is_set]] + code[is_set]]
    require((np.diff(sets) == 1).all(), where, "sets that are not in the order of the nodes")


def check_compact(trees: CompactTrees, where: str) -> None:
    """The trees of a forest."""
    packed = trees.packed
    require(isinstance(packed, PackedTrees), where, "no packed trees")
    require(packed.groups == 1 and len(packed), where, "a forest without trees")
    check_whole(trees.n_features, where, 0, np.iinfo(np.int32).max)
    is_column = packed.asked.feature < trees.n_features
    require(is_column.all(), where, "a split on a column that does not exist")
    check_array(trees.n_classes, where, np.int64, None)
    outputs, width = len(trees.n_classes), packed.table.shape[1]
    require(outputs and width % outputs == 0, where, "values whose width differs from the classes")
    is_right = (trees.n_classes >= 1).all() and (trees.n_classes <= width // outputs).all()
    require(is_right, where, "class counts that do not match the values")
    require(isinstance(trees.criterion, str), where, "no criterion")
    leaves = int(np.sum(packed.nodes[:, 1] >> 31))
    sizes = {"leaf": leaves, "inner": len(packed.nodes) - leaves}
    require(isinstance(trees.stored, dict), where, "no statistics of nodes")
    for key, array in trees.stored.items():
        is_known = isinstance(key, tuple) and len(key) == 2 and key[0] in STATISTICS
        require(is_known and key[1] in sizes, where, "an unknown statistic of nodes")
        shape = (outputs, width // outputs) if key[0] == "value" else ()
        require(isinstance(array, np.ndarray), where, "statistics that are not an array")
        require(array.shape == (sizes[key[1]], *shape), where, "statistics of other nodes")


# ---- columns -------------------------------------------------------------------------------------


def check_columns(columns: Columns, where: str) -> None:
    """What trees know about the columns of X; they keep none of the training rows."""
    check_array(columns.count, where, np.int64, None)
    d = len(columns.count)
    require(columns.rows == 0 and type(columns.rows) is int, where, "rows of the fit")
    check_array(columns.codes, where, np.uint8, 0)
    check_array(columns.lowest, where, np.float64, 0)
    check_array(columns.highest, where, np.float64, 0)
    for name, dtype in (
        ("begin", np.int64),
        ("width", np.uint8),
        ("is_category", bool),
        ("values_begin", np.int64),
        ("has_missing", bool),
    ):
        check_array(getattr(columns, name), f"{where}.{name}", dtype, d)
    levels = columns.levels
    require(isinstance(levels, tuple) and len(levels) == d, where, "categories of other columns")
    for is_category, own in zip(columns.is_category, levels):
        fault = (LEVELS if is_category else Nothing()).fault(own, {})
        require(fault is None, where, f"categories of a column, one of which {fault}")
    is_named = columns.names is None or (
        isinstance(columns.names, tuple) and len(columns.names) == d
    )
    require(is_named, where, "names of other columns")
    require(isinstance(columns.bundles, Bundles), where, "no bundles")


def check_bundles(bundles: Bundles, where: str) -> None:
    """Which columns are counted together; the codes of the fit are not kept."""
    check_array(bundles.of_column, where, np.int64, None)
    check_array(bundles.usual, where, np.int64, len(bundles.of_column))
    check_array(bundles.first, where, np.int64, len(bundles.of_column))
    check_array(bundles.codes, where, np.uint8, None, 0)
    check_array(bundles.count, where, np.int64, len(bundles.codes))
