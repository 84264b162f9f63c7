"""Choice: which model was chosen for a table, among which, and its expected score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from .._ground.notebook import ShownInNotebook, as_html, table
from ..data import Column, Finding, Split
from ..metrics import Score
from .fitted_models import Tuning
from .table_model import TableModel

Array = np.ndarray

Status = Literal["judged", "stopped", "skipped", "failed"]


@dataclass(frozen=True, slots=True)
class Progress:
    """What is being done.

    Attributes
    ----------
    stage : str
        "columns", "finding", "preparing" or "judging" (before each part and fit), "judged",
        "skipped", "ranking", "fitting", "finishing" or "testing".
    model : str
        The family; "" if none is concerned.
    done, total : int
        Families that are done, and all.
    seconds, limit : float
        The seconds since the beginning, and the limit; inf without one.
    text : str
        The same in words.
    """

    stage: str
    model: str
    done: int
    total: int
    seconds: float
    limit: float
    text: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A family of models, and its score on unseen rows.

    Attributes
    ----------
    family : str
        Its name in words.
    model : str
        The class of its estimator.
    complexity : int
        Its rank of simplicity; 0 is the simplest.
    status : {"judged", "stopped", "skipped", "failed"}
        Whether it was scored; stopped and skipped ones were too slow for the time limit.
    reason : str
        Why it was not judged, or not on all rows; "" if there is nothing to report.
    rows : int
        The number of rows of its largest fit.
    train, unseen : float or None
        The scores on training rows and on unseen rows, with the metric's own sign: for a loss
        lower is better.
    standard_error : float or None
        Of `unseen`.
    gap : float or None
        How much better it is on training rows.
    behind, behind_error : float or None
        How far it is behind the best one on the same rows, and the standard error of that.
    is_clearly_behind : bool
        Whether the best one does clearly better, by the rule of `generalization_`.
    expected : float or None
        `unseen`, corrected for selection.
    optimality : str
        Its certificate in words; "" for models without one.
    generalization : str
        "over-fitted", "under-fitted" or "balanced", and why, in words; see
        `choosing.gap_verdicts`.
    seconds : float
        The time of its fits and predictions.
    settings : mapping of str to plain values
        The parameters it tuned.
    tuning : Tuning or None
        The scores of the settings tried.
    """

    family: str
    model: str
    complexity: int
    status: Status
    reason: str = ""
    rows: int = 0
    train: float | None = None
    unseen: float | None = None
    standard_error: float | None = None
    gap: float | None = None
    behind: float | None = None
    behind_error: float | None = None
    is_clearly_behind: bool = False
    expected: float | None = None
    optimality: str = ""
    generalization: str = ""
    seconds: float = 0.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    tuning: Tuning | None = None

    @property
    def is_judged(self) -> bool:
        """Whether it has a score."""
        return self.status == "judged"

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain strings, numbers, lists and dictionaries."""
        tuning = None if self.tuning is None else self.tuning.to_dict()
        return asdict(replace(self, tuning=None)) | {"tuning": tuning}


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """The chosen model's predictions for the test rows, (m,) each, in the order of the split.

    Attributes
    ----------
    y : ndarray
        The true values.
    predicted : ndarray
        The predictions.
    probabilities : ndarray of shape (m, K) or None
        Of all classes in their order, if the model has probabilities.
    lower, upper : ndarray or None
        Ends of the prediction intervals, for regression.
    coverage : float
        The share of new rows that these intervals should contain.
    """

    y: Array
    predicted: Array
    probabilities: Array | None = None
    lower: Array | None = None
    upper: Array | None = None
    coverage: float = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class Choice(ShownInNotebook):
    """The model chosen for a table, and why. Prints as a table of all candidates.

    Attributes
    ----------
    target, task : str
        The column to predict, and whether that is classification or regression.
    metric : str
        The metric, by its name in `gapless.metrics`, or "mean_cost".
    higher_is_better : bool
        Whether higher is better; False for losses.
    method : str
        How rows were held out to judge the candidates.
    candidates : tuple of Candidate
        All families, the simplest first.
    best, chosen : str
        The family with the best score, and the simplest one within one standard error of it.
    expected, expected_error : float
        The expected score of the chosen one on unseen rows, corrected for selection, and its
        standard error.
    expected_range : tuple of two floats
        The range that contains the test score with a probability of 95 %: the expected score is not
        known exactly, and few test rows vary.
    test, baseline : Score
        The scores of the chosen model and of the baseline on the test rows.
    ahead : Score
        How much better the chosen model is than the baseline on these rows, row by row: above 0 if
        it is better, even if lower is better.
    findings : tuple of Finding
        What may be wrong with the table.
    columns : tuple of Column
        Its columns with their roles.
    notes : tuple of str
        What was decided on the way, one sentence each.
    source : str
        Where the table comes from.
    rows : int
        The number of rows with a target.
    code : str
        Python code that fits the same model again.
    seconds : float
        The time everything took.
    seed : int
        The seed of all random draws.
    model : TableModel
        The chosen model, fitted to all training rows.
    split : Split
        The training and test rows of the table.
    answers : Answers
        The model's predictions for the test rows.
    costs : ndarray of shape (K, K) or None
        The costs of decisions, rows for true classes and columns for decisions, if given.
    test_groups : int or None
        The number of groups among the test rows, if rows of a group stay together: intervals of
        `test`, `baseline` and `ahead` then count groups.
    """

    target: str
    task: str
    metric: str
    higher_is_better: bool
    method: str
    candidates: tuple[Candidate, ...]
    best: str
    chosen: str
    expected: float
    expected_error: float
    expected_range: tuple[float, float]
    test: Score
    baseline: Score
    ahead: Score
    findings: tuple[Finding, ...]
    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    source: str
    rows: int
    code: str
    seconds: float
    seed: int
    model: TableModel
    split: Split
    answers: Answers
    costs: Array | None = None
    test_groups: int | None = None

    def __getitem__(self, family: str) -> Candidate:
        return {one.family: one for one in self.candidates}[family]

    @property
    def judged(self) -> tuple[Candidate, ...]:
        """The candidates that have a score, the best first."""
        sign = -1.0 if self.higher_is_better else 1.0
        known = [one for one in self.candidates if one.unseen is not None]
        return tuple(sorted(known, key=lambda one: sign * (one.unseen or 0.0)))

    def __str__(self) -> str:
        lines = [
            f"{self.chosen}: {self.test.name} {self.test.value:.4g} ({self.test.low:.4g} to "
            f"{self.test.high:.4g}) on {len(self.split.test):,} test rows",
            f"expected in the test: {self.expected_range[0]:.4g} to {self.expected_range[1]:.4g} "
            f"(95 % interval, by {self.method}); baseline {self.baseline.value:.4g}",
            *self._why(),
            *self._table(),
        ]
        return "\n".join(lines)

    def _why(self) -> list[str]:
        if self.chosen == self.best:
            return []
        one = self[self.chosen]
        return [
            f"the simplest within one standard error of {self.best}: {one.behind:.2g} ± "
            f"{one.behind_error:.2g} behind it"
        ]

    def _table(self) -> list[str]:
        width = max(len(one.family) for one in self.candidates)
        lines = [f"{'':<{width}}    train   unseen           behind the best  seconds"]
        for one in self.judged:
            behind = "" if not one.behind else f"{one.behind:.4f} ± {one.behind_error:.4f}"
            lines.append(
                f"{one.family:<{width}}  {one.train:7.4g}  {one.unseen:7.4g} ± "
                f"{one.standard_error:<7.2g}  {behind:<15}  {one.seconds:7.2f}"
            )
        for one in self.candidates:
            if one.reason:
                status = "" if one.is_judged else f"{one.status}: "
                lines.append(f"{one.family:<{width}}  {status}{one.reason}")
        return lines

    def _repr_html_(self) -> str:
        said = str(self).removesuffix("\n".join(["", *self._table()]))
        head = ["", "optimality", "unseen rows", "train", "unseen", "behind the best", "seconds"]
        rows = [
            [
                f"{one.family}{' (chosen)' if one.family == self.chosen else ''}",
                one.optimality.partition(":")[0],
                one.generalization.partition(":")[0],
                f"{one.train:.4g}",
                f"{one.unseen:.4g} ± {one.standard_error:.2g}",
                "" if not one.behind else f"{one.behind:.2g} ± {one.behind_error:.2g}",
                f"{one.seconds:.1f}",
            ]
            for one in self.judged
        ]
        left_out = [f"{one.family}: {one.reason}" for one in self.candidates if one.reason]
        below = as_html("\n".join(left_out))
        return f"<div>{as_html(said)}{table(head, rows, texts=3)}{below}</div>"

    def __repr__(self) -> str:
        return f"<Choice of {len(self.candidates)} families: {self.chosen}, {self.test!r}>"

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain strings, numbers, lists and dictionaries, without the model."""
        plain = (
            "target",
            "task",
            "metric",
            "higher_is_better",
            "method",
            "best",
            "chosen",
            "expected",
            "expected_error",
            "source",
            "rows",
            "code",
            "seconds",
            "seed",
            "test_groups",
        )
        return {name: getattr(self, name) for name in plain} | {
            "candidates": [one.to_dict() for one in self.candidates],
            "test": self.test.to_dict(),
            "baseline": self.baseline.to_dict(),
            "ahead": self.ahead.to_dict(),
            "findings": [finding.to_dict() for finding in self.findings],
            "columns": [column.to_dict() for column in self.columns],
            "notes": list(self.notes),
            "train_rows": len(self.split.train),
            "test_rows": len(self.split.test),
            "costs": None if self.costs is None else self.costs.tolist(),
            "expected_range": list(self.expected_range),
        }
