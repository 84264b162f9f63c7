"""Repeated columns under a penalty that is concave in |wⱼ|: one of them takes what all share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..problem import Parameters, Problem

Array = np.ndarray
EPS = float(np.finfo(float).eps)

# Products with two columns that agree to this part are compared row by row, and prices that do are
# the same.
ALIKE = 1e-9
# Columns whose centred norm is below this part of their own are constant.
CONSTANT = 1e-12


def gathered(problem: Problem, start: Parameters) -> Parameters:
    """The start with the coefficients of equal columns, up to a factor, in one of them.

    A lasso splits a coefficient between repeated columns at will, and from there no small change
    improves a concave penalty. Over all ways to split it, a concave function is lowest at a corner:
    one column takes everything, the first of the cheapest. With a bias, columns are compared
    without their means, and what a constant column adds belongs to the bias. Predictions stay the
    same, and P does not rise. Rows of weight 0 are not looked at.
    """
    w = np.array(start.w, dtype=float)
    total = float(np.sum(problem.weights))
    used = np.flatnonzero(w.any(axis=1) if w.ndim == 2 else w)
    if not len(used) or not total > 0:
        return start
    design, own = problem.design.columns(used), np.ones(len(used))
    s = problem.weights
    if not np.all(s):
        counted = np.flatnonzero(s)
        design, s = design.rows(counted), s[counted]
    mean = np.zeros(len(used))
    if problem.fit_bias:
        mean = design.transposed_times(s) / total
        own = np.sqrt(np.maximum(design.column_square_sums(None), 0.0))
        design = design.shifted(mean)
    norms = np.sqrt(np.maximum(design.column_square_sums(None), 0.0))
    new = w.copy()
    is_constant = norms <= CONSTANT * own
    if problem.fit_bias:
        new[used[is_constant]] = 0.0
    # Any vector without special structure tells different columns apart.
    probe = design.transposed_times(np.cos(1.0 + np.arange(design.n) ** 1.5))
    probe = np.divide(probe, norms, out=np.zeros_like(probe), where=~is_constant)
    order = np.argsort(np.abs(probe), kind="stable")
    order = order[~is_constant[order]]
    jumps = np.flatnonzero(np.diff(np.abs(probe[order])) > ALIKE) + 1
    for group in np.split(order, jumps):
        if len(group) > 1:
            group = np.sort(group)
            _gather(problem, new, used[group], design.columns(group).dense())
    if np.array_equal(new, w):
        return start
    b = start.b
    if problem.fit_bias:
        b = np.asarray(b + np.sum(mean * (w - new)[used].T, axis=-1))
    before = problem.primal(w, start.b)
    if not problem.primal(new, b) <= before + 4 * EPS * abs(before):
        return start
    return replace(start, w=new, b=b)


def _gather(problem: Problem, w: Array, columns: Array, values: Array) -> None:
    """Put the coefficients of equal columns among `columns` into one of them, in place."""
    left = list(range(len(columns)))
    while len(left) > 1:
        first = values[:, left[0]]
        size = float(first @ first)
        factors = values[:, left].T @ first / size
        apart = np.abs(values[:, left] - first[:, None] * factors).max(axis=0)
        is_same = apart <= 64 * EPS * np.abs(values[:, left]).max(axis=0)
        is_same[0] = True
        same = [k for k, alike in zip(left, is_same) if alike]
        left = [k for k, alike in zip(left, is_same) if not alike]
        if len(same) < 2:
            continue
        members, factors = columns[same], factors[is_same]
        shared = factors @ w[members]  # the coefficient of the first column alone
        for at in np.ndindex(shared.shape):
            ways = np.zeros((len(members), len(w), *w.shape[1:]))
            for k, (j, factor) in enumerate(zip(members, factors)):
                ways[(k, j, *at)] = shared[at] / factor
            costs = np.array([problem.penalty.value(way) for way in ways])
            best = int(np.argmax(costs <= (1 + ALIKE) * np.min(costs)))
            w[(members, *at)] = 0.0
            w[(members[best], *at)] = shared[at] / factors[best]
