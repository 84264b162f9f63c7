"""Predictions for tables of any length: the model's interface, and what is added to each row."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from sklearn.pipeline import Pipeline

from gapless.choosing import TableModel
from gapless.choosing.exploring import TableMap
from gapless.data import (
    AS_FOUND,
    Column,
    ReadingOptions,
    TableError,
    TableFeatures,
    batches_like,
    counted,
    listed,
    unreadable_texts,
    unreadable_values,
)
from gapless.evaluation import Explanation, explain

Array = np.ndarray

# Predict this many rows at once, which bounds the memory of their features.
ROWS = 20_000
# The number of levels and texts remembered for display.
SHOWN = 3


@dataclass(frozen=True, eq=False)
class Predictor:
    """A loaded model, applied to tables.

    Attributes
    ----------
    model : estimator
        The model.
    columns : tuple of Column
        Its columns by name; empty if it takes columns by position.
    width : int
        The number of its columns.
    levels : mapping of str to frozenset of str
        All levels of categories seen in training, if known.
    others : tuple of Column
        Columns of the table of the fit that it does not use.
    reading : ReadingOptions
        How the table of the fit was read.
    """

    model: Any
    columns: tuple[Column, ...]
    width: int
    levels: Mapping[str, frozenset[str]] = field(default_factory=dict)
    others: tuple[Column, ...] = ()
    reading: ReadingOptions = AS_FOUND

    @property
    def is_map(self) -> bool:
        """Whether it places rows among groups, and predicts no target."""
        return isinstance(self.model, TableMap)

    @property
    def classes(self) -> Array | None:
        """The classes; None for numbers."""
        return getattr(self.model, "classes_", None)

    @property
    def has_probabilities(self) -> bool:
        """Whether it has class probabilities."""
        return self.classes is not None and hasattr(self.model, "predict_proba")

    @property
    def has_intervals(self) -> bool:
        """Whether it has intervals for numbers."""
        is_known = isinstance(self.model, TableModel) and len(self.model.residuals_) > 0
        return is_known and self.classes is None

    def rows(self, frame: pl.DataFrame) -> Any:
        """The part of a frame that the model uses."""
        if not self.columns:
            return frame[:, : self.width].cast(pl.Float64, strict=False).to_numpy()
        return frame.select([column.name for column in self.columns])


def predictor_of(model: Any) -> Predictor:
    """A loaded model, applied to tables: one of `gapless fit`, or any saved one."""
    if isinstance(model, TableModel | TableMap):
        features = tuple(column for column in model.columns_ if column.is_feature)
        levels = {
            each.column.name: frozenset(each.levels)
            for each in model.profile_.columns
            if each.column.role == "category" and not each.others
        }
        others = tuple(column for column in model.columns_ if not column.is_feature)
        return Predictor(model, features, len(features), levels, others, model.reading_)
    if not hasattr(model, "predict"):
        raise ValueError(f"{type(model).__name__} does not predict a target.")
    if isinstance(model, Pipeline) and isinstance(model[0], TableFeatures):
        features = tuple(column for column in model[0].columns if column.is_feature)
        return Predictor(model, features, len(features))
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        columns = tuple(Column(str(name), "number", "", "Float64", 0, 0, 0) for name in names)
        return Predictor(model, columns, len(columns))
    width = getattr(model, "n_features_in_", None)
    if width is None:
        raise ValueError(
            f"{type(model).__name__} does not store which columns it needs; "
            "use it from Python with gapless.load."
        )
    return Predictor(model, (), int(width))


@dataclass
class Noticed:
    """What to report after all rows."""

    extra: list[str] = field(default_factory=list)
    filled: list[str] = field(default_factory=list)
    unseen: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    unread: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    explained: str = ""

    def sentences(self) -> Iterator[str]:
        """One for each thing."""
        if self.extra:
            yield f"columns the model does not use: {listed(self.extra)}"
        if self.filled:
            yield f"absent columns, treated as missing: {listed(self.filled)}"
        if self.explained:
            yield self.explained
        for name, (rows, levels) in self.unseen.items():
            yield (
                f"column {name!r}: {counted(rows, 'row')} with categories not seen in training "
                f"({listed(levels)}), treated as rare ones"
            )
        for name, (rows, texts) in self.unread.items():
            yield (
                f"column {name!r}: {counted(rows, 'value')} ({listed(texts)}) could not be read, "
                "treated as missing"
            )


@dataclass(frozen=True)
class Wanted:
    """What is added to each row.

    Attributes
    ----------
    probabilities : bool
        Probabilities of all classes.
    coverage : float or None
        The share of targets that intervals for numbers should contain.
    fills : bool
        Whether absent columns count as missing; otherwise they are an error.
    reasons : int or None
        How many reasons; 0 for the contribution of every column.
    typed : bool
        Whether texts become numbers and dates in the result as well; otherwise all stays unchanged.
    """

    probabilities: bool
    coverage: float | None
    fills: bool = False
    typed: bool = False
    reasons: int | None = None


def predictions(
    predictor: Predictor,
    source: Any,
    wanted: Wanted,
    noticed: Noticed,
    options: ReadingOptions | None = None,
) -> Iterator[pl.DataFrame]:
    """The rows of a table with their predictions, in batches.

    Parameters
    ----------
    predictor : Predictor
        The model.
    source : str, Path, bytes or binary stream
        The table.
    wanted : Wanted
        What is added.
    noticed : Noticed
        Filled with what to report.
    options : ReadingOptions or None, default=None
        How the table is read; like the table of the fit if None.

    Yields
    ------
    polars.DataFrame
        At least one; without rows if the table has none.
    """
    names: list[str] | None = None
    columns = predictor.columns + predictor.others
    for raw, values in batches_like(source, columns, options or predictor.reading):
        if names is None:
            _look_at_columns(predictor, raw.columns, wanted.fills, noticed)
            names = _free_names(predictor, wanted, raw.columns)
        for first in range(0, max(raw.height, 1), ROWS):
            some = slice(first, first + ROWS)
            asked = _filled(values[some], noticed.filled)
            _look_at_values(predictor, raw[some], asked, noticed)
            kept = _typed(predictor, raw[some], values[some]) if wanted.typed else raw[some]
            yield kept.with_columns(
                series.alias(name)
                for series, name in zip(_added(predictor, asked, wanted, noticed), names)
            )


# ---- columns -------------------------------------------------------------------------------------


def _look_at_columns(
    predictor: Predictor, names: Sequence[str], fills: bool, noticed: Noticed
) -> None:
    """Refuse a table without the model's columns, and note those that it does not use."""
    if not predictor.columns:
        if len(names) < predictor.width:
            raise TableError(
                f"the table has {counted(len(names), 'column')}, but the model needs "
                f"{predictor.width}, in order."
            )
        noticed.extra += names[predictor.width :]
        return
    used, there = [column.name for column in predictor.columns], set(names)
    absent = [name for name in used if name not in there]
    if absent and not fills:
        raise TableError(
            f"the table lacks {counted(len(absent), 'column')} of the model: {listed(absent)}"
            f"{_hint(absent, names)}. Add or rename columns, or treat them as missing in all rows "
            "with --missing-columns fill."
        )
    noticed.filled += absent
    known = {*used, *(column.name for column in predictor.others)}
    noticed.extra += [name for name in names if name not in known]


