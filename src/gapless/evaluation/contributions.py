"""Shapley values of columns: exactly where a model has a closed form, by permutations elsewhere.

The value of a set S of columns for a row x is the mean of the model's answer over background rows
whose columns in S have the values of x. A column's Shapley value is its mean effect on that over
all orders in which columns can be added, Σ_S |S|! (d−|S|−1)! / d! · (v(S ∪ {j}) − v(S)).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.pipeline import Pipeline

from .._ground.interrupt import check
from .._ground.progress import ProgressLine
from .._ground.shapley import (
    LOG_ODDS,
    LOGARITHM,
    PREDICTION,
    PROBABILITY,
    SCORE,
    Contributions,
    Game,
)
from .columns_of import joined, mixed, sources_of_steps

Array = np.ndarray

# How many numbers are predicted from at a time.
MOST_CELLS = 1 << 20
# With up to so many columns all sets of them are tried: they are not many more than random orders
# need.
FEW_COLUMNS = 6
# Each background row is paired with at least so many permutations and their reverses, and there
# are at least so many pairs: with fewer, their spread would not be known.
FEWEST_ROUNDS, FEWEST_PAIRS = 2, 64
# How far the answer of a linear model may be from its coefficients times the row, in roundings of
# float64; those of float32 are so large that fewer must do.
ROUNDINGS, SINGLE_ROUNDINGS = 1e5, 100.0


@dataclass(frozen=True)
class Solved:
    """Contributions of the columns, how they were found, and their standard errors if sampled."""

    found: Contributions
    method: str
    standard_errors: Array | None = None


def solve(model: Any, X: Any, game: Game, rounds: int, seed: int) -> Solved:
    """The Shapley values of the columns for rows of X, in the form in which the model takes them.

    Parameters
    ----------
    model : estimator
        A fitted model, or a pipeline.
    X : array-like of shape (n, d)
        The rows.
    game : Game
        The rows to compare with.
    rounds : int
        How many pairs of permutations go with each of these at least, if there is no closed form.
    seed : int
        The seed of the permutations.

    Returns
    -------
    Solved
    """
    check()
    for closed_form in (_of_last_step, _linear):
        solved = closed_form(model, X, game)
        if solved is not None:
            return solved
    return _by_sets(model, X, game, rounds, seed)


# ---- closed forms --------------------------------------------------------------------------------


def _of_last_step(model: Any, X: Any, game: Game) -> Solved | None:
    """By the model's own closed form, on the features that the steps before it make."""
    encoded = _encoded(model, X, game)
    if encoded is None:
        return None
    last, F, own = encoded
    exact = getattr(last, "_contributions", None)
    found = None if exact is None else exact(F, own)
    if found is None:
        return None
    if found.scale == PROBABILITY and found.values.shape[2] == 2 and _has_one_target(last):
        found = found.at(np.array([1]))
    return Solved(found, "exact")


def _has_one_target(model: Any) -> bool:
    return isinstance(getattr(model, "classes_", None), np.ndarray)


def _encoded(model: Any, X: Any, game: Game) -> tuple[Any, Any, Game] | None:
    """The last step of a pipeline, its rows, and the game on its features.

    None if a feature is made of several columns.
    """
    if not isinstance(model, Pipeline):
        return model, X, game
    steps, last = model[:-1], model[-1]
    if not len(steps):
        return last, X, game
    of_feature = sources_of_steps([step for _, step in steps.steps], X.shape[1])
    if of_feature is None:
        return None
    F, G = steps.transform(X), steps.transform(game.background)
    if F.shape[1] != len(of_feature):
        return None
    players = game.players[of_feature].astype(np.int32)
    return _encoded(last, F, Game(G, game.shares, players, game.player_count))


