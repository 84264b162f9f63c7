"""`gapless.choose`: from a table and the name of its target to a tested model."""

from __future__ import annotations

import math
import time as clock
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from .._ground.cost_matrices import named_costs, read_cost_matrix
from .._ground.interrupt import TimeLimit, deadline
from .._ground.interrupt import time_limit as limited
from ..data import (
    FEATURES,
    Column,
    Finding,
    Split,
    Table,
    Target,
    Task,
    counted,
    describe_columns,
    find_leaks,
    read_target,
    table_of,
)
from ..unseen import Part, StandIn
from .budget import Budget, OwnTime
from .choice import Answers, Candidate, Choice, Progress
from .code import code_of
from .families import families_for
from .family import Facts, facts_of
from .judging import Judging, check_test, refuse_huge
from .metric import AnsweredRows, metric_of, read_costs
from .ranking import Ranking, described, rank
from .schedule import Schedule
from .splitting import baseline_model, group_labels, rows_of, set_aside
from .table_model import TableModel, within

Array = np.ndarray

# Seconds that mean no limit.
FOREVER = 1e9
# Of the intervals shown with the test.
COVERAGE = 0.9
# Stages that end the work on a family.
ENDS = ("judged", "skipped")


def choose(
    table: Any,
    target: str,
    *,
    task: Task | Literal["auto"] = "auto",
    models: str | Sequence[str] | None = None,
    metric: str = "auto",
    time_limit: float | None = 60.0,
    test: float = 0.2,
    group: str | None = None,
    time: str | None = None,
    drop: Sequence[str] = (),
    costs: Any = None,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
) -> Choice:
    """Choose a model for a table, and estimate its score on unseen rows.

    Parameters
    ----------
    table : Table, or data frame of polars or pandas
        The table; `gapless.data.read_table` reads files.
    target : str
        The column to predict.
    task : {"auto", "classification", "regression"}, default="auto"
        The task of predicting it.
    models : str, sequence of str or None, default=None
        Families of models, by name, such as "boosted trees"; a text may list several, separated by
        commas. None tries all that suit the table. The baseline is always included.
    metric : str, default="auto"
        The metric to compare: accuracy, error_rate, balanced_accuracy, f1, precision, recall,
        roc_auc, average_precision, log_loss, brier, or r2, mse, rmse, mae. "auto" is R² for
        regression, the area under the ROC curve for two classes if one has ten times as many rows
        as the other, the mean cost if costs are given, and else the accuracy.
    time_limit : float or None, default=60.0
        Seconds for everything; None for no limit.
    test : float, default=0.2
        The part of the rows set aside first and used once, at the end.
    group, time : str or None, default=None
        The column whose equal values stay together, and the one that orders rows in time: the
        latest rows are then the test rows.
    drop : sequence of str, default=()
        Columns to exclude.
    costs : path, array-like, mapping or None, default=None
        The costs of decisions: a file or a table (K, K) with a row for each true class and a column
        for each decision, or the cost of missing each class. Decisions are then those of least
        expected cost.
    seed : int, default=0
        Seed of all random draws: the same seed gives the same result, unless the time limit cuts it
        short.
    on_progress : callable, default=None
        Called with a `Progress` before each fit and after each family.

    Returns
    -------
    Choice
        Prints as a table; `model` is the fitted model, for `gapless.save` and predictions.

    Raises
    ------
    TableError
        If nothing can be learned from the table; the message says why, and what to do.
    ValueError
        If an option is unknown.

    Notes
    -----
    All families are judged on the same held-out rows: 5 folds, or a fifth of the rows from 20,000
    rows on. The simplest within one standard error (of the paired difference) of the best is
    chosen, and its score corrected for selection. A family too slow for the limit is judged on some
    of the rows, or skipped with a reason.

    Examples
    --------
    >>> import gapless
    >>> from gapless.data import load_builtin
    >>> choice = gapless.choose(load_builtin("iris"), "species", models="linear discriminants")
    >>> choice.chosen, choice.method
    ('linear discriminants', '5-fold')
    """
    began, work = clock.monotonic(), OwnTime()
    report = _Progress(began, min(_seconds(time_limit), deadline() - began), on_progress)
    roles = {"group": group, "time": time, "drop": drop}
    given = _SplitTable.of(table, target, task, report, test=test, seed=seed, **roles)
    named = _read_costs(costs, given.target)
    judging = Judging(
        rows_of(given.table, given.columns, given.target, given.split.train),
        given.columns,
        metric_of(metric, given.target.task, given.learned.values, named),
        Budget(min(report.limit, FOREVER), given.facts, work=work, began=began),
        len(given.split.test),
        seed,
        report,
    )
    check_test(judging.metric, given.tested.values, given.target)
    families = families_for(given.facts, _names(models))
    report.total = len(families)
    trials = Schedule(judging).run(families)
    report("ranking", text="correcting the best score for selection")
    ranking = rank(trials, judging.rows, judging.metric, given.test_units)
    model, learned_rows, notes = _fitted(judging, ranking, given, named)
    report("testing", ranking.chosen.family.name, text="the test rows")
    kind = ranking.chosen.family.kind
    code = code_of(
        model, kind, given.table, given.columns, test=test, seed=seed, learned=learned_rows
    )
    return Choice(
        **_judged(given, judging, ranking, model),
        **_tested(given, judging, model),
        findings=given.findings,
        columns=given.columns,
        notes=(*given.table.notes, *_decided(given.target, judging, metric), *notes),
        source=given.table.source,
        rows=len(given.target.rows),
        code=code,
        seconds=clock.monotonic() - began,
        seed=seed,
        model=model,
        split=given.split,
        costs=None if named is None else read_cost_matrix(named, model.pipeline_.classes_),
    )


