"""The words of a report: the answer, how sure it is, why this model, and its two gaps."""

from __future__ import annotations

import math

from ...data import counted
from ...metrics import Score
from .. import Candidate, Choice, Metric
from .phrases import amount, behind, beside, joined, named, shares, told

# Metrics that are shares of rows, pairs or variation, and are told in percent.
SHARES = {
    "accuracy": "right in {value} of",
    "error_rate": "wrong in {value} of",
    "r2": "{value} of the variation explained in",
    "roc_auc": "{value} of the pairs of different classes ranked rightly in",
}
# A model of more rows than those compared, by so much, may well be better.
FEWER = 0.75
# Costs of all mistakes are listed up to so many classes.
MOST_COSTS = 3
# What one has without a look at the columns.
WITHOUT = {
    "accuracy": "always saying the most frequent class is right in {base}",
    "error_rate": "always saying the most frequent class is wrong in {base}",
    "r2": "always saying the mean explains nothing",
    "roc_auc": "chance ranks half of them so",
}


def metric_title(name: str) -> str:
    """What a metric is called in words."""
    return Metric(name).title


def _told(score: Score) -> tuple[str, str, str]:
    return told(score.value, score.low, score.high)


def _told_as_shares(score: Score) -> tuple[str, str, str]:
    return shares(score.value, score.low, score.high)


def answer(choice: Choice) -> str:
    """The result in one sentence."""
    rows = f"{test_rows(choice, 'test row')} not seen before"
    level = f"{100 * choice.test.level:g} % interval"
    target, family = named(choice.target), choice.chosen
    # Less than nothing of the variation cannot be explained: a negative R² is told as it is.
    if choice.metric in SHARES and choice.test.value >= 0:
        value, low, high = _told_as_shares(choice.test)
        does = SHARES[choice.metric].format(value=value)
        base = WITHOUT[choice.metric].format(base=_told_as_shares(choice.baseline)[0])
    else:
        value, low, high = _told(choice.test)
        does = f"{metric_title(choice.metric)} {value} in"
        base = beside(choice.baseline.value, choice.test.low, choice.test.high)
        base = f"knowing no columns, it is {base}"
    if is_null(choice) and len(choice.judged) == 1:
        return (
            f"No model could be tried for {target} in the time; one that knows no columns: {does} "
            f"{rows} ({level} {low} to {high})."
        )
    if is_null(choice):
        return (
            f"No model is surely better for {target} than one that knows no columns: {does} {rows} "
            f"({level} {low} to {high})."
        )
    # Always saying the mean of the test rows, which nobody knows before, has R² 0.
    fails = " predicts badly" if choice.metric == "r2" and choice.test.high < 0 else ""
    said = f"{_capital(family)} for {target}{fails}"
    return f"{said}: {does} {rows} ({level} {low} to {high}); {base}."


def test_rows(choice: Choice, noun: str) -> str:
    """How many rows were tested, and of how many groups, where that is what counts."""
    rows = counted(len(choice.split.test), noun)
    if choice.test_groups is None:
        return rows
    return f"{rows} of {counted(choice.test_groups, 'group')} (by {named(_grouped_by(choice))})"


def _grouped_by(choice: Choice) -> str:
    return next((column.name for column in choice.columns if column.role == "group"), "")


def in_time(choice: Choice) -> bool:
    """Whether models were to learn from earlier rows only."""
    return any(column.role == "time" for column in choice.columns)


def is_null(choice: Choice) -> bool:
    """Whether the chosen model knows no columns."""
    return choice[choice.chosen].complexity == 0


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


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
    value, low, high = _told(choice.test)
    return (
        f"The {n:,} test rows were set aside before anything was fitted, and nothing was chosen by "
        "them. "
        f"{_capital(metric_title(choice.metric))} is {value} there; for other rows of the same "
        f"source it would lie between {low} and {high}, as far as {test_rows(choice, 'row')} can "
        f"tell ({100 * choice.test.level:g} % interval)."
    )


def _of_costs(choice: Choice) -> str:
    """What decisions cost, without which a mean cost says nothing."""
    costs, classes = choice.costs, choice.model.classes_
    if costs is None or classes is None:
        return ""
    text = "Decisions are those of least expected cost, and not those that are most often right"
    names = [named(str(label)) for label in classes.tolist()]
    if len(names) > MOST_COSTS:
        return f"{text}; costs were given for {len(names):,} classes."
    each = [
        f"taking {names[true]} for {names[said]} costs {costs[true][said]:g}"
        for true in range(len(names))
        for said in range(len(names))
        if true != said or costs[true][said]
    ]
    return f"{text}: {joined(each)}."


def _of_likeness(choice: Choice) -> str:
    """What intervals mean where rows are not independent of each other."""
    if choice.test_groups is not None:
        return (
            "Rows of a group are alike, so that intervals of scores are over whole groups, all of "
            "them new to the model. Those in the pictures below are over single rows, as if these "
            "were independent, and are too narrow."
        )
    if in_time(choice):
        return (
            "All test rows are later than those that were learned from. Intervals take rows as "
            "independent; those that follow each other in time are often alike, and then intervals "
            "are too narrow."
        )
    return ""


