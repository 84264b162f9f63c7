"""Pictures of networks: how training proceeds, and what weights and feature maps look like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np
from matplotlib.axes import Axes

from .style import ACCENT, FAINT, axes_for, figure_of, finished

# Channels drawn of one image or one layer.
MOST_IMAGES = 64


class Epochs(Protocol):
    """What a training has reached after each epoch."""

    metric: str
    loss: list[float]
    score: list[float]
    validation: list[float]
    seconds: list[float]


def training(
    history: Epochs,
    *,
    against: Literal["epochs", "seconds"] = "epochs",
    axes: Axes | None = None,
) -> Axes:
    """Draw the loss of each epoch, and the scores of training rows and of rows kept aside.

    Parameters
    ----------
    history : History
        `history_` of a network.
    against : {"epochs", "seconds"}, default="epochs"
        What the horizontal axis shows.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With the loss; scores have an axis of their own at the right, if there are any.
    """
    if against not in ("epochs", "seconds"):
        raise ValueError(f'against must be "epochs" or "seconds", got {against!r}.')
    axes = axes_for(axes)
    when = np.arange(1, len(history.loss) + 1) if against == "epochs" else history.seconds
    axes.plot(when, history.loss, color=FAINT, linewidth=1.8, label="loss")
    finished(axes, "epoch" if against == "epochs" else "seconds", "loss")
    scores = {"training": history.score, "kept aside": history.validation}
    known = {name: np.array(s) for name, s in scores.items() if np.any(np.isfinite(s))}
    if known:
        right = axes.twinx()
        for name, values in known.items():
            style = "-" if name == "kept aside" or len(known) == 1 else ":"
            right.plot(
                when[: len(values)],
                values,
                color=ACCENT,
                linewidth=1.8,
                linestyle=style,
                label=f"{history.metric}, {name}",
            )
        finished(right, "", history.metric)
        right.grid(False)
        handles = [line for part in (axes, right) for line in part.lines]
        axes.legend(handles=handles, frameon=False, loc="center right")
    return axes


def images(
    pictures: Any,
    *,
    columns: int = 8,
    title: str = "",
    names: Sequence[str] = (),
    axes: Sequence[Axes] | None = None,
) -> tuple[Axes, ...]:
    """Draw small images side by side: the filters of a layer, or its feature maps.

    Parameters
    ----------
    pictures : array-like of shape (k, height, width)
        Each is drawn with its own scale around 0: white is 0, blue above and red below.
    columns : int, default=8
        Images in a row of a new figure.
    title : str, default=""
        What they are, above a new figure.
    names : sequence of k str, default=()
        What each one is, written above it.
    axes : sequence of matplotlib Axes, default=None
        Where to draw, at least one for each image; a new figure if None.

    Returns
    -------
    axes : tuple of matplotlib Axes
        One for each image.
    """
    pictures = np.asarray(pictures, dtype=float)[:MOST_IMAGES]
    if pictures.ndim != 3 or not len(pictures):
        raise ValueError(f"images must be (k, height, width), got shape {pictures.shape}.")
    if axes is None:
        columns = min(columns, len(pictures))
        rows = math.ceil(len(pictures) / columns)
        height = 0.9 * rows + (0.2 * rows if names else 0.0)
        figure = figure_of(0.9 * columns, height + (0.3 if title else 0.0))
        axes = list(figure.subplots(rows, columns, squeeze=False).ravel())
        if title:
            figure.suptitle(title, fontsize="small", x=0.01, ha="left")
    elif len(axes) < len(pictures):
        raise ValueError(f"there are {len(pictures)} images for {len(axes)} axes; give more axes.")
    for panel in axes:
        panel.axis("off")
    for k, (panel, picture) in enumerate(zip(axes, pictures)):
        size = float(np.max(np.abs(picture))) or 1.0
        panel.imshow(picture, cmap="RdBu", vmin=-size, vmax=size)
        if k < len(names):
            panel.set_title(str(names[k]), fontsize="small", pad=3)
    return tuple(axes[: len(pictures)])
