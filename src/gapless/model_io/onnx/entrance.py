"""`to_onnx`, and which models and steps it can write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from . import kernels, linear, neighbors, steps, trees
from .graph import ExportError, Graph

Step = Callable[[Any, Graph, str], str]
Model = Callable[[Any, Graph, str], None]

# The modules of models that are their coefficients.
LINEAR = (
    "gapless.models.linear.",
    "gapless.models.risk.",
    "gapless.models.stochastic.",
    "gapless.models.bayes.linear_discriminant",
)
STEPS: dict[str, Step] = {
    "StandardScaler": steps.standard_scaler,
    "RobustScaler": steps.robust_scaler,
    "MaxAbsScaler": steps.max_abs_scaler,
    "MinMaxScaler": steps.min_max_scaler,
    "SimpleImputer": steps.simple_imputer,
    "PCA": steps.components,
    "TruncatedSVD": steps.components,
}
MODELS: dict[str, Model] = {
    **dict.fromkeys(
        ("DecisionTreeClassifier", "RandomForestClassifier", "ExtraTreesClassifier"),
        trees.classifier,
    ),
    **dict.fromkeys(
        ("DecisionTreeRegressor", "RandomForestRegressor", "ExtraTreesRegressor"), trees.regressor
    ),
    **dict.fromkeys(
        ("HistGradientBoostingClassifier", "GradientBoostingClassifier"), trees.boosted_classifier
    ),
    **dict.fromkeys(
        ("HistGradientBoostingRegressor", "GradientBoostingRegressor"), trees.boosted_regressor
    ),
    **dict.fromkeys(("SVC", "NuSVC"), kernels.support_vector_classifier),
    **dict.fromkeys(("SVR", "NuSVR"), kernels.support_vector_regressor),
    "KernelRidge": kernels.kernel_ridge,
    "KNeighborsClassifier": neighbors.classifier,
    "KNeighborsRegressor": neighbors.regressor,
}


def to_onnx(model: Any) -> Any:
    """A fitted model as an ONNX graph.

    Its input `X` has one float32 row for each row to predict. A classifier's outputs are `label`
    and `probabilities`, or `scores` where the loss has no probabilities (support vector machines
    compute theirs from held-out scores, which stay behind); a regressor's is `prediction`, and that
    of a scaler or of components is `transformed`. Classes True and False are 1 and 0. Numbers are
    those of the model up to the rounding of float32.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted linear model, tree, forest, gradient boosting, support vector machine, kernel ridge
        or nearest-neighbour model of gapless; a scaler, `SimpleImputer`, `PCA` or `TruncatedSVD`;
        or a pipeline of scikit-learn's that ends with one of either kind, after such steps.

    Returns
    -------
    onnx.ModelProto
        `onnx.save(found, path)` writes it to a file.

    Raises
    ------
    ValueError
        If the model cannot be exported; the message says why.
    ImportError
        If the package onnx is missing: `pip install "gapless[onnx]"`.

    Examples
    --------
    >>> from gapless import Ridge, to_onnx
    >>> graph = to_onnx(Ridge().fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0])).graph
    >>> [output.name for output in graph.output]
    ['prediction']
    """
    try:
        import onnx
    except ImportError:
        raise ImportError(
            'to_onnx needs the package onnx; install it with: pip install "gapless[onnx]"'
        ) from None
    parts = _parts(model)
    if not parts:
        raise ExportError("the pipeline has no step, so there is nothing to export.")
    for part in parts:
        check_is_fitted(part)
    *before, last = parts
    graph = Graph(onnx, int(parts[0].n_features_in_))
    X = Graph.ROWS
    for step in before:
        X = _found(step, STEPS)(step, graph, X)
    if type(last).__name__ in STEPS:
        found = STEPS[type(last).__name__](last, graph, X)
        graph.output(found, "transformed", np.float32, ("n", "k"))
    else:
        _writer(last)(last, graph, X)
    return graph.model(f"{type(last).__name__}, exported by gapless")


def _parts(model: Any) -> list[Any]:
    """The steps, also those of pipelines within, and the model."""
    if not isinstance(model, Pipeline):
        return [] if model is None or model == "passthrough" else [model]
    return [part for _, step in model.steps for part in _parts(step)]


def _writer(model: Any) -> Model:
    """What writes a model: by its name, and any other that has coefficients."""
    if type(model).__module__.startswith(LINEAR) and hasattr(model, "coef_"):
        return linear.classifier if is_classifier(model) else linear.regressor
    return _found(model, MODELS)


def _found(part: Any, known: dict[str, Any]) -> Any:
    name = type(part).__name__
    if name not in known or not (_is_ours(part) or known is STEPS):
        raise ExportError(
            f"{type(part).__module__}.{name} cannot be exported to ONNX; of gapless, linear models "
            f"and {', '.join(sorted(MODELS))} can, after {', '.join(sorted(STEPS))}."
        )
    return known[name]


def _is_ours(model: Any) -> bool:
    return type(model).__module__.startswith("gapless.")
