"""The contents of `gapless show`: objective, certificate, what a model uses and expects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gapless.choosing import (
    Coefficient,
    Metric,
    TableModel,
    coefficients_of,
    feature_names,
    last_of,
    settings_of,
)
from gapless.choosing.exploring import MapReport, TableMap
from gapless.choosing.report import Report, wrapped
from gapless.data import ColumnProfile, TableFeatures, counted
from gapless.metrics import decimals, written
from gapless.model_io import Description, describe, load

from .._ground.percent import percent
from .checking import plain
from .results import recorded_report


def objective_of(model: Any) -> str | None:
    """The objective of a fitted model, as a formula and the numbers in it.

    Parameters
    ----------
    model : estimator
        A fitted model; those of gapless have it in their method `_formula`.

    Returns
    -------
    str or None
        None for models that minimise nothing, such as nearest neighbours, and for other libraries'
        models.
    """
    formula = model._formula() if hasattr(model, "_formula") else None
    return None if formula is None else str(formula)


# Lines shown of each list; --json has all.
SHOWN = 20
SHOWN_LEVELS = 5


@dataclass(frozen=True)
class Used:
    """A column or feature and its importance to the model."""

    name: str
    value: float


@dataclass(frozen=True)
class ShownColumn:
    """A column that the model expects.

    Attributes
    ----------
    name, role, dtype : str
        Its name, its role and its type.
    missing : float or None
        The share of training rows where it was missing; None if not known.
    levels : tuple of str
        The levels of a category, the most frequent first.
    low, high : float or None
        The range of numbers, of dates in days since 1970, or of lengths of texts.
    """

    name: str
    role: str
    dtype: str
    missing: float | None = None
    levels: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Shown:
    """What is shown of a model file.

    Attributes
    ----------
    answer : str
        The model in one sentence.
    objective, optimality, generalization, intervals : str or None
        What is minimised, how far the model is from the best one, the estimate for unseen rows, and
        the width of prediction intervals; None if there is nothing to report.
    settings : dict
        The tuned parameters.
    coefficients : tuple of Coefficient
        Of linear models, the largest first.
    intercepts : tuple of float
        Their biases.
    rules : str
        A single tree as text.
    importances : tuple of Used
        The importance of columns, the largest first.
    importance : str
        How it is measured.
    columns : tuple of ShownColumn
        What the model expects.
    file : Description
        The file, and which training rows it contains.
    places : tuple of str
        The groups and components of a map, and the gaps of both.
    """

    answer: str
    objective: str | None
    optimality: str | None
    generalization: str | None
    intervals: str | None
    settings: dict[str, Any]
    coefficients: tuple[Coefficient, ...]
    intercepts: tuple[float, ...]
    rules: str
    importances: tuple[Used, ...]
    importance: str
    columns: tuple[ShownColumn, ...]
    file: Description
    places: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain strings, numbers and lists."""
        return plain(asdict(self))

    def __str__(self) -> str:
        return "\n".join([self.answer, "", *self._lines()])

    def _lines(self) -> Iterator[str]:
        for title, text in (
            ("minimises", self.objective),
            ("optimality", self.optimality),
            ("unseen rows", self.generalization),
            ("intervals", self.intervals),
            ("chosen", ", ".join(f"{k} = {_short(v)}" for k, v in self.settings.items())),
        ):
            if text:
                yield f"{title:12} {text}"
        yield from self._lines_of_uses()
        yield from self._lines_of_columns()
        yield from self._lines_of_file()

    def _lines_of_uses(self) -> Iterator[str]:
        if self.places:
            yield ""
            yield from self.places
        if self.coefficients:
            yield "\ncoefficients: per standard deviation, and per unit of the column"
            yield from _cut([_line_of(each) for each in self.coefficients])
            if self.intercepts:
                yield f"  bias {', '.join(f'{b:.4g}' for b in self.intercepts)}"
        if self.rules:
            yield "\nrules"
            yield from _cut([f"  {line}" for line in self.rules.splitlines()])
        if self.importances:
            yield f"\nimportance of columns ({self.importance})"
            width = _width([used.name for used in self.importances])
            yield from _cut([f"  {_name(u.name):{width}}  {u.value:.4g}" for u in self.importances])

    def _lines_of_columns(self) -> Iterator[str]:
        if self.columns:
            yield "\nexpected columns"
            width = _width([column.name for column in self.columns])
            yield from _cut([_line_of_column(column, width) for column in self.columns])

    def _lines_of_file(self) -> Iterator[str]:
        by = ", ".join(f"{name} {version}" for name, version in self.file.written_by.items())
        numbers = counted(self.file.numbers, "number")
        yield f"\nfile         {self.file.file_bytes:,} bytes, {numbers}"
        yield f"written by   {by}"
        kept = [f"{each.rows:,} {each.kind}" for each in self.file.training_rows]
        held = f"from the training data: {', '.join(kept)}" if kept else "no training rows"
        yield f"contains     {held}"