def _of_expected(choice: Choice) -> str:
    low, high = choice.expected_range
    if not (math.isfinite(choice.expected) and math.isfinite(low) and math.isfinite(high)):
        return ""
    apart = choice.test.value - choice.expected
    _, least, most = told(choice.expected, low, high)
    text = (
        f"The comparison, by {choice.method} and corrected for having chosen among several models, "
        f"had promised {least} to {most} for the test, at 95 %"
    )
    if _agrees(choice) and _says_little(choice):
        return (
            f"{text}; so few test rows cannot tell whether that is right, since a model that knows "
            "no columns could have such a score too."
        )
    if _agrees(choice):
        return f"{text}; the test agrees."
    better = not is_worse_than_promised(choice)
    judged, learned = choice[choice.chosen].rows, choice.model.rows_
    by = f"{'better' if better else 'worse'} than its middle by {amount(abs(apart))}"
    if better and judged < FEWER * learned:
        return (
            f"{text}; the test is {by}: the model has learned from {learned:,} rows, and those "
            f"compared from {judged:,}."
        )
    if in_time(choice) and not better:
        return f"{text}; the latest rows are {by}: what there is to learn changes with time."
    return f"{text}; the test is {by}: the two parts of the table may differ."


def _agrees(choice: Choice) -> bool:
    """Whether the test is within what was promised, as far as that is known."""
    low, high = choice.expected_range
    return not (choice.test.value < low or choice.test.value > high)


def _says_little(choice: Choice) -> bool:
    """Whether promise and test would agree with a model that knows no columns as well."""
    low, high = choice.expected_range
    base, test = choice.baseline.value, choice.test
    return not is_null(choice) and low <= base <= high and test.low <= base <= test.high


def is_worse_than_promised(choice: Choice) -> bool:
    """Whether the test is worse than the comparison had promised, by more than chance explains."""
    is_higher = choice.test.value > choice.expected
    return not _agrees(choice) and is_higher != choice.higher_is_better


def _of_baseline(choice: Choice) -> str:
    """Whether the columns tell anything, by the difference row by row."""
    base, ahead = choice.baseline.value, choice.ahead
    if is_null(choice) or not (math.isfinite(base) and math.isfinite(ahead.value)):
        return ""
    known = beside(base, choice.test.low, choice.test.high)
    apart, low, high = _told(ahead)
    text = f"A model that knows no columns has {known} on the same rows. Compared row by row, this"
    interval = f"{100 * ahead.level:g} % interval of the difference {low} to {high}"
    if ahead.low > 0:
        return f"{text} one is better by {apart} ({interval}): the columns do tell something."
    if ahead.value > 0:
        return (
            f"{text} one is better by {apart}, but not surely ({interval}): it is open whether the "
            "columns tell anything."
        )
    return f"{text} one is no better ({interval}): the columns seem to tell nothing."


def _of_data(choice: Choice) -> str:
    codes = sorted({one.code for one in choice.findings if one.severity == "warning"})
    if not codes:
        return ""
    return (
        f"There are warnings about the table ({', '.join(codes)}, explained below) that may make "
        "all scores too good."
    )


def why_chosen(choice: Choice) -> str:
    """Why this model and not another."""
    chosen, best = choice[choice.chosen], choice[choice.best]
    judged = [one for one in choice.candidates if one.is_judged]
    if len(judged) == 1:
        return f"Only one model was compared: {chosen.family}."
    if chosen.family == best.family:
        best_of = f"The best score of the {len(judged)} models compared is that of {chosen.family}"
        simpler = [one for one in judged if one.complexity < chosen.complexity]
        if not simpler:
            return f"{best_of}, the simplest of them."
        nearest = min(simpler, key=lambda one: one.behind or 0.0)
        return (
            f"{best_of}. No simpler one is within one standard error of it: the nearest, "
            f"{nearest.family}, is {behind(nearest)} behind on the same rows."
        )
    if best.rows < chosen.rows:
        return (
            f"The best score is that of {best.family}, which was judged on {best.rows:,} rows only."
            " The simplest model within one standard error of it that was judged on all rows is "
            f"chosen: {chosen.family}, {behind(chosen)} behind on the same rows."
        )
    return (
        f"The best score is that of {best.family}. The simplest model within one standard error of "
        f"it is chosen: {chosen.family}, {behind(chosen)} behind on the same rows."
    )


def gaps(choice: Choice) -> tuple[str, str]:
    """How far the chosen model is from the best possible one, and from its own score."""
    chosen = choice[choice.chosen]
    optimal = chosen.optimality or (
        f"no bound is known for {chosen.family}: it is grown step by step, and not found as the "
        "minimum of an objective"
    )
    if chosen.generalization:
        general = chosen.generalization
    else:
        general = _gap_in_words(chosen, metric_title(choice.metric))
    return optimal.strip().rstrip("."), general.strip().rstrip(".")


def _gap_in_words(one: Candidate, metric: str) -> str:
    if one.train is None or one.unseen is None:
        return "unknown: no rows were held out"
    return f"{metric} is {one.train:.4g} on its own rows and {one.unseen:.4g} on unseen ones"
