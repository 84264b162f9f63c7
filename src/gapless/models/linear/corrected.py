"""What a tuned model scores on unseen rows, corrected for having been chosen.

`selection` and the classes with "CV" in their name keep the held-out predictions of all models that
they tried. Here these become one score for each row and model, those that are reported and those
by which the winner was chosen, and `unseen.selection_bias` says what is left of the winner's lead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...unseen import (
    METHODS,
    Distinct,
    Fitted,
    Generalization,
    Judge,
    chosen_among,
    correct,
    uncorrected,
    with_shares,
)
from .following import ridge_trail
from .held_out import row_scores
from .strengths import is_ridge
from .trail import Choice, Trail

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Rivals:
    """The models of one trail, scored on all units: means over the rows of each x.

    `shown` are the scores that are reported and `by` those that decide, (units, m); `positions` say
    where on the trail each model stands.
    """

    shown: Array
    by: Array
    positions: Array


def corrected(model: Any, fitted: Fitted, choice: Choice, plain: Generalization) -> Generalization:
    """What the tuned model scores on unseen rows, corrected for having been chosen.

    `plain` is the estimate for the chosen model as if nobody had chosen it. It stands, and says so,
    where the model is none of those that were tried, or where folds left out some rows more often
    than others, which no correction is known for.
    """
    if plain.kind == "unknown":
        return plain
    trails = [_with_predictions(trail, fitted) for trail in choice.trails]
    followed = [k for k, trail in enumerate(trails) if len(trail.strengths)]
    if any(trails[k].z is None for k in followed) or choice.trail not in followed:
        return uncorrected(plain, model._tuned())
    rivals = [_rivals(model, fitted, trails[k], choice.scoring) for k in followed]
    families = np.repeat(followed, [len(r.positions) for r in rivals])
    positions = np.concatenate([r.positions for r in rivals])
    winner = np.flatnonzero((families == choice.trail) & (positions == choice.winner))
    if not len(winner):
        return uncorrected(plain, model._tuned())
    found = correct(
        np.hstack([r.shown for r in rivals]),
        _sums(fitted.units, fitted.weights),
        choose_by=np.hstack([r.by for r in rivals]),
        within=1.0 if model.select == "1se" else 0.0,
        families=families,
        chosen=int(winner[0]),
    )
    trail = trails[choice.trail]
    # Folds make no approximation that refits could check.
    disagreement = plain.disagreement if trail.method in METHODS else None
    result, kind = replace(plain, disagreement=disagreement), _kind(trail, choice.winner, plain)
    return chosen_among(result, found, len(families), method=trail.method, kind=kind)


def _kind(trail: Trail, winner: int, plain: Generalization) -> str:
    """The plain verdict, unless it asks for a penalty that was tried by folds and not chosen.

    The plain one leaves out row by row, and folds may know better which rows belong together.
    """
    times = trail.strengths / trail.strengths[winner]
    is_tried = {"over-fitted": times.max() >= 10, "under-fitted": times.min() <= 0.1}
    if trail.method not in METHODS and is_tried.get(plain.kind, False):
        return "balanced"
    return plain.kind


def _with_predictions(trail: Trail, fitted: Fitted) -> Trail:
    """The trail with its held-out predictions, computed again where they were not kept.

    Only those of leave-one-out can be: folds that the user gave may keep groups of rows together.
    """
    if trail.z is not None or trail.method != METHODS[0] or not is_ridge(fitted.problems):
        return trail
    return ridge_trail(fitted.problems[0], trail.strengths, keep=True)


def _sums(labels: Array, weights: Array) -> Array:
    """Weights of the rows of each label together, −1 being none."""
    return np.bincount(labels[labels >= 0], weights[labels >= 0])


def _rivals(model: Any, fitted: Fitted, trail: Trail, scoring: Any) -> Rivals:
    """Scores of the models of a trail, where all rows that count have a prediction."""
    assert trail.z is not None
    found, first = np.unique(fitted.distinct[trail.rows], return_index=True)
    first = first[found >= 0]
    part = _distinct_part(fitted, trail.rows[first])
    order = np.arange(len(trail.strengths))
    if model.select == "1se":  # the simplest first
        order = np.argsort(-trail.strengths, kind="stable")
    z = trail.z[first]
    order = order[np.all(np.isfinite(z[:, order]), axis=(0, 2))]
    by = _criterion(model, part, scoring)
    pairs = [(_reported(model, part, trail.method, z[:, k]), by(z[:, k])) for k in order]
    units = Distinct.of(fitted.units[trail.rows[first]], part.weights)
    shown, decisive = (
        units.means(np.array(column).reshape(len(order), -1).T, part.weights)
        for column in zip(*pairs)
    )
    return Rivals(shown, decisive, order)


def _distinct_part(fitted: Fitted, rows: Array) -> Fitted:
    """The fit on distinct rows (x, y), each with the weight of all that are equal to it."""
    design = fitted.problems[0].design.rows(rows)
    weights = _sums(fitted.distinct, fitted.problems[0].weights)
    return replace(
        fitted,
        problems=[replace(p, design=design, y=p.y[rows], weights=weights) for p in fitted.problems],
        targets=fitted.targets[rows],
        y=fitted.y[rows],
        weights=_sums(fitted.distinct, fitted.weights),
    )


def _reported(model: Any, part: Fitted, method: str, z: Array) -> Array:
    """Accuracy of each row, or its part of R².

    Without a row its class is less frequent, which is made good where rows were left out one by
    one. Folds keep the shares of the classes, or did not when they chose.
    """
    if part.has_classes and method in METHODS:
        z = with_shares(part, z)
    scores = Judge(model, part.y, part.weights).of_rows(z)
    assert scores is not None
    return scores


def _criterion(model: Any, part: Fitted, scoring: Any) -> Any:
    """The scores of the rows by which the winner was chosen, given predictions z (n, K).

    Those of the scorer, if its score is a mean over rows, else minus the loss.
    """
    judge = Judge(model, part.y, part.weights, scoring)
    if scoring is not None and judge.is_mean:
        return judge.of_rows
    # The loss counts the weights of classes as well, which reported scores do not.
    share = part.problems[0].weights / part.weights
    share = share / np.average(share, weights=part.weights)
    return lambda z: share * row_scores(part.problems, z)
