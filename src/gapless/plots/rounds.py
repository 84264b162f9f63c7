"""How the loss falls while rounds of boosting are added."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes


def rounds(
    training: Sequence[float],
    validation: Sequence[float] | None = None,
    *,
    axes: Axes | None = None,
) -> Axes:
    """Draw the loss of training rows, and of rows that were held out, by rounds.

    Parameters
    ----------
    training : sequence of r + 1 floats
        The mean loss of the training rows, before the first round and after each.
    validation : sequence of r + 1 floats, default=None
        The same of rows that were held out; their best round is marked.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With one line or two, each named at its end.
    """
    if axes is None:
        axes = plt.figure(figsize=(6.4, 3.6), layout="constrained").subplots()
    _line(axes, np.asarray(training, dtype=float), "training", "C0")
    if validation is not None:
        held = np.asarray(validation, dtype=float)
        _line(axes, held, "held out", "C1")
        best = int(np.argmin(held))
        axes.plot(best, held[best], "o", color="C1", markersize=5)
    axes.set(xlabel="rounds", ylabel="mean loss")
    axes.margins(x=0.12)
    axes.set_xlim(left=0)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _line(axes: Axes, losses: np.ndarray, name: str, color: str) -> None:
    axes.plot(np.arange(len(losses)), losses, color=color, linewidth=1.5)
    axes.annotate(
        name,
        (len(losses) - 1, losses[-1]),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        color=color,
    )
