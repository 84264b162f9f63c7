"""Predictions against the truth: classes, ranks, probabilities and numbers."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from .._ground.percent import percent
from .style import ACCENT, GUIDE, STYLES, axes_for, finished

# With at most this many classes each cell has its interval, or its count.
DETAILED, COUNTED = 5, 20
WIDTH = 56  # characters of a line of a title


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
        The number of rows of class i predicted as class j, and the part of the class.
    names : sequence of K str
        The classes.
    low, high : array of shape (K, K), default=None
        Ends of the intervals of the shares; shown for up to five classes.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With an image of the shares, and the counts in its cells.
    """
    K = len(names)
    side = min(2.4 + 0.55 * K, 9.0)
    axes = axes_for(axes, side, side)
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


def roc(
    fpr: np.ndarray,
    tpr: np.ndarray,
    *,
    band: tuple[np.ndarray, np.ndarray] | None = None,
    label: str = "",
    of: str = "",
    style: int = 0,
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
        The title, such as the area.
    of : str, default=""
        The positive class; names both axes in words.
    style : int, default=0
        From 1 to 4 for further curves on the same axes, drawn in other styles.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With the curve, its band, and the diagonal of uninformative scores.
    """
    axes = _of_shares(axes)
    if band is not None:
        axes.fill_between(fpr, *band, color=ACCENT, alpha=0.15, linewidth=0)
    if style == 0:
        _diagonal(axes, 0.0, 1.0)
    axes.plot(fpr, tpr, linewidth=1.8, **STYLES[style])
    names = "false positive rate", "true positive rate"
    if of:
        names = f"share of others predicted as {of}", f"share of {of} found"
    return finished(axes, *names, title=textwrap.fill(label, WIDTH))


def precision_recall(
    recall: np.ndarray,
    precision: np.ndarray,
    *,
    band: tuple[np.ndarray, np.ndarray] | None = None,
    prevalence: float | None = None,
    label: str = "",
    of: str = "",
    style: int = 0,
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
        The precision of uninformative scores, drawn as a line.
    label : str, default=""
        The title, such as the area.
    of : str, default=""
        The positive class; appears in the name of the recall axis.
    style : int, default=0
        From 1 to 4 for further curves on the same axes, drawn in other styles.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With the curve as steps, and its band.
    """
    axes = _of_shares(axes)
    if band is not None:
        axes.fill_between(recall, *band, step="post", color=ACCENT, alpha=0.15, linewidth=0)
    if prevalence is not None:
        axes.axhline(prevalence, **GUIDE)
    axes.plot(recall, precision, linewidth=1.8, drawstyle="steps-post", **STYLES[style])
    name = f"recall: share of {of} found" if of else "recall"
    return finished(axes, name, "precision", title=textwrap.fill(label, WIDTH))


def _of_shares(axes: Axes | None) -> Axes:
    """Square axes for shares against shares."""
    axes = axes_for(axes, 4.8, 4.8)
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    return axes


def _diagonal(axes: Axes, low: float, high: float) -> None:
    """The line on which both sides agree."""
    axes.plot([low, high], [low, high], **GUIDE)


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
        Ends of the interval of the observed share.
    sizes : array of shape (m,)
        The number of rows in each bin: the area of its dot.
    of : str, default=""
        Whose probabilities these are.
    label : str, default=""
        The title, such as the calibration error.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With a dot and an interval for each bin, and the diagonal on which they should lie.
    """
    axes = _of_shares(axes)
    _diagonal(axes, 0.0, 1.0)
    bins = np.array([said, happened, low, high, sizes], dtype=float)
    said, happened, low, high, sizes = bins[:, np.isfinite(bins).all(axis=0)]
    if len(said):
        axes.vlines(said, low, high, color=ACCENT, linewidth=1.6)
        axes.scatter(said, happened, s=12 + 70 * sizes / sizes.max(), color=ACCENT, lw=0, zorder=3)
    name = f"probability of {of}" if of else "probability"
    return finished(axes, name, "observed share", title=textwrap.fill(label, WIDTH))


def predicted(
    predicted: Sequence[float],
    true: Sequence[float],
    *,
    lower: Sequence[float] = (),
    upper: Sequence[float] = (),
    target: str = "target",
    axes: Axes | None = None,
) -> Axes:
    """Draw true against predicted numbers, each with its prediction interval.

    Parameters
    ----------
    predicted, true : sequence of m floats
        Both, row by row.
    lower, upper : sequence of m floats, default=()
        Ends of prediction intervals, drawn up to the edge of the picture.
    target : str, default="target"
        What is predicted.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With a dot for each row, and the diagonal on which they should lie; both axes have the same
        range.
    """
    axes = axes_for(axes, 4.8, 4.8)
    said, truth = (np.asarray(of, dtype=float) for of in (predicted, true))
    low, high = _range_of(said, truth)
    if len(lower) and len(upper):
        ends = (np.clip(np.asarray(of, dtype=float), low, high) for of in (lower, upper))
        axes.vlines(said, *ends, color=ACCENT, linewidth=1.0, alpha=0.16)
    _diagonal(axes, low, high)
    _dots(axes, said, truth)
    axes.set(xlim=(low, high), ylim=(low, high))
    return finished(axes, f"predicted {target}", f"true {target}")


def residuals(
    predicted: Sequence[float],
    true: Sequence[float],
    *,
    target: str = "target",
    axes: Axes | None = None,
) -> Axes:
    """Draw the residuals, true minus predicted, by the predicted value.

    Parameters
    ----------
    predicted, true : sequence of m floats
        Both, row by row.
    target : str, default="target"
        What is predicted.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With a dot for each row, and a line at 0.
    """
    axes = axes_for(axes)
    said, truth = (np.asarray(of, dtype=float) for of in (predicted, true))
    axes.axhline(0.0, **GUIDE)
    _dots(axes, said, truth - said)
    return finished(axes, f"predicted {target}", "true − predicted")


def _dots(axes: Axes, x: np.ndarray, y: np.ndarray) -> None:
    axes.plot(x, y, "o", color=ACCENT, markersize=3.6, markeredgewidth=0, alpha=0.55)


def _range_of(*numbers: np.ndarray) -> tuple[float, float]:
    """The smallest and the largest of all known numbers, with some room on both sides."""
    known = np.concatenate([of[np.isfinite(of)] for of in numbers])
    if not len(known):
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    room = 0.03 * (high - low) if high > low else max(0.1 * abs(high), 0.5)
    return low - room, high + room
