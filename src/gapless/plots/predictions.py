"""Predictions against the truth: confused classes, ROC and precision–recall, calibration."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from .._ground.percent import percent

# Up to so many classes each cell has its interval, and up to so many its count.
DETAILED, COUNTED = 5, 20


def confusion(
    counts: np.ndarray,
    shares: np.ndarray,
    names: Sequence[str],
    *,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw a confusion matrix, shaded by the share of each true class.

    Parameters
    ----------
    counts, shares : array of shape (K, K)
        How many rows of class i were predicted to be of class j, and which part of the class.
    names : sequence of K str
        The classes.
    low, high : array of shape (K, K), default=None
        Ends of the intervals of the shares; written into the cells of up to five classes.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With an image of the shares, and the counts in its cells.
    """
    K = len(names)
    if axes is None:
        side = min(2.4 + 0.55 * K, 9.0)
        axes = plt.figure(figsize=(side, side), layout="constrained").subplots()
    axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
    for i, j in np.ndindex(K, K) if K <= COUNTED else ():
        text = f"{counts[i, j]:g}"
        if K <= DETAILED and low is not None and high is not None:
            ends = percent(float(low[i, j]), 0), percent(float(high[i, j]), 0)
            text += f"\n{ends[0].removesuffix(' %')}–{ends[1]}"
        color = "white" if shares[i, j] > 0.5 else "0.2"
        axes.text(j, i, text, ha="center", va="center", color=color, fontsize="small")
    axes.set_xticks(np.arange(K), names, rotation=90 if max(map(len, names)) > 5 else 0)
    axes.set_yticks(np.arange(K), names)
    axes.set(xlabel="predicted", ylabel="true")
    axes.spines[:].set_visible(False)
    return axes


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


def reliability(
    said: np.ndarray,
    happened: np.ndarray,
    *,
    low: np.ndarray,
    high: np.ndarray,
    sizes: np.ndarray,
    of: str = "",
    label: str = "",
    axes: Axes | None = None,
) -> Axes:
    """Draw the observed share against the predicted probability.

    Parameters
    ----------
    said, happened : array of shape (m,)
        Mean probability and share of each bin.
    low, high : array of shape (m,)
        Ends of the interval of what happened.
    sizes : array of shape (m,)
        How many rows are in each bin: the area of its dot.
    of : str, default=""
        Whose probabilities these are.
    label : str, default=""
        What stands above, such as the calibration error.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With a dot and an interval for each bin, and the diagonal on which they should lie.
    """
    axes = square(axes)
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle=":")
    axes.vlines(said, low, high, color="C0", alpha=0.5, linewidth=1.5)
    axes.scatter(said, happened, s=10 + 60 * sizes / sizes.max(), color="C0", zorder=3)
    name = f" of {of}" if of else ""
    axes.set(xlabel=f"probability{name}", ylabel="share that came true")
    return titled(axes, label)
