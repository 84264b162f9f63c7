"""Several models side by side."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes


def comparison(
    names: Sequence[str],
    train: Sequence[float],
    unseen: Sequence[float],
    standard_errors: Sequence[float],
    *,
    chosen: str | None = None,
    metric: str = "score",
    axes: Axes | None = None,
) -> Axes:
    """Draw the unseen score of each model with its standard error, and its training score.

    Parameters
    ----------
    names : sequence of m str
        The models.
    train, unseen, standard_errors : sequence of m floats
        Both scores, and the error of the second.
    chosen : str, default=None
        The model whose name is written in bold.
    metric : str, default="score"
        What the score is.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With the best model on top; a thin line is the gap between its two scores.
    """
    if axes is None:
        height = 1.2 + 0.32 * len(names)
        axes = plt.figure(figsize=(6.4, height), layout="constrained").subplots()
    own, new, error = (np.asarray(of, dtype=float) for of in (train, unseen, standard_errors))
    order = np.argsort(-np.nan_to_num(new, nan=-np.inf), kind="stable")
    place = np.arange(len(order))
    axes.hlines(place, new[order], own[order], color="0.8", linewidth=1.0, zorder=1)
    axes.plot(own[order], place, "o", color="C0", markersize=5, label="training rows")
    axes.errorbar(
        new[order], place, xerr=error[order], fmt="o", color="C1", markersize=6, label="unseen rows"
    )
    axes.set_yticks(place, [str(names[i]) for i in order])
    for label in axes.get_yticklabels():
        if label.get_text() == chosen:
            label.set_fontweight("bold")
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_xlabel(metric)
    axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes.spines[["top", "right"]].set_visible(False)
    return axes
