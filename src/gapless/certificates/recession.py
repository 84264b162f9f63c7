"""Objectives without a minimiser, and why: separated classes, a group of zero counts, one class.

The objective falls for ever along a direction, so its infimum is
never attained, and a gap to it would say nothing about the coefficients.
"""

from __future__ import annotations

import numpy as np

from ..problem import FreeColumns, Problem, eigenvectors

Array = np.ndarray
FAR = 60.0  # a score at which exp(−z) is below rounding but above the smallest number
SOME = 100  # rows looked at before all others
LARGEST_SEARCH = 1000  # coefficients: a direction is found in a fraction of a second
IDLE = 1e-13  # an eigenvalue, of the largest, along which the rows do not change
HOLDING = 20  # rows per coefficient that mostly hold all of them


# Why an objective falls for ever: all rows are on the side of their class, or some of them are and
# the others stay; all rows have one class, or a class has none; a group of rows has targets 0, or
# all rows have; or the loss of some rows falls, of which no more is known.
SEPARATED, PARTLY_SEPARATED = "separated", "partly separated"
ONE_CLASS, EMPTY_CLASS = "one class", "empty class"
ZEROS, ALL_ZEROS = "zeros", "all zeros"
FALLING = "falling"


def why_endless(problem: Problem, w: Array, b: Array, z: Array) -> str:
    """Why the objective falls for ever along a direction that the parameters point in; "" if not.

    Only coefficients without a cost may grow for ever: their part of (w, b) is the direction, made
    orthogonal to the rows that the loss still pulls on, as those are not separated.
    """
    if not _has_asymptote(problem):
        return ""
    w = np.where(_costs_nothing(problem, w), w, 0.0)
    b = b if problem.fit_bias else np.zeros_like(b)
    if not (np.any(w) or np.any(b)):
        return ""
    if not np.any(w):
        y, s = problem.rows_at_equal_scores
        scores = np.zeros((len(y), *z.shape[1:])) + b
        return _reason(problem, scores, y, s) if _falls_forever(problem, scores, y, s) else ""
    rows = problem.y, problem.weights
    scores = problem.predictions(w, b)
    if _falls_forever(problem, scores, *rows):
        return _reason(problem, scores, *rows)
    if problem.loss.task == "regression":
        if problem.outputs is not None or not problem.loss.has_curvature:
            return ""
        # A row at the minimum of its loss is not pulled on, but held.
        _, slope, curvature = problem.loss.derivatives(problem.y, z)
        pull = np.maximum(np.abs(slope), curvature) * (problem.weights > 0)
    elif problem.free_columns.span_all:
        return SEPARATED  # some coefficients can give every row any score
    else:
        pull = np.abs(problem.loss.gradient(problem.y, z)) * (problem.row_weights > 0)
    if w.ndim == 1 and _is_held(problem, w, pull > 1e-2):
        return ""
    tried = None
    for threshold in (1e-2, 1e-4, 1e-5, 1e-6):
        live = pull > threshold
        if tried is not None and np.array_equal(live, tried):
            continue
        direction, tried = _beside(problem, w, b, live), live
        if direction is None:
            continue
        if _falls_forever(problem, direction, *rows):
            return _reason(problem, direction, *rows)
    return ""


def _reason(problem: Problem, direction: Array, y: Array, s: Array) -> str:
    """Why the objective falls for ever along these scores."""
    y, direction = y[s > 0], direction[s > 0]
    if problem.loss.task == "regression":
        moving = y[direction != 0]
        return FALLING if np.any(moving) else ZEROS if np.any(y) else ALL_ZEROS
    if direction.ndim == 1:
        if np.all(y == y[0]):
            return ONE_CLASS
        return SEPARATED if np.all(direction * y > 0) else PARTLY_SEPARATED
    if not np.issubdtype(y.dtype, np.integer):
        return FALLING
    sizes = np.bincount(y, minlength=direction.shape[1])
    if np.any(sizes == 0) and problem.fit_bias:
        return ONE_CLASS if np.count_nonzero(sizes) == 1 else EMPTY_CLASS
    behind = _beside_own_class(direction, y).copy()
    behind[np.arange(len(y)), y] = -np.inf
    return SEPARATED if np.all(behind < 0) else PARTLY_SEPARATED


def _costs_nothing(problem: Problem, w: Array) -> Array:
    """Which coefficients may grow for ever in the direction of their sign without a penalty."""
    mask = np.zeros(w.shape, dtype=bool)
    mask[problem.free] = True
    coordinates = problem.coordinates
    if coordinates is not None:
        l1, l2, lower, upper = coordinates.like(w)
        is_open = np.where(w > 0, np.isposinf(upper), np.isneginf(lower))
        mask |= (l1 == 0) & (l2 == 0) & is_open
    concave = problem.penalty.concave(problem.d)
    if concave is not None:
        mask |= concave.is_flat(np.abs(w).T).T
    if problem.penalty.subset(problem.d) is not None:
        mask |= w != 0  # the price of a coefficient does not depend on its size
    return mask


def _has_asymptote(problem: Problem) -> bool:
    """Whether some row's loss falls towards a limit without reaching it: logistic, not hinge."""
    y = problem.y[problem.weights > 0] if problem.has_zero_weights else problem.y
    y = np.append(y[:100], (y.min(), y.max())) if y.ndim == 1 and len(y) else y[:100]
    if problem.loss.task == "multiclass":
        z = np.zeros((len(y), problem.outputs or 1))
        z[np.arange(len(y)), y] = FAR
        slopes = problem.loss.gradient(y, z)
    else:
        far = np.full(np.shape(y), FAR)
        slopes = np.stack([problem.loss.gradient(y, far), problem.loss.gradient(y, -far)])
    return bool(np.any((slopes != 0) & (np.abs(slopes) < 1e-12)))


