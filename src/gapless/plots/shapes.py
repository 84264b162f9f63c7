"""What is minimised: losses against the margin or the residual, penalties of one or two weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from .style import (
    ACCENT,
    FAINT,
    GUIDE,
    INK,
    axes_for,
    finished,
    legend_beside,
    look,
    with_logarithms,
)

# A function jumps between two values of x if it changes there by this part of its range, and on
# one side of it by less than this part of the jump. Fewer values of x than DENSE cannot tell.
HIGH, FLAT, DENSE = 0.2, 0.05, 50
BELOW = 0.03  # room below 0, as a part of the height
LEVELS = (0.25, 0.5, 1.0, 1.5)


def functions(
    x: Sequence[float],
    values: Mapping[str, Sequence[float]],
    *,
    names: tuple[str, str] = ("x", "f(x)"),
    limits: tuple[float, float] | None = None,
    log: bool = False,
    axes: Axes | None = None,
) -> Axes:
    """Draw functions of one variable.

    Parameters
    ----------
    x : sequence of m floats
        Values of the variable, in rising order.
    values : mapping of str to sequence of m floats
        For each function its values. A jump is drawn as one, and a value on its own as a dot.
    names : tuple of two str
        Names of the axes.
    limits : tuple of two floats, default=None
        Where the vertical axis begins and ends; None shows everything.
    log : bool, default=False
        Whether the vertical axis is logarithmic.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With a line for each function, and their names beside it.
    """
    axes = axes_for(axes, 7.4, 4.0)
    at = np.asarray(x, dtype=float)
    for k, (name, of) in enumerate(values.items()):
        height = np.asarray(of, dtype=float)
        parts = _between_jumps(height)
        for part in parts:
            line = {**look(k), "linewidth": 1.8, "markersize": 5}
            line["marker"] = "o" if len(part) == 1 else ""
            axes.plot(at[part], height[part], label=name if part is parts[0] else "", **line)
    legend_beside(axes)
    if log:
        shown = [value for of in values.values() for value in of]
        inside = shown if limits is None else np.clip(shown, *limits).tolist()
        with_logarithms(axes, "y", inside)
    axes.set(xlim=(at[0], at[-1]), ylim=limits)
    return finished(axes, *names, grid="both")


def losses(
    x: Sequence[float],
    values: Mapping[str, Sequence[float]],
    *,
    against: str = "margin",
    highest: float | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw losses against the margin, or against the residual.

    Parameters
    ----------
    x : sequence of m floats
        Margins yz, positive where a row is on its side of the border; or residuals.
    values : mapping of str to sequence of m floats
        For each loss its values.
    against : str, default="margin"
        What x is.
    highest : float, default=None
        Where the picture ends; None takes the highest value of the loss that grows least above 1.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With a line for each loss, and a dashed one where x is 0.
    """
    if highest is None:
        most = [float(np.max(of)) for of in values.values()]
        highest = 1.05 * min((value for value in most if value > 1), default=max(most))
    limits = (-BELOW * highest, highest)
    axes = functions(x, values, names=(against, "loss"), limits=limits, axes=axes)
    axes.axvline(0, **GUIDE)
    return axes


def penalties(
    w: Sequence[float],
    values: Mapping[str, Sequence[float]],
    *,
    highest: float | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw penalties of a single weight.

    Parameters
    ----------
    w : sequence of m floats
        Values of the weight.
    values : mapping of str to sequence of m floats
        For each penalty its values.
    highest : float, default=None
        Where the picture ends; None shows everything.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With a line for each penalty.
    """
    limits = None if highest is None else (-BELOW * highest, highest)
    return functions(w, values, names=("weight w", "penalty R(w)"), limits=limits, axes=axes)


def _between_jumps(y: np.ndarray) -> list[np.ndarray]:
    """Positions of the pieces of a function: at most a part of a jump is continued beside it."""
    if len(y) < DENSE:
        return [np.arange(len(y))]
    step = np.abs(np.diff(y))
    before, after = np.append(np.inf, step[:-1]), np.append(step[1:], np.inf)
    is_jump = (step > HIGH * np.ptp(y)) & (np.minimum(before, after) < FLAT * step)
    return np.split(np.arange(len(y)), np.flatnonzero(is_jump) + 1)


def penalty_contours(
    x: Sequence[float],
    y: Sequence[float],
    values: np.ndarray,
    *,
    name: str = "",
    levels: Sequence[float] = LEVELS,
    objective: np.ndarray | None = None,
    heights: Sequence[float] = (),
    best: tuple[float, float] | None = None,
    free: tuple[float, float] | None = None,
    names: tuple[str, str] = ("w₁", "w₂"),
    axes: Axes | None = None,
) -> Axes:
    """Draw a penalty of two weights by its contours, and an objective that meets them.

    Parameters
    ----------
    x, y : sequence of m floats
        Values of the two weights.
    values : array of shape (m, m)
        The penalty at (x[j], y[i]).
    name : str, default=""
        The penalty, written above the picture.
    levels : sequence of floats
        Where the penalty has contours; the region within the level 1 is filled, if that is one.
    objective : array of shape (m, m), default=None
        What the penalty is added to, at the same points.
    heights : sequence of floats, default=()
        Where the objective has contours, which are grey.
    best, free : tuple of two floats, default=None
        The point of the ball with the lowest objective, a dot, and that without a penalty, a cross.
    names : tuple of two str
        Names of the weights.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With equal units on both axes.
    """
    axes = axes_for(axes, 3.6, 3.6)
    order = sorted(levels)
    if 1.0 in order:
        axes.contourf(x, y, values, levels=[-np.inf, 1.0], colors=[ACCENT], alpha=0.13)
    widths = [2.0 if level == 1.0 else 1.0 for level in order]
    axes.contour(x, y, values, levels=order, colors=ACCENT, linewidths=widths)
    if objective is not None:
        axes.contour(x, y, objective, levels=sorted(heights), colors=FAINT, linewidths=1.0)
    axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
    axes.axvline(0, color=FAINT, linewidth=0.8, zorder=0)
    if free is not None:
        axes.plot(*free, marker="x", color=INK, markersize=8, mew=2, linestyle="none")
    if best is not None:
        axes.plot(*best, marker="o", color="#d55e00", mec=INK, markersize=8, linestyle="none")
    axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
    axes.set_aspect("equal")
    return finished(axes, *names, grid="both", title=name)