@dataclass(frozen=True, eq=False)
class _SplitTable:
    """A table with the roles of its columns, its target, test rows set aside, and findings."""

    table: Table
    columns: tuple[Column, ...]
    target: Target
    split: Split
    findings: tuple[Finding, ...]

    @classmethod
    def of(
        cls,
        given: Any,
        name: str,
        task: Task | Literal["auto"],
        report: _Progress,
        *,
        test: float,
        seed: int,
        **roles: Any,
    ) -> _SplitTable:
        """Read the columns and the target `name`; `roles` names the columns that are special."""
        table = table_of(given)
        report("columns", text="looking at the columns")
        columns = describe_columns(table, name, **roles)
        target = read_target(table, name, task)
        refuse_huge(target)
        split = set_aside(table, columns, target, test=test, seed=seed)
        report("columns", text=f"{in_short(columns)}; checking them for leaks and other problems")
        findings = find_leaks(table, columns, target, split, seed=seed)
        for finding in findings:
            report("finding", text=str(finding))
        return cls(table, columns, target, split, findings)

    @cached_property
    def learned(self) -> Target:
        """The target of the training rows."""
        return within(self.target, self.split.train)

    @cached_property
    def tested(self) -> Target:
        """The target of the test rows."""
        return within(self.target, self.split.test)

    @cached_property
    def facts(self) -> Facts:
        """What decides which families suit the training rows."""
        return facts_of(self.columns, self.target, self.split.train)

    @property
    def test_frame(self) -> Any:
        """The test rows."""
        return self.table.frame[self.split.test]

    @property
    def test_units(self) -> int:
        """The number of groups among the test rows, or of rows without groups."""
        labels = group_labels(self.test_frame, self.columns)
        return len(self.split.test) if labels is None else int(labels.max()) + 1


# ---- what the caller requests --------------------------------------------------------------------


def _seconds(time_limit: float | None) -> float:
    """The limit as a number of seconds."""
    limit = math.inf if time_limit is None else float(time_limit)
    if not limit > 0:
        raise ValueError(f"time_limit must be None or more than 0 seconds, got {time_limit!r}.")
    return limit


def _names(models: str | Sequence[str] | None) -> list[str] | None:
    """Families by name, from a list or a comma-separated text."""
    if models is None or (isinstance(models, str) and models.strip() in ("", "all", "auto")):
        return None
    named = models.split(",") if isinstance(models, str) else models
    return [name.strip() for name in named if name.strip()]


def _read_costs(costs: Any, known: Target) -> dict[Any, dict[Any, float]] | None:
    """Costs of all classes of the table, by name: a part of its rows may lack one."""
    if costs is None:
        return None
    if known.task == "regression":
        raise ValueError(f"{known.name!r} is a number; costs apply to classification only.")
    classes = np.unique(known.values)
    return named_costs(read_costs(costs, classes), classes)


def in_short(columns: Sequence[Column]) -> str:
    """How many columns there are of each role: 22 numbers, 8 categories, 1 id excluded."""
    counts: Counter[str] = Counter(column.role for column in columns)
    named = [counted(counts[role], role) for role in FEATURES if counts[role]]
    aside = [counted(counts[role], role) for role in ("id", "constant") if counts[role]]
    return ", ".join([*named, *(f"{text} excluded" for text in aside)])


class _Progress:
    """Reports to a caller what is being done, if there is one."""

    def __init__(self, began: float, limit: float, on_progress: Callable[[Progress], None] | None):
        self.began, self.limit, self.on_progress = began, limit, on_progress
        self.ended: set[str] = set()
        self.total = 0

    def __call__(self, stage: str, model: str = "", *, text: str) -> None:
        """Pass on an event; a finished family is counted, once."""
        if stage in ENDS:
            self.ended.add(model)
        if self.on_progress is None:
            return
        seconds = clock.monotonic() - self.began
        done, total = len(self.ended), self.total
        self.on_progress(Progress(stage, model, done, total, seconds, self.limit, text))


# ---- the end -------------------------------------------------------------------------------------


