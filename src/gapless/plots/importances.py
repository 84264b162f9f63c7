"""What the columns of a table are worth to a model."""

from __future__ import annotations

from collections.abc import Sequence

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
