"""Machines with kernels: values of the kernel with the support vectors, then one product.

Both are in float64: where the penalty is weak, large coefficients of either sign cancel.
"""

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
        scores = _scores(model, graph, X)
        graph.labels(graph.is_positive(scores), classes)
        graph.output(graph.flat(scores), "scores", np.float32, ("n",))
        return
    scores = by_class = decisive = _scores(model, graph, X)
    if model.multi_class_ == "ovo":
        votes = _votes(graph, scores, K)
        by_class = graph.apply("Add", votes, _tie_breaker(graph, scores, K))
        # With break_ties=False the first class with most votes is predicted.
        decisive = votes if model.break_ties is False else by_class
    graph.labels(graph.largest(decisive), classes)
    if model.decision_function_shape == "ovo":
        graph.output(scores, "scores", np.float32, ("n", "problems"))
    else:
        graph.output(by_class, "scores", np.float32, ("n", K))


def support_vector_regressor(model: Any, graph: Graph, X: str) -> None:
    """Predictions by one product with the kernel."""
    found = graph.flat(_scores(model, graph, X))
    graph.output(found, "prediction", np.float32, ("n",))


def kernel_ridge(model: Any, graph: Graph, X: str) -> None:
    """Predictions by one product with the kernel and all training rows, or the landmarks."""
    _refuse_random_features(model)
    coef = np.asarray(model.dual_coef_, dtype=float)
    is_flat = coef.ndim == 1
    columns = coef[:, None] if is_flat else coef
    found = _expansion(graph, X, model.kernel_, model.X_fit_, columns.T, model.intercept_)
    shape = ("n",) if is_flat else ("n", columns.shape[1])
    graph.output(graph.flat(found) if is_flat else found, "prediction", np.float32, shape)


def scores_with_kernel(model: Any, graph: Graph, X: str) -> str:
    """Scores of a RiskRegressor or RiskClassifier with a kernel, (n, k)."""
    _refuse_random_features(model)
    coef = np.atleast_2d(model.dual_coef_)
    return _expansion(graph, X, model.features_.kernel, model.X_fit_, coef, model.intercept_)


def _scores(model: Any, graph: Graph, X: str) -> str:
    """Scores of the problems, (n, problems)."""
    if getattr(model, "rows_fit_", None) is not None or model.kernel == "precomputed":
        raise ExportError(
            f"{type(model).__name__} has a kernel of your own or a precomputed one, which cannot "
            "be exported; use a kernel of gapless."
        )
    features = vars(model).get("features_")
    if features is not None:
        _refuse_random_features(model)
        coef = features.dual_coef(np.asarray(model.feature_coef_, dtype=float).T).T
        return _expansion(graph, X, features.kernel, features.landmarks, coef, model.intercept_)
    is_paired = getattr(model, "multi_class_", None) == "ovo" and len(model.classes_) > 2
    coef = _of_pairs(model) if is_paired else _dense(model.dual_coef_)
    rows = model.support_vectors_
    return _expansion(graph, X, model.kernel_, rows, coef, model.intercept_)


def _expansion(graph: Graph, X: str, kernel: Any, rows: Any, coef: Array, intercept: Any) -> str:
    """Sums of kernel values with rows, and the bias, (n, k)."""
    values = _gram(graph, graph.doubled(X), kernel, _dense(rows))
    return graph.rounded(graph.affine(values, coef, np.atleast_1d(intercept)))


def _refuse_random_features(model: Any) -> None:
    if getattr(vars(model).get("features_"), "kind", None) == "random_features":
        raise ExportError(
            f"{type(model).__name__} has random features in place of its kernel, which cannot be "
            'exported; use approximation="nystroem".'
        )


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


def _sides(K: int) -> Array:
    """1 for the first class of each pair and −1 for its second, (pairs, K)."""
    pairs = [(i, j) for i in range(K) for j in range(i + 1, K)]
    sides = np.zeros((len(pairs), K))
    for k, (i, j) in enumerate(pairs):
        sides[k, i], sides[k, j] = 1.0, -1.0
    return sides


def _votes(graph: Graph, scores: str, K: int) -> str:
    """Votes of the pairs for their classes, (n, K)."""
    each = graph.constant(_sides(K))
    zero, one, less = graph.constant(0.0), graph.constant(1.0), graph.constant(-1.0)
    won = graph.apply("Where", graph.apply("GreaterOrEqual", scores, zero), one, less)
    votes = graph.apply("MatMul", won, each)
    half = graph.apply("Add", votes, graph.constant(K - 1.0))
    return graph.apply("Mul", half, graph.constant(0.5))


def _tie_breaker(graph: Graph, scores: str, K: int) -> str:
    """The sums of scores of each class, squeezed into (−1/3, 1/3)."""
    sums = graph.apply("MatMul", scores, graph.constant(_sides(K)))
    room = graph.apply("Add", graph.apply("Abs", sums), graph.constant(1.0))
    return graph.apply("Div", sums, graph.apply("Mul", room, graph.constant(3.0)))


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
    """Squared distances to rows, (n, m); from near their mean, where little is lost to rounding."""
    # On a coarse grid, so that whole numbers stay whole, and equal distances equal.
    grid = np.exp2(np.floor(np.log2(np.maximum(rows.std(axis=0), 1e-30))))
    centre = np.round(rows.mean(axis=0) / grid) * grid
    near = rows - centre
    moved = graph.apply("Sub", X, graph.constant(centre))
    own = graph.apply("ReduceSumSquare", moved, axes=[1], keepdims=1)
    others = graph.constant(np.sum(near**2, axis=1)[None, :])
    products = graph.apply("MatMul", moved, graph.constant(-2.0 * near.T))
    total = graph.apply("Add", graph.apply("Add", own, others), products)
    return graph.apply("Relu", total)


def absolute_distances(graph: Graph, X: str, rows: Array) -> str:
    """Sums of absolute differences to rows, (n, m)."""
    sizes = graph.apply("Abs", _differences(graph, X, rows))
    return graph.apply("ReduceSum", sizes, graph.constant([2], np.int64), keepdims=0)


def exact_distances(graph: Graph, X: str, rows: Array) -> str:
    """Distances to rows, (n, m), that are 0 for equal rows; they take the memory of n·m rows."""
    return graph.apply("ReduceL2", _differences(graph, X, rows), axes=[2], keepdims=0)


def _differences(graph: Graph, X: str, rows: Array) -> str:
    apart = graph.apply("Unsqueeze", X, graph.constant([1], np.int64))
    return graph.apply("Sub", apart, graph.constant(rows[None]))


def _dense(values: Any) -> Array:
    return values.toarray() if sp.issparse(values) else np.asarray(values, dtype=float)
