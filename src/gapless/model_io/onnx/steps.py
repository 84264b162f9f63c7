"""What comes before a model in a pipeline: scalers, mean imputation, components."""

from __future__ import annotations

from typing import Any

import numpy as np

from .graph import ExportError, Graph


def standard_scaler(step: Any, graph: Graph, X: str) -> str:
    """(x − mean) / scale."""
    return _scaled(graph, X, step.mean_ if step.with_mean else None, step.scale_)


def robust_scaler(step: Any, graph: Graph, X: str) -> str:
    """(x − median) / range of quantiles."""
    return _scaled(graph, X, step.center_, step.scale_)


def max_abs_scaler(step: Any, graph: Graph, X: str) -> str:
    """x / largest absolute value."""
    return _scaled(graph, X, None, step.scale_)


def min_max_scaler(step: Any, graph: Graph, X: str) -> str:
    """x · scale + shift, within the range on request."""
    # Written around the smallest value, where little is lost to rounding.
    low, high = step.feature_range
    moved = graph.apply("Sub", X, graph.constant(step.data_min_))
    found = graph.apply("Mul", moved, graph.constant(step.scale_))
    found = graph.apply("Add", found, graph.constant(float(low)))
    if not step.clip:
        return found
    return graph.apply("Clip", found, graph.constant(float(low)), graph.constant(float(high)))


def simple_imputer(step: Any, graph: Graph, X: str) -> str:
    """Missing values as the statistic of their column."""
    is_nan = isinstance(step.missing_values, float) and np.isnan(step.missing_values)
    if not is_nan or step.add_indicator or np.any(np.isnan(step.statistics_.astype(float))):
        raise ExportError(
            "SimpleImputer can be exported for missing_values=nan without indicators, if no column "
            "is missing as a whole."
        )
    return graph.apply("Where", graph.apply("IsNaN", X), graph.constant(step.statistics_), X)


def components(step: Any, graph: Graph, X: str) -> str:
    """(x − mean) · componentsᵀ, each divided by its deviation if whitened."""
    directions = np.asarray(step.components_, dtype=float)
    if getattr(step, "whiten", False):
        directions = directions / np.sqrt(step.explained_variance_)[:, None]
    mean = getattr(step, "mean_", None)
    moved = X if mean is None else graph.apply("Sub", X, graph.constant(mean))
    return graph.apply("MatMul", moved, graph.constant(directions.T))


def unchanged(step: Any, graph: Graph, X: str) -> str:
    """The rows as they are."""
    return X


def _scaled(graph: Graph, X: str, centre: Any, scale: Any) -> str:
    if centre is not None:
        X = graph.apply("Sub", X, graph.constant(centre))
    return X if scale is None else graph.apply("Div", X, graph.constant(scale))