def _hint(absent: Sequence[str], names: Sequence[str]) -> str:
    plain = {name.lower().strip(): name for name in reversed(names)}
    near = difflib.get_close_matches(absent[0].lower().strip(), plain, n=1)
    return f" (is {plain[near[0]]!r} the same as {absent[0]!r}?)" if near else ""


def _filled(frame: pl.DataFrame, absent: Sequence[str]) -> pl.DataFrame:
    return frame.with_columns(pl.lit(None, pl.String).alias(name) for name in absent)


def _free_names(predictor: Predictor, wanted: Wanted, taken: Sequence[str]) -> list[str]:
    """Names of the added columns, numbered if the table already has them."""
    names = _of_map(predictor.model) if predictor.is_map else ["prediction"]
    if wanted.coverage is not None:
        names += ["lower", "upper"]
    if wanted.probabilities and predictor.classes is not None:
        names += [f"probability_{label}" for label in predictor.classes]
    names += _names_of_reasons(predictor, wanted)
    free: list[str] = []
    for name in names:
        numbered = (f"{name}_{k}" for k in range(2, len(taken) + len(names) + 3))
        free.append(next(n for n in (name, *numbered) if n not in taken and n not in free))
    return free


# ---- values --------------------------------------------------------------------------------------


def _look_at_values(
    predictor: Predictor, raw: pl.DataFrame, values: pl.DataFrame, noticed: Noticed
) -> None:
    for name, levels in predictor.levels.items():
        texts = values[name].cast(pl.String)
        _add(noticed.unseen, name, texts.filter(~texts.is_in(levels)))
    names = set(raw.columns)
    for column in predictor.columns:
        if column.name in names:
            texts = unreadable_values(column, raw[column.name], values[column.name])
            _add(noticed.unread, column.name, texts)


def _typed(predictor: Predictor, raw: pl.DataFrame, values: pl.DataFrame) -> pl.DataFrame:
    """The table for formats with types: integers stay integers, and nothing is lost."""
    schema = raw.schema
    changed = []
    for column in predictor.columns + predictor.others:
        name = column.name
        if schema.get(name) != pl.String:
            continue
        whole = raw[name].str.strip_chars().cast(pl.Int64, strict=False)
        if not column.is_feature and len(unreadable_texts(raw[name], values[name])):
            # Irrelevant to the model, but not to the reader of the result.
            changed.append(raw[name])
        elif column.dtype == "Int64" and whole.null_count() == values[name].null_count():
            # Identifiers may be too long for a float.
            changed.append(whole)
    return values.with_columns(changed)


def _add(counts: dict[str, tuple[int, list[str]]], name: str, texts: pl.Series) -> None:
    texts = texts.drop_nulls()
    if len(texts):
        rows, shown = counts.get(name, (0, []))
        shown += [
            text for text in texts.unique(maintain_order=True).head(SHOWN) if text not in shown
        ]
        counts[name] = rows + len(texts), shown[:SHOWN]


