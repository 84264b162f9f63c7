"""Principal components: how much each explains, their axes in a plane, a map with loadings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from .style import (
    ACCENT,
    CLASSES,
    DASHED,
    FAINT,
    INK,
    MARKS,
    PAPER,
    SOFT,
    axes_for,
    finished,
    of_class,
)

# More bars than these are a line, more arrows than these are left out, the shortest first.
MOST_BARS, MOST_ARROWS = 40, 10


def scree(
    shares: Sequence[float],
    errors: Sequence[float] | None = None,
    *,
    axes: Axes | None = None,
) -> Axes:
    """Draw the share of the variance of each component, and the sum of the first ones.

    Parameters
    ----------
    shares : sequence of float
        The share that each component explains, the largest first.
    errors : sequence of float, default=None
        Squared errors of held-out entries with 0, 1, 2, … components. They are drawn relative to
        those without components, and the smallest is marked.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes
    """
    axes = axes_for(axes)
    own = 100 * np.asarray(shares, dtype=float)
    at = np.arange(1, len(own) + 1)
    if len(own) <= MOST_BARS:
        axes.bar(at, own, width=0.7, color=FAINT, label="each component")
    else:
        axes.fill_between(at, own, color=FAINT, label="each component")
    marker = "o" if len(own) <= MOST_BARS else None
    axes.plot(at, np.cumsum(own), color=ACCENT, marker=marker, markersize=3, label="together")
    if errors is not None and len(errors) > 1 and errors[0] > 0:
        relative = 100 * np.asarray(errors, dtype=float) / errors[0]
        best = 1 + int(np.argmin(relative[1:]))
        axes.plot(
            range(len(relative)),
            relative,
            color=INK,
            linestyle=DASHED,
            label="error of held-out entries",
        )
        axes.plot([best], [relative[best]], "o", color=INK, markersize=5)
        axes.annotate(
            f"least with {best}",
            (best, relative[best]),
            xytext=(0, -14),
            textcoords="offset points",
            ha="center",
            fontsize="small",
            color=INK,
        )
    axes.set_ylim(0, 105)
    shown = len(own) if errors is None else max(len(own), len(errors) - 1)
    axes.set_xlim(0.4 if errors is None else -0.4, max(shown, 1) + 0.6)
    axes.legend(frameon=False, fontsize="small", loc="center right")
    return finished(axes, "components", "% of the variance")


def principal_axes(
    rows: np.ndarray,
    mean: Sequence[float],
    directions: np.ndarray,
    deviations: Sequence[float],
    *,
    axes: Axes | None = None,
) -> Axes:
    """Draw a cloud in two columns, its principal axes, and each row's projection on the first.

    Parameters
    ----------
    rows : array of shape (n, 2)
        The cloud.
    mean : sequence of 2 float
        Its mean.
    directions : array of shape (1 or 2, 2)
        Its components, of length 1.
    deviations : sequence of float
        The standard deviation along each; arrows are twice as long.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes
    """
    axes = axes_for(axes, 4.8, 4.8)
    rows, centre = np.asarray(rows, dtype=float), np.asarray(mean, dtype=float)
    directions = np.asarray(directions, dtype=float)
    first = directions[0]
    feet = centre + np.multiply.outer((rows - centre) @ first, first)
    for row, foot in zip(rows, feet):
        axes.plot(*zip(row, foot), color=FAINT, linewidth=0.7, zorder=1)
    axes.plot(*rows.T, "o", color=FAINT, markersize=4, zorder=2)
    axes.plot(*feet.T, ".", color=ACCENT, markersize=4, zorder=3)
    for k, (direction, deviation) in enumerate(zip(directions, deviations)):
        end = centre + 2 * deviation * direction
        axes.annotate(
            "",
            tuple(end),
            tuple(centre),
            arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.8},
            zorder=4,
        )
        axes.annotate(
            f"component {k + 1}",
            end,
            xytext=(5, 5),
            textcoords="offset points",
            fontsize="small",
            color=INK,
            zorder=5,
            bbox={"facecolor": PAPER, "alpha": 0.75, "edgecolor": "none", "pad": 0.5},
        )
    axes.set_aspect("equal", adjustable="datalim")
    return finished(axes, "x₁", "x₂", grid="both")


def component_map(
    coordinates: np.ndarray,
    loadings: np.ndarray,
    *,
    names: Sequence[str],
    shares: Sequence[float],
    labels: Sequence | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw rows along two components, and the columns as arrows (a biplot).

    Parameters
    ----------
    coordinates : array of shape (n, 2)
        Rows along the two components.
    loadings : array of shape (d, 2)
        What each column contributes. Arrows are scaled together to fit; the longest are drawn.
    names : sequence of d str
        Names of the columns.
    shares : sequence of 2 float
        The shares of the variance.
    labels : sequence of length n, default=None
        Groups of the rows, in colours.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes
    """
    axes = axes_for(axes, 6.4, 4.8)
    Z, arrows = np.asarray(coordinates, dtype=float), np.asarray(loadings, dtype=float)
    groups = [None] if labels is None else list(dict.fromkeys(np.sort(np.asarray(labels)).tolist()))
    for g, group in enumerate(groups):
        chosen = Z if group is None else Z[np.asarray(labels) == group]
        axes.plot(
            *chosen.T,
            **({"color": FAINT, "marker": "o"} if group is None else of_class(g)),
            linestyle="none",
            markersize=3.5,
            alpha=0.7,
            label=None if group is None else str(group),
            zorder=1,
        )
    lengths = np.hypot(*arrows.T)
    longest = np.argsort(-lengths, kind="stable")[:MOST_ARROWS]
    room = 0.9 * np.abs(Z).max(initial=0.0)
    scale = room / lengths.max(initial=0.0) if lengths.max(initial=0.0) > 0 else 0.0
    for j in longest[lengths[longest] > 0]:
        end = scale * arrows[j]
        axes.annotate(
            "", end, (0, 0), arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.1}
        )
        axes.annotate(
            names[j],
            end,
            xytext=(4 if end[0] >= 0 else -4, 4 if end[1] >= 0 else -4),
            textcoords="offset points",
            ha="left" if end[0] >= 0 else "right",
            va="bottom" if end[1] >= 0 else "top",
            fontsize="small",
            color=INK,
            bbox={"facecolor": PAPER, "alpha": 0.75, "edgecolor": "none", "pad": 0.5},
        )
    axes.axhline(0, color=SOFT, linewidth=0.6, zorder=0)
    axes.axvline(0, color=SOFT, linewidth=0.6, zorder=0)
    axes.margins(0.15)
    if labels is not None and len(groups) <= len(CLASSES) * len(MARKS):
        axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    first, second = (f"component {k + 1} ({100 * share:.0f} %)" for k, share in enumerate(shares))
    return finished(axes, first, second, grid="both")
