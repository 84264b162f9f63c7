"""Choosing the strength and the scale of a kernel by what the models score on unseen rows.

Every scale γ costs one decomposition of the kernel matrix, which serves all strengths. Scales are
tried at steps of a factor of 4 until one in the middle is the best, and then between its
neighbours. With many rows, a sample of them chooses γ. The held-out predictions of all models are
kept until the score of the winner has been corrected for the choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...unseen import (
    Choice,
    Generalization,
    Judge,
    Search,
    best_of,
    drawn,
    uncorrected,
)
from .rows import Merged
from .scales import explore
from .spectrum import Trail, follow
from .squares import Array, KernelSquares

# What models are chosen by.
METRIC = "neg_mean_squared_error"
# Rows beyond which a sample chooses the scale, and beyond which one chooses the strength as well.
MOST_FOR_SCALES, MOST_FOR_STRENGTHS = 2000, 4000
# How often the step between scales is halved around the best.
HALVINGS = 2


@dataclass(frozen=True, eq=False)
class ChosenKernel:
    """What was chosen and what was tried.

    `trails` are those of the models in `search`, one for each scale, and `is_whole` tells whether
    they were fitted to all rows and have predictions for all.
    """

    kernel: Any
    strength: float
    search: Search
    trails: list[Trail]
    is_whole: bool


def choose(
    squares: KernelSquares,
    scale: Callable[[float], Any] | None,
    strengths: Callable[[KernelSquares], Array],
    select: str,
    callback: Callable[[float], bool],
) -> ChosenKernel:
    """Choose the strength and, if `scale` is given, the scale γ of the kernel.

    Parameters
    ----------
    squares : KernelSquares
        The distinct x; its kernel has the scale around which to look.
    scale : callable or None
        scale(γ) is the kernel of that scale.
    strengths : callable
        The strengths to try, given the squares.
    select : {"min", "1se"}
        The best model, or the strongest penalty within one standard error of it.
    callback : callable
        Called with the best score of each scale; True ends the search.
    """
    if scale is None:
        part = _sample(squares, MOST_FOR_STRENGTHS)
        trails = {None: follow(part, strengths(part))}
        return _chosen(squares, part, {None: squares.kernel}, trails, select)
    part = _sample(squares, MOST_FOR_SCALES)
    trails, kernels = _scales(part, scale, strengths, callback)
    gamma = max(trails, key=lambda g: np.nanmax(trails[g].unseen))
    if part is squares or squares.n > MOST_FOR_STRENGTHS:
        return _chosen(squares, part, kernels, trails, select)
    whole = replace(squares, kernel=kernels[gamma])
    return _chosen(squares, whole, kernels, {gamma: follow(whole, strengths(whole))}, select)


def _scales(
    squares: KernelSquares, scale, strengths, callback
) -> tuple[dict[Any, Trail], dict[Any, Any]]:
    """Trails by γ, coarse first and then finer around the best."""
    base, trails, kernels = float(squares.kernel.gamma), {}, {}

    def look(power: float) -> float | None:
        gamma = base * 4.0**power
        kernels[gamma] = scale(gamma)
        part = replace(squares, kernel=kernels[gamma])
        trails[gamma] = follow(part, strengths(part))
        score = float(np.nanmax(trails[gamma].unseen))
        return None if callback(score) else score

    explore(look, HALVINGS)
    return trails, kernels


def _sample(squares: KernelSquares, most: int) -> KernelSquares:
    """All x, or so many: drawn from distinct ones, which are in the order of their content."""
    if squares.n <= most:
        return squares
    chosen = np.sort(drawn(np.arange(squares.n), most))
    rows = chosen if squares.rows is None else squares.rows[chosen]
    return replace(
        squares,
        rows=rows,
        y=squares.y[chosen],
        weights=squares.weights[chosen],
        within=np.broadcast_to(squares.within, squares.n)[chosen],
    )


def _chosen(
    squares: KernelSquares, part: KernelSquares, kernels: dict, trails: dict, select: str
) -> ChosenKernel:
    """The winner among all models of the trails."""
    gammas = sorted(trails, key=lambda g: 0.0 if g is None else g)
    ordered = [trails[gamma] for gamma in gammas]
    best = max(range(len(ordered)), key=lambda k: np.nanmax(ordered[k].unseen))
    trail = ordered[best]
    at = best_of(trail.unseen, trail.standard_errors, select)
    sizes = [len(t.strengths) for t in ordered]
    values = {"alpha": np.concatenate([t.strengths for t in ordered]) - squares.kernel.noise}
    if gammas[0] is not None:
        values["gamma"] = np.repeat(gammas, sizes)
    search = Search(
        values=values,
        unseen=np.concatenate([t.unseen for t in ordered]),
        standard_errors=np.concatenate([t.standard_errors for t in ordered]),
        rows=np.full(sum(sizes), part.n),
        chosen=sum(sizes[:best]) + at,
        metric=METRIC,
    )
    kernel, strength = kernels[gammas[best]], float(trail.strengths[at])
    return ChosenKernel(kernel, strength, search, ordered, part.n == squares.n)


def corrected(
    model: Any, choice: ChosenKernel, rows: Merged, plain: Generalization
) -> Generalization:
    """What the tuned model scores on unseen rows, corrected for having been chosen."""
    if plain.kind == "unknown" or not choice.is_whole:
        return uncorrected(plain, model._tuned())
    y, weights, units = rows.data.y[rows.first], rows.weights, rows.units
    judge = Judge(model, y, weights)
    z = np.concatenate([trail.z for trail in choice.trails], axis=1)[units.inverse]
    # R², by which regressors are judged, is a mean over rows.
    shown = np.stack([np.asarray(judge.of_rows(z[:, k])) for k in range(z.shape[1])], axis=1)
    by = -np.mean((z - y.reshape(len(y), 1, -1)) ** 2, axis=2)
    scored = Choice(
        choice.search,
        units.means(shown, weights),
        units.means(by, weights),
        units.weights,
        within=1.0 if model.select == "1se" else 0.0,
        families=np.repeat(range(len(choice.trails)), [len(t.strengths) for t in choice.trails]),
    )
    return scored.corrected(plain)
