"""Coefficients of linear models of tables: by name, and in the units of the table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient of a linear model.

    Attributes
    ----------
    name : str
        The feature, after preparation.
    value : float
        What one standard deviation of a number, or the presence of a level, adds to the answer of
        the model.
    per_unit : float
        What one unit of the column adds.
    of : str
        The class it speaks for; "" for numbers.
    """

    name: str
    value: float
    per_unit: float
    of: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain strings and numbers."""
        return asdict(self)


def coefficients_of(pipeline: Any, classes: Any = None) -> tuple[Coefficient, ...]:
    """The coefficients of a fitted pipeline that are not 0, the largest first.

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline or estimator
        Preparation and model, fitted; or a model alone.
    classes : array-like or None, default=None
        The classes, sorted.

    Returns
    -------
    tuple of Coefficient
        Empty for models that are not linear.
    """
    coef = getattr(last_of(pipeline), "coef_", None)
    if coef is None:
        return ()
    weights = np.atleast_2d(coef.toarray() if sp.issparse(coef) else np.asarray(coef, dtype=float))
    names = feature_names(pipeline, weights.shape[1])
    if len(names) != weights.shape[1]:
        return ()
    units = weights / _scales(pipeline, len(names))
    labels = [] if classes is None else [str(label) for label in classes]
    # One row of coefficients speaks for the second of two classes.
    speaks = labels if len(weights) == len(labels) else labels[1:2] * len(weights) or [""]
    order = np.argsort(-np.abs(weights), axis=None, kind="stable")
    places = (divmod(int(k), weights.shape[1]) for k in order)
    return tuple(
        Coefficient(names[j], float(weights[i, j]), float(units[i, j]), speaks[i % len(speaks)])
        for i, j in places
        if weights[i, j] != 0 and np.isfinite(weights[i, j])
    )


def last_of(pipeline: Any) -> Any:
    """The model at the end of a pipeline, or the model itself."""
    return pipeline[-1] if isinstance(pipeline, Pipeline) else pipeline


def feature_names(pipeline: Any, width: int) -> list[str]:
    """What the features are called that the model is given; by their position if nothing is known.

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline or estimator
        Preparation and model, fitted; or a model alone.
    width : int
        The number of features of the model.
    """
    if isinstance(pipeline, Pipeline) and len(pipeline) > 1:
        try:
            return [str(name) for name in pipeline[:-1].get_feature_names_out()]
        except (AttributeError, ValueError):
            # Parts without names, or fitted to arrays.
            pass
    names = getattr(last_of(pipeline), "feature_names_in_", None)
    return [f"x{k}" for k in range(width)] if names is None else [str(name) for name in names]


def _scales(pipeline: Any, width: int) -> Array:
    """By what each feature was divided in the preparation of a table; 1 where it was not."""
    scales = np.ones(width)
    steps = pipeline[:-1] if isinstance(pipeline, Pipeline) else []
    for step in steps:
        if isinstance(step, StandardScaler):
            scales *= _scale_of(step, width)
        elif isinstance(step, ColumnTransformer):
            for name, part, _ in step.transformers_:
                where = step.output_indices_[name]
                scaler = last_of(part)
                if isinstance(scaler, StandardScaler):
                    scales[where] *= _scale_of(scaler, where.stop - where.start)
    return scales


def _scale_of(scaler: StandardScaler, width: int) -> Array:
    found = np.ones(width) if scaler.scale_ is None else scaler.scale_
    return found if len(found) == width else np.ones(width)
