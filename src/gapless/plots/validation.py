"""How scores depend on a parameter."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

# Values whose largest is so many times the smallest stand on a logarithmic axis.
WIDE = 20


def validation(
    values: Sequence[Any],
    train: Sequence[float],
    unseen: Sequence[float],
    standard_errors: Sequence[float],
    *,
    best: int | None = None,
    chosen: int | None = None,
    parameter: str = "parameter",
    metric: str = "score",
    axes: Axes | None = None,
) -> Axes:
    """Draw the scores of training and of unseen rows by the value of a parameter.

    Parameters
    ----------
    values : sequence of m values
        Numbers stand where they belong, other values one after the other.
    train, unseen : sequence of m floats
        Both scores.
    standard_errors : sequence of m floats
        Half the width of the band around `unseen`.
    best, chosen : int, default=None
        The value with the highest score, from which a line goes one standard error below, and the
        one that was chosen.
    parameter, metric : str
        Names of the two axes.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With two lines and up to two marks.
    """
    if axes is None:
        axes = plt.figure(figsize=(6.4, 3.6), layout="constrained").subplots()
    at = _places(axes, values)
    order = np.argsort(at, kind="stable")
    own, new, error = (np.asarray(of, dtype=float) for of in (train, unseen, standard_errors))
    axes.plot(at[order], own[order], color="C0", linewidth=1.5, marker=".", label="training rows")
    low, high = (new - error)[order], (new + error)[order]
    axes.fill_between(at[order], low, high, color="C1", alpha=0.15, linewidth=0)
    axes.plot(at[order], new[order], color="C1", linewidth=1.5, marker=".", label="unseen rows")
    if best is not None:
        axes.axhline(new[best] - error[best], color="0.6", linewidth=0.8, linestyle="--")
        axes.plot(at[best], new[best], "o", color="C1", markersize=6, label="best")
    if chosen is not None and chosen != best:
        name = "simplest within 1 standard error"
        axes.plot(at[chosen], new[chosen], "D", color="0.2", markersize=6, label=name)
    axes.set(xlabel=parameter, ylabel=metric)
    axes.legend(frameon=False, fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _places(axes: Axes, values: Sequence[Any]) -> np.ndarray:
    """Where each value stands on the horizontal axis."""
    if not all(isinstance(value, Real) and not isinstance(value, bool) for value in values):
        axes.set_xticks(range(len(values)), [str(value) for value in values])
        return np.arange(len(values), dtype=float)
    at = np.array([float(value) for value in values])
    if at.min() > 0 and at.max() > WIDE * at.min():
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    return at
