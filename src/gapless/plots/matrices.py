"""Small matrices of distances, with their numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

from .._ground.drawing import numbered
from .style import ACCENT, FAINT, INK, PAPER, axes_for, figure_of

# Inches of a cell, and the largest share of the accent in one: numbers stay readable.
CELL, STRONGEST = 0.55, 0.45


def distance_matrix(
    values: np.ndarray,
    names: Sequence[str],
    *,
    closest: tuple[int, int] | None = None,
    largest: float | None = None,
    title: str = "",
    axes: Axes | None = None,
) -> Axes:
    """Draw a matrix of distances, darker where they are short.

    Parameters
    ----------
    values : array of shape (k, k)
        The distances; the diagonal is left out.
    names : sequence of k str
        The rows, or clusters, that they are between.
    closest : tuple of two int, default=None
        The pair to be framed.
    largest : float, default=None
        The distance that is drawn white, to compare several matrices; by default the largest one.
    title : str, default=""
        What it is.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With an image and a number for each distance.
    """
    D = np.asarray(values, dtype=float)
    k = len(D)
    if D.shape != (k, k) or len(names) != k:
        raise ValueError(
            f"values must be square with a name for each row, got shape {D.shape} and "
            f"{len(names)} names."
        )
    axes = axes_for(axes, CELL * k + 1.0, CELL * k + 0.8)
    most = float(D.max(initial=0.0)) if largest is None else float(largest)
    shades = LinearSegmentedColormap.from_list("near", [ACCENT, PAPER])
    is_diagonal = np.eye(k, dtype=bool)
    shares = np.where(is_diagonal, 1.0, D / most if most > 0 else 1.0)
    axes.imshow(1 - STRONGEST * (1 - shares), cmap=shades, vmin=0.0, vmax=1.0)
    for i, j in np.ndindex(k, k):
        color = FAINT if i == j else INK
        is_framed = closest is not None and {i, j} == set(closest)
        axes.text(
            *(j, i, f"{D[i, j]:.4g}"),
            ha="center",
            va="center",
            color=color,
            fontweight="bold" if is_framed else "normal",
        )
        if is_framed:
            frame = Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, edgecolor=INK, linewidth=1.8)
            axes.add_patch(frame)
    axes.set_xticks(range(k), [str(name) for name in names])
    axes.set_yticks(range(k), [str(name) for name in names])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if title:
        axes.set_xlabel(title, fontsize="small")
    return axes


def distance_matrices(
    matrices: Sequence[tuple[np.ndarray, Sequence[str], tuple[int, int] | None]],
    *,
    axes: Sequence[Axes] | None = None,
) -> tuple[Axes, ...]:
    """Draw matrices of distances side by side, in the same shades.

    Parameters
    ----------
    matrices : sequence of (values, names, closest)
        What `distance_matrix` takes; the largest first.
    axes : sequence of matplotlib Axes, default=None
        Where to draw, one for each; a new figure if None.

    Returns
    -------
    axes : tuple of matplotlib Axes
    """
    sizes = [len(names) for _, names, _ in matrices]
    if axes is None:
        figure = figure_of(CELL * sum(sizes) + 0.6 * len(sizes), CELL * max(sizes) + 0.8)
        axes = list(figure.subplots(1, len(sizes), squeeze=False, width_ratios=sizes)[0])
    largest = max(float(np.max(values)) for values, _, _ in matrices)
    for k, (panel, (values, names, closest)) in enumerate(zip(axes, matrices, strict=True)):
        title = numbered("D", k + 1)
        if closest is not None:
            one, other = (names[i] for i in closest)
            title += f": {one} and {other} merge at {values[closest]:.4g}"
        distance_matrix(values, names, closest=closest, largest=largest, title=title, axes=panel)
    return tuple(axes)