def shown_of(path: Path) -> Shown:
    """Load a model and collect what to show.

    Parameters
    ----------
    path : Path
        A model file.

    Returns
    -------
    Shown
    """
    model, file = load(path), describe(path)
    if isinstance(model, TableMap):
        return _shown_map(model, file)
    pipeline = model.pipeline_ if isinstance(model, TableModel) else model
    inner = last_of(pipeline)
    certificate = _of(inner, "certificate_")
    report = recorded_report(model)
    importances, importance = _importances(report, pipeline)
    classes = getattr(model, "classes_", None)
    return Shown(
        answer=_answer(model, inner),
        objective=objective_of(inner) if _is_fitted(inner) else None,
        optimality=None if certificate is None else str(certificate).replace("\n", " "),
        generalization=_generalization(report, inner),
        intervals=_intervals(model),
        settings=settings_of(pipeline) if _is_fitted(inner) else {},
        coefficients=coefficients_of(pipeline, classes),
        intercepts=_intercepts(inner),
        rules=inner.to_text() if hasattr(inner, "to_text") and _is_fitted(inner) else "",
        importances=importances,
        importance=importance,
        columns=_columns(model, pipeline),
        file=file,
    )


def _shown_map(model: TableMap, file: Description) -> Shown:
    """What is shown of a map: its groups and components, and the two gaps of each."""
    report = recorded_report(model)
    said = report if isinstance(report, MapReport) else None
    gaps = () if said is None else said.gaps
    lines: list[str] = []
    if said is not None:
        for group in said.groups.shown:
            lines += wrapped(f"group {group.name}", group.words)
        for number, one in enumerate(said.components.shown, 1):
            share = percent(one.share, 0)
            lines += wrapped(f"component {number}", f"{share} of the variation; {one.words}")
    for gap in gaps:
        lines += wrapped(f"optimality of the {gap.of}", gap.optimality)
        lines += wrapped(f"{gap.of} on unseen rows", gap.generalization)
    features = sum(column.is_feature for column in model.columns_)
    count = len(model.names_)
    groups = "no groups" if count == 1 else counted(count, "group")
    return Shown(
        answer=(
            f"Map with {counted(model.shown_, 'component')} and {groups}, from "
            f"{counted(features, 'column')} and {counted(model.rows_, 'row')}."
        ),
        objective=None,
        optimality=None,
        generalization=None,
        intervals=None,
        settings={},
        coefficients=(),
        intercepts=(),
        rules="",
        importances=(),
        importance="",
        columns=tuple(_profiled(each) for each in model.profile_.columns),
        file=file,
        places=tuple(lines),
    )


def _of(model: Any, name: str) -> Any:
    """An attribute that a file may hold; computing one would need the training data."""
    return vars(model).get(name)


def _is_fitted(model: Any) -> bool:
    return any(name.endswith("_") and not name.startswith("_") for name in vars(model))


def _answer(model: Any, inner: Any) -> str:
    name = type(inner).__name__
    if not isinstance(model, TableModel):
        if not _is_fitted(inner):
            return f"{name}, not fitted."
        width = getattr(inner, "n_features_in_", None)
        what = "" if width is None else f" with {counted(int(width), 'feature')}"
        return f"{name}{what}; its table is unknown."
    features = sum(column.is_feature for column in model.columns_)
    task = "a number" if model.classes_ is None else f"{len(model.classes_)} classes"
    said = (
        f"{name} for {model.target_!r} ({task}), from {counted(features, 'column')} and "
        f"{counted(model.rows_, 'row')}"
    )
    if np.isnan(model.expected_):
        return f"{said}."
    error = 0.0 if np.isnan(model.expected_error_) else model.expected_error_
    digits = decimals(-error, error, model.expected_)
    title = Metric(model.metric_, model.classes_).title
    return (
        f"{said}; expected on unseen rows: {title} {written(model.expected_, digits)} ± "
        f"{written(error, digits)}."
    )


