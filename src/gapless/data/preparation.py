"""Preparation: from the roles of columns to a pipeline with a model at its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import polars as pl
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from .._ground.stored import INPUT, Declaration, Each, Flag, Numbers, Places, Value, Word
from .._ground.word_counts import count_words, in_columns
from ..models import decomposition
from ..models.text import BagOfWords, WordRules
from .columns import MOST_LEVELS, Column, as_role, finite_numbers
from .dates import MICROSECONDS_PER_DAY
from .factors import BoundedNumbers, LevelContrasts
from .findings import TableError, listed
from .tables import Table, frame_of, usual_types

Kind = Literal["numbers", "components", "table", "factors"]
# A name, a transformer, and the positions of its columns, or the name of its only one.
Part = tuple[str, Any, list[int] | str]

# Levels with fewer rows than this share one column.
FEWEST_OF_A_LEVEL = 5
MOST_WORDS = 20_000


def prepare(columns: Sequence[Column], kind: Kind = "numbers", model: Any = None) -> Pipeline:
    """A pipeline that turns tables into features.

    Parameters
    ----------
    columns : sequence of Column
        Columns with their roles, from `describe_columns`.
    kind : {"numbers", "components", "table", "factors"}, default="numbers"
        The input of the model. "numbers", for linear models, kernels and neighbours: missing
        numbers are filled with the median and marked, all are scaled; categories become one column
        per level, rare and new levels sharing one; dates become their parts, waves for the season
        and one column per day of the week; texts become tf-idf weights of words, and the result is
        then sparse. "components": the principal components of these numbers, as many as predict
        held-out entries best, for models of wide tables. "table", for trees and boosting: numbers
        and categories unchanged, missing ones too, as a polars frame; dates become their parts;
        texts become counts of frequent words. "factors", for components and clusters: numbers,
        dates and categories weigh the same in every direction, as in factor analysis of mixed data;
        texts are left out.
    model : estimator or None, default=None
        The model at the end.

    Returns
    -------
    sklearn.pipeline.Pipeline
        Takes a Table or a data frame; steps `columns`, `features`, `components` for that kind,
        and, with a model, `model`.

    Examples
    --------
    >>> from gapless import LogisticRegression
    >>> from gapless.data import describe_columns, load_builtin, prepare, read_target
    >>> table = load_builtin("iris")
    >>> columns, target = describe_columns(table, "species"), read_target(table, "species")
    >>> model = prepare(columns, "numbers", LogisticRegression()).fit(table.frame, target.values)
    >>> model.predict(table.frame[:2]).tolist()
    ['setosa', 'setosa']
    """
    features = tuple(column for column in columns if column.is_feature)
    if kind in ("numbers", "components"):
        steps = [
            ("columns", TableFeatures(features, missing_level=MISSING)),
            ("features", _as_numbers(features)),
            *(
                [("components", decomposition.PCA(n_components="cv"))]
                if kind == "components"
                else []
            ),
        ]
    elif kind == "table":
        steps = [("columns", TableFeatures(features)), ("features", _as_table(features))]
    elif kind == "factors":
        plain = tuple(column for column in features if column.role != "text")
        steps = [
            ("columns", TableFeatures(plain, missing_level=MISSING)),
            ("features", _as_factors(plain)),
        ]
    else:
        known = ", ".join(f'"{one}"' for one in get_args(Kind))
        raise ValueError(f"kind must be one of {known}, got {kind!r}.")
    return Pipeline([*steps, ("model", model)] if model is not None else steps)


def _names(columns: Sequence[Column], role: str) -> list[str]:
    return [column.name for column in columns if column.given_as == role]


def _places(columns: Sequence[Column], role: str) -> list[int]:
    """The positions of the columns of a role; searching for each name would be slow."""
    return [k for k, column in enumerate(columns) if column.given_as == role]


def _as_numbers(columns: Sequence[Column]) -> ColumnTransformer:
    texts = _names(columns, "text")
    parts: list[Part] = [
        ("number", _filled_and_scaled(), _places(columns, "number")),
        ("category", _one_column_per_level(), _places(columns, "category")),
        ("date", _parts_of_dates(), _places(columns, "date")),
        *((f"text {k}", WordWeights(), name) for k, name in enumerate(texts)),
    ]
    return ColumnTransformer(
        [part for part in parts if part[2]],
        # Weights of thousands of words are kept sparse; everything else is dense.
        sparse_threshold=0.3 if texts else 0.0,
        verbose_feature_names_out=False,
    )


def _parts_of_dates() -> Pipeline:
    return make_pipeline(DateParts(for_lines=True), _filled_and_scaled())


def _filled_and_scaled() -> Pipeline:
    imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return make_pipeline(imputer, StandardScaler())


def _one_column_per_level() -> OneHotEncoder:
    return OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=FEWEST_OF_A_LEVEL,
        sparse_output=False,
    )


def _as_table(columns: Sequence[Column]) -> ColumnTransformer:
    as_they_are = _places(columns, "number") + _places(columns, "category")
    texts = _names(columns, "text")
    parts: list[Part] = [
        ("as they are", "passthrough", as_they_are),
        ("date", DateParts(), _places(columns, "date")),
        *((f"text {k}", FrequentWords(), name) for k, name in enumerate(texts)),
    ]
    transformer = ColumnTransformer(
        [part for part in parts if part[2]], verbose_feature_names_out=False
    )
    return transformer.set_output(transform="polars")


def _as_factors(columns: Sequence[Column]) -> ColumnTransformer:
    parts: list[Part] = [
        ("number", BoundedNumbers(), _places(columns, "number") + _places(columns, "date")),
        ("category", LevelContrasts(), _places(columns, "category")),
    ]
    return ColumnTransformer(
        [part for part in parts if part[2]], sparse_threshold=0.0, verbose_feature_names_out=False
    )


# ---- the steps of a pipeline that know tables ----------------------------------------------------

Array = np.ndarray

# What levels are called that are rare, or missing.
OTHER = "(other)"
MISSING = "(missing)"
DAYS_OF_A_YEAR = 365.25
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class TableFeatures(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """The features of a table, in the types that models take.

    New tables are read like the first one: texts become numbers and dates by the same forms, what
    does not fit is missing, columns that are not features are left out.

    Parameters
    ----------
    columns : sequence of Column
        Columns with their roles, from `describe_columns`; the features are kept.
    most_levels : int, default=200
        The number of levels kept of a category, the most frequent ones; all others are "(other)".
    missing_level : str or None, default=None
        The name of a missing category; None leaves it missing.

    Attributes
    ----------
    levels_ : dict of str to list of str
        The levels kept of categories with more than `most_levels`.
    feature_names_in_ : ndarray of str
        Names of the features.
    n_features_in_ : int
        Their number.
    """

    _stored: ClassVar[Declaration] = {"levels_": Value(dict), **INPUT}

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        most_levels: int = MOST_LEVELS,
        missing_level: str | None = None,
    ):
        self.columns = columns
        self.most_levels = most_levels
        self.missing_level = missing_level

    def fit(self, X: Any, y: Any = None) -> TableFeatures:
        """Learn which levels are frequent from a Table or a data frame of training rows."""
        self._learn(self._read(X))
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> pl.DataFrame:
        """Learn which levels are frequent, and give the features of the same rows, read once."""
        frame = self._read(X)
        self._learn(frame)
        return self._grouped(frame)

    def _learn(self, frame: pl.DataFrame) -> None:
        wide = [c.name for c in self.columns if c.role == "category"]
        self.levels_ = {
            name: _frequent(frame[name], self.most_levels)
            for name in wide
            if frame[name].n_unique() > self.most_levels
        }
        self.feature_names_in_ = np.array(frame.columns, dtype=object)
        self.n_features_in_ = frame.width

    def transform(self, X: Any) -> pl.DataFrame:
        """The features of a table with the same columns, in any order; others are ignored.

        Numbers as Float64, dates as Datetime, categories and texts as String.
        """
        check_is_fitted(self)
        return self._grouped(self._read(X))

    def _grouped(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Features with rare levels merged, and missing ones named."""
        changed = [_grouped(frame[name], levels) for name, levels in self.levels_.items()]
        frame = frame.with_columns(changed)
        if self.missing_level is None:
            return frame
        names = [column.name for column in self.columns if column.role == "category"]
        return frame.with_columns(pl.col(name).fill_null(self.missing_level) for name in names)

    def _read(self, X: Any) -> pl.DataFrame:
        frame = X.frame if isinstance(X, Table) else frame_of(X)
        features = [column for column in self.columns if column.is_feature]
        if not features:
            raise TableError("no column is left to learn from; all are excluded.")
        known = set(frame.columns)
        absent = [column.name for column in features if column.name not in known]
        if absent:
            raise TableError(
                f"the table lacks columns the model was fitted with: {listed(absent)}."
            )
        numbers = finite_numbers(frame, features)
        if numbers is not None:
            return numbers
        usual, _ = usual_types(frame.select([column.name for column in features]))
        return pl.DataFrame([as_role(usual[column.name], column) for column in features])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags


