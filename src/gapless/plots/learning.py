"""How scores grow with the number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes


def learning(
    sizes: Sequence[float],
    train: Sequence[float],
    unseen: Sequence[float],
    standard_errors: Sequence[float],
    *,
    beyond: tuple[Sequence[float], Sequence[float], Sequence[float]] | None = None,
    metric: str = "score",
    axes: Axes | None = None,
) -> Axes:
    """Draw the scores of training and of unseen rows by the number of rows.

    Parameters
    ----------
    sizes : sequence of m numbers
        How many rows the models learned from.
    train, unseen : sequence of m floats
        Both scores.
    standard_errors : sequence of m floats
        Half the width of the band around `unseen`.
    beyond : three sequences of floats, default=None
        Larger sizes, the scores expected there, and their errors; drawn dotted.
    metric : str, default="score"
        What the score is.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With two lines, each named at its end.
    """
    if axes is None:
        axes = plt.figure(figsize=(6.4, 3.6), layout="constrained").subplots()
    at, own, new = (np.asarray(of, dtype=float) for of in (sizes, train, unseen))
    error = np.asarray(standard_errors, dtype=float)
    axes.plot(at, own, color="C0", linewidth=1.5, marker=".")
    axes.fill_between(at, new - error, new + error, color="C1", alpha=0.15, linewidth=0)
    axes.plot(at, new, color="C1", linewidth=1.5, marker=".")
    axes.annotate("training rows", (at[0], own[0]), xytext=(0, 6), **_WORDS, color="C0")
    axes.annotate("unseen rows", (at[0], new[0]), xytext=(0, -12), **_WORDS, color="C1")
    if beyond is not None:
        more, law, spread = (np.asarray(of, dtype=float) for of in beyond)
        axes.plot(more, law, color="C1", linewidth=1.2, linestyle=":")
        axes.fill_between(more, law - spread, law + spread, color="C1", alpha=0.07, linewidth=0)
        ends = _WORDS | {"ha": "right"}
        axes.annotate("expected", (more[-1], law[-1]), xytext=(0, -12), **ends, color="C1")
    axes.set(xscale="log", xlabel="rows to learn from", ylabel=metric)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


_WORDS: dict[str, Any] = {"textcoords": "offset points", "ha": "left"}
