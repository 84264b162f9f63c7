"""Maps from scores to probabilities, fitted to rows whose classes are known.

A sigmoid has two numbers to fit and does with few rows; steps take any rising shape, and need more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from .._ground.stored import Declaration, Number, Numbers

Array = np.ndarray

# When a line is fitted well enough, by what a step would gain for each row.
NEWTON_STEPS, ENOUGH = 100, 1e-18


@dataclass(frozen=True, eq=False)
class Sigmoid:
    """p = σ(slope·s + shift)."""

    _stored: ClassVar[Declaration] = {"slope": Number(), "shift": Number()}
    slope: float
    shift: float

    @classmethod
    def fit(cls, scores: Array, is_true: Array, weights: Array) -> Sigmoid:
        """The likeliest one, for Platt's targets (N + 1)/(N + 2) in place of 1."""
        target = _targets(is_true, weights)
        size = float(np.sqrt(np.average(scores**2, weights=weights))) or 1.0
        slope, shift = _likeliest_line(scores / size, target, weights)
        if slope > 0:
            return cls(slope / size, shift)
        # Scores that point the wrong way say nothing: everyone has the share of the class.
        return cls(0.0, float(logit(np.average(target, weights=weights))))

    def __call__(self, scores: Array) -> Array:
        """Probabilities of rows with these scores."""
        return expit(self.slope * scores + self.shift)


def _likeliest_line(x: Array, target: Array, weights: Array) -> tuple[float, float]:
    """(a, b) of least Σ weight·(log(1 + exp(ax + b)) − target·(ax + b)), by Newton's method.

    No target is 0 or 1, so that there is a minimiser; halved steps find it from anywhere.
    """
    A = np.column_stack([x, np.ones(len(x))])
    # Scores that are all equal leave the slope open: a hair of a penalty makes it 0.
    hair = 1e-12 * float(weights.sum())

    def objective(at: Array) -> float:
        z = A @ at
        return float(weights @ (np.logaddexp(0.0, z) - target * z) + hair * at @ at / 2)

    at = np.zeros(2)
    value = objective(at)
    for _ in range(NEWTON_STEPS):
        p = expit(A @ at)
        gradient = A.T @ (weights * (p - target)) + hair * at
        curvature = (A.T * (weights * p * (1 - p))) @ A + hair * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        if gradient @ step <= ENOUGH * float(weights.sum()):
            break
        length = 1.0
        while (new := objective(at - length * step)) > value and length > 1e-10:
            length /= 2
        at, value = at - length * step, min(new, value)
    return float(at[0]), float(at[1])


@dataclass(frozen=True, eq=False)
class Steps:
    """Probabilities at rising scores, and straight lines between them."""

    _stored: ClassVar[Declaration] = {
        "scores": Numbers("steps"),
        "values": Numbers("steps", low=0.0, high=1.0),
    }
    scores: Array
    values: Array

    @classmethod
    def fit(cls, scores: Array, is_true: Array, weights: Array) -> Steps:
        """Isotonic least squares, as far from 0 and 1 as Platt's targets are."""
        target = _targets(is_true, weights)
        model = IsotonicRegression(y_min=target.min(), y_max=target.max())
        model.fit(scores, is_true, sample_weight=weights)
        return cls(model.X_thresholds_, model.y_thresholds_)

    def __call__(self, scores: Array) -> Array:
        """Probabilities of rows with these scores."""
        return np.interp(scores, self.scores, self.values)


def _targets(is_true: Array, weights: Array) -> Array:
    """(N + 1)/(N + 2) for the N rows that are true, 1/(N + 2) for the N others (Platt 1999)."""
    yes, no = weights @ is_true, weights @ (1 - is_true)
    return np.where(is_true > 0, (yes + 1) / (yes + 2), 1 / (no + 2))


def mapped(maps: list[Any], scores: Array) -> Array:
    """Probabilities (n, K) from scores, by a map for each class, or one for two classes."""
    columns = [one(column) for one, column in zip(maps, scores.T)]
    if len(columns) == 1:
        return np.column_stack([1 - columns[0], columns[0]])
    p = np.column_stack(columns)
    return p / p.sum(axis=1, keepdims=True)
