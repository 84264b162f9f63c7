"""Regions of the plane by class, with margins and support vectors; lines between two classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgb

from .style import axes_for

PALE = 0.75  # how much white is mixed into the colours of the regions
MARKERS = "os^Dvp*"


def decision(
    x: np.ndarray,
    y: np.ndarray,
    regions: np.ndarray,
    points: np.ndarray,
    labels: np.ndarray,
    *,
    classes: Sequence[object],
    scores: np.ndarray | None = None,
    support: Sequence[int] = (),
    names: tuple[str, str] = ("x₁", "x₂"),
    axes: Axes | None = None,
) -> Axes:
    """Draw the regions, the points, and where the decision function is −1, 0 and 1.

    Parameters
    ----------
    x, y : array of shape (m,)
        Coordinates of the grid.
    regions : int array of shape (m, m)
        The predicted class at (x[j], y[i]), a position in `classes`.
    points : array of shape (n, 2)
        The training rows.
    labels : int array of shape (n,)
        Their classes.
    classes : sequence
        Names of the classes.
    scores : array of shape (m, m), default=None
        The decision function on the grid, drawn as the border (0) and the margins (−1 and 1).
    support : sequence of int, default=()
        Points that are circled.
    names : tuple of two str
        Names of the axes.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
    """
    axes = axes_for(axes, 5.2, 4.6)
    colours = [f"C{k % 10}" for k in range(len(classes))]
    pale = ListedColormap([tuple(PALE + (1 - PALE) * np.array(to_rgb(c))) for c in colours])
    axes.pcolormesh(x, y, regions, cmap=pale, vmin=-0.5, vmax=len(classes) - 0.5, rasterized=True)
    if scores is not None:
        levels, styles = (-1.0, 0.0, 1.0), ("--", "-", "--")
        axes.contour(x, y, scores, levels, colors="0.2", linestyles=styles, linewidths=1.2)
    for k, (name, colour) in enumerate(zip(classes, colours)):
        x1, x2 = points[labels == k].T
        marker = MARKERS[k % len(MARKERS)]
        axes.scatter(x1, x2, s=18, c=colour, marker=marker, edgecolors="white", lw=0.5, label=name)
    if len(support):
        x1, x2 = points[np.asarray(support)].T
        axes.scatter(x1, x2, s=60, facecolors="none", edgecolors="0.2", lw=0.8, label="support")
    axes.set(xlabel=names[0], ylabel=names[1], xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return axes


def planes(
    points: np.ndarray,
    labels: np.ndarray,
    lines: Sequence[tuple[str, np.ndarray, float, float]],
    *,
    classes: Sequence[object],
    names: tuple[str, str] = ("x₁", "x₂"),
    axes: Axes | None = None,
) -> Axes:
    """Draw lines between points of two classes, and the margins of those that separate them.

    Parameters
    ----------
    points : array of shape (n, 2)
        The rows.
    labels : int array of shape (n,)
        Their classes.
    lines : sequence of (name, normal, offset, margin)
        ⟨normal, x⟩ + offset = 0 with a normal of length 1, and the distance of the nearest point.
    classes : sequence
        Names of the classes.
    names : tuple of two str
        Names of the axes.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
    """
    axes = axes_for(axes, 5.2, 4.6)
    for k, name in enumerate(classes):
        x1, x2 = points[labels == k].T
        axes.scatter(x1, x2, s=18, c=f"C{k}", marker=MARKERS[k], label=name)
    for k, (name, normal, offset, margin) in enumerate(lines):
        along, colour = np.array([-normal[1], normal[0]]), f"C{(k + 2) % 10}"
        for side in (-1, 0, 1) if margin > 0 else (0,):
            foot = -(offset + side * margin) * np.asarray(normal)
            line = axes.axline(tuple(foot), tuple(foot + along), color=colour)
            line.set(lw=0.7 if side else 1.4, ls=":" if side else "-")
            if not side:
                line.set_label(f"{name}: {margin:.3g}")
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.15 * np.where(high > low, high - low, 1.0)
    limits = np.stack([low - room, high + room])
    axes.set(xlabel=names[0], ylabel=names[1], xlim=limits[:, 0], ylim=limits[:, 1])
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1), title="margin")
    return axes
