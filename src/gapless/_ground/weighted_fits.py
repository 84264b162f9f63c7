"""How foreign models receive the weights of rows: by which argument of fit, if any."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter


def weight_argument(model: Any) -> str:
    """The name of the weight argument of `model.fit`; "" for a model without one.

    For a pipeline it is that of the last step, which may itself be a pipeline.
    """
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        inner = weight_argument(last)
        return f"{name}__{inner}" if inner else ""
    # A search over parameters passes on whatever it is given.
    kinds = {parameter.kind for parameter in signature(model.fit).parameters.values()}
    takes_any = Parameter.VAR_KEYWORD in kinds
    return "sample_weight" if takes_any or has_fit_parameter(model, "sample_weight") else ""


def weight_options(model: Any, weights: Any) -> dict[str, Any]:
    """Weights as an argument of `model.fit`, or an error for a model without one."""
    if weights is None:
        return {}
    name = weight_argument(model)
    if not name:
        last = model[-1] if isinstance(model, Pipeline) else model
        raise ValueError(
            f"{type(last).__name__} does not accept sample_weight; leave it out, or repeat rows "
            "instead."
        )
    return {name: weights}