def _linear(model: Any, X: Any, game: Game) -> Solved | None:
    """For answers Xw + b: column j contributes wⱼ (xⱼ − mean of xⱼ), whatever the order."""
    encoded = _before_projections(model, X, game)
    if encoded is None:
        return None
    last, steps, F, own = encoded
    made, F, G = F, _numbers(F), _numbers(own.background)
    plane = _plane(last)
    if F is None or G is None or plane is None:
        return None
    w, b = plane
    for step in reversed(steps):
        # A projection (x − mean) Vᵀ in front of w changes only w and b.
        w = w @ np.asarray(step.components_, dtype=float)
        mean = getattr(step, "mean_", None)
        b = b if mean is None else b - w @ np.asarray(mean, dtype=float)
    if w.shape[1] != F.shape[1]:
        return None
    z = np.asarray(F @ w.T) + b
    for step in steps:
        made = step.transform(made)
    scale = _scale_of(last, made, z, _roundings(F, w, b, _is_single(last)))
    if scale is None:
        return None
    mean = np.asarray(own.shares @ G).ravel()
    belongs = sp.csr_array(
        (np.ones(len(own.players)), (np.arange(len(own.players)), own.players)),
        shape=(len(own.players), own.player_count),
    )
    if sp.issparse(F):
        at_mean = [(own_w * mean) @ belongs for own_w in w]
        sums = [(F @ belongs.multiply(own_w[:, None]).tocsr()).toarray() for own_w in w]
        values = np.stack([of - at for of, at in zip(sums, at_mean)], axis=2)
    else:
        values = np.stack([((F - mean) * own_w) @ belongs for own_w in w], axis=2)
    return Solved(Contributions(values, w @ mean + b, scale), "exact")


def _before_projections(model: Any, X: Any, game: Game) -> tuple[Any, list[Any], Any, Game] | None:
    """As `_encoded`, with the projections on components between the features and the last step."""
    named = _all_steps(model)
    steps = [step for _, step in named]
    first = len(steps) - 1
    while first > 0 and hasattr(steps[first - 1], "components_"):
        first -= 1
    front = Pipeline([*named[:first], ("last", None)]) if first else None
    found = (None, X, game) if front is None else _encoded(front, X, game)
    return None if found is None else (steps[-1], steps[first:-1], found[1], found[2])


def _all_steps(model: Any) -> list[tuple[str, Any]]:
    """The steps of a pipeline whose last one may be a pipeline again."""
    if not isinstance(model, Pipeline):
        return [("last", model)]
    last = [(f"{model.steps[-1][0]} {name}", step) for name, step in _all_steps(model[-1])]
    return [*model.steps[:-1], *last]


def _numbers(X: Any) -> Any:
    """X as a matrix of numbers in float64; None if it holds anything else."""
    if sp.issparse(X):
        return sp.csr_array(X, dtype=np.float64)
    try:
        return np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _plane(model: Any) -> tuple[Array, Array] | None:
    """w (K, d) and b (K,) of a linear model."""
    try:
        coef, intercept = model.coef_, model.intercept_
    except AttributeError:
        return None
    w = np.atleast_2d(coef.toarray() if sp.issparse(coef) else np.asarray(coef, dtype=float))
    try:
        return w, np.broadcast_to(np.asarray(intercept, dtype=float), len(w))
    except ValueError:
        return None


def _is_single(model: Any) -> bool:
    """Whether a linear model computes in float32."""
    return model.coef_.dtype == np.float32


def _roundings(F: Any, w: Array, b: Array, is_single: bool) -> Array:
    """How far answers may be off by rounding, in the type in which the model computes."""
    single, double = (float(np.finfo(kind).eps) for kind in (np.float32, np.float64))
    off = SINGLE_ROUNDINGS * single if is_single else ROUNDINGS * double
    return off * (abs(F) @ np.abs(w).T + np.abs(b) + 1e-300)


