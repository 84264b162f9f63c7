"""Clusters: the steps of k-means, and how well each row fits its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from .style import ACCENT, FAINT, GUIDE, INK, PAPER, axes_for, finished

# Rows that are drawn as points; of more, every so manieth.
MOST_POINTS = 5000
# With more clusters than these, bars are not named.
MOST_NAMED = 30
# The number of moves is written at steps that go down by this part of the whole way.
SHORTEST = 0.08
# Bars of a cluster that are told apart; of more rows, quantiles.
MOST_BARS = 400


def kmeans_objective(
    objective: Sequence[float],
    moved: Sequence[int] | None = None,
    *,
    step: str = "step",
    axes: Axes | None = None,
) -> Axes:
    """Draw the sum of squares of k-means step by step.

    Parameters
    ----------
    objective : sequence of float
        The sum of squared distances after each step.
    moved : sequence of int, default=None
        How many rows changed their cluster in each step, written at steps that go far down.
    step : str, default="step"
        What a step is called.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With a point for each step.
    """
    axes = axes_for(axes)
    values = np.asarray(objective, dtype=float)
    steps = np.arange(1, len(values) + 1)
    axes.plot(steps, values, color=ACCENT, marker="o", markersize=4, linewidth=1.5)
    if len(values):
        axes.axhline(values[-1], **GUIDE)
        # A quarter of a step beyond the ends, so that no point is cut.
        axes.set_xlim(0.75, len(values) + 0.25)
    reach = float(values[0] - values[-1]) if len(values) else 0.0
    for place, count in enumerate(moved if moved is not None else ()):
        # A word for each long way down; others would lie on top of each other.
        if place == 0 or not values[place - 1] - values[place] > SHORTEST * reach:
            continue
        axes.annotate(
            f"{count:,} {'row moves' if count == 1 else 'rows move'}",
            (steps[place], values[place]),
            xytext=(4, 6),
            textcoords="offset points",
            fontsize="x-small",
            color=INK,
        )
    return finished(axes, step, "sum of squared distances")


def kmeans_steps(
    X: np.ndarray,
    centers: np.ndarray,
    *,
    names: Sequence[str] | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw the way of the centres of k-means among the rows.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows. Of more than two columns, those two are drawn that vary most between the last
        centres; with a single one, the steps go upwards.
    centers : array of shape (steps, k, d)
        The centres of each step.
    names : sequence of d str, default=None
        Names of the columns.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        Rows in grey, the way of each centre as a line from a ring to a disk.
    """
    axes = axes_for(axes, 6.4, 4.8)
    rows, ways = np.asarray(X, dtype=float), np.asarray(centers, dtype=float)
    if names is None:
        names = [f"column {j}" for j in range(rows.shape[1])]
    rows = rows[:: -(-len(rows) // MOST_POINTS)]
    if rows.shape[1] == 1:
        times = np.repeat(np.arange(1.0, len(ways) + 1)[:, None], ways.shape[1], axis=1)
        x, y, labels = ways[:, :, 0], times, (names[0], "step")
        axes.plot(rows[:, 0], np.zeros(len(rows)), "|", color=FAINT)
    else:
        one, two = np.sort(np.argsort(-ways[-1].var(axis=0), kind="stable")[:2])
        x, y, labels = ways[:, :, one], ways[:, :, two], (names[one], names[two])
        axes.plot(rows[:, one], rows[:, two], ".", color=FAINT, markersize=3, zorder=1)
    for j in range(ways.shape[1]):
        axes.plot(x[:, j], y[:, j], color=ACCENT, linewidth=1.5, zorder=2)
        axes.plot(x[:-1, j], y[:-1, j], ".", color=ACCENT, markersize=4, zorder=3)
        axes.plot(x[0, j], y[0, j], "o", mfc=PAPER, mec=ACCENT, markersize=7, zorder=3)
        axes.plot(x[-1, j], y[-1, j], "o", mfc=ACCENT, mec=PAPER, markersize=9, zorder=4)
    return finished(axes, *labels, grid="both")


def silhouettes(
    values: np.ndarray,
    labels: np.ndarray,
    *,
    mean: float | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw how well each row fits its cluster: a bar for each, the clusters below each other.

    Parameters
    ----------
    values : array of shape (n,)
        The silhouettes of the rows, from −1 to 1.
    labels : array of shape (n,)
        Their clusters.
    mean : float, default=None
        The mean silhouette, as a dashed line.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        Bars to the right fit, bars to the left would fit a neighbouring cluster better. The height
        of a cluster is its share of the rows.
    """
    clusters, numbers = np.unique(labels, return_inverse=True)
    axes = axes_for(axes, 6.4, min(2.0 + 0.5 * len(clusters), 8.0))
    values = np.asarray(values, dtype=float)
    gap = 0.02 * len(values)
    top, middles = 0.0, []
    for c in range(len(clusters)):
        own = np.sort(values[numbers == c])[::-1]
        count = len(own)
        shown = own
        if count > MOST_BARS:
            shown = np.quantile(own, 1 - (np.arange(MOST_BARS) + 0.5) / MOST_BARS)
        edges = top + count * np.arange(len(shown) + 1) / len(shown)
        for is_good, colour in ((True, ACCENT), (False, FAINT)):
            heights = np.where((shown >= 0) == is_good, shown, 0.0)
            axes.stairs(heights, edges, orientation="horizontal", fill=True, color=colour)
        middles.append(top + 0.5 * count)
        top += count + gap
    if mean is not None:
        axes.axvline(mean, **GUIDE)
        axes.annotate(
            f"mean {mean:.2f}",
            (mean, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            fontsize="small",
            ha="center",
            color=INK,
        )
    names = [str(cluster) for cluster in clusters] if len(clusters) <= MOST_NAMED else []
    axes.set_yticks(middles[: len(names)], names)
    axes.set_ylim(max(top - gap, 1.0), 0.0)
    axes.axvline(0, color=FAINT, linewidth=0.8)
    axes.set_xlim(min(0.0, float(values.min(initial=0.0))) - 0.02, 1.0)
    return finished(axes, "silhouette", "cluster", grid="x")
