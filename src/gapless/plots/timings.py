"""How long models take to learn and to predict."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from .style import ACCENT, FAINT, PAPER, RULE, axes_for, finished, with_logarithms


def timings(
    names: Sequence[str],
    fit_seconds: Sequence[float],
    predict_seconds: Sequence[float],
    *,
    rows: int | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw how long each model learns and how long it predicts, on a logarithmic scale.

    Parameters
    ----------
    names : sequence of m str
        The models, from top to bottom.
    fit_seconds, predict_seconds : sequence of m floats > 0
        Seconds to learn, a ring, and to predict, a disk.
    rows : int, default=None
        How many rows were learned and predicted, for the name of the axis.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With a line between both times of each model: blue where predicting takes longer, as for a
        lazy learner, else grey.
    """
    axes = axes_for(axes, height=1.2 + 0.34 * len(names))
    learn, predict = (1e3 * np.asarray(of, dtype=float) for of in (fit_seconds, predict_seconds))
    place = np.arange(len(names))
    with_logarithms(axes, "x", [*learn, *predict])
    colors = np.where(predict > learn, ACCENT, FAINT).tolist()
    axes.hlines(place, 0, 1, transform=axes.get_yaxis_transform(), color=RULE, linewidth=1.0)
    axes.hlines(place, learn, predict, color=colors, linewidth=2.4, zorder=2)
    ring = {"s": 55, "edgecolors": colors, "linewidths": 1.8, "zorder": 3}
    axes.scatter(learn, place, facecolors=PAPER, label="learn", **ring)
    axes.scatter(predict, place, facecolors=colors, label="predict", **ring)
    axes.set_yticks(place, [str(name) for name in names])
    axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
    axes.legend(frameon=False, fontsize="small", ncols=2, loc="lower left", bbox_to_anchor=(0, 1))
    return finished(axes, f"milliseconds{f' for {rows:,} rows' if rows else ''}", grid="x")
