"""Linear models: scores by one product, then the mean, or the class and its probability."""

from __future__ import annotations

from typing import Any

import numpy as np

from .graph import ExportError, Graph
from .kernels import scores_with_kernel

Array = np.ndarray


def regressor(model: Any, graph: Graph, X: str) -> None:
    """Predictions Xw + b, or what the link of the loss makes of them."""
    found = means(graph, _scores(model, graph, X), model)
    if np.ndim(model.coef_) == 1:
        graph.output(graph.flat(found), "prediction", np.float32, ("n",))
    else:
        graph.output(found, "prediction", np.float32, ("n", len(model.coef_)))


def classifier(model: Any, graph: Graph, X: str) -> None:
    """Classes, with their probabilities if the loss has some, else with their scores."""
    # Losses of several classes have a score for each even where there are two.
    per_class = len(np.atleast_2d(model.coef_)) == len(model.classes_)
    answer_by_loss(graph, _scores(model, graph, X), model, per_class=per_class)


def _scores(model: Any, graph: Graph, X: str) -> str:
    if "features_" in vars(model):
        return scores_with_kernel(model, graph, X)
    return graph.affine(X, model.coef_, model.intercept_)


def answer_by_loss(graph: Graph, scores: str, model: Any, *, per_class: bool = False) -> None:
    """Labels, with probabilities by the loss of a classifier or else with scores."""
    K = len(model.classes_)
    probabilities = probabilities_of(graph, scores, model, K)
    if K == 2 and per_class:
        first, second = graph.apply_several("Split", 2, scores, axis=1)
        scores = graph.apply("Sub", second, first)
    if K == 2:
        chosen = graph.is_positive(scores)
        scores = graph.flat(scores)
    else:
        chosen = graph.largest(scores)
    graph.labels(chosen, model.classes_)
    if probabilities is not None:
        graph.output(probabilities, "probabilities", np.float32, ("n", K))
    else:
        graph.output(scores, "scores", np.float32, ("n",) if K == 2 else ("n", K))


def probabilities_of(graph: Graph, scores: str, model: Any, K: int) -> str | None:
    """Probabilities of the classes from scores, (n, K); None where the loss has none."""
    name = loss_name(model)
    if name == "softmax":
        return graph.apply("Softmax", scores, axis=1)
    if name not in ("logistic", "exponential"):
        return None
    if name == "exponential":
        scores = graph.apply("Mul", scores, graph.constant(2.0))
    if K == 2:
        second = graph.apply("Sigmoid", scores)
        first = graph.apply("Sigmoid", graph.apply("Neg", scores))
        return graph.beside(first, second)
    # One class against the rest, made to sum to 1: from logarithms, since all may underflow.
    cost = graph.apply("Softplus", graph.apply("Neg", scores))
    return graph.apply("Softmax", graph.apply("Neg", cost), axis=1)


def means(graph: Graph, scores: str, model: Any) -> str:
    """Means from scores, by the link of the model."""
    at = np.array([-1.0, 0.0, 2.0])
    found = model._respond(at)
    if np.array_equal(found, at):
        return scores
    # Every link that is not the identity is the logarithm.
    if not np.allclose(found, np.exp(at)):
        raise ExportError(
            f"the link of {type(model).__name__} cannot be exported; only logarithms and none can."
        )
    return graph.apply("Exp", scores)


def loss_name(model: Any) -> str | None:
    """The name of the loss whose link gives probabilities; None if there is none."""
    if not hasattr(model, "predict_proba"):
        return None
    if hasattr(model, "priors_"):  # discriminants, whose scores are those of these losses
        return "softmax" if len(model.classes_) > 2 else "logistic"
    if hasattr(model, "_loss_of_probabilities"):
        loss = model._loss_of_probabilities()
        return None if loss is None else loss.name
    loss = getattr(model, "loss_", None)
    return loss.name if loss is not None and loss.has_probabilities else None
