"""Errors before and past the point where a model fits all its rows."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes


def descent(
    features: Sequence[int],
    train: Sequence[float],
    test: Sequence[float],
    *,
    rows: int,
    axes: Axes | None = None,
) -> Axes:
    """Draw the errors of training and test rows by the number of features.

    Parameters
    ----------
    features : sequence of m ints
        Numbers of features.
    train, test : sequence of m floats
        Mean squared errors; those of training rows that are 0 but for rounding are left out.
    rows : int
        The number of training rows, drawn as a line.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
    """
    if axes is None:
        axes = plt.figure(figsize=(6.4, 3.6), layout="constrained").subplots()
    at, own, new = (np.asarray(of, dtype=float) for of in (features, train, test))
    visible = own > 1e-6 * new.min()
    axes.axvline(rows, color="0.6", linewidth=0.8, linestyle="--")
    axes.plot(at[visible], own[visible], color="C0", linewidth=1.5, label="training rows")
    axes.plot(at, new, color="C1", linewidth=1.5, marker=".", label="test rows")
    axes.set(xscale="log", yscale="log", xlabel="features", ylabel="mean squared error")
    low = min(new.min(), np.median(own[visible]) if visible.any() else new.min())
    axes.set_ylim(bottom=0.3 * low)
    axes.annotate(f" {rows} rows", (rows, axes.get_ylim()[1]), va="top", ha="left", color="0.4")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.legend(frameon=False, fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    return axes
