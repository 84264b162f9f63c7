"""A fitted model as plain data: coefficients, settings, and what it has tuned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ..models.boosting import BoostingTrace, metric_of
from ..models.decomposition import PCA
from ..models.linear import Path
from ..unseen import Search

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient of a linear model.

    Attributes
    ----------
    name : str
        The feature, after preparation.
    value : float
        The effect of one standard deviation of a number, or of the presence of a level, on the
        model's answer.
    per_unit : float
        The effect of one unit of the column.
    of : str
        The class it points to; "" for numbers.
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
    if isinstance(pipeline, Pipeline) and len(pipeline) > 2 and isinstance(pipeline[-2], PCA):
        # A weighted sum of components is one of the features that they are made of.
        weights = weights @ pipeline[-2].components_
        pipeline = Pipeline([*pipeline.steps[:-2], pipeline.steps[-1]])
    names = feature_names(pipeline, weights.shape[1])
    if len(names) != weights.shape[1]:
        return ()
    units = weights / _scales(pipeline, len(names))
    labels = [] if classes is None else [str(label) for label in classes]
    # One row of coefficients is for the second of two classes.
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
    """The names of the model's features; their positions if nothing is known.

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
    """The divisor of each feature in the preparation of a table; 1 if there was none."""
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


# More values than these are thinned out: a curve needs no more.
MOST_VALUES = 120
# Counted parameters, drawn on a linear axis; all others are logarithmic.
COUNTED = ("n_neighbors", "rounds")
# The names of chosen values in fitted models, and for people.
CHOSEN = {
    "C_": "C",
    "alpha_": "alpha",
    "gamma_": "gamma",
    "epsilon_": "epsilon",
    "n_neighbors_": "n_neighbors",
    "ccp_alpha_": "ccp_alpha",
    "min_samples_leaf_": "min_samples_leaf",
}


@dataclass(frozen=True, slots=True)
class Tuning:
    """A parameter tuned inside a fit, its values and their scores.

    Attributes
    ----------
    parameter : str
        The parameter, such as "C", "n_neighbors" or "rounds".
    values : tuple of float
        The values tried, in rising order; some of them if there are very many.
    unseen, standard_errors : tuple of float
        The score of unseen rows for each value, the larger the better, and its standard error; NaN
        if unknown. With several parameters, the best over the others.
    chosen, best : int
        Positions of the chosen value and of the one with the largest score.
    metric : str
        The name of the score.
    is_log : bool
        Whether the values are spread over orders of magnitude.
    """

    parameter: str
    values: tuple[float, ...]
    unseen: tuple[float, ...]
    standard_errors: tuple[float, ...]
    chosen: int
    best: int
    metric: str
    is_log: bool

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain strings, numbers and lists; None for what is not known."""
        plain = asdict(self)
        for name in ("values", "unseen", "standard_errors"):
            plain[name] = [x if math.isfinite(x) else None for x in plain[name]]
        return plain


def tuning_of(fitted: Any) -> Tuning | None:
    """What a fitted model tuned; None if nothing.

    Parameters
    ----------
    fitted : estimator
        A fitted model, or a pipeline with one at its end.

    Returns
    -------
    Tuning or None
    """
    model = _last(fitted)
    search = getattr(model, "search_", None)
    if isinstance(search, Search) and len(search.unseen):
        return _of_search(search)
    path = getattr(model, "path_", None)
    if isinstance(path, Path) and path.criterion is not None and path.chosen is not None:
        return _of_path(model, path)
    trace = getattr(model, "trace_", None)
    if isinstance(trace, BoostingTrace) and trace.validation is not None:
        return _of_rounds(model, trace)
    return None


def settings_of(fitted: Any) -> dict[str, Any]:
    """A fitted model's choices: its tuned parameters, and its size.

    Parameters
    ----------
    fitted : estimator
        A fitted model, or a pipeline with one at its end.

    Returns
    -------
    dict of str to int, float or str
    """
    model = _last(fitted)
    found = {
        name: _plain(getattr(model, attribute))
        for attribute, name in CHOSEN.items()
        if getattr(model, attribute, None) is not None and _is_open(model, name)
    }
    return found | _size_of(model)


def _last(fitted: Any) -> Any:
    """The model at the end of a pipeline."""
    steps = getattr(fitted, "steps", None)
    return steps[-1][1] if steps else fitted


def _is_open(model: Any, name: str) -> bool:
    """Whether a parameter was left to the fit: by its value, or by a class without it."""
    return not isinstance(getattr(model, name, None), Real)


def _plain(value: Any) -> Any:
    """A number as Python's own; the first of several equal ones."""
    if isinstance(value, np.ndarray):
        value = value.ravel()[0] if value.size else None
    return value.item() if isinstance(value, np.generic) else value


