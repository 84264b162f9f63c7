"""What probabilities said against what happened."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from .curves import square, titled


def reliability(
    said: np.ndarray,
    happened: np.ndarray,
    *,
    low: np.ndarray,
    high: np.ndarray,
    sizes: np.ndarray,
    of: str = "",
    label: str = "",
    axes: Axes | None = None,
) -> Axes:
    """Draw the observed share against the predicted probability.

    Parameters
    ----------
    said, happened : array of shape (m,)
        Mean probability and share of each bin.
    low, high : array of shape (m,)
        Ends of the interval of what happened.
    sizes : array of shape (m,)
        How many rows are in each bin: the area of its dot.
    of : str, default=""
        Whose probabilities these are.
    label : str, default=""
        What stands above, such as the calibration error.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With a dot and an interval for each bin, and the diagonal on which they should lie.
    """
    axes = square(axes)
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle=":")
    axes.vlines(said, low, high, color="C0", alpha=0.5, linewidth=1.5)
    axes.scatter(said, happened, s=10 + 60 * sizes / sizes.max(), color="C0", zorder=3)
    name = f" of {of}" if of else ""
    axes.set(xlabel=f"probability{name}", ylabel="share that came true")
    return titled(axes, label)
