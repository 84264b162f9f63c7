"""What to do next, in words that follow from numbers."""

from __future__ import annotations

import math

from ..choosing.choice import Choice
from .phrases import joined, named
from .sections import Calibration, Learning, Validation

# An interval wider than so much of a share says that the test is small.
WIDE = 0.1


def advice_of(
    choice: Choice,
    learning: Learning | None,
    validation: Validation | None,
    calibration: Calibration | None,
) -> tuple[str, ...]:
    """What to do next, the most useful first."""
    said = (
        _about_warnings(choice),
        _more_data_or_richer(choice, learning),
        _about_columns(choice),
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
        return f"The learning curve says: {learning.advice}.{_tried_richer(choice, learning)}"
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


def _tried_richer(choice: Choice, learning: Learning) -> str:
    """What became of richer models, where the curve asks for one."""
    chosen = choice[choice.chosen]
    richer = [
        one.family
        for one in choice.candidates
        if one.is_judged and one.complexity > chosen.complexity
    ]
    if "richer" not in learning.advice or not richer:
        return ""
    return (
        f" Richer models were tried ({joined(richer[-3:])}), and none is better by more than a "
        "standard error: look for better columns."
    )


def _about_columns(choice: Choice) -> str:
    if all(one.code != "D205" for one in choice.findings):
        return ""
    return (
        "Get more columns: some rows are equal in all of them and differ in the target (D205), and "
        "no model can tell these apart."
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
    if calibration is None or not calibration.error.low:
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