def _beside(problem: Problem, w: Array, b: Array, live: Array) -> Array | None:
    """Scores along the part of (w, b) that leaves alone what the loss still pulls on.

    `live` marks the rows, or with classes the scores, that are not separated: along the direction
    they may not change (for a class, relative to the class of the row).
    """
    support = np.flatnonzero(w if w.ndim == 1 else w.any(axis=1))
    columns = FreeColumns(problem.design.columns(support), problem.fit_bias)
    outputs = problem.outputs or 1
    if columns.m * outputs > LARGEST_SEARCH:
        return None
    values, vectors = eigenvectors(_gram_of_live(problem, columns, live))
    idle = vectors[:, values <= IDLE * max(values[-1], 1.0)]
    direction = np.concatenate([w[support], b[None]]) if problem.fit_bias else w[support]
    direction = (direction.T / columns.units).ravel()
    direction = (idle @ (idle.T @ direction)).reshape(outputs, columns.m) * columns.units
    scores = columns.times(direction[0] if w.ndim == 1 else np.ascontiguousarray(direction.T))
    compared = _beside_own_class(scores, problem.y)
    noise = 1e-9 * float(np.max(np.abs(compared), initial=0.0))
    still = np.abs(compared) <= noise
    return np.where(still, 0.0, compared) if noise > 0 and np.all(still[live]) else None


def _is_held(problem: Problem, w: Array, live: Array) -> bool:
    """Whether some of the live rows already leave no direction beside them, so that none is.

    Further rows only add to the eigenvalues, and in units of the columns no eigenvalue is above
    their number.
    """
    support = np.flatnonzero(w)
    m = len(support) + problem.fit_bias
    rows = np.flatnonzero(live)
    rows = rows[:: max(len(rows) // (HOLDING * m), 1)]
    if len(rows) < m or 2 * len(rows) > problem.n or m > LARGEST_SEARCH:
        return False
    all_columns = FreeColumns(problem.design.columns(support), problem.fit_bias)
    some = FreeColumns(all_columns.columns.rows(rows), problem.fit_bias)
    G = some.gram(np.ones(len(rows))) * np.multiply.outer(all_columns.units, all_columns.units)
    return bool(eigenvectors(G)[0][0] > IDLE * m)


def _gram_of_live(problem: Problem, columns: FreeColumns, live: Array) -> Array:
    """The Gram matrix of the conditions that fix the live scores, in units of the columns."""
    units = np.multiply.outer(columns.units, columns.units)
    if live.ndim == 1:
        return columns.gram(live.astype(float)) * units
    m, K = columns.m, live.shape[1]
    G = np.zeros((K, m, K, m))
    for own in range(K):
        for k in range(K):
            rows = live[:, k] & (problem.y == own)
            if k == own or not rows.any():
                continue
            block = columns.gram(rows.astype(float)) * units
            for i, j, sign in ((k, k, 1), (own, own, 1), (k, own, -1), (own, k, -1)):
                G[i, :, j, :] += sign * block
    return G.reshape(K * m, K * m)


def _beside_own_class(direction: Array, y: Array) -> Array:
    """The score of each class minus that of the row's own class; a single score as it is."""
    if direction.ndim == 1 or not np.issubdtype(y.dtype, np.integer):
        return direction
    return direction - np.take_along_axis(direction, y[:, None], axis=1)


def _margins(direction: Array, y: Array) -> Array:
    """How far the row's own class leads the next; the spread of the scores if it does not lead."""
    spread = np.ptp(direction, axis=1)
    others = _beside_own_class(direction, y).copy()
    if others.shape[1] < 2 or not np.issubdtype(y.dtype, np.integer):
        return spread
    others[np.arange(len(y)), y] = -np.inf
    margin = -np.max(others, axis=1)
    return np.where(margin > 1e-9 * spread, margin, spread)


def _rises_somewhere(problem: Problem, direction: Array, y: Array, moves: Array) -> bool:
    """Whether the loss of one of a few rows rises for ever, so that the others need no look."""
    few = np.flatnonzero(moves[:SOME])
    if direction.ndim > 1 or not len(few):
        return False
    sign = np.sign(direction[few])
    return bool(np.any(problem.loss.gradient(y[few], FAR * sign) * sign > 0.9))


def _falls_forever(problem: Problem, direction: Array, y: Array, s: Array) -> bool:
    """Whether along t·direction no row's loss finally rises, and some row's falls at every t.

    The slope of a convex loss only grows with t, so one look far out is enough.
    """
    size = np.abs(direction) if direction.ndim == 1 else _margins(direction, y)
    moves = (s > 0) & (size > 0)
    if not moves.any():
        return False
    if len(moves) > SOME and _rises_somewhere(problem, direction, y, moves):
        return False
    y, direction, size = y[moves], direction[moves], size[moves]
    unit = _beside_own_class(direction, y) / (size if direction.ndim == 1 else size[:, None])
    # With several classes the margin may be a small part of the spread of the scores.
    for farther in (1, 10, 100, 1000):
        slope = problem.loss.gradient(y, farther * FAR * (direction / size.min())) * unit
        slope = slope if slope.ndim == 1 else slope.sum(axis=1)
        if np.all(np.abs(slope) <= 1e-12):
            return bool(np.any(slope < 0))
        if np.any(slope > 0.9):
            return False
    return False
