"""Linear models: scores by one product, then the mean, or the class and its probability."""

from __future__ import annotations

from typing import Any

import numpy as np

from .graph import ExportError, Graph

Array = np.ndarray


def regressor(model: Any, graph: Graph, X: str) -> None:
    """Predictions Xw + b, or what the link of the loss makes of them."""
    coef = np.asarray(model.coef_, dtype=float)
    found = means(graph, graph.affine(X, coef, model.intercept_), loss_of(model))
    if coef.ndim == 1:
        graph.output(graph.flat(found), "prediction", np.float32, ("n",))
    else:
        graph.output(found, "prediction", np.float32, ("n", len(coef)))


def classifier(model: Any, graph: Graph, X: str) -> None:
    """Classes, with their probabilities if the loss has some, else with their scores."""
    answer_by_loss(graph, graph.affine(X, model.coef_, model.intercept_), model)


def answer_by_loss(graph: Graph, scores: str, model: Any) -> None:
    """Labels, with probabilities by the loss of a classifier or else with scores."""
    K = len(model.classes_)
    probabilities = probabilities_of(graph, scores, model, K)
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
    if name == "softmax" or (name is None and hasattr(model, "priors_") and K > 2):
        return graph.apply("Softmax", scores, axis=1)
    if name not in ("logistic", "exponential", None) or (name is None and not _is_lda(model)):
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


def means(graph: Graph, scores: str, loss: Any) -> str:
    """Means from scores, by the link of the loss."""
    if loss is None or not loss.has_link:
        return scores
    # Every link that is not the identity is the logarithm.
    at = np.array([-1.0, 0.0, 2.0])
    if not np.allclose(loss.inverse_link(at), np.exp(at)):
        raise ExportError(
            f"the link of loss={loss.name!r} cannot be exported; only logarithms and none can."
        )
    return graph.apply("Exp", scores)


def loss_of(model: Any) -> Any:
    """The loss that was minimised, where the model knows it; None for squares."""
    if hasattr(model, "loss_"):
        return model.loss_
    own = getattr(model, "_loss", None)
    return own() if callable(own) else None


def loss_name(model: Any) -> str | None:
    """The name of the loss whose link gives probabilities; None if there is none."""
    if not hasattr(model, "predict_proba"):
        return None
    if hasattr(model, "_loss_of_probabilities"):
        loss = model._loss_of_probabilities()
        return None if loss is None else loss.name
    loss = getattr(model, "loss_", None)
    return loss.name if loss is not None and loss.has_probabilities else None


def _is_lda(model: Any) -> bool:
    return hasattr(model, "priors_") and hasattr(model, "coef_")
