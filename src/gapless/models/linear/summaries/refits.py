"""Standard errors of coefficients by the bootstrap: refits to rows drawn with replacement.

Distinct rows are drawn in the order of their content with chances proportional to their weights, so
weight 2 is the row twice, and neither the order of the rows nor repeated rows change the result.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from ....unseen import Fitted, NotAvailable

Array = np.ndarray

# Draws that lack a class are drawn again, this often at most in a row.
MOST_TRIES = 100


# From how often each row was drawn to coefficients (K, d) and biases (K,).
Refit = Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True)
class Progress:
    """How far the refits are, as shown on the progress line."""

    done: int
    wanted: int

    def __str__(self) -> str:
        return f"{self.done} of {self.wanted} refits"


@dataclass(frozen=True, eq=False)
class Refits:
    """Coefficients (R, K, d) and biases (R, K) of R refits."""

    w: Array
    b: Array

    def ends(self, values: Array, level: float) -> tuple[Array, Array]:
        """The percentiles of coefficients or biases (R, …) that hold a share `level` of them."""
        low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high


def bootstrapped(
    model: Any, fitted: Fitted, refits: int, random_state: int, callback: Callable
) -> Refits:
    """Refit the model to draws of its rows; parameters that it tuned are tuned again."""
    rng = np.random.default_rng(random_state)
    refit = model._refit_to_draws(fitted)
    found = []
    for k in range(refits):
        found.append(refit(_drawn(fitted, rng)))
        callback(Progress(k + 1, refits), 0.0)
    w, b = (np.stack(parts) for parts in zip(*found))
    return Refits(w, b)


def refit_to_draws(model: Any, fitted: Fitted) -> Refit:
    """Refits of a model that minimises its objective, or of one that also tunes it."""
    return _tuned_again(model, fitted) if model._tuned() else _warm_started(fitted)


def _drawn(fitted: Fitted, rng: np.random.Generator) -> Array:
    """How often each row was drawn; a row stands for all rows equal to it."""
    labels, kept = fitted.distinct, np.flatnonzero(fitted.distinct >= 0)
    _, first = np.unique(labels[kept], return_index=True)
    weights = np.bincount(labels[kept], fitted.weights[kept])
    size = max(round(float(weights.sum())), 1)
    times = np.zeros(len(labels))
    for _ in range(MOST_TRIES):
        times[kept[first]] = rng.multinomial(size, weights / weights.sum())
        if not fitted.has_classes or _has_all_classes(fitted, times):
            return times
    raise NotAvailable("a class has so few rows that most draws have none of them")


def _has_all_classes(fitted: Fitted, times: Array) -> bool:
    drawn, counted = (np.unique(fitted.targets[rows > 0]) for rows in (times, fitted.is_counted))
    return len(drawn) == len(counted)


def _warm_started(fitted: Fitted) -> Refit:
    """Refits of the same objective, each started from the fit."""
    starts = [replace(q, theta=None) for q in fitted.parameters]

    def refit(times: Array) -> tuple[Array, Array]:
        problems = []
        for problem in fitted.problems:
            # Weights of classes, and what an offset makes of them, stay with their rows.
            share = np.divide(
                problem.weights,
                fitted.weights,
                out=np.zeros(problem.n),
                where=fitted.weights > 0,
            )
            weights = times * share
            penalty = fitted.penalty_for(problem, float(weights.sum()))
            problems.append(replace(problem, weights=weights, penalty=penalty))
        found = fitted.solve(problems, starts)
        w = np.concatenate([q.w.reshape(len(q.w), -1).T for q in found])
        return w, np.concatenate([np.atleast_1d(q.b) for q in found])

    return refit


def _tuned_again(model: Any, fitted: Fitted) -> Refit:
    """Refits of the whole estimator, with its choice of a strength."""
    X = fitted.design.X

    def refit(times: Array) -> tuple[Array, Array]:
        rows = np.flatnonzero(times)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit itself has warned
            other = clone(model).fit(X[rows], fitted.y[rows], sample_weight=times[rows])
        coef = np.atleast_2d(other.coef_)
        return coef, np.broadcast_to(other.intercept_, len(coef)).astype(float)

    return refit