def _scale_of(model: Any, F: Any, z: Array, error: Array) -> str | None:
    """What Xw + b is of a model's answers for these rows; None if it is none of them."""

    def is_equal(answers: Any, factor: float = 1.0) -> bool:
        answers = np.asarray(answers, dtype=float).reshape(len(z), -1)
        return answers.shape == z.shape and bool(np.all(np.abs(answers - z) <= factor * error))

    if is_classifier(model) or is_outlier_detector(model):
        is_binary = z.shape[1] == 1 and is_classifier(model)
        if hasattr(model, "predict_log_proba") and is_binary:
            logs = np.asarray(model.predict_log_proba(F))
            with np.errstate(invalid="ignore"):
                if is_equal(logs[:, 1] - logs[:, 0], 1e3):
                    return LOG_ODDS
        has_scores = hasattr(model, "decision_function")
        return SCORE if has_scores and is_equal(model.decision_function(F)) else None
    if not hasattr(model, "predict"):
        return None
    answers = np.asarray(model.predict(F), dtype=float)
    if is_equal(answers):
        return PREDICTION
    if np.all(answers > 0) and is_equal(np.log(answers), 1e3):
        return LOGARITHM
    return None


# ---- any model -----------------------------------------------------------------------------------


def answers_of(model: Any, X: Any) -> tuple[Array, str]:
    """The answers (n, K) that are explained, and what they are."""
    if is_classifier(model):
        if hasattr(model, "predict_proba"):
            found = model.predict_proba(X)
            if isinstance(found, list):
                return np.column_stack(found), PROBABILITY
            found = np.asarray(found)
            return (found[:, 1:] if found.shape[1] == 2 else found), PROBABILITY
        if hasattr(model, "decision_function"):
            found = np.asarray(model.decision_function(X), dtype=float)
            return found.reshape(X.shape[0], -1), SCORE
        classes, said = np.asarray(model.classes_), np.asarray(model.predict(X))
        shares = (said[:, None] == classes).astype(float)
        return (shares[:, 1:] if len(classes) == 2 else shares), "share predicted"
    if is_regressor(model):
        return np.asarray(model.predict(X), dtype=float).reshape(X.shape[0], -1), PREDICTION
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=float).reshape(X.shape[0], -1), SCORE
    raise TypeError(
        f"{type(model).__name__} predicts no target, so there is nothing to explain; pass a "
        "classifier or a regressor."
    )


@dataclass(frozen=True)
class _Progress:
    done: int
    of: int

    def __str__(self) -> str:
        return f"{self.done:,} of {self.of:,} comparisons"


