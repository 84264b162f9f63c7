"""Predictions from held-out scores and their losses, row by row, for any family of models.

Regressors answer with numbers, and lose the square of their errors (or their own loss if it does
not aim at a mean, such as a quantile's). Classifiers answer with probabilities, and lose the
squared distance to the true class (Brier 1950), which is bounded and rewards both accuracy and
calibration. Scores without probabilities get some by a softmax of a·score + b, fitted to the
training rows: a model that has learned these by heart is as sure of others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import is_classifier

from .._ground.threads import single_blas
from .scores import Judge

Array = np.ndarray
# Used for the logarithm of a probability of 0.
LOWEST = -1e3


@dataclass(frozen=True, eq=False)
class Answering:
    """Turns the scores z (n, K) of a fit into answers (n, K), and these into losses (n,)."""

    judge: Judge
    fitted: Any

    @cached_property
    def has_classes(self) -> bool:
        """Whether the answers are probabilities."""
        return is_classifier(self.judge.model)

    @cached_property
    def targets(self) -> Array:
        """The ideal answers: numbers, or 1 for the true class, (n, K)."""
        y = self.judge.y.reshape(len(self.judge.y), -1)
        if not self.has_classes:
            return y.astype(float)
        classes = self.judge.model.classes_
        if not isinstance(classes, list) and y.shape[1] > 1:
            return y.astype(float)  # several labels, each a class that a row has or has not
        classes = classes if isinstance(classes, list) else [classes]
        return np.hstack([(y[:, [k]] == of).astype(float) for k, of in enumerate(classes)])

    def answers(self, z: Array, link: Link | None = None) -> Array:
        """Answers for rows with scores; NaN for the others."""
        rows = np.flatnonzero(np.all(np.isfinite(z), axis=1))
        twin = self.judge.model._standing_in(z)
        if not self.has_classes:
            found = twin.predict(rows[:, None])
        elif link is None:
            found = twin.predict_proba(rows[:, None])
        else:
            found = link(_scores(twin, rows))
        found = np.hstack(found) if isinstance(found, list) else np.asarray(found, dtype=float)
        out = np.full(self.targets.shape, np.nan)
        out[rows] = found.reshape(len(rows), -1)
        return out

    def link(self, fitted: Any) -> Link | None:
        """How scores become probabilities that are calibrated on the training rows.

        None if the model has its own probabilities, or no classes.
        """
        if not self.has_classes or fitted.has_probabilities:
            return None
        z = fitted.predictions
        rows = np.flatnonzero(np.all(np.isfinite(z), axis=1) & (self.judge.weights > 0))
        scores = _scores(self.judge.model._standing_in(z), rows)
        return Link.fitted(scores, self.targets[rows], self.judge.weights[rows])

    def losses(self, answers: Array) -> Array:
        """The losses of answers, (n,)."""
        loss = self.fitted.asymmetric_loss
        if loss is not None:
            return loss.value(self.targets, answers).sum(axis=1)
        if self.has_classes:
            answers = np.clip(answers, 0.0, 1.0)
        return np.sum((self.targets - answers) ** 2, axis=1)

    def score(self, answers: Array) -> float | None:
        """The score of answers, if it can be computed for any: R² and accuracy."""
        rows = np.all(np.isfinite(answers), axis=1) & (self.judge.weights > 0)
        y, p, w = self.targets[rows], answers[rows], self.judge.weights[rows]
        if self.judge.metric == "R²":
            spread = np.average((y - np.average(y, axis=0, weights=w)) ** 2, axis=0, weights=w)
            left = np.average((y - p) ** 2, axis=0, weights=w)
            return float(np.mean(1 - left / spread)) if np.all(spread > 0) else None
        if self.judge.metric == "accuracy" and np.all(y.sum(axis=1) == 1):
            return float(np.average(y.argmax(axis=1) == p.argmax(axis=1), weights=w))
        return None


@dataclass(frozen=True, eq=False)
class Link:
    """Probabilities softmax(slope·score + shift) of scores (n,) or (n, K)."""

    slope: float
    shift: Array
    scale: float

    @classmethod
    def fitted(cls, scores: Array, targets: Array, weights: Array) -> Link:
        """The most likely link with a slope ≥ 0."""
        s = _by_class(scores)
        scale = float(np.sqrt(np.average(np.var(s, axis=1), weights=weights))) or 1.0
        s, w = s / scale, weights / weights.sum()

        def cost(at: Array) -> tuple[float, Array]:
            slope, shift = np.exp(at[0]), np.append(0.0, at[1:])
            logs = log_softmax(slope * s + shift, axis=1)
            off = w[:, None] * (np.exp(logs) - targets)
            slopes = np.append(slope * np.sum(off * s), off.sum(axis=0)[1:])
            # A little ridge keeps separable scores from endless steps.
            value = -float(w @ np.sum(targets * logs, axis=1)) + 1e-4 * float(at @ at)
            return value, slopes + 2e-4 * at

        # A few numbers a step: threads of BLAS would wait for each other most of the time.
        with single_blas():
            found = minimize(cost, np.zeros(s.shape[1]), jac=True, method="L-BFGS-B").x
        return cls(float(np.exp(found[0])), np.append(0.0, found[1:]), scale)

    def __call__(self, scores: Array) -> Array:
        """The probabilities of all classes, (n, K)."""
        return softmax(self.slope * _by_class(scores) / self.scale + self.shift, axis=1)


def _scores(model: Any, rows: Array) -> Array:
    """Scores of classes, or logarithms of their probabilities if a model has no others."""
    if hasattr(model, "decision_function"):
        return model.decision_function(rows[:, None])
    if hasattr(model, "predict_log_proba"):
        logs = model.predict_log_proba(rows[:, None])
    else:
        with np.errstate(divide="ignore"):
            logs = np.log(model.predict_proba(rows[:, None]))
    return np.clip(logs - logs.max(axis=1, keepdims=True), LOWEST, 0.0)


def _by_class(scores: Array) -> Array:
    """Scores of all classes; with two, the first has 0."""
    scores = np.clip(np.asarray(scores, dtype=float), -1e100, 1e100)
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores
