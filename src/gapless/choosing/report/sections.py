"""The report as plain data, from which text, JSON and HTML are made: its numbers and sections."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np

# A number that may be unknown. JSON has no NaN and no infinity, so None represents both.
Number: TypeAlias = float | None
Value: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Measured:
    """A number with its interval, as `metrics.Score`.

    Attributes
    ----------
    name : str
        The name of the metric.
    value, low, high : float or None
        The number, and the ends of its interval.
    level : float
        The confidence level, such as 0.95.
    method : str
        How the interval was found.
    n : float
        How many rows the number rests on.
    """

    name: str
    value: Number
    low: Number
    high: Number
    level: float
    method: str
    n: float


def number(value: Any) -> Number:
    """A float, or None if it is unknown or infinite."""
    if value is None:
        return None
    plain = float(value)
    return plain if math.isfinite(plain) else None


def numbers(values: Any) -> tuple[Number, ...]:
    """Each converted by `number`."""
    return tuple(number(value) for value in values)


def plain_value(value: Any) -> Value:
    """The value of a setting: a number, a text, a boolean, or its name."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return number(value)
    return value if isinstance(value, str | int | bool) or value is None else str(value)


def measured(score: Any) -> Measured:
    """A score of `gapless.metrics` as plain data."""
    return Measured(
        name=str(score.name),
        value=number(score.value),
        low=number(score.low),
        high=number(score.high),
        level=float(score.level),
        method=str(score.method),
        n=float(score.n),
    )


@dataclass(frozen=True, slots=True)
class Mistake:
    """A class mistaken for another: how many of its rows, and which part of them."""

    true: str
    predicted: str
    rows: int
    share: float


