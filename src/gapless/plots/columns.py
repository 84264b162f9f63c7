"""The importance of columns to a model, and how its predictions depend on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from .style import ACCENT, CLASSES, FAINT, INK, STYLES, are_numbers, axes_for, finished, places


def importances(
    names: Sequence[str],
    values: Sequence[float],
    errors: Sequence[float] | None = None,
    *,
    most: int = 15,
    label: str = "importance",
    axes: Axes | None = None,
) -> Axes:
    """Draw a bar for each column, the longest on top.

    Parameters
    ----------
    names : sequence of d str
        The columns.
    values : sequence of d floats
        Their importances.
    errors : sequence of d floats, default=None
        How much they vary, drawn as a line at the end of each bar.
    most : int, default=15
        The largest number of bars; the others are summed up in a line below.
    label : str, default="importance"
        What is measured.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With the bars.
    """
    value = np.asarray(values, dtype=float)
    order = np.argsort(-value, kind="stable")[:most]
    spread = None if errors is None else np.nan_to_num(np.asarray(errors, dtype=float))[order]
    rest = len(value) - len(order)
    label = f"{label}; {rest} more columns not shown" if rest else label
    return _bars([str(names[j]) for j in order], value[order], spread, label, axes)


def coefficients(
    names: Sequence[str],
    values: Sequence[float],
    *,
    label: str = "coefficient",
    axes: Axes | None = None,
) -> Axes:
    """Draw a bar to the left or to the right for each coefficient, in the order given.

    Parameters
    ----------
    names : sequence of d str
        The features.
    values : sequence of d floats
        Their coefficients.
    label : str, default="coefficient"
        What is measured.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With the bars; those below 0 are grey.
    """
    return _bars(list(names), np.asarray(values, dtype=float), None, label, axes)


def _bars(
    names: Sequence[str],
    values: np.ndarray,
    errors: np.ndarray | None,
    label: str,
    axes: Axes | None,
) -> Axes:
    """A row for each name, from top to bottom, with a bar from 0 to its value."""
    axes = axes_for(axes, height=0.8 + 0.28 * len(names))
    place = np.arange(len(names))
    # A measurement with an error and below 0 is noise, not another kind of value.
    colors = [ACCENT if errors is not None or value > 0 else FAINT for value in values]
    axes.barh(place, values, color=colors, height=0.55)
    if errors is not None:
        axes.hlines(place, values - errors, values + errors, color=INK, linewidth=1.0, zorder=3)
    axes.axvline(0.0, color=FAINT, linewidth=1.0)
    axes.set_yticks(place, names)
    axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
    return finished(axes, label, grid="x")


def partial_dependence(
    values: Sequence[Any],
    means: np.ndarray,
    names: Sequence[str] = (),
    *,
    column: str = "value",
    answer: str = "prediction",
    axes: Axes | None = None,
) -> Axes:
    """Draw mean predictions by the value of a column.

    Parameters
    ----------
    values : sequence of m values
        Numbers are placed by value, other values in order.
    means : array of shape (m, K)
        The mean predictions, a line for each k.
    names : sequence of K str, default=()
        Names of the lines; none if empty.
    column, answer : str
        Names of the two axes.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With K lines, or K rows of dots if values are not numbers.
    """
    axes = axes_for(axes)
    joins = are_numbers(values)
    at, lines = places(axes, values, is_log=False), np.asarray(means, dtype=float).T
    few = len(lines) <= len(STYLES)
    for k, line in enumerate(lines):
        style = STYLES[k] if few else {"color": CLASSES[k % len(CLASSES)], "linestyle": "-"}
        label = names[k] if k < len(names) else None
        if joins:
            axes.plot(at, line, linewidth=1.8, label=label, **style)
            axes.plot(at, line, "o", color=style["color"], mew=0, markersize=3.6)
        else:
            # Dots have no dashes; they fade instead.
            fades = (1.0, 1.0, 0.55, 0.55, 0.3)[k] if few else 1.0
            axes.plot(at, line, "o", color=style["color"], alpha=fades, mew=0, label=label)
    if names:
        axes.legend(frameon=False, fontsize="small")
    return finished(axes, column, answer)


def pair_dependence(
    values: Sequence[Sequence[Any]],
    means: np.ndarray,
    *,
    columns: Sequence[str] = ("first value", "second value"),
    answer: str = "prediction",
    axes: Axes | None = None,
) -> Axes:
    """Draw mean predictions as colours above the plane of two columns.

    Parameters
    ----------
    values : two sequences of m and k values
        Numbers are placed by value, other values in order.
    means : array of shape (m, k)
        The mean predictions.
    columns : two str
        Names of the axes.
    answer : str
        The meaning of the colours.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With one mesh of m × k cells.
    """
    axes = axes_for(axes, height=4.8)
    at = [list(own) if are_numbers(own) else list(range(len(own))) for own in values]
    drawn = axes.pcolormesh(*at, np.asarray(means, dtype=float).T, shading="nearest")
    for own, where, ticks in zip(values, at, (axes.set_xticks, axes.set_yticks)):
        if not are_numbers(own):
            ticks(where, [str(value) for value in own])
    axes.set(xlabel=columns[0], ylabel=columns[1])
    axes.figure.colorbar(drawn, ax=axes, label=answer)
    return axes
