"""Objectives without a minimiser: separable data and no penalty.

Called by `certificates` alone. The objective falls for ever along a direction, so its infimum is
reached nowhere, and a gap to it would say nothing about the coefficients.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from .dual_points import LARGEST_GRAM, FreeColumns
from .problem import Problem

Array = np.ndarray
FAR = 60.0  # a score at which exp(−z) is below rounding, and above the smallest number


def recedes(problem: Problem, w: Array, b: Array, z: Array) -> bool:
    """Whether the objective falls for ever along a direction that the parameters point in.

    Only coefficients that cost nothing may grow for ever: their part of (w, b) is the direction,
    moved off the rows that the loss still pulls on, as those are not separated.
    """
    w = np.where(_costs_nothing(problem, w), w, 0.0)
    b = b if problem.fit_bias else np.zeros_like(b)
    if not (np.any(w) or np.any(b)) or not _has_asymptote(problem):
        return False
    scores = problem.predictions(w, b) if np.any(w) else np.zeros_like(z) + b
    if _falls_forever(problem, scores):
        return True
    if problem.outputs is not None or not np.any(w):
        return False
    pull = np.abs(problem.loss.gradient(problem.y, z)) * (problem.weights > 0)
    for threshold in (1e-2, 1e-4):
        direction = _beside(problem, w, b, pull > threshold)
        if direction is not None and _falls_forever(problem, direction):
            return True
    return False


def _costs_nothing(problem: Problem, w: Array) -> Array:
    """Which coefficients may grow for ever in the direction of their sign without a penalty."""
    mask = np.zeros(w.shape, dtype=bool)
    mask[problem.free] = True
    coordinates = problem.penalty.coordinates(problem.d)
    if coordinates is not None:
        l1, l2, lower, upper = coordinates.like(w)
        is_open = np.where(w > 0, np.isposinf(upper), np.isneginf(lower))
        mask |= (l1 == 0) & (l2 == 0) & is_open
    return mask


def _has_asymptote(problem: Problem) -> bool:
    """Whether some row's loss falls towards a limit that it does not reach: logistic, not hinge."""
    y = problem.y[problem.weights > 0][:100]
    if problem.loss.task == "multiclass":
        z = np.zeros((len(y), problem.outputs or 1))
        z[np.arange(len(y)), y] = FAR
        slopes = problem.loss.gradient(y, z)
    else:
        far = np.full(np.shape(y), FAR)
        slopes = np.stack([problem.loss.gradient(y, far), problem.loss.gradient(y, -far)])
    return bool(np.any((slopes != 0) & (np.abs(slopes) < 1e-12)))


def _beside(problem: Problem, w: Array, b: Array, stay: Array) -> Array | None:
    """X(w − δ) + (b − β) for the least (δ, β) after which the marked rows stay where they are."""
    support = np.flatnonzero(w)
    columns = FreeColumns(problem.design.columns(support), problem.fit_bias)
    if columns.m > LARGEST_GRAM:
        return None
    gram = columns.gram(stay.astype(float)) * np.multiply.outer(columns.units, columns.units)
    values, vectors = scipy.linalg.eigh(gram)
    idle = vectors[:, values <= 1e-13 * max(values[-1], 1.0)]
    direction = np.append(w[support], b) if problem.fit_bias else w[support]
    direction = idle @ (idle.T @ (direction / columns.units))
    scores = columns.times(columns.units * direction)
    noise = 1e-9 * float(np.max(np.abs(scores), initial=0.0))
    still = np.abs(scores) <= noise
    return np.where(still, 0.0, scores) if noise > 0 and np.all(still[stay]) else None


def _beside_own_class(direction: Array, y: Array) -> Array:
    """Each class's score minus that of the row's class; for regression targets, as it is."""
    if not np.issubdtype(y.dtype, np.integer):
        return direction
    return direction - np.take_along_axis(direction, y[:, None], axis=1)


def _falls_forever(problem: Problem, direction: Array) -> bool:
    """Whether along t·direction no row's loss rises in the end, and some row's falls at every t.

    The slope of a convex loss only grows with t, so that one look far out tells.
    """
    size = np.abs(direction) if direction.ndim == 1 else np.ptp(direction, axis=1)
    moves = (problem.weights > 0) & (size > 0)
    if not moves.any():
        return False
    y, direction, size = problem.y[moves], direction[moves], size[moves]
    unit = (
        direction / size if direction.ndim == 1 else _beside_own_class(direction, y) / size[:, None]
    )
    # With several classes the margin may be a small part of the spread of the scores.
    for farther in (1, 10, 100, 1000):
        slope = problem.loss.gradient(y, farther * FAR * (direction / size.min())) * unit
        slope = slope if slope.ndim == 1 else slope.sum(axis=1)
        if np.all(np.abs(slope) <= 1e-12):
            return bool(np.any(slope < 0))
        if np.any(slope > 0.9):
            return False
    return False
