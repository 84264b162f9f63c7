"""Trees, forests and boosted trees as one operator that adds up leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .graph import ML, ExportError, Graph
from .linear import answer_by_loss, means

Array = np.ndarray


def classifier(model: Any, graph: Graph, X: str) -> None:
    """The class with the largest mean share of the leaves."""
    trees = _trees(model)
    _one_output(model)
    K = len(model.classes_)
    shares = _sum(graph, X, trees, K, 1.0 / len(trees))
    graph.labels(graph.largest(shares), model.classes_)
    graph.output(shares, "probabilities", np.float32, ("n", K))


def regressor(model: Any, graph: Graph, X: str) -> None:
    """The mean of the values of the leaves."""
    trees = _trees(model)
    _one_output(model)
    found = _sum(graph, X, trees, 1, 1.0 / len(trees))
    graph.output(graph.flat(found), "prediction", np.float32, ("n",))


def boosted_classifier(model: Any, graph: Graph, X: str) -> None:
    """The class with the largest sum of leaves."""
    answer_by_loss(graph, _boosted(model, graph, X), model)


def boosted_regressor(model: Any, graph: Graph, X: str) -> None:
    """Means from the sum of leaves."""
    found = means(graph, _boosted(model, graph, X), model)
    graph.output(graph.flat(found), "prediction", np.float32, ("n",))


def _boosted(model: Any, graph: Graph, X: str) -> str:
    """Scores (n, K): where they start, and the leaf of each round."""
    if hasattr(vars(model).get("init_"), "predict"):
        raise ExportError(
            f"{type(model).__name__} starts from another model (init=), which cannot be exported "
            "with it; fit it without init."
        )
    K = len(model.start_)
    start = graph.constant(np.asarray(model.start_, dtype=float).reshape(1, K))
    trees = [tree for of_round in model.trees_ for tree in of_round]
    if not trees:
        raise ExportError(f"{type(model).__name__} has no trees; fit it with max_iter > 0.")
    return graph.apply("Add", start, _sum(graph, X, trees, K, 1.0, is_cycled=True))


def _trees(model: Any) -> Sequence[Any]:
    if hasattr(model, "trees_"):
        return list(model.trees_)
    return [model.tree_]


def _one_output(model: Any) -> None:
    if getattr(model, "n_outputs_", 1) > 1:
        raise ExportError(
            f"{type(model).__name__} has {model.n_outputs_} outputs; fit and export one model for "
            "each."
        )


def _sum(
    graph: Graph, X: str, trees: Sequence[Any], K: int, share: float, *, is_cycled: bool = False
) -> str:
    """Sums (n, K) of leaves, times a share; with `is_cycled` every K-th tree is of one score."""
    parts: dict[str, list[Array]] = {}

    def add(**columns: Any) -> None:
        for name, values in columns.items():
            parts.setdefault(name, []).append(np.asarray(values))

    for t, tree in enumerate(trees):
        nodes = np.arange(tree.node_count)
        is_leaf = tree.children_left < 0
        if np.any(np.isnan(tree.threshold[~is_leaf])):
            raise ExportError(
                "splits on categories cannot be exported; encode categories as numbers before the "
                "trees, with OneHotEncoder or OrdinalEncoder, and fit again."
            )
        add(
            nodes_treeids=np.full(len(nodes), t),
            nodes_nodeids=nodes,
            nodes_featureids=np.where(is_leaf, 0, tree.feature),
            nodes_values=_rounded_down(np.where(is_leaf, 0.0, tree.threshold)),
            nodes_modes=np.where(is_leaf, "LEAF", "BRANCH_LEQ"),
            nodes_truenodeids=np.where(is_leaf, 0, tree.children_left),
            nodes_falsenodeids=np.where(is_leaf, 0, tree.children_right),
            nodes_missing_value_tracks_true=np.where(is_leaf, 0, tree.missing_go_to_left),
        )
        leaves = nodes[is_leaf]
        values = tree.value[leaves, 0].astype(float) * share
        width = values.shape[1]
        scores = np.full(width, t % K) if is_cycled else np.arange(width)
        add(
            target_treeids=np.full(len(leaves) * width, t),
            target_nodeids=np.repeat(leaves, width),
            target_ids=np.tile(scores, len(leaves)),
            target_weights=values.ravel(),
        )
    attributes = {name: np.concatenate(found).tolist() for name, found in parts.items()}
    return graph.apply(
        "TreeEnsembleRegressor", X, domain=ML, n_targets=K, aggregate_function="SUM", **attributes
    )


def _rounded_down(thresholds: Array) -> Array:
    """The largest float32 that is no larger: the same float32 numbers are up to either."""
    near = thresholds.astype(np.float32)
    below = np.nextafter(near, np.float32(-np.inf))
    return np.where(near.astype(float) > thresholds, below, near)
