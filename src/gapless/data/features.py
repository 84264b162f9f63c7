"""Parts of a preparation that know tables: new tables by the roles of old ones, dates, words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.validation import check_is_fitted

from .._ground.stored import INPUT, Declaration, Each, Flag, Value, Word
from .._ground.word_counts import count_words, in_columns
from .columns import Column
from .findings import TableError, listed
from .forms import form_by_type, read
from .tables import Table, frame_of, usual_types

Array = np.ndarray

OTHER = "(other)"
MISSING = "(missing)"
DAYS_OF_A_YEAR = 365.25
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MICROSECONDS_OF_A_DAY = 86_400e6


class TableFeatures(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """The features of a table, in the types that models take.

    New tables are read like the one of the roles: texts become numbers and dates by the same forms,
    what does not fit is missing, columns that are no features are left out.

    Parameters
    ----------
    columns : sequence of Column
        Columns with their roles, from `describe_columns`; those that are features are kept.
    most_levels : int, default=200
        Of a category, so many levels are kept, the most frequent ones; all others are "(other)".
    missing_level : str or None, default=None
        What a missing category is called; None leaves it missing.

    Attributes
    ----------
    levels_ : dict of str to list of str
        The levels that are kept, of categories that have more than `most_levels`.
    feature_names_in_ : ndarray of str
        Names of the features.
    n_features_in_ : int
        How many there are.
    """

    _stored: ClassVar[Declaration] = {"levels_": Value(dict), **INPUT}

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        most_levels: int = 200,
        missing_level: str | None = None,
    ):
        self.columns = columns
        self.most_levels = most_levels
        self.missing_level = missing_level

    def fit(self, X: Any, y: Any = None) -> TableFeatures:
        """Learn which levels are frequent.

        Parameters
        ----------
        X : Table, or data frame of polars or pandas
            Rows for training.
        y : ignored

        Returns
        -------
        TableFeatures
        """
        self._learn(self._read(X))
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> pl.DataFrame:
        """Learn which levels are frequent, and give the features of the same rows, read once.

        Parameters
        ----------
        X : Table, or data frame of polars or pandas
            Rows for training.
        y, fit_params : ignored

        Returns
        -------
        polars.DataFrame
            As of `transform`.
        """
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
        """The features of X.

        Parameters
        ----------
        X : Table, or data frame of polars or pandas
            A table with the same columns, in any order; others are ignored.

        Returns
        -------
        polars.DataFrame
            Numbers as Float64, dates as Datetime, categories and texts as String.
        """
        check_is_fitted(self)
        return self._grouped(self._read(X))

    def _grouped(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Features whose rare levels are one, and whose missing ones have a name."""
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


def finite_numbers(frame: pl.DataFrame, columns: Sequence[Column]) -> pl.DataFrame | None:
    """Columns of nothing but finite numbers, read at once: there may be thousands; else None."""
    types = frame.schema
    if any(c.role != "number" or types[c.name] not in (pl.Float64, pl.Int64) for c in columns):
        return None
    numbers = frame.select(pl.col([column.name for column in columns]).cast(pl.Float64))
    return numbers if np.isfinite(numbers.to_numpy()).all() else None


def as_role(series: pl.Series, column: Column) -> pl.Series:
    """A column in the type of its role."""
    if series.dtype == pl.String:
        series = read(series, column.form or form_by_type(column.dtype, series))
    if column.role == "number":
        return series.cast(pl.Float64, strict=False)
    if column.given_as == "date":
        return series.cast(pl.Datetime("us"), strict=False)
    texts = series.cast(pl.String, strict=False)
    return texts.fill_null("") if column.role == "text" else texts


