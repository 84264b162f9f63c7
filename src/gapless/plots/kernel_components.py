"""Rows beside their coordinates along curved components, and rows that are images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from .style import figure_of, finished, of_class

# Rows that are drawn as points; of more, every so manieth.
MOST_POINTS = 5000
# Shades of grey: paper for the least, ink for the most.
SHADES = "gray_r"


def embedding(
    X: np.ndarray,
    coordinates: np.ndarray,
    *,
    labels: Sequence[Any] | None = None,
    names: Sequence[str] = ("x₁", "x₂"),
    axes: Sequence[Axes] | None = None,
) -> tuple[Axes, Axes]:
    """Draw rows in the plane of two columns, and beside it in that of two components.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows, of which the first two columns are drawn.
    coordinates : array of shape (n, k)
        Their coordinates, of which the first two are drawn; a single one against the row's number.
    labels : sequence of length n, default=None
        The group of each row, shown by colour and mark.
    names : sequence of two str
        Names of the columns.
    axes : sequence of two matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : tuple of matplotlib Axes
        The panel of the rows and that of the components.
    """
    if axes is None:
        axes = list(figure_of(7.2, 3.6).subplots(1, 2))
    left, right = axes
    some = slice(None, None, 1 + len(X) // MOST_POINTS)
    rows, found = np.asarray(X)[some], np.asarray(coordinates)[some]
    if found.shape[1] == 1:
        found = np.column_stack([np.arange(len(found)), found[:, 0]])
    groups = np.zeros(len(rows)) if labels is None else np.asarray(labels)[some]
    for number, group in enumerate(np.unique(groups)):
        own = groups == group
        style = of_class(number) | {"s": 10, "linewidths": 0, "alpha": 0.8}
        for panel, points in ((left, rows), (right, found)):
            panel.scatter(points[own, 0], points[own, 1], label=str(group), **style)
    if labels is not None:
        right.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    left.set_aspect("equal", adjustable="datalim")
    finished(left, names[0], names[1], grid="both", title="rows")
    finished(right, "component 1", "component 2", grid="both", title="coordinates")
    return left, right


def image_rows(
    rows: Mapping[str, np.ndarray],
    shape: tuple[int, int],
    *,
    notes: Mapping[str, str] | None = None,
    limits: tuple[float, float] = (0.0, 1.0),
    axes: Sequence[Axes] | None = None,
) -> tuple[Axes, ...]:
    """Draw rows that are images, a line of images for each version of them.

    Parameters
    ----------
    rows : mapping of str to array of shape (n, height·width)
        The versions by name, such as "clean" and "noisy", with the same images in the same order.
    shape : tuple of two int
        Height and width of an image.
    notes : mapping of str to str, default=None
        Words at the end of a line, such as its error.
    limits : tuple of two float
        The values drawn as paper and as ink; others are drawn as the nearer of them.
    axes : sequence of matplotlib Axes, default=None
        Where to draw, one for each version; a new figure if None.

    Returns
    -------
    axes : tuple of matplotlib Axes
        One for each version.
    """
    if axes is None:
        count = max(len(version) for version in rows.values())
        size = 0.55 * count * shape[1] / shape[0] + 2.0, 0.62 * len(rows) + 0.1
        axes = list(np.atleast_1d(figure_of(*size).subplots(len(rows), 1)))
    height, width = shape
    for panel, (name, version) in zip(axes, rows.items(), strict=True):
        tiles = np.asarray(version, dtype=float).reshape(-1, height, width)
        gap = np.full((len(tiles), height, 1), limits[0])
        strip = np.concatenate([tiles, gap], axis=2).transpose(1, 0, 2).reshape(height, -1)
        panel.imshow(strip, cmap=SHADES, vmin=limits[0], vmax=limits[1], aspect="equal")
        panel.set_xticks([])
        panel.set_yticks([])
        panel.spines[:].set_visible(False)
        panel.set_ylabel(name, rotation=0, ha="right", va="center", fontsize="small")
        if notes is not None and name in notes:
            panel.annotate(
                notes[name],
                (1.01, 0.5),
                xycoords="axes fraction",
                va="center",
                fontsize="small",
            )
    return tuple(axes)
