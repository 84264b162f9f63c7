"""The scores of several splits of the same rows."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes


def splits(
    of_splits: Sequence[float],
    *,
    train: float,
    unseen: float,
    standard_error: float,
    metric: str = "score",
    axes: Axes | None = None,
) -> Axes:
    """Draw the score of each split, and those of training and unseen rows in all.

    Parameters
    ----------
    of_splits : sequence of floats
        The unseen score of each split.
    train, unseen : float
        Both scores in all, drawn as lines.
    standard_error : float
        Half the width of the band around `unseen`.
    metric : str, default="score"
        What the score is.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
    """
    if axes is None:
        axes = plt.figure(figsize=(6.4, 2.2), layout="constrained").subplots()
    each = np.asarray(of_splits, dtype=float)
    height = np.linspace(-0.3, 0.3, len(each)) if len(each) > 1 else np.zeros(1)
    axes.axvspan(unseen - standard_error, unseen + standard_error, color="C1", alpha=0.15, lw=0)
    axes.axvline(unseen, color="C1", linewidth=1.5, label="unseen rows")
    axes.axvline(train, color="C0", linewidth=1.5, label="training rows")
    axes.plot(each, height, "o", color="C1", alpha=0.5, markersize=4, label="each split")
    axes.set(xlabel=metric, yticks=[], ylim=(-0.6, 0.6))
    axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes.spines[["top", "right", "left"]].set_visible(False)
    return axes
