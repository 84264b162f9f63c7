"""The report as plain data, from which text, JSON and HTML are made, and its sections on models."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .column_sections import Data, Uses
from .plain import Measured, Number, Value
from .row_sections import Calibration, Confusion, Curve, Residuals


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
        How many rows it learned from.
    train, unseen, standard_error : float or None
        The score of its own rows, of rows that it had not seen, and the error of that.
    behind, behind_error : float or None
        How far it is behind the best on the same rows, and the error of that.
    optimality, generalization : str
        Its two gaps in words.
    seconds : float
        How long it took.
    settings : dict of str
        What it chose for itself.
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
        What is expected of more rows than there are.
    metric : str
        What the score is.
    advice : str
        Whether more rows would help, or what else, in sentences.
    note : str
        How fits differ from that of the model itself, and where the curve ends before all rows;
        "" if there is nothing to say.
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
    """How the score depends on the parameter that was tuned.

    Attributes
    ----------
    parameter : str
        Its name.
    values : tuple
        What was tried.
    train : tuple of float or None
        The score of the rows that were learned from; None for values without one.
    unseen, standard_errors : tuple of float
        The score of unseen rows for each value, and its error.
    best, chosen : int
        Places of the best value, and of the one that was chosen.
    metric : str
        What the score is.
    higher_is_better : bool
        Whether more of it is better.
    is_log : bool
        Whether values stand on a logarithmic axis.
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
        The table, what is predicted, which task that is, what is measured, and how rows were held
        out to compare models.
    higher_is_better : bool
        Whether more of the metric is better; not so for losses.
    train_rows, test_rows, seed : int
        The sizes of the two parts, and the seed of all draws.
    seconds : float
        How long all of it took.
    model : str
        The family that was chosen.
    answer : str
        The result in one sentence.
    certainty : tuple of str
        How sure it is, in sentences.
    test, baseline : Measured
        The score of the test rows: of the model, and of one that knows no columns.
    ahead : Measured
        How much better the first is than the second, compared row by row; above 0 if it is better.
    expected, expected_error : float or None
        What the comparison promised, corrected for the choice, and the standard error of that.
    expected_low, expected_high : float or None
        Between which numbers the score of the test rows was expected at 95 %.
    models : tuple of Model
        All families, the best first.
    choice : str
        Why this one was chosen.
    gaps : tuple of str
        The two gaps of the chosen model: how far from optimal, how far from unseen data.
    learning, validation, confusion, calibration, residuals : or None
        Sections; one that is None is named in `left_out`, unless it makes no sense for the task.
    roc, precision_recall : tuple of Curve
        One curve of the second of two classes; of more classes one each against all others, for
        some of them.
    uses : Uses
        What the model uses.
    data : Data
        The table.
    advice : tuple of str
        What to do next.
    code : str
        Python that gives the same model.
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

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain strings, numbers, lists and mappings."""
        return asdict(self)
