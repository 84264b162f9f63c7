"""How boosting learns: its loss and error by round, and the margins of its rows."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

MOST_CURVES = 5  # distributions that can be told apart


def margins(
    loss: Sequence[float],
    error: Sequence[float],
    levels: Sequence[float],
    shares: np.ndarray,
    *,
    axes: Sequence[Axes] | None = None,
) -> tuple[Axes, Axes]:
    """Draw loss and error by round, and beside them the distribution of the margins.

    Parameters
    ----------
    loss, error : sequence of m floats
        Mean exponential loss and training error after each round.
    levels : sequence of L floats
        Margins from −1 to 1.
    shares : array of shape (m, L)
        The share of rows with at most that margin, after each round; drawn for the first, the last
        and a few rounds between them.
    axes : pair of matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : pair of matplotlib Axes
        With the lines.
    """
    if axes is None:
        axes = plt.figure(figsize=(8.4, 3.6), layout="constrained").subplots(1, 2)
    left, right = axes
    rounds = np.arange(1, len(loss) + 1)
    left.plot(rounds, loss, color="C0", linewidth=1.5, label="exponential loss")
    left.plot(rounds, error, color="C1", linewidth=1.5, label="training error")
    left.set(xlabel="round", ylabel="mean over rows", ylim=(0, None))
    left.legend(frameon=False)
    drawn = _some(len(loss))
    shades = plt.get_cmap("viridis")(np.linspace(0.85, 0, len(drawn)))
    for at, shade in zip(drawn, shades):
        label = f"round {at + 1}"
        right.step(levels, shares[at], where="post", color=shade, linewidth=1.5, label=label)
    right.axvline(0, color="0.4", linewidth=1, linestyle="--")
    right.set(xlabel="margin", ylabel="share of rows with at most that", xlim=(-1, 1), ylim=(0, 1))
    right.set_xticks([-1, -0.5, 0, 0.5, 1])
    right.legend(frameon=False, loc="upper left")
    for one in axes:
        one.grid(True, which="major", color="0.9")
        one.spines[["top", "right"]].set_visible(False)
    return left, right


def _some(rounds: int) -> list[int]:
    """Positions of the first and the last round, and of some between them, in even ratios."""
    ends = np.geomspace(1, max(rounds, 1), min(MOST_CURVES, rounds))
    return sorted({round(end) - 1 for end in ends})
