"""Predictions from the past alone, for rows that have a time: refits on growing windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from ...problem import Parameters, Problem
from ._base import Array, HeldOut, NotAvailable

WINDOWS = 20
Solve = Callable[[Problem, Parameters | None], Parameters]


def forward(problem: Problem, solve: Solve, time: Array, *, windows: int = WINDOWS) -> HeldOut:
    """Predict each row by a model of strictly earlier rows.

    Parameters
    ----------
    problem : Problem
        The problem on all rows.
    solve : callable
        solve(problem, start) returns the parameters that minimise a problem on some of the rows;
        `start` are those of the window before, or None.
    time : array-like of shape (n,)
        The time of each row; anything that sorts. Rows of the same time are never split.
    windows : int, default=20
        The number of windows of about equal weight; one refit for each except the first.

    Returns
    -------
    HeldOut
        z is NaN in the first window, which has no past. The leverage is 0: no row influences its
        own prediction.

    Raises
    ------
    NotAvailable
        If all rows have the same time.
    """
    time = np.asarray(time)
    if time.shape != (problem.n,):
        raise ValueError(f"time has shape {time.shape}, but there are {problem.n} rows.")
    window = time_windows(time, problem.weights, windows)
    if window.max() == 0:
        raise NotAvailable("all rows have the same time, so none comes before another")
    z = np.full_like(problem.origin.theta, np.nan)
    start = None
    for now in range(1, int(window.max()) + 1):
        past, rows = np.flatnonzero(window < now), np.flatnonzero(window == now)
        weights = problem.weights[past]
        known = replace(
            problem, design=problem.design.rows(past), y=problem.y[past], weights=weights
        )
        start = solve(known, start)
        start = Parameters(start.w, start.b)
        z[rows] = problem.design.rows(rows).times(start.w) + start.b
    return HeldOut(z, np.zeros(problem.n), "forward")


def time_windows(time: Array, weights: Array, count: int = WINDOWS) -> Array:
    """The window of each row, 0, 1, …, none of them empty, of about equal weight."""
    moments, moment = np.unique(time, return_inverse=True)
    weight = np.bincount(moment, weights, minlength=len(moments))
    # A moment belongs where its middle falls, so that weights and repeated rows do the same.
    middle = (np.cumsum(weight) - 0.5 * weight) / max(weight.sum(), 1e-300)
    if len(moments) <= count:
        middle = np.arange(len(moments)) / len(moments)
        count = len(moments)
    cut = np.minimum((middle * count).astype(int), count - 1)
    return np.unique(cut, return_inverse=True)[1][moment]


def growing(window: Array) -> Iterator[tuple[Array, Array]]:
    """The rows of all earlier windows and those of a window, for each window but the first."""
    for now in range(1, int(window.max()) + 1):
        yield np.flatnonzero(window < now), np.flatnonzero(window == now)
