"""TableModel: a model of a table, with everything needed to use it on other tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._ground.cost_matrices import read_cost_matrix
from .._ground.stored import (
    Declaration,
    Each,
    Labels,
    Maybe,
    Nothing,
    Number,
    Numbers,
    Value,
    Whole,
    Word,
)
from ..data import (
    Column,
    ReadingOptions,
    Table,
    TableError,
    TableProfile,
    Target,
    Task,
    describe_columns,
    frame_of,
    plain_frame,
    profile_table,
    read_target,
    table_of,
)
from ..evaluation import Explanation, explain
from ..metrics import Score
from ..unseen import MOST_ROWS, Intervals, Part, StandIn, check_coverage, quantiles
from .background import made_up_rows
from .metric import MEAN_COST, AnsweredRows, Metric, metric_of
from .splitting import group_labels
from .spread import learn_spread, spread_at

Array = np.ndarray


def _has(method: str) -> Callable[[TableModel], bool]:
    """Whether the model at the end has a method."""

    def check(model: TableModel) -> bool:
        return hasattr(getattr(model, "pipeline_", model.pipeline), method)

    return check


class TableModel(BaseEstimator):
    """A model of a table: takes tables with their own types, names and missing values.

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline
        Preparation and model, from `gapless.data.prepare`.
    target : str
        The column to predict.
    task : {"auto", "classification", "regression"}, default="auto"
        The task of predicting it.
    metric : str, default="auto"
        The metric of `score` and `measure`: one of `gapless.metrics`, "balanced_accuracy", or
        "mean_cost".
    costs : array-like of shape (K, K), mapping or None, default=None
        The costs of decisions, for "mean_cost": as `cost_matrix` of `BayesDecision`.

    Attributes
    ----------
    pipeline_ : sklearn.pipeline.Pipeline
        Preparation and model, fitted.
    target_, task_, metric_ : str
        The target, the task and the metric.
    classes_ : ndarray or None
        The classes, sorted; None for regression.
    columns_ : tuple of Column
        The columns of the table and their roles.
    rows_ : int
        The number of training rows.
    expected_, expected_error_ : float
        The expected score on unseen rows, and its standard error; NaN if nothing is known.
    residuals_ : ndarray of shape (r,)
        Errors on held-out rows, relative to `spread_`; at most 2,000 of them in rising order; empty
        if nothing is known.
    spread_ : sklearn.pipeline.Pipeline or None
        How large errors are in a row, relative to others; None if they are equally large
        everywhere.
    profile_ : TableProfile
        A summary of the training rows.
    record_ : str
        The report about it, as JSON; "" if there is none.
    reading_ : ReadingOptions
        How the table was read; the tool reads other tables the same way.

    Examples
    --------
    >>> from gapless import RandomForestClassifier
    >>> from gapless.choosing import TableModel
    >>> from gapless.data import describe_columns, load_builtin, prepare
    >>> table = load_builtin("iris")
    >>> pipeline = prepare(describe_columns(table, "species"), "table", RandomForestClassifier())
    >>> model = TableModel(pipeline, "species").fit(table)
    >>> model.predict(table.frame[:2]).tolist()
    ['setosa', 'setosa']
    """

    _stored: ClassVar[Declaration] = {
        "pipeline_": Value(Pipeline),
        "target_": Word(),
        "task_": Word("classification", "regression"),
        "metric_": Word(),
        "classes_": Labels() | Nothing(),
        "columns_": Each(Value(Column)),
        "rows_": Whole(),
        "expected_": Number(is_finite=False),
        "expected_error_": Number(is_finite=False),
        "residuals_": Numbers(None),
        "spread_": Maybe(Value(Pipeline) | Nothing()),
        "profile_": Value(TableProfile),
        "record_": Word(),
        "reading_": Maybe(Value(ReadingOptions)),
    }

    pipeline_: Any
    classes_: Array | None
    columns_: tuple[Column, ...]
    profile_: TableProfile
    # Files of versions without a spread have none, and those without options have none.
    spread_: Any = None
    reading_: ReadingOptions = ReadingOptions()

    def __init__(
        self,
        pipeline: Any,
        target: str,
        *,
        task: Task | Literal["auto"] = "auto",
        metric: str = "auto",
        costs: Any = None,
    ):
        self.pipeline = pipeline
        self.target = target
        self.task = task
        self.metric = metric
        self.costs = costs

    # ---- fitting ---------------------------------------------------------------------------------

    def fit(self, table: Any, y: Any = None, *, rows: Any = None) -> TableModel:
        """Fit the model to a table.

        Parameters
        ----------
        table : Table, or data frame of polars or pandas
            The table.
        y : array-like of shape (n,), default=None
            The target; None if it is a column of the table. Otherwise a column of its name is not
            used.
        rows : array-like of int, default=None
            The training rows; all with a target if None.

        Returns
        -------
        TableModel
        """
        table = _with_target(table, y, self.target)
        target = read_target(table, self.target, self.task)
        if y is not None and target.task == "classification":
            # Predictions are then the caller's own labels.
            target = replace(target, values=np.asarray(y)[target.rows])
        kept = within(target, rows)
        pipeline = clone(self.pipeline).fit(table.frame[kept.rows], kept.values)
        return self.take_over(pipeline, table, kept, describe_columns(table, self.target))

    def take_over(
        self, pipeline: Any, table: Table, target: Target, columns: Sequence[Column]
    ) -> TableModel:
        """Become the model of a fitted pipeline.

        Parameters
        ----------
        pipeline : sklearn.pipeline.Pipeline
            Preparation and model, fitted.
        table : Table
            The table.
        target : Target
            The target in its training rows.
        columns : sequence of Column
            All columns of the table with their roles; the pipeline's own take precedence.

        Returns
        -------
        TableModel
        """
        used = {column.name: column for column in pipeline[0].columns}
        others = (_set_aside(column) for column in columns)
        self.pipeline_ = pipeline
        self.target_, self.task_ = target.name, target.task
        self.classes_ = pipeline.classes_ if target.task == "classification" else None
        self.columns_ = tuple(used.get(column.name, column) for column in others)
        self.metric_ = metric_of(self.metric, target.task, target.values, self.costs).name
        self.rows_ = len(target.rows)
        self.expected_ = self.expected_error_ = float("nan")
        self.residuals_, self.spread_ = np.zeros(0), None
        self.profile_ = profile_table(table, self.columns_, target.rows)
        self.record_, self.reading_ = "", table.options
        return self

    def expect(self, score: float, error: float, residuals: Array | None) -> TableModel:
        """Store the model's expected score and errors on unseen rows.

        Parameters
        ----------
        score, error : float
            Its score, and the standard error.
        residuals : ndarray or None
            True minus predicted numbers of held-out rows; None for classification.

        Returns
        -------
        TableModel
        """
        self.expected_, self.expected_error_ = float(score), float(error)
        if residuals is not None:
            self.residuals_, self.spread_ = _some(np.abs(residuals)), None
        return self

    def tell_apart(
        self, table: Any, predicted: Array, residuals: Array, units: Array | None = None
    ) -> TableModel:
        """Learn in which rows errors are large, so that prediction intervals are wide there.

        Parameters
        ----------
        table : Table, or data frame of polars or pandas
            Held-out rows.
        predicted, residuals : ndarray of shape (n,)
            Their predictions, and the target minus these.
        units : ndarray of int, shape (n,), default=None
            Labels of rows that belong together; None if each is on its own.

        Returns
        -------
        TableModel
            Its intervals stay equally wide if the errors show no pattern, or are fewer than 200.
        """
        spread, errors = learn_spread(
            self.columns_, plain_frame(table), predicted, np.abs(residuals), units
        )
        self.residuals_, self.spread_ = _some(errors), spread
        return self

    # ---- predicting ------------------------------------------------------------------------------

    def predict(self, table: Any) -> Array:
        """Predict the target.

        Parameters
        ----------
        table : Table, or data frame of polars or pandas
            Rows with the columns of the fit, in any order; others are ignored. Unknown levels are
            treated as rare ones.

        Returns
        -------
        ndarray of shape (n,)
            Classes or numbers.
        """
        check_is_fitted(self)
        return self.pipeline_.predict(self._frame(table))

    @available_if(_has("predict_proba"))
    def predict_proba(self, table: Any) -> Array:
        """Predict probabilities of the classes.

        Parameters
        ----------
        table : Table, or data frame of polars or pandas
            Rows, as for `predict`.

        Returns
        -------
        ndarray of shape (n, K)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        return self.pipeline_.predict_proba(self._frame(table))

    @available_if(_has("decision_function"))
    def decision_function(self, table: Any) -> Array:
        """The decision function, for models that have one.

        Parameters
        ----------
        table : Table, or data frame of polars or pandas
            Rows, as for `predict`.

        Returns
        -------
        ndarray of shape (n,) or (n, K)
            For two classes, above 0 for the second; else a column for each of `classes_`.
        """
        check_is_fitted(self)
        return self.pipeline_.decision_function(self._frame(table))

    def explain(self, table: Any, background: Any = None, **options: Any) -> Explanation:
        """Divide the model's answer for each row among the columns of the table.

        Parameters
        ----------
        table : Table, or data frame of polars or pandas
            Rows, as for `predict`.
        background : Table, or data frame of polars or pandas, default=None
            The rows to compare with, such as those of the fit; None makes up a hundred rows whose
            columns are distributed as in training, each by itself, and whose texts are empty.
        **options
            The other parameters of `gapless.explain`.

        Returns
        -------
        Explanation
            All features made of a column count as that column.
        """
        check_is_fitted(self)
        first, rest = self.pipeline_[0], self.pipeline_[1:]
        frame = plain_frame(self._frame(table))
        X = first.transform(frame)
        features = tuple(column for column in first.columns if column.is_feature)
        if background is None:
            others = made_up_rows(self.profile_, features)
        else:
            others = plain_frame(self._frame(background))
        found = explain(rest, X, first.transform(others), **options)
        texts = [column.name for column in features if column.given_as in ("category", "text")]
        shown = X.with_columns(
            frame[name].cast(pl.String) for name in texts if name in frame.columns
        )
        return replace(found, data=shown)

    def predict_interval(self, table: Any, coverage: float = 0.9) -> Intervals:
        """Predict numbers, with intervals for the targets of a share `coverage` of new rows.

        Parameters
        ----------
        table : Table, or data frame of polars or pandas
            Rows, as for `predict`.
        coverage : float, default=0.9
            The share of new rows whose target should be inside.

        Returns
        -------
        Intervals
            `prediction`, `lower` and `upper`, each (n,).

        Notes
        -----
        The width of the intervals comes from the errors of held-out rows: the smallest width that
        contains a share `coverage` of them, counting the new row as possibly the worst. If errors
        are larger in some rows than in others, so are the intervals; otherwise all are equally
        wide. For rows from the same source about that share is inside. With fewer than
        coverage/(1 − coverage) held-out rows the ends are infinite.

        References
        ----------
        Vovk (2015), Annals of Mathematics and Artificial Intelligence 74: cross-conformal
        predictors. Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018), JASA 113: widths that
        follow the spread. Barber, Candès, Ramdas and Tibshirani (2021), Annals of Statistics 49.
        """
        return self.around(table, self.predict(table), coverage)

    def around(self, table: Any, prediction: Array, coverage: float = 0.9) -> Intervals:
        """The intervals of `predict_interval` for rows whose predictions are known.

        Parameters
        ----------
        table : Table, or data frame of polars or pandas
            Rows, as for `predict`.
        prediction : ndarray of shape (n,)
            What is predicted for them.
        coverage : float, default=0.9
            The share of new rows whose target should be inside.

        Returns
        -------
        Intervals
        """
        reach, prediction = self.reach(coverage), np.asarray(prediction, dtype=float)
        reaches = reach * spread_at(self.spread_, plain_frame(self._frame(table)), prediction)
        return Intervals(prediction, prediction - reaches, prediction + reaches)

    def reach(self, coverage: float = 0.9) -> float:
        """The largest error of the predictions, for a share `coverage` of new rows.

        Parameters
        ----------
        coverage : float, default=0.9
            The share of new rows.

        Returns
        -------
        float
            Half of the width of `predict_interval`; with a `spread_`, for rows with the mean
            spread.
        """
        check_is_fitted(self)
        check_coverage(coverage)
        if self.task_ != "regression":
            raise ValueError(f"{self.target_!r} has classes; intervals apply to regression only.")
        if not len(self.residuals_):
            raise ValueError(
                "the errors of this model on unseen rows are unknown; use a model from "
                "gapless.choose."
            )
        return float(quantiles(self.residuals_[None], np.ones(len(self.residuals_)), coverage)[0])

    def score(self, table: Any, y: Any = None) -> float:
        """The score of rows by `metric_`, signed so that higher is better, as in scikit-learn.

        Parameters
        ----------
        table : Table, or data frame of polars or pandas
            The rows.
        y : array-like of shape (n,), default=None
            The target; None if it is a column of the table.

        Returns
        -------
        float
            Negative for a loss, such as the mean absolute error. `measure` keeps its sign.
        """
        return float(self._answered(table, y).value())

    def measure(self, table: Any, y: Any = None, *, rows: Any = None) -> Score:
        """Measure the model on rows whose target is known.

        Parameters
        ----------
        table : Table, or data frame of polars or pandas
            The table.
        y : array-like of shape (n,), default=None
            The target; None if it is a column of the table.
        rows : array-like of int, default=None
            The rows to score; all with a target if None.

        Returns
        -------
        Score
            `metric_` with its interval.
        """
        return self._answered(table, y, rows).score()

    def _answered(self, table: Any, y: Any, rows: Any = None) -> AnsweredRows:
        """The model's answers for the rows of a table that have a target, or for some of them."""
        check_is_fitted(self)
        table = _with_target(self._frame(table), y, self.target_)
        known = read_target(table, self.target_, self.task_, to_learn=False)
        if y is not None and self.classes_ is not None:
            labels = np.asarray(y)[known.rows]
            if labels.dtype.kind == self.classes_.dtype.kind:
                known = replace(known, values=labels)
        target = within(known, rows)
        return self.answered(table.frame[target.rows], target.values)

    def _frame(self, table: Any) -> Any:
        """The frame of a table; columns of an array, which has no names, are those of the fit.

        scikit-learn turns polars frames into arrays, as for its permutation importance.
        """
        if isinstance(table, Table):
            return table.frame
        if not isinstance(table, np.ndarray):
            return table
        names = [column.name for column in self.columns_ if column.name != self.target_]
        if table.ndim != 2 or table.shape[1] != len(names):
            raise TableError(
                f"an array must have the {len(names):,} columns of the fit in the same order, but "
                f"its shape is {table.shape}; pass a data frame, whose columns have names."
            )
        return frame_of({name: column.tolist() for name, column in zip(names, table.T)})

    def answered(self, frame: Any, y: Array) -> AnsweredRows:
        """The model's answers for rows with known targets, computed once.

        Parameters
        ----------
        frame : polars.DataFrame
            The rows.
        y : ndarray of shape (n,)
            Their targets.

        Returns
        -------
        AnsweredRows
        """
        classes = None if self.classes_ is None else np.union1d(self.classes_, y)
        parts = [Part(self.pipeline_, frame, np.arange(len(y)))]
        costs = None
        if classes is not None and self.metric_ == MEAN_COST:
            costs = read_cost_matrix(self.costs, classes)
        metric = Metric(self.metric_, classes, costs)
        return AnsweredRows(
            StandIn(parts, len(y), classes), y, metric, group_labels(frame, self.columns_)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.pipeline)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags


def _set_aside(column: Column) -> Column:
    """A column that the model does not use."""
    return replace(column, role="dropped", reason="not given") if column.is_feature else column


def _some(errors: Array) -> Array:
    """Errors in rising order; of many, some at equal distances: their quantiles are the same."""
    places = np.linspace(0, len(errors) - 1, min(len(errors), MOST_ROWS)).round().astype(int)
    return np.sort(errors)[places]


def _with_target(table: Any, y: Any, name: str) -> Table:
    """A table, with its target among the columns."""
    if y is None:
        return table_of(table)
    frame = plain_frame(table)
    if len(y) != frame.height:
        raise ValueError(f"y has {len(y):,} values, but the table has {frame.height:,} rows.")
    return table_of(frame.with_columns(frame_of({name: np.asarray(y).tolist()})[name]))


def within(target: Target, rows: Any) -> Target:
    """The target in some rows of its table; in all if None."""
    if rows is None:
        return target
    kept = np.isin(target.rows, np.asarray(rows))
    if not kept.any():
        raise TableError(f"{target.name!r} is missing in all of these rows.")
    return replace(target, values=target.values[kept], rows=target.rows[kept])
