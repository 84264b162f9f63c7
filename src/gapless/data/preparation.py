"""Preparation: from the roles of columns to a pipeline that models can stand at the end of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from .columns import Column
from .features import MISSING, DateParts, FrequentWords, TableFeatures

Kind = Literal["numbers", "table"]
# A name, a transformer, and the places of its columns, or the name of the one that it takes.
Part = tuple[str, Any, list[int] | str]

# Levels of fewer rows than this share one column of their own.
FEWEST_OF_A_LEVEL = 5
MOST_WORDS = 20_000


def prepare(columns: Sequence[Column], kind: Kind = "numbers", model: Any = None) -> Pipeline:
    """A pipeline that makes features of tables.

    Parameters
    ----------
    columns : sequence of Column
        Columns with their roles, from `describe_columns`.
    kind : {"numbers", "table"}, default="numbers"
        What the model takes. "numbers", for linear models, kernels and neighbours: missing numbers
        are filled with the median and marked, all are scaled; categories become one column per
        level, rare and new levels sharing one; dates become their parts, waves for the season and
        one column per day of the week; texts become tf-idf weights of words, and the result is then
        sparse. "table", for trees and boosting: numbers
        and categories as they are, missing ones too, as a frame of polars; dates become their
        parts; texts become counts of frequent words.
    model : estimator or None, default=None
        What stands at the end.

    Returns
    -------
    sklearn.pipeline.Pipeline
        Takes a Table or a data frame; steps `columns`, `features` and, with a model, `model`.

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
    if kind == "numbers":
        steps = [
            ("columns", TableFeatures(features, missing_level=MISSING)),
            ("features", _as_numbers(features)),
        ]
    elif kind == "table":
        steps = [("columns", TableFeatures(features)), ("features", _as_table(features))]
    else:
        raise ValueError(f'kind must be "numbers" or "table", got {kind!r}.')
    return Pipeline([*steps, ("model", model)] if model is not None else steps)


def _names(columns: Sequence[Column], role: str) -> list[str]:
    return [column.name for column in columns if column.given_as == role]


def _places(columns: Sequence[Column], role: str) -> list[int]:
    """Where the columns of a role stand; each name would be searched for among all others."""
    return [k for k, column in enumerate(columns) if column.given_as == role]


def _as_numbers(columns: Sequence[Column]) -> ColumnTransformer:
    texts = _names(columns, "text")
    parts: list[Part] = [
        ("number", _filled_and_scaled(), _places(columns, "number")),
        ("category", _one_column_per_level(), _places(columns, "category")),
        ("date", _parts_of_dates(), _places(columns, "date")),
        *((f"text {k}", _weights_of_words(), name) for k, name in enumerate(texts)),
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


def _weights_of_words() -> TfidfVectorizer:
    return TfidfVectorizer(max_features=MOST_WORDS, sublinear_tf=True)


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
