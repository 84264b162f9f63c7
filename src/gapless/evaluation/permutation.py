"""How much a model relies on each feature: what its score loses when that column is shuffled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing, check_consistent_length

from .._ground.docstrings import described
from .._ground.interrupt import check
from .._ground.notebook import ShownInNotebook
from .._ground.validation import read_weights
from ..unseen import Judge, Part, StandIn
from .rows import RESAMPLED, Rows

Array = np.ndarray

# Blocks of rows that are left out in turn, for the standard error of scores that are not means.
BLOCKS = 20
# Shuffles of few rows are predicted together, up to this many rows: each call has its overhead.
ROWS_AT_ONCE = 1000


@dataclass(frozen=True, eq=False)
class PermutationImportance(ShownInNotebook):
    """How much the score drops when a column is shuffled. Prints as a table, the largest first.

    Attributes
    ----------
    names : list of str
        Names of the features that were shuffled, x0, x1, … where X has none.
    means, standard_errors : ndarray of shape (d,)
        The loss of each feature, averaged over the shuffles, and its standard error over rows drawn
        like these.
    repeats : ndarray of shape (d, n_repeats)
        The loss in each shuffle.
    score : float
        The score with all columns unchanged.
    metric : str
        What the score is.
    """

    names: list[str]
    means: Array
    standard_errors: Array
    repeats: Array
    score: float
    metric: str

    def __str__(self) -> str:
        width = max(map(len, self.names), default=0)
        order = np.argsort(-self.means, kind="stable")
        lines = [f"{self.metric} {self.score:.4g}; loss when shuffled"]
        lines += [
            f"{self.names[j]:<{width}}  {self.means[j]:.4f} ± {self.standard_errors[j]:.4f}"
            for j in order
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        best = self.names[int(np.argmax(self.means))]
        return f"<PermutationImportance of {len(self.names)} features: {best} matters most>"


@described(RESAMPLED)
def permutation_importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    scoring: Any = None,
    n_repeats: int = 5,
    columns: Sequence[int] | None = None,
    random_state: int = 0,
) -> PermutationImportance:
    """Shuffle one column at a time and measure how much the score of a fitted model drops.

    Parameters
    ----------
    model : estimator
        Any fitted model with scikit-learn's methods.
    X, y : array-like
        Rows to score, preferably unseen ones: on its training rows a model that has memorised them
        relies on columns that carry no information.
    sample_weight : array-like of shape (n,), default=None
        How much each row counts in the score.
    n_repeats : int, default=5
        How often each column is shuffled.
    columns : sequence of int, default=None
        Places of the columns that are shuffled; all of them if None.
    random_state : int, default=0
        Seed of the shuffles.

    Returns
    -------
    PermutationImportance

    Notes
    -----
    Costs d·n_repeats predictions of all rows. Columns with the same information can replace each
    other, and both look unimportant. The standard error is over rows: a loss below two of them
    cannot be distinguished from noise.

    References
    ----------
    Breiman (2001), Random forests, Machine Learning 45.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gapless import DecisionTreeClassifier
    >>> from gapless.evaluation import permutation_importance
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    >>> found = permutation_importance(model, X, y)
    >>> print((found.means > 2 * found.standard_errors).tolist())
    [False, False, True, True]
    """
    y = np.asarray(y)
    n, width = X.shape if hasattr(X, "shape") else np.shape(X)
    places = list(range(width) if columns is None else columns)
    X = X if hasattr(X, "shape") else np.asarray(X)
    check_consistent_length(X, y)
    weights = read_weights(sample_weight, y)
    counted = np.flatnonzero(weights > 0)
    if len(counted) < n:
        X, y, weights = _safe_indexing(X, counted), y[counted], weights[counted]
    rows = Rows(X, y, weights)
    whole = _Scored.of(model, X, y, weights, scoring)
    rng = np.random.default_rng(random_state)
    orders = [_donors(rows, rng) for _ in range(n_repeats)]
    repeats, errors = np.empty((len(places), n_repeats)), np.empty(len(places))
    moves = [(j, order) for j in places for order in orders]
    scored = _shuffled(model, rows, moves, scoring)
    for k in range(len(places)):
        shuffled = scored[k * n_repeats : (k + 1) * n_repeats]
        repeats[k] = [whole.score - other.score for other in shuffled]
        errors[k] = _standard_error(whole, shuffled, rows)
    every = [str(name) for name in getattr(X, "columns", [f"x{j}" for j in range(width)])]
    names = [every[j] for j in places]
    metric = whole.judge.metric
    return PermutationImportance(names, repeats.mean(axis=1), errors, repeats, whole.score, metric)


@dataclass(frozen=True, eq=False)
class _Scored:
    """The answers of a model for some rows, their score, and its judge."""

    judge: Judge
    score: float

    @classmethod
    def of(cls, model: Any, X: Any, y: Array, weights: Array, scoring: Any) -> _Scored:
        answers = StandIn([Part(model, X, np.arange(len(y)))], len(y))
        judge = Judge(answers, y, weights, scoring)
        return cls(judge, judge.score(np.zeros((len(y), 1))))

    @property
    def of_rows(self) -> Array | None:
        return self.judge.of_rows(np.zeros((len(self.judge.y), 1)))

    def without(self, rows: Array) -> float:
        """The score of all rows but some."""
        others = np.setdiff1d(np.arange(len(self.judge.y)), rows)
        return self.judge.score(np.zeros((len(self.judge.y), 1)), others)


def _shuffled(
    model: Any, rows: Rows, moves: list[tuple[int, Array]], scoring: Any
) -> list[_Scored]:
    """The scores after each move, a column and the order of its values; some in one call."""
    n = len(rows)
    at_once = 1 if sp.issparse(rows.X) else max(1, ROWS_AT_ONCE // n)
    found: list[_Scored] = []
    for first in range(0, len(moves), at_once):
        check()
        some = moves[first : first + at_once]
        places = np.arange(len(some) * n).reshape(len(some), n)
        stack = _safe_indexing(rows.X, np.tile(np.arange(n), len(some)))
        for j in dict.fromkeys(j for j, _ in some):
            donors = [at[order] if k == j else at for at, (k, order) in zip(places, some)]
            stack = with_donors(stack, j, np.concatenate(donors))
        answers = StandIn([Part(model, stack, places.ravel())], places.size)
        found += [_Scored.of(answers, at[:, None], rows.y, rows.counts, scoring) for at in places]
    return found


def _donors(rows: Rows, rng: np.random.Generator) -> Array:
    """For each row the one whose value it is given, in a random order of the distinct rows.

    They lie on a circle, each as long as its weight, and the circle is turned: so every row gives
    as often as it has weight, equal rows are given the same, and weight 2 is the row twice.
    """
    target = np.unique(rows.y, axis=0, return_inverse=True)[1].ravel()
    _, first, place = np.unique(
        np.column_stack([rows.units, target]), axis=0, return_index=True, return_inverse=True
    )
    place = place.ravel()
    weights = np.bincount(place, rows.counts)
    order = rng.permutation(len(first))
    ends = np.cumsum(weights[order])
    at = (ends - weights[order] / 2 + rng.random() * ends[-1]) % ends[-1]
    giver = np.empty(len(first), dtype=int)
    giver[order] = order[np.minimum(np.searchsorted(ends, at, side="right"), len(order) - 1)]
    return first[giver[place]]


def _standard_error(whole: _Scored, shuffled: list[_Scored], rows: Rows) -> float:
    """The error of the mean loss over rows: from each row's loss, or by leaving blocks out."""
    of_rows = whole.of_rows
    if of_rows is not None:
        loss = of_rows - np.mean([np.asarray(other.of_rows) for other in shuffled], axis=0)
        return rows.standard_error(loss, np.arange(len(rows)))
    blocks = min(BLOCKS, rows.unit_count)
    block = np.random.default_rng(0).permutation(rows.unit_count)[rows.units] % blocks
    left = [
        whole.without(some) - np.mean([other.without(some) for other in shuffled])
        for some in (np.flatnonzero(block == b) for b in range(blocks))
    ]
    return float(np.sqrt((blocks - 1) * np.var(left)))


def with_donors(X: Any, j: int, order: Array) -> Any:
    """X with the values of one column in another order: for each row, whose value it is given."""
    if sp.issparse(X):
        X = X.tocsc(copy=True)
        column = X[:, [j]].toarray()[order]
        parts = [X[:, :j], type(X)(column), X[:, j + 1 :]]
        return sp.hstack(parts, format="csr")
    if hasattr(X, "with_columns"):  # polars
        return X.with_columns(X.to_series(j).gather(order))
    if hasattr(X, "iloc"):  # pandas
        table = X.copy()
        table.isetitem(j, X.iloc[:, j].take(order).array)
        return table
    mixed = np.array(X)
    mixed[:, j] = mixed[order, j]
    return mixed