def _generalization(report: Report | None, inner: Any) -> str | None:
    """The verdict on unseen rows of the fit, or of the choice of `gapless fit`."""
    known = _of(inner, "generalization_")
    if known is not None:
        return str(known.verdict)
    chosen = [] if report is None else [each for each in report.models if each.is_chosen]
    return chosen[0].generalization if chosen else None


def _intervals(model: Any) -> str | None:
    """The distance of targets from predictions."""
    if not isinstance(model, TableModel) or not len(model.residuals_):
        return None
    reach = model.reach(0.9)
    width = f"{reach:,.0f}" if 1e4 <= reach < 1e12 else f"{reach:.4g}"
    said = f"90 % of unseen targets are within {width} of the prediction"
    return said if model.spread_ is None else f"{said} on average, more where errors are larger"


# ---- what the model uses -------------------------------------------------------------------------


def _intercepts(inner: Any) -> tuple[float, ...]:
    found = _of(inner, "intercept_")
    return () if found is None else tuple(float(b) for b in np.ravel(found))


def _importances(report: Report | None, pipeline: Any) -> tuple[tuple[Used, ...], str]:
    """The importance of columns: as the report measured it, else the model's own."""
    if report is not None and report.uses.importances:
        found = tuple(Used(each.name, each.value) for each in report.uses.importances)
        return found, f"how much {report.uses.importance_metric} worsens when shuffled"
    inner = last_of(pipeline)
    if not _is_fitted(inner) or not hasattr(inner, "feature_importances_"):
        return (), ""
    shares = np.asarray(inner.feature_importances_, dtype=float)
    names = feature_names(pipeline, len(shares))
    order = np.argsort(-shares, kind="stable")
    used = tuple(Used(names[k], float(shares[k])) for k in order if shares[k] > 0)
    return used, "share of the gain of all splits"


def _columns(model: Any, pipeline: Any) -> tuple[ShownColumn, ...]:
    if isinstance(model, TableModel):
        return tuple(_profiled(each) for each in model.profile_.columns)
    first = getattr(pipeline, "steps", [("", pipeline)])[0][1]
    if isinstance(first, TableFeatures):
        return tuple(ShownColumn(c.name, c.role, c.dtype) for c in first.columns if c.is_feature)
    names = getattr(pipeline, "feature_names_in_", ())
    return tuple(ShownColumn(str(name), "number", "Float64") for name in names)


def _profiled(each: ColumnProfile) -> ShownColumn:
    column = each.column
    share = each.missing / max(each.rows, 1)
    ends = (each.values[0], each.values[-1]) if each.values else (None, None)
    return ShownColumn(column.name, column.role, column.dtype, share, each.levels, *ends)


# ---- lines ---------------------------------------------------------------------------------------


def _cut(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:SHOWN]
    if len(lines) > SHOWN:
        yield f"  and {len(lines) - SHOWN:,} more; --json lists all"


def _name(name: str) -> str:
    """A name on one line, however it is written."""
    return name if name.isprintable() else repr(name)


def _width(names: Sequence[str]) -> int:
    return min(max(len(_name(name)) for name in names), 40)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _line_of(each: Coefficient) -> str:
    of = f"  {each.of}" if each.of else ""
    unit = "" if each.per_unit == each.value else f"{each.per_unit:12.4g}"
    return f"  {each.value:12.4g} {unit:12}  {_name(each.name)}{of}"


def _line_of_column(column: ShownColumn, width: int) -> str:
    what = ""
    if column.levels:
        shown = ", ".join(_name(level) for level in column.levels[:SHOWN_LEVELS])
        more = len(column.levels) - SHOWN_LEVELS
        what = f"{shown}{f' and {more:,} more' if more > 0 else ''}"
    elif column.low is not None and column.high is not None:
        what = f"{_value(column.low, column)} to {_value(column.high, column)}"
    missing = f", {percent(column.missing, 1)} missing" if column.missing else ""
    return f"  {_name(column.name):{width}}  {column.role:9} {what}{missing}".rstrip()


def _value(number: float, column: ShownColumn) -> str:
    if column.role in ("date", "time"):
        return str(np.datetime64("1970-01-01") + np.timedelta64(int(np.floor(number)), "D"))
    return f"{number:.6g}{' characters' if column.role == 'text' else ''}"
