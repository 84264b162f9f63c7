"""Models side by side: their scores, the splits behind a score, the parts of an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes


def comparison(
    names: Sequence[str],
    train: Sequence[float],
    unseen: Sequence[float],
    standard_errors: Sequence[float],
    *,
    chosen: str | None = None,
    metric: str = "score",
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
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With the best model on top; a thin line is the gap between its two scores.
    """
    if axes is None:
        height = 1.2 + 0.32 * len(names)
        axes = plt.figure(figsize=(6.4, height), layout="constrained").subplots()
    own, new, error = (np.asarray(of, dtype=float) for of in (train, unseen, standard_errors))
    order = np.argsort(-np.nan_to_num(new, nan=-np.inf), kind="stable")
    place = np.arange(len(order))
    axes.hlines(place, new[order], own[order], color="0.8", linewidth=1.0, zorder=1)
    axes.plot(own[order], place, "o", color="C0", markersize=5, label="training rows")
    axes.errorbar(
        new[order], place, xerr=error[order], fmt="o", color="C1", markersize=6, label="unseen rows"
    )
    axes.set_yticks(place, [str(names[i]) for i in order])
    for label in axes.get_yticklabels():
        if label.get_text() == chosen:
            label.set_fontweight("bold")
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_xlabel(metric)
    axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes.spines[["top", "right"]].set_visible(False)
    return axes


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
    if axes is None:
        axes = plt.figure(figsize=(6.4, 2.2), layout="constrained").subplots()
    each = np.asarray(of_splits, dtype=float)
    height = np.linspace(-0.3, 0.3, len(each)) if len(each) > 1 else np.zeros(1)
    axes.axvspan(unseen - standard_error, unseen + standard_error, color="C1", alpha=0.15, lw=0)
    axes.axvline(unseen, color="C1", linewidth=1.5, label="unseen rows")
    axes.axvline(train, color="C0", linewidth=1.5, label="training rows")
    axes.plot(each, height, "o", color="C1", alpha=0.5, markersize=4, label="each split")
    axes.set(xlabel=metric, yticks=[], ylim=(-0.6, 0.6))
    axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes.spines[["top", "right", "left"]].set_visible(False)
    return axes


def bias_variance(
    parts: Mapping[str, Mapping[str, float]], *, loss: str = "error", axes: Axes | None = None
) -> Axes:
    """Draw the error of each model as a bar of noise, bias and variance.

    Parameters
    ----------
    parts : mapping of str to mapping
        For each model its "bias", "variance" and "noise"; where no model has noise, it is said to
        be a part of the bias.
    loss : str, default="error"
        What the error is.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With a bar for each model. A variance below 0 goes back from the end of the bias.
    """
    if axes is None:
        height = 1.2 + 0.35 * len(parts)
        axes = plt.figure(figsize=(6.4, height), layout="constrained").subplots()
    names = list(parts)
    is_told = any(part.get("noise") for part in parts.values())
    labels = {"bias": "bias" if is_told else "bias and noise"}
    begin = [0.0] * len(names)
    for part, color in (("noise", "0.7"), ("bias", "C0"), ("variance", "C1")):
        width = [float(parts[name].get(part, 0.0)) for name in names]
        if any(width):
            thin = 0.6 if min(width) >= 0 else 0.3
            axes.barh(range(len(names)), width, left=begin, color=color, height=thin)
            axes.containers[-1].set_label(labels.get(part, part))
        begin = [a + b for a, b in zip(begin, width)]
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel(loss)
    axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes.spines[["top", "right"]].set_visible(False)
    return axes
