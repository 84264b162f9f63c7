"""Naive Bayes for tables of mixed columns: numbers, categories and texts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from ..._ground.about import Example, Examples
from ..._ground.columns import is_table
from ..._ground.docstrings import FEATURES, described
from ..._ground.stored import Declaration, Each, Numbers, Value
from ..._ground.tables import readable
from ..._ground.validation import (
    Training,
    check_given,
    known_classes,
    positions,
    read_labels,
    read_names,
    read_numbers,
    read_weights,
)
from ...unseen import multiple
from ._base import LEARNED, SMOOTHED, NaiveBayesClassifier, refuse_sparse
from .counting import Priors
from .mixed_columns import CATEGORY, NUMBER, MixedColumns, Unseen
from .moments import Sample
from .parts import Categories, Gaussians, Kernels, Words

Array = np.ndarray

GAUSSIAN, KERNEL = "gaussian", "kernel"
# How many columns a warning names.
NAMED = 3


@dataclass(frozen=True, eq=False)
class MixedTraining(Training):
    """Training data as one matrix, and a description of its columns."""

    columns: Any = None


@described(SMOOTHED, LEARNED, FEATURES)
class NaiveBayes(NaiveBayesClassifier):
    """Naive Bayes for mixed tables: numbers, categories, texts and missing values.

    p(x, y = c) = π_c Πⱼ p_j(xⱼ | c)  over the columns that have a value. Numbers have a Gaussian or
    a kernel density for each class, categories are counted as by `CategoricalNB`, and the words of
    texts as by `MultinomialNB`.

    Parameters
    ----------
    numbers : {"gaussian", "kernel"}, default="gaussian"
        The density of numbers; "kernel" follows any shape, and keeps the training values.
    alpha : float, default=1.0
        Pseudo-count ≥ 0 of each category and word.
    categorical_features : "from_dtype", mask, indices or names, default="from_dtype"
        Columns of categories: those of a table that hold no numbers, and these.
    text_features : "auto", mask, indices, names or None, default="auto"
        Columns of texts, whose words are counted. "auto" takes a column of strings to be texts if
        they have three words or more on average, and at least half of them differ.

    Attributes
    ----------
    columns_ : MixedColumns
        What each column is: `kinds`, and in `known` levels and words.
    parts_ : list
        What was learned from numbers (`Gaussians` or `Kernels`), `Categories`, and the `Words` of
        each column of texts.

    Notes
    -----
    A missing value, or a category that the fit has not seen, carries no information about the
    class: its column is left out for that row, and a warning counts such categories. Fitting takes
    one pass over the data; parts by `partial_fit` give the model of all rows, with the kinds of
    columns that the first part has. Kernel densities cost the product of training and new rows for
    each column.

    References
    ----------
    John and Langley (1995), Estimating continuous distributions in Bayesian classifiers, UAI.

    Examples
    --------
    >>> import pandas as pd
    >>> from gapless import NaiveBayes
    >>> X = pd.DataFrame({"sky": ["sun", "sun", "rain", "rain"], "wind": [1.0, 2.0, 7.0, None]})
    >>> model = NaiveBayes().fit(X, ["out", "out", "in", "in"])
    >>> print(model.predict(pd.DataFrame({"sky": ["rain", None], "wind": [None, 1.5]})))
    ['in' 'out']
    """

    _examples: ClassVar[Examples] = (Example("iris", {"numbers": "kernel"}),)

    _stored: ClassVar[Declaration] = {
        **NaiveBayesClassifier._stored,
        "class_count_": Numbers("classes", low=0),
        "class_prior_": Numbers("classes", low=0.0),
        "columns_": Value(MixedColumns, features=lambda columns: len(columns.kinds)),
        "parts_": Each(
            Value(Gaussians, Kernels, Categories, Words, classes=lambda part: part.shape[0])
        ),
    }
    _parameter_constraints: ClassVar[dict] = {
        "numbers": [StrOptions({GAUSSIAN, KERNEL})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
        "priors": ["array-like", None],
        "smooth_prior": ["boolean"],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "text_features": ["array-like", StrOptions({"auto"}), None],
    }

    def _misfit(self) -> str | None:
        """What is inconsistent in the stored attributes, in words; None if nothing is."""
        columns: Any = self.columns_
        kinds: dict[Any, Any] = {NUMBER: (Gaussians, Kernels), CATEGORY: (Categories,)}
        fits = all(
            isinstance(known, {NUMBER: type(None), CATEGORY: np.ndarray}.get(kind, dict))
            for kind, known in zip(columns.kinds, columns.known)
        )
        spans = list(columns.spans) if fits else []
        fits &= len(spans) == len(self.parts_) and all(
            isinstance(part, kinds.get(kind, (Words,)))
            and part.shape == (len(self.classes_), span.stop - span.start)
            for (kind, span), part in zip(spans, self.parts_)
        )
        return None if fits else "parts_ and columns_ contradict each other"

    def __init__(
        self,
        *,
        numbers=GAUSSIAN,
        alpha=1.0,
        var_smoothing=1e-9,
        priors=None,
        smooth_prior=False,
        categorical_features="from_dtype",
        text_features="auto",
    ):
        self.numbers = numbers
        self.alpha = alpha
        self.var_smoothing = var_smoothing
        self.priors = priors
        self.smooth_prior = smooth_prior
        self.categorical_features = categorical_features
        self.text_features = text_features

    # ---- reading ---------------------------------------------------------------------------------

    def _read(self, X, y, sample_weight=None, *, reset=True):
        refuse_sparse(self, X)
        check_given(self, y)
        X, names = self._table(X, reset=reset)
        labels, weights = read_labels(y, X), read_weights(sample_weight, X)
        columns = MixedColumns.read(X, weights > 0, self.categorical_features, self.text_features)
        F, _ = columns.encode(X)
        classes = np.unique(labels[weights > 0])
        position = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        return MixedTraining(F, position, weights, weights, classes, names, columns)

    def _table(self, X: Any, *, reset: bool) -> tuple[Any, Any]:
        """A table as it is, or a matrix of numbers, and the names of the columns."""
        X = readable(X)
        if is_table(X):
            return X, read_names(self, X, reset=reset)
        return read_numbers(self, X, reset=reset)

    def _read_part(self, X, y, classes, sample_weight):
        refuse_sparse(self, X)
        known = known_classes(self, classes)
        is_first = not hasattr(self, "classes_")
        X, names = self._table(X, reset=is_first)
        position, weights = positions(read_labels(y, X), known), read_weights(sample_weight, X)
        if is_first:
            options = self.categorical_features, self.text_features
            columns = MixedColumns.read(X, weights > 0, *options)
        else:
            columns = self.columns_.with_more(X, weights > 0)
        F, _ = columns.encode(X)
        return MixedTraining(F, position, weights, weights, known, names, columns)

    def _read_rows(self, X):
        refuse_sparse(self, X)
        X = readable(X)
        if is_table(X):
            read_names(self, X, reset=False)
        elif set(self.columns_.kinds) == {NUMBER}:
            X, _ = read_numbers(self, X, reset=False)
        else:
            X = validate_data(self, X, reset=False, dtype=None, ensure_all_finite=False)
        F, unseen = self.columns_.encode(X)
        _warn_of(unseen, len(F) if not sp.issparse(F) else F.shape[0])
        return F

    def _width(self, data):
        return len(data.columns.kinds)

    # ---- learning and predicting -----------------------------------------------------------------

    def _learn(self, data):
        K = len(data.classes)
        rows = data.y, data.weights, K
        parts: list[Any] = []
        for kind, span in data.columns.spans:
            if kind == NUMBER:
                density = Kernels if self.numbers == KERNEL else Gaussians
                parts.append(density.of(_dense(data.X, span), *rows, self.var_smoothing))
            elif kind == CATEGORY:
                parts.append(Categories.of(_dense(data.X, span), *rows, self.alpha))
            else:
                parts.append(Words.of(data.X[:, span], *rows, self.alpha))
        count = np.bincount(data.y, data.weights, K)
        return {
            "class_count_": count,
            "class_prior_": self._priors(K).shares(count),
            "columns_": data.columns,
            "parts_": parts,
        }

    def _learn_more(self, data):
        learned = self._learn(data)
        if not hasattr(self, "classes_"):
            return learned
        count = self.class_count_ + learned["class_count_"]
        learned["class_count_"] = count
        learned["class_prior_"] = self._priors(len(count)).shares(count)
        before = dict(self._moved_to(data.columns))
        for k, (part, column) in enumerate(zip(learned["parts_"], data.columns.firsts)):
            if column in before:
                learned["parts_"][k] = _merged(before[column], part)
        return learned

    def _moved_to(self, columns: MixedColumns) -> Iterator[tuple[int, Any]]:
        """The parts by their first columns, with levels and words placed as in `columns`."""
        mine = self.columns_
        for part, column in zip(self.parts_, mine.firsts):
            if isinstance(part, Categories):
                places = [mine.places_in(columns, j) for j in mine.of_kind(CATEGORY)]
                yield column, part.moved(places)
            elif isinstance(part, Words):
                yield column, part.moved(mine.places_in(columns, column))
            else:
                yield column, part

    def _priors(self, classes: int) -> Priors:
        return Priors.counted(self.priors, classes, is_smoothed=self.smooth_prior)

    def _pieces(self, X: Any) -> list[tuple[Any, Any]]:
        """Each part with its columns of validated rows."""
        return [
            (part, _dense(X, span) if kind in (NUMBER, CATEGORY) else X[:, span])
            for part, (kind, span) in zip(self.parts_, self.columns_.spans)
        ]

    def _joint(self, X):
        with np.errstate(divide="ignore"):
            z = np.tile(np.log(self.class_prior_), (X.shape[0], 1))
        for part, columns in self._pieces(X):
            z += part.log_likelihood(columns)
        return z

    # ---- both gaps -------------------------------------------------------------------------------

    def _smoothed(self, step):
        times = 10.0**step
        alpha, var_smoothing = self.alpha * times, self.var_smoothing * times
        if not alpha and not var_smoothing:
            return None
        return f"{multiple(times)} the smoothing", self._at(
            alpha=alpha, var_smoothing=var_smoothing
        )

    def _without_each(self, X, own, data):
        z = self._priors(own.shape[1]).log_without(self.class_count_, own)
        for (part, columns), (_, given) in zip(self._pieces(X), self._pieces(data.X)):
            z += part.without(columns, own, Sample(given, data.y, data.weights))
        return z

    def _costs(self, learned, data):
        count = learned["class_count_"]
        K = len(count)
        with np.errstate(divide="ignore"):
            primal, dual = self._priors(K).costs(count, np.log(self.class_prior_))
        if not self.columns_.is_same(learned["columns_"]):
            primal = np.inf
        size, scale = abs(dual), float(count.sum()) * np.log(max(K, 2))
        for part, best in zip(self.parts_, learned["parts_"]):
            more, least, pseudo = part.costs(best)
            primal, dual, scale = primal + more, dual + least, scale + pseudo
            size += abs(least)
        return primal, dual, size + scale, scale

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _merged(part: Any, more: Any) -> Any:
    if type(part) is not type(more):
        raise ValueError(
            "numbers was changed between two calls of partial_fit, and one density cannot be "
            "updated into the other; keep it, or call fit with all rows."
        )
    return part.merged(more)


def _dense(X: Any, span: slice) -> Array:
    part = X[:, span]
    return np.ascontiguousarray(part.toarray() if sp.issparse(part) else part)


def _warn_of(unseen: list[Unseen], n: int) -> None:
    """Warn how many categories the fit has not seen, and where."""
    if not unseen:
        return
    named = "; ".join(
        f"{one.rows} of {n} rows in column {one.column!r}, such as {one.example!r}"
        for one in unseen[:NAMED]
    )
    more = f"; and in {len(unseen) - NAMED} more columns" if len(unseen) > NAMED else ""
    warnings.warn(
        f"categories not seen in training: {named}{more}. They count as missing.",
        stacklevel=5,
    )
