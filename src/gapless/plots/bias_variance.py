"""The parts of the errors of models."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
from matplotlib.axes import Axes


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