@dataclass(frozen=True, slots=True)
class Confusion:
    """Which class was predicted for which, in the test rows.

    Attributes
    ----------
    class_count : int
        The number of classes.
    classes : tuple of str
        The classes; empty with the counts if there are too many for a matrix.
    counts : tuple of tuple of int
        Row i, column j: rows of class i predicted as class j.
    mistakes : tuple of Mistake
        The most frequent mistakes.
    words : str
        The matrix in words.
    """

    class_count: int
    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    mistakes: tuple[Mistake, ...]
    words: str


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve of the test rows: ROC, or precision by recall, with a band and its area.

    Attributes
    ----------
    x, y, low, high : tuple of float
        Its points, and the ends of the interval of each.
    area : Measured
        The area under it.
    chance : float or None
        The value of an uninformative score; None for the diagonal.
    of : str
        The positive class.
    """

    x: tuple[Number, ...]
    y: tuple[Number, ...]
    low: tuple[Number, ...]
    high: tuple[Number, ...]
    area: Measured
    chance: Number
    of: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """Predicted probabilities and observed shares, in bins of the test rows."""

    said: tuple[Number, ...]
    happened: tuple[Number, ...]
    low: tuple[Number, ...]
    high: tuple[Number, ...]
    sizes: tuple[Number, ...]
    error: Measured
    of: str
    words: str


@dataclass(frozen=True, slots=True)
class Residuals:
    """Predicted and true numbers of the test rows, or of some of them.

    Attributes
    ----------
    true, predicted : tuple of float
        Both, for the rows drawn.
    lower, upper : tuple of float
        Ends of the prediction intervals; empty without them.
    shown, rows : int
        The number of rows drawn, and of all test rows.
    coverage : Measured or None
        The share of all test rows within their interval.
    level : float or None
        The requested share.
    words : str
        The errors in words.
    """

    true: tuple[Number, ...]
    predicted: tuple[Number, ...]
    lower: tuple[Number, ...]
    upper: tuple[Number, ...]
    shown: int
    rows: int
    coverage: Measured | None
    level: Number
    words: str


@dataclass(frozen=True, slots=True)
class Coefficient:
    """The weight of a feature, for scaled numbers; `of` is the class it points to."""

    name: str
    value: float
    of: str


@dataclass(frozen=True, slots=True)
class Importance:
    """How much the test score drops when a column is shuffled."""

    name: str
    value: float
    standard_error: Number


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a picture, with its name."""

    name: str
    values: tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class Dependence:
    """How predictions change on average when one column is set to each of several values.

    Attributes
    ----------
    column : str
        Its name.
    values : tuple
        Numbers, or levels.
    lines : tuple of Line
        Mean predictions, or probabilities of one or more classes.
    answer : str
        The name of the prediction.
    """

    column: str
    values: tuple[Value, ...]
    lines: tuple[Line, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Uses:
    """What the model uses.

    Attributes
    ----------
    kind : str
        Its kind, in words.
    coefficients : tuple of Coefficient
        The most important ones of a linear model.
    coefficient_count : int
        The number of nonzero ones.
    rules : tuple of str
        Those of a single tree.
    rule_count : int
        Their number.
    importances : tuple of Importance
        The columns that matter most, the largest first.
    tried, features : int
        The number of columns shuffled, and of all.
    importance_metric : str
        The metric of the drop.
    dependences : tuple of Dependence
        Of the three most important columns.
    """

    kind: str
    coefficients: tuple[Coefficient, ...]
    coefficient_count: int
    rules: tuple[str, ...]
    rule_count: int
    importances: tuple[Importance, ...]
    tried: int
    features: int
    importance_metric: str
    dependences: tuple[Dependence, ...]


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one column contributes to the answer for a row.

    Attributes
    ----------
    what : str
        The column and its value.
    value : float
        The contribution.
    words : str
        The same with its sign, rounded.
    """

    what: str
    value: float
    words: str


@dataclass(frozen=True, slots=True)
class ExplainedRow:
    """A test row, and the reasons for its prediction.

    Attributes
    ----------
    row : int
        Its number in the table, from 1.
    true, predicted : str
        The target and the prediction.
    of : str
        The class for which the reasons speak, the predicted one; "" for numbers.
    average, answer : str
        The mean answer, and the one for this row: the average plus all contributions.
    reasons : tuple of Contribution
        The strongest ones.
    others : int
        How many columns also contribute.
    rest : str
        What these contribute together.
    """

    row: int
    true: str
    predicted: str
    of: str
    average: str
    answer: str
    reasons: tuple[Contribution, ...]
    others: int
    rest: str


@dataclass(frozen=True, slots=True)
class Reasons:
    """The reasons for single test rows.

    Attributes
    ----------
    scale : str
        What contributions add up to.
    background_rows : int
        The number of training rows compared with.
    is_sampled : bool
        Whether contributions are estimates.
    typical, wrong : tuple of ExplainedRow
        Typical rows, and those with the largest errors.
    """

    scale: str
    background_rows: int
    is_sampled: bool
    typical: tuple[ExplainedRow, ...]
    wrong: tuple[ExplainedRow, ...]


@dataclass(frozen=True, slots=True)
class Distribution:
    """Shares of the values of a column.

    Attributes
    ----------
    kind : {"bins", "levels", ""}
        Ranges of numbers or moments; levels, the most frequent first; or nothing to draw.
    labels : tuple of str
        First and last value of bins; names of levels.
    shares : tuple of float
        The part of the rows with a value in each bin, or with each level.
    """

    kind: str
    labels: tuple[str, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column of the table.

    Attributes
    ----------
    name, role, reason : str
        Its name, its role, and the reason.
    missing : float
        The share of missing values.
    distinct : int
        The number of distinct values.
    distribution : Distribution
        Its values.
    """

    name: str
    role: str
    reason: str
    missing: float
    distinct: int
    distribution: Distribution


@dataclass(frozen=True, slots=True)
class Found:
    """A finding about the table: its code, whether it is a warning, and what was found."""

    code: str
    severity: str
    title: str
    detail: str


@dataclass(frozen=True, slots=True)
class Data:
    """The table.

    Attributes
    ----------
    rows, column_count : int
        Its size.
    columns : tuple of ColumnFacts
        Those shown: the target, the most important ones, and the first others.
    roles : dict of str to int
        The number of columns with each role.
    findings : tuple of Found
        What the reader should know, warnings first; the first ones of many.
    finding_count : int
        Their number.
    notes : tuple of str
        What was decided in reading it; the first ones of many.
    note_count : int
        Their number.
    """

    rows: int
    column_count: int
    columns: tuple[ColumnFacts, ...]
    roles: dict[str, int]
    findings: tuple[Found, ...]
    finding_count: int
    notes: tuple[str, ...]
    note_count: int


@dataclass(frozen=True, slots=True)
class Model:
    """A family of models that was compared, or why it was not.

    Attributes
    ----------
    family : str
        Its name in words.
    status : {"judged", "stopped", "skipped", "failed"}
        Whether it was compared.
    reason : str
        Why not; "" if it was.
    is_chosen, is_best : bool
        Whether it was chosen, and whether it had the highest score.
    rows : int
        The number of training rows.
    train, unseen, standard_error : float or None
        The score on training rows and on unseen rows, and the standard error of the latter.
    behind, behind_error : float or None
        How far it is behind the best on the same rows, and the standard error.
    optimality, generalization : str
        Its two gaps in words.
    seconds : float
        The time it took.
    settings : dict of str
        The parameters it tuned.
    """

    family: str
    status: str
    reason: str
    is_chosen: bool
    is_best: bool
    rows: int
    train: Number
    unseen: Number
    standard_error: Number
    behind: Number
    behind_error: Number
    optimality: str
    generalization: str
    seconds: float
    settings: dict[str, Value]


@dataclass(frozen=True, slots=True)
class Learning:
    """How scores grow with the number of rows, as `evaluation.LearningCurve`.

    Attributes
    ----------
    sizes, train, unseen, standard_errors : tuple of float
        Numbers of rows, both scores, and the errors of the second.
    more_sizes, more_unseen, more_errors : tuple of float
        The expected scores with more rows.
    metric : str
        What the score is.
    advice : str
        Whether more rows would help, or what else, in sentences.
    note : str
        How fits differ from that of the model itself, and where the curve ends before all rows; ""
        if there is nothing to report.
    """

    sizes: tuple[Number, ...]
    train: tuple[Number, ...]
    unseen: tuple[Number, ...]
    standard_errors: tuple[Number, ...]
    more_sizes: tuple[Number, ...]
    more_unseen: tuple[Number, ...]
    more_errors: tuple[Number, ...]
    metric: str
    advice: str
    note: str


@dataclass(frozen=True, slots=True)
class Validation:
    """How the score depends on the tuned parameter.

    Attributes
    ----------
    parameter : str
        Its name.
    values : tuple
        The values tried.
    train : tuple of float or None
        The training score; None for values without one.
    unseen, standard_errors : tuple of float
        The score of unseen rows for each value, and its error.
    best, chosen : int
        Positions of the best value and of the chosen one.
    metric : str
        What the score is.
    higher_is_better : bool
        Whether higher is better.
    is_log : bool
        Whether the axis of the values is logarithmic.
    words : str
        What was chosen and why.
    """

    parameter: str
    values: tuple[Value, ...]
    train: tuple[Number, ...]
    unseen: tuple[Number, ...]
    standard_errors: tuple[Number, ...]
    best: int
    chosen: int
    metric: str
    higher_is_better: bool
    is_log: bool
    words: str


@dataclass(frozen=True, slots=True)
class Report:
    """What was found about a table and its model: plain data, rendered as text, JSON or HTML.

    Attributes
    ----------
    source, target, task, metric, method : str
        The table, the target, the task, the metric, and how rows were held out to compare models.
    higher_is_better : bool
        Whether higher is better; False for losses.
    train_rows, test_rows, seed : int
        The sizes of the two parts, and the seed of all draws.
    seconds : float
        How long all of it took.
    model : str
        The family that was chosen.
    answer : str
        The result in one sentence.
    certainty : tuple of str
        How certain it is, in sentences.
    test, baseline : Measured
        The test scores of the model and of the baseline.
    ahead : Measured
        How much better the first is than the second, compared row by row; above 0 if it is better.
    expected, expected_error : float or None
        The estimate of the comparison, corrected for selection, and its standard error.
    expected_low, expected_high : float or None
        The range expected to contain the test score with a probability of 95 %.
    models : tuple of Model
        All families, the best first.
    choice : str
        Why this one was chosen.
    gaps : tuple of str
        The two gaps of the chosen model in words.
    learning, validation, confusion, calibration, residuals : or None
        Sections; one that is None is named in `left_out`, unless it does not apply to the task.
    roc, precision_recall : tuple of Curve
        One curve for the second of two classes; for more classes one each against the rest, for
        some of them.
    uses : Uses
        What the model uses.
    reasons : Reasons or None
        The reasons for typical and for wrong test rows.
    data : Data
        The table.
    advice : tuple of str
        What to do next.
    code : str
        Python code for the same model.
    versions : dict of str
        Of Python and of the packages.
    left_out : dict of str
        Sections that are missing, and why.
    """

    source: str
    target: str
    task: str
    metric: str
    higher_is_better: bool
    method: str
    train_rows: int
    test_rows: int
    seed: int
    seconds: float
    model: str
    answer: str
    certainty: tuple[str, ...]
    test: Measured
    baseline: Measured
    ahead: Measured
    expected: Number
    expected_error: Number
    models: tuple[Model, ...]
    choice: str
    gaps: tuple[str, ...]
    learning: Learning | None
    validation: Validation | None
    confusion: Confusion | None
    roc: tuple[Curve, ...]
    precision_recall: tuple[Curve, ...]
    calibration: Calibration | None
    residuals: Residuals | None
    uses: Uses
    data: Data
    advice: tuple[str, ...]
    code: str
    versions: dict[str, str]
    left_out: dict[str, str]
    expected_low: Number = None
    expected_high: Number = None
    reasons: Reasons | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain strings, numbers, lists and mappings."""
        return asdict(self)
