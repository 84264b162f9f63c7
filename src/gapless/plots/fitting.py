"""How fits proceed: solvers, regularisation paths, rounds and members of ensembles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import matplotlib
import numpy as np
from matplotlib.axes import Axes

from .style import (
    ACCENT,
    FAINT,
    GUIDE,
    INK,
    RULE,
    SOFT,
    axes_for,
    figure_of,
    finished,
    legend_beside,
    look,
    named_height,
    with_logarithms,
)

MOST_NAMED = 10  # lines that a legend can distinguish
CONTOURS = 16  # of an objective
MOST_DOTS = 100  # iterates that can be told apart on a line
MOST_CURVES = 5  # distributions that can be distinguished


class Traced(Protocol):
    """What is drawn of a solver's trace."""

    primal: Sequence[float]
    seconds: Sequence[float]
    iterations: Sequence[float]

    @property
    def lower_bound(self) -> float:
        """The largest value that the objective is known not to fall below."""


def convergence(
    excess: Mapping[str, Traced | tuple[Sequence[float], Sequence[float]]],
    *,
    against: str = "seconds",
    tol: float | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw how far solvers are above the best possible objective, against time or iterations.

    Parameters
    ----------
    excess : mapping of str to Trace or (when, excess)
        For each solver its trace, such as `trace_` of a model: traces of the same objective, all of
        which are drawn above the best lower bound among them. Or the seconds, or iterations, since
        its start and, at each, what the objective may be lowered by at most: a gap, or the
        objective minus a lower bound. nan if it is not known. The smallest value so far is drawn,
        since that is the point a solver returns.
    against : {"seconds", "iterations"}, default="seconds"
        What the horizontal axis shows.
    tol : float, default=None
        Where the solvers stop, in the same units; drawn as a dashed line. Below a hundredth of it
        the picture ends.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        The axes with one line per solver, the vertical scale logarithmic, and that of time.
    """
    if against not in ("seconds", "iterations"):
        raise ValueError(f'against must be "seconds" or "iterations", got {against!r}.')
    axes = axes_for(axes, height=4.8)
    unit = 1e3 if against == "seconds" else 1.0
    drawn: list[tuple[np.ndarray, np.ndarray]] = []
    for name, (when, values) in _above_the_bound(excess, against).items():
        at, best = _best_so_far(np.asarray(when, float), np.asarray(values, float))
        style = look(len(drawn))
        style["marker"] = style["marker"] if len(at) <= MOST_DOTS else None
        axes.plot(unit * at, best, markersize=3, linewidth=1.5, label=name, **style)
        drawn.append((unit * at, best))
    if drawn:
        positions, above = (np.concatenate(of).tolist() for of in zip(*drawn))
        if against == "seconds":
            with_logarithms(axes, "x", positions)
        with_logarithms(axes, "y", above)
    if tol is not None:
        axes.set_ylim(bottom=tol / 100)
        named_height(axes, tol, f"tol = {tol:.0e}")
    axes.legend(frameon=False)
    label = "milliseconds" if against == "seconds" else "iterations"
    return finished(axes, label, "above the best possible")


def _above_the_bound(
    excess: Mapping[str, Traced | tuple[Sequence[float], Sequence[float]]], against: str
) -> dict[str, tuple[Sequence[float], Sequence[float]]]:
    """For each solver, when it was how far above the best lower bound of all traces."""
    traces = [given for given in excess.values() if not isinstance(given, tuple)]
    bound = max((trace.lower_bound for trace in traces), default=-np.inf)
    if not np.isfinite(bound):  # no duality: above the best that was found
        bound = min((min(trace.primal, default=np.inf) for trace in traces), default=0.0)
    return {
        name: given
        if isinstance(given, tuple)
        else (getattr(given, against), [value - bound for value in given.primal])
        for name, given in excess.items()
    }


def _best_so_far(when: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The steps at which a value is known, and the smallest one up to each."""
    known = np.isfinite(values)
    # 0 and below is rounding; a logarithmic axis shows it at the precision of floats.
    best = np.maximum(np.minimum.accumulate(values[known]), np.finfo(float).eps)
    return when[known], best


def landscape(
    x: np.ndarray,
    y: np.ndarray,
    values: np.ndarray,
    paths: Mapping[str, np.ndarray],
    *,
    best: tuple[float, float] | None = None,
    names: tuple[str, str] = ("w₁", "w₂"),
    axes: Axes | None = None,
) -> Axes:
    """Draw an objective of two coefficients by its contours, and the paths that solvers took.

    Parameters
    ----------
    x, y : array of shape (m,)
        Values of the two coefficients.
    values : array of shape (m, m)
        The objective at (x[j], y[i]). Contours are closer together near the lowest value.
    paths : mapping of str to array of shape (t, 2)
        The iterates of each solver; what lies outside the grid is cut off.
    best : tuple of two floats, default=None
        The minimiser, drawn as a cross.
    names : tuple of two str
        Names of the coefficients.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
    """
    axes = axes_for(axes, 5.6, 4.6)
    low, high = float(np.min(values)), float(np.max(values))
    levels = low + (high - low) * np.linspace(0, 1, CONTOURS + 1)[1:] ** 3
    if high > low:
        axes.contour(x, y, values, levels=levels, colors=FAINT, linewidths=0.7)
    for k, (name, path) in enumerate(paths.items()):
        path = np.asarray(path, float)
        axes.plot(path[:, 0], path[:, 1], markersize=3.5, linewidth=1.2, label=name, **look(k))
    if best is not None:
        axes.plot(*best, marker="x", color=INK, markersize=8, linestyle="none")
    axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
    if paths:
        legend_beside(axes)
    return finished(axes, *names, grid="both")


def crossover(
    features: Sequence[int],
    seconds: Mapping[str, Sequence[float]],
    *,
    rows: int | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw the time that solvers take by the number of features, both on logarithmic scales.

    Parameters
    ----------
    features : sequence of m ints
        Numbers of features.
    seconds : mapping of str to sequence of m floats
        For each solver its seconds; nan where it did not get there.
    rows : int, default=None
        The number of rows, drawn as a line: with more features a closed form works in the rows.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
    """
    axes = axes_for(axes, height=4.2)
    milliseconds = {name: 1e3 * np.asarray(times, float) for name, times in seconds.items()}
    for k, (name, times) in enumerate(milliseconds.items()):
        axes.plot(features, times, markersize=4, linewidth=1.5, label=name, **look(k))
    with_logarithms(axes, "x", [float(d) for d in features])
    with_logarithms(axes, "y", np.concatenate([*milliseconds.values(), [np.nan]]).tolist())
    if rows is not None and min(features) <= rows <= max(features):
        axes.axvline(rows, **GUIDE)
        axes.annotate(
            f"{rows:,} rows",
            (rows, 0),
            xycoords=("data", "axes fraction"),
            xytext=(4, 4),
            textcoords="offset points",
            color=SOFT,
        )
    axes.legend(frameon=False)
    return finished(axes, "features", "milliseconds")


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
        made = figure_of(6.4, 3.6 * panels).subplots(panels, sharex=True, squeeze=False)
        axes = list(made[:, 0])
    _draw_coefficients(axes[0], grid, np.asarray(coefficients), names)
    if unseen is not None:
        _draw_scores(axes[1], grid, np.asarray(unseen), standard_errors, metric)
    for ax in axes[:panels]:
        with_logarithms(ax, "x", grid.tolist())
        if chosen is not None:
            ax.axvline(grid[chosen], **GUIDE)
        finished(ax, "strength of the penalty" if ax is axes[panels - 1] else "", ax.get_ylabel())
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
        style = {**look(place), "marker": "", "linewidth": 1.5}
        if names is not None and label is None:
            style = {"linewidth": 0.8, "color": RULE}
        ax.plot(strengths, lines[:, j], label=label, zorder=2 if label else 1, **style)
    ax.axhline(0, color=FAINT, linewidth=0.8)
    ax.set_ylabel("coefficient")
    if len(named):
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1), fontsize="small")


def _draw_scores(ax: Axes, strengths, unseen, standard_errors, metric: str) -> None:
    ax.plot(strengths, unseen, color=ACCENT, linewidth=1.8)
    if standard_errors is not None:
        error = np.asarray(standard_errors)
        ax.fill_between(strengths, unseen - error, unseen + error, color=ACCENT, alpha=0.15, lw=0)
    ax.set_ylabel(f"{metric} on unseen rows")


def _name_the_choice(ax: Axes, strength: float) -> None:
    ax.annotate(
        f"chosen: {strength:.3g}",
        (strength, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 3),
        textcoords="offset points",
        color=SOFT,
        ha="center",
    )


def rounds(
    training: Sequence[float],
    validation: Sequence[float] | None = None,
    *,
    axes: Axes | None = None,
) -> Axes:
    """Draw the loss of training rows and of held-out rows by rounds.

    Parameters
    ----------
    training : sequence of r + 1 floats
        The mean loss of the training rows, before the first round and after each.
    validation : sequence of r + 1 floats, default=None
        The same for held-out rows; their best round is marked.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With one line or two, each named at its end.
    """
    axes = axes_for(axes)
    _line(axes, np.asarray(training, dtype=float), "training", FAINT)
    if validation is not None:
        held = np.asarray(validation, dtype=float)
        _line(axes, held, "held out", ACCENT)
        best = int(np.argmin(held))
        axes.plot(best, held[best], "o", color=ACCENT, markersize=6)
    axes.margins(x=0.12)
    axes.set_xlim(left=0)
    return finished(axes, "rounds", "mean loss")


def _line(axes: Axes, losses: np.ndarray, name: str, color: str) -> None:
    axes.plot(np.arange(len(losses)), losses, color=color, linewidth=1.8)
    axes.annotate(
        name,
        (len(losses) - 1, losses[-1]),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        color=color,
    )


def members(
    counts: Sequence[int],
    scores: Sequence[float],
    standard_errors: Sequence[float] | None = None,
    *,
    metric: str = "score",
    axes: Axes | None = None,
) -> Axes:
    """Draw scores on unseen rows against the number of members.

    Parameters
    ----------
    counts : sequence of m ints
        Numbers of members.
    scores : sequence of m floats
        The score of each ensemble.
    standard_errors : sequence of m floats, default=None
        Half the width of a band around them.
    metric : str, default="score"
        What the score is.
    axes : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    axes : matplotlib Axes
        With a line, its band, and the score of the largest ensemble in words.
    """
    axes = axes_for(axes)
    at, score = np.asarray(counts), np.asarray(scores, dtype=float)
    if standard_errors is not None:
        error = np.asarray(standard_errors, dtype=float)
        axes.fill_between(at, score - error, score + error, color=ACCENT, alpha=0.15, linewidth=0)
    axes.plot(at, score, color=ACCENT, linewidth=1.8, marker="o", markersize=5, mew=0)
    axes.annotate(
        f"{score[-1]:.3g}",
        (at[-1], score[-1]),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        color=ACCENT,
    )
    with_logarithms(axes, "x", at.tolist())
    return finished(axes, "members", f"{metric} on unseen rows")


def margins(
    loss: Sequence[float],
    error: Sequence[float],
    levels: Sequence[float],
    shares: np.ndarray,
    *,
    axes: Sequence[Axes] | None = None,
) -> tuple[Axes, Axes]:
    """Draw loss and error by round, and next to them the distribution of the margins.

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
        axes = figure_of(8.4, 3.6).subplots(1, 2)
    left, right = axes
    rounds = np.arange(1, len(loss) + 1)
    left.plot(rounds, loss, color=ACCENT, linewidth=1.8, label="exponential loss")
    left.plot(rounds, error, color=FAINT, linewidth=1.8, label="training error")
    left.set_ylim(0, None)
    left.legend(frameon=False)
    drawn = _some(len(loss))
    shades = matplotlib.colormaps["viridis"](np.linspace(0.85, 0, len(drawn)))
    for at, shade in zip(drawn, shades):
        label = f"round {at + 1}"
        right.step(levels, shares[at], where="post", color=shade, linewidth=1.5, label=label)
    right.axvline(0, **GUIDE)
    right.set(xlim=(-1.06, 1.06), ylim=(0, 1))
    right.legend(frameon=False, loc="upper left")
    return (
        finished(left, "round", "mean over rows"),
        finished(right, "margin", "share of rows with at most that"),
    )


def _some(rounds: int) -> list[int]:
    """Positions of the first and the last round, and of some between them, in even ratios."""
    ends = np.geomspace(1, max(rounds, 1), min(MOST_CURVES, rounds))
    return sorted({round(end) - 1 for end in ends})
