"""The perceptron at work: its weights and its mistakes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from .._ground.drawing import numbered
from .style import ACCENT, CLASSES, DASHES, FAINT, figure_of, finished

# With more weights than these, lines are not named.
MOST_NAMED = 10


def perceptron(
    weights: np.ndarray,
    mistakes: Sequence[float],
    *,
    rows: int = 1,
    names: Sequence[str] | None = None,
    axes: Sequence[Axes] | None = None,
) -> tuple[Axes, ...]:
    """Draw the weights of a perceptron epoch by epoch, and below them its mistakes.

    Parameters
    ----------
    weights : array of shape (m + 1, d + 1) or (m + 1, K, d + 1)
        The bias and the coefficients at the start and after each of m steps, of K classes.
    mistakes : sequence of float
        The mistakes of each epoch.
    rows : int, default=1
        Steps per epoch: 1 if the weights are those after each epoch.
    names : sequence of d str, default=None
        Names of the features; w₁, w₂, … if None.
    axes : sequence of two matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : tuple of matplotlib Axes
        The panel of the weights and that of the mistakes.
    """
    if axes is None:
        axes = list(figure_of(6.4, 5.4).subplots(2, sharex=True, height_ratios=[3, 1]))
    upper, lower = axes
    steps = np.asarray(weights, dtype=float)
    time = np.arange(len(steps)) / rows
    d = steps.shape[-1] - 1
    named = ["bias", *(names if names is not None else [numbered("w", j + 1) for j in range(d)])]
    lines = steps.reshape(len(steps), -1)
    has_names = lines.shape[1] == d + 1 <= MOST_NAMED
    for j, line in enumerate(lines.T):
        label = named[j] if has_names else None
        # Weights change at once and then stay: steps, not slopes.
        style = {"color": CLASSES[j % len(CLASSES)], "linestyle": DASHES[j % len(DASHES)]}
        upper.step(time, line, where="post", linewidth=1.5, label=label, **style)
    upper.axhline(0, color=FAINT, linewidth=0.8)
    if has_names:
        upper.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1), fontsize="small")
    at = np.arange(len(mistakes)) + 0.5
    lower.bar(at, list(mistakes), width=0.6, color=ACCENT)
    lower.set_ylim(bottom=0)
    finished(upper, "", "weight")
    finished(lower, "epoch", "mistakes")
    return upper, lower
