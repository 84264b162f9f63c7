"""The trees of a forest in little memory.

Only what prediction needs is stored: eight bytes for each node, and values of leaves. The rest of a
tree follows from it, or is stored in the narrowest type that holds it exactly; whole trees are
built on demand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np

from ..._ground import core
from ..._ground.threads import map_in_threads
from .packed import PackedTrees, Reordered, offsets
from .tree import Tree

Array = np.ndarray

# How the core derives impurities from the classes in the leaves; 0 if it cannot.
IMPURITIES = {"gini": 1, "entropy": 2, "log_loss": 2, "gain_ratio": 2}
# Check this many values first: mostly they already show that a type is too narrow.
FEW = 1000
STATISTICS = ("n_node_samples", "weighted_n_node_samples", "impurity", "value")


@dataclass(frozen=True, eq=False)
class CompactTrees(Sequence):
    """A sequence of trees, each built on demand.

    Parameters
    ----------
    packed : PackedTrees
        The trees.
    n_features : int
        Columns of X.
    n_classes : ndarray of int64, shape (outputs,)
        The number of classes of each output, 1 for numbers.
    criterion : str
        What the trees were grown by.
    stored : dict of ndarray
        What does not follow from the leaves, under the names of `Tree` and "inner" or "leaf": of
        all inner nodes or all leaves, tree after tree, in preorder.
    """

    packed: PackedTrees
    n_features: int
    n_classes: Array
    criterion: str
    stored: dict[tuple[str, str], Array] = field(default_factory=dict)

    @classmethod
    def of(cls, trees: Sequence[Tree], criterion: str) -> CompactTrees:
        """Keep trees, to the bit."""
        first = trees[0]
        bare = cls(PackedTrees.of(trees), first.n_features, first.n_classes, criterion)
        return replace(bare, stored=bare._what_does_not_follow(trees))

    def __len__(self) -> int:
        return len(self.packed)

    @overload
    def __getitem__(self, k: int) -> Tree: ...
    @overload
    def __getitem__(self, k: slice) -> list[Tree]: ...
    def __getitem__(self, k):
        if isinstance(k, slice):
            return [self._tree(t) for t in range(*k.indices(len(self)))]
        return self._tree(range(len(self))[k])

    @property
    def nbytes(self) -> int:
        """The memory that the trees take."""
        return self.packed.nbytes + sum(a.nbytes for a in self.stored.values())

    # ---- one tree --------------------------------------------------------------------------------

    def _tree(self, t: int) -> Tree:
        nodes = self.packed.nodes[self._nodes(t)]
        is_leaf = nodes[:, 1] >> 31 > 0
        inner = np.flatnonzero(~is_leaf)
        asked = self.packed.asked
        feature, content, missing, is_set = asked.read(nodes[inner, 0])
        sets = content[is_set].astype(np.int64)
        words, sizes = np.zeros(0, dtype=np.uint32), np.zeros(len(nodes), dtype=np.int64)
        if len(sets):
            # Sets are numbered in the order of the nodes, so those of a tree are side by side.
            words = asked.words[asked.set_start[sets[0]] : asked.set_start[sets[-1] + 1]]
            sizes[inner[is_set]] = np.diff(asked.set_start)[sets]
        tree = Tree(
            n_features=self.n_features,
            children_left=_spread(inner + 1, inner, len(nodes), -1),
            children_right=np.where(is_leaf, -1, nodes[:, 1].astype(np.int64)),
            feature=_spread(feature, inner, len(nodes), -2),
            threshold=_spread(np.where(is_set, np.nan, content), inner, len(nodes), -2.0),
            missing_go_to_left=_spread(missing, inner, len(nodes), 0).astype(np.uint8),
            category_start=offsets(sizes),
            category_bits=words,
            n_classes=self.n_classes,
            **self._statistics(t, is_leaf),
        )
        if self.packed.numbers is None:
            return tree
        place = np.argsort(self.packed.numbers[self._nodes(t)])
        moved = vars(Reordered(tree, place))
        others = {name: getattr(tree, name)[place] for name in STATISTICS[1:]}
        return replace(tree, **{**others, **moved})

    def _nodes(self, t: int) -> slice:
        return slice(int(self.packed.start[t]), int(self.packed.start[t + 1]))

    def _statistics(self, t: int, is_leaf: Array) -> dict[str, Array]:
        """The training rows in each node, and their statistics."""
        found = self._what_follows(t)
        # A tree with k inner nodes has k + 1 leaves.
        start = self.packed.start
        inner, leaves = ((start[t : t + 2] + s * np.arange(t, t + 2)) // 2 for s in (-1, 1))
        for (name, kind), stored in self.stored.items():
            part = stored[slice(*(leaves if kind == "leaf" else inner))]
            found[name][is_leaf if kind == "leaf" else ~is_leaf] = part
        return found

    def _what_follows(self, t: int) -> dict[str, Array]:
        """The same as far as it follows from the leaves."""
        packed, outputs = self.packed, len(self.n_classes)
        nodes = packed.nodes[self._nodes(t)]
        rows = np.empty(len(nodes), dtype=np.int64)
        impurity, value = np.empty(len(nodes)), np.empty((len(nodes), packed.table.shape[1]))
        kind = IMPURITIES.get(self.criterion, 0)
        core.tree_statistics(nodes, packed.table, outputs, kind, rows, impurity, value)
        return {
            "n_node_samples": rows,
            "weighted_n_node_samples": rows.astype(np.float64),
            "impurity": impurity,
            "value": value.reshape(len(nodes), outputs, -1),
        }

    # ---- all trees -------------------------------------------------------------------------------

    def _what_does_not_follow(self, trees: Sequence[Tree]) -> dict[tuple[str, str], Array]:
        packed, outputs = self.packed, len(self.n_classes)
        kind_of_impurity = IMPURITIES.get(self.criterion, 0)

        def differing(t: int) -> int:
            nodes = packed.nodes[self._nodes(t)]
            own = [self._in_preorder(trees[t], t, name) for name in STATISTICS]
            own[-1] = own[-1].reshape(len(nodes), -1)
            return core.tree_differences(nodes, packed.table, outputs, kind_of_impurity, *own)

        def stored(key: tuple[str, str]) -> Array:
            name, kind = key
            each = range(len(trees))
            parts = [self._in_preorder(trees[t], t, name)[self._places(t, kind)] for t in each]
            return _narrow(np.concatenate(parts))

        size = len(packed.nodes)
        bits = np.bitwise_or.reduce(map_in_threads(differing, range(len(trees)), size))
        every = [(name, kind) for name in STATISTICS for kind in ("inner", "leaf")]
        keys = sorted(key for k, key in enumerate(every) if bits >> k & 1)
        return dict(zip(keys, map_in_threads(stored, keys, size)))

    def _places(self, t: int, kind: str) -> Array:
        """The positions of the inner nodes of a tree, or of its leaves."""
        is_leaf = self.packed.nodes[self._nodes(t), 1] >> 31 > 0
        return np.flatnonzero(is_leaf if kind == "leaf" else ~is_leaf)

    def _in_preorder(self, tree: Tree, t: int, name: str) -> Array:
        whole = getattr(tree, name)
        numbers = self.packed.numbers
        return whole if numbers is None else whole[numbers[self._nodes(t)]]


def _spread(values: Array, at: Array, size: int, elsewhere: Any) -> Array:
    """An array with values at some places."""
    out = np.full(size, elsewhere, dtype=np.int64 if isinstance(elsewhere, int) else np.float64)
    out[at] = values
    return out


def _narrow(values: Array) -> Array:
    """The same numbers in the narrowest type that holds all of them."""
    with np.errstate(invalid="ignore", over="ignore"):
        for kind in (np.uint8, np.uint16, np.uint32, np.float32):
            if np.array_equal(values[:FEW].astype(kind), values[:FEW]):
                narrow = values.astype(kind)
                if np.array_equal(narrow, values):
                    return narrow
    return values
