"""What the chosen model has tuned: its score by the parameter, on unseen and on its own rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import get_scorer, get_scorer_names

from ..._ground.interrupt import TimeLimit, check, time_limit
from ...data import Table, read_target
from ...models.linear import Path
from ...unseen import Search, row_scores
from .. import Choice, Tuning, model_of, within
from .plain import Number, numbers, plain_value
from .sections import Validation
from .words import tuning_in_words

# The model is fitted again with so many of the values, to see how it does on its own rows.
MOST_FITS = 9
# Scores that scikit-learn calls otherwise.
SCORERS = {"R²": "r2"}


def validation_of(
    choice: Choice, table: Table, seconds: float | None, left_out: dict[str, str]
) -> Validation | None:
    """What the model tuned inside its fit; None, and the reason in `left_out`, if it did not."""
    tuned = choice[choice.chosen].tuning
    if tuned is None or len(tuned.values) < 2:
        left_out["validation"] = f"no parameter of {choice.chosen} was tuned"
        return None
    metric, is_loss = _own_sense(tuned.metric)
    sign = -1.0 if is_loss else 1.0
    own = _own_scores(choice, table, tuned, seconds)
    return Validation(
        parameter=tuned.parameter,
        values=tuple(plain_value(value) for value in tuned.values),
        train=numbers(None if value is None else sign * value for value in own),
        unseen=numbers(sign * value for value in tuned.unseen),
        standard_errors=numbers(tuned.standard_errors),
        best=int(tuned.best),
        chosen=int(tuned.chosen),
        metric=metric,
        higher_is_better=not is_loss,
        is_log=bool(tuned.is_log),
        words=tuning_in_words(tuned),
    )


def _own_sense(metric: str) -> tuple[str, bool]:
    """What a score is called in words, and whether it is a loss with its sign turned."""
    for turned in ("neg_", "negative "):
        if metric.startswith(turned):
            return metric.removeprefix(turned).replace("_", " "), True
    return metric.replace("_", " "), False


# ---- own rows ------------------------------------------------------------------------------------


def _own_scores(choice: Choice, table: Table, tuned: Tuning, seconds: float | None) -> list[Number]:
    """The score of the rows that were learned from, for each value; None where it is not known."""
    model = model_of(choice.model.pipeline_)
    unknown: list[Number] = [None] * len(tuned.values)
    if tuned.parameter == "rounds":
        # Boosting has seen it on the way, as far as it went.
        losses = getattr(getattr(model, "trace_", None), "training", ())
        return [-float(losses[int(r)]) if r < len(losses) else None for r in tuned.values]
    metric = SCORERS.get(tuned.metric, tuned.metric)
    # Fits of some of the rows would be another story: such models know theirs better.
    is_whole = choice.model.rows_ == len(choice.split.train)
    is_open = isinstance(model.get_params(deep=False).get(tuned.parameter), str)
    if not (is_whole and is_open):
        return unknown
    try:
        with time_limit(seconds), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if isinstance(getattr(model, "path_", None), Path):
                return _along_path(choice, table, tuned)
            if metric in get_scorer_names():
                return _fitted_again(choice, table, tuned, get_scorer(metric))
    except TimeLimit:
        pass
    return unknown


def _along_path(choice: Choice, table: Table, tuned: Tuning) -> list[Number]:
    """The scores of models that are known from the search itself, in the loss that it goes by."""
    model = model_of(choice.model.pipeline_)
    X, y = _own_rows(choice, table)
    path, problems = model.path_, model._fitted_to(X, y).problems
    places = {float(strength): k for k, strength in enumerate(path.strengths)}
    own: list[Number] = [None] * len(tuned.values)
    for at, value in enumerate(tuned.values):
        check()
        if value in places:
            k = places[value]
            z = X @ np.reshape(path.coefficients[k], (X.shape[1], -1)) + path.intercepts[k]
            own[at] = float(row_scores(problems, z).mean())
    return own


def _fitted_again(choice: Choice, table: Table, tuned: Tuning, scorer: Any) -> list[Number]:
    """The scores of models with some of the values, the chosen one among them."""
    model = model_of(choice.model.pipeline_)
    X, y = _own_rows(choice, table)
    if choice.task == "classification":
        # Errors of probabilities are of numbered classes alone.
        y = np.unique(y, return_inverse=True)[1]
    own: list[Number] = [None] * len(tuned.values)
    for k in _some(tuned):
        again = clone(model).set_params(**_settings(model, tuned, k)).fit(X, y)
        own[k] = float(scorer(again, X, y))
        # A fit that the limit has stopped is not the model that was judged.
        check()
    return own


def _own_rows(choice: Choice, table: Table) -> tuple[Any, np.ndarray]:
    """The rows for training as the model sees them, and their targets."""
    features = [column.name for column in choice.columns if column.is_feature]
    frame = table.frame[choice.split.train].select(features)
    y = within(read_target(table, choice.target), choice.split.train).values
    return choice.model.pipeline_[:-1].transform(frame), y


def _some(tuned: Tuning) -> list[int]:
    """Places of some of the values, from end to end; the best and the chosen are among them."""
    spread = np.linspace(0, len(tuned.values) - 1, MOST_FITS).round().astype(int)
    return sorted({*spread.tolist(), tuned.best, tuned.chosen})


def _settings(model: Any, tuned: Tuning, k: int) -> dict[str, Any]:
    """All that was tuned together, where the parameter had its k-th value and that score."""
    value = tuned.values[k]
    found = {tuned.parameter: value}
    search = getattr(model, "search_", None)
    if isinstance(search, Search):
        values = np.asarray(search.values[tuned.parameter], dtype=float)
        at = int(np.flatnonzero((values == value) & (search.unseen == tuned.unseen[k]))[-1])
        found |= {name: float(of[at]) for name, of in search.values.items()}
    # Counts, such as neighbours, have to be whole numbers, and strengths may be.
    return {name: int(of) if of.is_integer() else of for name, of in found.items()}
