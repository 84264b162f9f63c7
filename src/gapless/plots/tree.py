"""A decision tree from left to right: the root on the left, a row of the picture for each leaf."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from .style import CLASSES, axes_for

# Inches of a column of boxes and of a row, and characters in a line of a box.
COLUMN, ROW, LINE = 2.6, 0.7, 31
# The largest share of its class colour in a box; the rest is white.
STRONGEST = 0.6


def tree(model: Any, *, max_depth: int | None = 4, axes: Axes | None = None) -> Axes:
    """Draw a fitted tree.

    Parameters
    ----------
    model : estimator
        A fitted gapless tree; its `outline()` is drawn.
    max_depth : int or None, default=4
        Deeper nodes are left out, and the boxes above them give the number of leaves.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure, large enough to be read, if None.

    Returns
    -------
    axes : matplotlib Axes
        With a box for each node: its condition, its prediction, the weight of its training rows and
        their error. Colours are those of the classes, paler if the class is less certain, or for
        numbers from the smallest to the largest prediction.
    """
    outline = model.outline()
    depth, below = outline.depth, outline.children
    shown = np.flatnonzero(depth <= (np.inf if max_depth is None else max_depth))
    heights = _heights(shown, below)
    columns = int(depth[shown].max()) + 1
    rows = 1 + max(heights.values())
    axes = axes_for(axes, COLUMN * columns, max(ROW * rows, 1.2))
    is_shown = set(shown.tolist())
    for node in shown.tolist():
        x, y = float(depth[node]), heights[node]
        for child in below[node]:
            if child in is_shown:
                _connect(axes, (x, y), (float(depth[child]), heights[child]))
        is_cut = bool(below[node]) and below[node][0] not in is_shown
        _box(axes, (x, y), _words(outline, node, is_cut), _colour(outline, node))
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    axes.axis("off")
    return axes


def _heights(shown: np.ndarray, below: list[list[int]]) -> dict[int, float]:
    """The height of each node: those without children one below another, others in the middle."""
    is_shown, heights = set(shown.tolist()), {}
    next_row = 0.0
    stack = [(0, False)]
    while stack:
        node, is_done = stack.pop()
        children = [child for child in below[node] if child in is_shown]
        if not children:
            heights[node] = next_row
            next_row += 1.0
        elif is_done:
            heights[node] = 0.5 * (heights[children[0]] + heights[children[-1]])
        else:
            stack += [(node, True), *((child, False) for child in reversed(children))]
    return heights


def _words(outline: Any, node: int, is_cut: bool) -> str:
    condition = outline.condition[node]
    first = "" if condition is None else str(condition)
    lines = textwrap.wrap(first, LINE)[:2]
    lines.append(textwrap.shorten(f"→ {outline.prediction[node]}", LINE, placeholder=" …"))
    error = f", error {outline.error[node]:.2g}" if outline.error[node] > 0 else ""
    lines.append(f"{outline.support[node]:.5g} rows{error}{' …' if is_cut else ''}")
    return "\n".join(lines)


def _colour(outline: Any, node: int) -> tuple[float, ...]:
    if outline.shares is None:
        strength = STRONGEST * (0.1 + 0.9 * float(outline.level[node]))
        colour = np.array(to_rgb(CLASSES[0]))
    else:
        shares = outline.shares[node]
        least = 1.0 / len(shares)
        sure = (float(shares.max()) - least) / (1.0 - least) if len(shares) > 1 else 1.0
        strength = STRONGEST * (0.15 + 0.85 * sure)
        colour = np.array(to_rgb(CLASSES[int(np.argmax(shares)) % len(CLASSES)]))
    return tuple(strength * colour + 1.0 - strength)


def _box(axes: Axes, at: tuple[float, float], words: str, colour: tuple[float, ...]) -> None:
    axes.text(
        *at,
        words,
        ha="center",
        va="center",
        fontsize=8,
        linespacing=1.15,
        bbox={"boxstyle": "round,pad=0.35", "facecolor": colour, "edgecolor": "0.5", "lw": 0.6},
        zorder=2,
    )


def _connect(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    """A line that leaves and arrives horizontally."""
    t = np.linspace(0, 1, 30)
    x = start[0] + (end[0] - start[0]) * t
    y = start[1] + (end[1] - start[1]) * (3 * t**2 - 2 * t**3)
    axes.plot(x, y, color="0.6", lw=1.0, zorder=1)
