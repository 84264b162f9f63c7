"""ROC and precision–recall curves, with the band in which the true ones lie."""

from __future__ import annotations

import textwrap

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

WIDTH = 56  # characters of a line of a title


def roc(
    fpr: np.ndarray,
    tpr: np.ndarray,
    *,
    band: tuple[np.ndarray, np.ndarray] | None = None,
    label: str = "",
    axes: Axes | None = None,
) -> Axes:
    """Draw the true positive rate against the false positive rate.

    Parameters
    ----------
    fpr, tpr : array of shape (m,)
        Points of the curve, from (0, 0) to (1, 1).
    band : pair of arrays of shape (m,), default=None
        Low and high ends of `tpr`.
    label : str, default=""
        What stands above, such as the area.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With the curve, its band, and the diagonal of scores that say nothing.
    """
    axes = square(axes)
    if band is not None:
        axes.fill_between(fpr, *band, color="C0", alpha=0.15, linewidth=0)
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle=":")
    axes.plot(fpr, tpr, color="C0", linewidth=1.5)
    axes.set(xlabel="false positive rate", ylabel="true positive rate")
    return titled(axes, label)


def precision_recall(
    recall: np.ndarray,
    precision: np.ndarray,
    *,
    band: tuple[np.ndarray, np.ndarray] | None = None,
    prevalence: float | None = None,
    label: str = "",
    axes: Axes | None = None,
) -> Axes:
    """Draw precision against recall.

    Parameters
    ----------
    recall, precision : array of shape (m,)
        Points of the curve, the recall falling.
    band : pair of arrays of shape (m,), default=None
        Low and high ends of `precision`.
    prevalence : float, default=None
        The precision of scores that say nothing, drawn as a line.
    label : str, default=""
        What stands above, such as the area.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With the curve as steps, and its band.
    """
    axes = square(axes)
    if band is not None:
        axes.fill_between(recall, *band, step="post", color="C0", alpha=0.15, linewidth=0)
    if prevalence is not None:
        axes.axhline(prevalence, color="0.6", linewidth=1, linestyle=":")
    axes.plot(recall, precision, color="C0", linewidth=1.5, drawstyle="steps-post")
    axes.set(xlabel="recall", ylabel="precision")
    return titled(axes, label)


def square(axes: Axes | None) -> Axes:
    """Axes for shares against shares."""
    if axes is None:
        axes = plt.figure(figsize=(4.8, 4.8), layout="constrained").subplots()
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def titled(axes: Axes, label: str) -> Axes:
    """The axes with a sentence above."""
    if label:
        axes.set_title(textwrap.fill(label, WIDTH), fontsize="small", loc="left")
    return axes
