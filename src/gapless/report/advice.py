"""What to do next, in words that follow from numbers."""

from __future__ import annotations

import math

from ..choosing.choice import Choice
from .phrases import joined, named, percent
from .row_sections import Calibration
from .sections import Learning, Validation

# An interval wider than so much of a share says that the test is small.
WIDE = 0.1
# From this share of rows on, equal rows of different classes matter little.
HIGH = 0.98
# Probabilities that are off by less are good enough to be used.
SMALL = 0.01


def advice_of(
    choice: Choice,
    learning: Learning | None,
    validation: Validation | None,
    calibration: Calibration | None,
    ceiling: float | None,
) -> tuple[str, ...]:
    """What to do next, the most useful first.

    `ceiling` is the share of rows that the best of all models would get right, if it is known.
    """
    said = (
        _about_warnings(choice),
        _more_data_or_richer(choice, learning),
        _about_columns(ceiling),
        _about_time(choice),
        _about_range(validation),
        _about_calibration(calibration),
        _about_test(choice),
    )
    return tuple(text for text in said if text)


def _about_warnings(choice: Choice) -> str:
    warned = [one for one in choice.findings if one.severity == "warning"]
    if not warned:
        return ""
    names = list(dict.fromkeys(name for one in warned for name in one.columns))
    codes = joined(sorted({one.code for one in warned}))
    about = f" about {joined([named(name) for name in names[:3]])}" if names else ""
    return f"First look at {codes}{about}: if the warning is right, the scores are too good."


def _more_data_or_richer(choice: Choice, learning: Learning | None) -> str:
    if learning is not None:
        asks_for_a_model = learning.advice.startswith("take")
        tried = _tried(choice) if asks_for_a_model else ""
        return f"The learning curve says: {learning.advice}.{tried}"
    chosen = choice[choice.chosen]
    if chosen.gap is None or chosen.standard_error is None:
        return ""
    if chosen.gap > 2 * chosen.standard_error:
        return (
            f"Get more data, or a simpler model: the score of its own rows is {chosen.gap:.2g} "
            "better than that of unseen ones, more than two standard errors."
        )
    return (
        "Get better columns, or a richer model, rather than more rows: the scores of its own rows "
        "and of unseen ones are no more than two standard errors apart."
    )


def _tried(choice: Choice) -> str:
    """What the comparison says of simpler and of richer models, by the rule of the choice."""
    place = choice[choice.chosen].complexity
    others = [one.complexity for one in choice.candidates if one.is_judged and one.complexity]
    found = []
    if any(one < place for one in others):
        found.append("simpler ones are worse")
    if any(one > place for one in others):
        found.append("richer ones no better by more than a standard error")
    if not found:
        return ""
    return f" Of the models compared, {' and '.join(found)}: better columns promise most."


def _about_columns(ceiling: float | None) -> str:
    if ceiling is None or ceiling > HIGH:
        return ""
    return (
        "Get more columns: rows that are equal in all of them differ in the target (D205), and no "
        f"model that sees only these can be right in more than {percent(ceiling)} of the rows."
    )


def _about_time(choice: Choice) -> str:
    skipped = [one.family for one in choice.candidates if one.status == "skipped"]
    if not skipped:
        return ""
    return f"Give it more time (--time-limit): {joined(skipped)} could not be tried."


def _about_range(validation: Validation | None) -> str:
    if validation is None or len(validation.values) < 3 or validation.parameter == "rounds":
        return ""
    if 0 < validation.best < len(validation.values) - 1:
        return ""
    value = validation.values[validation.best]
    return (
        f"The best {validation.parameter} is {value:.3g}, at the end of what was tried: values "
        "beyond it may be better still."
        if isinstance(value, int | float)
        else ""
    )


def _about_calibration(calibration: Calibration | None) -> str:
    if calibration is None or (calibration.error.low or 0.0) < SMALL:
        return ""
    return (
        "If you use the probabilities, correct them first (gapless.metrics.recalibrate): they are "
        "off by more than chance explains."
    )


def _about_test(choice: Choice) -> str:
    width = choice.test.high - choice.test.low
    if not (math.isfinite(width) and choice.metric in ("accuracy", "r2", "roc_auc", "error_rate")):
        return ""
    if width <= WIDE:
        return ""
    return (
        f"The test rests on {len(choice.split.test):,} rows, and its interval is {width:.2g} wide: "
        "with more rows one would know better how good the model is."
    )
