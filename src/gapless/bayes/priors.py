"""Priors of classes: given, uniform, counted, or counted and smoothed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .rests import left_over, log_ratio

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Priors:
    """How the probabilities of the classes follow from their weights.

    Parameters
    ----------
    given : ndarray of shape (classes,) or None
        Probabilities that do not depend on the data.
    extra : float
        What is added to the weight of each class before it is counted: 1 for Laplace's rule.
    """

    given: Array | None
    extra: float = 0.0

    @classmethod
    def read(cls, given: Any, classes: int, *, is_fitted: bool, is_smoothed: bool) -> Priors:
        """The priors that the parameters of an estimator ask for, or an error."""
        if given is None:
            uniform = None if is_fitted else np.full(classes, 1.0 / classes)
            return cls(uniform, 1.0 if is_smoothed else 0.0)
        values = np.array(given, dtype=np.float64)
        if values.shape != (classes,):
            raise ValueError(
                f"Number of priors must match number of classes: got {values.size} for {classes}."
            )
        if np.any(values < 0) or not np.all(np.isfinite(values)):
            raise ValueError(f"Priors must be non-negative, got {values.tolist()}.")
        return cls(values)

    def shares(self, count: Array) -> Array:
        """The probabilities, (classes,), from the weight of each class."""
        if self.given is not None:
            return self.given
        raised = count + self.extra
        return raised / raised.sum()

    def log(self, count: Array) -> Array:
        """Their logarithms; −∞ for a class without rows, unless it is given or smoothed."""
        with np.errstate(divide="ignore"):
            return np.log(self.shares(count))

    def log_without(self, count: Array, own: Array) -> Array:
        """Log priors (n, classes) without what `own` (n, classes) says of the weight of each class.

        A class of which nothing is left has −∞, whatever its prior: it would not be known.
        """
        left = left_over(count, own)
        raised = left + self.extra
        with np.errstate(divide="ignore"):
            if self.given is not None:
                log = np.tile(np.log(self.given), (len(own), 1))
            else:
                log = np.log(raised) - np.log(raised.sum(axis=1, keepdims=True))
        log[(left == 0) & (own > 0)] = -np.inf
        return log

    def costs(self, count: Array, log_prior: Array) -> tuple[float, float]:
        """−Σ w log π of stored log priors, and the least that any have; w is what is counted."""
        target = count.sum() * self.given if self.given is not None else count + self.extra
        return cross_entropy(target, log_prior), cross_entropy(
            target, log_ratio(target, target.sum(axis=-1, keepdims=True))
        )


def cross_entropy(weights: Array, log_p: Array) -> float:
    """Σ W eˡ − w l over all entries, W being the sum of w along the last axis.

    At its least, which is reached by l = log(w/W) alone, this is Σ −w l + Σ w (Gibbs): what does
    not sum to 1 costs more, too.
    """
    total = weights.sum(axis=-1, keepdims=True)
    is_there = weights > 0
    with np.errstate(over="ignore"):
        mass = float(np.sum(total * np.exp(log_p)))
    return mass - float(np.sum(weights[is_there] * log_p[is_there]))
