"""How fast solvers approach the best possible objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes


def convergence(
    excess: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    tol: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how far solvers are above the best possible objective, against time.

    Parameters
    ----------
    excess : mapping of str to (seconds, excess)
        For each solver the seconds since its start and, at each step, what the objective may be
        lowered by at most: a gap, or the objective minus a lower bound. nan where it is not known.
        The smallest value so far is drawn, since that is the point a solver returns.
    tol : float, default=None
        Where the solvers stop, in the same units; drawn as a dashed line. Below a hundredth of it
        the picture ends.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    ax : matplotlib Axes
        The axes with one line per solver, both scales logarithmic.
    """
    ax = plt.subplots(layout="constrained")[1] if ax is None else ax
    for name, (seconds, values) in excess.items():
        at, best = _best_so_far(np.asarray(seconds, float), np.asarray(values, float))
        ax.plot(1e3 * at, best, marker="o", markersize=3, linewidth=1.5, label=name)
    ax.set(xscale="log", yscale="log", xlabel="milliseconds", ylabel="above the best possible")
    if tol is not None:
        ax.set_ylim(bottom=tol / 100)
        ax.axhline(tol, color="0.4", linewidth=1, linestyle="--")
        ax.annotate(
            f"tol = {tol:.0e}",
            (0, tol),
            xycoords=("axes fraction", "data"),
            xytext=(4, 3),
            textcoords="offset points",
            color="0.4",
        )
    ax.grid(True, which="major", color="0.9")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def _best_so_far(seconds: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The steps at which a value is known, and the smallest one up to each."""
    known = np.isfinite(values)
    # 0 and below is rounding; a logarithmic axis shows it at the precision of floats.
    best = np.maximum(np.minimum.accumulate(values[known]), np.finfo(float).eps)
    return seconds[known], best