def _added(
    predictor: Predictor, frame: pl.DataFrame, wanted: Wanted, noticed: Noticed
) -> list[pl.Series]:
    """Prediction, ends of the interval and probabilities, as requested; or places on a map."""
    if not frame.height:
        return _nothing(predictor, wanted)
    model, rows = predictor.model, predictor.rows(frame)
    if predictor.is_map:
        return _placed(model, rows)
    if wanted.coverage is not None:
        found = model.predict_interval(rows, coverage=wanted.coverage)
        columns = [found.prediction, found.lower, found.upper]
    else:
        columns = [np.asarray(model.predict(rows))]
        if columns[0].ndim > 1:
            raise ValueError(
                "the model predicts several targets; use it from Python with gapless.load."
            )
    if wanted.probabilities:
        columns += [*np.asarray(model.predict_proba(rows)).T]
    return [_series(values) for values in columns] + _reasons(predictor, rows, wanted, noticed)


# ---- reasons -------------------------------------------------------------------------------------


def _names_of_reasons(predictor: Predictor, wanted: Wanted) -> list[str]:
    if wanted.reasons is None:
        return []
    if wanted.reasons:
        return [f"reason_{k + 1}" for k in range(wanted.reasons)]
    names = [column.name for column in predictor.columns]
    names = names or [f"x{j}" for j in range(predictor.width)]
    return ["average", *(f"effect_{name}" for name in names)]


def _reasons(predictor: Predictor, rows: Any, wanted: Wanted, noticed: Noticed) -> list[pl.Series]:
    """The strongest reasons of each row in words, or the average and all contributions."""
    if wanted.reasons is None:
        return []
    found = explain(predictor.model, rows)
    noticed.explained = _what_is_explained(found, isinstance(predictor.model, TableModel))
    if wanted.reasons:
        of_rows = [found.reasons(i, most=wanted.reasons) for i in range(len(found))]
        words = [[str(reason) for reason in reasons] for reasons in of_rows]
        return [
            pl.Series([each[k] if k < len(each) else None for each in words], dtype=pl.String)
            for k in range(wanted.reasons)
        ]
    values, base = found.values, np.broadcast_to(found.base, found.predictions.shape)
    if values.ndim == 3:
        # Of the class with the largest answer.
        largest = found.predictions.argmax(axis=1)[:, None]
        base = np.take_along_axis(base, largest, axis=1)[:, 0]
        values = np.take_along_axis(values, largest[:, :, None], axis=2)[:, :, 0]
    order = {name: j for j, name in enumerate(found.names)}
    names = [column.name for column in predictor.columns] or list(found.names)
    return [pl.Series(base), *(pl.Series(values[:, order[name]]) for name in names)]


def _what_is_explained(found: Explanation, has_own_rows: bool) -> str:
    """What the reasons are reasons for, as a sentence."""
    answer = f"the {found.scale}"
    if len(found.outputs) == 1:
        answer += f" of {found.outputs[0]!r}"
    elif found.outputs:
        answer += " of the class with the largest one"
    rows = f"{found.background_rows:,} rows of this table"
    if has_own_rows:
        rows = f"{found.background_rows:,} rows like those of the fit"
    sampled = "" if found.standard_errors is None else ", estimated from random orders of columns"
    return f"reasons are contributions to {answer}, compared with {rows}{sampled}"


def _of_map(model: TableMap) -> list[str]:
    """Names of what a map says of a row: its group, if there are any, coordinates, and rank."""
    of_groups = ["group"] if len(model.names_) > 1 else []
    return [*of_groups, *(f"component_{k + 1}" for k in range(model.shown_)), "unusual"]


def _placed(model: TableMap, rows: pl.DataFrame) -> list[pl.Series]:
    scores, labels, distances = model.place(rows)
    names = [pl.Series([model.names_[k] for k in labels])] if len(model.names_) > 1 else []
    numbers = [*scores[:, : model.shown_].T, model.ranks(distances)]
    return [*names, *(_series(np.ascontiguousarray(values)) for values in numbers)]


def _series(values: Array) -> pl.Series:
    return pl.Series(values if values.dtype.kind in "iufb" else values.tolist())


def _nothing(predictor: Predictor, wanted: Wanted) -> list[pl.Series]:
    """The same for no rows, which models refuse."""
    if predictor.is_map:
        of_groups = [pl.Series(dtype=pl.String)] if len(predictor.model.names_) > 1 else []
        return [*of_groups, *[pl.Series(dtype=pl.Float64)] * (predictor.model.shown_ + 1)]
    labels = np.zeros(1) if predictor.classes is None else predictor.classes
    numbers = 2 * (wanted.coverage is not None) + wanted.probabilities * len(labels)
    kind = pl.String if wanted.reasons else pl.Float64
    reasons = [pl.Series(dtype=kind)] * len(_names_of_reasons(predictor, wanted))
    prediction = _series(np.asarray(labels)).clear()
    return [prediction, *[pl.Series(dtype=pl.Float64)] * numbers, *reasons]