def _frequent(series: pl.Series, most: int) -> list[str]:
    """The most frequent levels; of equally frequent ones the first by name."""
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
        Whether the parts are for models that add up what each number says: the month is then two
        waves over the year, the day of the week a column each, and the hour a wave over the day.

    Attributes
    ----------
    with_hour_ : list of bool
        Of each column, whether a training row has a time other than midnight.
    feature_names_in_ : ndarray of str
        Names of the columns.
    n_features_in_ : int
        How many there are.
    """

    _stored: ClassVar[Declaration] = {**INPUT, "with_hour_": Each(Flag(), "features")}

    def __init__(self, for_lines: bool = False):
        self.for_lines = for_lines

    def fit(self, X: pl.DataFrame, y: Any = None) -> DateParts:
        """Learn which columns have a time of day.

        Parameters
        ----------
        X : polars.DataFrame
            Columns of type Datetime.
        y : ignored

        Returns
        -------
        DateParts
        """
        self.with_hour_ = [
            bool((series.dt.hour() + series.dt.minute() > 0).any()) for series in X.iter_columns()
        ]
        self.feature_names_in_ = np.array(X.columns, dtype=object)
        self.n_features_in_ = X.width
        return self

    def transform(self, X: pl.DataFrame) -> Array:
        """The parts of each date.

        Parameters
        ----------
        X : polars.DataFrame
            Columns of type Datetime.

        Returns
        -------
        ndarray of shape (n, parts)
            NaN where a date is missing.
        """
        check_is_fitted(self)
        parts = [
            part.cast(pl.Float64).fill_null(np.nan).to_numpy()
            for series, with_hour in zip(X.iter_columns(), self.with_hour_)
            for part in self._parts(series, with_hour).values()
        ]
        return np.column_stack(parts)

    def _parts(self, series: pl.Series, with_hour: bool) -> dict[str, pl.Series]:
        return (_parts_for_lines if self.for_lines else _parts)(series, with_hour)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the parts.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str
        """
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
        "days": series.to_physical() / MICROSECONDS_OF_A_DAY,
        "month": time.month(),
        "day": time.day(),
        "weekday": time.weekday(),
    }
    return parts | ({"hour": time.hour() + time.minute() / 60} if with_hour else {})


def _parts_for_lines(series: pl.Series, with_hour: bool) -> dict[str, pl.Series]:
    """The same for models that add up what each part says."""
    plain = _parts(series, with_hour)
    parts = {"days": plain["days"], "day": plain["day"]}
    parts |= _waves("year", series.dt.ordinal_day() / DAYS_OF_A_YEAR)
    parts |= _waves("half-year", 2 * series.dt.ordinal_day() / DAYS_OF_A_YEAR)
    parts |= {name: plain["weekday"] == k + 1 for k, name in enumerate(WEEKDAYS)}
    if with_hour:
        parts |= {"hour": plain["hour"]} | _waves("of the day", plain["hour"] / 24)
    return parts


def _waves(name: str, turns: pl.Series) -> dict[str, pl.Series]:
    """Sine and cosine of so many turns: any wave of that length is a sum of both."""
    angle = 2 * np.pi * turns
    return {f"{name} (sine)": angle.sin(), f"{name} (cosine)": angle.cos()}


class FrequentWords(TransformerMixin, BaseEstimator):
    """How often each frequent word occurs in a text, as log(1 + count), for models of tables.

    Parameters
    ----------
    most_words : int, default=200
        So many words are counted, those in most texts.

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
        """Find the frequent words.

        Parameters
        ----------
        X : polars.Series
            Texts.
        y : ignored

        Returns
        -------
        FrequentWords
        """
        counts, words = count_words(X.to_list(), CountVectorizer())
        texts = np.bincount(counts.indices, minlength=len(words))
        frequent = np.argsort(-texts, kind="stable")[: self.most_words]
        self.words_ = [words[k] for k in np.sort(frequent)]
        self.name_ = X.name
        return self

    def transform(self, X: pl.Series) -> Array:
        """Counts of the words.

        Parameters
        ----------
        X : polars.Series
            Texts.

        Returns
        -------
        ndarray of shape (n, words)
        """
        check_is_fitted(self)
        counts, words = count_words(X.to_list(), CountVectorizer())
        columns = {word: k for k, word in enumerate(self.words_)}
        return np.log1p(in_columns(counts, words, columns).toarray())

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the counts.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str
        """
        return np.array([f"{self.name_}: {word}" for word in self.words_], dtype=object)