def _by_sets(model: Any, X: Any, game: Game, rounds: int, seed: int) -> Solved:
    """By all sets of columns if they are few; else by random orders of them."""
    n, d, m = X.shape[0], X.shape[1], len(game.shares)
    scale = answers_of(model, X[:1])[1]
    stack = joined(X, game.background)
    ends = _in_parts(lambda rows: answers_of(model, _some(stack, rows))[0], n + m, d)
    at_x, at_b = ends[:n], ends[n:]
    base = game.shares @ at_b

    def answers(places: Array) -> Array:
        check()
        return answers_of(model, mixed(stack, places))[0]

    line = ProgressLine("explain", sys.stderr)
    try:
        if d <= FEW_COLUMNS:
            values, errors = _all_sets(answers, at_x, at_b, d, game.shares, line), None
        else:
            rounds = max(rounds, -(-FEWEST_PAIRS // m))
            values, errors = _orders(answers, at_x, at_b, d, game.shares, rounds, seed, line)
    finally:
        line.clear()
    method = "all sets of columns" if errors is None else f"{2 * rounds * m:,} orders of columns"
    return Solved(Contributions(values, base, scale), method, errors)


def _some(X: Any, rows: slice) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _in_parts(answers: Callable[[slice], Array], n: int, d: int) -> Array:
    size = max(1, MOST_CELLS // max(d, 1))
    return np.concatenate([answers(slice(k, k + size)) for k in range(0, n, size)])


def _all_sets(
    answers: Callable[[Array], Array],
    at_x: Array,
    at_b: Array,
    d: int,
    shares: Array,
    line: ProgressLine,
) -> Array:
    """The definition: the value of every set of columns."""
    n, m, k = len(at_x), len(at_b), at_x.shape[1]
    sets = (np.arange(1 << d)[:, None] >> np.arange(d) & 1).astype(bool)
    size = sets.sum(axis=1)
    weight = np.array([1.0 / (d * comb(d - 1, s)) if s < d else 0.0 for s in range(d + 1)])
    # v(S) counts with the weight of S \ {j} for its members, and against the others.
    factor = np.where(sets, weight[np.maximum(size - 1, 0)][:, None], -weight[size][:, None])
    inner = np.flatnonzero((size > 0) & (size < d))
    values = np.zeros((n, d, k))
    at_a_time = max(1, MOST_CELLS // max(m * len(inner) * d, 1))
    for first in range(0, n, at_a_time):
        line.show(_Progress(first, n), 0.0)
        rows = np.arange(first, min(first + at_a_time, n))
        v = np.empty((len(rows), len(sets), k))
        v[:, 0], v[:, -1] = shares @ at_b, at_x[rows]
        if len(inner):
            shape = len(rows), m, len(inner), d
            own, other = rows[:, None, None, None], n + np.arange(m)[None, :, None, None]
            places = np.broadcast_to(np.where(sets[inner][None, None], own, other), shape)
            found = answers(places.reshape(-1, d)).reshape(len(rows), m, len(inner), k)
            v[:, inner] = np.einsum("m,rmsk->rsk", shares, found)
        values[rows] = np.einsum("sd,rsk->rdk", factor, v)
    return values


def _orders(
    answers: Callable[[Array], Array],
    at_x: Array,
    at_b: Array,
    d: int,
    shares: Array,
    rounds: int,
    seed: int,
    line: ProgressLine,
) -> tuple[Array, Array]:
    """Mean effects of the columns in random orders and their reverses, with standard errors.

    From each background row the columns are changed one by one into those of the row (Castro,
    Gómez and Tejada 2009), in a random order and in the reverse one (Mitchell, Cooper, Frank and
    Holmes 2022, section 4.1). Every background row has as many orders, so that effects add up to
    the answer, and the error comes from the spread between orders of one background row.
    """
    n, m, k = len(at_x), len(at_b), at_x.shape[1]
    rng = np.random.default_rng(seed)
    # The same for every row: what is said of it depends on no other.
    orders = np.argsort(rng.random((m, rounds, d)), axis=2)
    rank = np.argsort(orders, axis=2)
    step = np.arange(1, d)
    # Whether a column is changed after so many steps, in the order and in its reverse.
    changed = np.stack(
        [rank[:, :, None] < step[:, None], (d - 1 - rank)[:, :, None] < step[:, None]], axis=2
    )
    values, squares = np.zeros((n, d, k)), np.zeros((n, d, k))
    at_a_time = max(1, MOST_CELLS // (2 * rounds * (d - 1) * d))
    for i in range(n):
        for first in range(0, m, at_a_time):
            line.show(_Progress(i * m + first, n * m), 0.0)
            some = np.arange(first, min(first + at_a_time, m))
            places = np.where(changed[some], i, n + some[:, None, None, None, None])
            found = answers(places.reshape(-1, d)).reshape(len(some), rounds, 2, d - 1, k)
            path = np.empty((len(some), rounds, 2, d + 1, k))
            path[:, :, :, 0] = at_b[some][:, None, None]
            path[:, :, :, 1:-1] = found
            path[:, :, :, -1] = at_x[i]
            steps = np.diff(path, axis=3)
            place = np.stack([rank[some], d - 1 - rank[some]], axis=2)
            effects = np.take_along_axis(steps, place[..., None], axis=3).mean(axis=2)
            values[i] += np.einsum("m,mrdk->dk", shares[some] / rounds, effects)
            spread = effects.var(axis=1, ddof=1) / rounds
            squares[i] += np.einsum("m,mdk->dk", shares[some] ** 2, spread)
    return values, np.sqrt(squares)
