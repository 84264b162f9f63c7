"""A small network with its numbers: values forward, gradients backward."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from .style import ACCENT, FAINT, INK, PAPER, SOFT, axes_for

# Where along an edge its numbers stand: nearer to the unit it comes from, where edges do not cross.
ALONG = 0.32
NODE = 40  # the size of a unit, in points
SPREAD = 1.6  # the height of a unit's own row, where a column of units is 1 wide


def computation(
    weights: Sequence[np.ndarray],
    values: Sequence[np.ndarray],
    *,
    gradients: Sequence[np.ndarray] | None = None,
    biases: Sequence[np.ndarray] | None = None,
    bias_gradients: Sequence[np.ndarray] | None = None,
    names: Sequence[Sequence[str]] | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw a small network of dense layers for one row, with the numbers of a backward pass.

    Parameters
    ----------
    weights : sequence of L arrays of shape (units before, units after)
        The weights of each layer.
    values : sequence of L + 1 arrays of shape (units,)
        The inputs, and what the units of each layer return; written in the units.
    gradients : sequence of L arrays of the shapes of `weights`, default=None
        Derivatives of the loss, written in blue below the weights.
    biases, bias_gradients : sequence of L arrays of shape (units after,), default=None
        The same for the biases, written below the units.
    names : sequence of L + 1 sequences of str, default=None
        Names of the units, written above them.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure, large enough to be read, if None.

    Returns
    -------
    axes : matplotlib Axes
    """
    tables = [np.asarray(W, dtype=float) for W in weights]
    units = [np.asarray(layer, dtype=float).ravel() for layer in values]
    expected = [(len(one), len(other)) for one, other in pairwise(units)]
    if [W.shape for W in tables] != expected:
        raise ValueError(
            f"weights have shapes {[W.shape for W in tables]}, but the values need {expected}."
        )
    tallest = max(len(layer) for layer in units)
    axes = axes_for(axes, 2.6 * len(units), 1.7 * tallest + 0.6)
    at = [
        [(float(k), SPREAD * (0.5 * (len(layer) - 1) - i)) for i in range(len(layer))]
        for k, layer in enumerate(units)
    ]
    for k, W in enumerate(tables):
        for i, j in np.ndindex(*W.shape):
            start, end = np.array(at[k][i]), np.array(at[k + 1][j])
            axes.plot(*zip(start, end), color=FAINT, linewidth=1.2, zorder=1)
            slope = None if gradients is None else float(np.asarray(gradients[k])[i, j])
            _numbers(axes, start + ALONG * (end - start), float(W[i, j]), slope)
    for k, layer in enumerate(units):
        for i, value in enumerate(layer):
            x, y = at[k][i]
            look: dict[str, Any] = {"mfc": PAPER, "mec": INK, "mew": 1.4, "zorder": 2}
            axes.plot(x, y, "o", markersize=NODE, **look)
            axes.text(x, y, _short(value), ha="center", va="center", zorder=4)
            if names is not None:
                _beside(axes, (x, y), names[k][i], 0.55 * NODE + 4, "bottom", SOFT)
            if biases is not None and k > 0:
                words = f"b = {_short(np.asarray(biases[k - 1])[i])}"
                _beside(axes, (x, y), words, -0.55 * NODE - 4, "top", INK)
            if bias_gradients is not None and k > 0:
                words = f"∂ = {_short(np.asarray(bias_gradients[k - 1])[i])}"
                _beside(axes, (x, y), words, -0.55 * NODE - 17, "top", ACCENT)
    half = 0.5 * SPREAD * tallest
    axes.set(xlim=(-0.3, len(units) - 0.7), ylim=(-half, half))
    axes.axis("off")
    return axes


def _numbers(axes: Axes, at: np.ndarray, weight: float, slope: float | None) -> None:
    """A weight and its derivative on an edge."""
    paper = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.6}
    common: dict[str, Any] = {"ha": "center", "fontsize": "small", "zorder": 3, "bbox": paper}
    x, y = float(at[0]), float(at[1])
    axes.text(x, y, _short(weight), va="center" if slope is None else "bottom", **common)
    if slope is not None:
        axes.text(x, y, f"∂ = {_short(slope)}", va="top", color=ACCENT, **common)


def _short(number: float) -> str:
    """Three digits, with a true minus sign."""
    return f"{number:.3g}".replace("-", "−")


def _beside(
    axes: Axes, at: tuple[float, float], words: str, points: float, va: str, color: str
) -> None:
    """Words above or below a unit."""
    axes.annotate(
        words,
        at,
        xytext=(0, points),
        textcoords="offset points",
        ha="center",
        va=va,
        fontsize="small",
        color=color,
    )
