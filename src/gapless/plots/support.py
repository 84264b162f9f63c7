"""The multipliers of a support vector machine by row, and a curve with a band around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from .style import CLASSES, FAINT, GUIDE, INK, SOFT, STYLES, axes_for, finished

# What the multiplier of a row may be, with a colour and a mark for each.
STATUS: dict[str, dict[str, Any]] = {
    "inactive": {"color": FAINT, "marker": "v"},
    "on margin": {"color": CLASSES[0], "marker": "o"},
    "bounded": {"color": CLASSES[1], "marker": "s"},
    "active": {"color": CLASSES[2], "marker": "^"},
}


def multipliers(
    margins: Sequence[float],
    alpha: Sequence[float],
    status: Sequence[str],
    *,
    bound: float | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw the multiplier of each row against its margin, which the optimality conditions tie.

    Parameters
    ----------
    margins : sequence of n floats
        t·f(x) of the rows, t = ±1: 1 on the margin, below 0 on the wrong side.
    alpha : sequence of n floats
        Their multipliers.
    status : sequence of n str
        "inactive", "on margin", "bounded" or "active", as in `kkt_status_`.
    bound : float, default=None
        The largest multiplier C, drawn as a line.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With a set of points for each status that occurs.
    """
    axes = axes_for(axes, 6.4, 4.0)
    across, up, of = np.asarray(margins, float), np.asarray(alpha, float), np.asarray(status)
    axes.axvline(1.0, **GUIDE)
    axes.axvline(0.0, color=SOFT, linewidth=0.8)
    if bound is not None and np.isfinite(bound):
        axes.axhline(bound, **GUIDE)
    for name, style in STATUS.items():
        chosen = of == name
        if np.any(chosen):
            label = f"{name}: {np.count_nonzero(chosen)}"
            axes.scatter(across[chosen], up[chosen], s=24, linewidths=0, label=label, **style)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return finished(axes, "margin t·f(x)", "multiplier α")


def curve(
    x: Sequence[float],
    values: Sequence[float],
    *,
    band: tuple[Sequence[float], Sequence[float]] | None = None,
    points: tuple[Sequence[float], Sequence[float]] | None = None,
    support: Sequence[int] = (),
    bounded: Sequence[int] = (),
    label: str = "",
    band_label: str = "",
    style: int = 0,
    legend: bool = True,
    names: tuple[str, str] = ("x", "y"),
    axes: Axes | None = None,
) -> Axes:
    """Draw what a regression of one feature predicts, with a band around it and the rows.

    Parameters
    ----------
    x : sequence of m floats
        Values of the feature, increasing.
    values : sequence of m floats
        The predictions there.
    band : pair of sequences of m floats, default=None
        The lower and the upper end of a band: the tube of support vector regression, intervals, or
        standard deviations.
    points : pair of sequences of n floats, default=None
        Feature and target of the rows.
    support, bounded : sequence of int, default=()
        Rows that are circled; those of them that get a square instead.
    label, band_label : str, default=""
        Names of the curve and of the band.
    style : int, default=0
        Which of the line styles to take, for several curves on the same axes.
    legend : bool, default=True
        Whether the names stand beside the picture.
    names : tuple of two str
        Names of the axes.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
    """
    axes = axes_for(axes)
    line = STYLES[style % len(STYLES)]
    if band is not None:
        shade = {"color": line["color"], "alpha": 0.18, "linewidth": 0}
        axes.fill_between(x, band[0], band[1], label=band_label or None, **shade)
    if points is not None:
        rows = np.column_stack([np.asarray(part, dtype=float) for part in points])
        axes.plot(rows[:, 0], rows[:, 1], ".", color=SOFT, markersize=5, zorder=1)
        free = np.setdiff1d(np.asarray(support, int), np.asarray(bounded, int))
        for chosen, mark, name in ((free, "o", "free"), (np.asarray(bounded, int), "s", "bounded")):
            if len(chosen):
                ring: Any = {"facecolors": "none", "edgecolors": INK, "lw": 0.9, "marker": mark}
                name = f"{name} support" if len(bounded) else "support"
                axes.scatter(rows[chosen, 0], rows[chosen, 1], s=50, zorder=3, label=name, **ring)
    axes.plot(x, values, linewidth=1.8, label=label or None, **line)
    if legend and axes.get_legend_handles_labels()[1]:
        axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    return finished(axes, *names)
