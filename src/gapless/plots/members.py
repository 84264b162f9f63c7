"""Scores of ensembles of different size."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

Array = np.ndarray


def members(
    counts: Sequence[int],
    scores: Sequence[float],
    standard_errors: Sequence[float] | None = None,
    *,
    metric: str = "score",
    axes: Axes | None = None,
) -> Axes:
    """Draw scores on unseen rows against the number of members.

    Parameters
    ----------
    counts : sequence of m ints
        Numbers of members.
    scores : sequence of m floats
        The score of each ensemble.
    standard_errors : sequence of m floats, default=None
        Half the width of a band around them.
    metric : str, default="score"
        What the score is.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With a line, its band, and the score of the largest ensemble in words.
    """
    if axes is None:
        axes = plt.figure(figsize=(6.4, 3.6), layout="constrained").subplots()
    at, score = np.asarray(counts), np.asarray(scores, dtype=float)
    if standard_errors is not None:
        error = np.asarray(standard_errors, dtype=float)
        axes.fill_between(at, score - error, score + error, color="C0", alpha=0.15, linewidth=0)
    axes.plot(at, score, color="C0", linewidth=1.5, marker=".")
    axes.annotate(
        f"{score[-1]:.3g}",
        (at[-1], score[-1]),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        color="C0",
    )
    axes.set(xlabel="members", ylabel=f"{metric} on unseen rows", xscale="log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.spines[["top", "right"]].set_visible(False)
    return axes
