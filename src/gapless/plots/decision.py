"""The plane by class: regions with margins and support vectors, probabilities, separating lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, to_rgb
from matplotlib.patheffects import withStroke

from .style import DASHES, DOTTED, INK, PAPER, SOFT, axes_for, of_class

# The area of a mark, for FEW points or more.
FEW, LARGE, SMALL = 200, 26, 16
PALE = 0.75  # how much white is mixed into the colours of the regions
# Where lines of equal probability are drawn, and how: the border is the thick one.
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


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
    bounded: Sequence[int] = (),
    names: tuple[str, str] = ("x₁", "x₂"),
    legend: bool = True,
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
    bounded : sequence of int, default=()
        Those of them whose multiplier is at its bound C, which get a square in place of the circle.
    names : tuple of two str
        Names of the axes.
    legend : bool, default=True
        Whether to name the classes beside the picture.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
    """
    axes = axes_for(axes, 6.0, 4.6)
    pale = ListedColormap([_paler(of_class(k)["color"]) for k in range(len(classes))])
    axes.pcolormesh(x, y, regions, cmap=pale, vmin=-0.5, vmax=len(classes) - 0.5, rasterized=True)
    if scores is not None:
        levels, styles = (-1.0, 0.0, 1.0), ("--", "-", "--")
        axes.contour(x, y, scores, levels, colors="0.2", linestyles=styles, linewidths=1.2)
    _draw_points(axes, points, labels, classes)
    circled, squared = np.asarray(support, dtype=int), np.asarray(bounded, dtype=int)
    rings = [("support", circled, "o")]
    if len(squared):
        free = circled[~np.isin(circled, squared)]
        rings = [("free support", free, "o"), ("bounded support", squared, "s")]
    for name, chosen, marker in rings:
        if len(chosen):
            ring: Any = {"facecolors": "none", "edgecolors": INK, "lw": 0.9, "marker": marker}
            axes.scatter(points[chosen, 0], points[chosen, 1], s=60, label=name, **ring)
    axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
    return _framed(axes, names, legend)


def probabilities(
    x: np.ndarray,
    y: np.ndarray,
    values: np.ndarray,
    points: np.ndarray,
    labels: np.ndarray,
    *,
    classes: Sequence[object],
    names: tuple[str, str] = ("x₁", "x₂"),
    legend: bool = True,
    axes: Axes | None = None,
) -> Axes:
    """Draw the probability of the second of two classes as shades, with lines of equal probability.

    Parameters
    ----------
    x, y : array of shape (m,)
        Coordinates of the grid.
    values : array of shape (m, m)
        The probability of the second class at (x[j], y[i]).
    points : array of shape (n, 2)
        The training rows.
    labels : int array of shape (n,)
        Their classes.
    classes : sequence
        Names of the two classes.
    names : tuple of two str
        Names of the axes.
    legend : bool, default=True
        Whether to name the classes beside the picture.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With the border, where both classes are equally probable, as a thick line.
    """
    axes = axes_for(axes, 6.0, 4.6)
    ends = [_paler(of_class(k)["color"]) for k in range(2)]
    shades = LinearSegmentedColormap.from_list("probability", [ends[0], to_rgb(PAPER), ends[1]])
    axes.pcolormesh(x, y, values, cmap=shades, vmin=0, vmax=1, rasterized=True)
    widths, styles = [1.8 if p == 0.5 else 0.8 for p in LEVELS], ["-"] * len(LEVELS)
    lines = axes.contour(x, y, values, LEVELS, colors=INK, linewidths=widths, linestyles=styles)
    _draw_points(axes, points, labels, classes)
    written = axes.clabel(lines, fmt=lambda p: f"{100 * p:.0f} %", fontsize="small", zorder=3)
    for text in written:
        text.set_path_effects([withStroke(linewidth=3, foreground=PAPER)])
    axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
    return _framed(axes, names, legend)


def _paler(colour: str) -> tuple[float, ...]:
    return tuple(PALE + (1 - PALE) * np.array(to_rgb(colour)))


def _draw_points(
    axes: Axes, points: np.ndarray, labels: np.ndarray, classes: Sequence[object]
) -> None:
    for k, name in enumerate(classes):
        mark = of_class(k) | {"edgecolors": PAPER, "linewidths": 0.5}
        x1, x2 = points[labels == k].T
        axes.scatter(x1, x2, s=LARGE if len(points) <= FEW else SMALL, label=str(name), **mark)


def _framed(axes: Axes, names: tuple[str, str], legend: bool, title: str | None = None) -> Axes:
    axes.set(xlabel=names[0], ylabel=names[1])
    axes.tick_params(length=0, labelcolor=SOFT)
    axes.spines[["top", "right"]].set_visible(False)
    if legend:
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1), title=title)
    return axes


def planes(
    points: np.ndarray,
    labels: np.ndarray,
    lines: Sequence[tuple[str, np.ndarray, float, float]],
    *,
    classes: Sequence[object],
    names: tuple[str, str] = ("x₁", "x₂"),
    legend: bool = True,
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
    legend : bool, default=True
        Whether to name the classes beside the picture.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
    """
    axes = axes_for(axes, 6.0, 4.6)
    _draw_points(axes, points, labels, classes)
    for k, (name, normal, offset, margin) in enumerate(lines):
        # The first two colours are those of the classes.
        along, colour = np.array([-normal[1], normal[0]]), of_class(k + 2)["color"]
        for side in (-1, 0, 1) if margin > 0 else (0,):
            foot = -(offset + side * margin) * np.asarray(normal)
            line = axes.axline(tuple(foot), tuple(foot + along), color=colour)
            line.set(lw=0.8 if side else 1.6, ls=DOTTED if side else DASHES[k % len(DASHES)])
            if not side:
                line.set_label(f"{name}: {margin:.3g}")
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.15 * np.where(high > low, high - low, 1.0)
    limits = np.stack([low - room, high + room])
    axes.set(xlim=limits[:, 0], ylim=limits[:, 1])
    return _framed(axes, names, legend, "margin")
