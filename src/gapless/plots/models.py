"""Models side by side: their scores, the splits behind a score, the parts of an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from .style import ACCENT, FAINT, INK, RULE, axes_for, finished, legend_beside, with_logarithms

# The parts of an error as points.
POINTS: dict[str, dict[str, Any]] = {
    "noise": {"marker": "D", "markersize": 5, "color": FAINT},
    "bias": {"marker": "s", "markersize": 7, "color": "#d55e00"},
    "variance": {"marker": "^", "markersize": 8, "color": ACCENT},
    "error": {"marker": "o", "markersize": 11, "mfc": "none", "mec": INK},
}


def comparison(
    names: Sequence[str],
    train: Sequence[float],
    unseen: Sequence[float],
    standard_errors: Sequence[float],
    *,
    chosen: str | None = None,
    metric: str = "score",
    higher_is_better: bool = True,
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
    higher_is_better : bool, default=True
        Whether the best model is the one with the highest score; False for losses.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With the best model on top; a thin line is the gap between its two scores.
    """
    axes = axes_for(axes, height=1.2 + 0.32 * len(names))
    own, new, error = (np.asarray(of, dtype=float) for of in (train, unseen, standard_errors))
    worth = new if higher_is_better else -new
    order = np.argsort(-np.nan_to_num(worth, nan=-np.inf), kind="stable")
    place = np.arange(len(order))
    own, new, error = own[order], new[order], np.nan_to_num(error[order])
    axes.hlines(place, new, own, color=FAINT, linewidth=1.0, zorder=1)
    axes.plot(own, place, "o", color=FAINT, markersize=6, mew=0, label="training rows")
    axes.hlines(place, new - error, new + error, color=ACCENT, linewidth=1.8, zorder=2)
    axes.plot(new, place, "o", color=ACCENT, markersize=8, mew=0, label="unseen rows")
    axes.set_yticks(place, [str(names[i]) for i in order])
    for at, label in zip(place, axes.get_yticklabels()):
        if label.get_text() == chosen:
            label.set_fontweight("bold")
            axes.plot(new[at], at, "o", mfc=ACCENT, mec=INK, mew=1.5, markersize=8)
    axes.set_ylim(max(len(order), 1) - 0.5, -0.5)
    axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return finished(axes, metric, grid="x")


def splits(
    of_splits: Sequence[float],
    *,
    train: float,
    unseen: float,
    standard_error: float,
    metric: str = "score",
    axes: Axes | None = None,
) -> Axes:
    """Draw the score of each split, and those of training and unseen rows in all.

    Parameters
    ----------
    of_splits : sequence of floats
        The unseen score of each split.
    train, unseen : float
        Both scores in all, drawn as lines.
    standard_error : float
        Half the width of the band around `unseen`.
    metric : str, default="score"
        What the score is.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
    """
    axes = axes_for(axes, height=2.2)
    each = np.asarray(of_splits, dtype=float)
    height = np.linspace(-0.3, 0.3, len(each)) if len(each) > 1 else np.zeros(1)
    axes.axvspan(unseen - standard_error, unseen + standard_error, color=ACCENT, alpha=0.15, lw=0)
    axes.axvline(unseen, color=ACCENT, linewidth=1.8, label="unseen rows")
    axes.axvline(train, color=FAINT, linewidth=1.8, label="training rows")
    axes.plot(each, height, "o", color=ACCENT, alpha=0.5, mew=0, markersize=5, label="each split")
    axes.set(yticks=[], ylim=(-0.6, 0.6))
    axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return finished(axes, metric, grid="x")


def bias_variance(
    parts: Mapping[str, Mapping[str, float]],
    *,
    loss: str = "error",
    log: bool = False,
    axes: Axes | None = None,
) -> Axes:
    """Draw the error of each model as a bar of noise, bias and variance.

    Parameters
    ----------
    parts : mapping of str to mapping
        For each model its "bias", "variance" and "noise"; if no model has noise, the label says it
        is part of the bias.
    loss : str, default="error"
        The name of the error.
    log : bool, default=False
        Whether the axis is logarithmic. Bars have no place there, so each part of a model is a
        point, and so is its "error" if it is known; what is not above 0 is left out.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With a bar for each model, or a line of points. A variance below 0 goes back from the end
        of the bias.
    """
    axes = axes_for(axes, height=1.2 + 0.35 * len(parts))
    names = list(parts)
    is_told = any(part.get("noise") for part in parts.values())
    labels = {"bias": "bias" if is_told else "bias and noise"}
    if log:
        _draw_points(axes, parts, labels)
        return _with_names(axes, names, loss)
    begin = [0.0] * len(names)
    for part, color in (("noise", RULE), ("bias", FAINT), ("variance", ACCENT)):
        width = [float(parts[name].get(part, 0.0)) for name in names]
        if any(width):
            thin = 0.6 if min(width) >= 0 else 0.3
            axes.barh(range(len(names)), width, left=begin, color=color, height=thin)
            axes.containers[-1].set_label(labels.get(part, part))
        begin = [a + b for a, b in zip(begin, width)]
    return _with_names(axes, names, loss)


def _draw_points(
    axes: Axes, parts: Mapping[str, Mapping[str, float]], labels: Mapping[str, str]
) -> None:
    """A point for each part of each model, on a logarithmic axis."""
    drawn: list[float] = []
    for part, style in POINTS.items():
        values = np.array([float(of.get(part, 0.0)) for of in parts.values()])
        places = np.flatnonzero(values > 0)
        if len(places):
            label = labels.get(part, part)
            axes.plot(values[places], places, linestyle="none", label=label, **style)
            drawn.extend(values[places])
    with_logarithms(axes, "x", drawn)
    axes.set_ylim(-0.5, len(parts) - 0.5)


def _with_names(axes: Axes, names: Sequence[str], loss: str) -> Axes:
    """The axes with a line for each model, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    legend_beside(axes)
    return finished(axes, loss, grid="x")
