"""What the models of a search score on unseen rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

Array = np.ndarray

# Cells of a heat map along each axis, and how far it goes beyond the outermost models, as a part of
# the distance between them.
CELLS, BEYOND = 200, 0.06
# Scores below this quantile have the darkest colour: a hopeless model would hide all differences.
LOWEST = 0.25


def search(
    tried: Mapping[str, Sequence[float]],
    unseen: Sequence[float],
    *,
    metric: str = "score",
    chosen: int | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw scores on unseen rows against one parameter, or as a heat map of two.

    Parameters
    ----------
    tried : mapping of str to sequence of m floats > 0
        The values of one or two parameters, by name, for logarithmic axes.
    unseen : sequence of m floats
        Score of each model; of those with the same values the last one counts.
    metric : str, default="score"
        What the score is.
    chosen : int, default=None
        The model to mark.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With a line through the models, or with a dot for each of them in cells that have the colour
        of the nearest one.
    """
    if axes is None:
        axes = plt.figure(figsize=(6.4, 3.6), layout="constrained").subplots()
    values = [np.asarray(of, dtype=float) for of in tried.values()]
    scores = np.asarray(unseen, dtype=float)
    if len(values) == 2 and all(len(np.unique(of)) > 1 for of in values):
        _heat_map(axes, values, scores, metric, chosen)
        across, up = tried
        axes.set(xlabel=across, ylabel=up, xscale="log", yscale="log")
        return axes
    name, along = max(zip(tried, values), key=lambda of: len(np.unique(of[1])))
    order = np.argsort(along, kind="stable")
    axes.plot(along[order], scores[order], color="C0", linewidth=1.5, marker=".")
    if chosen is not None:
        axes.plot(along[chosen], scores[chosen], "o", color="0.2", zorder=3, label="chosen")
    axes.set(xscale="log", xlabel=name, ylabel=f"{metric} on unseen rows")
    axes.grid(True, which="major", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _heat_map(
    axes: Axes, values: list[Array], scores: Array, metric: str, chosen: int | None
) -> None:
    """Cells in the colour of the nearest model, a dot for each model, a ring for the chosen one."""
    # The last of equal ones: first looks at a part of the rows are overwritten.
    points, first = np.unique(np.column_stack(values)[::-1], axis=0, return_index=True)
    latest = scores[::-1][first]
    edges, places = zip(*(_cells(of) for of in points.T))
    across, up = ((edge[1:] + edge[:-1]) / 2 for edge in edges)
    squares = (across[:, None] - places[0]) ** 2
    nearest = np.array([np.argmin(squares + (y - places[1]) ** 2, axis=1) for y in up])
    low, high = (np.log(points.min(axis=0)), np.log(points.max(axis=0)))
    in_units = [np.exp(a + edge * (b - a)) for edge, a, b in zip(edges, low, high)]
    least = float(np.quantile(latest, LOWEST))
    mesh = axes.pcolormesh(
        *in_units, latest[nearest], cmap="viridis", vmin=least if least < latest.max() else None
    )
    axes.plot(*points.T, "o", mfc="white", mec="0.3", mew=0.5, markersize=3)
    if chosen is not None:
        at = [of[chosen] for of in values]
        axes.plot(*at, "o", mfc="none", mec="C3", mew=2, markersize=10, label="chosen")
    bar = axes.figure.colorbar(mesh, ax=axes, extend="min" if latest.min() < least else "neither")
    bar.set_label(f"{metric} on unseen rows")


def _cells(values: Array) -> tuple[Array, Array]:
    """Edges of the cells, where 0 and 1 are the outermost values, and the values, by logarithms."""
    logs = np.log(values)
    edges = np.linspace(-BEYOND, 1 + BEYOND, CELLS + 1)
    return edges, (logs - logs.min()) / (logs.max() - logs.min())
