"""Models of one variable: what they learned from, and the curves that they drew through it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from .style import FAINT, INK, axes_for, finished, legend_beside, look

# What is shown above and below the data, in parts of its range.
ROOM = 0.35
SIDE = 0.02


def fitted_curves(
    x: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    points: tuple[Sequence[float], Sequence[float]],
    *,
    truth: Sequence[float] | None = None,
    outliers: Sequence[int] = (),
    names: tuple[str, str] = ("x", "y"),
    title: str = "",
    axes: Axes | None = None,
) -> Axes:
    """Draw what models of one variable predict, over the rows that they learned from.

    Parameters
    ----------
    x : sequence of m floats
        Where the models were asked, in rising order.
    curves : mapping of str to sequence of m floats
        For each model its predictions; they are cut off far above and below the data. A single one
        is not named in a legend.
    points : pair of sequences of n floats
        The training rows: x and y.
    truth : sequence of m floats, default=None
        What was to be found, a thick grey line.
    outliers : sequence of int, default=()
        Points that are circled.
    names : tuple of two str
        Names of the axes.
    title : str, default=""
        What is written above the picture.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
    """
    axes = axes_for(axes)
    px, py = (np.asarray(of, dtype=float) for of in points)
    if truth is not None:
        axes.plot(x, truth, color=FAINT, linewidth=5, alpha=0.45, label="truth")
    for k, (name, of) in enumerate(curves.items()):
        axes.plot(x, of, label=name, **{**look(k), "marker": "", "linewidth": 1.8})
    axes.plot(px, py, "o", mfc="white", mec=INK, mew=1.1, markersize=4.5, label="training rows")
    if len(outliers):
        at = np.asarray(outliers)
        axes.plot(px[at], py[at], "o", mfc="none", mec=INK, mew=1.1, markersize=12)
    shown = py if truth is None else np.concatenate([py, np.asarray(truth, dtype=float)])
    room = ROOM * (np.ptp(shown) or 1.0)
    left, right = min(*x, *px), max(*x, *px)
    side = SIDE * (right - left)
    axes.set(xlim=(left - side, right + side), ylim=(shown.min() - room, shown.max() + room))
    if len(curves) > 1:
        legend_beside(axes)
    return finished(axes, *names, title=title)
