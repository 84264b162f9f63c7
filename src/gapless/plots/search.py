"""What the models of a search score on unseen data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes


def search(
    tried: Mapping[str, Sequence[float]],
    unseen: Sequence[float],
    *,
    metric: str = "score",
    chosen: int | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw scores on unseen data against one parameter, a line for each value of another.

    Parameters
    ----------
    tried : mapping of str to sequence of m floats > 0
        The values of one or two parameters, by name; the first is on the axis, logarithmic.
    unseen : sequence of m floats
        Score of each model.
    metric : str, default="score"
        What the score is.
    chosen : int, default=None
        The model to mark.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With the lines.
    """
    if axes is None:
        axes = plt.figure(figsize=(6.4, 3.6), layout="constrained").subplots()
    (name, along), *others = ((name, np.asarray(values)) for name, values in tried.items())
    scores = np.asarray(unseen, dtype=float)
    groups = others[0][1] if others else np.zeros(len(scores))
    values = np.unique(groups)
    for k, value in enumerate(values):
        rows = np.flatnonzero(groups == value)
        rows = rows[np.argsort(along[rows])]
        label = f"{others[0][0]} = {value:.3g}" if others else None
        x, y = along[rows], scores[rows]
        axes.plot(x, y, color=f"C{k % 10}", linewidth=1.5, marker=".", label=label)
    if chosen is not None:
        axes.plot(along[chosen], scores[chosen], "o", color="0.2", zorder=3, label="chosen")
    axes.set(xscale="log", xlabel=name, ylabel=f"{metric} on unseen data")
    axes.grid(True, which="major", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    if others:
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1), fontsize="small")
    return axes
