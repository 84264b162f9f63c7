"""Which class was taken for which."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from .._ground.percent import percent

# Up to so many classes each cell has its interval, and up to so many its count.
DETAILED, COUNTED = 5, 20


def confusion(
    counts: np.ndarray,
    shares: np.ndarray,
    names: Sequence[str],
    *,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw a confusion matrix, shaded by the share of each true class.

    Parameters
    ----------
    counts, shares : array of shape (K, K)
        How many rows of class i were predicted to be of class j, and which part of the class.
    names : sequence of K str
        The classes.
    low, high : array of shape (K, K), default=None
        Ends of the intervals of the shares; written into the cells of up to five classes.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With an image of the shares, and the counts in its cells.
    """
    K = len(names)
    if axes is None:
        side = min(2.4 + 0.55 * K, 9.0)
        axes = plt.figure(figsize=(side, side), layout="constrained").subplots()
    axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
    for i, j in np.ndindex(K, K) if K <= COUNTED else ():
        text = f"{counts[i, j]:g}"
        if K <= DETAILED and low is not None and high is not None:
            ends = percent(float(low[i, j]), 0), percent(float(high[i, j]), 0)
            text += f"\n{ends[0].removesuffix(' %')}–{ends[1]}"
        color = "white" if shares[i, j] > 0.5 else "0.2"
        axes.text(j, i, text, ha="center", va="center", color=color, fontsize="small")
    axes.set_xticks(np.arange(K), names, rotation=90 if max(map(len, names)) > 5 else 0)
    axes.set_yticks(np.arange(K), names)
    axes.set(xlabel="predicted", ylabel="true")
    axes.spines[:].set_visible(False)
    return axes
