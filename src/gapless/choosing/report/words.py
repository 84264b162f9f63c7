"""The sentences of a report, from its first line (`answer`) on.

Those on what to do next are in advice; numbers and names within sentences are written by phrases.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._ground.percent import percent
from ...data import counted
from ...evaluation import LearningCurve
from ...metrics import ConfusionMatrix, Score
from .. import Candidate, Choice, Metric, Tuning
from .phrases import amount, behind, beside, joined, quoted, rounded, shares
from .sections import Mistake

# Metrics that are shares of rows, pairs or variation, and are written in percent. Names of families
# are singular or plural, so these sentences have no verb that would have to agree with them.
SHARES = {
    "accuracy": "{value} of {rows} predicted correctly",
    "error_rate": "{value} of {rows} predicted wrongly",
    "r2": "{value} of the variation explained in {rows}",
    "roc_auc": "{value} of pairs of different classes ranked correctly in {rows}",
}
# A final model that learned from this many times the rows of the comparison may well be better.
FEWER = 0.75
# Probabilities that may be off by more than this have not been shown to be right.
UNCLEAR = 0.05
# Scores that differ by less than this part are called the same.
ALIKE = 0.01
# Up to this many classes the costs of all mistakes are listed.
MOST_COSTS = 3
# A class with at most this part of the test rows is counted on its own in the first line.
RARE = 0.25
# What the baseline reaches.
WITHOUT = {
    "accuracy": "always predicting the most common class gets {base} right",
    "error_rate": "always predicting the most common class gets {base} wrong",
    "r2": "always predicting the mean explains none of it",
    "roc_auc": "chance ranks half of them correctly",
}


def metric_title(name: str) -> str:
    """The name of a metric in words."""
    return Metric(name).title


def _rounded(score: Score) -> tuple[str, str, str]:
    return rounded(score.value, score.low, score.high)


def _as_shares(score: Score) -> tuple[str, str, str]:
    return shares(score.value, score.low, score.high)


def answer(choice: Choice) -> str:
    """The result in one sentence."""
    rows = test_rows(choice, "unseen test row")
    level = f"{100 * choice.test.level:g} % interval"
    target, family = quoted(choice.target), choice.chosen
    # A negative R² is not a share of the variation, and is written as a number.
    if choice.metric in SHARES and choice.test.value >= 0:
        value, low, high = _as_shares(choice.test)
        does = SHARES[choice.metric].format(value=value, rows=rows)
        base = WITHOUT[choice.metric].format(base=_as_shares(choice.baseline)[0])
    else:
        value, low, high = _rounded(choice.test)
        does = f"{metric_title(choice.metric)} {value} on {rows}"
        base = beside(choice.baseline.value, choice.test.low, choice.test.high)
        base = f"a baseline that ignores the columns has {base}"
    score = f"{does} ({level} {low} to {high})"
    if (first := _in_the_open(choice)) and not is_baseline(choice):
        score = f"{first}; {score}"
    if is_baseline(choice) and len(choice.judged) == 1:
        return (
            f"There was no time to try a model for {target}. "
            f"A baseline that ignores the columns: {score}."
        )
    if is_baseline(choice):
        return (
            f"No model for {target} is clearly better than a baseline that ignores the columns. "
            f"Baseline: {score}."
        )
    # R² is 0 for the mean of the test rows, which is not known in advance.
    fails = ", with poor predictions" if choice.metric == "r2" and choice.test.high < 0 else ""
    return f"{_capital(family)} for {target}{fails}: {score}; {base}."


def _in_the_open(choice: Choice) -> str:
    """What the test rows say in plain counts or in the unit of the target; "" if no more.

    The share of correct predictions hides a rare class, and R² the unit.
    """
    truth, predicted = choice.answers.y, choice.answers.predicted
    if choice.task == "regression":
        if choice.metric != "r2" or not choice.test.value >= 0:
            return ""
        half = float(np.median(np.abs(np.asarray(truth) - np.asarray(predicted))))
        return f"half of the predictions within {amount(half)}"
    classes, counts = np.unique(np.asarray(truth), return_counts=True)
    if choice.metric not in ("accuracy", "error_rate") or len(classes) != 2:
        return ""
    rare = int(np.argmin(counts))
    if counts[rare] > RARE * len(truth):
        return ""
    is_rare, is_said = np.asarray(truth) == classes[rare], np.asarray(predicted) == classes[rare]
    found, alarms = int(np.sum(is_rare & is_said)), int(np.sum(~is_rare & is_said))
    of = f"{found:,} of {counts[rare]:,} rows with {quoted(str(classes[rare]))} found"
    return f"{of}, with {counted(alarms, 'false alarm')}"


def test_rows(choice: Choice, noun: str) -> str:
    """The number of test rows, and of groups if those count."""
    rows = counted(len(choice.split.test), noun)
    if choice.test_groups is None:
        return rows
    return f"{rows} of {counted(choice.test_groups, 'group')} (by {quoted(_grouped_by(choice))})"


def _grouped_by(choice: Choice) -> str:
    return next((column.name for column in choice.columns if column.role == "group"), "")


def in_time(choice: Choice) -> bool:
    """Whether models were to learn from earlier rows only."""
    return any(column.role == "time" for column in choice.columns)


def is_baseline(choice: Choice) -> bool:
    """Whether the chosen model is the baseline, which ignores the columns."""
    return choice[choice.chosen].complexity == 0


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def method_in_words(choice: Choice) -> str:
    """How rows were held out for the comparison: 5-fold cross-validation."""
    return f"{choice.method} cross-validation" if choice.method.endswith("-fold") else choice.method


def certainty(choice: Choice) -> tuple[str, ...]:
    """How sure the answer is, in sentences."""
    return tuple(
        text
        for text in (
            _of_test(choice),
            _of_costs(choice),
            _of_likeness(choice),
            _of_expected(choice),
            _of_baseline(choice),
            _of_data(choice),
        )
        if text
    )


def _of_test(choice: Choice) -> str:
    n = len(choice.split.test)
    value, low, high = _rounded(choice.test)
    return (
        f"The {n:,} test rows were set aside before anything was fitted, and played no part in any "
        f"choice. {_capital(metric_title(choice.metric))} on them is {value}; its long-run value "
        f"on such rows is likely between {low} and {high} "
        f"({100 * choice.test.level:g} % interval, from {test_rows(choice, 'row')})."
    )


def _of_costs(choice: Choice) -> str:
    """The costs of decisions, without which a mean cost means nothing."""
    costs, classes = choice.costs, choice.model.classes_
    if costs is None or classes is None:
        return ""
    text = "Decisions minimise the expected cost, not the number of mistakes"
    names = [quoted(str(label)) for label in classes.tolist()]
    if len(names) > MOST_COSTS:
        return f"{text}; costs were given for {len(names):,} classes."
    each = [
        f"predicting {names[said]} when it is {names[true]} costs {costs[true][said]:g}"
        for true in range(len(names))
        for said in range(len(names))
        if true != said or costs[true][said]
    ]
    return f"{text}: {joined(each)}."


def _of_likeness(choice: Choice) -> str:
    """The meaning of intervals if rows are not independent of each other."""
    if choice.test_groups is not None:
        return (
            "Rows of the same group are alike, so the intervals of the scores are computed over "
            "whole groups, none of which the model has seen. The intervals in the plots below "
            "treat rows as independent, and are too narrow."
        )
    if in_time(choice):
        return (
            "All test rows are later than the training rows. The intervals treat rows as "
            "independent; rows that are close in time are often alike, and then the intervals are "
            "too narrow."
        )
    return ""


def _of_expected(choice: Choice) -> str:
    low, high = choice.expected_range
    if not (math.isfinite(choice.expected) and math.isfinite(low) and math.isfinite(high)):
        return ""
    apart = choice.test.value - choice.expected
    _, least, most = rounded(choice.expected, low, high)
    text = (
        f"The comparison, by {method_in_words(choice)} and corrected for selection, "
        f"estimated {least} to {most} for the test (95 % interval)"
    )
    if _agrees(choice) and _says_little(choice):
        return (
            f"{text}; the test rows are too few to confirm it, because a baseline that ignores the "
            "columns could have scored the same."
        )
    if _agrees(choice):
        return f"{text}; the test score agrees."
    better = not is_worse_than_estimated(choice)
    judged, learned = choice[choice.chosen].rows, choice.model.rows_
    by = f"{amount(abs(apart))} {'better' if better else 'worse'} than the middle of that range"
    if better and judged < FEWER * learned:
        return (
            f"{text}; the test score is {by}: the final model learned from {learned:,} rows, the "
            f"models compared from {judged:,}."
        )
    if in_time(choice) and not better:
        return f"{text}; on the latest rows the score is {by}: the data change over time."
    return f"{text}; the test score is {by}: training and test rows may differ."


def _agrees(choice: Choice) -> bool:
    """Whether the test score is within the range estimated, as far as that is known."""
    low, high = choice.expected_range
    return not (choice.test.value < low or choice.test.value > high)


def _says_little(choice: Choice) -> bool:
    """Whether estimate and test would agree with the baseline as well."""
    low, high = choice.expected_range
    base, test = choice.baseline.value, choice.test
    return not is_baseline(choice) and low <= base <= high and test.low <= base <= test.high


def is_worse_than_estimated(choice: Choice) -> bool:
    """Whether the test score is worse than estimated, by more than chance explains."""
    is_higher = choice.test.value > choice.expected
    return not _agrees(choice) and is_higher != choice.higher_is_better


def _of_baseline(choice: Choice) -> str:
    """Whether the columns are informative, by the difference row by row."""
    base, ahead = choice.baseline.value, choice.ahead
    if is_baseline(choice) or not (math.isfinite(base) and math.isfinite(ahead.value)):
        return ""
    known = beside(base, choice.test.low, choice.test.high)
    apart, low, high = _rounded(ahead)
    text = (
        f"A baseline that ignores the columns has {known} on the same rows. Row by row, the model"
    )
    interval = f"{100 * ahead.level:g} % interval of the difference {low} to {high}"
    if ahead.low > 0:
        return f"{text} is better by {apart} ({interval}): the columns are informative."
    if ahead.value > 0:
        return (
            f"{text} is better by {apart}, but not clearly ({interval}): the columns may not be "
            "informative."
        )
    return f"{text} is no better ({interval}): the columns do not seem to be informative."


def _of_data(choice: Choice) -> str:
    codes = sorted({one.code for one in choice.findings if one.severity == "warning"})
    if not codes:
        return ""
    return (
        f"The table has warnings ({', '.join(codes)}, explained below); if they are right, all "
        "scores are too optimistic."
    )


def why_chosen(choice: Choice) -> str:
    """Why this model and not another."""
    chosen, best = choice[choice.chosen], choice[choice.best]
    judged = [one for one in choice.candidates if one.is_judged]
    if len(judged) == 1:
        return f"Only one model was compared: {chosen.family}."
    if chosen.family == best.family:
        best_of = f"The best of the {len(judged)} models compared is {chosen.family}"
        simpler = [one for one in judged if one.complexity < chosen.complexity]
        if not simpler:
            return f"{best_of}, also the simplest of them."
        nearest = min(simpler, key=lambda one: one.behind or 0.0)
        return (
            f"{best_of}. No simpler one is within one standard error of it; the nearest, "
            f"{nearest.family}, is {behind(nearest)} behind on the same rows."
        )
    if best.rows < chosen.rows:
        return (
            f"The best score is that of {best.family}, judged on only {best.rows:,} rows. The "
            "choice is the simplest model within one standard error of it that was judged on all "
            f"rows: {chosen.family}, {behind(chosen)} behind on the same rows."
        )
    return (
        f"The best score is that of {best.family}. The choice is the simplest model within one "
        f"standard error of it: {chosen.family}, {behind(chosen)} behind on the same rows."
    )


def gaps(choice: Choice) -> tuple[str, str]:
    """The optimality gap and the generalisation gap of the chosen model."""
    chosen = choice[choice.chosen]
    optimal = chosen.optimality or (
        f"no bound is known for {chosen.family}: the model is grown step by step, not found by "
        "minimising an objective"
    )
    if chosen.generalization:
        general = chosen.generalization
    else:
        general = _gap_in_words(chosen, metric_title(choice.metric))
    return optimal.strip().rstrip("."), general.strip().rstrip(".")


def _gap_in_words(one: Candidate, metric: str) -> str:
    if one.train is None or one.unseen is None:
        return "unknown: no rows were held out"
    return f"{metric} is {one.train:.4g} on training rows and {one.unseen:.4g} on unseen rows"


# ---- the learning curve, tuning, the test rows ---------------------------------------------------


def curve_note(curve: LearningCurve, fixed: dict[str, Any], is_prepared: bool) -> str:
    """How the fits of the curve differ from that of the model, and where it ends too early."""
    said = []
    if fixed:
        settings = [f"{name.rpartition('__')[2]} = {value:.3g}" for name, value in fixed.items()]
        said.append(
            f"To save time, every fit uses {joined(settings)}, as tuned on all training rows; "
            "fits to fewer rows might do better with other values."
        )
    if is_prepared:
        said.append(
            "Columns are scaled, and missing values filled in, as for the model: from all training "
            "rows."
        )
    if curve.sizes[-1] < curve.wanted:
        said.append(
            f"To save time, the curve ends at {curve.sizes[-1]:,} of about {curve.wanted:,} rows."
        )
    return " ".join(said)


def tuning_in_words(tuned: Tuning) -> str:
    """Which value was taken, and why it is not the best if it is not."""
    best, chosen = tuned.values[tuned.best], tuned.values[tuned.chosen]
    if tuned.best == tuned.chosen:
        return (
            f"{tuned.parameter} = {chosen:.3g} was chosen: it has the best score on held-out rows."
        )
    apart = tuned.unseen[tuned.best] - tuned.unseen[tuned.chosen]
    if apart <= tuned.standard_errors[tuned.best]:
        return (
            f"{tuned.parameter} = {chosen:.3g} was chosen: it makes a simpler model, within one "
            f"standard error of the best score on held-out rows, that of {best:.3g}."
        )
    taken = f"{tuned.parameter} = {chosen:.3g} was chosen; {best:.3g} has"
    if apart <= ALIKE * abs(tuned.unseen[tuned.best]):
        return f"{taken} about the same score on held-out rows."
    return f"{taken} the best score on held-out rows, by {apart:.2g}."


def confusion_in_words(found: ConfusionMatrix, mistakes: tuple[Mistake, ...]) -> str:
    """How many test rows are predicted correctly, and the most common mistake."""
    counts = np.asarray(found.counts)
    right, total = int(np.trace(counts)), int(counts.sum())
    text = f"{right:,} of {total:,} test rows are predicted correctly."
    if not mistakes:
        return f"{text} There are no mistakes."
    worst = mistakes[0]
    of = round(worst.rows / worst.share)
    return (
        f"{text} The most common mistake is to predict {quoted(worst.predicted)} when it is "
        f"{quoted(worst.true)}: {worst.rows:,} of {of:,} rows ({percent(worst.share)})."
    )


def calibration_in_words(error: Score) -> str:
    """Whether probabilities are wrong, as far as the test rows can show."""
    between = f"{percent(error.low)} to {percent(error.high)}"
    if error.low > 0:
        return (
            f"The probabilities are off by {percent(error.value)} on average (95 % interval "
            f"{between}), more than chance explains."
        )
    if error.high > UNCLEAR:
        return (
            f"Nothing looks wrong, but {error.n:,.0f} test rows show little: on average, the "
            f"probabilities may be off by up to {percent(error.high)}."
        )
    return (
        f"The probabilities look reliable: on average they are off by at most "
        f"{percent(error.high)}, and chance alone would explain the error seen."
    )


def errors_in_words(errors: np.ndarray) -> str:
    """How far predictions are from the truth, and whether they are too high or too low."""
    half, most = np.quantile(np.abs(errors), [0.5, 0.9])
    mean = float(errors.mean())
    spread = float(errors.std(ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else np.inf
    text = (
        f"Half of the test rows are predicted to within {amount(half)}, nine in ten to within "
        f"{amount(most)}."
    )
    if abs(mean) <= 2 * spread:
        return f"{text} Predictions are not clearly too high or too low on average."
    way = "too low" if mean > 0 else "too high"
    return f"{text} On average, predictions are {way} by {amount(abs(mean))}."
