"""Scores along an axis: by rows, by one parameter, by two, by the number of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from .style import (
    ACCENT,
    DASHED,
    FAINT,
    GUIDE,
    INK,
    PAPER,
    SOFT,
    axes_for,
    finished,
    places,
    with_logarithms,
)

# Lines of scores.
TRAINING: dict[str, Any] = {
    **{"color": FAINT, "linewidth": 1.8, "marker": "o", "markersize": 5, "mew": 0}
}
UNSEEN: dict[str, Any] = {**TRAINING, "color": ACCENT}
MARK: dict[str, Any] = {"marker": "o", "markersize": 9, "mew": 1.5, "linestyle": "none"}
MOST_DOTS = 40
# A loss below this part of the largest one is 0 except for rounding.
ROUNDING = 1e-12


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
        Larger sizes, the scores expected there, and their errors; drawn dashed.
    metric : str, default="score"
        What the score is.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With two lines, and a third one for what is expected.
    """
    axes = axes_for(axes)
    at, own, new = (np.asarray(of, dtype=float) for of in (sizes, train, unseen))
    error = np.nan_to_num(np.asarray(standard_errors, dtype=float))
    axes.plot(at, own, label="training rows", **TRAINING)
    axes.fill_between(at, new - error, new + error, color=ACCENT, alpha=0.15, linewidth=0)
    axes.plot(at, new, label="unseen rows", **UNSEEN)
    ends = at
    if beyond is not None:
        more, law, spread = (np.asarray(of, dtype=float) for of in beyond)
        axes.plot(more, law, color=ACCENT, linewidth=1.8, linestyle=DASHED, label="expected")
        # The spread far out must not squeeze the scores.
        low, high = axes.get_ylim()
        below, above = np.clip([law - spread, law + spread], low, high)
        axes.fill_between(more, below, above, color=ACCENT, alpha=0.07, linewidth=0)
        axes.set_ylim(low, high)
        ends = np.concatenate([at, more])
    with_logarithms(axes, "x", ends.tolist())
    axes.legend(frameon=False, fontsize="small")
    return finished(axes, "rows to learn from", metric)


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
    higher_is_better: bool = True,
    is_log: bool | None = None,
    log_scores: bool = False,
    kinds: Sequence[str] = (),
    axes: Axes | None = None,
) -> Axes:
    """Draw the scores of training and of unseen rows by the value of a parameter.

    Parameters
    ----------
    values : sequence of m values
        Numbers are placed by value, other values in order.
    train, unseen : sequence of m floats
        Both scores.
    standard_errors : sequence of m floats
        Half the width of the band around `unseen`.
    best, chosen : int, default=None
        The value with the best score, a ring, and the chosen one, an outlined dot; a line is one
        standard error worse than the best, if that error is known.
    parameter, metric : str
        Names of the two axes.
    higher_is_better : bool, default=True
        Whether the best score is the highest; False for losses.
    is_log : bool or None, default=None
        Whether the axis of numbers is logarithmic; None decides by their range.
    log_scores : bool, default=False
        Whether the axis of scores is logarithmic, for losses that explode; what is not above 0,
        except for rounding, is left out.
    kinds : sequence of m str, default=()
        What to call the model of each value; a range of "under-fitted" or "over-fitted" ones is
        shaded and named.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With two lines and up to two marks.
    """
    axes = axes_for(axes)
    at = places(axes, values, is_log=is_log)
    order = np.argsort(at, kind="stable")
    own, new, error = (np.asarray(of, dtype=float) for of in (train, unseen, standard_errors))
    least = 0.0
    if log_scores:
        visible = [of[of > ROUNDING * np.nanmax(new)] for of in (own, new)]
        least = float(np.min(np.concatenate(visible), initial=np.nanmax(new)))
        own, new = (np.where(of >= least, of, np.nan) for of in (own, new))
        with_logarithms(axes, "y", np.concatenate(visible).tolist())
    known = ~np.isnan(own[order])
    axes.plot(
        *(at[order][known], own[order][known]),
        **{**TRAINING, **_dotted(known.sum()), "label": "training rows"},
    )
    low, high = (new[order] + side * np.nan_to_num(error[order]) for side in (-1, 1))
    if log_scores:
        low = np.maximum(low, 0.5 * least)
    axes.fill_between(at[order], low, high, color=ACCENT, alpha=0.15, linewidth=0)
    axes.plot(
        *(at[order], new[order]),
        **{**UNSEEN, **_dotted(len(at)), "label": "unseen rows"},
    )
    if best is not None:
        worse = new[best] - error[best] if higher_is_better else new[best] + error[best]
        if np.isfinite(worse):
            axes.axhline(worse, **GUIDE)
        axes.plot(at[best], new[best], mfc=PAPER, mec=ACCENT, label="best", **MARK)
    if chosen is not None:
        axes.plot(at[chosen], new[chosen], mfc=ACCENT, mec=INK, label="chosen", **MARK)
    for begin, end, kind in _misfits(at[order], [kinds[i] for i in order] if len(kinds) else []):
        axes.axvspan(begin, end, color=FAINT, alpha=0.15, linewidth=0, zorder=0)
        axes.annotate(
            kind,
            (np.sqrt(begin * end) if axes.get_xscale() == "log" else (begin + end) / 2, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            color=SOFT,
            fontsize="small",
        )
    axes.legend(frameon=False, fontsize="small")
    return finished(axes, parameter, metric)


def _misfits(at: np.ndarray, kinds: Sequence[str]) -> list[tuple[float, float, str]]:
    """Where ranges of under-fitted or over-fitted models begin and end, midway to others."""
    found, first = [], 0
    for last, kind in enumerate(kinds):
        if last + 1 < len(kinds) and kinds[last + 1] == kind:
            continue
        if kind in ("under-fitted", "over-fitted"):
            begin = at[0] if first == 0 else (at[first - 1] + at[first]) / 2
            end = at[-1] if last + 1 == len(at) else (at[last] + at[last + 1]) / 2
            found.append((float(begin), float(end), kind))
        first = last + 1
    return found


def _dotted(points: int) -> dict[str, Any]:
    """Dots on a line, if there are few enough to distinguish."""
    return {"marker": "o" if points <= MOST_DOTS else ""}


# Cells of a heat map along each axis, and how far it extends beyond the outermost models, as a part
# of the distance between them.
CELLS, BEYOND = 200, 0.06
# Scores below this quantile get the darkest colour: a hopeless model would hide all differences.
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
        Score of each model; among equal values the last one counts.
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
    axes = axes_for(axes)
    values = [np.asarray(of, dtype=float) for of in tried.values()]
    scores = np.asarray(unseen, dtype=float)
    if len(values) == 2 and all(len(np.unique(of)) > 1 for of in values):
        _heat_map(axes, values, scores, metric, chosen)
        across, up = tried
        axes.set(xlabel=across, ylabel=up, xscale="log", yscale="log")
        return axes
    name, along = max(zip(tried, values), key=lambda of: len(np.unique(of[1])))
    order = np.argsort(along, kind="stable")
    axes.plot(along[order], scores[order], **UNSEEN)
    if chosen is not None:
        axes.plot(along[chosen], scores[chosen], mfc=ACCENT, mec=INK, label="chosen", **MARK)
    with_logarithms(axes, "x", along.tolist())
    return finished(axes, name, f"{metric} on unseen rows")


def _heat_map(
    axes: Axes, values: list[np.ndarray], scores: np.ndarray, metric: str, chosen: int | None
) -> None:
    """Cells in the colour of the nearest model, a dot for each model, a ring for the chosen one."""
    # The last of equal ones: first looks at a part of the rows are overwritten.
    points, first = np.unique(np.column_stack(values)[::-1], axis=0, return_index=True)
    latest = scores[::-1][first]
    edges, marks = zip(*(_cells(of) for of in points.T))
    across, up = ((edge[1:] + edge[:-1]) / 2 for edge in edges)
    squares = (across[:, None] - marks[0]) ** 2
    nearest = np.array([np.argmin(squares + (y - marks[1]) ** 2, axis=1) for y in up])
    low, high = (np.log(points.min(axis=0)), np.log(points.max(axis=0)))
    in_units = [np.exp(a + edge * (b - a)) for edge, a, b in zip(edges, low, high)]
    least = float(np.quantile(latest, LOWEST))
    mesh = axes.pcolormesh(
        *in_units, latest[nearest], cmap="viridis", vmin=least if least < latest.max() else None
    )
    axes.plot(*points.T, "o", mfc=PAPER, mec=SOFT, mew=0.5, markersize=3)
    if chosen is not None:
        at = [of[chosen] for of in values]
        axes.plot(*at, "o", mfc="none", mec="C3", mew=2, markersize=10, label="chosen")
    bar = axes.figure.colorbar(mesh, ax=axes, extend="min" if latest.min() < least else "neither")
    bar.set_label(f"{metric} on unseen rows")


def _cells(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
        Mean squared errors; training errors that are 0 except for rounding are left out.
    rows : int
        The number of training rows, drawn as a line.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
    """
    axes = axes_for(axes)
    at, own, new = (np.asarray(of, dtype=float) for of in (features, train, test))
    visible = own > 1e-6 * new.min()
    axes.axvline(rows, **GUIDE)
    axes.plot(at[visible], own[visible], label="training rows", **{**TRAINING, "marker": ""})
    axes.plot(at, new, label="test rows", **UNSEEN)
    with_logarithms(axes, "x", at.tolist())
    with_logarithms(axes, "y", [*own[visible], *new])
    low = min(new.min(), np.median(own[visible]) if visible.any() else new.min())
    axes.set_ylim(bottom=0.3 * low)
    axes.annotate(f" {rows} rows", (rows, axes.get_ylim()[1]), va="top", ha="left", color=SOFT)
    axes.legend(frameon=False, fontsize="small")
    return finished(axes, "features", "mean squared error")
