"""Choosing the scale γ of a kernel, and C, by what the models score on rows they have not seen.

For each scale the strengths of the penalty are followed as for linear models, on features of that
kernel; the scales themselves coarse first, then finer around the best. Called by kernel logistic
regression; what was tried is kept with the fitted model.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..._ground.validation import Training
from ...problem import EXACT, NYSTROEM, Distinct, factor
from ...unseen import Fitted, Search
from ..linear import Choice, Trail, fitted_of, follow, tune
from .scales import explore

Array = np.ndarray

# What models are chosen by: minus the mean loss of a row, times its class weight.
METRIC = "neg_log_loss"
# How often the step between scales is halved around the best.
HALVINGS = 1
# Features of models that only serve to choose: of more rows than so many there are so many at most,
# and with several classes so many in all, as far as Newton's method solves for all at once.
FEW_ROWS, MANY_ROWS, FEATURES, FEW_FEATURES, UNKNOWNS = 500, 10_000, 500, 256, 1500


def rough(model: Any, data: Training) -> Training:
    """The data as features that are good enough to compare strengths and scales on."""
    distinct = Distinct.of(data.X, data.weights)
    rows, classes = len(distinct.first), len(data.classes) if data.classes is not None else 0
    rank = FEATURES if rows <= MANY_ROWS else FEW_FEATURES
    if classes > 2:
        rank = min(rank, UNKNOWNS // classes - 1)
    kind = EXACT if rows <= min(FEW_ROWS, rank) else NYSTROEM
    kernel = model._kernel()
    features = factor(kernel, data.X, data.weights, kind=kind, rank=rank, seed=model.random_state)
    return replace(data, X=features.train)


def tune_scale(model: Any, data: Training, callback: Any) -> Choice:
    """The best γ, with the best C for it or the C that was given."""
    base = float(model._at(gamma="scale")._kernel().resolve(data.X, data.weights).gamma)
    found: dict[float, Choice] = {}

    def look(power: float) -> float | None:
        gamma = base * 4.0**power
        at = model._at(gamma=gamma)
        found[gamma] = choice = _at_scale(at, rough(at, data), callback)
        return None if choice.status != "optimal" else float(np.nanmax(_trail(choice).unseen))

    explore(look, HALVINGS)
    reached = [g for g, choice in found.items() if len(_trail(choice).strengths)]
    status = next((c.status for c in found.values() if c.status != "optimal"), "optimal")
    if not reached:
        values = model._unchosen(status).values
        return Choice(values, None, None, [], status=status)
    gamma = max(reached, key=lambda g: np.nanmax(_trail(found[g]).unseen))
    winner = found[gamma]
    values = {**winner.values, "gamma": gamma}
    return replace(
        winner,
        values={name: values[name] for name in model._tuned()},
        start=None,
        trails=[_trail(found[g]) for g in reached],
        trail=reached.index(gamma),
        status=status,
        extra={"search_": _search(found, reached, gamma)},
    )


def _at_scale(model: Any, data: Training, callback: Any) -> Choice:
    """The best C for one scale, or the one that was given."""
    if model._strength_name in model._tuned():
        return tune(model, data, callback)
    fitted: Fitted = fitted_of(model._at(C=1.0), data)
    trail = follow(fitted, np.array([1 / model.C]), callback)
    return Choice({"C": float(model.C)}, None, None, [trail], status=trail.status)


def _trail(choice: Choice) -> Trail:
    return choice.trails[0]


def _search(found: dict[float, Choice], reached: list[float], gamma: float) -> Search:
    gammas = sorted(reached)
    trails = [_trail(found[g]) for g in gammas]
    sizes = [len(trail.strengths) for trail in trails]
    at = gammas.index(gamma)
    return Search(
        values={
            "C": 1 / np.concatenate([trail.strengths for trail in trails]),
            "gamma": np.repeat(gammas, sizes),
        },
        unseen=np.concatenate([trail.unseen for trail in trails]),
        standard_errors=np.concatenate([trail.standard_errors for trail in trails]),
        rows=np.full(sum(sizes), len(trails[0].rows)),
        chosen=sum(sizes[:at]) + found[gamma].winner,
        metric=METRIC,
    )
