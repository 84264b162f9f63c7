"""Machines with kernels: values of the kernel with the support vectors, then one product."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .graph import ExportError, Graph

Array = np.ndarray


def support_vector_classifier(model: Any, graph: Graph, X: str) -> None:
    """Classes by the scores of the problems; for three and more one against one, by votes."""
    K, classes = len(model.classes_), model.classes_
    if K == 2:
        scores = _scores(model, graph, X, _dense(model.dual_coef_))
        graph.labels(graph.is_positive(scores), classes)
        graph.output(graph.flat(scores), "scores", np.float32, ("n",))
        return
    if model.multi_class_ == "ovo":
        scores = _by_votes(graph, _scores(model, graph, X, _of_pairs(model)), K)
    else:
        scores = _scores(model, graph, X, _dense(model.dual_coef_))
    graph.labels(graph.largest(scores), classes)
    graph.output(scores, "scores", np.float32, ("n", K))


def support_vector_regressor(model: Any, graph: Graph, X: str) -> None:
    """Predictions by one product with the kernel."""
    found = graph.flat(_scores(model, graph, X, _dense(model.dual_coef_)))
    graph.output(found, "prediction", np.float32, ("n",))


def kernel_ridge(model: Any, graph: Graph, X: str) -> None:
    """Predictions by one product with the kernel and all training rows."""
    coef = np.asarray(model.dual_coef_, dtype=float)
    is_flat = coef.ndim == 1
    values = _gram(graph, X, model.kernel_, _dense(model.X_fit_))
    columns = coef[:, None] if is_flat else coef
    intercept = np.atleast_1d(getattr(model, "intercept_", 0.0))
    found = graph.affine(values, columns.T, intercept)
    shape = ("n",) if is_flat else ("n", columns.shape[1])
    graph.output(graph.flat(found) if is_flat else found, "prediction", np.float32, shape)


def _scores(model: Any, graph: Graph, X: str, coef: Array) -> str:
    """Scores of the problems, (n, problems)."""
    if getattr(model, "rows_fit_", None) is not None or model.kernel == "precomputed":
        raise ExportError(
            f"{type(model).__name__} has a kernel of your own or a precomputed one, which cannot "
            "be exported; use a kernel of gapless."
        )
    values = _gram(graph, X, model.kernel_, _dense(model.support_vectors_))
    return graph.affine(values, coef, model.intercept_)


def _of_pairs(model: Any) -> Array:
    """The coefficient of each support vector in each pair of classes, (pairs, support)."""
    stored, K = _dense(model.dual_coef_), len(model.classes_)
    end = np.cumsum(model.n_support_)
    blocks = [slice(stop - size, stop) for stop, size in zip(end, model.n_support_)]
    rows = []
    for i in range(K):
        for j in range(i + 1, K):
            row = np.zeros(stored.shape[1])
            row[blocks[i]], row[blocks[j]] = stored[j - 1, blocks[i]], stored[i, blocks[j]]
            rows.append(row)
    return np.array(rows)


def _by_votes(graph: Graph, scores: str, K: int) -> str:
    """Votes of the pairs for their classes, and the sums of scores to break ties, (n, K)."""
    pairs = [(i, j) for i in range(K) for j in range(i + 1, K)]
    sides = np.zeros((len(pairs), K))
    for k, (i, j) in enumerate(pairs):
        sides[k, i], sides[k, j] = 1.0, -1.0
    each = graph.constant(sides)
    zero, one, less = graph.constant(0.0), graph.constant(1.0), graph.constant(-1.0)
    won = graph.apply("Where", graph.apply("GreaterOrEqual", scores, zero), one, less)
    votes = graph.apply("MatMul", won, each)
    half = graph.apply("Add", votes, graph.constant(K - 1.0))
    half = graph.apply("Mul", half, graph.constant(0.5))
    sums = graph.apply("MatMul", scores, each)
    room = graph.apply("Add", graph.apply("Abs", sums), one)
    tie = graph.apply("Div", sums, graph.apply("Mul", room, graph.constant(3.0)))
    return graph.apply("Add", half, tie)


def _gram(graph: Graph, X: str, kernel: Any, rows: Array) -> str:
    """Values of a kernel of all rows with the given ones, (n, m)."""
    name = type(kernel).__name__
    if name == "Gaussian":
        squares = squared_distances(graph, X, rows)
        return graph.apply("Exp", graph.apply("Mul", squares, graph.constant(-kernel.gamma)))
    if name == "Laplacian":
        far = graph.apply("Mul", absolute_distances(graph, X, rows), graph.constant(-kernel.gamma))
        return graph.apply("Exp", far)
    products = graph.apply("MatMul", X, graph.constant(rows.T))
    if name == "Linear":
        return products
    if name in ("Polynomial", "Sigmoid"):
        scaled = graph.apply("Mul", products, graph.constant(kernel.gamma))
        moved = graph.apply("Add", scaled, graph.constant(kernel.coef0))
        if name == "Sigmoid":
            return graph.apply("Tanh", moved)
        return graph.apply("Pow", moved, graph.constant(float(kernel.degree)))
    raise ExportError(
        f"the kernel {kernel!r} cannot be exported; linear, rbf, poly, sigmoid and laplacian can."
    )


def squared_distances(graph: Graph, X: str, rows: Array) -> str:
    """Squared distances to rows, (n, m); from the rows' mean, where little is lost to rounding."""
    centre = rows.mean(axis=0)
    near = rows - centre
    moved = graph.apply("Sub", X, graph.constant(centre))
    own = graph.apply("ReduceSumSquare", moved, axes=[1], keepdims=1)
    others = graph.constant(np.sum(near**2, axis=1)[None, :])
    products = graph.apply("MatMul", moved, graph.constant(-2.0 * near.T))
    total = graph.apply("Add", graph.apply("Add", own, others), products)
    return graph.apply("Relu", total)


def absolute_distances(graph: Graph, X: str, rows: Array) -> str:
    """Sums of absolute differences to rows, (n, m)."""
    return graph.apply("ReduceL1", _differences(graph, X, rows), axes=[2], keepdims=0)


def exact_distances(graph: Graph, X: str, rows: Array) -> str:
    """Distances to rows, (n, m), that are 0 for equal rows; they take the memory of n·m rows."""
    return graph.apply("ReduceL2", _differences(graph, X, rows), axes=[2], keepdims=0)


def _differences(graph: Graph, X: str, rows: Array) -> str:
    apart = graph.apply("Unsqueeze", X, graph.constant([1], np.int64))
    return graph.apply("Sub", apart, graph.constant(rows[None]))


def _dense(values: Any) -> Array:
    return values.toarray() if sp.issparse(values) else np.asarray(values, dtype=float)
