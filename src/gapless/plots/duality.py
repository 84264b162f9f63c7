"""An objective from above and its dual from below, and the gap between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from .style import (
    ACCENT,
    DASHED,
    FAINT,
    figure_of,
    finished,
    named_height,
    places,
    with_logarithms,
)


def primal_dual(
    iterations: Sequence[float],
    primal: Sequence[float],
    dual: Sequence[float],
    *,
    tol: float | None = None,
    axes: Sequence[Axes] | None = None,
) -> tuple[Axes, Axes]:
    """Draw how an objective falls and its lower bound rises, and beside them the gap.

    Parameters
    ----------
    iterations : sequence of m floats
        The steps of the solver; on a logarithmic axis if they go far.
    primal, dual : sequence of m floats
        The objective, and the lower bound on its minimum, after each; the best so far are drawn.
    tol : float, default=None
        The gap at which the solver stops, drawn as a line.
    axes : pair of matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : pair of matplotlib Axes
        The panel of the two bounds and that of the gap, whose axis is logarithmic.
    """
    if axes is None:
        axes = list(figure_of(8.4, 3.4).subplots(1, 2))
    left, right = axes
    steps, _ = (places(panel, [float(at) for at in iterations]) for panel in axes)
    upper = np.minimum.accumulate(np.asarray(primal, float))
    known = np.where(np.isfinite(np.asarray(dual, float)), np.asarray(dual, float), -np.inf)
    lower = np.maximum.accumulate(known)
    left.fill_between(steps, lower, upper, color=FAINT, alpha=0.25, linewidth=0)
    left.plot(steps, upper, color=ACCENT, linewidth=1.8, label="primal P")
    left.plot(steps, lower, color=ACCENT, linewidth=1.8, linestyle=DASHED, label="dual D")
    left.legend(frameon=False)
    # Below the precision of floats the gap is rounding.
    least = np.finfo(float).eps * np.max(np.abs(upper), initial=1.0)
    gap = np.maximum(upper - lower, least)
    right.plot(steps, gap, color=ACCENT, linewidth=1.8, marker="o", markersize=3)
    if tol is not None:
        named_height(right, tol, f"tol = {tol:.0e}")
    with_logarithms(right, "y", [*gap.tolist(), *([] if tol is None else [tol])])
    return (
        finished(left, "iterations", "objective"),
        finished(right, "iterations", "gap P − D"),
    )
