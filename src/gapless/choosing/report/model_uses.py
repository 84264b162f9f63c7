"""What a model uses: coefficients or rules, the importance of columns, how it depends on them."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import rankdata

from ..._ground.interrupt import TimeLimit, check, deadline, time_limit
from ...data import Table
from ...evaluation import (
    ROWS_AT_ONCE,
    PartialDependence,
    partial_dependence,
    permutation_importance,
)
from .. import Choice, Metric, coefficients_of
from .sections import Coefficient, Dependence, Importance, Line, Uses, number, numbers
from .words import is_baseline, metric_title

Array = np.ndarray

MOST_COEFFICIENTS = MOST_RULES = 15
MOST_DEPENDENCES, MOST_LEVELS, MOST_LINES = 3, 8, 5
# Rows to predict repeatedly, columns to shuffle, and how often each.
MOST_ROWS, MOST_SHUFFLED, REPEATS = 1000, 60, 5
# Shuffle this many columns at a time, in this part of the time, and at least this often.
AT_A_TIME, FOR_SHUFFLES, FEWEST_REPEATS = 5, 0.7, 2
# Values of a table to predict, to measure the time.
MOST_CELLS = 1_000_000
# Ranges of a column of numbers, to see how predictions vary with it.
BINS = 10


@dataclass
class Found:
    """The results so far; parts without time stay empty."""

    importances: tuple[Importance, ...] = ()
    tried: int = 0
    dependences: tuple[Dependence, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)


def uses_of(choice: Choice, table: Table, seconds: float | None) -> tuple[Uses, dict[str, str]]:
    """What the chosen model uses, found in about `seconds`; and what is left out, and why."""
    features = [column.name for column in choice.columns if column.is_feature]
    model = choice.model.pipeline_[-1]
    coefficients = coefficients_of(choice.model.pipeline_, choice.model.classes_)
    rules = tuple(str(rule) for rule in model.rules()) if hasattr(model, "rules") else ()
    found = Found()
    if is_baseline(choice):
        found.left_out["importances"] = "the model uses no columns"
    else:
        with time_limit(seconds):
            _look(choice, table, features, found)
    uses = Uses(
        kind=choice.chosen,
        coefficients=tuple(
            Coefficient(one.name, one.value, one.of) for one in coefficients[:MOST_COEFFICIENTS]
        ),
        coefficient_count=len(coefficients),
        rules=rules[:MOST_RULES],
        rule_count=len(rules),
        importances=found.importances,
        tried=found.tried,
        features=len(features),
        importance_metric=metric_title(choice.metric),
        dependences=found.dependences,
    )
    return uses, found.left_out


def _look(choice: Choice, table: Table, features: list[str], found: Found) -> None:
    """Shuffle columns, then set the most important ones to several values, while there is time."""
    some = np.arange(len(choice.split.test))
    if len(some) > MOST_ROWS:
        some = np.sort(np.random.default_rng(choice.seed).choice(some, MOST_ROWS, replace=False))
    frame = table.frame[choice.split.test[some]].select(features)
    # As many copies as are predicted at once when columns are shuffled; for wide tables a few
    # suffice.
    copies = min(ROWS_AT_ONCE // frame.height, MOST_CELLS // (frame.height * frame.width))
    copies = max(copies, 1)
    try:
        began = time.monotonic()
        said = _said(choice.model, frame[np.tile(np.arange(frame.height), copies)])
        seconds = (time.monotonic() - began) / copies
        leading, repeats = _affordable(frame, said[: frame.height], seconds)
    except TimeLimit:
        leading, repeats = [], 0
    losses = _losses(choice, frame, choice.answers.y[some], leading, repeats)
    if not losses:
        found.left_out["importances"] = "there was no time to shuffle columns"
        found.left_out["dependences"] = "there was no time to predict changed rows"
        return
    found.tried = len(losses)
    found.importances = tuple(sorted(losses, key=lambda one: -one.value))
    # A column whose shuffles change nothing has no picture, unless none does anything.
    used = [one.name for one in found.importances if one.value or one is found.importances[0]]
    found.dependences = _dependences(choice, frame, used, found)


def _losses(
    choice: Choice, frame: pl.DataFrame, y: Array, leading: list[int], repeats: int
) -> list[Importance]:
    """The drop of the score without each column, a few at a time, until time is up."""
    found: list[Importance] = []
    if choice.model.classes_ is not None:
        # No column helps a model with a class it has never seen.
        is_known = np.isin(y, choice.model.classes_)
        frame, y = frame.filter(is_known), y[is_known]
    # What follows needs a part of the time, too.
    left = deadline() - time.monotonic()
    with time_limit(None if left == math.inf else FOR_SHUFFLES * max(left, 0.0)):
        for first in range(0, len(leading), AT_A_TIME):
            try:
                part = permutation_importance(
                    choice.model,
                    frame,
                    y,
                    scoring=Metric(choice.metric, choice.model.classes_, choice.costs),
                    n_repeats=repeats,
                    columns=leading[first : first + AT_A_TIME],
                    random_state=choice.seed,
                )
            except TimeLimit:
                break
            found += [
                Importance(name, float(mean), number(error))
                for name, mean, error in zip(part.names, part.means, part.standard_errors)
            ]
    return found


def _said(model: Any, frame: pl.DataFrame) -> Array:
    """Predictions as numbers, (n, K): probabilities, classes as 0 and 1, or the number."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(frame))
    said = np.asarray(model.predict(frame))
    if model.classes_ is None:
        return said.reshape(len(said), -1).astype(float)
    return (said[:, None] == model.classes_).astype(float)