def _frequent(series: pl.Series, most: int) -> list[str]:
    """The most frequent levels; ties go to the first by name."""
    counts = series.drop_nulls().value_counts(name="times")
    return counts.sort(["times", series.name], descending=[True, False])[series.name].to_list()[
        :most
    ]


def _grouped(series: pl.Series, levels: list[str]) -> pl.Series:
    rare = ~series.is_in(levels) & series.is_not_null()
    return series.set(rare, OTHER)


class DateParts(TransformerMixin, BaseEstimator):
    """Dates as numbers: days since 1970, month, day of the month and of the week, and the hour.

    Parameters
    ----------
    for_lines : bool, default=False
        Whether the parts are for additive models: the month is then two waves over the year, the
        day of the week a column each, and the hour a wave over the day.

    Attributes
    ----------
    with_hour_ : list of bool
        For each column, whether a training row has a time other than midnight.
    feature_names_in_ : ndarray of str
        Names of the columns.
    n_features_in_ : int
        Their number.
    """

    _stored: ClassVar[Declaration] = {**INPUT, "with_hour_": Each(Flag(), "features")}

    def __init__(self, for_lines: bool = False):
        self.for_lines = for_lines

    def fit(self, X: pl.DataFrame, y: Any = None) -> DateParts:
        """Learn which columns of type Datetime have a time of day."""
        self.with_hour_ = [
            bool((series.dt.hour() + series.dt.minute() > 0).any()) for series in X.iter_columns()
        ]
        self.feature_names_in_ = np.array(X.columns, dtype=object)
        self.n_features_in_ = X.width
        return self

    def transform(self, X: pl.DataFrame) -> Array:
        """The parts of each date, of shape (n, parts); NaN where a date is missing."""
        check_is_fitted(self)
        parts = [
            part.cast(pl.Float64).fill_null(np.nan).to_numpy()
            for series, with_hour in zip(X.iter_columns(), self.with_hour_)
            for part in self._parts(series, with_hour).values()
        ]
        return np.column_stack(parts)

    def _parts(self, series: pl.Series, with_hour: bool) -> dict[str, pl.Series]:
        return (_parts_for_lines if self.for_lines else _parts)(series, with_hour)

    def _sources(self) -> Array:
        """The column that each part is of."""
        nothing = pl.Series([], dtype=pl.Datetime("us"))
        parts = [len(self._parts(nothing, with_hour)) for with_hour in self.with_hour_]
        return np.repeat(np.arange(self.n_features_in_), parts)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the parts."""
        nothing = pl.Series([], dtype=pl.Datetime("us"))
        names = [
            f"{name} {part}"
            for name, with_hour in zip(self.feature_names_in_, self.with_hour_)
            for part in self._parts(nothing, with_hour)
        ]
        return np.array(names, dtype=object)


def _parts(series: pl.Series, with_hour: bool) -> dict[str, pl.Series]:
    """The parts of dates by their names."""
    time = series.dt
    parts = {
        "days": series.to_physical() / MICROSECONDS_PER_DAY,
        "month": time.month(),
        "day": time.day(),
        "weekday": time.weekday(),
    }
    return parts | ({"hour": time.hour() + time.minute() / 60} if with_hour else {})


def _parts_for_lines(series: pl.Series, with_hour: bool) -> dict[str, pl.Series]:
    """The same for additive models."""
    plain = _parts(series, with_hour)
    parts = {"days": plain["days"], "day": plain["day"]}
    parts |= _waves("year", series.dt.ordinal_day() / DAYS_OF_A_YEAR)
    parts |= _waves("half-year", 2 * series.dt.ordinal_day() / DAYS_OF_A_YEAR)
    parts |= {name: plain["weekday"] == k + 1 for k, name in enumerate(WEEKDAYS)}
    if with_hour:
        parts |= {"hour": plain["hour"]} | _waves("of the day", plain["hour"] / 24)
    return parts


def _waves(name: str, turns: pl.Series) -> dict[str, pl.Series]:
    """Sine and cosine of `turns`: any wave of that length is a sum of both."""
    angle = 2 * np.pi * turns
    return {f"{name} (sine)": angle.sin(), f"{name} (cosine)": angle.cos()}


class WordWeights(TransformerMixin, BaseEstimator):
    """tf-idf weights of the words of a text, as those of `TextClassifier`, for models of numbers.

    Parameters
    ----------
    most_words : int, default=MOST_WORDS, 20,000
        So many words are kept, the most frequent ones, and of equally frequent ones the first by
        spelling.

    Attributes
    ----------
    vocabulary_ : dict
        The column of each word; the words are in order.
    idf_ : ndarray of shape (n_words,)
        log((1 + n)/(1 + df)) + 1 of n texts, df of which have the word.

    Notes
    -----
    (1 + log count)·idf, scaled to length 1: the rows of scikit-learn's TfidfVectorizer with
    sublinear_tf, several times as fast, since words are counted in the core.
    """

    _stored: ClassVar[Declaration] = {
        "vocabulary_": Places("words", least=1),
        "idf_": Numbers("words"),
    }

    def __init__(self, most_words: int = MOST_WORDS):
        self.most_words = most_words

    def fit(self, X: pl.Series, y: Any = None) -> WordWeights:
        """Find the words and their frequencies.

        Parameters
        ----------
        X : polars.Series
            Texts.
        y : ignored

        Returns
        -------
        WordWeights
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: pl.Series, y: Any = None) -> sp.csr_matrix:
        """Find the words, and weigh them; each text is read once.

        Parameters
        ----------
        X : polars.Series
            Texts.
        y : ignored

        Returns
        -------
        sparse matrix of shape (n, words)
        """
        counts, words = count_words(X.to_list(), CountVectorizer())
        bag = BagOfWords.learned(counts, np.ones(counts.shape[0]), self._rules)
        self.vocabulary_ = {words[column]: k for k, column in enumerate(bag.columns)}
        self.idf_ = bag.idf
        return bag.rows(counts)

    def transform(self, X: pl.Series) -> sp.csr_matrix:
        """Weights of the words; those that were not there before are left out.

        Parameters
        ----------
        X : polars.Series
            Texts.

        Returns
        -------
        sparse matrix of shape (n, words)
        """
        check_is_fitted(self)
        counts = in_columns(*count_words(X.to_list(), CountVectorizer()), self.vocabulary_)
        return BagOfWords(self._rules, np.arange(len(self.vocabulary_)), self.idf_).rows(counts)

    @property
    def _rules(self) -> WordRules:
        return WordRules(max_features=self.most_words, is_tfidf=True, sublinear_tf=True)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The words.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str
        """
        return np.array(list(self.vocabulary_), dtype=object)


class FrequentWords(TransformerMixin, BaseEstimator):
    """How often each frequent word occurs in a text, as log(1 + count), for models of tables.

    Parameters
    ----------
    most_words : int, default=200
        The number of words counted, those in most texts.

    Attributes
    ----------
    words_ : list of str
        The words, in order.
    name_ : str
        The name of the column.
    """

    _stored: ClassVar[Declaration] = {"words_": Each(Word()), "name_": Word()}

    def __init__(self, most_words: int = 200):
        self.most_words = most_words

    def fit(self, X: pl.Series, y: Any = None) -> FrequentWords:
        """Find the frequent words of a column of texts."""
        counts, words = count_words(X.to_list(), CountVectorizer())
        texts = np.bincount(counts.indices, minlength=len(words))
        frequent = np.argsort(-texts, kind="stable")[: self.most_words]
        self.words_ = [words[k] for k in np.sort(frequent)]
        self.name_ = X.name
        return self

    def transform(self, X: pl.Series) -> Array:
        """Counts of the words, of shape (n, words)."""
        check_is_fitted(self)
        counts, words = count_words(X.to_list(), CountVectorizer())
        columns = {word: k for k, word in enumerate(self.words_)}
        return np.log1p(in_columns(counts, words, columns).toarray())

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the counts."""
        return np.array([f"{self.name_}: {word}" for word in self.words_], dtype=object)
