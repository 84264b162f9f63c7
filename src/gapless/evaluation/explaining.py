"""Why a model predicts what it predicts for a row: the contribution of each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from .._ground.docstrings import described
from .._ground.drawing import AXES, pictures
from .._ground.interrupt import time_limit as limited_to
from .._ground.notebook import ShownInNotebook
from .._ground.shapley import Game
from .._ground.tables import readable, refuse_equal_names
from .._ground.validation import read_weights
from .contributions import solve
from .rows import Rows

Array = np.ndarray

# How many columns are printed or drawn, and how long a value is at most in words.
MOST_SHOWN, LETTERS = 10, 24
# From here on a number has no decimals.
LARGE = 1000


@dataclass(frozen=True)
class Reason:
    """What one column contributes to the answer for a row. Prints as "age 62: +0.8".

    Attributes
    ----------
    column : str
        The column.
    value : object
        Its value in the row; None if it is missing.
    contribution : float
        Its Shapley value: how much further the answer is from the average because of it.
    standard_error : float
        Of the contribution; 0 if it is exact.
    """

    column: str
    value: Any
    contribution: float
    standard_error: float = 0.0

    def __str__(self) -> str:
        return f"{self.what}: {signed(self.contribution)}"

    @property
    def what(self) -> str:
        """The column and its value in words."""
        return f"{self.column} {in_words(self.value)}"


def signed(contribution: float) -> str:
    """A contribution with its sign and about three digits."""
    form = f"{contribution:+,.0f}" if abs(contribution) >= LARGE else f"{contribution:+.3g}"
    return form.replace("-", "−")


def in_words(value: Any) -> str:
    """A value of a column, shortened."""
    if value is None or value != value:
        return "missing"
    if isinstance(value, float):
        is_whole = value == round(value) and abs(value) < 10 * LARGE
        form = f"{value:.0f}" if is_whole else f"{value:.4g}"
        return (f"{value:,.0f}" if abs(value) >= 10 * LARGE else form).replace("-", "−")
    text = " ".join(str(value).split()).removesuffix(" 00:00:00")
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"


@dataclass(frozen=True, eq=False)
class Explanation(ShownInNotebook):
    """Contributions of columns to a model's answers, which add up to them.

    Attributes
    ----------
    values : ndarray of shape (n, d) or (n, d, K)
        The Shapley value of each column for each row; with K answers, such as those of several
        classes, for each of these.
    base : ndarray of shape () or (K,)
        The mean answer over the background rows.
    standard_errors : ndarray of the shape of `values`, or None
        Errors of sampled values; None if the values are exact.
    names : tuple of d str
        The columns.
    scale : str
        What is added up: "prediction", "logarithm of the prediction", "probability", "log-odds" or
        "score".
    outputs : tuple
        What the K answers belong to: classes, or numbers of targets; for two classes the second
        one alone, and nothing for a single number.
    method : str
        "exact" if a formula gave the values, else the sets or orders of columns that were tried.
    background_rows : int
        How many distinct rows were compared with.
    data : table or array of n rows
        The rows.
    """

    values: Array
    base: Array
    standard_errors: Array | None
    names: tuple[str, ...]
    scale: str
    outputs: tuple[Any, ...]
    method: str
    background_rows: int
    data: Any

    def __len__(self) -> int:
        return len(self.values)

    @property
    def predictions(self) -> Array:
        """The answers (n,) or (n, K) on the scale: base plus contributions."""
        return self.base + self.values.sum(axis=1)

    def reasons(self, row: int, output: Any = None, most: int | None = None) -> list[Reason]:
        """The contributions for one row, the largest first.

        Parameters
        ----------
        row : int
            Which row.
        output : object, default=None
            Of several answers, which one, from `outputs`; the largest of this row if None.
        most : int or None, default=None
            How many reasons; all if None.

        Returns
        -------
        list of Reason
            Columns without any contribution are left out.
        """
        k = self._output(row, output)
        values = self.values[row] if k is None else self.values[row, :, k]
        errors = np.zeros(len(values))
        if self.standard_errors is not None:
            errors = self.standard_errors[row] if k is None else self.standard_errors[row, :, k]
        order = np.argsort(-np.abs(values), kind="stable")
        kept = [j for j in order if values[j] != 0][:most]
        return [
            Reason(self.names[j], self._value(row, int(j)), float(values[j]), float(errors[j]))
            for j in kept
        ]

    def output_of(self, row: int) -> Any:
        """The answer that `reasons` explains by default: the largest one of the row.

        Parameters
        ----------
        row : int
            Which row.

        Returns
        -------
        object
            One of `outputs`; None for a single number.
        """
        k = self._output(row, None)
        return self.outputs[k or 0] if self.outputs else None

    def _output(self, row: int, output: Any) -> int | None:
        if self.values.ndim == 2:
            return None
        if output is None:
            return int(np.argmax(self.predictions[row]))
        if output not in self.outputs:
            raise ValueError(f"output must be one of {list(self.outputs)}, got {output!r}.")
        return self.outputs.index(output)

    def _value(self, row: int, j: int) -> Any:
        data = self.data
        if hasattr(data, "iloc"):
            value = data.iloc[row, j]
        elif hasattr(data, "item"):
            value = data[row, j]
        else:
            value = data.tocsr()[row, j] if sp.issparse(data) else data[row][j]
        return value.item() if isinstance(value, np.generic) else value

    def mean_sizes(self) -> Array:
        """The mean size of the contributions of each column, (d,), summed over all answers."""
        return np.abs(self.values).mean(axis=0).reshape(len(self.names), -1).sum(axis=1)

    def to_dict(self) -> dict[str, list[float]]:
        """The values by column, from which any data frame can be made; with K answers by both.

        Returns
        -------
        dict of str to list of float
            n numbers under each name.
        """
        if self.values.ndim == 2:
            return {name: self.values[:, j].tolist() for j, name in enumerate(self.names)}
        return {
            f"{name} ({output})": self.values[:, j, k].tolist()
            for j, name in enumerate(self.names)
            for k, output in enumerate(self.outputs)
        }

    def __str__(self) -> str:
        sizes = self.mean_sizes()
        order = np.argsort(-sizes, kind="stable")[:MOST_SHOWN]
        width = max(len(self.names[j]) for j in order)
        lines = [f"{self._said()}; mean size of the contributions"]
        lines += [f"{self.names[j]:<{width}}  {sizes[j]:.4g}" for j in order]
        rest = len(self.names) - len(order)
        return "\n".join([*lines, f"({rest} more columns)"] if rest else lines)

    def _said(self) -> str:
        of = f" of {self.outputs[0]}" if len(self.outputs) == 1 else ""
        rows = "1 row" if len(self) == 1 else f"{len(self):,} rows"
        how = "" if self.method == "exact" else f", by {self.method}"
        return f"the {self.scale}{of} of {rows}, compared with {self.background_rows:,}{how}"

    def __repr__(self) -> str:
        return f"<Explanation of {self._said()}>"

    @described(AXES)
    def plot(self, row=None, output=None, *, most=MOST_SHOWN, axes=None):
        """Draw the reasons for a row, or the mean size of all contributions; returns the axes.

        Parameters
        ----------
        row : int, default=None
            Which row; all if None.
        output : object, default=None
            Of several answers, which one, from `outputs`; the largest of the row if None.
        most : int, default=10
            The largest number of bars.
        """
        if row is None:
            return pictures().importances(
                self.names,
                self.mean_sizes(),
                most=most,
                label=f"mean size of the contributions to the {self.scale}",
                axes=axes,
            )
        reasons = self.reasons(row, output, most)
        of = self.output_of(row) if output is None else output
        label = f"contribution to the {self.scale}" + ("" if of is None else f" of {of}")
        return pictures().coefficients(
            [one.what for one in reasons],
            [one.contribution for one in reasons],
            label=label,
            axes=axes,
        )


def explain(
    model: Any,
    X: Any,
    background: Any = None,
    *,
    sample_weight: Any = None,
    most_background: int = 100,
    rounds: int = 2,
    time_limit: float | None = None,
    random_state: int = 0,
) -> Explanation:
    """Divide a model's answer for each row among the columns, by Shapley values.

    Parameters
    ----------
    model : estimator
        Any fitted model or pipeline with scikit-learn's methods. A `TableModel` is explained by its
        own `explain`, which this calls.
    X : array-like, sparse matrix or table of n rows
        The rows to explain.
    background : array-like, sparse matrix or table, default=None
        The rows to compare with, such as those of the fit; X itself if None.
    sample_weight : array-like, default=None
        How much each background row counts.
    most_background : int, default=100
        How many distinct background rows are used at most; of more, some are drawn by their
        weights.
    rounds : int, default=2
        With how many random orders of the columns, and their reverses, each background row is
        compared at least, where there is no formula. Errors fall with its square root.
    time_limit : float or None, default=None
        Seconds after which it stops with an error.
    random_state : int, default=0
        Seed of the draws.

    Returns
    -------
    Explanation
        Contributions that add up to the model's answers, with `reasons`, `plot` and `to_dict`.

    Notes
    -----
    The value of a set S of columns is the mean answer over background rows whose columns in S have
    the values of the row; the Shapley value of a column is its mean effect on it over all orders in
    which columns can be added. Columns without an effect get 0, columns with the same effect get
    the same, and all values add up to the difference between the answer and the average.

    Linear models and trees, forests, bagged and boosted trees have formulas, which are exact and
    quick, behind steps that prepare each column for itself, too: all features made of a column
    count as one. They explain the sum that the model makes, so log-odds of boosted trees and of
    logistic regression, and probabilities of forests. Other models are asked about rows mixed of
    both: exactly, about all sets of up to six columns, and otherwise along random orders, with
    standard errors, which takes 4·(d − 1)·background rows predictions for each row.

    A contribution says what the model makes of a column, not what would happen if it changed. If
    columns depend on each other, rows are mixed that cannot occur.

    References
    ----------
    Shapley (1953), A value for n-person games. Lundberg et al. (2020), From local explanations to
    global understanding with explainable AI for trees, Nature Machine Intelligence 2. Castro, Gómez
    and Tejada (2009), Polynomial calculation of the Shapley value based on sampling, Computers &
    Operations Research 36. Mitchell, Cooper, Frank and Holmes (2022), Sampling permutations for
    Shapley value estimation, JMLR 23. Janzing, Minorics and Blöbaum (2020), Feature relevance
    quantification in explainable AI: a causal problem, AISTATS, on replacing columns at random.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gapless import HistGradientBoostingRegressor, explain
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    >>> found = explain(model, X[:2], X)
    >>> found.values.shape, found.scale
    ((2, 10), 'prediction')
    >>> print(found.reasons(0)[0])
    s5 0.01991: +17.4
    >>> bool(abs(found.predictions - model.predict(X[:2])).max() < 1e-8)
    True
    """
    own = getattr(model, "explain", None)
    options: dict[str, Any] = {
        "sample_weight": sample_weight,
        "most_background": most_background,
        "rounds": rounds,
        "time_limit": time_limit,
        "random_state": random_state,
    }
    if own is not None:
        return own(X, background, **options)
    check_is_fitted(model)
    _check_counts(most_background, rounds)
    X = _read(X, "X")
    others = X if background is None else _read(background, "background")
    if others.shape[1] != X.shape[1]:
        raise ValueError(
            f"background has {others.shape[1]} columns, and X has {X.shape[1]}; both must have the "
            "same ones."
        )
    with limited_to(time_limit):
        game = _game(others, sample_weight, most_background, random_state)
        solved = solve(model, X, game, rounds, random_state)
    found, errors = solved.found, solved.standard_errors
    width = found.values.shape[2]
    if width == 1:
        values, base = found.values[:, :, 0], found.base[0]
        errors = None if errors is None else errors[:, :, 0]
    else:
        values, base = found.values, found.base
    return Explanation(
        values,
        np.asarray(base),
        errors,
        tuple(str(name) for name in getattr(X, "columns", [f"x{j}" for j in range(X.shape[1])])),
        found.scale,
        _outputs(model, width),
        solved.method,
        len(game.shares),
        X,
    )


def _check_counts(most_background: int, rounds: int) -> None:
    if most_background < 1:
        raise ValueError(f"most_background must be at least 1, got {most_background!r}.")
    if rounds < 2:
        raise ValueError(f"rounds must be at least 2, got {rounds!r}; errors need two.")


def _read(X: Any, name: str) -> Any:
    X = readable(X, lambda: True, name=name)
    X = X if hasattr(X, "shape") else np.asarray(X)
    refuse_equal_names(X)
    if len(X.shape) != 2 or X.shape[0] == 0:
        raise ValueError(f"{name} must have rows and columns, got the shape {tuple(X.shape)}.")
    return X.tocsr() if sp.issparse(X) else X


def _game(others: Any, sample_weight: Any, most: int, seed: int) -> Game:
    """The distinct background rows by content, or some of them, with their shares."""
    rows = Rows(others, np.zeros(others.shape[0]), read_weights(sample_weight, others))
    units, first = np.unique(rows.units, return_index=True)
    first = first[units >= 0]
    weights = np.bincount(rows.units[rows.is_counted], rows.counts[rows.is_counted])
    shares = weights / weights.sum()
    if len(first) > most:
        # At equal distances along all weights, in a random order of the rows.
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(first))
        ends = np.cumsum(shares[order])
        at = np.searchsorted(ends / ends[-1], (np.arange(most) + rng.random()) / most)
        drawn, times = np.unique(order[np.minimum(at, len(order) - 1)], return_counts=True)
        first, shares = first[drawn], times / most
    width = others.shape[1]
    return Game(_safe_indexing(others, first), shares, np.arange(width, dtype=np.int32), width)


def _outputs(model: Any, width: int) -> tuple[Any, ...]:
    """What the numbers belong to."""
    classes = getattr(model, "classes_", None)
    if not is_classifier(model) or classes is None:
        return tuple(range(width)) if width > 1 else ()
    if isinstance(classes, np.ndarray):
        if width == len(classes):
            return tuple(classes.tolist())
        return tuple(classes.tolist()[-1:]) if width == 1 else tuple(range(width))
    return _of_several(classes, width)


def _of_several(classes: Sequence[Array], width: int) -> tuple[Any, ...]:
    """Classes of several targets, side by side."""
    every = tuple((k, label) for k, own in enumerate(classes) for label in own.tolist())
    return every if len(every) == width else tuple(range(width))
