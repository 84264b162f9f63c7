"""Scores along an axis: by rows, by one parameter, by two, by the number of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
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


Array = np.ndarray

# Cells of a heat map along each axis, and how far it goes beyond the outermost models, as a part of
# the distance between them.
CELLS, BEYOND = 200, 0.06
# Scores below this quantile have the darkest colour: a hopeless model would hide all differences.
LOWEST = 0.25


def search(
    tried: Mapping[str, Sequence[float]],
    unseen: Sequence[float],
    *,
    metric: str = "score",
    chosen: int | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw scores on unseen rows against one parameter, or as a heat map of two.

    Parameters
    ----------
    tried : mapping of str to sequence of m floats > 0
        The values of one or two parameters, by name, for logarithmic axes.
    unseen : sequence of m floats
        Score of each model; of those with the same values the last one counts.
    metric : str, default="score"
        What the score is.
    chosen : int, default=None
        The model to mark.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With a line through the models, or with a dot for each of them in cells that have the colour
        of the nearest one.
    """
    if axes is None:
        axes = plt.figure(figsize=(6.4, 3.6), layout="constrained").subplots()
    values = [np.asarray(of, dtype=float) for of in tried.values()]
    scores = np.asarray(unseen, dtype=float)
    if len(values) == 2 and all(len(np.unique(of)) > 1 for of in values):
        _heat_map(axes, values, scores, metric, chosen)
        across, up = tried
        axes.set(xlabel=across, ylabel=up, xscale="log", yscale="log")
        return axes
    name, along = max(zip(tried, values), key=lambda of: len(np.unique(of[1])))
    order = np.argsort(along, kind="stable")
    axes.plot(along[order], scores[order], color="C0", linewidth=1.5, marker=".")
    if chosen is not None:
        axes.plot(along[chosen], scores[chosen], "o", color="0.2", zorder=3, label="chosen")
    axes.set(xscale="log", xlabel=name, ylabel=f"{metric} on unseen rows")
    axes.grid(True, which="major", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _heat_map(
    axes: Axes, values: list[Array], scores: Array, metric: str, chosen: int | None
) -> None:
    """Cells in the colour of the nearest model, a dot for each model, a ring for the chosen one."""
    # The last of equal ones: first looks at a part of the rows are overwritten.
    points, first = np.unique(np.column_stack(values)[::-1], axis=0, return_index=True)
    latest = scores[::-1][first]
    edges, places = zip(*(_cells(of) for of in points.T))
    across, up = ((edge[1:] + edge[:-1]) / 2 for edge in edges)
    squares = (across[:, None] - places[0]) ** 2
    nearest = np.array([np.argmin(squares + (y - places[1]) ** 2, axis=1) for y in up])
    low, high = (np.log(points.min(axis=0)), np.log(points.max(axis=0)))
    in_units = [np.exp(a + edge * (b - a)) for edge, a, b in zip(edges, low, high)]
    least = float(np.quantile(latest, LOWEST))
    mesh = axes.pcolormesh(
        *in_units, latest[nearest], cmap="viridis", vmin=least if least < latest.max() else None
    )
    axes.plot(*points.T, "o", mfc="white", mec="0.3", mew=0.5, markersize=3)
    if chosen is not None:
        at = [of[chosen] for of in values]
        axes.plot(*at, "o", mfc="none", mec="C3", mew=2, markersize=10, label="chosen")
    bar = axes.figure.colorbar(mesh, ax=axes, extend="min" if latest.min() < least else "neither")
    bar.set_label(f"{metric} on unseen rows")


def _cells(values: Array) -> tuple[Array, Array]:
    """Edges of the cells, where 0 and 1 are the outermost values, and the values, by logarithms."""
    logs = np.log(values)
    edges = np.linspace(-BEYOND, 1 + BEYOND, CELLS + 1)
    return edges, (logs - logs.min()) / (logs.max() - logs.min())


def descent(
    features: Sequence[int],
    train: Sequence[float],
    test: Sequence[float],
    *,
    rows: int,
    axes: Axes | None = None,
) -> Axes:
    """Draw the errors of training and test rows by the number of features.

    Parameters
    ----------
    features : sequence of m ints
        Numbers of features.
    train, test : sequence of m floats
        Mean squared errors; those of training rows that are 0 but for rounding are left out.
    rows : int
        The number of training rows, drawn as a line.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
    """
    if axes is None:
        axes = plt.figure(figsize=(6.4, 3.6), layout="constrained").subplots()
    at, own, new = (np.asarray(of, dtype=float) for of in (features, train, test))
    visible = own > 1e-6 * new.min()
    axes.axvline(rows, color="0.6", linewidth=0.8, linestyle="--")
    axes.plot(at[visible], own[visible], color="C0", linewidth=1.5, label="training rows")
    axes.plot(at, new, color="C1", linewidth=1.5, marker=".", label="test rows")
    axes.set(xscale="log", yscale="log", xlabel="features", ylabel="mean squared error")
    low = min(new.min(), np.median(own[visible]) if visible.any() else new.min())
    axes.set_ylim(bottom=0.3 * low)
    axes.annotate(f" {rows} rows", (rows, axes.get_ylim()[1]), va="top", ha="left", color="0.4")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.legend(frameon=False, fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    return axes
