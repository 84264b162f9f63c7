"""Rows on a plane, with the groups they belong to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from .style import CLASSES, INK, PAPER, axes_for, finished


def grouped_rows(
    x: Sequence[float],
    y: Sequence[float],
    groups: Sequence[int],
    *,
    names: Sequence[str] = (),
    centres: Sequence[tuple[float, float]] = (),
    labels: tuple[str, str] = ("component 1", "component 2"),
    axes: Axes | None = None,
) -> Axes:
    """Draw rows as dots in the colours of their groups, with a letter at each centre.

    Parameters
    ----------
    x, y : sequence of n floats
        Coordinates of the rows.
    groups : sequence of n int
        The place of each row's group among `names`.
    names : sequence of K str, default=()
        Names of the groups; none for rows without groups.
    centres : sequence of K pairs of floats, default=()
        The centre of each group.
    labels : tuple of two str
        Names of the axes.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With a line of dots for each group.
    """
    axes = axes_for(axes, 5.2, 4.6)
    across, up, of = np.asarray(x, float), np.asarray(y, float), np.asarray(groups, int)
    for k in range(max(len(names), 1)):
        mine = of == k
        axes.plot(
            across[mine],
            up[mine],
            linestyle="none",
            marker="o",
            markersize=3.6,
            mew=0,
            alpha=0.55,
            color=CLASSES[k % len(CLASSES)],
            label=names[k] if names else None,
        )
    for name, (at, height) in zip(names, centres):
        axes.plot([at], [height], marker="o", markersize=15, mew=1.2, mec=INK, color=PAPER)
        axes.text(
            *(at, height, name), ha="center", va="center_baseline", fontweight="bold", color=INK
        )
    return finished(axes, *labels, grid="both")
