"""How fast solvers close the gap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes


def convergence(
    gaps: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    reference: float = 1.0,
    tol: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the smallest duality gap so far against time, one line per solver.

    Parameters
    ----------
    gaps : mapping of str to (seconds, gaps)
        For each solver the seconds since its start and the gap at each step, nan where it was not
        computed: what a fitted model has as `trace_.seconds` and `trace_.gap`.
    reference : float, default=1.0
        What the gaps are divided by, usually the best known objective.
    tol : float, default=None
        A gap at which the solvers stop, in the units of the axis; drawn as a dashed line.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the lines, both scales logarithmic.
    """
    ax = plt.subplots(layout="constrained")[1] if ax is None else ax
    for name, (seconds, gap) in gaps.items():
        at, best = _running_minimum(np.asarray(seconds, float), np.asarray(gap, float) / reference)
        ax.plot(1e3 * at, best, marker="o", markersize=3, linewidth=1.5, label=name)
    if tol is not None:
        ax.axhline(tol, color="0.4", linewidth=1, linestyle="--")
        ax.annotate(
            f"tol = {tol:.0e}",
            (1, tol),
            xycoords=("axes fraction", "data"),
            xytext=(-4, 3),
            textcoords="offset points",
            ha="right",
            color="0.4",
        )
    ax.set(xscale="log", yscale="log", xlabel="milliseconds", ylabel="duality gap / objective")
    ax.grid(True, which="major", color="0.9")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def _running_minimum(seconds: np.ndarray, gap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The steps at which a finite gap is known, and the smallest one up to each."""
    known = np.isfinite(gap)
    # A gap of 0 or below is rounding; a logarithmic axis shows it at the precision of floats.
    best = np.maximum(np.minimum.accumulate(gap[known]), np.finfo(float).eps)
    return seconds[known], best
