"""How the coefficients of a model, and its score on unseen rows, change with the strength."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

MOST_NAMED = 10  # lines that a legend can tell apart


def path(
    strengths: Sequence[float],
    coefficients: np.ndarray,
    *,
    unseen: Sequence[float] | None = None,
    standard_errors: Sequence[float] | None = None,
    chosen: int | None = None,
    metric: str = "score",
    names: Sequence[str] | None = None,
    axes: Sequence[Axes] | None = None,
) -> tuple[Axes, ...]:
    """Draw a regularisation path: coefficients against the strength, and the score below them.

    Parameters
    ----------
    strengths : sequence of m floats
        Strengths of the penalty, all > 0; the axis is logarithmic, the strongest on the left.
    coefficients : array of shape (m, d) or (m, d, K)
        One line each; those that are 0 everywhere are left out.
    unseen, standard_errors : sequence of m floats, default=None
        Score on unseen rows at each strength and its standard error, drawn in a second panel.
    chosen : int, default=None
        Position of the chosen strength, marked in both panels.
    metric : str, default="score"
        What the score is.
    names : sequence of d str, default=None
        Names of the features, for a legend of the largest coefficients.
    axes : sequence of matplotlib Axes, default=None
        Where to draw, one or two; a new figure if None.

    Returns
    -------
    axes : tuple of matplotlib Axes
        The panel of the coefficients and, with scores, that of the scores.
    """
    grid = np.asarray(strengths, dtype=float)
    panels = 1 if unseen is None else 2
    if axes is None:
        figure = plt.figure(figsize=(6.4, 3.6 * panels), layout="constrained")
        made = figure.subplots(panels, sharex=True, squeeze=False)
        axes = list(made[:, 0])
    _draw_coefficients(axes[0], grid, np.asarray(coefficients), names)
    if unseen is not None:
        _draw_scores(axes[1], grid, np.asarray(unseen), standard_errors, metric)
    for ax in axes[:panels]:
        ax.set(xscale="log")
        ax.grid(True, which="major", color="0.9")
        ax.spines[["top", "right"]].set_visible(False)
        if chosen is not None:
            ax.axvline(grid[chosen], color="0.4", linewidth=1, linestyle="--")
    axes[panels - 1].set_xlabel("strength of the penalty")
    axes[0].set_xlim(grid.max(), grid.min())
    if chosen is not None:
        _name_the_choice(axes[0], grid[chosen])
    return tuple(axes[:panels])


def _draw_coefficients(ax: Axes, strengths, coefficients, names) -> None:
    lines = coefficients.reshape(len(strengths), -1)
    outputs = lines.shape[1] // max(coefficients.shape[1], 1)
    largest = np.max(np.abs(lines), axis=0, initial=0.0)
    order = np.argsort(-largest, kind="stable")
    named = order[:MOST_NAMED] if names is not None else order[:0]
    for place, j in enumerate(order[largest[order] > 0]):
        label = names[j // outputs] if names is not None and place < len(named) else None
        style = {"linewidth": 1.5} if names is None or label else {"linewidth": 0.8, "color": "0.8"}
        ax.plot(strengths, lines[:, j], label=label, zorder=2 if label else 1, **style)
    ax.axhline(0, color="0.6", linewidth=0.8)
    ax.set_ylabel("coefficient")
    if len(named):
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1), fontsize="small")


def _draw_scores(ax: Axes, strengths, unseen, standard_errors, metric: str) -> None:
    ax.plot(strengths, unseen, color="C0", linewidth=1.5)
    if standard_errors is not None:
        error = np.asarray(standard_errors)
        ax.fill_between(strengths, unseen - error, unseen + error, color="C0", alpha=0.2, lw=0)
    ax.set_ylabel(f"{metric} on unseen rows")


def _name_the_choice(ax: Axes, strength: float) -> None:
    ax.annotate(
        f"chosen: {strength:.3g}",
        (strength, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 3),
        textcoords="offset points",
        color="0.4",
        ha="center",
    )
