"""How the score grows with the number of rows: would more data help, or a richer model?"""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from .._ground.docstrings import described
from .._ground.drawing import AXES, pictures
from .._ground.interrupt import TimeLimit, deadline
from .._ground.interrupt import time_limit as limited
from .._ground.notebook import ShownInNotebook
from .held_out import HeldOut, by_chance
from .rows import RESAMPLED, Rows, Split

Array = np.ndarray

# Exponents of the power law that are tried: errors of most models fall like n^−½ to n^−1.
EXPONENTS = np.linspace(0.1, 2.0, 39)
# How many sizes are needed to extrapolate.
FEWEST = 3


@dataclass(frozen=True, eq=False)
class LearningCurve(ShownInNotebook):
    """Scores of models fitted to more and more rows. Prints as a sentence.

    Attributes
    ----------
    sizes : ndarray of int, shape (m,)
        How many rows the models learned from.
    train, unseen : ndarray of shape (m,)
        The score of the rows they had learned from, and of those they had not.
    standard_errors : ndarray of shape (m,)
        Of `unseen`, over rows drawn like these.
    of_folds : ndarray of shape (m, k)
        The unseen score in each fold.
    chance : float
        The unseen score of a baseline that ignores the features; NaN if it has none.
    metric : str
        What the score is; higher is better.
    is_loss : bool, default=False
        Whether the score is a loss with its sign reversed; sentences then give the loss.
    wanted : int, default=0
        The largest number of rows requested; above the last size where time ran out.
    kind : str, default="unknown"
        Whether a model of the most rows is "over-fitted", "under-fitted" or "balanced", as its
        `generalization_` says; "unknown" for models that have none.
    """

    sizes: Array
    train: Array
    unseen: Array
    standard_errors: Array
    of_folds: Array
    chance: float
    metric: str
    is_loss: bool = False
    wanted: int = 0
    kind: str = "unknown"

    @property
    def error(self) -> float:
        """The standard error of the last unseen score: over rows or over folds, if that is more."""
        of_folds = self.of_folds[-1]
        between = np.nanstd(of_folds, ddof=1) / len(of_folds) ** 0.5
        return float(max(self.standard_errors[-1], between))

    def expected(self, size: float) -> tuple[float, float]:
        """What a model of `size` rows would score, and the standard error of that.

        The law a − b·n^−c with b, c > 0, and a at most the training score, is fitted to the unseen
        scores, each counted by its standard error; the error of the answer is found by leaving out
        one fold at a time.
        """
        k = self.of_folds.shape[1]
        whole = self._law(self.unseen, size)
        without = [
            self._law(np.delete(self.of_folds, j, axis=1).mean(axis=1), size) for j in range(k)
        ]
        spread = np.sqrt((k - 1) / k * np.sum((np.array(without) - np.mean(without)) ** 2))
        return float(whole), float(np.hypot(spread, self.standard_errors[-1]))

    def _law(self, scores: Array, size: float) -> float:
        errors = self.standard_errors
        known = np.isfinite(scores)
        if known.sum() < FEWEST:
            return float(scores[known][-1]) if known.any() else float("nan")
        least = errors[(errors > 0) & np.isfinite(errors)].min(initial=1.0)
        root = 1 / np.where(errors > least, errors, least)[known]
        best = (np.inf, 0.0)
        for exponent in EXPONENTS:
            falls = self.sizes[known] ** -exponent
            columns = root[:, None] * np.column_stack([np.ones(known.sum()), -falls])
            (a, b), *_ = np.linalg.lstsq(columns, root * scores[known], rcond=None)
            if b < 0:
                a, b = np.average(scores[known], weights=root**2), 0.0
            if a > self.train[-1]:
                # The training score falls towards the same limit from above.
                a, aims = self.train[-1], root * (self.train[-1] - scores[known])
                b = max(aims @ (root * falls) / np.sum((root * falls) ** 2), 0.0)
            off = np.sum((root * (a - b * falls - scores[known])) ** 2)
            best = min(best, (off, a - b * size**-exponent))
        return best[1]

    @property
    def advice(self) -> str:
        """Whether more rows would help, or a richer model, in words."""
        n, now, sign = int(self.sizes[-1]), float(self.unseen[-1]), -1 if self.is_loss else 1
        error, (twice, _) = self.error, self.expected(2 * n)
        gain, gap = twice - now, float(self.train[-1]) - now
        more = (
            f"twice as many rows would take {self.metric} from {sign * now:.3g} to about "
            f"{sign * twice:.3g}"
        )
        richer = {
            "under-fitted": "use a richer model, or better features",
            "unknown": "try a richer model, or look for better features",
        }.get(self.kind, "look for better features: no richer version does clearly better")
        if self.train[-1] - self.chance <= 2 * error:
            return (
                f"{richer}; even on its training rows the model does hardly better than a baseline"
            )
        if now < self.chance - error:
            return (
                "use a simpler model, or a stronger penalty: on unseen rows a baseline that "
                f"ignores the columns has {self.metric} {sign * self.chance:.3g}, and this one "
                f"{sign * now:.3g}"
            )
        if gap <= 2 * error:
            return (
                f"{richer}; the train and unseen scores have met, so more rows alone will hardly "
                f"bring {self.metric} {'below' if self.is_loss else 'above'} "
                f"{sign * self.train[-1]:.3g}"
            )
        if gain > error:
            return f"get more data: {more}"
        # A model that has memorised its rows, such as a forest, is not too rich for that alone.
        return (
            f"compare other models by their unseen scores, or find better features: {more}, less "
            f"than the standard error of {error:.2g}, and the train and unseen scores are "
            f"{gap:.2g} apart, so a simpler model or a stronger penalty may do as well"
        )

    def __str__(self) -> str:
        return f"{self.advice}."

    def __repr__(self) -> str:
        return (
            f"<LearningCurve of {self.sizes[0]} to {self.sizes[-1]} rows: {self.metric} "
            f"{self.unseen[0]:.3g} to {self.unseen[-1]:.3g}>"
        )

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain numbers and strings."""
        arrays = {name: getattr(self, name).tolist() for name in _ARRAYS}
        names = ("chance", "metric", "is_loss", "wanted", "kind", "advice")
        plain = {name: getattr(self, name) for name in names}
        return arrays | plain

    @described(AXES)
    def plot(self, *, axes=None):
        """Draw both scores by the number of rows, and the law beyond; returns the axes."""
        plots = pictures()
        beyond = np.geomspace(self.sizes[-1], 4 * self.sizes[-1], 9)
        law = [self.expected(size) for size in beyond]
        return plots.learning(
            self.sizes,
            self.train,
            self.unseen,
            self.standard_errors,
            beyond=(beyond, [value for value, _ in law], [error for _, error in law]),
            metric=self.metric,
            axes=axes,
        )


_ARRAYS = ("sizes", "train", "unseen", "standard_errors", "of_folds")


@described(RESAMPLED)
def learning_curve(
    model: Any,
    X: Any,
    y: Any,
    *,
    sizes: Sequence[float] | None = None,
    k: int = 5,
    sample_weight: Any = None,
    scoring: Any = None,
    groups: Any = None,
    time: Any = None,
    time_limit: float | None = None,
    random_state: int = 0,
) -> LearningCurve:
    """Score models fitted to more and more rows, always on the same held-out rows.

    Parameters
    ----------
    sizes : sequence of floats, default=None
        Parts, up to 1, of the rows of a fold's training part, or numbers of rows above 1; if None
        six of them from a tenth to all, each a good half more than the one before. Weights that
        are whole numbers count as that many rows.
    groups, time : array-like of shape (n,), default=None
        Labels of rows that are never split; when each row was seen. With time, the latest rows of
        the past are learned first.
    time_limit : float, default=None
        Seconds for all fits: the curve ends at the largest size for which there is time.

    Returns
    -------
    LearningCurve
        `advice` says whether more data or a richer model would help.

    Notes
    -----
    Smaller parts are contained in larger ones, and keep the shares of the classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gapless import LogisticRegression
    >>> from gapless.evaluation import learning_curve
    >>> X, y = load_iris(return_X_y=True)
    >>> curve = learning_curve(LogisticRegression(), X, y)
    >>> print(curve.advice.partition(":")[0])
    look for better features
    """
    rows = Rows.read(X, y, sample_weight, groups, time)
    folds = rows.folds(model, k, random_state)
    is_repeated = np.all(rows.counts == np.floor(rows.counts))
    repeats = rows.counts if is_repeated else rows.is_counted.astype(float)
    counts = _read_sizes(sizes, int(min(repeats[train].sum() for train, _ in folds)))
    orders = [_order(rows, model, split, random_state) for split in folds]
    splits = [
        [
            (order[: _reach(order, rows, repeats, count)], test)
            for order, (_, test) in zip(orders, folds)
        ]
        for count in counts
    ]
    with limited(time_limit):
        found = _as_many_as_time_allows(model, rows, splits, scoring)
    return LearningCurve(
        sizes=counts[: len(found)],
        train=np.array([one.train for one in found]),
        unseen=np.array([one.unseen for one in found]),
        standard_errors=np.array([one.standard_error for one in found]),
        of_folds=np.array([one.of_splits for one in found]),
        chance=_chance(model, rows, folds, scoring),
        metric=found[0].metric,
        wanted=int(counts[-1]),
        kind=_kind(found[-1].first),
    )


def _kind(model: Any) -> str:
    """The verdict of a fitted model, or of the last step of a pipeline, on itself."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    try:
        return str(last.generalization_.kind)
    except (AttributeError, ValueError):
        return "unknown"