def _size_of(model: Any) -> dict[str, Any]:
    """The size of a model: rounds, trees, leaves, or nonzero coefficients."""
    if isinstance(getattr(model, "trace_", None), BoostingTrace):
        return {"rounds": len(model.trees_), "max_leaf_nodes": model.max_leaf_nodes}
    if hasattr(model, "n_estimators"):
        return {"trees": int(model.n_estimators)}
    if hasattr(model, "tree_") and hasattr(model, "ccp_alpha"):
        return {"leaves": int(model.get_n_leaves()), "depth": int(model.get_depth())}
    if isinstance(getattr(model, "support_", None), np.ndarray) and len(model.support_):
        return {"support_vectors": len(model.support_)}
    if hasattr(model, "path_") and hasattr(model, "coef_"):
        used = np.any(np.atleast_2d(model.coef_) != 0, axis=0)
        return {"features_used": int(np.sum(used)), "features": len(used)}
    return {}


# ---- what was tried ------------------------------------------------------------------------------


def _of_search(search: Search) -> Tuning:
    """Scores by the first parameter, the best over the others; later results use more rows."""
    parameter = next(iter(search.values))
    tried = np.asarray(search.values[parameter], dtype=float)
    is_whole = search.rows == search.rows.max()
    at = {float(tried[k]): int(k) for k in _from_worst(search.unseen) if is_whole[k]}
    at[float(tried[search.chosen])] = search.chosen
    values = sorted(at)
    places = [at[value] for value in values]
    return _tuning(
        parameter,
        values,
        search.unseen[places],
        search.standard_errors[places],
        values.index(float(tried[search.chosen])),
        search.metric,
    )


def _of_path(model: Any, path: Path) -> Tuning:
    assert path.criterion is not None and path.chosen is not None
    errors = np.full(len(path.criterion), np.nan)
    if path.criterion_errors is not None:
        errors = path.criterion_errors
    order = np.argsort(path.strengths)
    return _tuning(
        model._strength_name,
        path.strengths[order],
        path.criterion[order],
        errors[order],
        int(np.flatnonzero(order == path.chosen)[0]),
        _metric_of(model),
    )


def _of_rounds(model: Any, trace: BoostingTrace) -> Tuning:
    scores = -np.asarray(trace.validation)
    rounds = np.arange(len(scores), dtype=float)
    nothing = np.full(len(scores), np.nan)
    return _tuning("rounds", rounds, scores, nothing, len(model.trees_), metric_of(model.loss_))


def _metric_of(model: Any) -> str:
    """The score that tunes models: their own loss, on left-out rows."""
    if is_regressor(model):
        return "neg_mean_squared_error"
    # A machine is tuned by its hinge; its probabilities come later.
    has_likelihood = hasattr(model, "predict_proba") and not hasattr(model, "probabilities_")
    return "neg_log_loss" if has_likelihood else "neg_loss"


def _from_worst(scores: Array) -> Array:
    """Positions in the order of rising scores; unknown ones first."""
    return np.argsort(np.where(np.isnan(scores), -np.inf, scores), kind="stable")


def _tuning(
    parameter: str,
    values: Sequence[float] | Array,
    unseen: Array,
    errors: Array,
    chosen: int,
    metric: str,
) -> Tuning:
    best = int(_from_worst(unseen)[-1])
    kept = np.linspace(0, len(unseen) - 1, min(len(unseen), MOST_VALUES)).round().astype(int)
    kept = np.union1d(kept, [chosen, best])
    return Tuning(
        parameter,
        tuple(float(values[k]) for k in kept),
        tuple(float(unseen[k]) for k in kept),
        tuple(float(errors[k]) for k in kept),
        int(np.searchsorted(kept, chosen)),
        int(np.searchsorted(kept, best)),
        metric,
        parameter not in COUNTED,
    )
