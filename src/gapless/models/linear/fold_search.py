"""Choosing the strength of a penalty by folds, with as few fits as will do.

Where leaving one row out takes as long as a fit (weights of many words: more features than rows),
five folds are cheaper. Every strength then costs six fits, so ridge paths are short: one strength
for each decade, and two more beside the best. With more features than rows they begin with a few
decades around the mean eigenvalue of the Hessian, and go on only where the scores still rise; with
fewer, a small eigenvalue may be the one that matters, and all decades are tried.

Of large data a sample decides, of which one part is held out, and all strengths together cost
about as much as two or three fits to all rows. What the penalty says of the coefficients before any
row is seen does not depend on how many rows there will be, and its strength counts against the sum
of their losses: so the best strength of a sample is about that of all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...solvers import FoldModels, Station
from ...unseen import Fitted, drawn
from .following import ended, follow, path_tolerance
from .held_out import folds_of_rows, merged_rows, part_of
from .selection import DECADES, SPARSE_DECADES, STRENGTHS
from .strengths import is_quadratic, largest_strength, penalty_on
from .trail import Trail, by_strength
from .walk import Walk

Array = np.ndarray
# Up to so many entries and coefficients, for each output, all rows are in five folds, which takes
# seconds, and so are few rows, of which a part would tell too little. Else one part of a sample
# decides: of this part of the distinct rows, or of so many if these are more.
MOST_IN_FOLDS, FEW, PART, FEWEST = 1e6, 400, 0.25, 2000
# The first strengths for more features than rows: the mean eigenvalue times these powers of ten.
WINDOW = (1, 0, -1, -2, -3)
# The window grows where its last decade has brought more than this part of a standard error.
GAIN = 0.1


def search_by_folds(fitted: Fitted, callback: Any) -> Trail:
    """Models along strengths, by falling strength, and the scores of rows held out by folds.

    Of large data, the models of a sample.

    Parameters
    ----------
    fitted : Fitted
        Problems whose penalties have strength 1.
    callback : callable or None
        Of the solvers.

    Returns
    -------
    Trail
    """
    if not all(is_quadratic(problem) for problem in fitted.problems):
        top = largest_strength(fitted.problems)
        strengths = np.geomspace(top, top / 10**SPARSE_DECADES, STRENGTHS)
        return follow(fitted, strengths, callback, may_end=True, by_folds=True)
    fitted, rows, weights = merged_rows(fitted)
    some = _sample(fitted)
    if some is None:
        return _search(fitted, rows, weights, folds_of_rows(fitted), callback)
    part = part_of(fitted, some)
    trail = _search(part, rows[some], weights[some], folds_of_rows(part)[:1], callback)
    # A penalty against the mean of losses is the stronger the more rows there are.
    times = float(weights.sum() / weights[some].sum()) if fitted.averages else 1.0
    return replace(trail, strengths=times * trail.strengths, is_sample=True)


def _sample(fitted: Fitted) -> Array | None:
    """The rows of a sample of large data, with a share of all classes; None where all decide.

    All rows have weight, and no two are equal.
    """
    problems, units = fitted.problems, fitted.units
    design, outputs = problems[0].design, sum(problem.outputs or 1 for problem in problems)
    count = int(units.max()) + 1
    most = max(int(PART * count), FEWEST)
    work = (design.density * design.n + 1) * design.d * outputs
    if count <= FEW or work <= MOST_IN_FOLDS:
        return None
    is_drawn = np.zeros(count, dtype=bool)
    is_drawn[drawn(units, most, fitted.targets if fitted.has_classes else None)] = True
    return np.flatnonzero(is_drawn[units])


def _search(
    fitted: Fitted, rows: Array, weights: Array, folds: list[tuple[Array, Array]], callback: Any
) -> Trail:
    """Go where the scores of held-out rows are best."""
    top, walk = largest_strength(fitted.problems), Walk(fitted, weights)
    walk.hold_out(folds)
    models = FoldModels(
        fitted.problems,
        folds,
        partial(penalty_on, fitted),
        tol=path_tolerance(fitted),
        callback=callback,
    )

    def search() -> str:
        for strength in _wanted(walk, top):
            solutions, z = models.at(strength)
            found = [Station(s.parameters, max(s.gap, 0.0), s.trace.steps) for s in solutions]
            walk.note(strength, found, z)
        return "optimal"

    status = ended(search)
    return by_strength(walk.trail(rows, weights, status))


def _wanted(walk: Walk, top: float) -> Iterator[float]:
    """The strengths to try, one after the other, by what the walk has seen so far."""
    first, lowest = walk.fitted.problems[0], top / 10**DECADES
    if first.d <= first.n:
        yield from np.geomspace(top, lowest, DECADES + 1).tolist()
    else:
        # `top` is ten times the sum of the eigenvalues, of which n can be other than 0.
        yield from (top / (10 * first.n) * 10.0**power for power in WINDOW)
    further = _further(walk)
    while further is not None and lowest <= further <= top:
        yield further
        further = _further(walk)
    best = walk.strengths[int(np.argmax(walk.unseen))]
    if min(walk.strengths) < best < max(walk.strengths):
        yield from (best / np.sqrt(10), best * np.sqrt(10))


def _further(walk: Walk) -> float | None:
    """The strength a decade beyond the best, if that is at an end and still gaining, else None."""
    order = np.argsort(walk.strengths)
    unseen, errors = np.array(walk.unseen)[order], np.array(walk.errors)[order]
    best = int(np.argmax(unseen))
    enough = unseen[best] - GAIN * errors[best]
    if best == 0 and unseen[1] < enough:
        return walk.strengths[order[0]] / 10
    if best == len(unseen) - 1 and unseen[-2] < enough:
        return walk.strengths[order[-1]] * 10
    return None