def _as_many_as_time_allows(
    model: Any, rows: Rows, splits: list[list[Split]], scoring: Any
) -> list[HeldOut]:
    """The models of each size from the smallest on, until the next would take too long."""
    found: list[HeldOut] = []
    for parts, larger in zip(splits, [*splits[1:], splits[-1]]):
        began = clock.monotonic()
        try:
            result = HeldOut(model, rows, parts, scoring).at_once()
        except TimeLimit:
            break
        found.append(result)
        # Fits take at least as many times longer as there are more rows.
        growth = len(larger[0][0]) / max(len(parts[0][0]), 1)
        now = clock.monotonic()
        if now + growth * (now - began) > deadline():
            break
    if len(found) < min(FEWEST, len(splits)):
        raise TimeLimit(
            "the time limit passed before a learning curve was found; raise time_limit."
        )
    return found


def _chance(model: Any, rows: Rows, folds: list[Split], scoring: Any) -> float:
    """The score of a baseline that ignores the features."""
    try:
        return by_chance(model, rows, folds, scoring).unseen
    except ValueError:  # a scorer that needs a method it lacks
        return float("nan")


def _read_sizes(sizes: Sequence[float] | None, most: int) -> Array:
    given = np.geomspace(0.1, 1.0, 6) if sizes is None else np.asarray(sizes, dtype=float)
    if given.ndim != 1 or not len(given) or np.any(given <= 0):
        raise ValueError("sizes must be fractions of the rows up to 1, or numbers of rows above 1.")
    counts = np.where(given <= 1, given * most, given).round().astype(int)
    if counts.max() > most:
        raise ValueError(
            f"sizes has {counts.max()} rows, but the training part of a fold has {most}; use a "
            "larger k, or smaller sizes."
        )
    return np.unique(np.maximum(counts, min(most, 2)))


def _order(rows: Rows, model: Any, split: Split, seed: int) -> Array:
    """The training rows of a fold in the order in which they are learned."""
    train, _ = split
    if rows.time is not None:
        moment = np.unique(rows.time[train], return_inverse=True)[1]
        return train[np.argsort(-moment, kind="stable")]
    place = np.empty(rows.unit_count)
    place[rows.shuffled(model, seed + 1)] = np.arange(rows.unit_count)
    return train[np.argsort(place[rows.units[train]], kind="stable")]


def _reach(order: Array, rows: Rows, repeats: Array, count: int) -> int:
    """How far to go in an order for at least `count` rows, to the end of a unit or a time."""
    together = (rows.units if rows.time is None else rows.time)[order]
    last = min(int(np.searchsorted(np.cumsum(repeats[order]), count)), len(order) - 1)
    beyond = np.flatnonzero(together[last:] != together[last])
    return last + (int(beyond[0]) if len(beyond) else len(order) - last)