def _affordable(frame: pl.DataFrame, said: Array, one: float) -> tuple[list[int], int]:
    """Positions of the columns to shuffle, and how often, if one prediction takes `one` seconds."""
    affordable = FOR_SHUFFLES * (deadline() - time.monotonic()) / max(one, 1e-6)
    if affordable < AT_A_TIME:
        raise TimeLimit
    if frame.width <= MOST_SHUFFLED and frame.width * REPEATS <= affordable:
        return list(range(frame.width)), REPEATS
    most = int(np.clip(affordable / FEWEST_REPEATS, AT_A_TIME, MOST_SHUFFLED))
    leading = np.argsort(-_go_with(frame, said), kind="stable")[:most]
    repeats = int(np.clip(affordable / len(leading), FEWEST_REPEATS, REPEATS))
    return leading.tolist(), repeats


def _go_with(frame: pl.DataFrame, said: Array) -> Array:
    """The part of the variation of predictions explained by each column, in ranges or levels."""
    is_ordered = np.array([kind.is_numeric() or kind.is_temporal() for kind in frame.dtypes])
    found = np.empty(frame.width)
    some = frame[:, np.flatnonzero(is_ordered).tolist()]
    if some.width:
        X = some.select(pl.all().to_physical().cast(pl.Float64)).to_numpy()
        found[is_ordered] = _explained(_in_ranges(X), said)
    for k in np.flatnonzero(~is_ordered).tolist():
        check()
        levels = frame.to_series(k).cast(pl.String).fill_null("").rank("dense").to_numpy()
        found[k] = _explained(levels.astype(int)[:, None], said)[0]
    return found


def _in_ranges(X: Array) -> Array:
    """The range of each number of each column, with equally many rows."""
    missing = np.isnan(X)
    rank = rankdata(np.where(missing, -np.inf, X), axis=0)
    return np.where(missing, 0, np.ceil(rank * BINS / len(X))).astype(int)


def _explained(groups: Array, said: Array) -> Array:
    """The part of the variation of (n, K) predictions between groups, for each column of (n, d).

    Minus what as many groups drawn at random would explain, so that levels of few rows, which
    always explain something, do not come first.
    """
    centred = said - said.mean(axis=0)
    total = float(np.sum(centred**2))
    between, count = np.zeros(groups.shape[1]), np.zeros(groups.shape[1])
    if total == 0:
        return between
    for group in range(int(groups.max(initial=0)) + 1):
        is_in = (groups == group).astype(float)
        rows = is_in.sum(axis=0)
        between += np.sum((is_in.T @ centred) ** 2, axis=1) / np.maximum(rows, 1)
        count += rows > 0
    return between / total - (count - 1) / max(len(said) - 1, 1)


def _dependences(
    choice: Choice, frame: pl.DataFrame, names: Sequence[str], found: Found
) -> tuple[Dependence, ...]:
    texts = {column.name for column in choice.columns if column.role == "text"}
    parts: list[Dependence] = []
    for name in [name for name in names if name not in texts][:MOST_DEPENDENCES]:
        most = 20 if frame[name].dtype.is_numeric() else MOST_LEVELS
        try:
            result = partial_dependence(
                choice.model, frame, name, most_values=most, random_state=choice.seed
            )
        except TimeLimit:
            found.left_out["dependences"] = "there was no time for all of the first three columns"
            break
        except ValueError:  # all its values are missing in these rows
            continue
        parts.append(_as_lines(result, choice))
    return tuple(parts)


def _as_lines(result: PartialDependence, choice: Choice) -> Dependence:
    """One line for numbers and for two classes; else one for each of the most frequent classes."""
    if not result.classes:
        answer, lines = f"mean predicted {choice.target}", [("", result.means[:, 0])]
    elif len(result.classes) == 2:
        answer = f"{result.answer} of {result.classes[1]}"
        lines = [(str(result.classes[1]), result.means[:, 1])]
    else:
        answer = result.answer
        first = np.argsort(-result.means.mean(axis=0), kind="stable")[:MOST_LINES]
        lines = [(str(result.classes[k]), result.means[:, k]) for k in sorted(first)]
    return Dependence(
        column=result.column,
        values=result.values,
        lines=tuple(Line(name, numbers(values)) for name, values in lines),
        answer=answer,
    )
