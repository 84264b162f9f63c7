"""Nearest neighbours: distances to all training rows, the smallest ones, and their votes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .graph import ExportError, Graph
from .kernels import absolute_distances, exact_distances, squared_distances

Array = np.ndarray


def classifier(model: Any, graph: Graph, X: str) -> None:
    """The class with the largest share of the votes."""
    _check(model)
    K = len(model.classes_)
    shares = _means(model, graph, X, np.eye(K)[model._y[:, 0].astype(int)])
    graph.labels(graph.largest(shares), model.classes_)
    graph.output(shares, "probabilities", np.float32, ("n", K))


def regressor(model: Any, graph: Graph, X: str) -> None:
    """The mean target of the neighbours, by their votes."""
    _check(model)
    y = np.asarray(model._y, dtype=float)
    found = _means(model, graph, X, y)
    if model.outputs_2d_:
        graph.output(found, "prediction", np.float32, ("n", y.shape[1]))
    else:
        graph.output(graph.flat(found), "prediction", np.float32, ("n",))


def _check(model: Any) -> None:
    name = type(model).__name__
    if model._weights is not None:
        raise ExportError(f"{name} with weights of rows cannot be exported; fit it without.")
    if callable(model.weights) or getattr(model, "ties", "first") != "first":
        raise ExportError(
            f"{name} can be exported with weights 'uniform', 'distance' or 'squared_distance' and "
            "ties='first' alone."
        )
    if hasattr(model, "classes_") and model.outputs_2d_:
        raise ExportError(f"{name} has several outputs; fit and export one model for each.")


def _means(model: Any, graph: Graph, X: str, targets: Array) -> str:
    """Means (n, k) of targets of the neighbours, weighted by their votes."""
    rows = model._fit_X.toarray() if sp.issparse(model._fit_X) else np.asarray(model._fit_X)
    rows = rows.astype(float)
    if set(model.effective_metric_params_) - {"p"}:
        raise ExportError(
            f"{type(model).__name__} with metric_params cannot be exported; scale the columns "
            "instead."
        )
    if model._kept is not None:
        rows, targets = rows[model._kept], targets[model._kept]
    metric, p = model.effective_metric_, model.effective_metric_params_.get("p", 2)
    if metric == "euclidean" or (metric == "minkowski" and p == 2):
        # Where votes depend on distances, a row at distance 0 decides alone.
        distances = (
            graph.apply("Sqrt", squared_distances(graph, X, rows))
            if model.weights in (None, "uniform")
            else exact_distances(graph, X, rows)
        )
    elif metric in ("manhattan", "cityblock", "l1") or (metric == "minkowski" and p == 1):
        distances = absolute_distances(graph, X, rows)
    else:
        raise ExportError(
            f"the metric {metric!r} cannot be exported; 'euclidean' and 'manhattan' can."
        )
    count = graph.constant([min(int(model.n_neighbors_), len(rows))], np.int64)
    near, at = graph.apply_several("TopK", 2, distances, count, axis=1, largest=0, sorted=1)
    votes = _votes(graph, near, model.weights)
    chosen = graph.apply("Gather", graph.constant(targets), at)
    apart = graph.apply("Unsqueeze", votes, graph.constant([2], np.int64))
    over_neighbors = graph.constant([1], np.int64)
    sums = graph.apply("ReduceSum", graph.apply("Mul", chosen, apart), over_neighbors, keepdims=0)
    return graph.apply("Div", sums, graph.apply("ReduceSum", votes, over_neighbors, keepdims=1))


def _votes(graph: Graph, near: str, weights: str | None) -> str:
    """The vote of each neighbour, (n, k); rows at distance 0 decide alone."""
    zero = graph.constant(0.0)
    if weights is None or weights == "uniform":
        return graph.apply("Add", graph.apply("Mul", near, zero), graph.constant(1.0))
    is_here = graph.apply("Equal", near, zero)
    here = graph.apply("Cast", is_here, to=graph.onnx.TensorProto.FLOAT)
    any_here = graph.apply("ReduceMax", here, axes=[1], keepdims=1)
    # Divided by the nearest that is not here, so that nothing overflows.
    far = graph.apply("Where", is_here, graph.constant(np.inf), near)
    least = graph.apply("ReduceMin", far, axes=[1], keepdims=1)
    ratio = graph.apply("Div", least, far)
    if weights == "squared_distance":
        ratio = graph.apply("Mul", ratio, ratio)
    return graph.apply("Where", graph.apply("Greater", any_here, zero), here, ratio)
