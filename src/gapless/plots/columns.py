"""What columns are worth to a model, and how its predictions depend on them."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

Array = np.ndarray


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
    if axes is None:
        height = 0.8 + 0.28 * len(order)
        axes = plt.figure(figsize=(6.4, height), layout="constrained").subplots()
    spread = None if errors is None else np.asarray(errors, dtype=float)[order]
    place = np.arange(len(order))
    axes.barh(place, value[order], xerr=spread, color="C0", height=0.7, ecolor="0.4")
    axes.set_yticks(place, [str(names[j]) for j in order])
    axes.invert_yaxis()
    axes.axvline(0.0, color="0.4", linewidth=0.8)
    rest = len(value) - len(order)
    axes.set_xlabel(f"{label}; {rest} more columns not shown" if rest else label)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


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
        Numbers stand where they belong, other values one after the other.
    means : array of shape (m, K)
        The mean predictions, a line for each k.
    names : sequence of K str, default=()
        What the lines are called; none is named if empty.
    column, answer : str
        Names of the two axes.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With K lines, or K rows of dots where values are no numbers.
    """
    if axes is None:
        axes = plt.figure(figsize=(6.4, 3.6), layout="constrained").subplots()
    is_number = _are_numbers(values)
    at = list(values) if is_number else list(range(len(values)))
    for k, line in enumerate(np.asarray(means, dtype=float).T):
        label = names[k] if k < len(names) else None
        axes.plot(at, line, "-" if is_number else "o", linewidth=1.5, label=label)
    if not is_number:
        axes.set_xticks(at, [str(value) for value in values])
    axes.set(xlabel=column, ylabel=answer)
    if names:
        axes.legend(frameon=False, fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


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
        Numbers stand where they belong, other values one after the other.
    means : array of shape (m, k)
        The mean predictions.
    columns : two str
        Names of the axes.
    answer : str
        What the colours mean.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With one mesh of m × k cells.
    """
    if axes is None:
        axes = plt.figure(figsize=(6.4, 4.8), layout="constrained").subplots()
    at = [list(own) if _are_numbers(own) else list(range(len(own))) for own in values]
    drawn = axes.pcolormesh(*at, np.asarray(means, dtype=float).T, shading="nearest")
    for own, places, ticks in zip(values, at, (axes.set_xticks, axes.set_yticks)):
        if not _are_numbers(own):
            ticks(places, [str(value) for value in own])
    axes.set(xlabel=columns[0], ylabel=columns[1])
    axes.figure.colorbar(drawn, ax=axes, label=answer)
    return axes


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, Real) and not isinstance(value, bool) for value in values)