def _fitted(
    judging: Judging,
    ranking: Ranking,
    given: _SplitTable,
    named: dict[Any, dict[Any, float]] | None,
) -> tuple[TableModel, str, list[str]]:
    """The chosen family, fitted to all training rows if there is time.

    Also which of the folds' rows these are, in code, "" for all; and notes about it.
    """
    trial, learned = ranking.chosen, given.learned
    assert trial.held is not None
    most = min(trial.family.most_rows(judging.budget.facts), len(judging.rows))
    rows, which, notes = judging.folds.first(trial.rows), "first", []
    fitted = trial.held.first.pipeline
    if len(rows) < most:
        again, others, why = judging.refit(trial, most)
        if again is not None:
            fitted, rows, which = again, others, "of_all"
        if len(rows) < most:
            said = f"learned from {len(rows):,} of {most:,} rows: {why}"
            notes.append(f"{trial.family.name} {said}")
    elif most < len(judging.rows):
        notes.append(f"{trial.family.name} learned from {most:,} rows, the most it can")
    model = TableModel(
        judging.pipeline(trial.family),
        learned.name,
        task=learned.task,
        metric=judging.metric.name,
        costs=named,
    )
    judging.say("finishing", trial.family.name, text="recording the profile of the table")
    model.take_over(fitted, given.table, within(learned, learned.rows[rows]), judging.columns)
    model.expect(ranking.expected, ranking.expected_error, ranking.residuals)
    _tell_apart(model, judging, ranking)
    return model, "" if len(rows) == len(judging.rows) else f"{which}({len(rows)})", notes


def _tell_apart(model: TableModel, judging: Judging, ranking: Ranking) -> None:
    """Learn where errors are large, if numbers are predicted and there is time."""
    held, residuals = ranking.chosen.held, ranking.residuals
    if held is None or residuals is None:
        return
    budget, test = judging.budget, judging.test_seconds(ranking.chosen)
    seconds = max(budget.clock_left - budget.load * test, 0.0)
    with suppress(TimeLimit), limited(seconds):
        rows, tested = judging.rows, held.tested
        model.tell_apart(rows.take(tested), held.predicted, residuals, rows.units[tested])


def _judged(
    given: _SplitTable, judging: Judging, ranking: Ranking, model: TableModel
) -> dict[str, Any]:
    """What the held-out rows say of all candidates, as attributes of the choice."""
    return {
        "target": given.target.name,
        "task": given.target.task,
        "metric": judging.metric.name,
        "higher_is_better": not judging.metric.is_loss,
        "method": judging.folds.method,
        "candidates": _with_final(ranking, model),
        "best": ranking.best.family.name,
        "chosen": ranking.chosen.family.name,
        "expected": ranking.expected,
        "expected_error": ranking.expected_error,
        "expected_range": ranking.expected_range,
    }


def _tested(given: _SplitTable, judging: Judging, model: TableModel) -> dict[str, Any]:
    """What the test rows say of the chosen model, as attributes of the choice."""
    frame = given.test_frame
    answered = model.answered(frame, given.tested.values)
    baseline = _baseline(judging, given.learned, answered)
    return {
        "test": answered.score(),
        "baseline": baseline.score(),
        "ahead": answered.ahead_of(baseline),
        "answers": _answers(model, answered, frame),
        "test_groups": None if answered.groups is None else int(answered.groups.max()) + 1,
    }


def _with_final(ranking: Ranking, model: TableModel) -> tuple[Candidate, ...]:
    """All candidates, the chosen one described by its last fit."""
    chosen = ranking.chosen.family.name
    return tuple(
        described(one, model.pipeline_) if one.family == chosen else one
        for one in ranking.candidates
    )


def _baseline(judging: Judging, learned: Target, answered: AnsweredRows) -> AnsweredRows:
    """The predictions of the baseline for the same rows."""
    model = judging.decided(baseline_model(learned.task))
    model.fit(np.zeros((len(learned.values), 1)), learned.values)
    n = len(answered.y)
    parts = [Part(model, np.zeros((n, 1)), np.arange(n))]
    return replace(answered, model=StandIn(parts, n, answered.metric.classes))


def _answers(model: TableModel, answered: AnsweredRows, frame: Any) -> Answers:
    """The model's predictions for the test rows."""
    if model.classes_ is None:
        predicted, lower, upper = model.around(frame, answered("predict"), COVERAGE)
        return Answers(answered.y, predicted, None, lower, upper, COVERAGE)
    has_probabilities = hasattr(model, "predict_proba")
    return Answers(
        answered.y, answered("predict"), answered("predict_proba") if has_probabilities else None
    )


def _decided(known: Target, judging: Judging, metric: str) -> list[str]:
    """What was decided for the caller."""
    notes = [f"{known.name!r} is a target for {known.task}: {known.reason}"]
    if metric == "auto":
        notes.append(f"models are compared by {judging.metric.title}")
    return notes
